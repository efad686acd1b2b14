"""A partition of thousands of small pools: how long their checkpoints hold folding up at once.

`python -m benchmarks.many_pools [--quick]`. Goal: never for more than 0.05 s. All pools change between two checkpoints, then one does.
"""

import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from benchmarks.common import Row, arguments, header, stream
from services.checkpoints.checkpoint import CheckpointStore
from services.control.directory import FixedDirectory
from services.control.records import ControlState, Generation, PoolCreated
from services.log.protocol import Record
from services.log.records import TopicRecords
from services.runtime.memory import set_up_memory
from services.shard.checkpointing.checkpointer import Checkpointer
from services.shard.partition import Partition
from services.wire import events
from services.wire.events import GameEvent, Side
from services.wire.pools import Kind

GOAL_PAUSE = 0.05


class Shard:
    """One partition of so many pools, and its checkpoints."""

    def __init__(self, pools: int, folder: Path) -> None:
        control = ControlState()
        for i in range(pools):
            made = PoolCreated(pool=f"pool{i}", kind=Kind.GAMES, time=0.0)
            control.apply(2 * i, made)
            control.apply(2 * i + 1, Generation(pool=made.pool, number=1, start=0, time=0.0, fold=made.fold))
        self._partition, self._directory = Partition(0, 1), FixedDirectory(control)
        self._checkpointer, self._now = Checkpointer(CheckpointStore(folder.as_uri()), "log", 1, 3, None), 0.0

    def play(self, pools: Iterable[int]) -> None:
        """A game in each of these pools."""
        begin = self._partition.position
        records = TopicRecords([Record(begin + at, events.encode([_game(pool, begin + at)]), 0.0) for at, pool in enumerate(pools)])
        if self._partition.fold(records, self._directory):
            raise ValueError("the workload must be sound")

    def longest(self) -> float:
        """Seconds, of a checkpoint's pauses."""
        self._now += 1e6
        longest, written = 0.0, self._checkpointer.figures.counts["checkpoints"]
        while self._checkpointer.figures.counts["checkpoints"] == written:
            began = time.perf_counter()
            self._checkpointer.step(self._now, 1.0, self._partition)
            longest = max(longest, time.perf_counter() - began)
            time.sleep(0.001)
        return longest


def _game(pool: int, at: int) -> GameEvent:
    return GameEvent(v=1, id=f"g{at}", pool=f"pool{pool}", time=0.0, sides=[Side(["a"], 1), Side([f"b{at % 7}"], 2)])


def rows(sizes: Iterable[int]) -> Iterator[Row]:
    """Two checkpoints of each kind; the second one of pools that rest names objects again."""
    for pools in sizes:
        with tempfile.TemporaryDirectory(prefix="bench-pools-") as folder:
            shard = Shard(pools, Path(folder))
            for what, changed in (("all of them changed", range(pools)), ("one of them changed", range(1))):
                longest = 0.0
                for _ in range(2):
                    shard.play(changed)
                    longest = max(longest, shard.longest())
                yield Row("longest hold-up of the fold by a checkpoint", f"{pools:,} pools, {what}", longest, "goal", GOAL_PAUSE)


def main(argv: Sequence[str] | None = None) -> None:
    given = arguments(__doc__ or "", argv)
    header("Many pools", ("numba",))
    set_up_memory()  # as shards do
    for _ in rows((3,)):
        pass  # kernels are there, as they are after a shard's first checkpoint
    stream(rows((300,) if given.quick else (1_000, 3_000, 10_000)))


if __name__ == "__main__":
    main()
