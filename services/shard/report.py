"""What a shard reports: its health to the engine, heartbeats to readers. Any thread may ask."""

from collections import Counter

from services.boards.folding import Heartbeat
from services.runtime.durations import Durations
from services.runtime.metrics import CHECKPOINT_BUCKETS
from services.shard.figures import ShardFigures
from services.shard.health import WorkerHealth
from services.shard.owned import OwnedPartitions


def health_of(owner: str, owned: OwnedPartitions, figures: ShardFigures, at: float, now: float) -> WorkerHealth:
    """Progress so far. at: by the clock; now: by the timer."""
    runtimes = owned.all()
    return WorkerHealth(
        owner=owner,
        progress_at=figures.polled_at,
        counters=figures.counts.copy(),
        dead_letters=dict(figures.dead_letters),
        odd_times=dict(sum((runtime.partition.counters.odd for runtime in runtimes), Counter())),
        folds=Durations.together([figures.folds]),
        pauses={"checkpoint": Durations.together([figures.freezes]), "publication": Durations.together([figures.copies])},
        checkpoints=Durations.together([figures.checkpoints], CHECKPOINT_BUCKETS),
        published_at=figures.published_at,
        partitions=[runtime.health(at, now) for runtime in runtimes],
    )


def heartbeats_of(owner: str, owned: OwnedPartitions, figures: ShardFigures, at: float, now: float) -> list[Heartbeat]:
    """One heartbeat per partition, for readers. at: by the clock; now: by the timer."""
    return [
        Heartbeat(
            partition=runtime.partition.number,
            epoch=runtime.epoch,
            shard=owner,
            position=runtime.partition.position,
            lag=runtime.lag,
            lag_seconds=runtime.lag_seconds(at, now),
            idle_seconds=max(0.0, now - figures.measured_at),
            stopped=runtime.stopped is not None,
        )
        for runtime in owned.all()
    ]
