"""Health of a shard, for metrics and supervision."""

from collections import Counter

import msgspec

from services.control.lifecycles import PartitionStatus
from services.runtime.durations import Durations


class PartitionHealth(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of one partition.

    Attributes:
        position: First offset not yet folded.
        lag: Number of offsets not yet folded.
        lag_seconds: Upper bound of the time that the first record not yet folded has waited.
        folded_at: Log time of the last folded record, seconds since 1970; None before the first.
        checkpoint, checkpoint_at: Position and time of the newest checkpoint.
        status: Whether the partition runs, and the kind of reason for which it stopped.
        stopped: Why the partition stopped, for people; None while it runs.
        isolated_offset: Offset of the record at which the partition is isolated.
        pools_frozen: Number of pools whose boards are no longer updated, because their generation cannot be folded again.
        counts: Outcomes and retractions by `COUNTERS`, since the shard took over the partition. Counts never decrease.
        pending: Pending retractions that change a result (`PoolRetractions.waiting`).
        building: Number of generations under construction.
        progress: Progress of the slowest of them, 0 to 1; None without one.
        memory: Bytes of pools and builds, by part.
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
    isolated_offset: int | None
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

    owner: NAME/HOST/PROCESS; progress_at: time of the last successful poll of the log, seconds since 1970 by the shard's clock;
    counters: see `ShardFigures.counts`; odd_times: number of late and of future outcomes; folds: durations of the calls of the fold;
    pauses: durations of the fold's pauses, by cause; checkpoints, published_at, unread_partitions: see `ShardFigures`;
    ratings_lag_seconds: by partition, see `ShardFigures.ratings_lag_seconds`.
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
    ratings_lag_seconds: dict[int, float | None] = {}
