"""The page of a pool in a real browser, on the real API."""

import os
import re
import signal
from pathlib import Path

import msgspec
import pytest

from ratings_core.records.beliefs import Belief, BeliefModel
from services.boards.evidence import settled_first
from services.boards.history import kept
from services.boards.result import Intervals, SolvedBoard
from services.boards.store.protocol import ACTIVITY, LiveBoard
from tests.support.api import NOW, Running, running
from tests.support.boards import head_of, solved_of
from tests.support.browser import NEEDED, Browser
from tests.support.pages import EVIL, beat, failing
from tests.support.redis import Server

pytestmark = NEEDED


@pytest.mark.parametrize("path", ["/", "/pools/rps"])
def test_a_page_of_a_pool_that_nobody_folds_any_more_says_since_when(filled: Running, browser: Browser, path: str) -> None:
    with browser.page(filled.url, path) as page:
        page.until("document.querySelector('.state.ok')?.textContent === 'live'")
        beat(filled, idle=93.0)
        page.until("document.querySelector('.state.bad')")
        assert re.search(r"Folding has not moved for \d+ (s|min): no shard reports partition", page.text)
        assert page.complaints() == []


def test_the_live_boards_of_a_stopped_pool_say_stopped_and_why(filled: Running, browser: Browser) -> None:
    why = "at the outcome in record 7"
    boards = {"elo": LiveBoard(["paper", "rock"], [1510.5, 1490.0]), ACTIVITY: LiveBoard(["paper", "rock"], [3.0, 2.0])}
    head = head_of("rps", position=13, published_at=NOW, online=["elo"], outcomes=12, stopped=why)
    assert filled.store.live.publish(head, 1, boards)
    with browser.page(filled.url, "/pools/rps") as page:
        page.wait(f"This pool stopped: {why}", "1510.5")
        assert page.evaluate("document.querySelector('.badge.warn').textContent") == "stopped"
        assert page.evaluate("document.querySelectorAll('.badge.live').length") == 0
        page.until("document.querySelector('.state.bad')")
        assert page.complaints() == []
        page.go("/")
        page.wait(f"This pool stopped: {why}")


def test_a_page_whose_store_hangs_shows_what_was_last_known_and_says_so(tmp_path: Path, browser: Browser) -> None:
    with Server(tmp_path) as server, running(tmp_path, server.url, patience=0.3) as here:
        board = LiveBoard(["rock"], [1510.5])
        assert here.store.live.publish(head_of("rps", published_at=NOW, online=["elo"]), 1, {"elo": board, ACTIVITY: board})
        beat(here)
        with browser.page(here.url, "/pools/rps") as page:
            page.wait("1510.5")
            os.kill(server.pid, signal.SIGSTOP)
            try:
                page.wait("The store does not answer, or lost its data. This data was read", "1510.5")
            finally:
                os.kill(server.pid, signal.SIGCONT)


def test_boards_are_shown_also_while_the_findings_do_not_come(filled: Running, browser: Browser) -> None:
    with failing(filled.url, lambda path, _: path.endswith("/insight")) as url, browser.page(url, "/pools/rps") as page:
        page.wait("1510.5", "not updating: the service answered 502")


def test_a_page_says_how_old_its_data_is_while_the_service_does_not_answer(filled: Running, browser: Browser) -> None:
    with failing(filled.url, lambda path, before: path.startswith("/v1/") and before > 2) as url, browser.page(url, "/pools/rps") as page:
        page.wait("not updating: the service answered 502. This was read", "1510.5")
        page.until("/This was read [2-9] s ago/.test(document.body.textContent)")


def test_a_fit_with_features_says_what_each_does(filled: Running, browser: Browser) -> None:
    board = solved_of("rps", method="contextual_bradley_terry")
    told = {"feature": "length", "coefficient": 1.23096, "standard_error": 0.26, "low": 0.72013, "high": 1.7418}
    result = msgspec.structs.replace(board.result, extra={"features": [told], "games": 600})
    assert filled.store.solved.publish(msgspec.structs.replace(board, result=result))
    with browser.page(filled.url, "/pools/rps?method=contextual_bradley_terry") as page:
        page.wait("feature length: 1.23 logits per unit, 95 % interval 0.720 to 1.74")
        assert page.complaints() == []


def test_one_board_leads_and_the_others_are_one_click_away_and_names_are_text(filled: Running, browser: Browser) -> None:
    with browser.page(filled.url, "/pools/rps") as page:
        page.wait("rps simulated", "12 games", "1510.5", EVIL)
        assert page.evaluate("document.querySelectorAll('table.board').length") == 1
        assert page.evaluate("document.querySelector('.question').dataset.method") == "elo"
        assert page.evaluate("document.title") == "rps · Equirank"
        page.click(".methods a", "Maximal lottery")
        text = page.wait(
            "it took too long", "exploitability 1.0e-12", "Counts 10 outcomes; 2 newer ones are not in it yet.", "✓ solution proven", EVIL
        )
        assert "Which mix of agents is such that no other mix is preferred to it?" in text
        assert page.evaluate("location.search") == "?method=maximal_lottery"
        assert page.evaluate("document.querySelectorAll('img, script:not([src])').length") == 0
        assert page.complaints() == []
        page.evaluate("history.back()")
        page.until("document.querySelector('.question').dataset.method === 'elo'")


def test_positions_and_generations_are_behind_details(filled: Running, browser: Browser) -> None:
    with browser.page(filled.url, "/pools/rps") as page:
        page.wait("1510.5", "Generation")
        assert "Generation" not in page.text
        page.click("details.more summary", "Details")
        page.until("document.body.innerText.includes('Log position of the live boards')")


def test_a_rating_says_what_it_is_made_of(filled: Running, browser: Browser) -> None:
    solved = solved_of("rps", method="deviation", position=11)
    extra = {"contributions": {"rock": {'po"ng': 0.125, "qbert": -1.0, "other": 0.0}}}
    assert filled.store.solved.publish(msgspec.structs.replace(solved, result=msgspec.structs.replace(solved.result, extra=extra)))
    with browser.page(filled.url, "/pools/rps?method=deviation") as page:
        assert page.until("document.querySelector('td.number[title]')?.title") == 'contributions: po"ng +0.125, qbert -1'


def test_a_display_name_is_shown_in_place_of_the_name_which_is_its_title(filled: Running, browser: Browser) -> None:
    assert filled.client.put("/v1/pools/rps", json={"kind": "games"}).status_code == 201
    change = {"display_name": "<b>Rocky</b>", "country": "DE", "organisation": "Acme <i>", "licence": "MIT <b>"}
    assert filled.client.patch("/v1/pools/rps/agents/rock", json=change).status_code == 200
    with browser.page(filled.url, "/pools/rps") as page:
        page.wait("<b>Rocky</b>", "Acme <i>", "MIT <b>")
        assert page.evaluate("document.querySelector('.who[title=rock] a').textContent") == "<b>Rocky</b>"
        assert page.evaluate("document.querySelector('.who[title=rock] .flag').title") == "Germany"
        page.click(".filters summary")
        page.type("input[name=country]", "DE")
        page.click(".filters button")
        page.until("document.querySelectorAll('table.board .who').length === 1")
        assert page.evaluate("location.search") == "?country=DE"


def test_what_is_typed_stays_while_the_page_is_drawn_anew(filled: Running, browser: Browser) -> None:
    with browser.page(filled.url, "/pools/rps") as page:
        page.wait("1510.5", "12 games")
        page.click(".filters summary")
        for field, text in (("country", "DE"), ("organisation", "Acme")):
            page.type(f"input[name={field}]", text)
        boards = {"elo": LiveBoard(["paper", "rock"], [1511.5, 1489.0]), ACTIVITY: LiveBoard(["paper", "rock"], [3.0, 2.0])}
        head = head_of("rps", position=14, published_at=NOW, online=["elo"], outcomes=13)
        assert filled.store.live.publish(head, 1, boards)
        page.wait("1511.5", "13 games")
        typed = "['country', 'organisation'].map((name) => document.querySelector(`input[name=${name}]`).value).join()"
        assert page.evaluate(typed) == "DE,Acme"
        page.evaluate("document.querySelector('.filters button').click()")
        page.until("location.search === '?country=DE&organisation=Acme'")
        page.until(f"{typed} === 'DE,Acme'")
        page.click(".filters a", "Clear")
        page.until(f"location.search === '' && {typed} === ','")


def test_a_board_with_intervals_shows_them_and_those_of_ranks(filled: Running, browser: Browser) -> None:
    solved = solved_of("rps", method="copeland", position=11)
    told = [msgspec.structs.replace(row, low=0.25, high=0.75, rank_low=1, rank_high=2) for row in solved.result.agents]
    assert filled.store.solved.publish(msgspec.structs.replace(solved, result=msgspec.structs.replace(solved.result, agents=told)))
    with browser.page(filled.url, "/pools/rps?method=copeland") as page:
        page.wait("1–2")
        assert page.evaluate("document.querySelector('svg.bar').getAttribute('aria-label')") == "interval: 0.2500 to 0.7500"
        page.go("/pools/rps?method=copeland&view=intervals")
        page.wait(
            "95 % intervals of Copeland, for 2 agents.",
            "Each rating is within its line with 95 %.",
            "None of these ranks is settled. Possible ranks: paper (1 to 2), rock (1 to 2).",
            "With 95 %, all ranks are within their intervals at once.",
        )
        page.until("document.querySelectorAll('svg.chart .range').length > 0")
        assert page.complaints() == []


def test_where_no_coverage_is_proven_no_place_says_95_percent(filled: Running, browser: Browser) -> None:
    solved = solved_of("rps", method="nash_average", position=11)
    told = [msgspec.structs.replace(row, low=0.25, high=0.75, rank_low=1, rank_high=2) for row in solved.result.agents]
    about = Intervals(kind="tasks", assumes="tasks drawn at random", proven=False, replicates=64)
    result = msgspec.structs.replace(solved.result, agents=told, intervals=about)
    assert filled.store.solved.publish(msgspec.structs.replace(solved, result=settled_first(result)))
    said = "How often such an interval includes the true rank is not proven for this method."
    with browser.page(filled.url, "/pools/rps?method=nash_average") as page:
        page.wait("Intervals from resampled tasks, computed 64 times. They assume tasks drawn at random.", "none of 2 ranks settled")
        page.click(".findings-line summary")
        assert "95 %" not in page.wait(said)
        page.go("/pools/rps?method=nash_average&view=intervals")
        assert "95 %" not in page.wait("A line covers the ratings that refits to resampled data gave, without the most extreme ones.", said)
        assert page.complaints() == []


def test_equal_ranks_are_marked_and_what_a_rating_hides_is_said(api: Running, browser: Browser) -> None:
    """Ranks of a live board are exact, so ratings that are written alike can have different ones."""
    names, ratings = ["ann", "bob", "cyd", "dan"], [1600.0, 1600.0, 1500.0004, 1500.0003]
    rated = LiveBoard(names, ratings)
    assert api.store.live.publish(
        head_of("club", position=13, published_at=NOW, online=["elo"], outcomes=12), 1, {"elo": rated, ACTIVITY: rated}
    )
    solved = solved_of("club", method="copeland", position=13, ratings=[("ann", 2.0), ("bob", 1.0)])
    ends = [(2.0, 2.0, 1, 2), (1.0, 1.5, 1, 2)]
    told = [
        msgspec.structs.replace(row, low=low, high=high, rank_low=best, rank_high=worst)
        for row, (low, high, best, worst) in zip(solved.result.agents, ends, strict=True)
    ]
    about = Intervals(kind="posterior", assumes="the model")
    assert api.store.solved.publish(
        msgspec.structs.replace(solved, result=msgspec.structs.replace(solved.result, agents=told, intervals=about))
    )
    shown = "[...document.querySelectorAll('table.board tbody td.rank')].map((one) => one.firstChild.textContent)"
    with browser.page(api.url, "/pools/club?method=elo") as page:
        page.wait("Ratings that look equal and have different ranks differ in decimals that are not shown.")
        assert page.evaluate(shown) == ["1=", "1=", "3", "4"]
        page.go("/pools/club?method=copeland")
        page.wait(
            "An interval that ends at its rating lies on one side of it",
            "No spread: nearly all draws or refits gave this same rating.",
            "With 95 %, all ranks are within their intervals at once.",
        )
        bars = "[...document.querySelectorAll('svg.bar')].map((one) => one.getAttribute('aria-label'))"
        assert page.evaluate(bars) == ["interval: no spread", "interval: 1 to 2"], "equal ends are not mistaken for ranks"
        assert "look equal" not in page.text
        assert page.complaints() == []


def test_provisional_agents_are_apart_and_a_live_board_says_of_what_its_intervals_are(api: Running, browser: Browser) -> None:
    names = ["ann", "bob"]
    boards = {
        "glicko2": LiveBoard(names, [1500.0, 1600.0], [Belief(50.0), Belief(200.0)], provisional=[False, True]),
        "weng_lin": LiveBoard(names, [19.5, 10.0], [Belief(2.0), Belief(3.0)]),
        ACTIVITY: LiveBoard(names, [10.0, 9.0]),
    }
    model = {"glicko2": BeliefModel(newcomer=350.0, period_seconds=604_800.0), "weng_lin": BeliefModel(newcomer=25 / 3, below=3.0)}
    head = head_of("club", position=12, published_at=NOW, online=["glicko2", "weng_lin"], beliefs=model)
    assert api.store.live.publish(head, 1, boards)
    with browser.page(api.url, "/pools/club?method=glicko2") as page:
        text = page.wait("95 % intervals from the method's own belief")
        assert "±" not in text, "the deviation would be read as a half of the interval, which is wider"
        assert text.index("ann") < text.index("Provisional:") < text.index("bob"), "also if its rating is higher"
        assert page.evaluate("document.querySelector('td.rank[title]').title") == "provisional: 9 outcomes"
        page.go("/pools/club?method=weng_lin")
        page.wait("95 % intervals of the mean, which the rating is 3 deviations below, from the method's own belief", "21.58 to 29.42")


def test_ranks_are_in_order_where_the_middle_of_a_board_has_wide_intervals(filled: Running, browser: Browser) -> None:
    """A close field of 59: the first and the last agents have narrow intervals of ranks, all others wide ones."""
    ratings = [(f"player-{rank:02}", 1600.0 - 3.0 * rank) for rank in range(1, 60)]
    solved = solved_of("rps", method="bradley_terry", position=11, ratings=ratings)
    rows = [
        msgspec.structs.replace(
            row, rank_low=max(1, row.rank - 25), rank_high=min(59, row.rank + 25), outcomes=80 if row.rank != 7 else 4, opponents=40,
            provisional=row.rank == 7,
        )
        for row in solved.result.agents
    ]  # fmt: skip
    result = settled_first(msgspec.structs.replace(solved.result, agents=rows))
    assert filled.store.solved.publish(msgspec.structs.replace(solved, result=result))
    shown = "[...document.querySelectorAll('table.board tbody td.rank')].map((one) => one.firstChild.textContent)"
    with browser.page(filled.url, "/pools/rps?method=bradley_terry") as page:
        text = page.wait("player-59", "Provisional: too few outcomes or opponents")
        assert page.evaluate(shown) == [*map(str, range(1, 59)), "?"], "only an agent of 4 games is apart, and has no rank"
        assert text.index("player-59") < text.index("Provisional:") < text.index("player-07")
        assert page.complaints() == []


def test_a_chart_of_intervals_says_how_many_agents_it_leaves_out(filled: Running, browser: Browser) -> None:
    solved = solved_of("rps", method="bradley_terry", position=11, ratings=[(f"player-{rank:02}", 1600.0 - rank) for rank in range(1, 60)])
    rows = [msgspec.structs.replace(row, low=1500.0, high=1600.0, rank_low=1, rank_high=59) for row in solved.result.agents]
    rows[0] = msgspec.structs.replace(rows[0], rank_high=1)
    rows[1] = msgspec.structs.replace(rows[1], low=None, high=None, rank_low=2, rank_high=2)
    assert filled.store.solved.publish(msgspec.structs.replace(solved, result=msgspec.structs.replace(solved.result, agents=rows)))
    with browser.page(filled.url, "/pools/rps?method=bradley_terry&view=intervals") as page:
        page.wait("for the first 39 of 59 agents; the others are not drawn.", "1 of these 39 ranks is settled.")
        assert page.complaints() == []


def test_a_past_board_of_another_generation_names_it(filled: Running, browser: Browser) -> None:
    solved = solved_of("rps", method="copeland", position=11, generation=2)
    assert filled.store.solved.publish(solved)
    filled.store.solved.publish_history("rps", "copeland", [kept(solved)])
    with browser.page(filled.url, "/pools/rps?method=copeland&at=2030-01-01T00:00:00") as page:
        page.wait("Copeland at 2030-01-01 00:00:00 (UTC)", "of generation 2. Generation 1 serves now.")
        assert page.complaints() == []


def test_an_empty_pool_says_what_to_do(api: Running, browser: Browser) -> None:
    api.client.put("/v1/pools/mine", json={"kind": "scores"})
    with browser.page(api.url, "/pools/mine") as page:
        page.wait("Send one to see its boards here", '"pool":"mine","task":"pong"')
        assert page.complaints() == []


def test_a_pool_that_is_not_there_says_so(api: Running, browser: Browser) -> None:
    with browser.page(api.url, "/pools/nowhere") as page:
        page.wait("No pool has this name")
        assert page.evaluate("document.querySelector('.state.bad').textContent") == "no such pool"


def test_a_pool_can_say_which_method_leads_its_pages(filled: Running, browser: Browser) -> None:
    rated = LiveBoard([EVIL, "paper", "rock"], [0.1, 0.2, 0.3])
    head = head_of("rps", position=13, published_at=NOW, online=["elo", "sco"], outcomes=12)
    assert filled.store.live.publish(head, 1, {"elo": rated, "sco": rated, ACTIVITY: rated})
    assert filled.client.put("/v1/pools/rps", json={"kind": "games"}).status_code == 201
    with browser.page(filled.url, "/pools/rps") as page:
        page.until("document.querySelector('.question')?.dataset.method === 'elo'")
        assert filled.client.put("/v1/pools/rps/leading_method", json={"method": "sco"}).status_code == 200
        page.until("document.querySelector('.question').dataset.method === 'sco'")
        page.go("/")
        page.wait("by Soft Condorcet (SCO)")
        page.go("/pools/rps/agents/rock")
        page.wait("No. 1 of 3 by Soft Condorcet (SCO)")
        assert page.complaints() == []


def test_a_leaderboard_has_the_change_of_the_day_or_says_since_when(filled: Running, browser: Browser) -> None:
    def solve(sequence: int, age: float, ratings: list[tuple[str, float | None]]) -> SolvedBoard:
        solved = solved_of("rps", method="bradley_terry", position=sequence, ratings=ratings)
        return msgspec.structs.replace(solved, sequence=sequence, solved_at=NOW - age)

    old = solve(1, 90_000.0, [("paper", 1600.0), ("rock", 1500.0), ("still", 1300.0)])
    new = solve(2, 1.0, [("rock", 1580.0), ("paper", 1540.0), ("late", 1400.0), ("still", 1300.0)])
    assert filled.store.solved.publish(new)
    filled.store.solved.publish_history("rps", "bradley_terry", map(kept, [old, new]))
    changes = "[...document.querySelectorAll('td.change')].map((one) => one.innerText.trim()).join()"
    with browser.page(filled.url, "/pools/rps?method=bradley_terry") as page:
        page.until(f"{changes} === '▲1 +80,▼1 −60,–,▼1 0'")
        assert page.evaluate("document.querySelector('td.change .up').getAttribute('aria-label')") == "up from rank 2"
        why = page.evaluate("[...document.querySelectorAll('td.change a')].map((one) => one.getAttribute('href'))")
        assert why[0].startswith("/pools/rps/agents/rock?why=bradley_terry&since=")
        assert why[0].endswith("#why")
        assert len(why) == 2, "what did not move has no reasons"
        assert page.until("document.querySelector('th.change').title").startswith("Change of rank and rating since")
        page.click("th.change button", "Change")
        page.until(f"{changes} === '▲1 +80,▼1 0,▼1 −60,–'")
        assert page.complaints() == []
        newest = solve(4, 1.0, [("rock", 1580.0), ("paper", 1540.0)])
        filled.store.solved.publish_history("rps", "bradley_terry", map(kept, [solve(3, 7200.0, [("paper", 1600.0)]), newest]))
        assert filled.store.solved.publish(newest)
        page.until("document.querySelector('th.change')?.title.includes('the oldest kept solve of this season')")
        minutes = solve(6, 1.0, [("rock", 1581.0), ("paper", 1540.0)])
        filled.store.solved.publish_history("rps", "bradley_terry", map(kept, [solve(5, 600.0, [("paper", 1600.0)]), minutes]))
        assert filled.store.solved.publish(minutes)
        page.wait("1581")
        page.until("document.querySelector('table.board') && !document.querySelector('th.change')")


def test_a_provisional_agent_can_have_a_change(filled: Running, browser: Browser) -> None:
    def solve(sequence: int, age: float, rating: float) -> SolvedBoard:
        solved = solved_of("rps", method="bradley_terry", position=sequence, ratings=[("paper", 1600.0), ("late", rating)])
        rows = [msgspec.structs.replace(row, rank=None, provisional=True) if row.agent == "late" else row for row in solved.result.agents]
        result = msgspec.structs.replace(solved.result, agents=rows)
        return msgspec.structs.replace(solved, sequence=sequence, solved_at=NOW - age, result=result)

    old, new = solve(1, 90_000.0, 1500.0), solve(2, 1.0, 1400.0)
    assert filled.store.solved.publish(new)
    filled.store.solved.publish_history("rps", "bradley_terry", map(kept, [old, new]))
    with browser.page(filled.url, "/pools/rps?method=bradley_terry") as page:
        page.until("[...document.querySelectorAll('td.change')].map((one) => one.innerText.trim()).join() === '0,−100'")
        assert page.complaints() == []
