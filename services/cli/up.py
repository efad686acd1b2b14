"""`equirank up`: the whole system on one machine, in one process group, from one data folder."""

import os
import signal
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Annotated, Final
from urllib.error import URLError

import typer
from rich.console import Console, RenderableType

from ratings_core.errors import InputError
from services.backends import STORE_FOLDER
from services.boards.store.embedded import EmbeddedRedis
from services.cli.begin import begin
from services.cli.installation import Data
from services.cli.known_pools import KnownPools, begun
from services.cli.logs import control_state
from services.cli.ports import HeldPorts
from services.cli.show import shows
from services.demo.scenario import Scenario
from services.log.protocol import LogError
from services.log.sqlite.file import WAL_KEPT_BYTES
from services.runtime.data_folder import DataFolder
from services.runtime.disk_space import check_room, temporary_folder
from services.runtime.settings import Settings
from services.runtime.signals import on_signals
from services.runtime.supervisor import Program, Supervisor

_READY_SECONDS: Final = 90.0
_POOLS_SECONDS: Final = 60.0
"""Longest wait for the pools that the logs know. A pool whose partition cannot be folded would end no start."""
_SHOWN_POOLS: Final = 5
_TICK_SECONDS: Final = 0.2
_RAY_BYTES: Final = 4 << 20
_DIRECT: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Opens URLs of this machine without the proxy of the environment, which cannot reach them."""


def up(
    data: Data = None,
    port: Annotated[int | None, typer.Option(help="Port of the API and the web pages; 0 picks a free port (EQUIRANK_PORT).")] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Feed demo outcomes: the Atari evaluation and simulated pools, or SCENARIO.")
    ] = False,
    scenario: Annotated[
        Scenario | None, typer.Argument(help="With --demo: arena (default), or clones, an attack with copies of an agent and a task.")
    ] = None,
) -> None:
    """Start log, store, engine, API and web pages on this machine. They run until Ctrl-C."""
    if scenario is not None and not demo:
        msg = f"{scenario.value} is a demo: add --demo"
        raise typer.BadParameter(msg)
    given = {name: value for name, value in (("data", data), ("port", port)) if value is not None}
    settings = begin(**given)
    if settings.tls_certificate is not None:
        rule = "must not be set for `equirank up`, which serves only this machine: use it with `equirank api`"
        raise InputError("EQUIRANK_TLS_CERTIFICATE", str(settings.tls_certificate), rule)
    folder = DataFolder(settings.data)
    folder.lock()
    check_room(_needs(settings))
    with closing(HeldPorts()) as ports:
        Installation(_with_ports(settings, ports), folder, (scenario or Scenario.ARENA) if demo else None).run()


class Installation:
    """The processes of one data folder. The first signal stops them in order, a second signal kills them."""

    def __init__(self, settings: Settings, folder: DataFolder, demo: Scenario | None) -> None:
        self._settings, self._folder, self._demo = settings, folder, demo
        self._show = None if demo is None else shows(demo, settings)
        self._console = Console()
        self._stop = threading.Event()
        self._supervisor = Supervisor(settings.data / "logs")
        self._redis: EmbeddedRedis | None = None

    def run(self) -> None:
        """Start all processes, print their addresses, supervise them until a signal arrives, and stop them."""
        on_signals((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), self._stop.set, self._stop_hard)
        try:
            self._start()
            self._watch()
        finally:
            self._end()

    def _start(self) -> None:
        began = time.monotonic()
        self._say(f"Equirank starts; data in {self._settings.data}, logs in {self._settings.data / 'logs'}")
        self._start_store()
        self._say("The store answers; engine and API start, which takes some seconds ...")
        for program in self._programs():
            self._supervisor.start(program)
        address = _url(self._settings.host, self._settings.port)
        self._supervisor.wait_until("api", lambda: self._stop.is_set() or bool(_answer(f"{address}/readyz")), _READY_SECONDS)
        metrics = f"{_url(self._settings.metrics_host, self._settings.metrics_port)}/metrics"
        self._say(f"Boards and API: [bold]{address}[/]   API description: {address}/docs   metrics: {address}/metrics and {metrics}")
        self._say("The engine starts Ray and its shards ...")
        shards = f"equirank_shards {float(self._settings.shards)}"
        self._supervisor.wait_until("engine", lambda: self._stop.is_set() or shards in _answer(metrics), _READY_SECONDS)
        redis = self._redis.url if self._redis else str(self._settings.redis)
        self._folder.write_addresses(address, metrics, redis)
        missing = self._unread_pools(address)
        self._say(f"Ready after {time.monotonic() - began:.1f} s; Ctrl-C stops")
        if missing:
            self._say(f"Not readable yet: {missing}. They appear when they are folded; {address}/freshz says why a partition is not")

    def _unread_pools(self, address: str) -> str:
        """Wait until readers can read the pools that the logs know, for a limited time. Returns the names of the others."""
        try:
            pools = KnownPools(begun(control_state(self._settings)), lambda path: _answer(f"{address}{path}"))
        except LogError as error:
            return f"all pools, because the control log cannot be read ({error})"
        try:
            self._supervisor.wait_until("engine", lambda: self._stop.is_set() or pools.readable(), _POOLS_SECONDS, pause=_TICK_SECONDS)
        except TimeoutError:
            others = f" and {len(pools.unread) - _SHOWN_POOLS} others" if len(pools.unread) > _SHOWN_POOLS else ""
            return ", ".join(pools.unread[:_SHOWN_POOLS]) + others
        return ""

    def _say(self, line: str) -> None:
        if not self._stop.is_set():
            self._print(line, soft_wrap=True)

    def _print(self, shown: RenderableType, *, soft_wrap: bool = False) -> None:
        """Print output. If it cannot be written, as to a file on a full disk, the output is lost and the installation continues."""
        with suppress(OSError):
            self._console.print(shown, highlight=not soft_wrap, soft_wrap=soft_wrap)

    def _start_store(self) -> None:
        """Start the embedded Redis, unless the settings name another one, and wait until it answers."""
        if self._settings.redis is not None:
            return
        redis = self._redis = EmbeddedRedis(self._settings.data / STORE_FOLDER)
        self._supervisor.start(redis.program)
        self._supervisor.wait_until("redis", lambda: self._stop.is_set() or redis.answers(), _READY_SECONDS)

    def _programs(self) -> list[Program]:
        this = [sys.executable, "-P", "-m", "services.cli.main"]  # -P: do not import a folder ./services of the user
        environment = _environment(self._settings)
        programs = [
            Program("engine", [*this, "engine"], environment, stop_seconds=30.0),
            Program("api", [*this, "api"], environment, stop_seconds=5.0),
        ]
        if self._demo is None:
            return programs
        return [*programs, Program("demo", [*this, "demo", self._demo.value], environment, stop_seconds=5.0)]

    def _watch(self) -> None:
        while not self._stop.wait(_TICK_SECONDS):
            self._supervisor.watch(time.monotonic())
            if self._show is not None:
                for shown in next(self._show, ()):
                    self._print(shown)

    def _stop_hard(self, number: int) -> None:
        self._supervisor.kill()
        os._exit(128 + number)

    def _end(self) -> None:
        # Begins with a line break, because a terminal has just shown ^C.
        self._print("\nEquirank stops: it finishes batches and writes checkpoints. Ctrl-C again stops it at once.", soft_wrap=True)
        self._stop.set()
        self._supervisor.stop()
        if self._redis is not None:
            self._redis.remove()
        self._print("Equirank has stopped. The next start goes on from the data folder.", soft_wrap=True)


def _needs(settings: Settings) -> Iterator[tuple[Path, int]]:
    """Folder and bytes that a start needs in it: in the data folder for the log's write-ahead file, in Ray's folder for Ray's logs."""
    yield settings.data, WAL_KEPT_BYTES
    if settings.ray == "local":
        yield temporary_folder(), _RAY_BYTES


def _with_ports(settings: Settings, ports: HeldPorts) -> Settings:
    """The settings with ports that can be bound and are reserved: the given ports, or free ports for 0.

    A free port is also taken for the metrics if their default port is in use. Raises `BadParameter` for a given port in use.
    """
    port, name = ports.take(settings.host, settings.port, "EQUIRANK_PORT or --port"), "EQUIRANK_METRICS_PORT"
    try:
        metrics_port = ports.take(settings.metrics_host, settings.metrics_port, name)
    except typer.BadParameter:
        if settings.port and "metrics_port" in settings.model_fields_set:
            raise
        metrics_port = ports.take(settings.metrics_host, 0, name)  # of another installation: the start prints which port it is
    return settings.model_copy(update={"port": port, "metrics_port": metrics_port})


def _environment(settings: Settings) -> Mapping[str, str]:
    """Environment variables for the child processes, in addition to the inherited ones."""
    return {
        "EQUIRANK_DATA": str(settings.data),
        "EQUIRANK_HOST": settings.host,
        "EQUIRANK_PORT": str(settings.port),
        "EQUIRANK_METRICS_PORT": str(settings.metrics_port),
    }


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _answer(url: str) -> str:
    """Body of the answer from an address of this installation; empty unless its status is 200."""
    try:
        with _DIRECT.open(url, timeout=2.0) as answer:
            return str(answer.read().decode())
    except (URLError, OSError):
        return ""
