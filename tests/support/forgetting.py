"""A log with a finite retention, whose records a test drops."""

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
    """Log of an installation whose outcome topic reports a retention of one hour, as a Kafka topic does."""
    with closing(open_log(settings)) as log:
        log.outcomes.retention = Retention(3600.0)  # type: ignore[attr-defined]
        yield log


def forget(settings: Settings, offset: int) -> None:
    """Delete the records below `offset`, as a retention does."""
    with sqlite3.connect(settings.data / "log.sqlite") as file:
        file.execute(f'DELETE FROM {table_of("outcomes", HOME)} WHERE "offset" < ?', (offset,))  # noqa: S608
        file.execute('UPDATE heads SET "begin" = ? WHERE topic = \'outcomes\' AND "partition" = ?', (offset, HOME))
    file.close()
