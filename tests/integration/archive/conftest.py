"""An installation with an archive, on a topic that forgets."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from services.log.protocol import Log
from services.runtime.settings import Settings
from tests.support.archiving import archive, fold
from tests.support.forgetting import forget, forgetful


@pytest.fixture
def settings(settings: Settings, tmp_path: Path) -> Settings:
    return settings.model_copy(update={"archive": str(tmp_path / "archive"), "checkpoints_kept": 1})


@pytest.fixture
def log(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Log]:
    monkeypatch.setenv("EQUIRANK_ARCHIVE", str(settings.archive))
    with forgetful(settings) as log:
        yield log


@pytest.fixture
def half(settings: Settings, log: Log) -> None:
    """300 games: 200 in the archive alone, 100 in the topic."""
    fold(settings, log, 0, 200)
    forget(settings, archive(settings))
    fold(settings, log, 200, 300)
