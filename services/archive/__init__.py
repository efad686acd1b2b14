"""Archive of all outcomes as columns: a Delta table for each partition of the outcome log.

May import: `services.state` (features), `services.control` (erasures), `services.log`, `services.wire`, `services.runtime`.
Read first: `schema.py` (the columns), `writer.py` (exactly-once appends), `follow.py` (which records are archived), `history.py` and
`records.py` (reads of a fold).
"""
