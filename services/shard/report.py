"""A shard's reports: health for the engine, heartbeats for readers."""

from collections import Counter
from collections.abc import Callable

from services.boards.folding import Heartbeat
from services.runtime.durations import Durations
from services.runtime.metrics import CHECKPOINT_BUCKETS
from services.shard.figures import ShardFigures
from services.shard.health import WorkerHealth
from services.shard.owned import OwnedPartitions


class ShardReport:
    """Makes reports from the figures of a shard. Any thread may call it. clock: seconds since 1970; timer: monotonic time in seconds."""

    def __init__(
        self, owner: str, owned: OwnedPartitions, figures: ShardFigures, clock: Callable[[], float], timer: Callable[[], float]
    ) -> None:
        self._owner, self._owned, self._figures, self._clock, self._timer = owner, owned, figures, clock, timer

    def health(self) -> WorkerHealth:
        """Return the shard's progress and counters."""
        runtimes, figures = self._owned.all(), self._figures
        return WorkerHealth(
            owner=self._owner,
            progress_at=figures.polled_at,
            counters=figures.counts.copy(),
            dead_letters=dict(figures.dead_letters),
            odd_times=dict(sum((Counter(dict(runtime.partition.counters.odd)) for runtime in runtimes), Counter())),
            folds=Durations.together([figures.folds]),
            pauses={"checkpoint": Durations.together([figures.freezes]), "publication": Durations.together([figures.copies])},
            checkpoints=Durations.together([figures.checkpoints], CHECKPOINT_BUCKETS),
            published_at=figures.published_at,
            partitions=[runtime.health(self._clock(), self._timer()) for runtime in runtimes],
            unread_partitions=figures.unread_partitions,
            ratings_lag_seconds={number: figures.ratings_lag_seconds(number, self._timer()) for number in list(figures.ratings_since)},
        )

    def heartbeats(self) -> list[Heartbeat]:
        """Return one heartbeat per partition."""
        at, now = self._clock(), self._timer()
        return [
            Heartbeat(
                partition=runtime.partition.number,
                epoch=runtime.epoch,
                shard=self._owner,
                position=runtime.partition.position,
                lag=runtime.lag,
                lag_seconds=runtime.lag_seconds(at, now),
                idle_seconds=max(0.0, now - runtime.measured_at),
                stopped=runtime.stopped is not None,
                status=runtime.status,
                reason=runtime.stopped,
                ratings_lag_seconds=self._figures.ratings_lag_seconds(runtime.partition.number, now),
            )
            for runtime in self._owned.all()
        ]
