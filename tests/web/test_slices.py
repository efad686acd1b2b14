"""Slices of a pool on its page: chosen, linked, with filters and files."""

import threading

import msgspec
import pytest

from services.boards.history import kept
from services.boards.slice_boards import SliceDimension, SliceName, SliceValue
from services.boards.store.protocol import ACTIVITY, LiveBoard
from tests.support.api import NOW, Running
from tests.support.boards import head_of, solved_of
from tests.support.browser import NEEDED, Browser
from tests.support.pages import beat, failing
from tests.support.waiting import PATIENCE

pytestmark = NEEDED
AGENTS = "[...document.querySelectorAll('table.board tbody bdi')].map((one) => one.textContent).join()"
ENGLISH, RTL = SliceName("language", "English"), SliceName("language", "עברית: <b>")


@pytest.fixture
def sliced(api: Running) -> Running:
    """A pool of four agents with two online methods; its slices have one of them."""
    names = ["ann", "bob", "cem", "dee"]
    values = [SliceValue(value=part.value, outcomes=outcomes, agents=2) for part, outcomes in ((ENGLISH, 7), (RTL, 3))]
    maps = [SliceValue(value="dust", outcomes=5, agents=2)]
    head = head_of(
        "cup", position=20, published_at=NOW, online=["elo", "sco"], outcomes=20, agents=4,
        slices={
            "language": SliceDimension(methods=["elo"], values=values, most=64),
            "map": SliceDimension(methods=["sco"], values=maps, most=64),
        },
    )  # fmt: skip
    boards = {method: LiveBoard(names, [1540.0, 1520.0, 1500.0, 1480.0], total=4) for method in ("elo", "sco")}
    boards[ACTIVITY] = LiveBoard(names, [10.0] * 4, total=4)
    for part, best in ((ENGLISH, "dee"), (RTL, "cem")):
        boards[part.board("elo")] = LiveBoard([best, "ann"], [1611.0, 1389.0], total=2, provisional=[False, True])
        boards[part.board(ACTIVITY)] = LiveBoard([best, "ann"], [7.0] * 2, total=2)
    assert api.store.live.publish(head, 1, boards)
    beat(api)
    return api


def test_an_agent_has_its_rating_in_each_slice(sliced: Running, browser: Browser) -> None:
    slices = sliced.client.get("/v1/pools/cup/agents/ann").json()["slices"]
    assert {part: {method: (one["rating"], one["rank"], one["total"]) for method, one in of.items()} for part, of in slices.items()} == {
        str(ENGLISH): {"elo": (1389.0, None, 2)},
        str(RTL): {"elo": (1389.0, None, 2)},
    }
    assert sliced.client.get("/v1/pools/cup/agents/bob").json()["slices"] == {}
    with browser.page(sliced.url, "/pools/cup/agents/dee") as page:
        page.wait("By slice")
        assert page.evaluate("document.querySelector('.slices tbody tr').innerText").split() == [
            "language",
            "English",
            "Elo",
            "1",
            "of",
            "1",
            "1611",
        ]
        page.click(".slices a")
        page.until("location.search.includes('slice=language%3AEnglish')")
        page.wait("the 7 games with language English alone, by Elo.")
        assert page.complaints() == []


def test_a_slice_is_chosen_and_has_a_link_and_files(sliced: Running, browser: Browser) -> None:
    with browser.page(sliced.url, "/pools/cup?method=sco") as page:
        page.until(f"{AGENTS} === 'ann,bob,cem,dee' && document.querySelector('.board-head .pick select')")
        page.evaluate(
            "(() => { const pick = document.querySelector('.board-head .pick select'); pick.value = 'language:English';"
            " pick.dispatchEvent(new Event('change', { bubbles: true })); })()"
        )
        page.until(f"{AGENTS} === 'dee,ann'")
        page.wait("the 7 games with language English", "1611")
        chosen = page.evaluate("[...document.querySelectorAll('.board-head .pick select')].map((one) => one.value).join()")
        assert chosen == "language:English,"
        assert page.evaluate("[...document.querySelectorAll('.board-head .pick select')].map((one) => one.selectedIndex).join()") == "1,0"
        assert page.evaluate("new URLSearchParams(location.search).get('slice')") == "language:English"
        assert page.evaluate("[...document.querySelectorAll('.methods .chip')].map((one) => one.textContent).join()") == "Elo"
        assert page.evaluate("document.querySelector('details.filters')") is not None
        assert "slice=language%3AEnglish" in page.evaluate("document.querySelector('footer a[download]').href")
        page.click("a", "All games")
        page.until(f"{AGENTS} === 'ann,bob,cem,dee'")
        assert page.complaints() == []


def test_a_link_to_a_slice_shows_it_also_where_its_value_is_awkward(sliced: Running, browser: Browser) -> None:
    with browser.page(sliced.url, f"/pools/cup?slice={RTL}") as page:
        page.until(f"{AGENTS} === 'cem,ann'")
        page.wait(f"the 3 games with language {RTL.value}")
        assert page.violations() == []
        assert page.complaints() == []


def test_a_link_to_a_slice_never_shows_the_rows_of_the_pool(sliced: Running, browser: Browser) -> None:
    """The slices are answered late."""
    waited = threading.Event()

    def late(path: str, _: int) -> bool:
        return path.endswith("/slices") and not waited.wait(PATIENCE)

    with failing(sliced.url, late) as url, browser.page(url, f"/pools/cup?slice={ENGLISH}") as page:
        page.wait("Loading the board")
        waited.set()
        page.until(f"{AGENTS} === 'dee,ann'")
        boards = "performance.getEntriesByType('resource').map((one) => one.name).filter((one) => one.includes('/boards/elo'))"
        assert page.evaluate(f"{boards}.every((one) => one.includes('slice='))")
        assert page.complaints() == []


def test_a_link_to_a_slice_says_when_slices_cannot_be_read(sliced: Running, browser: Browser) -> None:
    with failing(sliced.url, lambda path, _: path.endswith("/slices")) as url, browser.page(url, f"/pools/cup?slice={ENGLISH}") as page:
        page.wait("Slices cannot be read: the service answered 502")
        assert page.evaluate(AGENTS) == ""


@pytest.mark.parametrize("view", ["intervals", "methods", "wins", "next", "insight"])
def test_a_view_of_a_slice_reads_the_slice_alone_and_says_so(sliced: Running, browser: Browser, view: str) -> None:
    own = solved_of("cup", method="copeland", position=7, ratings=[("dee", 1.0), ("ann", 0.0)])
    assert sliced.store.solved.publish(msgspec.structs.replace(own, slice=str(ENGLISH)))
    with browser.page(sliced.url, f"/pools/cup?slice=language:English&view={view}") as page:
        page.wait("the 7 games with language English alone, by Elo, Copeland.")
        read = "performance.getEntriesByType('resource').map((one) => one.name)"
        read += ".filter((one) => /boards.elo|insight|next|opponents/.test(one.split('/v1/')[1]))"
        page.until(f"{read}.length > 0")
        assert page.evaluate(f"{read}.filter((one) => !one.includes('slice=language%3AEnglish'))") == []
        if view in ("intervals", "methods"):
            page.until("[...document.querySelectorAll('figure .tools a')].every((one) => one.href.includes('slice=language%3AEnglish'))")
        page.click(".notice a", "All games")
        page.until(f"{read}.some((one) => !one.includes('slice='))")
        page.go(f"/pools/cup?slice={RTL}&view={view}")
        page.wait(f"the 3 games with language {RTL.value} alone, by Elo.")


def test_a_slice_that_the_pool_does_not_have_shows_the_pool(sliced: Running, browser: Browser) -> None:
    with browser.page(sliced.url, "/pools/cup?slice=language:Klingon") as page:
        page.until(f"{AGENTS} === 'ann,bob,cem,dee'")
        page.wait("no slice language Klingon")


def test_a_solved_board_of_a_slice_is_chosen_and_says_how_it_was_proven(sliced: Running, browser: Browser) -> None:
    assert sliced.store.solved.publish(solved_of("cup", method="copeland", position=20, ratings=[("ann", 3.0), ("bob", 2.0)]))
    own = solved_of("cup", method="copeland", position=7, ratings=[("dee", 1.0), ("ann", 0.0)])
    assert sliced.store.solved.publish(msgspec.structs.replace(own, slice=str(ENGLISH)))
    with browser.page(sliced.url, "/pools/cup?slice=language:English") as page:
        page.until(f"{AGENTS} === 'dee,ann'")
        page.until("[...document.querySelectorAll('.methods .chip')].map((one) => one.textContent).join() === 'Elo,Copeland'")
        page.click("a", "Copeland")
        page.until(f"{AGENTS} === 'dee,ann'")
        page.wait("proven", "the 7 games with language English")
        assert page.evaluate("new URLSearchParams(location.search).get('method')") == "copeland"
        assert page.complaints() == []


def test_a_slice_of_the_past_is_shown_and_keeps_its_slice(sliced: Running, browser: Browser) -> None:
    own = msgspec.structs.replace(solved_of("cup", method="copeland", position=7, ratings=[("dee", 1.0), ("ann", 0.0)]), slice=str(ENGLISH))
    whole = solved_of("cup", method="copeland", position=7, ratings=[("ann", 3.0), ("bob", 2.0)])
    for board in (whole, own):
        assert sliced.store.solved.publish(board)
        sliced.store.solved.publish_history("cup", board.name, [kept(board)])
    with browser.page(sliced.url, "/pools/cup?method=copeland&slice=language:English&at=2100-01-01T00:00:00") as page:
        page.until(f"{AGENTS} === 'dee,ann'")
        page.wait("only games with language English", "Copeland at")
        assert "slice=language%3AEnglish" in page.evaluate("document.querySelector('footer a[download]').href")
        page.click("a", "Back to now")
        page.until("!location.search.includes('at=') && location.search.includes('slice=')")
        page.wait("the 7 games with language English")
        assert page.complaints() == []


def test_columns_are_sorted_both_ways_and_say_which_way(sliced: Running, browser: Browser) -> None:
    sorted_by = (
        "[...document.querySelectorAll('th[aria-sort]')].map((one) => `${one.innerText.trim()} ${one.getAttribute('aria-sort')}`).join()"
    )
    with browser.page(sliced.url, "/pools/cup") as page:
        page.until(f"{AGENTS} === 'ann,bob,cem,dee'")
        assert page.evaluate(sorted_by) == "Rank ↑ ascending"
        for column, way, agents in (
            ("Rating", "Rating ↓ descending", "ann,bob,cem,dee"),
            ("Rating", "Rating ↑ ascending", "dee,cem,bob,ann"),
            ("Agent", "Agent ↑ ascending", "ann,bob,cem,dee"),
            ("Agent", "Agent ↓ descending", "dee,cem,bob,ann"),
        ):
            page.click("table.board th button", column)
            page.until(f"{sorted_by} === '{way}' && {AGENTS} === '{agents}'")
        assert page.evaluate("location.search") == "?sort=-name", "a link has the order"
        page.go("/pools/cup?sort=-name")
        page.until(f"{AGENTS} === 'dee,cem,bob,ann'")
        page.go("/pools/cup?sort=nothing")
        page.until(f"{AGENTS} === 'ann,bob,cem,dee'")
        assert page.violations() == []


def test_rows_are_sorted_on_a_phone_by_columns_that_it_does_not_show(sliced: Running, browser: Browser) -> None:
    pick = "document.querySelector('label.narrow select')"
    with browser.page(sliced.url, "/pools/cup", width=390) as page:
        page.until(f"{AGENTS} === 'ann,bob,cem,dee' && {pick}.checkVisibility()")
        assert page.evaluate(f"{pick}.value") == "rank"
        page.evaluate(f"{pick}.value = 'games'; {pick}.dispatchEvent(new Event('change', {{ bubbles: true }})); undefined")
        page.until("location.search === '?sort=games'")
        page.go("/pools/cup?sort=rating")
        page.until(f"{AGENTS} === 'dee,cem,bob,ann' && {pick}.value === 'rating'")
        page.go("/pools/cup?sort=-change")
        page.until(f"{AGENTS} === 'ann,bob,cem,dee' && {pick}.value === 'rank'")
        assert page.violations() == []
        assert page.complaints() == []
    with browser.page(sliced.url, "/pools/cup") as page:
        page.until(f"{AGENTS} === 'ann,bob,cem,dee'")
        assert page.evaluate(f"{pick}.checkVisibility()") is False


def test_filters_choose_rows_of_a_slice(sliced: Running, browser: Browser) -> None:
    with browser.page(sliced.url, "/pools/cup?slice=language:English&country=FR") as page:
        page.until("document.querySelector('details.filters[open]')")
        page.wait("the 7 games with language English")
        page.click("a", "Clear")
        page.until(f"{AGENTS} === 'dee,ann'")
        assert page.complaints() == []
