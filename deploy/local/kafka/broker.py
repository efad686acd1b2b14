"""A real Kafka broker on loopback, or a quorum of several, for tests and for trying Equirank by hand.

Every node is a KRaft node (broker and controller) with two free ports and its data in a temporary folder. The jars are those of the
unpacked release in `KAFKA_HOME`, or Maven downloads them once into `.cache/kafka` of the project by the `pom.xml` in this folder.
The module needs Java 17 and the standard library only.
"""

import ctypes
import fcntl
import hashlib
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self, TypeVar

from deploy.local.ports import free_ports

HERE = Path(__file__).resolve().parent
CACHE = HERE.parents[2] / ".cache" / "kafka"
POM = HERE / "pom.xml"
HEAP = ("-Xms128m", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
STARTED = "Kafka Server started"
PORT_ATTEMPTS = 3
_START_SECONDS = 180.0
PREFIX = "equirank-kafka-"


class BrokerError(Exception):
    """A broker cannot be started. The text contains the reason and the end of the log."""


def missing() -> str | None:
    """The reason why this machine cannot start a broker; None if it can."""
    if shutil.which("java") is None:
        return "no Java on the PATH"
    if not os.environ.get("KAFKA_HOME") and shutil.which("mvn") is None and not _jars_folder().is_dir():
        return "neither KAFKA_HOME nor Maven"
    return None


def jars() -> Path:
    """The folder of the broker's jars, downloaded if needed. Several processes can call this at once."""
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
        raise BrokerError(f"KAFKA_HOME={home} is not a Kafka release: {libs} contains no kafka_2*.jar")
    return libs


def _fetch(folder: Path) -> None:
    # Downloaded into another folder and renamed, so that an existing folder is complete.
    part = Path(tempfile.mkdtemp(prefix="fetch-", dir=CACHE))
    try:
        command = ["mvn", "-q", "-B", "-f", str(POM), "dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={part}"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise BrokerError(f"Maven could not fetch Kafka:\n{done.stdout[-2000:]}")
        part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


class Seat(NamedTuple):
    """A node's place in its cluster. number: from 1; ports: (broker, controller) of every node, in order."""

    cluster: str
    number: int
    ports: Sequence[tuple[int, int]]

    @classmethod
    def all_of(cls, count: int) -> "list[Seat]":
        """Seats of a new cluster, on ports that are free now."""
        # It may begin with a dash, hence the = where it is an argument.
        cluster = urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("=")
        ports = _port_pairs(count)
        return [cls(cluster, number, ports) for number in range(1, count + 1)]

    @property
    def copies(self) -> int:
        """Replicas of the cluster's own topics."""
        return min(3, len(self.ports))


class Broker:
    """A running broker; a context manager that ends it and removes its data.

    bootstrap: address for clients. It dies with the thread that made it, however that ends (Linux parent-death signal); the folder
    that a killed maker leaves is removed by the next one. seat: as a member of a `Quorum`, which waits for all of its members. users:
    name -> password of those who may come in at `asking`, a second address that asks for SASL (PLAIN or SCRAM-SHA-512), and at
    `encrypted`, which does so over TLS with `certificate`, a PEM file. clients: PEM file of the certificates that clients have to show at
    `mutual`, over TLS and without a name.
    """

    def __init__(
        self, parent: Path | None = None, seat: Seat | None = None, users: Mapping[str, str] | None = None, clients: Path | None = None
    ) -> None:
        base = Path(parent or tempfile.gettempdir())
        _sweep(base)
        self.folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
        self._owner = (self.folder / "owner").open("w")
        fcntl.flock(self._owner, fcntl.LOCK_EX)
        self._classpath = f"{jars()}/*"
        self._process: subprocess.Popen[bytes] | None = None
        self.bootstrap = self.asking = self.encrypted = self.mutual = ""
        self.certificate = self.folder / "certificate.pem"
        self._users, self._clients = dict(users or {}), clients
        try:
            if seat is None:
                _on_port_pairs(self._begin_alone, self._drop_data)
            else:
                self._begin(seat)
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
        self.resume()

    def resume(self) -> None:
        """Start a broker that was killed again, on the same address and data; returns when it serves."""
        self._spawn()
        self.wait_until_started(_START_SECONDS)

    def kill(self) -> None:
        """End the broker at once, keeping its data."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def close(self) -> None:
        """End the broker and remove its folder. Its data is temporary, so an orderly shutdown is not needed."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
        self._owner.close()

    def _begin_alone(self) -> None:
        (seat,) = Seat.all_of(1)
        self._begin(seat)
        self.wait_until_started(_START_SECONDS)

    def _begin(self, seat: Seat) -> None:
        self._configure(seat)
        self._format(seat.cluster)
        self._spawn()

    def _drop_data(self) -> None:
        self.kill()
        shutil.rmtree(self.folder / "data", ignore_errors=True)

    def _configure(self, seat: Seat) -> None:
        port, controller = seat.ports[seat.number - 1]
        self.bootstrap = f"127.0.0.1:{port}"
        settings = {
            "process.roles": "broker,controller",
            "node.id": str(seat.number),
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": ",".join(f"{i}@127.0.0.1:{ports[1]}" for i, ports in enumerate(seat.ports, 1)),
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "log.dirs": str(self.folder / "data"),
            "auto.create.topics.enable": "false",
            "min.insync.replicas": str((seat.copies + 1) // 2),
            "offsets.topic.replication.factor": str(seat.copies),
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.replication.factor": str(seat.copies),
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "1",
            "share.coordinator.state.topic.replication.factor": str(seat.copies),
            "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            # A killed broker is let in again only once its old session has run out.
            "broker.heartbeat.interval.ms": "500",
            "broker.session.timeout.ms": "3000",
            # The default of 128 MiB comes out of the small heap.
            "log.cleaner.dedupe.buffer.size": "8388608",
            "log.retention.check.interval.ms": "1000",
        }
        if self._users or self._clients:
            settings |= {**self._make_keys(), "inter.broker.listener.name": "PLAINTEXT"}
        if self._users:
            settings |= self._asking_for_sasl(settings)
        if self._clients:
            settings |= self._asking_for_certificates(settings, self._clients)
        lines = "".join(f"{name}={value}\n" for name, value in settings.items())
        (self.folder / "server.properties").write_text(lines, encoding="utf-8")
        shutil.copyfile(HERE / "log4j2.properties", self.folder / "log4j2.properties")

    def _asking_for_sasl(self, settings: Mapping[str, str]) -> dict[str, str]:
        """What listeners for users add to the broker's settings."""
        self.asking, self.encrypted = (f"127.0.0.1:{port}" for port in _port_pairs(1)[0])
        known = " ".join(f'user_{name}="{password}"' for name, password in self._users.items())
        module = "org.apache.kafka.common.security"
        jaas = {
            "plain": f"{module}.plain.PlainLoginModule required {known};",
            "scram-sha-512": f"{module}.scram.ScramLoginModule required;",
        }
        return {
            **_with_listener(settings, f"ASKING://{self.asking},TLS://{self.encrypted}", "ASKING:SASL_PLAINTEXT,TLS:SASL_SSL"),
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
            **{f"listener.name.{one}.{how}.sasl.jaas.config": text for one in ("asking", "tls") for how, text in jaas.items()},
        }

    def _asking_for_certificates(self, settings: Mapping[str, str], clients: Path) -> dict[str, str]:
        """What a listener for clients with certificates adds to the broker's settings."""
        (port,) = free_ports(1)
        self.mutual = f"127.0.0.1:{port}"
        trusted = {"client.auth": "required", "truststore.type": "PEM", "truststore.location": str(clients)}
        return {
            **_with_listener(settings, f"MUTUAL://{self.mutual}", "MUTUAL:SSL"),
            **{f"listener.name.mutual.ssl.{name}": value for name, value in trusted.items()},
        }

    def _make_keys(self) -> dict[str, str]:
        """A key for TLS and a certificate that signs itself; the broker's settings that name them."""
        store, password = self.folder / "keys.p12", secrets.token_hex(8)
        keytool = ["keytool", "-keystore", str(store), "-storetype", "PKCS12", "-storepass", password, "-alias", "broker"]
        address = ["-dname", "CN=broker", "-ext", "SAN=ip:127.0.0.1", "-validity", "30"]
        subprocess.run([*keytool, "-genkeypair", "-keyalg", "EC", *address], capture_output=True, check=True)
        subprocess.run([*keytool, "-exportcert", "-rfc", "-file", str(self.certificate)], capture_output=True, check=True)
        return {"ssl.keystore.location": str(store), "ssl.keystore.password": password, "ssl.keystore.type": "PKCS12"}

    def _format(self, cluster: str) -> None:
        properties = str(self.folder / "server.properties")
        scram = [f"--add-scram=SCRAM-SHA-512=[name={name},password={password}]" for name, password in self._users.items()]
        command = [*self._java("kafka.tools.StorageTool"), "format", f"--cluster-id={cluster}", "-c", properties, *scram]
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

    def wait_until_started(self, seconds: float) -> None:
        """Wait until the broker serves. Raises `BrokerError` with the end of its log."""
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


class Quorum:
    """Several brokers that are one cluster; a context manager that ends them all. Topics of three replicas outlive one of three.

    bootstrap: addresses for clients, separated by commas.
    """

    def __init__(self, count: int = 3, parent: Path | None = None) -> None:
        self.brokers: list[Broker] = []
        try:
            _on_port_pairs(lambda: self._start(count, parent), self.close)
        except BaseException:
            self.close()
            raise
        self.bootstrap = ",".join(broker.bootstrap for broker in self.brokers)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End all brokers and remove their folders."""
        for broker in self.brokers:
            broker.close()
        self.brokers = []

    def _start(self, count: int, parent: Path | None) -> None:
        for seat in Seat.all_of(count):
            self.brokers.append(Broker(parent, seat))
        for broker in self.brokers:  # none serves before most of them are there
            broker.wait_until_started(_START_SECONDS)


Started = TypeVar("Started")


def _on_port_pairs(start: Callable[[], Started], undo: Callable[[], None]) -> Started:
    """`start`, again where another process took a port between its choice and its use."""
    for _ in range(1, PORT_ATTEMPTS):
        try:
            return start()
        except BrokerError as error:
            if "in use" not in str(error):
                raise
            undo()
    return start()


def _with_listener(settings: Mapping[str, str], listener: str, protocol: str) -> dict[str, str]:
    """The broker's settings that name its listeners, with more of them. protocol: NAME:PROTOCOL of each, separated by commas."""
    more = {"listeners": listener, "advertised.listeners": listener, "listener.security.protocol.map": protocol}
    return {name: f"{settings[name]},{value}" for name, value in more.items()}


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


def _port_pairs(count: int) -> list[tuple[int, int]]:
    """As many pairs of ports that nobody listens on now."""
    ports = free_ports(2 * count)
    return list(zip(ports[::2], ports[1::2], strict=True))


_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1


def _die_with_parent() -> None:
    _LIBC.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
