"""The HTTP API: accepts outcomes, serves boards. It reads the store, appends to the log and keeps no state.

May import: `services.boards`, `services.solve`, `services.admin`, `services.web` and everything below them.
Read first: `app.py` (routes and failures), `context.py` (what routes share), `intake.py` (outcomes in).
"""
