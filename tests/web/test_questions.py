"""What readers ask, answered from the pages alone: each answer is so many clicks from the first page away."""

import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from services.boards.slice_boards import SliceDimension, SliceName, SliceValue
from services.boards.store.protocol import ACTIVITY, LiveBoard
from tests.support.api import NOW, Running, running
from tests.support.boards import head_of, solved_of
from tests.support.browser import NEEDED, Browser
from tests.support.folds import fold_events
from tests.support.insight import board as insight_board
from tests.support.outcomes import game_event
from tests.support.pages import beat
from tests.support.pools import state_of
from tests.support.redis import flush
from tests.support.served_pools import ServedPool

pytestmark = NEEDED
ENGLISH = SliceName("language", "English")


@pytest.fixture
def played(tmp_path: Path, page_redis: str) -> Iterator[Running]:
    """A pool in which ann beats bob, bob beats cem, and ann lost to cem within the last day of the clock that browsers have."""
    flush(page_redis)
    with running(tmp_path, page_redis, clock=time.time) as api:
        _play(api, tmp_path)
        yield api


def _play(api: Running, folder: Path) -> None:
    now = time.time()
    won = [("ann", "bob"), ("bob", "cem"), ("ann", "cem")] * 20
    games = [game_event(f"g{i}", *pair, pool="cup", time=now - 200_000.0 + i) for i, pair in enumerate(won)]
    games.append(game_event("last", "cem", "ann", pool="cup", time=now - 60.0))
    served, state = ServedPool(api.store, folder), state_of("cup")
    assert fold_events(state, games) == []
    served.checkpoint(state, len(games), written_at=now - 3.0)
    served.publish(state, len(games), published_at=now - 1.0)
    assert api.store.solved.publish(insight_board("cup"))
    beat(api)


def test_who_is_best_at_english(api: Running, browser: Browser) -> None:
    names = ["ann", "bob"]
    of = SliceDimension(methods=["elo"], values=[SliceValue(value="English", outcomes=7, agents=2)], most=64)
    head = head_of("cup", position=20, published_at=NOW, online=["elo"], outcomes=20, agents=2, slices={"language": of})
    boards = {name: LiveBoard(names, [1540.0, 1520.0], total=2) for name in ("elo", ACTIVITY)}
    boards |= {ENGLISH.board("elo"): LiveBoard(["bob", "ann"], [1611.0, 1389.0], total=2), ENGLISH.board(ACTIVITY): boards[ACTIVITY]}
    assert api.store.live.publish(head, 1, boards)
    beat(api)
    with browser.page(api.url, "/") as page:
        page.click(".pool h2 a", "cup")
        page.until("document.querySelector('.board-head .pick select')")
        chosen = "(() => { const pick = document.querySelector('.board-head .pick select'); pick.value = 'language:English';"
        page.evaluate(f"{chosen} pick.dispatchEvent(new Event('change', {{ bubbles: true }})); }})()")
        page.wait("the 7 games with language English")
        page.until("document.querySelector('table.board tbody bdi').textContent === 'bob'")


def test_why_did_somebody_fall_yesterday(played: Running, browser: Browser) -> None:
    with browser.page(played.url, "/") as page:
        page.click(".pool h2 a", "cup")
        page.click("table.board td.change a", "\N{MINUS SIGN}")
        page.wait("by Elo in 1 game.", "A game with more points than expected raises the rating, one with fewer lowers it")
        row = page.evaluate("document.querySelector('table.day tbody tr').innerText.split(/\\s+/)")
        assert row[:3] == ["cem", "1", "0.0"]


def test_would_one_beat_the_other(played: Running, browser: Browser) -> None:
    with browser.page(played.url, "/") as page:
        page.click(".pool a", "ann")
        page.click("td.number a", "%")
        page.until("document.querySelector('.met .headline')")
        assert page.evaluate("document.querySelector('.met .headline').textContent").startswith("ann would probably beat ")
        text = page.wait("By Elo", "They met 20 times: ann won 100 %")
        assert "forecasts best" not in text, "these are fewer than 100 forecasts"
        assert "It gave the winner" not in text


def test_is_this_ranking_settled_and_what_moves_it(played: Running, browser: Browser) -> None:
    solved = solved_of("cup", method="bradley_terry", position=61, ratings=[("ann", 3.0), ("bob", 2.0), ("cem", 1.0)])
    rows = [msgspec.structs.replace(row, rank_low=1, rank_high=3) for row in solved.result.agents]
    assert played.store.solved.publish(msgspec.structs.replace(solved, result=msgspec.structs.replace(solved.result, agents=rows)))
    with browser.page(played.url, "/") as page:
        page.wait("Read with care: proven cycles, 2 equal agents")
        page.click(".pool h2 a", "cup")
        page.wait("none of 3 ranks settled · Read with care: proven cycles · 2 equal agents", "1–3")
