"""A log of finite retention that forgets when a test says so, and the command line on its installation. Fixtures: a module that imports
them has them, with `settings` of its own.
"""

import sqlite3
from collections.abc import Callable, Iterator

import pytest
from typer.testing import CliRunner

from services.cli.main import application
from services.log.protocol import Log, Retention
from services.log.sqlite.file import table_of
from services.log.sqlite.log import open_sqlite_log
from services.runtime.settings import Settings
from tests.support.worker import HOME, PARTITIONS

Run = Callable[..., str]


@pytest.fixture
def log(settings: Settings) -> Iterator[Log]:
    settings.data.mkdir()
    log = open_sqlite_log(settings.data / "log.sqlite", PARTITIONS)
    log.outcomes.retention = Retention(3600.0)  # type: ignore[attr-defined]  # as Kafka's topics tell it
    yield log
    log.close()


@pytest.fixture
def run(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("EQUIRANK_DATA", str(settings.data))
    monkeypatch.setenv("EQUIRANK_REDIS", str(settings.redis))
    monkeypatch.setenv("EQUIRANK_PARTITIONS", str(PARTITIONS))

    def called(*words: str) -> str:
        done = CliRunner().invoke(application(words[0]), list(words), catch_exceptions=False, env={"COLUMNS": "200"})
        assert done.exit_code == 0, done.output
        return done.stdout

    return called


def forget(settings: Settings, offset: int) -> None:
    """As retention does: what stands before `offset` is no longer in the log."""
    with sqlite3.connect(settings.data / "log.sqlite") as file:
        file.execute(f'DELETE FROM {table_of("outcomes", HOME)} WHERE "offset" < ?', (offset,))  # noqa: S608
        file.execute('UPDATE heads SET "begin" = ? WHERE topic = \'outcomes\' AND "partition" = ?', (offset, HOME))
    file.close()
