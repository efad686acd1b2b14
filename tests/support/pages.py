"""What tests of the pages share: a hostile name, reports of shards, a pool that was played, and a site of which some requests fail."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

import httpx

from services.boards.folding import Heartbeat
from tests.support.api import NOW, Running
from tests.support.folds import fold_events
from tests.support.http import PLAIN
from tests.support.outcomes import game_event
from tests.support.pools import state_of
from tests.support.served_pools import ServedPool

EVIL: Final = "<img src=x onerror=alert(1)>"
LONG: Final = "stockfish-development-build-2026-11-29"
"""Begin of two names that differ at their ends alone."""
ARABIC: Final = "لاعب الشطرنج"


def beat(api: Running, idle: float = 0.0) -> None:
    """Shards report all partitions. idle: seconds since they could last fold."""
    common = {"epoch": 1, "shard": "shard-0/9", "position": 4, "lag": 0, "lag_seconds": 0.0, "stopped": False}
    api.store.heartbeats.write([Heartbeat(partition=number, idle_seconds=idle, **common) for number in range(8)])


def play(api: Running, folder: Path, pool: str = "cup", games: int = 60) -> list[str]:
    """Publish a pool of games, with a checkpoint, in which each agent beats those after it. Returns the awkward names, best first."""
    names = [f"{LONG}-a", ARABIC, "rock", f"{LONG}-b", EVIL]
    pairs = [(first, second) for i, first in enumerate(names) for second in names[i + 1 :]]
    served, state = ServedPool(api.store, folder), state_of(pool)
    played = [game_event(f"g{i}", *pairs[i % len(pairs)], pool=pool, time=NOW - games + i) for i in range(games)]
    assert fold_events(state, played) == []
    served.checkpoint(state, games, written_at=NOW - 3.0)
    served.publish(state, games, published_at=NOW - 1.0)
    return names


@contextmanager
def failing(url: str, fails: Callable[[str, int], bool]) -> Iterator[str]:
    """Address of a site that passes requests on to `url`, but for those that fail, by their path and how often it was asked before."""
    asked = Counter[str]()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            asked[path] += 1
            answer = None if fails(path, asked[path] - 1) else httpx.get(url + self.path, verify=PLAIN, trust_env=False)
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
