"""Health of a shard, for metrics and supervision."""

from collections import Counter

import msgspec

from services.control.lifecycles import PartitionStatus
from services.runtime.durations import Durations


class PartitionHealth(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of one partition.

    Attributes:
        position: First offset not yet folded.
        lag: Offsets not yet folded.
        lag_seconds: How long the first of them waits, at most.
        folded_at: When the log took the last record folded, seconds since 1970.
        checkpoint, checkpoint_at: Position and time of the newest checkpoint.
        status: Whether the partition runs, and for what it stopped.
        stopped: Why it stopped, for people.
        isolated: Offset of a record at which shards died, which is not folded.
        pools_frozen: Pools whose boards go no further, as their generation cannot be folded again.
        counts: Outcomes and retractions by `COUNTERS`, since the shard took the partition over; no count falls.
        pending: Retractions that no generation applies yet, without those that change nothing (`PoolRetractions.waiting`).
        building: Generations under construction.
        progress: Of the generation that is least far, 0 to 1.
        memory: Bytes by part.
    """

    partition: int
    epoch: int
    position: int
    lag: int
    lag_seconds: float
    folded_at: float | None
    checkpoint: int | None
    checkpoint_at: float | None
    status: PartitionStatus
    stopped: str | None
    isolated: int | None
    pools: int
    pools_stopped: int
    pools_frozen: int
    agents: int
    counts: dict[str, int]
    pending: int = 0
    building: int = 0
    progress: float | None = None
    memory: dict[str, int] = {}


class WorkerHealth(msgspec.Struct, frozen=True, kw_only=True):
    """Progress and counters of a shard since its start.

    owner: NAME/HOST/PROCESS; progress_at: when it last polled its log, by its own clock; counters: as `ShardFigures.counts`;
    odd_times: late and future outcomes; folds: calls of the fold; pauses: of the fold, by what it paused for; checkpoints: how long
    those written took; published_at: when the store took something last; unread_partitions: as `ShardFigures` has it.
    """

    owner: str
    progress_at: float
    counters: Counter[str]
    dead_letters: dict[str, int]
    odd_times: dict[str, int]
    folds: Durations
    pauses: dict[str, Durations]
    checkpoints: Durations
    published_at: float | None
    partitions: list[PartitionHealth]
    unread_partitions: int = 0
