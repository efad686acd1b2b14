"""Outcomes kept for ever as columns: one Delta table for each partition of the outcome log. No shard writes to it yet.

May import: `services.log`, `services.wire`, `services.runtime`.
Read first: `schema.py` (the columns), `writer.py` (how an append is exactly once), `chain.py` (tamper evidence).
"""
