"""What a shard reports: its health to the engine, heartbeats to readers."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from services.boards.folding import Heartbeat
from services.runtime.durations import Durations
from services.runtime.metrics import CHECKPOINT_BUCKETS
from services.shard.folding import Folding
from services.shard.health import WorkerHealth
from services.shard.owned import OwnedPartitions
from services.shard.publishing.publisher import Publisher


class ShardReport:
    """Reads the parts of a shard. Any thread may call it. clock: seconds since 1970; timer: seconds that never go back."""

    def __init__(
        self,
        owner: str,
        owned: OwnedPartitions,
        publisher: Publisher,
        folding: Folding,
        clock: Callable[[], float],
        timer: Callable[[], float],
    ) -> None:
        self._owner, self._owned, self._publisher, self._folding = owner, owned, publisher, folding
        self._clock, self._timer = clock, timer

    def health(self, progress_at: float, counters: Mapping[str, float]) -> WorkerHealth:
        """Progress so far. progress_at: when the shard polled last, by the clock; counters: of the shard's other parts."""
        runtimes, publisher, folding = self._owned.all(), self._publisher, self._folding
        parts = [part.counters for runtime in runtimes for part in (runtime.checkpointer, runtime.builder)]
        return WorkerHealth(
            owner=self._owner,
            progress_at=progress_at,
            counters=_sum([counters, folding.counters, publisher.counters, *parts]),
            dead_letters=dict(folding.reasons),
            odd_times=dict(sum((runtime.partition.counters.odd for runtime in runtimes), Counter())),
            folds=Durations.together([folding.durations]),
            pauses={
                "checkpoint": Durations.together([runtime.checkpointer.pauses for runtime in runtimes]),
                "publication": Durations.together([publisher.pauses]),
            },
            checkpoints=Durations.together([runtime.checkpointer.writer.durations for runtime in runtimes], CHECKPOINT_BUCKETS),
            published_at=publisher.written_at,
            partitions=[runtime.health(self._clock(), self._timer()) for runtime in runtimes],
        )

    def heartbeats(self, measured_at: float) -> list[Heartbeat]:
        """One heartbeat per partition, for readers. measured_at: when the log answered last, by the timer."""
        at, now = self._clock(), self._timer()
        return [
            Heartbeat(
                partition=runtime.partition.number,
                epoch=runtime.epoch,
                shard=self._owner,
                position=runtime.partition.position,
                lag=runtime.lag,
                lag_seconds=runtime.lag_seconds(at, now),
                idle_seconds=max(0.0, now - measured_at),
                stopped=runtime.stopped is not None,
            )
            for runtime in self._owned.all()
        ]


def _sum(parts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for counters in parts:
        for name, value in counters.items():
            total[name] = total.get(name, 0) + value
    return total
