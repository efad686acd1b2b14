"""What a shard tells of itself, for metrics and for whoever watches it."""

import msgspec

from services.runtime.durations import Durations


class PartitionHealth(msgspec.Struct, frozen=True, kw_only=True):
    """Where a partition stands, and what its pools counted. lag: offsets not yet folded; lag_seconds: since when, at most, the first of
    them waits; folded_at: when the log took the last record.

    checkpoint, checkpoint_at: position and time of the newest checkpoint of this start; stopped: why the partition stopped;
    isolated: offset of a record at which shards died, which is not folded; pools_frozen: pools whose boards go no further, as their
    generation cannot be folded again; pending: retractions that no generation heeds yet; building: generations under construction;
    progress: of the one that is least far, 0 to 1; memory: bytes by part.
    """

    partition: int
    epoch: int
    position: int
    lag: int
    lag_seconds: float
    folded_at: float | None
    checkpoint: int | None
    checkpoint_at: float | None
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
    """Progress and counters of a shard since its start. progress_at: when it last polled its log, by its own clock.

    odd_times: late and future outcomes; folds: calls of the fold; pauses: of the fold, by what it paused for; checkpoints: how long
    those written took; published_at: when the store took something last.
    """

    owner: str
    progress_at: float
    counters: dict[str, float]
    dead_letters: dict[str, int]
    odd_times: dict[str, int]
    folds: Durations
    pauses: dict[str, Durations]
    checkpoints: Durations
    published_at: float | None
    partitions: list[PartitionHealth]
