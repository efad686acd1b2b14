"""The HTTP API: accepts outcomes, serves boards. It reads the store, appends to the log and keeps no state.

May import: `services.boards`, `services.solve`, `services.admin`, `services.web` and everything below them.
Read first: `app.py` (routes and failures), `context.py` (objects that all routes share), `intake.py` (how outcomes are accepted).
"""
