"""The embedded store is killed ten times under a poll: readers of a known pool get 200 or 503, and no 404."""

import threading
from collections import Counter
from pathlib import Path

import httpx

from services.boards.history import kept
from services.boards.store.protocol import ACTIVITY, LiveBoard
from services.boards.store.redis import RedisStore
from tests.support.api import NOW, running
from tests.support.boards import head_of, solved_of
from tests.support.http import PLAIN
from tests.support.installation import until
from tests.support.redis import kill_supervised, supervised

POOL = "/v1/pools/blitz"
ROUTES = [
    "",
    "/boards?count=5",
    "/boards/elo",
    "/boards/elo?count=51",
    "/boards/elo/around/rock",
    "/agents?query=ro",
    "/agents/rock",
    "/boards/maximal_lottery/history",
]
KILLS = 10
BOARD = LiveBoard(["rock"], [1.0])


class Reader(threading.Thread):
    """Polls a route every 50 ms, and counts (status, Retry-After)."""

    def __init__(self, url: str, route: str) -> None:
        super().__init__()
        self.route, self.answers, self.stop = route, Counter[tuple[int, str | None]](), threading.Event()
        self._url = url

    def run(self) -> None:
        with httpx.Client(base_url=self._url, headers={"Host": "127.0.0.1:8000"}, timeout=60.0, trust_env=False, verify=PLAIN) as client:
            while not self.stop.wait(0.05):
                try:
                    answer = client.get(POOL + self.route)
                except httpx.HTTPError as error:
                    self.answers[0, repr(error)] += 1
                    continue
                self.answers[answer.status_code, answer.headers.get("retry-after")] += 1


def publish(url: str, log: str, position: int) -> None:
    """Publish the pool as its owner does after a loss: live boards, then the solved board, then its history."""
    store = RedisStore(url, log)
    try:
        head = head_of(position=position, published_at=NOW, online=["elo"])
        assert store.live.publish(head, 1, {"elo": BOARD, ACTIVITY: BOARD})
        assert store.solved.publish(solved_of(position=position))
        store.solved.publish_history("blitz", "maximal_lottery", [kept(solved_of(position=position))])
    finally:
        store.close()


def polled(readers: list[Reader]) -> None:
    """Wait until each reader has sent a request after this call, and got its answer."""
    before = [reader.answers.total() for reader in readers]
    until(lambda: all(reader.answers.total() >= old + 2 for reader, old in zip(readers, before, strict=True)), "polls")


def test_readers_of_a_known_pool_get_no_404_while_its_store_restarts(tmp_path: Path) -> None:
    with supervised(tmp_path) as (redis, supervisor), running(tmp_path, redis.url) as here:
        log = here.log.outcomes.identity
        assert here.client.put(POOL, json={"kind": "games"}).status_code == 201
        publish(redis.url, log, 1)
        assert here.client.get(f"{POOL}/boards").json()["methods"]["solved"] == ["maximal_lottery"]
        readers = [Reader(here.url, route) for route in ROUTES]
        for reader in readers:
            reader.start()
        for kill in range(KILLS):
            polled(readers)
            kill_supervised(redis, supervisor)
            polled(readers)
            publish(redis.url, log, kill + 2)
        polled(readers)
        for reader in readers:
            reader.stop.set()
        for reader in readers:
            reader.join()
        wrong = {reader.route: {k: n for k, n in reader.answers.items() if k not in {(200, None), (503, "1")}} for reader in readers}
        assert {route: found for route, found in wrong.items() if found} == {}
        uncached = next(reader for reader in readers if reader.route == "/boards/elo/around/rock")
        assert uncached.answers[200, None] >= KILLS
        assert uncached.answers[503, "1"] >= KILLS
