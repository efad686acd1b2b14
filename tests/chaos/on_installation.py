"""The installation of `deploy/local/cluster` (three brokers, two nodes of Ray, two APIs behind nginx), and what is done to its parts."""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import httpx

from deploy.local.cluster.installation import Installation
from tests.chaos.on_kafka import OnKafka
from tests.chaos.traffic import POOLS, fold_of
from tests.support.cluster import PARTITIONS, Cluster
from tests.support.http import PLAIN
from tests.support.waiting import PATIENCE

_SETTINGS: Final = {
    "EQUIRANK_TOPIC_PREFIX": "soak.", "EQUIRANK_PARTITIONS": str(PARTITIONS),
    "EQUIRANK_CHECKPOINT_SECONDS": "1", "EQUIRANK_SOLVE_SECONDS": "20", "EQUIRANK_ARCHIVE_SECONDS": "5",
}  # fmt: skip
_OF_SERVERS: Final = (
    "kill shard", "pause shard", "pause engine", "kill broker", "pause broker", "kill redis", "pause redis", "flush redis",
    "put old data of redis back", "redis out of memory", "redis read-only", "kill shards, redis and a broker at once",
    "other settings of a pool, and kill its shard",
)  # fmt: skip
"""Faults of `OnKafka` that need nothing but processes. The others start engines with other settings, or need proxies."""
_PARTS: Final = ("engine", "api-0", "api-1", "nginx", "ray-1")


class _Installed(Cluster):
    """What `OnKafka` asks of its programs, answered by the installation."""

    def __init__(self, folder: Path, installation: Installation) -> None:
        super().__init__(folder, installation.environment["EQUIRANK_KAFKA"], installation.environment["EQUIRANK_REDIS"], "soak.")
        self.environment |= installation.environment
        self.client.close()
        self.client = httpx.Client(base_url=installation.environment["EQUIRANK_URL"], timeout=PATIENCE, trust_env=False, verify=PLAIN)
        self._installation = installation

    def revive(self) -> list[str]:
        return self._installation.revive()

    def pid(self, program: str) -> int:
        return self._installation.pid(program)

    def close(self) -> None:
        self.client.close()


class _Redis:
    """The installation's Redis."""

    def __init__(self, folder: Path, installation: Installation) -> None:
        self.url, self.dump = installation.environment["EQUIRANK_REDIS"], folder / "dump.rdb"
        self._installation = installation

    @property
    def pid(self) -> int:
        return self._installation.pid("redis")

    def kill(self) -> None:
        self._installation.kill("redis")

    def start(self) -> None:
        self._installation.revive()


class OnInstallation(OnKafka):
    """A `System` of the room whose parts are those of a small production."""

    def __init__(self, cluster: _Installed, installation: Installation, redis: _Redis) -> None:
        super().__init__(cluster, installation.brokers, redis, {})
        self._installation = installation
        self.checkpoints = self.checkpoints.removeprefix("file://")
        self.faults = {name: self.faults[name] for name in _OF_SERVERS} | {f"kill {part}": self._killed(part) for part in _PARTS}

    @property
    def api(self) -> str:
        """Always the same one: another API can be some moments behind it."""
        return self._installation.apis[0]

    def _killed(self, part: str) -> Callable[[random.Random], None]:
        def kill(_: random.Random) -> None:
            self.keep()
            self._installation.kill(part)

        return kill

    def keep(self) -> Sequence[str]:
        """Start what ended, as systemd does."""
        return self._installation.revive()


@contextmanager
def on_installation(folder: Path) -> Iterator[OnInstallation]:
    """A running installation with the pools of the traffic, ended on the way out."""
    with Installation(folder, _SETTINGS | {"EQUIRANK_ARCHIVE": str(folder / "archive")}) as installation:
        installation.wait_until_ready()
        cluster = _Installed(folder, installation)
        for pool, kind in POOLS.items():
            cluster.create(pool, kind.value, fold_of(pool))
        system = OnInstallation(cluster, installation, _Redis(folder, installation))
        try:
            yield system
        finally:
            system.close()
            cluster.close()
