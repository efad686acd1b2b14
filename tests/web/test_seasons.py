"""Final boards of seasons, and boards of the past."""

from pathlib import Path

import msgspec

from services.boards.history import kept
from services.demo import simulated
from tests.support.api import Running
from tests.support.boards import solved_of
from tests.support.browser import NEEDED, Browser
from tests.support.ended_season import end_first_season
from tests.support.pages import beat, failing

pytestmark = NEEDED
PATH = f"/pools/{simulated.POOL}"


def test_the_final_board_of_a_season_is_chosen_and_has_a_link_and_a_file(api: Running, browser: Browser, tmp_path: Path) -> None:
    end_first_season(api, tmp_path)
    beat(api)
    solved = solved_of(simulated.POOL, method="copeland", position=20, generation=2, ratings=[("rock", 1.0)])
    assert api.store.solved.publish(solved)
    with browser.page(api.url, f"{PATH}?method=copeland") as page:
        page.until("[...document.querySelectorAll('label select option')].some((one) => one.value === 'first')")
        choice = "[...document.querySelectorAll('label select')].find((one) => [...one.options].some((option) => option.value === 'first'))"
        page.evaluate(f"{choice}.value = 'first'; {choice}.dispatchEvent(new Event('change', {{bubbles: true}})); undefined")
        page.wait("Final board of 3 agents by Copeland, at the end of season first", "stone", "Season first: 120 games")
        assert page.evaluate("document.querySelector('.state').textContent") == "final"
        assert "Won–drawn–lost" in page.text
        assert page.evaluate("location.search") == "?method=copeland&season=first"
        address = page.evaluate("document.querySelector('a[download]').getAttribute('href')")
        assert api.client.get(address).text.splitlines()[1].startswith("1,rock,3.0")
        assert page.complaints() == []
        page.click(".notice a", "Back to now")
        page.until("!location.search.includes('season')")
        page.wait("which runs:")
        assert page.evaluate(f"{choice}.options[0].textContent").endswith(" (now)")


def test_views_of_a_season_have_its_final_boards_or_say_that_they_have_not(api: Running, browser: Browser, tmp_path: Path) -> None:
    end_first_season(api, tmp_path)
    beat(api)
    with browser.page(api.url, f"{PATH}?season=first&view=methods&other=copeland") as page:
        page.wait("Final boards, at the end of season first.", "Season first: 120 games")
        page.until("document.querySelectorAll('.slope').length === 2")
        assert "season=first" in page.evaluate("document.querySelector('figure .tools a').href")
        page.go(f"{PATH}?season=first&view=wins")
        page.wait("This view has the games of now only, not those of season first.")
        page.click(".notice a", "Leaderboard of season first")
        page.wait("by Elo, at the end of season first")
        assert page.complaints() == []


def test_a_time_before_all_kept_boards_is_said_in_words(filled: Running, browser: Browser) -> None:
    with browser.page(filled.url, "/pools/rps?at=1970-01-02T00:00") as page:
        page.wait("Elo at 1970-01-02 00:00 (UTC).")
        page.until("document.querySelector('main .trouble[role=status]')?.textContent.includes('Choose a later one')")
        page.click(".notice a", "Back to now")
        page.wait("1510.5")


def test_seasons_that_the_service_could_not_send_are_asked_for_again(filled: Running, browser: Browser) -> None:
    def fails(path: str, before: int) -> bool:
        return path.endswith("/seasons") and before < 1

    with failing(filled.url, fails) as url, browser.page(url, "/pools/rps?season=nope") as page:
        page.wait("the service answered 502")
        page.wait("This pool has no ended season of this name")


def test_a_season_that_the_pool_does_not_have_is_said_in_words(filled: Running, browser: Browser) -> None:
    with browser.page(filled.url, "/pools/rps?season=nope") as page:
        page.wait("This pool has no ended season of this name with such a board.")
        assert "GET /v1" not in page.text
        page.click(".notice a", "Back to now")
        page.wait("1510.5")


def test_a_slider_leads_to_each_kept_solve_and_back_to_now(filled: Running, browser: Browser) -> None:
    solves = [
        msgspec.structs.replace(solved_of("rps", method="copeland", position=10 * (i + 1), ratings=[(name, 1.0)]), solved_at=60.0 * i)
        for i, name in enumerate(("ann", "bob", "cem"))
    ]
    filled.store.solved.publish_history("rps", "copeland", map(kept, solves))
    assert filled.store.solved.publish(solves[-1])
    slide = (
        "((place) => { const one = document.querySelector('.times input[type=range]'); one.value = place;"
        " for (const name of ['input', 'change']) one.dispatchEvent(new Event(name, { bubbles: true })); })"
    )
    with browser.page(filled.url, "/pools/rps?method=copeland") as page:
        page.click(".times summary")
        page.until("document.querySelector('.times input[type=range]')?.max === '3'")
        for place, time, shown in ((0, "00%3A00%3A00", "ann"), (1, "00%3A01%3A00", "bob")):
            page.evaluate(f"{slide}({place}); undefined")
            page.until(f"document.querySelector('table.board .who')?.textContent.trim() === '{shown}'")
            assert page.evaluate("location.search") == f"?method=copeland&at=1970-01-01T{time}"
            assert page.evaluate("document.querySelector('.times output').textContent").endswith(f"(UTC), {10 * (place + 1)} games")
        page.evaluate(f"{slide}(3); undefined")
        page.until("!location.search.includes('at=')")
        page.until("document.querySelector('table.board .who')?.textContent.trim() === 'cem'")
        assert page.complaints() == []


def test_a_season_is_led_by_the_method_that_leads_among_its_own_boards(api: Running, browser: Browser, tmp_path: Path) -> None:
    end_first_season(api, tmp_path)
    beat(api)
    with browser.page(api.url, f"{PATH}?season=first") as page:
        page.wait("by Elo, at the end of season first")  # the boards of the season are elo, weng_lin and copeland
        assert page.evaluate("[...document.querySelectorAll('.methods a')].map((one) => one.textContent)") == [
            "Elo",
            "Weng-Lin",
            "Copeland",
        ]
        assert api.client.put(f"/v1{PATH}/leading_method", json={"method": "weng_lin"}).status_code == 200
        page.wait("by Weng-Lin, at the end of season first")
        page.until("document.querySelectorAll('table.board .whisker svg').length > 0")
        assert page.violations() == []
        page.go(f"{PATH}?season=first&embed=1")
        page.wait("by Weng-Lin, at the end of season first")
        assert page.complaints() == []


def test_a_final_board_that_rates_nobody_does_not_lead_a_season(api: Running, browser: Browser, tmp_path: Path) -> None:
    end_first_season(api, tmp_path, unrated=("bradley_terry",))
    beat(api)
    with browser.page(api.url, f"{PATH}?season=first") as page:
        page.wait("by Elo, at the end of season first", "Won–drawn–lost")
        page.go(f"{PATH}?season=first&method=bradley_terry")
        page.wait("by Bradley-Terry, at the end of season first")  # who asks for it gets it
        assert page.complaints() == []
