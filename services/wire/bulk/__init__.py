"""Schema v1c: a record of the outcome log, or a request, as an Arrow IPC stream of columns instead of JSON.

A stream means the JSON array of its rows. `texts.py` writes this array and the decoder of `services.wire.events` checks it, so verdicts and
rules are the same as for JSON. `games.py` is the fast path: it reads streams of valid games without a conversion to JSON.

May import: `services.wire`, `ratings_core`, pyarrow.
Read first: `layout.py` (columns and limits), `stream.py` (checks before a buffer is read), `texts.py` (from a row to JSON).
"""
