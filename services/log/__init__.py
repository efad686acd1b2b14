"""The outcome, control and dead-letter logs: one protocol, SQLite and Kafka behind it."""
