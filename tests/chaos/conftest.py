"""The installation of most planted bugs: a store and an embedded log of its own. Some modules change `settings`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from services.log.protocol import Log
from services.runtime.settings import Settings
from tests.support.worker import embedded, installed


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    with installed(tmp_path) as settings:
        yield settings


@pytest.fixture
def log(settings: Settings) -> Iterator[Log]:
    with embedded(settings) as log:
        yield log
