"""The story of cycles and copies, told by the pools of the demo."""

import threading
from pathlib import Path

import pytest

from services.demo import simulated
from services.wire.events import GameEvent
from tests.support.api import NOW, Running
from tests.support.boards import solved_of
from tests.support.browser import NEEDED, Browser
from tests.support.folds import fold_events
from tests.support.pages import beat, failing
from tests.support.pools import state_of
from tests.support.served_pools import ServedPool
from tests.support.waiting import PATIENCE

pytestmark = NEEDED


@pytest.fixture
def told(api: Running, tmp_path: Path) -> Running:
    games = [simulated.game(i, NOW) for i in range(20 * simulated.ROUND)]
    third = 1 / 3
    lotteries = {
        simulated.POOL_BEFORE: [("rock", third), ("paper", third), ("scissors", third)],
        simulated.POOL: [
            ("paper", third),
            ("scissors", third),
            ("rock", third / 3),
            ("rock-copy-1", third / 3),
            ("rock-copy-2", third / 3),
        ],
    }
    played: dict[str, list[GameEvent]] = {simulated.POOL_BEFORE: simulated.before(games), simulated.POOL: games}
    for pool, sent in played.items():
        state = state_of(pool)
        assert fold_events(state, sent) == []
        ServedPool(api.store, tmp_path / pool).publish(state, len(sent), published_at=NOW)
        assert api.store.solved.publish(solved_of(pool, position=len(sent), ratings=lotteries[pool]))
    beat(api)
    return api


def test_the_story_shows_that_elo_moves_and_the_lottery_does_not(told: Running, browser: Browser) -> None:
    with browser.page(told.url, "/copies") as page:
        page.wait("1. A cycle", "2. Two copies of rock join", "3. The lottery does not move", "33.3 %")
        cells = "[...document.querySelectorAll('.steps li:last-child tbody tr')].map((row) => [...row.querySelectorAll('td.number')])"
        rows = page.evaluate(f"{cells}.map((row) => row.map((cell) => cell.textContent))")
        assert rows == [["33.3 %", "33.3 %"]] * 3
        second = "[...document.querySelectorAll('.steps li:nth-child(2) tbody tr')]"
        changes = page.evaluate(f"{second}.map((row) => row.querySelectorAll('td')[2].textContent)")
        assert len(changes) == 3
        assert changes[1].startswith("+"), "paper wins against three rocks"
        assert changes[2].startswith("−"), "scissors lose against three rocks"
        assert page.complaints() == []


def test_without_the_demo_the_page_says_how_to_get_it(api: Running, browser: Browser) -> None:
    with browser.page(api.url, "/copies") as page:
        page.wait("equirank up --demo", "They are not here.")
        for pool in (simulated.POOL, simulated.POOL_BEFORE):
            assert api.client.put(f"/v1/pools/{pool}", json={"kind": "games"}).status_code == 201
        page.go("/copies")
        page.wait("They have no counted games yet. The story begins with the first ones.")
        assert page.complaints() == []


@pytest.mark.parametrize("part", ["/v1/pools", f"/v1/pools/{simulated.POOL}/boards"])
def test_a_request_that_fails_is_an_error_and_no_absence_of_games(told: Running, browser: Browser, part: str) -> None:
    with failing(told.url, lambda path, _: path == part) as url, browser.page(url, "/copies") as page:
        page.wait("not updating")
        assert "no counted games" not in page.text
        assert "not here" not in page.text


def test_the_page_says_that_it_loads_until_its_boards_are_known(told: Running, browser: Browser) -> None:
    known = threading.Event()

    def late(path: str, _: int) -> bool:
        return path == f"/v1/pools/{simulated.POOL_BEFORE}/boards" and not known.wait(PATIENCE)

    with failing(told.url, late) as url, browser.page(url, "/copies") as page:
        page.until("document.querySelector('main [role=status]')?.textContent === 'Loading'")
        assert "equirank up --demo" not in page.text
        known.set()
        page.wait("1. A cycle")
