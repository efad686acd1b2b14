"""The views of a pool: each has a link, its numbers as CSV, and says in words what is not there."""

import itertools
from pathlib import Path

import msgspec
import pytest

from services.boards.result import CertificateRow
from tests.support.api import Running
from tests.support.boards import solved_of
from tests.support.browser import NEEDED, Browser
from tests.support.insight import board as insight_board
from tests.support.pages import ARABIC, EVIL, beat, play
from tests.support.waiting import until

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


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_each_number_of_the_heat_map_is_read_and_a_tap_tells_it(played: Running, browser: Browser, dark: bool) -> None:
    light = (
        "((rgb) => { const parts = rgb.map((one) => one / 255).map((one) => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);"
    )
    light += " return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]; })"
    color = "((text) => text.match(/[0-9.]+/g).slice(0, 3).map(Number))"
    contrasts = f"""(() => {{
      const under = {color}(getComputedStyle(document.querySelector('figure.card')).backgroundColor);
      return [...document.querySelectorAll('.cell')].map((cell) => {{
        const [rect, text] = [cell.querySelector('rect'), cell.querySelector('text')];
        const opacity = Number(rect.getAttribute('opacity'));
        const back = {color}(getComputedStyle(rect).fill).map((one, i) => one * opacity + under[i] * (1 - opacity));
        const [low, high] = [{light}(back), {light}({color}(getComputedStyle(text).fill))].sort((a, b) => a - b);
        return (high + 0.05) / (low + 0.05);
      }});
    }})()"""
    with browser.page(played.url, "/pools/cup?view=wins&show=predicted", dark=dark) as page:
        page.until("document.querySelectorAll('.cell text').length === 20")
        assert min(page.evaluate(contrasts)) >= 4.5
        page.wait("5 agents.")
        page.go("/pools/cup?view=wins&start=3")
        page.wait("Agents 4 to 5 of 5.", "Previous")
        page.until("document.querySelectorAll('.cell').length === 2")
        page.evaluate("document.querySelector('.cell').dispatchEvent(new MouseEvent('click', { bubbles: true }))")
        page.until("document.querySelector('.told').textContent.includes('100 % of 6 games')")
        page.go("/pools/cup?view=wins&start=99")
        page.wait("No agent has this place.", "The first agents")
        assert page.complaints() == []


def test_the_cycle_is_drawn_and_said(played: Running, browser: Browser) -> None:
    with browser.page(played.url, "/pools/cup?view=cycles") as page:
        page.wait("paper beats rock-copy beats scissors beats paper")
        page.until("document.querySelectorAll('.arrow').length >= 3")
        page.wait("how many more games it won against it than it lost, and of how many")
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
        page.wait("proven cycles · 2 equal agents")
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


def test_a_cycle_is_told_if_it_is_proven_and_denied_if_it_is_not(played: Running, browser: Browser) -> None:
    """The findings decide it, on the board and in the advice which method to believe."""
    board = insight_board("cup")
    for position, (proven, told, denied) in enumerate(
        (
            (True, "Some agents here beat each other in a cycle", "No cycle"),
            (False, "No cycle of agents is proven here", "beat each other in a cycle"),
        )
    ):
        cycles = {**board.result.extra["cycles"], "cycles": [{**one, "proven": proven} for one in board.result.extra["cycles"]["cycles"]]}
        result = msgspec.structs.replace(board.result, extra={**board.result.extra, "cycles": cycles})
        assert played.store.solved.publish(msgspec.structs.replace(board, result=result, position=60 + position))
        with browser.page(played.url, "/pools/cup?view=methods") as page:
            text = page.wait("Which one to believe.", told)
            assert denied not in text
            page.go("/pools/cup?method=elo")
            text = page.wait("2 equal agents")
            assert ("proven cycles" in text) is proven
            assert ("paper beats rock-copy beats scissors beats paper" in text) is proven


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


def test_cycles_without_a_test_say_so_and_unproven_orders_have_bounds(played: Running, browser: Browser) -> None:
    board = insight_board("cup")
    extra = board.result.extra
    cycles = {**extra["cycles"], "untested": "weights", "cycles": [{**one, "proven": None} for one in extra["cycles"]["cycles"]]}
    cyclicity = {**extra["cyclicity"], "against_order": 0.25, "against_order_least": 0.125}
    result = msgspec.structs.replace(board.result, extra={**extra, "cycles": cycles, "cyclicity": cyclicity})
    assert played.store.solved.publish(msgspec.structs.replace(board, result=result, position=60))
    with browser.page(played.url, "/pools/cup?view=cycles") as page:
        page.wait("These cycles are not tested against chance: weights.", "The best order contradicts 12.5 % to 25.0 % of")
        page.go("/pools/cup?view=insight")
        page.wait("the best order contradicts 12.5 % to 25.0 % of", "not tested against chance: weights")
        page.go("/pools/cup?view=methods")
        page.wait("Head-to-head majorities form cycles here, which are not tested against chance.")
        assert page.complaints() == []


def test_copies_are_listed(played: Running, browser: Browser) -> None:
    with browser.page(played.url, "/pools/cup?view=copies") as page:
        page.wait("Agents with equal results", "rock-copy", "None: no two names look alike")


def test_two_methods_are_compared_by_the_ranks_that_they_give(played: Running, browser: Browser) -> None:
    with browser.page(played.url, "/pools/cup?view=methods") as page:
        page.until("document.querySelectorAll('.slope').length === 5")
        assert page.evaluate("document.querySelector('.slope title').textContent").endswith("1 and 1=")
        page.wait("Which one to believe.", "have equal results.", "of the pairs are tied by one of the two alone")
        page.click("figcaption a", "forecasts")
        page.wait("Winner right")
        assert page.complaints() == []


def test_forecasts_are_held_against_results(played: Running, browser: Browser) -> None:
    with browser.page(played.url, "/pools/cup?view=forecasts") as page:
        page.wait("Winner right", "not enough outcomes yet (0 of 100 predicted pairs)")
        assert page.complaints() == []


def test_forecasts_are_shown_by_shape_of_games(played: Running, browser: Browser) -> None:
    """One shape at a time, because a curve for each method and each of 17 shapes would show nothing."""
    board = insight_board("cup")
    rows = [
        {
            "method": "elo",
            "shape": "2:2",
            "pairs": 600.0,
            "log_loss": 0.61,
            "kendall": 0.3,
            "classes": [[600.0, 0.7, 0.71, 0.0]],
            "enough": True,
        },
        {
            "method": "sco",
            "shape": "2:2",
            "pairs": 600.0,
            "log_loss": 0.62,
            "kendall": 0.4,
            "classes": [[600.0, 0.7, 0.72, 0.0]],
            "enough": True,
        },
        {
            "method": "sco",
            "shape": "1:1",
            "pairs": 200.0,
            "log_loss": 0.4,
            "kendall": 0.2,
            "classes": [[200.0, 0.8, 0.81, 0.0]],
            "enough": True,
        },
        {
            "method": "elo",
            "shape": "1:1",
            "pairs": 200.0,
            "log_loss": 0.5,
            "kendall": 0.1,
            "classes": [[200.0, 0.8, 0.82, 0.0]],
            "enough": True,
        },
        {
            "method": "elo",
            "shape": "others",
            "pairs": 9000.0,
            "log_loss": 0.1,
            "kendall": 0.1,
            "classes": [[9000.0, 0.8, 0.8, 0.0]],
            "enough": True,
        },
    ]
    rows = [{"brier": 0.2, "calibration_error": 0.01, "scale": 1.0, **row} for row in rows]
    extra = {**board.result.extra, "prequential": {**board.result.extra["prequential"], "forecasts": rows}}
    assert played.store.solved.publish(
        msgspec.structs.replace(board, position=70, result=msgspec.structs.replace(board.result, extra=extra))
    )
    methods = "[...document.querySelectorAll('figure tbody th')].map((one) => one.textContent).join()"
    with browser.page(played.url, "/pools/cup?view=forecasts") as page:
        page.wait("games of other shapes", "70.0 %")
        assert page.evaluate(methods) == "Elo,Soft Condorcet (SCO)"
        page.click(".toggle a", "games 1:1")
        page.wait("90.0 %")
        assert page.evaluate("location.search") == "?view=forecasts&shape=1%3A1"
        assert page.evaluate(methods) == "Soft Condorcet (SCO),Elo"
        page.go("/pools/cup?view=methods")
        page.wait("which is Elo here (lowest log loss, of 600 forecasts of games 2:2)")
        page.go("/pools/cup?view=insight")
        page.wait("Elo, games of other shapes: log loss 0.1000")
        page.go("/pools/cup?view=wins&show=predicted")
        page.wait("Predicted by Elo")
        assert page.complaints() == []


def test_the_caption_of_a_board_says_ratings_once(played: Running, browser: Browser) -> None:
    assert played.store.solved.publish(solved_of("cup", method="deviation", position=51, ratings=[("rock", 0.0), (EVIL, -1.0)]))
    with browser.page(played.url, "/pools/cup?method=deviation") as page:
        page.until("document.querySelector('table.board caption')?.textContent === 'Deviation ratings'")
        page.go("/pools/cup?method=elo")
        page.until("document.querySelector('table.board caption')?.textContent === 'Elo ratings'")
        assert page.complaints() == []


def test_a_board_says_how_many_ranks_are_settled(played: Running, browser: Browser) -> None:
    solved = solved_of("cup", method="bradley_terry", position=51, ratings=[("rock", 3.0), (ARABIC, 2.0), (EVIL, 1.0)])
    ends = ((1, 1), (2, 3), (2, 3))
    rows = [msgspec.structs.replace(row, rank_low=low, rank_high=high) for row, (low, high) in zip(solved.result.agents, ends, strict=True)]
    assert played.store.solved.publish(msgspec.structs.replace(solved, result=msgspec.structs.replace(solved.result, agents=rows)))
    with browser.page(played.url, "/pools/cup?method=bradley_terry") as page:
        page.wait("1 of 3 ranks settled · Read with care: proven cycles")
        page.click(".findings-line summary")
        page.click(".findings-line a", "How sure")
        page.until("location.search.includes('view=intervals')")
        page.go("/pools/cup?method=elo")
        page.wait("1 of 3 ranks settled by Bradley-Terry · Read with care: proven cycles")
        page.click(".findings-line summary")
        page.wait("Elo does not say which of its ranks are settled. By Bradley-Terry: 1 of 3 ranks is settled.")
        page.click(".findings-line a", "How sure")
        page.until("location.search.includes('method=bradley_terry') && location.search.includes('view=intervals')")
        assert page.complaints() == []


def test_a_method_that_has_settled_ranks_is_never_said_not_to_have_them(played: Running, browser: Browser) -> None:
    """Between the click on a method and its rows, the page still has the rows of the method before."""
    solved = solved_of("cup", method="bradley_terry", position=51, ratings=[("rock", 3.0), (ARABIC, 2.0), (EVIL, 1.0)])
    rows = [msgspec.structs.replace(row, rank_low=1, rank_high=3) for row in solved.result.agents]
    assert played.store.solved.publish(msgspec.structs.replace(solved, result=msgspec.structs.replace(solved.result, agents=rows)))
    line = "document.querySelector('.findings-line').textContent"
    with browser.page(played.url, "/pools/cup?method=elo") as page:
        page.wait("none of 3 ranks settled by Bradley-Terry")
        page.evaluate(
            f"window.said = []; new MutationObserver(() => window.said.push({line}))"
            ".observe(document.querySelector('.findings-line'), { childList: true, characterData: true, subtree: true }); undefined"
        )
        page.click(".methods .chip", "Bradley-Terry")
        page.until(f"{line}.startsWith('none of 3 ranks settled') && !{line}.includes('by Bradley-Terry')")
        assert page.evaluate("window.said.filter((one) => one.includes('Bradley-Terry does not say')).length") == 0
        page.go("/pools/cup?method=elo&min_games=1")
        read = "performance.getEntriesByType('resource').map((one) => one.name)"
        page.until(f"document.querySelector('table.board tbody') && {read}.some((one) => one.includes('/insight'))")
        assert page.evaluate(f"{read}.filter((one) => one.includes('/boards/bradley_terry')).length") == 0, "filters choose these rows"
        assert page.complaints() == []


def test_a_board_that_rates_nobody_is_not_called_proven(played: Running, browser: Browser) -> None:
    assert played.store.solved.publish(solved_of("cup", method="bradley_terry", position=51, ratings=[("rock", None), (EVIL, None)]))
    with browser.page(played.url, "/pools/cup?method=bradley_terry") as page:
        assert "solution proven" not in page.wait("no ratings yet", "The games do not determine a rating of anybody")


def test_a_long_name_makes_no_other_row_of_the_slope_chart_higher(played: Running, browser: Browser) -> None:
    with browser.page(played.url, "/pools/cup?view=methods", width=390) as page:
        page.until("document.querySelectorAll('.slope').length === 5")
        heights = "[...document.querySelectorAll('.slope')].map((one) => Number(one.getAttribute('y1'))).sort((a, b) => a - b)"
        gaps = [after - before for before, after in itertools.pairwise(page.evaluate(heights))]
        assert min(gaps) < max(gaps)
        tops = "[...document.querySelectorAll('figure svg.chart text')].map((one) => one.getBoundingClientRect())"
        apart = "one.right <= two.left || two.right <= one.left || one.bottom <= two.top + 3 || two.bottom <= one.top + 3"
        assert not page.evaluate(f"{tops}.some((one, i, all) => all.slice(i + 1).some((two) => !({apart})))")


def test_a_phone_has_the_numbers_of_the_heat_map_in_its_cells(played: Running, browser: Browser) -> None:
    with browser.page(played.url, "/pools/cup?view=wins", width=390) as page:
        page.until("document.querySelectorAll('.cell text').length === 20")
        fits = "[...document.querySelectorAll('.cell')].every((one) => one.querySelector('text').getBoundingClientRect().width"
        assert page.evaluate(f"{fits} <= one.querySelector('rect').getBoundingClientRect().width)")
        page.evaluate("document.querySelector('.cell').dispatchEvent(new MouseEvent('click', { bubbles: true }))")
        page.click(".told a", "Who would win?")
        page.until("location.pathname.includes('/agents/') && location.search.startsWith('?against=')")
        page.wait("Expected score against")


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


@pytest.mark.parametrize("path", ["/pools/cup?method=elo", "/pools/cup?view=next"])
def test_a_board_and_the_next_games_have_a_picture(played: Running, browser: Browser, path: str) -> None:
    with browser.page(played.url, path) as page:
        page.click("details summary", "Picture")
        page.until("document.querySelector('details[open] svg.picture')")
        page.evaluate("HTMLAnchorElement.prototype.click = function () { window.file = this.download; }; undefined")
        page.click("details[open] button", "Download picture (PNG)")
        page.until("window.file?.endsWith('.png')")
        sheet = "document.querySelector('.picture .sheet').getBoundingClientRect()"
        texts = "[...document.querySelectorAll('.picture text')].map((one) => one.getBoundingClientRect())"
        assert page.evaluate(f"{texts}.every((one) => one.left > {sheet}.left && one.right < {sheet}.right && one.bottom < {sheet}.bottom)")
        assert "rock" in page.evaluate("document.querySelector('.picture').textContent")
        assert page.violations() == []
        assert page.complaints() == []


@pytest.mark.parametrize(
    ("view", "line"), [("copies", "equal agents,1,rock"), ("insight", "the best order contradicts 9.7 % of the margins")]
)
def test_copies_and_findings_have_a_link_an_embed_and_a_file(played: Running, browser: Browser, view: str, line: str) -> None:
    with browser.page(played.url, f"/pools/cup?view={view}") as page:
        page.until("document.querySelector('figure .tools button')")
        links = page.evaluate("[...document.querySelectorAll('figure .tools a')].map((one) => one.getAttribute('href'))")
        assert links == [f"/pools/cup?view={view}", f"/pools/cup?view={view}&embed=1"]
        page.evaluate("HTMLAnchorElement.prototype.click = () => {}")
        page.evaluate("URL.createObjectURL = (blob) => { window.saved = blob; return '#'; }; undefined")
        page.click("figure .tools button", "CSV")
        assert line in page.evaluate("window.saved.text()")
        assert page.violations() == []
        assert page.complaints() == []


@pytest.mark.parametrize("view", ["", "&view=cycles"])
def test_links_of_an_embedded_view_open_tabs_because_other_pages_refuse_frames(played: Running, browser: Browser, view: str) -> None:
    with browser.page(played.url, f"/pools/cup?embed=1{view}") as page:
        page.press("main a[href='/pools/cup/agents/paper'], main a[href='/pools/cup/agents/rock']")
        opened = until(lambda: [one for one in browser.targets() if "/pools/cup/agents/" in one["url"]], "the agent's page has a tab")
        assert page.evaluate("location.pathname") == "/pools/cup"
        for one in opened:
            browser.command("Target.closeTarget", targetId=one["targetId"])
        assert page.complaints() == []


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
        page.go("/pools/cup?view=insight")
        page.wait("none that can be shown: a hidden agent is part of each")
        page.go("/pools/cup?view=copies")
        page.wait("1 hidden agent is left out.", "None: no two agents have equal results")
        assert page.complaints() == []
