"""Pages that stay open while outcomes stream in, and a board of many rows."""

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from services.boards.store.protocol import ACTIVITY, LiveBoard
from tests.support.api import NOW, Running, running
from tests.support.boards import head_of, solved_of
from tests.support.browser import NEEDED, Browser
from tests.support.insight import board as insight_board
from tests.support.pages import EVIL, beat, failing, play
from tests.support.redis import flush
from tests.support.waiting import PATIENCE

pytestmark = NEEDED
MANY = 200_000
"""More rows than browsers lay out, so the table is scrolled by shares of its length."""

_ASKED = """performance.getEntriesByType('navigation').concat(performance.getEntriesByType('resource')).map((one) => (
  {name: one.name.replace(location.origin, ''), start: one.startTime, end: one.responseEnd, bytes: one.encodedBodySize}))"""

_SHIFTS = """new Promise((done) => {
  const seen = [];
  const moved = ({ sources }) => sources.some(({ node }) => (node instanceof Element ? node : node?.parentElement)?.closest("table.board"));
  const watch = new PerformanceObserver((list) => seen.push(...list.getEntries()));
  watch.observe({ type: "layout-shift", buffered: true });
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(
    seen.concat(watch.takeRecords()).filter(moved).map(({ value, startTime }) => [value, startTime])))));
})"""
"""Movements of rows so far: their sizes and times."""


def publish(api: Running, outcomes: int) -> None:
    """Publish boards on which `rock` has one point more with each outcome."""
    names = ["paper", "rock"]
    ratings = [1500.25, 1400.25 + outcomes]
    boards = {"elo": LiveBoard(names, ratings), "sco": LiveBoard(names, ratings), ACTIVITY: LiveBoard(names, [float(outcomes)] * 2)}
    assert api.store.live.publish(
        head_of("rps", position=outcomes, published_at=NOW, online=["elo", "sco"], outcomes=outcomes, agents=2), 1, boards
    )


@contextmanager
def streaming(api: Running) -> Iterator[None]:
    """Publish one outcome after another, until the context ends."""
    ended = threading.Event()

    def run() -> None:
        outcomes = 1
        while not ended.wait(0.05):
            outcomes += 1
            publish(api, outcomes)

    publish(api, 1)
    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def test_a_service_that_starts_says_so_until_it_has_the_pool(tmp_path: Path, page_redis: str, browser: Browser) -> None:
    flush(page_redis)
    with running(tmp_path, page_redis) as before:
        assert before.client.put("/v1/pools/rps", json={"kind": "games"}).status_code == 201
    with running(tmp_path, page_redis, clock=itertools.count(NOW + 1.0).__next__) as api, browser.page(api.url, "/pools/rps") as page:
        page.wait("starting: this page shows the newest numbers as soon as they are there")
        assert page.evaluate("document.querySelector('.state.bad')") is None
        page.go("/")
        page.wait("the engine is starting, or does not run")
        page.go("/pools/rps/agents/rock")
        page.wait("starting: this page shows")
        page.go("/pools/rps")
        page.wait("starting: this page shows")
        beat(api)
        publish(api, 1)
        page.wait("rock")
        page.until("document.querySelector('.state.ok')")


@pytest.mark.parametrize("path", ["/", "/pools/rps", "/pools/rps?view=methods", "/pools/rps/agents/rock", "/pools/rps?agent=rock"])
def test_an_open_page_follows_the_stream_without_a_complaint(api: Running, browser: Browser, path: str) -> None:
    beat(api)
    with streaming(api), browser.page(api.url, path) as page:
        rock = "Number(document.body.innerText.match(/(\\d+) (?:games|outcomes)/)?.[1] ?? 0)"
        seen = page.until(f"document.body.innerText.includes('rock') && {rock}")
        page.until(f"{rock} > {seen} + 20")
        assert page.complaints() == []


def test_what_has_the_focus_keeps_it_while_rows_change(api: Running, browser: Browser) -> None:
    beat(api)
    with streaming(api), browser.page(api.url, "/pools/rps") as page:
        page.until("document.querySelectorAll('table.board a').length === 2")
        page.evaluate("[...document.querySelectorAll('table.board a')].find((one) => one.textContent === 'rock').focus()")
        page.until("document.querySelector('table.board tbody a').textContent === 'rock'")
        assert page.evaluate("document.activeElement.textContent") == "rock"


def test_a_large_board_is_shown_after_two_requests_and_any_row_is_scrolled_to(api: Running, browser: Browser) -> None:
    names = [f"agent-{i:06}" for i in range(MANY)]
    ratings = np.arange(MANY, 0, -1).astype(float).tolist()
    boards = {"elo": LiveBoard(names, ratings), ACTIVITY: LiveBoard(names, ratings)}
    assert api.store.live.publish(head_of("large", position=1, published_at=NOW, online=["elo"], outcomes=MANY, agents=MANY), 1, boards)
    with browser.page(api.url, "/pools/large") as page:
        page.wait("agent-000000")
        page.until("performance.getEntriesByType('resource').some((one) => one.name.endsWith('/seasons') && one.responseEnd)")
        asked = page.evaluate(_ASKED)
        board = next(one for one in asked if "/boards/elo" in one["name"])
        before = [one for one in asked if one["start"] < board["end"]]
        assert [one["name"] for one in before if one["name"].startswith("/v1/")] == [
            "/v1/pools/large/boards?count=1",
            "/v1/pools/large/boards/elo?count=100",
        ], "nothing else is read before the first row"
        files = [one["name"] for one in before if one["name"].startswith("/static/")]
        document = api.client.get("/pools/large").text
        assert [name for name in files if f'"{name}"' not in document] == [], "the document names all files, so none waits for another"
        assert len(before) < 20
        assert sum(one["bytes"] for one in before) < 150_000
        assert page.evaluate("document.querySelector('table.board').getAttribute('aria-rowcount')") == str(MANY + 1)
        page.evaluate("scrollTo({top: document.body.scrollHeight})")
        page.wait(f"agent-{MANY - 1:06}")
        page.evaluate("scrollTo({top: document.body.scrollHeight / 2})")
        page.until("[...document.querySelectorAll('table.board .who')].some((one) => /agent-(099|100)/.test(one.title))")
        assert page.evaluate("document.querySelectorAll('table.board tr').length") < 120
        assert page.complaints() == []


def test_a_hidden_agent_of_a_large_board_leaves_its_own_place_empty(api: Running, browser: Browser) -> None:
    names = [f"agent-{i:03}" for i in range(300)]
    ratings = np.arange(300, 0, -1).astype(float).tolist()
    boards = {"elo": LiveBoard(names, ratings), ACTIVITY: LiveBoard(names, ratings)}
    assert api.store.live.publish(head_of("wide", position=1, published_at=NOW, online=["elo"], outcomes=300, agents=300), 1, boards)
    assert api.client.put("/v1/pools/wide", json={"kind": "games"}).status_code == 201
    for hidden in ("agent-001", "agent-003"):
        assert api.client.patch(f"/v1/pools/wide/agents/{hidden}", json={"hidden": True}).status_code == 200
    with browser.page(api.url, "/pools/wide") as page:
        page.wait("2 hidden agents are left out. Ranks count hidden agents.")
        page.evaluate("globalThis.told = (row) => row.innerText.trim().split(/\\s+/).slice(0, 2).join(' ')")
        rows = page.evaluate("[...document.querySelectorAll('table.board tbody tr')].slice(0, 6).map(told)")
        assert rows == ["1 agent-000", "hidden agent", "3 agent-002", "hidden agent", "5 agent-004", "6 agent-005"]
        page.evaluate("scrollTo({top: document.body.scrollHeight})")
        page.wait("agent-299")
        assert page.complaints() == []


def test_provisional_agents_of_a_large_board_follow_under_their_heading(api: Running, browser: Browser) -> None:
    """They have the best ratings. The heading is met on the way down, and passed on the way to the end."""
    names = [f"agent-{i:03}" for i in range(600)]
    marks = [i < 250 for i in range(600)]
    boards = {
        "elo": LiveBoard(names, [2000.0 - i for i in range(600)], provisional=marks),
        ACTIVITY: LiveBoard(names, [3.0 if mark else 30.0 for mark in marks]),
    }
    head = head_of("apart", position=1, published_at=NOW, online=["elo"], outcomes=600, agents=600)
    assert api.store.live.publish(head, 1, boards)
    told = (
        "[...document.querySelectorAll('table.board tbody tr')]"
        ".map((row) => row.innerText.trim().split(/\\s+/).slice(0, 2).join(' ')).filter(Boolean)"
    )
    with browser.page(api.url, "/pools/apart") as page:
        page.wait("agent-250")
        assert page.evaluate(told)[:2] == ["1 agent-250", "2 agent-251"]
        page.evaluate(
            "scrollTo({top: document.querySelector('table.board').getBoundingClientRect().top + scrollY + 350 * 45 - innerHeight / 2})"
        )
        page.until("document.body.innerText.includes('Provisional:') && document.body.innerText.includes('agent-000')")
        page.until("!document.querySelector('table.board tr.waits')")
        rows = page.evaluate(told)
        at = rows.index("349 agent-598")
        assert rows[at : at + 4] == ["349 agent-598", "350 agent-599", "Provisional: too", "? agent-000"]
        page.evaluate("scrollTo({top: document.body.scrollHeight})")
        page.wait("agent-249")
        page.until("!document.querySelector('table.board tr.waits')")
        rows = page.evaluate(told)
        assert rows[-2:] == ["? agent-248", "? agent-249"]
        assert "Provisional: too" not in rows
        assert page.complaints() == []


@pytest.mark.parametrize("method", ["elo", "maximal_lottery"])
@pytest.mark.parametrize("width", [390, 1280])
def test_findings_that_come_after_the_rows_do_not_move_them(
    api: Running, browser: Browser, tmp_path: Path, width: int, method: str
) -> None:
    """Rows do not wait: the findings are answered only after the rows are in the document."""
    play(api, tmp_path)
    assert api.store.solved.publish(insight_board("cup"))
    lottery = solved_of("cup", method="maximal_lottery", position=10, ratings=[("rock", 0.5), (EVIL, 0.5)])
    assert api.store.solved.publish(lottery)
    beat(api)
    shown = threading.Event()

    def late(path: str, _: int) -> bool:
        return path.endswith("/insight") and not shown.wait(PATIENCE)

    with failing(api.url, late) as url, browser.page(url, f"/pools/cup?method={method}", width=width) as page:
        page.until("document.querySelectorAll('table.board .who').length")
        assert page.evaluate("document.querySelector('.findings-line').textContent") == ""
        shown.set()
        page.wait(
            "2 weakly connected · compared with Elo" if method == "maximal_lottery" else "proven cycles · 2 equal agents",
            "Log position of the live boards",
        )
        page.until("performance.getEntriesByType('resource').some((one) => one.name.endsWith('/seasons') && one.responseEnd)")
        page.until("document.querySelector('.state.ok')")
        page.click(".findings-line summary")
        page.wait("Weakly connected agents among the first" if method == "maximal_lottery" else "no order of agents can show")
        assert page.evaluate(_SHIFTS) == []
        assert page.violations() == []
        assert page.complaints() == []
