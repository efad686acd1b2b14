"""The outcome, control and dead-letter logs: one protocol with a SQLite backend and a Kafka backend.

May import: `services.runtime` and `services.wire`.
Read first: `protocol.py` (the laws of a log), `sqlite/log.py`, `kafka/log.py`.
"""
