"""The page of an agent."""

import json
import time
from pathlib import Path
from urllib.parse import quote

import msgspec
import pytest

from services.boards.history import kept
from services.boards.result import SolvedBoard
from services.control.records import FoldSettings, Generation, Opening, PoolCreated, Serve
from services.web.assets import digest
from services.wire.events import GameEvent, ScoreEvent, Side
from services.wire.pools import Kind
from tests.support.api import NOW, Running
from tests.support.boards import solved_of
from tests.support.browser import NEEDED, Browser
from tests.support.ended_season import FOLD, append
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
        page.until("document.querySelectorAll('svg.chart .point').length === 2")
        ratings = [point["rating"] for point in played.client.get("/v1/pools/cup/agents/rock/history").json()["points"]]
        page.wait(f"Highest {max(ratings):.1f} (", f"lowest {min(ratings):.1f} (")
        assert page.evaluate("[...document.querySelectorAll('[data-method]')].map((one) => one.dataset.method)") == [
            "elo",
            "sco",
            "glicko2",
        ]
        assert page.evaluate("document.querySelectorAll('table.games tbody tr:not(.narrow)').length") == 20
        assert page.evaluate("document.title") == "rock · cup · Equirank"
        assert page.complaints() == []


@pytest.mark.parametrize("counts", [True, False])
def test_where_all_play_in_teams_a_record_counts_them_if_the_pool_does(
    api: Running, browser: Browser, tmp_path: Path, counts: bool
) -> None:
    served, state = ServedPool(api.store, tmp_path), state_of("twos", fold=FoldSettings(by_shape=counts))
    sides = [Side(["ann", "bob"], 1), Side(["cem", "dan"], 2)]
    assert fold_events(state, [GameEvent(v=1, id=f"g{i}", pool="twos", time=NOW - 9.0 + i, sides=sides) for i in range(6)]) == []
    served.checkpoint(state, 6, written_at=NOW - 3.0)
    served.publish(state, 6, published_at=NOW - 1.0)
    beat(api)
    with browser.page(api.url, "/pools/twos/agents/ann") as page:
        said = (": 6 won, 0 drawn, 0 lost", "6 games in teams count for no opponent.") if counts else ("", "")
        assert "0 won" not in page.wait(f"6 games{said[0]} · won the last 6", "Newest games", said[1])
        assert "6 games" in page.evaluate("document.querySelector('svg.sharecard').getAttribute('aria-label')")
        page.go("/pools/twos/agents/ann?against=bob")
        page.wait(
            "forecasts of games 1:1 need 100 results of this shape, and there are 0, beside games 2:2" if counts else "does not tell shapes"
        )
        page.go("/pools/twos")
        page.wait("Last active", "ann", "dan")
        assert ("Won–drawn–lost" in page.text, "6–0–0" in page.text) == (counts, counts)
        for view in ("next", "wins"):
            page.go(f"/pools/twos?view={view}")
            page.wait("games of teams are not counted by pairs")
        page.go("/pools/twos?view=wins&show=predicted")
        page.wait("Not predicted: forecasts of games 1:1" if counts else "Not predicted: its record")
        assert page.complaints() == []


def test_opponents_games_and_reasons_have_display_names(played: Running, browser: Browser) -> None:
    assert played.client.put("/v1/pools/cup", json={"kind": "games"}).status_code == 201
    assert played.client.patch(f"/v1/pools/cup/agents/{quote(EVIL)}", json={"display_name": "Evil Inc"}).status_code == 200
    with browser.page(played.url, f"/pools/cup/agents/rock?against={quote(EVIL)}") as page:
        page.until("document.querySelectorAll('table.games a[title]').length > 0")
        page.wait("Expected score against Evil Inc")
        page.click("button", "Explain")
        page.wait("By opponent")
        assert "Evil Inc" in page.evaluate(
            "[...document.querySelectorAll('section')].find((one) => one.innerText.startsWith('Why this rating')).innerText"
        )
        assert EVIL not in page.text
        assert page.complaints() == []


def test_a_curve_has_the_interval_of_each_solve_or_a_bar_for_the_present_one(played: Running, browser: Browser) -> None:
    def solve(sequence: int, rating: float, width: float | None) -> SolvedBoard:
        solved = solved_of("cup", method="copeland", position=sequence, ratings=[("rock", rating)])
        ends = {} if width is None else {"low": rating - width, "high": rating + width}
        rows = [msgspec.structs.replace(row, **ends) for row in solved.result.agents]
        result = msgspec.structs.replace(solved.result, agents=rows)
        return msgspec.structs.replace(solved, sequence=sequence, solved_at=NOW - 100.0 + sequence, result=result)

    for sequence, width in ((1, 1.0), (3, None)):
        solves = [solve(sequence, 1.5, width), solve(sequence + 1, 2.5, width)]
        assert played.store.solved.publish(solve(sequence + 1, 2.5, 1.0))
        played.store.solved.publish_history("cup", "copeland", map(kept, solves))
        with browser.page(played.url, "/pools/cup/agents/rock?method=copeland") as page:
            page.wait("The band is the interval of each of the newest solves." if width else "The bar at the end is the present interval.")
            page.until("document.querySelectorAll('svg.chart .point').length >= 2")
            assert page.evaluate("['.band', '.range'].map((part) => document.querySelectorAll(`svg.chart ${part}`).length)") == (
                [1, 0] if width else [0, 1]
            )
            assert page.complaints() == []


def test_a_curve_marks_the_begin_of_a_season_and_the_ban_of_the_agent(played: Running, browser: Browser) -> None:
    first = Generation(pool="cup", number=1, start=0, time=0.0, fold=FOLD)
    season = Opening(generation=1, position=12, keep=0.5, first=2)
    second = Generation(pool="cup", number=2, start=12, time=NOW - 30, fold=FOLD, season="autumn", opening=season)
    third = msgspec.structs.replace(second, number=3, time=NOW - 20, bans=("rock",))
    served = [Serve(pool="cup", number=one.number, time=one.time) for one in (second, third)]
    append(played, PoolCreated(pool="cup", kind=Kind.GAMES, time=0.0, fold=FOLD), first, second, served[0], third, served[1])
    with browser.page(played.url, "/pools/cup/agents/rock") as page:
        page.until("document.querySelectorAll('ul.events li').length === 2")
        page.wait("season autumn began", "rock was banned")
        page.until("document.querySelectorAll('.chart line.event').length === 2")
        assert page.violations() == []
        assert page.complaints() == []


def test_the_begin_of_a_season_is_before_all_of_its_games(played: Running, browser: Browser) -> None:
    """Games that arrive late are older than the moment at which their season began. `placed` gives the places on the curve."""
    season = {"generation": 2, "time": 500.0, "changes": ["season"], "season": "autumn"}
    history = {
        "generation": 3,
        "source": "live",
        "points": [{"time": 100.0}, {"time": 900.0}],
        "events": [season | {"generation": 1}, season],
    }
    with browser.page(played.url, "/pools/cup/agents/rock") as page:

        def placed(**changes: object) -> list[float]:
            given = json.dumps(history | changes)
            script = f"import('/static/{digest()}/curve.js').then((curve) => curve.eventsOf({given}, 'rock').map((event) => event.place))"
            places: list[float] = page.evaluate(script)
            return places

        assert placed() == [500.0, 100.0]
        assert placed(generation=1) == [100.0, 500.0], "the newer season is not served yet"
        assert placed(source="solved") == [500.0, 500.0], "solves have the times of the service"
        assert placed(points=[{"time": 600.0}]) == [500.0, 500.0], "older games are not kept"
        assert placed(points=[{"time": 600.0}, {"time": 50.0}]) == [500.0, 50.0], "points are in the order of the log, not of their times"


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


def test_a_card_has_all_of_a_long_name(played: Running, browser: Browser) -> None:
    assert played.client.put("/v1/pools/cup", json={"kind": "games"}).status_code == 201
    name = "The Most Honourable Grand Champion of the Northern Autumn Invitational Qualifier, Division Three (second account) 2"
    assert played.client.patch("/v1/pools/cup/agents/rock", json={"display_name": name}).status_code == 200
    with browser.page(played.url, "/pools/cup/agents/rock") as page:
        page.click(".share summary")
        page.until("document.querySelector('.sharecard .curve')")
        lines = page.evaluate("[...document.querySelectorAll('.sharecard .name')].map((one) => one.textContent)")
        assert " ".join(lines) == name
        card = "document.querySelector('.sharecard .sheet').getBoundingClientRect()"
        texts = "[...document.querySelectorAll('.sharecard text')].map((one) => one.getBoundingClientRect())"
        assert page.evaluate(f"{texts}.every((one) => one.right < {card}.right && one.bottom < {card}.bottom)")
        apart = "one.right <= two.left || two.right <= one.left || one.bottom <= two.top + 3 || two.bottom <= one.top + 3"
        overlaps = f"{texts}.some((one, i, all) => all.slice(i + 1).some((two) => !({apart})))"
        assert not page.evaluate(overlaps)


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
        page.wait(f"+{moved:.1f} in 24 hours by Elo. Why?", "last active")
        assert page.evaluate(
            "document.querySelector(document.querySelector('.person a[href^=\"#\"]').getAttribute('href')).textContent"
        ).startswith("Why it moved in the last 24 hours")
        page.click(".person a", "Why?")
        page.wait(f"+{moved:.1f} by Elo in 2 games.")
        cells = page.evaluate("[...document.querySelectorAll('table.day tbody tr')].map((one) => one.innerText.split('\\t').join(' '))")
        assert [cell.split()[:3] for cell in cells] == [["bob", "2", "2.0"]]
        page.go("/pools/cup")
        page.until("document.querySelector('table.board time')?.dateTime")
        page.click("th button", "Last active")
        page.until("document.querySelectorAll('th[aria-sort]')[0].textContent.includes('Last active')")
        assert page.complaints() == []


def test_the_card_says_the_rank_by_the_method_of_a_change_where_another_one_leads(api: Running, browser: Browser, tmp_path: Path) -> None:
    now = time.time()
    served, state = ServedPool(api.store, tmp_path), state_of("cup")
    assert (
        fold_events(state, [game_event(f"g{i}", "ann", "bob", pool="cup", time=at) for i, at in enumerate((now - 90_000.0, now - 60.0))])
        == []
    )
    served.checkpoint(state, 2, written_at=NOW - 3.0)
    served.publish(state, 2, published_at=NOW - 1.0)
    solved = solved_of("cup", method="bradley_terry", position=2, ratings=[("bob", 1600.0), ("ann", 1400.0)])
    assert api.store.solved.publish(solved)
    with browser.page(api.url, "/pools/cup/agents/ann") as page:
        page.wait("No. 2 of 2", "by Bradley-Terry", "By Elo, another method: no. 1 of 2, 15", " in 24 hours. Why?")
        assert page.complaints() == []


def test_a_rating_is_explained_on_request(played: Running, browser: Browser) -> None:
    with browser.page(played.url, "/pools/cup/agents/rock") as page:
        page.click("button", "Explain")
        page.wait(
            "By opponent: change",
            "The rating is the rating before the first outcome of the history",
            "a negative one lowered it",
            "More points than expected",
        )
        rating = played.client.get("/v1/pools/cup/boards/elo/why/rock").json()["rating"]
        page.wait(f"Rating {rating:.1f} from 60 outcomes of the pool, explained at ")
        change = f"{rating - 1500:+.1f}".replace("-", "\N{MINUS SIGN}")
        page.wait(f"1500.0 at the start, {change} by all games: {rating:.1f}.")
        sums = page.evaluate(
            "[...document.querySelectorAll('th[scope=rowgroup] + td')].map((one) => one.textContent.replace('\u2212', '-'))"
        )
        assert sum(map(float, sums)) == pytest.approx(rating - 1500, abs=0.2), "the groups sum to the change"


def test_a_sum_that_explains_a_rating_says_its_signs_and_has_all_its_terms(api: Running, browser: Browser, tmp_path: Path) -> None:
    served, state = ServedPool(api.store, tmp_path), state_of("cup")
    pairs = [("rock", "scissors"), ("scissors", "paper"), ("paper", "rock")] * 4
    assert fold_events(state, [game_event(f"g{i}", *pair, pool="cup", time=NOW - 50 + i) for i, pair in enumerate(pairs)]) == []
    served.checkpoint(state, len(pairs), written_at=NOW - 3.0)
    served.publish(state, len(pairs), published_at=NOW - 1.0)
    assert api.store.solved.publish(solved_of("cup", method="bradley_terry", position=12, ratings=[("rock", 1500.0), ("paper", 1500.0)]))
    with browser.page(api.url, "/pools/cup/agents/rock?why=bradley_terry#why") as page:
        page.wait("The rating is where points equal expected points", "pulls the rating up, and a negative one pulls it down.")
        cells = page.evaluate(
            "[...document.querySelectorAll('#why tbody tr')].map((row) => [...row.children].slice(0, 2).map((one) => one.innerText))"
        )
        *terms, (name, total) = cells
        assert (name, total) == ("Sum of all terms", "0")
        numbers = [float(value.replace("\N{MINUS SIGN}", "-")) for _, value in terms]
        assert min(numbers) < 0 < max(numbers)
        assert sum(numbers) == pytest.approx(0.0, abs=1e-3)
        assert page.complaints() == []


def test_all_parts_of_the_page_count_the_games_of_one_checkpoint(api: Running, browser: Browser, tmp_path: Path) -> None:
    served, state = ServedPool(api.store, tmp_path), state_of("cup")
    played: list[GameEvent] = []

    def play_until(games: int) -> None:
        """Publish these games. Their checkpoint counts all but the newest one."""
        for i in range(len(played), games):
            if i == games - 1:
                served.checkpoint(state, i, written_at=NOW - 3.0)
            played.append(game_event(f"g{i}", "ann", "bob", pool="cup", time=NOW - 100 + i))
            assert fold_events(state, played[-1:]) == []
        served.publish(state, games, published_at=NOW - 1.0)

    play_until(6)
    beat(api)
    with browser.page(api.url, "/pools/cup/agents/ann?against=bob") as page:
        page.wait("5 games: 5 won", "Newest games", "Best against", "They met 5 times", "1 newer game is in the live ratings alone")
        page.evaluate("""
          window.seen = [];
          new MutationObserver(() => window.seen.push([
            Number(document.querySelector('.person').innerText.match(/([0-9]+) games:/)[1]),
            Number(document.querySelector('.person').innerText.match(/won the last ([0-9]+)/)[1]),
            Number(document.querySelector('.two td:nth-child(3)').textContent),
            document.querySelectorAll('table.games tbody tr:not(.narrow)').length,
          ])).observe(document.body, { subtree: true, childList: true, characterData: true });
        """)
        play_until(10)
        page.wait("9 games: 9 won", "They met 9 times")
        seen = page.evaluate("window.seen")
        assert {number for one in seen for number in one} == {5, 9}
        assert all(len(set(one)) == 1 for one in seen), seen
        assert page.complaints() == []


def test_parts_of_another_checkpoint_are_asked_for_again_and_are_not_held_for_ever(api: Running, browser: Browser, tmp_path: Path) -> None:
    """As if an API process answered that has not read the newest checkpoint."""
    served, state = ServedPool(api.store, tmp_path), state_of("cup")
    events = [game_event(f"g{i}", "ann", "bob", pool="cup", time=NOW - 100 + i) for i in range(6)]
    assert fold_events(state, events) == []
    served.checkpoint(state, 6, written_at=NOW - 3.0)
    served.publish(state, 6, published_at=NOW - 1.0)
    beat(api)
    with browser.page(api.url, "/") as page:
        page.call(
            "Page.addScriptToEvaluateOnNewDocument",
            source="""
              window.late = { outcomes: 0, opponents: 0 };
              const real = window.fetch;
              window.fetch = async (url, options) => {
                const answer = await real(url, { ...options, headers: {} });
                const part = String(url).match(/ann.(outcomes|opponents)/)?.[1];
                if (!part) return answer;
                window.late[part] += 1;
                const late = location.search.includes("stuck") ? part === "opponents" : window.late[part] === 1;
                const value = await answer.json();
                return new Response(JSON.stringify({ ...value, position: value.position - (late ? 1 : 0) }));
              };
            """,
        )
        page.go("/pools/cup/agents/ann")
        page.wait("6 games: 6 won", "Newest games", "Best against")
        assert page.evaluate("Math.min(window.late.outcomes, window.late.opponents)") >= 2, "asked again, not after a minute"
        page.go("/pools/cup/agents/ann?stuck=1")
        page.wait("6 games: 6 won", "Newest games", "Best against")
        assert page.evaluate("window.late.opponents") > 2, "held for a while first"


def test_no_method_is_named_for_next_games_where_none_forecasts(api: Running, browser: Browser, tmp_path: Path) -> None:
    served, state = ServedPool(api.store, tmp_path), state_of("cup")
    assert fold_events(state, [game_event("g", "ann", "bob", pool="cup", time=NOW)]) == []
    served.checkpoint(state, 1, written_at=NOW - 1.0)
    served.publish(state, 1, published_at=NOW)
    with browser.page(api.url, "/") as page:
        page.call(
            "Page.addScriptToEvaluateOnNewDocument",
            source="""
              const real = window.fetch;
              window.fetch = async (url, options) => {
                const answer = await real(url, options);
                if (!String(url).includes("/opponents") || !answer.ok || answer.status === 304) return answer;
                return new Response(JSON.stringify({ ...(await answer.json()), method: null }));
              };
            """,
        )
        page.go("/pools/cup/agents/ann")
        text = page.wait("Score: wins, and half of the draws, of all games.")
        assert "Next game: the expected score" not in text


def test_a_phone_has_each_number_of_the_newest_games_and_no_label_breaks(played: Running, browser: Browser) -> None:
    with browser.page(played.url, "/pools/cup/agents/rock", width=390) as page:
        page.wait("Newest games", "Why this rating")
        newest = played.client.get("/v1/pools/cup/agents/rock/outcomes").json()["outcomes"][0]
        page.wait(f"{newest['before']:.1f} \N{RIGHTWARDS ARROW} {newest['after']:.1f}")
        times = "[...document.querySelectorAll('table.games time')].filter((one) => one.offsetWidth)"
        assert page.evaluate(f"{times}.length") == 20
        assert page.evaluate(f"{times}.every((one) => one.closest('tr').offsetHeight < 40)"), "the second line of a game does not wrap"
        for width in (320, 390, 600, 700, 800):
            page.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
            assert page.evaluate("document.querySelector('#why .one').getClientRects().length") == 1
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.complaints() == []


def test_the_record_of_two_agents_is_above_forecasts_that_do_not_see_their_cycle(api: Running, browser: Browser, tmp_path: Path) -> None:
    """Paper leads by wins over rock and its copy, and loses to scissors."""
    lost = [("scissors", "paper"), ("rock", "scissors"), ("rock-2", "scissors")]
    pairs = [*[("paper", rock) for rock in ("rock", "rock-2")] * 40, *lost * 10]
    games = [game_event(f"g{i}", *pair, pool="cup", time=NOW - 200 + i) for i, pair in enumerate(pairs)]
    served, state = ServedPool(api.store, tmp_path), state_of("cup")
    assert fold_events(state, games) == []
    served.checkpoint(state, len(games))
    served.publish(state, len(games))
    with browser.page(api.url, "/pools/cup/agents/paper?against=scissors") as page:
        text = page.wait("They met 10 times: paper won 0 %", "far from their results: ratings cannot show cycles", "Worst against")
        assert text.index("They met 10 times") < text.index("Expected score against scissors")
        assert (
            page.evaluate("document.querySelector('.met .headline').textContent")
            == "scissors would probably beat paper: its score so far is 100 %."
        )
        assert "By their games." in text
        body = {"matches": [{"sides": [["paper"], ["scissors"]]}]}
        records = {one["method"]: one["records"][0] for one in api.client.post("/v1/pools/cup/predict", json=body).json()["methods"]}
        best = min(records, key=lambda method: records[method]["log_loss"])
        assert api.client.get("/v1/pools/cup/agents/paper/opponents").json()["method"] == best
        name = {"elo": "Elo", "sco": "Soft Condorcet (SCO)", "glicko2": "Glicko-2"}[best]
        assert f"By their games. {name}, which forecasts best so far (lowest log loss, of 110 forecasts), expects" in text
        assert f"Next game: the expected score by {name}." in text
        assert "are of all games of two agents of the pool, not of these two" in text
        assert page.evaluate("document.querySelectorAll('tr.unseen').length") > 0
        assert " *" in text[text.index("Worst against") :], "the card of opponents has the same mark"
        page.go("/pools/cup/agents/rock?against=rock-2")
        page.wait("They have not met.", "It would be an even game: rock scores 50 %")
        assert page.evaluate("document.querySelectorAll('tr.unseen').length") == 0
        assert page.complaints() == []


def test_a_card_has_the_interval_of_the_rank_and_an_agent_without_a_part_is_outside_the_lottery(filled: Running, browser: Browser) -> None:
    names = [EVIL, "paper", "rock"]
    solved = solved_of("rps", method="bradley_terry", position=11, ratings=[(name, 1500.0 - i) for i, name in enumerate(names)])
    rows = [msgspec.structs.replace(row, rank_low=1, rank_high=3) for row in solved.result.agents]
    assert filled.store.solved.publish(msgspec.structs.replace(solved, result=msgspec.structs.replace(solved.result, agents=rows)))
    assert filled.store.solved.publish(solved_of("rps", position=11, ratings=[(EVIL, 0.5), ("paper", 0.5), ("rock", 0.0)]))
    with browser.page(filled.url, "/pools/rps/agents/rock") as page:
        page.wait("No. 3 of 3 (1 to 3) by Bradley-Terry")
        assert "outside the lottery" in page.evaluate("document.querySelector('[data-method=maximal_lottery]').textContent")
        page.go("/pools/rps/agents/paper")
        page.wait("No. 2 of 3 (1 to 3)")
        assert "1 of 3" in page.evaluate("document.querySelector('[data-method=maximal_lottery]').textContent")
        assert page.complaints() == []


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
        page.until("document.querySelector('.state.bad')?.textContent === 'no such agent'")
        page.wait("No agent of this pool has this name.")
        page.type("main input[type=search]", "roc")
        page.until("document.querySelector('.results a')?.textContent === 'rock'")
        assert page.violations() == []


def test_an_agent_of_a_pool_of_scores_has_its_best_and_its_worst_tasks(api: Running, browser: Browser, tmp_path: Path) -> None:
    served, state = ServedPool(api.store, tmp_path), state_of("lab", Kind.SCORES)
    scores = [
        ScoreEvent(v=1, id=str(i), pool="lab", time=NOW, task=f"task-{i:02}", scores={"ann": float(i), "bob": 6.5, EVIL: 20.0})
        for i in range(24)
    ]
    assert fold_events(state, scores) == []
    served.checkpoint(state, 24, written_at=NOW)
    served.publish(state, 24, published_at=NOW)
    solves = [
        msgspec.structs.replace(
            solved_of("lab", method="nash_average", position=at, ratings=[("ann", 0.5), ("bob", 0.1)]), sequence=at, solved_at=NOW + at
        )
        for at in (23, 24)
    ]
    assert api.store.solved.publish(solves[-1])
    api.store.solved.publish_history("lab", "nash_average", map(kept, solves))
    with browser.page(api.url, "/pools/lab/agents/ann") as page:
        page.until("document.querySelector('svg.sharecard')?.getAttribute('aria-label').endsWith('24 tasks')")
        text = page.wait("By task", "Best places", "The 10 best and 10 worst of 24 tasks.", "In each kept solve of Nash average")
        assert text.index("task-23") < text.index("Worst places") < text.index("task-00")
        assert page.evaluate("[...document.querySelectorAll('.tasks td')].slice(0, 2).map((one) => one.textContent)") == ["1 of 3", "20"]
        assert page.complaints() == []
        assert page.violations() == []


def test_no_forecast_is_offered_where_no_games_are_played(api: Running, browser: Browser, tmp_path: Path) -> None:
    served, state = ServedPool(api.store, tmp_path), state_of("lab", Kind.SCORES)
    assert fold_events(state, [ScoreEvent(v=1, id="1", pool="lab", time=NOW, task="pong", scores={"ann": 1.0, "bob": 2.0})]) == []
    served.publish(state, 1, published_at=NOW)  # there is no checkpoint, so the record is not known
    assert api.store.solved.publish(solved_of("lab", method="nash_average", position=1, ratings=[("ann", 0.5), ("bob", 0.1)]))
    with browser.page(api.url, "/pools/lab/agents/ann") as page:
        page.wait("Why this rating", "1 outcome")
        assert "If they met" not in page.text
        assert page.complaints() == []
