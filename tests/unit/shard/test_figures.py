"""What a shard counts of its partitions: no counter of Prometheus may fall while the process lives."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from services.control.directory import LiveDirectory
from services.control.log import ControlLog
from services.control.records import FoldSettings
from services.demo import simulated
from services.log.protocol import Log
from services.log.sqlite.log import open_sqlite_log
from services.runtime.settings import Settings
from services.shard.figures import ShardFigures
from services.shard.health import WorkerHealth
from services.shard.owned import OwnedPartitions
from services.shard.report import ShardReport
from services.shard.takeover import Takeovers
from services.wire import events


class Shard:
    """A shard of one partition, without its loop."""

    def __init__(self, folder: Path, log: Log) -> None:
        self.log, self.control, self.figures, self.owned = log, ControlLog(log.control), ShardFigures(), OwnedPartitions()
        self.takeovers = Takeovers(Settings(data=folder, partitions=1), "one", log, self.control, self.figures, lambda: 0.0, lambda: 0.0)
        self.directory = LiveDirectory(self.control, FoldSettings(), 10, lambda: 0.0, create=True)
        self.owned.runtimes[0] = self.takeovers.take_over(0)

    def checkpoint(self, game: int) -> None:
        """Fold one game more, and write a checkpoint."""
        runtime = self.owned.runtimes[0]
        self.log.outcomes.append(0, [(simulated.POOL.encode(), events.encode([simulated.game(game, 0.0)]))])
        reader = self.log.outcomes.reader({0: runtime.partition.position})
        assert runtime.partition.fold(reader.poll(5.0, 10)[0], self.directory) == []
        reader.close()
        runtime.checkpointer.drain(runtime.partition)

    def recover(self) -> None:
        """Recover the partition again."""
        self.owned.runtimes[0] = self.takeovers.recover(0, self.owned.runtimes[0].epoch)

    @property
    def told(self) -> WorkerHealth:
        return ShardReport("one/machine/1", self.owned, self.figures, lambda: 0.0, lambda: 0.0).health()


@pytest.fixture
def shard(tmp_path: Path) -> Iterator[Shard]:
    log = open_sqlite_log(tmp_path / "log.sqlite", 1)
    one = Shard(tmp_path, log)
    yield one
    one.control.close()
    log.close()


class Growing(Counter[str]):
    """Gets a key while it is iterated, as if the folding thread counted its first odd outcome then."""

    def items(self) -> Any:
        for pair in super().items():
            self.setdefault("future", 1)
            yield pair


def test_health_is_told_while_the_fold_counts_its_first_odd_outcome(shard: Shard) -> None:
    shard.owned.runtimes[0].partition.counters.odd = Growing(late=2)
    assert shard.told.odd_times == {"late": 2}


def test_no_counter_falls_where_a_partition_is_recovered_again(shard: Shard) -> None:
    shard.checkpoint(1)
    before = shard.told
    shard.recover()
    assert (shard.told.counters, shard.told.checkpoints, shard.told.pauses) == (before.counters, before.checkpoints, before.pauses)
    shard.checkpoint(2)
    assert [told.counters["checkpoints"] for told in (before, shard.told)] == [1, 2]
    assert [sum(told.checkpoints.counts) for told in (before, shard.told)] == [1, 2]


def test_no_counter_falls_where_a_partition_is_given_up(shard: Shard) -> None:
    shard.checkpoint(1)
    del shard.owned.runtimes[0]
    assert shard.told.counters["checkpoints"] == 1
    assert sum(shard.told.checkpoints.counts) == 1


def test_checkpoints_that_were_passed_over_are_counted_on_each_recovery(shard: Shard, tmp_path: Path) -> None:
    shard.checkpoint(1)
    for path in (tmp_path / "state" / "checkpoints").rglob("*.json"):
        path.write_bytes(b"damaged")
    for count in (1, 2):
        shard.recover()
        assert shard.told.counters["checkpoints_skipped"] == count
