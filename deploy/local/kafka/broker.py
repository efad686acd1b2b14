"""A real Kafka broker on loopback, for tests and for trying Equirank by hand.

One KRaft node (broker and controller), its data in a temporary folder, two free ports. The jars come from `KAFKA_HOME` where that
is set (an unpacked release), else from Maven and the `pom.xml` beside this file, once, into `.cache/kafka` of the project.
Needs Java 17 and the standard library only.
"""

import ctypes
import fcntl
import hashlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from base64 import urlsafe_b64encode
from pathlib import Path
from types import TracebackType
from typing import Self

HERE = Path(__file__).resolve().parent
CACHE = HERE.parents[2] / ".cache" / "kafka"
POM = HERE / "pom.xml"
HEAP = ("-Xms128m", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
STARTED = "Kafka Server started"
PORT_ATTEMPTS = 3
PREFIX = "equirank-kafka-"


class BrokerError(Exception):
    """No broker could be had; the text says why, with the end of its log."""


def missing() -> str | None:
    """Why no broker can be started here, or None if one can."""
    if shutil.which("java") is None:
        return "no Java on the PATH"
    if not os.environ.get("KAFKA_HOME") and shutil.which("mvn") is None and not _jars_folder().is_dir():
        return "neither KAFKA_HOME nor Maven"
    return None


def jars() -> Path:
    """The folder of the broker's jars, fetched if needed; safe for several processes at once."""
    home = os.environ.get("KAFKA_HOME")
    if home:
        return _jars_of_release(Path(home))
    folder = _jars_folder()
    if not folder.is_dir():
        CACHE.mkdir(parents=True, exist_ok=True)
        with (CACHE / "fetch.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.is_dir():
                _fetch(folder)
    return folder


def _jars_folder() -> Path:
    return CACHE / hashlib.sha256(POM.read_bytes()).hexdigest()[:16]


def _jars_of_release(home: Path) -> Path:
    libs = home / "libs"
    if not any(libs.glob("kafka_2*.jar")):
        raise BrokerError(f"KAFKA_HOME={home} is no Kafka release: {libs} holds no kafka_2*.jar")
    return libs


def _fetch(folder: Path) -> None:
    # Fetched beside and renamed, so that a folder that exists is complete.
    part = Path(tempfile.mkdtemp(prefix="fetch-", dir=CACHE))
    try:
        command = ["mvn", "-q", "-B", "-f", str(POM), "dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={part}"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise BrokerError(f"Maven could not fetch Kafka:\n{done.stdout[-2000:]}")
        part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


class Broker:
    """A running broker; a context manager that ends it and removes its data.

    bootstrap: address for clients. It dies with the thread that made it, however that ends (Linux parent-death signal); the folder
    that a killed maker leaves is removed by the next one.
    """

    def __init__(self, parent: Path | None = None) -> None:
        base = Path(parent or tempfile.gettempdir())
        _sweep(base)
        self.folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
        self._owner = (self.folder / "owner").open("w")
        fcntl.flock(self._owner, fcntl.LOCK_EX)
        self._classpath = f"{jars()}/*"
        self._process: subprocess.Popen[bytes] | None = None
        self.bootstrap = ""
        try:
            self._start_on_free_ports()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """Process id of the broker."""
        if self._process is None:
            raise BrokerError("the broker was not started")
        return self._process.pid

    def alive(self) -> bool:
        """Whether the broker still runs."""
        return self._process is not None and self._process.poll() is None

    def restart(self) -> None:
        """Kill the broker (SIGKILL) and start it again on the same address and data."""
        self.kill()
        self._spawn()
        self._wait_until_started(60.0)

    def kill(self) -> None:
        """End the broker at once, keeping its data."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def close(self) -> None:
        """End the broker and remove its folder. Its data is temporary, so it is not asked to shut down in order."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
        self._owner.close()

    def _start_on_free_ports(self) -> None:
        for attempt in range(1, PORT_ATTEMPTS + 1):
            self._configure(*_free_ports())
            self._format()
            self._spawn()
            try:
                self._wait_until_started(60.0)
            except BrokerError:
                # Between choosing a port and binding it another process may have taken it.
                if attempt == PORT_ATTEMPTS or "in use" not in self._log():
                    raise
                self.kill()
                shutil.rmtree(self.folder / "data", ignore_errors=True)
            else:
                return

    def _configure(self, port: int, controller: int) -> None:
        self.bootstrap = f"127.0.0.1:{port}"
        settings = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "log.dirs": str(self.folder / "data"),
            "auto.create.topics.enable": "false",
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            # A killed broker is let in again only once its old session has run out.
            "broker.heartbeat.interval.ms": "500",
            "broker.session.timeout.ms": "3000",
            # The default of 128 MiB comes out of the small heap.
            "log.cleaner.dedupe.buffer.size": "8388608",
            "log.retention.check.interval.ms": "1000",
        }
        lines = "".join(f"{name}={value}\n" for name, value in settings.items())
        (self.folder / "server.properties").write_text(lines, encoding="utf-8")
        shutil.copyfile(HERE / "log4j2.properties", self.folder / "log4j2.properties")

    def _format(self) -> None:
        cluster = urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("=")  # may begin with a dash, hence the = below
        properties = str(self.folder / "server.properties")
        command = [*self._java("kafka.tools.StorageTool"), "format", f"--cluster-id={cluster}", "-c", properties]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise BrokerError(f"the broker's storage could not be formatted:\n{done.stdout[-2000:]}")

    def _java(self, main: str) -> list[str]:
        log4j = f"-Dlog4j2.configurationFile={self.folder / 'log4j2.properties'}"
        return ["java", *HEAP, log4j, "-cp", self._classpath, main]

    def _spawn(self) -> None:
        with (self.folder / "broker.log").open("wb") as log:
            self._process = subprocess.Popen(
                [*self._java("kafka.Kafka"), str(self.folder / "server.properties")],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_die_with_parent,  # noqa: PLW1509 - one prctl call, nothing that takes a lock
            )

    def _wait_until_started(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while STARTED not in self._log():
            if not self.alive():
                raise BrokerError(f"the broker ended while starting:\n{self._log()[-2000:]}")
            if time.monotonic() > deadline:
                raise BrokerError(f"the broker was not ready after {seconds:.0f} s:\n{self._log()[-2000:]}")
            time.sleep(0.05)

    def _log(self) -> str:
        path = self.folder / "broker.log"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def _sweep(base: Path) -> None:
    """Remove what killed makers left in `base`: their folders' locks are free."""
    for folder in base.glob(f"{PREFIX}*"):
        try:
            with (folder / "owner").open("r+") as owner:
                fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            # In use, someone else's, not yet owned, or gone meanwhile.
            continue


def _free_ports() -> tuple[int, int]:
    with socket.socket() as first, socket.socket() as second:
        first.bind(("127.0.0.1", 0))
        second.bind(("127.0.0.1", 0))
        return first.getsockname()[1], second.getsockname()[1]


_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1


def _die_with_parent() -> None:
    _LIBC.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
