"""Run `equirank engine` and `equirank api` as processes, on a real Kafka broker and a real Redis."""

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from prometheus_client.parser import text_string_to_metric_families

from deploy.local.ports import free_ports
from ratings_core.arrays.digest import digest
from services.checkpoints.checkpoint import CheckpointStore, Manifest
from services.control.directory import FixedDirectory
from services.control.log import ControlLog
from services.control.records import Takeover, decode
from services.log.kafka.client import Connection
from services.log.kafka.log import open_kafka_log
from services.log.protocol import Log
from services.shard.partition import Partition
from tests.support.http import PLAIN
from tests.support.installation import processes_with
from tests.support.waiting import PATIENCE, until

PARTITIONS = 4
SHARDS = 2
LINGERING = ("ray::DashboardAgent", "ray::RuntimeEnvAgent")
"""Helper processes of Ray, which hold no data of the installation. After Ray is killed, they try to report to it for a minute, then end."""


class Cluster:
    """An installation with two shards and four partitions, and with checkpoints in `folder`.

    prefix: prefix of the topics' names; None for a new one.
    """

    def __init__(self, folder: Path, bootstrap: str, redis_url: str, prefix: str | None = None) -> None:
        self.folder, self.bootstrap = folder, bootstrap
        self.prefix = prefix or f"e2e-{uuid.uuid4().hex[:8]}."
        port, self._metrics_port = free_ports(2)
        self._mark = f"EQUIRANK_DATA={folder / 'data'}"
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("EQUIRANK_")},
            "EQUIRANK_DATA": str(folder / "data"),
            "EQUIRANK_KAFKA": bootstrap,
            "EQUIRANK_TOPIC_PREFIX": self.prefix,
            "EQUIRANK_REDIS": redis_url,
            "EQUIRANK_CHECKPOINTS": str(folder / "checkpoints"),
            "EQUIRANK_CHECKPOINT_SECONDS": "1",
            "EQUIRANK_SOLVE_SECONDS": "2",
            "EQUIRANK_PARTITIONS": str(PARTITIONS),
            "EQUIRANK_SHARDS": str(SHARDS),
            "EQUIRANK_PORT": str(port),
            "EQUIRANK_METRICS_PORT": str(self._metrics_port),
        }
        self.more: dict[str, dict[str, str]] = {}
        """Program -> its additional environment variables."""
        self.checkpoints = CheckpointStore(self.environment["EQUIRANK_CHECKPOINTS"])
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE, trust_env=False, verify=PLAIN)
        self._programs: dict[str, subprocess.Popen[bytes]] = {}
        self._started: list[subprocess.Popen[bytes]] = []

    # -- processes

    def start(self, program: str) -> None:
        """Start `engine` or `api`. Its output goes to a file in `folder`."""
        with (self.folder / f"{program}.out").open("ab") as output:
            command = [sys.executable, "-m", "services.cli.main", program]
            environment = {**self.environment, **self.more.get(program, {})}
            self._programs[program] = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
        self._started.append(self._programs[program])

    def kill_engine(self) -> None:
        """Kill the engine by SIGKILL, and wait until all processes that it started have ended, except `LINGERING`."""
        self._programs["engine"].kill()
        self._programs["engine"].wait()
        until(lambda: self._left() <= {self._programs["api"].pid}, "whatever a killed engine had started has ended")

    def replace_engine(self) -> "subprocess.Popen[bytes]":
        """Start a second engine. Returns the process of the first one."""
        (self._metrics_port,) = free_ports(1)
        self.environment["EQUIRANK_METRICS_PORT"] = str(self._metrics_port)
        first = self._programs["engine"]
        self.start("engine")
        return first

    def stop_engine(self) -> None:
        """Send SIGTERM, as an orchestrator does, and wait for the end. Shards publish and write checkpoints first."""
        self._programs["engine"].send_signal(signal.SIGTERM)
        assert (status := self._programs["engine"].wait(PATIENCE)) == 0, f"ended with {status}:\n{self.output('engine')[-4000:]}"

    def runs(self, program: str) -> bool:
        """Whether a started program still runs."""
        return self._programs[program].poll() is None

    def pid(self, program: str) -> int:
        return self._programs[program].pid

    def shard_pids(self) -> list[int]:
        """Ids of the living processes of shard actors."""
        return [pid for pid, line in self.processes().items() if line.startswith("ray::ShardActor")]

    def revive(self) -> list[str]:
        """Restart programs that have ended, as an orchestrator does. Returns their names."""
        ended = [program for program in self._programs if not self.runs(program)]
        for program in ended:
            self.start(program)
        return ended

    def processes(self) -> dict[int, str]:
        """Process id -> command line of all living processes of this installation, except Kafka and Redis."""
        return processes_with(self._mark, self._mark)

    def close(self) -> None:
        """Kill the programs. Fails if a process that they started does not end; such processes are killed as well."""
        self.client.close()
        for process in self._started:
            process.kill()
            process.wait()
        try:
            until(lambda: not self._left(), "everything ended with its drivers")
        finally:
            for pid in self.processes():
                os.kill(pid, signal.SIGKILL)
            until(lambda: not self.processes(), "everything ended by SIGKILL")

    def run(self, *command: str) -> "subprocess.CompletedProcess[str]":
        """Run an `equirank` command with the settings of this installation."""
        line = [sys.executable, "-m", "services.cli.main", *command]
        return subprocess.run(line, env=self.environment, capture_output=True, text=True, timeout=PATIENCE, check=False)

    def output(self, program: str) -> str:
        return (self.folder / f"{program}.out").read_text()

    # -- the API and metrics

    def ready(self) -> "Cluster":
        """Wait until API and metrics answer and every partition has an owner."""
        until(lambda: self._answers("/readyz"), lambda: f"the API is ready\n{self.output('api')}")
        until(lambda: len(self.owners()) == PARTITIONS, lambda: f"every partition has an owner\n{self.output('engine')}")
        return self

    def create(self, pool: str, kind: str, fold: Mapping[str, Any] | None = None) -> None:
        """Create a pool. fold: its settings; None for the defaults."""
        answer = self.client.put(f"/v1/pools/{pool}", json={"kind": kind} if fold is None else {"kind": kind, "fold": fold})
        assert answer.status_code == 201, answer.text

    def head(self, pool: str) -> dict[str, Any]:
        """Head of a pool's newest publication; empty before the first one."""
        answer = self.client.get(f"/v1/pools/{pool}")
        return (answer.json()["head"] or {}) if answer.status_code == 200 else {}

    def counted(self, pool: str, name: str = "outcomes") -> int:
        return int(self.head(pool).get(name, -1))

    def board(self, pool: str, method: str) -> dict[str, float]:
        """Agent -> rating of a board; empty without a board."""
        answer = self.client.get(f"/v1/pools/{pool}/boards/{method}", params={"count": 1000})
        return {row["agent"]: row["rating"] for row in answer.json()["rows"]} if answer.status_code == 200 else {}

    def metrics(self) -> dict[tuple[str, str], float]:
        """The engine's metrics: (name, label `reason` or "") -> sum over all other labels."""
        text = httpx.get(f"http://127.0.0.1:{self._metrics_port}/metrics", timeout=PATIENCE, trust_env=False, verify=PLAIN).text
        found: dict[tuple[str, str], float] = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                key = sample.name, sample.labels.get("reason", "")
                found[key] = found.get(key, 0.0) + sample.value
        return found

    def settled_metrics(self) -> dict[tuple[str, str], float]:
        """The engine's metrics, after they include all records that are in the log now."""
        with self.log() as log:
            end = sum(log.outcomes.end(number) for number in range(PARTITIONS))
        until(lambda: self._told() == end, "the metrics tell of the whole log")
        return self.metrics()

    def _told(self) -> float | None:
        """Sum of the partitions' positions in the metrics; None while no engine answers."""
        try:
            return self.metrics().get(("equirank_partition_position", ""))
        except httpx.TransportError:
            return None

    # -- the logs; Kafka's own clients replace the tested ones

    @property
    def topic(self) -> str:
        return f"{self.prefix}outcomes"

    def producer(self, compression: str | None = None) -> KafkaProducer:
        """A plain kafka-python producer, as another program uses it. Its default size limit for requests is too low for large records."""
        return KafkaProducer(bootstrap_servers=self.bootstrap, compression_type=compression, max_request_size=8 << 20)

    def dead_letters(self) -> list[dict[str, Any]]:
        """All dead letters, read by a plain kafka-python consumer."""
        where = TopicPartition(f"{self.prefix}dead-letters", 0)
        consumer = KafkaConsumer(bootstrap_servers=self.bootstrap, enable_auto_commit=False, auto_offset_reset="earliest")
        try:
            consumer.assign([where])
            end, letters = consumer.end_offsets([where])[where], []
            while consumer.position(where) < end:
                letters += [record.value for records in consumer.poll(timeout_ms=1000).values() for record in records]
        finally:
            consumer.close()
        return [msgspec.json.decode(letter) for letter in letters]

    @contextmanager
    def log(self) -> Iterator[Log]:
        """The installation's log, opened by the tested code."""
        log = open_kafka_log(Connection(self.bootstrap), PARTITIONS, topic_prefix=self.prefix)
        try:
            yield log
        finally:
            log.close()

    def owners(self) -> dict[int, int]:
        """Partition -> id of the process that took it over last, by the control log."""
        owners: dict[int, int] = {}
        with self.log() as log:
            end, position = log.control.end(0), 0
            reader = log.control.reader({0: 0})
            while position < end:
                for record in reader.poll(1.0, 10_000).get(0, []):
                    position = record.offset + 1
                    if isinstance(found := decode(record.value), Takeover):
                        owners[found.partition] = int(found.owner.rpartition("/")[2])
            reader.close()
        return owners

    def manifests(self) -> list[Manifest]:
        """Manifests of the newest checkpoints, at most one for each partition."""
        found = [self.checkpoints.newest(number) for number in range(PARTITIONS)]
        return [manifest for manifest in found if manifest is not None]

    def _left(self) -> set[int]:
        return {pid for pid, command in self.processes().items() if not command.startswith(LINGERING)}

    def _answers(self, path: str) -> bool:
        for name, process in self._programs.items():
            assert process.poll() is None, f"{name} ended with {process.returncode}:\n{self.output(name)}"
        try:
            return self.client.get(path).status_code == 200
        except httpx.HTTPError:
            return False


@contextmanager
def cluster_on(folder: Path, bootstrap: str, redis_url: str) -> Iterator[Cluster]:
    """A running cluster. All of its processes are ended at the end of the block."""
    one = Cluster(folder, bootstrap, redis_url)
    try:
        one.start("api")
        one.start("engine")
        yield one.ready()
    finally:
        one.close()


def refolded(log: Log) -> dict[str, str]:
    """Pool -> digest after a new fold of the log from its beginning, in this process."""
    control = ControlLog(log.control)
    directory = FixedDirectory(control.refresh())
    partitions = {number: Partition(number, PARTITIONS) for number in range(PARTITIONS)}
    ends = {number: log.outcomes.end(number) for number in partitions}
    reader = log.outcomes.reader(dict.fromkeys(partitions, 0))
    while any(partitions[number].position < end for number, end in ends.items()):
        for number, records in reader.poll(1.0, 313).items():
            partitions[number].fold(records, directory)
    reader.close()
    control.close()
    return {pool: digest(state.arrays()) for partition in partitions.values() for pool, state in partition.pools.items()}
