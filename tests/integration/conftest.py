"""The installation of most of these tests: a store and an embedded log of its own. Some modules have another `settings` or `log`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from services.log.protocol import Log
from services.runtime.settings import Settings
from services.shard import watch
from services.shard.publishing import selection
from tests.support.command_line import Run, command_line
from tests.support.worker import embedded, installed


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a shard in the test process looks at every few seconds, for the sake of its log and store, it looks at often."""
    monkeypatch.setattr(selection, "_IDLE_SECONDS", 0.1)
    monkeypatch.setattr(watch, "_OFFLINE_SECONDS", 0.1)


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    with installed(tmp_path) as settings:
        yield settings


@pytest.fixture
def quick(settings: Settings) -> Settings:
    """Retractions do not gather before a generation is made."""
    return settings.model_copy(update={"retraction_seconds": 0.0})


@pytest.fixture
def log(settings: Settings) -> Iterator[Log]:
    with embedded(settings) as log:
        yield log


@pytest.fixture
def run(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Run:
    return command_line(settings, monkeypatch)
