"""Outcomes kept for ever as columns: one Delta table for each partition of the outcome log.

May import: `services.state` (features), `services.control` (erasures), `services.log`, `services.wire`, `services.runtime`.
Read first: `schema.py` (the columns), `writer.py` (how an append is exactly once), `follow.py` (what is appended when), `history.py` and
`records.py` (how folds read it), `chain.py` (tamper evidence).
"""
