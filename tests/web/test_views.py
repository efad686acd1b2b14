"""The views of a pool: each has a link, its numbers as CSV, and says in words what is not there."""

from pathlib import Path

import msgspec
import pytest

from services.boards.result import CertificateRow
from tests.support.api import Running
from tests.support.boards import solved_of
from tests.support.browser import NEEDED, Browser
from tests.support.insight import board as insight_board
from tests.support.pages import ARABIC, EVIL, beat, play

pytestmark = NEEDED


@pytest.fixture
def played(api: Running, tmp_path: Path) -> Running:
    names = play(api, tmp_path)
    assert api.store.solved.publish(solved_of("cup", position=50, ratings=[(name, 0.2) for name in names]))
    assert api.store.solved.publish(insight_board("cup"))
    beat(api)
    return api


def test_who_beats_whom_is_shown_observed_and_predicted(played: Running, browser: Browser) -> None:
    with browser.page(played.url, "/pools/cup?view=wins") as page:
        page.until("document.querySelectorAll('.heat').length === 20")
        assert page.evaluate("document.querySelector('.heat title').textContent").endswith("100 % of 6 games")
        page.click(".toggle a", "Predicted by Elo")
        page.until("location.search.includes('show=predicted')")
        page.until(
            "document.querySelectorAll('.heat').length === 20 && !document.querySelector('.heat title').textContent.includes('games')"
        )
        assert page.complaints() == []


def test_the_cycle_is_drawn_and_said(played: Running, browser: Browser) -> None:
    with browser.page(played.url, "/pools/cup?view=cycles") as page:
        page.wait("paper beats rock-copy beats scissors beats paper")
        page.until("document.querySelectorAll('.arrow').length >= 3")
        assert page.complaints() == []


def test_cycles_within_noise_are_behind_a_click(played: Running, browser: Browser) -> None:
    chance = insight_board("cup")
    cycles = {**chance.result.extra["cycles"], "cycles": [{**one, "proven": False} for one in chance.result.extra["cycles"]["cycles"]]}
    result = msgspec.structs.replace(chance.result, extra={**chance.result.extra, "cycles": cycles})
    assert played.store.solved.publish(msgspec.structs.replace(chance, result=result, position=60))
    with browser.page(played.url, "/pools/cup?view=cycles") as page:
        page.wait("No cycle is proven: majorities of few games form cycles by chance")
        shown = "[...document.querySelectorAll('.arrow')].filter((one) => one.checkVisibility()).length"
        assert page.evaluate(shown) == 0
        page.click("details.chance summary")
        page.until(f"{shown} >= 3")
        assert page.violations() == []
        assert page.complaints() == []


def test_a_board_that_cycles_and_copies_move_says_so(played: Running, browser: Browser) -> None:
    with browser.page(played.url, "/pools/cup?method=elo") as page:
        page.wait("proven cycles · 2 copies")
        page.click(".findings-line summary")
        page.wait("no order of agents can show cycles", "rock, rock-copy have equal results")
        page.click(".findings-line a", "cycles")
        page.wait("paper beats rock-copy beats scissors beats paper")
        assert page.evaluate("location.search") == "?method=elo&view=cycles"
        assert page.complaints() == []
    with browser.page(played.url, "/pools/cup?method=maximal_lottery") as page:
        page.until("document.querySelectorAll('table.board .who').length === 5")
        page.wait("2 weakly connected")  # of the same findings
        assert "proven cycles" not in page.text


def test_methods_that_do_not_apply_are_not_among_the_others(played: Running, browser: Browser) -> None:
    solved = solved_of("cup", method="copeland", position=50, ratings=[])
    nothing = msgspec.structs.replace(solved.result, status="not_applicable", certificate=CertificateRow(kind="none", value=None))
    assert played.store.solved.publish(msgspec.structs.replace(solved, result=nothing, error="needs games of a kind"))
    with browser.page(played.url, "/pools/cup") as page:
        page.wait("Not applicable here: Copeland")
        chips = page.evaluate("[...document.querySelectorAll('nav.methods a')].map((one) => one.textContent)")
        assert ("Maximal lottery" in chips, "Copeland" in chips) == (True, False)
        page.go("/pools/cup?method=copeland")
        page.wait("Not applicable: needs games of a kind", "No agent is rated.")
        assert "solution proven" not in page.text
        assert page.complaints() == []


def test_copies_are_listed(played: Running, browser: Browser) -> None:
    with browser.page(played.url, "/pools/cup?view=copies") as page:
        page.wait("Agents with equal results", "rock-copy", "None: no two names look alike")


def test_two_methods_are_compared_by_the_ranks_that_they_give(played: Running, browser: Browser) -> None:
    with browser.page(played.url, "/pools/cup?view=methods") as page:
        page.until("document.querySelectorAll('.slope').length === 5")
        assert page.evaluate("document.querySelector('.slope title').textContent").endswith("1 and 1")
        page.wait("Which one to believe.", "have equal results.", "of the pairs are tied by one of the two alone")
        page.click("figcaption a", "forecasts")
        page.wait("Winner right")
        assert page.complaints() == []


def test_forecasts_are_held_against_results(played: Running, browser: Browser) -> None:
    with browser.page(played.url, "/pools/cup?view=forecasts") as page:
        page.wait("Winner right", "not enough outcomes yet (0 of 100 predicted pairs)")
        assert page.complaints() == []


def test_the_next_games_have_shares(played: Running, browser: Browser) -> None:
    with browser.page(played.url, "/pools/cup?view=next") as page:
        page.wait("Games drawn at these rates make the ratings certain soonest.")
        page.until("document.querySelectorAll('figure tbody tr').length > 0")
        assert page.complaints() == []


def test_the_target_of_the_next_games_is_chosen_and_is_part_of_the_link(played: Running, browser: Browser) -> None:
    with browser.page(played.url, "/pools/cup?view=next&target=agent:rock") as page:
        page.wait("Games drawn at these rates make the rating of rock certain soonest.")
        pick = "(() => {{ const pick = document.querySelector('.target select'); pick.value = '{}'; {} }})()"
        change = "pick.dispatchEvent(new Event('change', { bubbles: true }));"  # in the same call: the page can be drawn again between two
        page.evaluate(pick.format("top", change))
        page.wait("settle soonest who is among the first 3.")
        assert page.evaluate("new URLSearchParams(location.search).get('target')") == "top:3"
        assert "target=top%3A3" in page.evaluate("[...document.querySelectorAll('.tools a')].map((one) => one.href).join()")
        page.evaluate(pick.format("agent", change))
        page.type("figure input[type=search]", "rock")
        page.click("figure .results button")
        page.wait("make the rating of rock certain soonest.")
        assert page.violations() == []
        page.go("/pools/cup?view=next&target=top:99")
        page.wait("must be top:K with K from 1 to 4")
        assert [line for line in page.complaints() if "422" not in str(line)] == []


def test_all_findings_are_said_in_words(played: Running, browser: Browser) -> None:
    with browser.page(played.url, "/pools/cup?view=insight") as page:
        page.wait(
            "2 groups without games between them", "paper › rock-copy › scissors › paper", "equal agents: rock, rock-copy",
            "by majority of head-to-head results, stranger loses to no opponent; without 1 outcome, other would be level or ahead",
            "other boards rank it lower: 6 by Elo", "Soft Condorcet (SCO): not enough outcomes yet (0 of 100 predicted pairs)",
            "other: place 2 by Maximal lottery, 7 by Elo", "log loss 0.5000", "none: no two names look alike",
        )  # fmt: skip
        assert page.complaints() == []


def test_weak_links_among_the_first_are_said_at_the_board(played: Running, browser: Browser) -> None:
    with browser.page(played.url, "/pools/cup?method=maximal_lottery") as page:
        page.wait("2 weakly connected")
        page.click(".findings-line summary")
        page.wait("Weakly connected agents among the first 7: stranger, other.")


def test_a_chart_is_saved_as_csv_and_as_png_with_hostile_names(played: Running, browser: Browser) -> None:
    with browser.page(played.url, "/pools/cup?view=wins") as page:
        page.until("document.querySelectorAll('.heat').length === 20")
        page.evaluate("window.saved = []; HTMLAnchorElement.prototype.click = () => {}")
        page.evaluate("URL.createObjectURL = (blob) => { window.saved.push(blob); return '#'; }; undefined")
        page.evaluate("document.querySelectorAll('.tools button').forEach((one) => one.click())")
        page.until("window.saved.length === 2")
        text = page.evaluate("window.saved.find((blob) => blob.type === 'text/csv').text()")
        assert text.startswith("agent,")
        assert EVIL in text
        assert page.evaluate("window.saved.find((blob) => blob.type === 'image/png').size") > 1000
        assert page.complaints() == []


def test_an_embedded_view_has_no_navigation(played: Running, browser: Browser) -> None:
    with browser.page(played.url, "/pools/cup?embed=1") as page:
        page.wait("rock", "Open in Equirank")
        assert page.evaluate("getComputedStyle(document.querySelector('body > header')).display") == "none"
        assert page.evaluate("document.querySelector('a[target=_blank]').getAttribute('href')") == "/pools/cup"


def test_the_rows_around_an_agent_have_a_link(played: Running, browser: Browser) -> None:
    with browser.page(played.url, "/pools/cup") as page:
        page.type("input[type=search]", "rock")
        page.click(".results button")
        page.until("document.querySelector('.around tr.chosen')")
        assert page.evaluate("location.search") == "?agent=rock"


def test_views_have_display_names_and_say_that_hidden_agents_are_left_out(played: Running, browser: Browser) -> None:
    assert played.client.put("/v1/pools/cup", json={"kind": "games"}).status_code == 201
    for agent, change in (("rock", {"display_name": "Rocky"}), ("paper", {"display_name": "Sheet"}), (ARABIC, {"hidden": True})):
        assert played.client.patch(f"/v1/pools/cup/agents/{agent}", json=change).status_code == 200
    with browser.page(played.url, "/pools/cup?view=cycles") as page:
        page.wait("Sheet beats rock-copy beats scissors beats Sheet")
        assert page.evaluate("document.querySelector('main a[title=paper]').textContent") == "Sheet"
        page.go("/pools/cup?view=copies")
        page.wait("Agents with equal results", "Rocky")
        page.go("/pools/cup?view=insight")
        page.wait("Sheet › rock-copy › scissors › Sheet", "equal agents: Rocky, rock-copy")
        page.go("/pools/cup?view=next")
        text = page.wait("Rocky", "1 hidden agent is left out.")
        assert ARABIC not in text
        page.go("/pools/cup?view=methods")
        page.wait("Rocky", "1 hidden agent is left out.")
        page.go("/pools/cup?view=wins")
        page.until("document.querySelectorAll('.heat').length === 12")
        assert "Rocky" in page.text
        page.go("/pools/cup")
        page.wait("Rocky", "1 hidden agent is left out. Ranks count hidden agents.")
        assert played.client.patch("/v1/pools/cup/agents/rock-copy", json={"hidden": True}).status_code == 200
        page.go("/pools/cup?view=cycles")
        page.wait("None that can be shown: 1 hidden agent is left out.")
        page.go("/pools/cup?view=copies")
        page.wait("1 hidden agent is left out.", "None: no two agents have equal results")
        assert page.complaints() == []
