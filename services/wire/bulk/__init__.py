"""Schema v1c: a record of the outcome log, or a request, as an Arrow IPC stream of columns instead of JSON.

A stream means the JSON array of its rows. `texts.py` writes that array, and the decoder of `services.wire.events` judges it, so the verdict
and its words are those of JSON. `games.py` reads streams of sound games straight as columns.

May import: `services.wire`, `ratings_core`, pyarrow.
Read first: `layout.py` (columns and limits), `stream.py` (what is checked before a buffer is read), `texts.py` (what a row means).
"""
