"""The log on Apache Kafka, using kafka-python.

May import: `services.log`, `services.runtime`.
Read first: `log.py` (the protocol's implementation), `topics.py` (creation and checks of topics), `client.py` (configuration and errors).
"""
