"""From settings to open connections: the one place that knows which backend stands behind a protocol."""

from typing import Final

from services.log.kafka import open_kafka_log
from services.log.protocol import Log
from services.log.sqlite import open_sqlite_log
from services.settings import Settings
from services.store.embedded import embedded_url
from services.store.redis import RedisStore

STORE_FOLDER: Final = "redis"
"""Where the embedded store's socket lies in the data folder."""


def open_log(settings: Settings) -> Log:
    """The installation's log: Kafka where it is set, else the SQLite file in the data folder."""
    if settings.kafka is None:
        settings.data.mkdir(parents=True, exist_ok=True, mode=0o700)
        return open_sqlite_log(settings.data / "log.sqlite", settings.partitions)
    return open_kafka_log(
        settings.kafka,
        settings.partitions,
        options=settings.kafka_options,
        replication=settings.kafka_replication,
    )


def open_store(settings: Settings) -> RedisStore:
    """The installation's store: Redis where it is set, else the server that runs in the data folder. Raises `StoreError`."""
    return RedisStore(settings.redis or embedded_url(settings.data / STORE_FOLDER))
