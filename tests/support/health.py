"""Make a shard's health report."""

from services.runtime.durations import Durations
from services.runtime.metrics import CHECKPOINT_BUCKETS
from services.shard.health import WorkerHealth


def health_of(owner: str) -> WorkerHealth:
    """Health of a shard that folded five records and owns no partition. owner: name, host and process id of the shard."""
    return WorkerHealth(
        owner=owner,
        progress_at=0.0,
        counters={"records": 5.0},
        dead_letters={},
        odd_times={},
        folds=Durations(),
        pauses={},
        checkpoints=Durations(CHECKPOINT_BUCKETS),
        published_at=None,
        partitions=[],
    )
