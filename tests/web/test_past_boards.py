"""The slider over the boards of a live method, which the archive has at every moment."""

import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlencode

from services.backends import open_log
from services.demo import simulated
from tests.support.archiving import archive, fold, served_api
from tests.support.browser import NEEDED, Browser
from tests.support.sliced_pools import GAMES, append, installation, values_of
from tests.support.worker import installed, published, until, working

pytestmark = NEEDED
SLIDE = (
    "((place) => { const one = document.querySelector('.times input[type=range]'); one.value = place;"
    " for (const name of ['input', 'change']) one.dispatchEvent(new Event(name, { bubbles: true })); })"
)


def test_a_slider_leads_to_the_live_board_of_any_moment_and_back_to_now(tmp_path: Path, browser: Browser) -> None:
    with installed(tmp_path) as settings, closing(open_log(settings)) as log:
        fold(settings, log, 0, 200)
        archive(settings)
        with served_api(settings, log) as client, browser.page(str(client.base_url), f"/pools/{simulated.POOL}?method=elo") as page:
            page.click(".times summary")
            page.until("document.querySelector('.times input[type=range]')?.max === '100'")
            page.evaluate(f"{SLIDE}(99); undefined")
            page.until("location.search.includes('&at=')")
            page.wait("Elo at", "(UTC)", "Back to now")
            best = client.get(f"/v1/pools/{simulated.POOL}/boards/elo").json()["rows"][0]["agent"]
            page.until(f"document.querySelector('table.board .who')?.textContent.trim() === '{best}'")
            page.evaluate(f"{SLIDE}(100); undefined")
            page.until("!location.search.includes('at=')")
            assert page.complaints() == []
            page.go(f"/pools/{simulated.POOL}?method=elo&at=2001-02-03T04:05:06")
            says = f"At 2001-02-03T04:05:06Z, generation 1 of pool {simulated.POOL} had counted no outcome"
            page.wait(f"{says}: the log took the pool's next record at 20")


def test_a_slider_stands_at_the_time_that_the_page_is_of(tmp_path: Path, browser: Browser) -> None:
    """Any time can be asked for, also one between two places of the slider."""
    with installed(tmp_path) as settings, closing(open_log(settings)) as log:
        fold(settings, log, 0, 200)
        archive(settings)
        with served_api(settings, log) as client:
            at = datetime.fromtimestamp(time.time() + 3600.0, UTC).strftime("%Y-%m-%dT%H:%M:%S")
            with browser.page(str(client.base_url), f"/pools/{simulated.POOL}?method=elo&at={at}") as page:
                shown = f"{at.replace('T', ' ')} (UTC)"
                page.until("document.querySelector('.times input[type=range]')?.max === '101'")
                page.wait(f"Elo at {shown}: 200 games, ")
                assert page.evaluate("document.querySelector('.times output').textContent") == shown
                page.evaluate(f"{SLIDE}(50); undefined")
                page.until(f"document.querySelector('.times output')?.textContent !== '{shown}'")
                assert page.complaints() == []


def test_a_slider_over_a_slice_keeps_the_slice(tmp_path: Path, browser: Browser) -> None:
    part = f"language:{values_of(GAMES, 'language')[0]}"
    with installation(tmp_path) as (settings, log):
        append(log, GAMES)
        with working(settings, log):
            until(lambda: published(settings) == len(GAMES), "the games are published")
        address = f"/pools/{simulated.POOL}?{urlencode({'method': 'elo', 'slice': part})}"
        with served_api(settings, log) as client, browser.page(str(client.base_url), address) as page:
            page.click(".times summary")
            page.until("document.querySelector('.times input[type=range]')?.max === '100'")
            page.evaluate(f"{SLIDE}(99); undefined")
            page.until("location.search.includes('at=') && location.search.includes('slice=')")
            page.wait("Elo at", "only games with", "Back to now")
            best = client.get(f"/v1/pools/{simulated.POOL}/boards/elo", params={"slice": part}).json()["rows"][0]["agent"]
            rows = "[...document.querySelectorAll('table.board tbody tr:not(.apart)')]"
            first = f"{rows}.find((one) => /^1[?]?$/.test(one.querySelector('.rank').innerText.trim()))"
            page.until(f"{first}?.querySelector('.who').textContent.trim() === '{best}'")  # it can be provisional, and then below others
            assert page.complaints() == []


def test_an_agent_says_what_changed_since_a_time(tmp_path: Path, browser: Browser) -> None:
    with installed(tmp_path) as settings, closing(open_log(settings)) as log:
        fold(settings, log, 0, 200)
        archive(settings)
        with served_api(settings, log) as client, browser.page(str(client.base_url), f"/pools/{simulated.POOL}/agents/pebble") as page:
            page.until("document.querySelector('input[type=datetime-local]')")
            field = "document.querySelector('input[type=datetime-local]')"
            page.evaluate(
                f"{field}.value = '2001-02-03T04:05:06'; {field}.dispatchEvent(new Event('input', {{ bubbles: true }})); undefined"
            )
            page.click("button", "Explain")
            where = f"/v1/pools/{simulated.POOL}/boards/elo/why/pebble"
            change = client.get(where, params={"since": "2001-02-03T04:05:06"}).json()["change"]
            effect = f"{abs(change['moves'][0]['effect']):.1f}"
            page.wait("Since then", "then 200 outcomes of the pool", f"{change['after']['rating']:.1f}", effect)
            assert page.complaints() == []
