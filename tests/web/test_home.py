"""The first page, and the files of all pages."""

import re
from pathlib import Path

from services.boards.store.protocol import ACTIVITY, LiveBoard
from tests.support.api import NOW, Running
from tests.support.boards import head_of
from tests.support.browser import NEEDED, Browser
from tests.support.pages import EVIL, failing, play

pytestmark = NEEDED


def test_the_list_links_to_each_pool_and_shows_its_leaders(filled: Running, browser: Browser) -> None:
    filled.client.put("/v1/pools/another", json={"kind": "games"})
    with browser.page(filled.url, "/") as page:
        page.wait("1510.5", EVIL, "by Elo", "12 games", "No outcomes yet.", "Leaderboards that cycles and copies do not fool")
        links = page.evaluate("[...document.querySelectorAll('.pool h2 a')].map((one) => one.getAttribute('href'))")
        assert set(links) == {"/pools/another", "/pools/rps"}
        assert page.complaints() == []


def test_a_card_shows_which_leaders_are_equal(filled: Running, browser: Browser) -> None:
    rated = LiveBoard(["ann", "bob", "cyd", "dan", "eve"], [1600.0, 1600.0, 1600.0, 1600.0, 1500.0])
    head = head_of("rps", position=13, published_at=NOW, online=["elo"], outcomes=12)
    assert filled.store.live.publish(head, 1, {"elo": rated, ACTIVITY: rated})
    with browser.page(filled.url, "/") as page:
        page.wait("ann", "bob", "cyd", "and others")
        places = page.evaluate("[...document.querySelectorAll('.leaders .place')].map((one) => one.textContent)")
        assert places == ["1=", "1=", "1=", "1="]
        assert "dan" not in page.text
        assert page.complaints() == []


def test_the_numbers_of_a_card_are_of_one_answer(api: Running, browser: Browser, tmp_path: Path) -> None:
    """Where the number of the last day cannot be read any more, an old one does not stand beside a newer number of games."""
    play(api, tmp_path)
    with failing(api.url, lambda path, before: "/boards" in path and before > 0) as url, browser.page(url, "/") as page:
        page.wait("60 games (60 in 24 h)")
        page.until("!document.body.innerText.includes('in 24 h')")
        page.wait("60 games")


def test_no_pool_at_all_says_what_to_do(api: Running, browser: Browser) -> None:
    with browser.page(api.url, "/") as page:
        page.wait("There are no pools yet")


def test_many_pools_have_pages_and_are_found_by_a_part_of_their_name(api: Running, browser: Browser) -> None:
    for i in range(30):
        assert api.client.put(f"/v1/pools/pool-{i:02}", json={"kind": "games"}).status_code == 201
    with browser.page(api.url, "/") as page:
        page.wait("1 to 24 of 30 pools")
        page.click(".pages a", "Next")
        page.wait("25 to 30 of 30 pools")
        page.type("input[type=search]", "ool-03")
        page.until("document.querySelectorAll('.pool').length === 1")
        assert page.evaluate("document.querySelector('.pool h2').textContent") == "pool-03"


def test_an_agent_is_found_from_the_first_page(api: Running, browser: Browser, tmp_path: Path) -> None:
    play(api, tmp_path)
    with browser.page(api.url, "/") as page:
        page.wait("60 games (60 in 24 h)")
        page.type("input[type=search]", "roc")
        page.until("document.querySelector('.results a')?.textContent === 'rock'")
        assert page.evaluate("document.querySelector('.results a').getAttribute('href')") == "/pools/cup/agents/rock"
        page.wait("in cup, no. 3 by", "No pool has this in its name.")
        assert page.violations() == []
        assert page.complaints() == []


def test_the_agents_of_many_pools_are_searched_in_parts_that_are_said(api: Running, browser: Browser, tmp_path: Path) -> None:
    for i in range(30):
        assert api.client.put(f"/v1/pools/a-{i:02}", json={"kind": "games"}).status_code == 201
    play(api, tmp_path, pool="cup")
    with browser.page(api.url, "/") as page:
        page.wait("1 to 24 of 31 pools")
        page.type("input[type=search]", "roc")
        page.wait("The agents of 24 pools were searched.", "No agent of these pools has this in its name.")
        page.click("button", "Search 7 more")
        page.until("document.querySelector('.results a')?.textContent === 'rock'")


def test_an_unknown_address_is_a_page_for_browsers_and_a_problem_for_programs(api: Running, browser: Browser) -> None:
    for path in ("/nowhere", "/pools"):
        answer = api.client.get(path, headers={"Accept": "text/html"})
        assert (answer.status_code, answer.headers["content-type"].split(";")[0]) == (404, "text/html")
        assert api.client.get(path).json()["title"] == "Not Found"
    assert api.client.get("/v1/nowhere", headers={"Accept": "text/html"}).json()["title"] == "Not Found"
    with browser.page(api.url, "/nowhere") as page:
        for path in ("/pools", "/pools/cup/nothing", "/copies/more", "/%ff", "/nowhere"):
            page.go(path)
            page.wait("No such page", f"Nothing has the address {path}.")
        assert page.violations() == []
        page.click("main a", "All pools")
        page.wait("There are no pools yet")


def test_files_are_kept_for_ever_and_compressed_and_the_first_view_is_small(api: Running) -> None:
    document = api.client.get("/").text
    paths = set(re.findall(r'"(/static/[^"]+)"', document))
    sent = len(document)
    for path in paths:
        answer = api.client.get(path)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
        assert answer.headers["content-encoding"] == "gzip"
        again = api.client.get(path, headers={"If-None-Match": answer.headers["etag"]})
        assert again.status_code == 304
        sent += answer.num_bytes_downloaded
    assert sent < 150_000
    assert api.client.get("/static/0000000000000000/app.js").status_code == 404


def test_the_document_names_pool_and_agent_for_sites_that_run_no_scripts(api: Running) -> None:
    def head(path: str) -> dict[str, str]:
        text = api.client.get(path).text
        named = dict(re.findall(r'<meta (?:property|name)="([a-z:]+)" content="([^"]*)">', text))
        return {**named, "title": re.findall(r"<title>([^<]*)</title>", text)[0]}

    assert head("/")["og:title"] == head("/")["title"] == head("/operations")["title"] == "Equirank"
    assert head("/pools/rps")["og:title"] == head("/pools/rps")["title"] == "rps · Equirank"
    agent = head("/pools/rps/agents/%7Babout%7D%20%22%3E%3Cscript%3E")
    assert agent["og:title"] == agent["title"] == "{about} &quot;&gt;&lt;script&gt; · rps · Equirank"
    assert agent["og:description"].startswith("{about} &quot;&gt;&lt;script&gt; in rps: ")


def test_only_pages_that_read_may_be_framed_and_nothing_is_inline(api: Running) -> None:
    def policy(path: str) -> str:
        return str(api.client.get(path).headers["content-security-policy"])

    for path in ("/", "/pools/rps", "/operations?embed=1", "/?embed=1", "/docs"):
        assert "frame-ancestors 'none'" in policy(path)
        assert "unsafe" not in policy(path)
    for path in ("/pools/rps?embed=1", "/pools/rps/agents/rock?embed=1"):
        assert "frame-ancestors *" in policy(path)
        assert "unsafe" not in policy(path)
