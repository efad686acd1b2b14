"""The pages for everybody: axe-core finds nothing, phones show complete names, the keyboard reaches all, names keep their direction."""

from pathlib import Path

import pytest

from tests.support.api import Running
from tests.support.boards import solved_of
from tests.support.browser import NEEDED, Browser
from tests.support.insight import board as insight_board
from tests.support.pages import ARABIC, LONG, beat, play

pytestmark = NEEDED
PATHS = {
    "/": "Find a pool",
    "/pools/cup": "Elo",
    "/pools/cup?method=maximal_lottery": "proven",
    "/pools/cup?agent=rock": "Around",
    "/pools/cup?view=intervals": "intervals",
    "/pools/cup?view=methods": "They order",
    "/pools/cup?view=wins": "the row wins",
    "/pools/cup?view=cycles": "beats",
    "/pools/cup?view=copies": "equal results",
    "/pools/cup?view=next": "certain soonest",
    "/pools/cup?view=forecasts": "Winner right",
    "/pools/cup?view=insight": "Look-alikes",
    "/pools/cup/agents/rock": "Newest games",
    "/pools/cup?embed=1": "Elo",
    "/copies": "One number for each agent",
    "/operations": "Numbers for alerts",
    "/docs": "/v1/outcomes",
    "/pools/nowhere": "No pool",
    "/pools/cup?sort=-games": "Games",
    "/pools/cup?at=1970-01-02T00:00": "Choose a later one",
    "/pools/cup/agents/nobody": "No agent of this pool has this name.",
    "/nowhere": "No such page",
}
"""Address of each page and view -> a text that it has when it is complete."""
OUTSIDE = """[...document.querySelectorAll(SELECTOR)].filter((one) => {
  const place = one.getBoundingClientRect();
  return place.left < 0 || place.right > innerWidth + 1 || getComputedStyle(one).textOverflow === "ellipsis";
}).map((one) => one.textContent)"""


@pytest.fixture
def played(api: Running, tmp_path: Path) -> Running:
    names = play(api, tmp_path)
    assert api.store.solved.publish(solved_of("cup", position=50, ratings=[(name, 0.2) for name in names]))
    assert api.store.solved.publish(insight_board("cup"))
    beat(api)
    return api


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_nothing_on_any_page(played: Running, browser: Browser, width: int, dark: bool) -> None:
    with browser.page(played.url, "/", width=width, dark=dark) as page:
        for path, part in PATHS.items():
            page.go(path)
            page.wait(part)
            assert page.violations() == [], path
            wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert wide <= 0, f"{path} is {wide} pixels wider than the view"


def test_a_phone_shows_names_that_differ_at_their_end_completely(played: Running, browser: Browser) -> None:
    with browser.page(played.url, "/pools/cup", width=390, height=800) as page:
        page.wait(f"{LONG}-a", f"{LONG}-b")
        assert page.evaluate(OUTSIDE.replace("SELECTOR", "'table.board bdi'")) == []
        page.go("/pools/cup?view=methods")
        page.until("document.querySelectorAll('.slope').length === 5")
        names = page.evaluate("[...document.querySelectorAll('svg.chart text')].map((one) => one.textContent)")
        assert {f"{LONG}-a", f"{LONG}-b"} <= set(names)
        assert page.evaluate(OUTSIDE.replace("SELECTOR", "'svg.chart text'")) == []


def test_a_name_from_right_to_left_does_not_turn_its_row(played: Running, browser: Browser) -> None:
    with browser.page(played.url, "/pools/cup") as page:
        page.wait(ARABIC)
        found = "[...document.querySelectorAll('table.board bdi')].find((one) => one.textContent.startsWith('ل'))"
        assert page.evaluate(f"getComputedStyle({found}).unicodeBidi") == "isolate"
        assert page.evaluate(
            f"{found}.closest('tr').querySelector('.rank').getBoundingClientRect().left < {found}.getBoundingClientRect().left"
        )


def test_the_keyboard_reaches_all_and_shows_where_it_is(played: Running, browser: Browser) -> None:
    with browser.page(played.url, "/pools/cup") as page:
        page.wait("rock")
        reached = []
        for _ in range(40):
            page.call("Input.dispatchKeyEvent", type="keyDown", key="Tab", code="Tab", windowsVirtualKeyCode=9)
            page.call("Input.dispatchKeyEvent", type="keyUp", key="Tab", code="Tab", windowsVirtualKeyCode=9)
            reached.append(page.evaluate("document.activeElement.textContent.trim() || document.activeElement.type"))
            assert page.evaluate(
                "document.activeElement === document.body || getComputedStyle(document.activeElement).outlineStyle !== 'none'"
            ), reached[-1]
        assert reached[0] == "Skip to the content"
        assert {"How sure", "Soft Condorcet (SCO)", "search", "Filter", "rock", f"{LONG}-b"} <= set(reached)


def test_nothing_moves_by_itself() -> None:
    style = (Path(__file__).parents[2] / "services" / "web" / "static" / "app.css").read_text()
    for word in ("animation", "transition", "scroll-behavior: smooth"):
        assert word not in style, "who asked for reduced motion gets none, because there is none"
