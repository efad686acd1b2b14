"""A log of finite retention that forgets when a test says so."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

from services.backends import open_log
from services.log.protocol import Log, Retention
from services.log.sqlite.file import table_of
from services.runtime.settings import Settings
from tests.support.worker import HOME


@contextmanager
def forgetful(settings: Settings) -> Iterator[Log]:
    """The installation's log, with a retention of an hour, as Kafka's topics tell it."""
    with closing(open_log(settings)) as log:
        log.outcomes.retention = Retention(3600.0)  # type: ignore[attr-defined]
        yield log


def forget(settings: Settings, offset: int) -> None:
    """As retention does: what stands before `offset` is no longer in the log."""
    with sqlite3.connect(settings.data / "log.sqlite") as file:
        file.execute(f'DELETE FROM {table_of("outcomes", HOME)} WHERE "offset" < ?', (offset,))  # noqa: S608
        file.execute('UPDATE heads SET "begin" = ? WHERE topic = \'outcomes\' AND "partition" = ?', (offset, HOME))
    file.close()
