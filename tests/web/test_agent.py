"""The page of an agent."""

import time
from pathlib import Path

import pytest

from tests.support.api import NOW, Running
from tests.support.browser import NEEDED, Browser
from tests.support.folds import fold_events
from tests.support.outcomes import game_event
from tests.support.pages import EVIL, beat, play
from tests.support.pools import state_of
from tests.support.served_pools import ServedPool

pytestmark = NEEDED


@pytest.fixture
def played(api: Running, tmp_path: Path) -> Running:
    play(api, tmp_path)
    beat(api)
    return api


def test_an_agent_has_its_record_its_curve_its_opponents_and_its_games(played: Running, browser: Browser) -> None:
    with browser.page(played.url, "/pools/cup/agents/rock") as page:
        text = page.wait("24 games: 12 won, 0 drawn, 12 lost", "Best against", "Worst against", "Newest games", EVIL)
        assert "No. 3 of 5 by Elo" in text
        page.until("document.querySelector('svg.chart .curve')")
        assert page.evaluate("[...document.querySelectorAll('[data-method]')].map((one) => one.dataset.method)") == ["elo", "sco"]
        assert page.evaluate("document.querySelectorAll('table.games tbody tr').length") == 20
        assert page.evaluate("document.title") == "rock · cup · Equirank"
        assert page.complaints() == []


def test_an_agent_has_a_card_that_is_saved_as_a_picture(played: Running, browser: Browser) -> None:
    with browser.page(played.url, "/pools/cup/agents/rock", width=390) as page:
        page.wait("Rating over time")
        page.click(".share summary")
        page.until("document.querySelector('.sharecard .curve')")
        assert page.evaluate("document.querySelector('.sharecard').getAttribute('aria-label')").startswith(
            "rock: No. 3 of 5 by Elo, rating "
        )
        page.evaluate(
            "URL.createObjectURL = (blob) => {"
            " createImageBitmap(blob).then((one) => (window.saved = [one.width, one.height])); return '#'; }"
        )
        page.evaluate("HTMLAnchorElement.prototype.click = function () { window.file = this.download; }")
        page.click(".share button", "Download card (PNG)")
        assert page.until("window.saved") == [1200, 630]
        assert page.evaluate("window.file") == "cup-rock-card.png"
        assert page.complaints() == []


def test_an_agent_says_how_far_it_moved_within_a_day(api: Running, browser: Browser, tmp_path: Path) -> None:
    now = time.time()
    served, state = ServedPool(api.store, tmp_path), state_of("cup")
    games = [game_event(f"g{i}", "ann", "bob", pool="cup", time=at) for i, at in enumerate((now - 90_000.0, now - 80_000.0, now - 60.0))]
    assert fold_events(state, games) == []
    served.checkpoint(state, 3, written_at=NOW - 3.0)
    served.publish(state, 3, published_at=NOW - 1.0)
    points = api.client.get("/v1/pools/cup/agents/ann/history").json()["points"]
    moved = points[2]["rating"] - points[0]["rating"]
    with browser.page(api.url, "/pools/cup/agents/ann") as page:
        page.wait(f"+{moved:.1f} in 24 hours by Elo", "last active")
        page.go("/pools/cup")
        page.until("document.querySelector('table.board time')?.dateTime")
        page.click("th button", "Last active")
        page.until("document.querySelectorAll('th[aria-sort]')[0].textContent.includes('Last active')")
        assert page.complaints() == []


def test_a_rating_is_explained_on_request(played: Running, browser: Browser) -> None:
    with browser.page(played.url, "/pools/cup/agents/rock") as page:
        page.click("button", "Explain")
        page.wait("By opponent: change", "the rating is the rating before the first outcome of the history")


def test_a_game_against_anybody_is_forecast_and_has_a_link(played: Running, browser: Browser) -> None:
    with browser.page(played.url, "/pools/cup/agents/rock") as page:
        page.wait("If they met")
        page.type("input[type=search]", "onerror")
        page.click(".results button")
        page.wait("Expected score against <img src=x onerror=alert(1)>", "100.0 %")
        address = page.evaluate("location.pathname + location.search")
        assert address.startswith("/pools/cup/agents/rock?against=")
        page.go(address)
        page.wait("Expected score against")
        assert page.complaints() == []


def test_a_hostile_name_has_a_page_and_a_name_with_a_slash_too(played: Running, browser: Browser, tmp_path: Path) -> None:
    with browser.page(played.url, "/pools/cup") as page:
        page.click("table.board a", EVIL)
        page.until("location.pathname.includes('/agents/')")
        page.wait("24 games: 0 won")
        assert page.evaluate("document.querySelector('h1').textContent") == EVIL
        assert page.evaluate("document.querySelectorAll('img').length") == 0
        page.go("/pools/cup/agents/no%2Fbody")
        page.until("document.querySelector('h1')?.textContent === 'no/body'")
        page.until("document.querySelector('.state.bad')")
