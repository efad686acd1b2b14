"""From settings to open connections: the one place that knows which backend stands behind a protocol."""

from contextlib import closing
from typing import Final

from services.archive.history import ArchivedTopic
from services.boards.store import connection, logs
from services.boards.store.embedded import embedded_url
from services.boards.store.protocol import StoreError
from services.boards.store.redis import RedisStore
from services.log.protocol import Log, LogError
from services.log.sqlite.log import open_sqlite_log
from services.runtime.settings import Settings

LOG_FILE: Final = "log.sqlite"
"""The embedded log in the data folder."""
STORE_FOLDER: Final = "redis"
"""Where the embedded store's socket lies in the data folder."""


def open_log(settings: Settings, *, create: bool = True, timeout: float = 30.0) -> Log:
    """The installation's log: Kafka where it is set, else the SQLite file in the data folder.

    create: create the log if it does not exist; otherwise raise `LogError`. timeout: seconds that one call to Kafka may take.
    """
    log = _open_log(settings, create=create, timeout=timeout)
    if settings.archive_url is not None:
        log.archived = ArchivedTopic(log.outcomes, settings.archive_url, is_copy=settings.archive_is_copy)
    return log


def _open_log(settings: Settings, *, create: bool, timeout: float) -> Log:
    if settings.kafka is None:
        if not create and not (settings.data / LOG_FILE).exists():
            raise LogError(f"no log in {settings.data}: name the data folder of an `equirank up` with --data", retriable=False)
        settings.data.mkdir(parents=True, exist_ok=True, mode=0o700)
        return open_sqlite_log(settings.data / LOG_FILE, settings.partitions)
    from services.log.kafka.client import Connection  # noqa: PLC0415
    from services.log.kafka.log import open_kafka_log  # noqa: PLC0415 - slow to import, and the embedded log needs none of it

    return open_kafka_log(
        Connection(settings.kafka, settings.kafka_options, timeout),
        settings.partitions,
        create=create,
        replication=settings.kafka_replication,
        topic_prefix=settings.topic_prefix,
        ratings=settings.ratings_topic and create,  # programs that only read the log go on if this topic is missing
    )


def open_store(settings: Settings, log: str | None = None) -> RedisStore:
    """The installation's store.

    Args:
        settings: Of the installation.
        log: Identity of the outcomes' log. None where the caller does not know it: that of the settings' log is taken.

    Raises:
        StoreError: The store does not answer. Or the settings' log cannot be opened, and the store has boards of no log or of several ones.

    """
    url = store_url(settings)
    return RedisStore(url, _log_in(url, settings) if log is None else log)


def _log_in(url: str, settings: Settings) -> str:
    """The settings' log; where it cannot be opened, the only log that an engine wrote boards of."""
    try:
        with closing(open_log(settings, create=False)) as log:
            return log.outcomes.identity
    except LogError as error:
        with closing(connection.Connection(url)) as redis:
            identities = logs.written_logs(redis)
        if len(identities) == 1:
            return identities[0]
        held = f"boards of {len(identities)} logs ({', '.join(identities)})" if identities else "no boards yet"
        forget = "; `equirank store forget` removes those of a log that is gone" if identities else ""
        why = f"the log of these settings cannot be opened ({error}): set EQUIRANK_KAFKA or the data folder"
        msg = f"this Redis holds {held}, and {why}{forget}"
        raise StoreError(msg, retriable=error.retriable) from error


def store_url(settings: Settings) -> str:
    """Of Redis where it is set, else of the server that runs in the data folder. Raises `StoreError` where none does."""
    return settings.redis or embedded_url(settings.data / STORE_FOLDER)
