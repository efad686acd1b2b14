"""Counters and durations of a shard since its start, over all its partitions."""

from collections import Counter
from dataclasses import dataclass, field

from services.runtime.durations import Durations
from services.runtime.metrics import CHECKPOINT_BUCKETS


@dataclass(slots=True)
class ShardFigures:
    """Figures that the parts of a shard share. Counts never decrease, because a partition that is recovered again keeps using them.

    The folding thread writes; any thread may read.

    Attributes:
        counts: Number of events by name; `services/engine/metrics.py` lists the names.
        dead_letters: Dead letters by reason.
        folds: Durations of the calls of the fold.
        freezes: Pauses of the fold in which pools were frozen for a checkpoint.
        copies: Pauses of the fold in which changes were copied for publication.
        checkpoints: Durations of written checkpoints.
        polled_at: Time of the last successful poll of the log, seconds since 1970.
        published_at: Time of the last successful write to the store, seconds since 1970; None before the first.
        ratings_since: Partition -> since when the ratings topic lacks rows of its boards, by the timer; None if it lacks none. Empty
            without this topic.
        unread_partitions: Number of partitions that were added to the topic after the start. No shard reads them.
    """

    counts: Counter[str] = field(default_factory=Counter)
    dead_letters: Counter[str] = field(default_factory=Counter)
    folds: Durations = field(default_factory=Durations)
    freezes: Durations = field(default_factory=Durations)
    copies: Durations = field(default_factory=Durations)
    checkpoints: Durations = field(default_factory=lambda: Durations(CHECKPOINT_BUCKETS))
    polled_at: float = 0.0
    published_at: float | None = None
    ratings_since: dict[int, float | None] = field(default_factory=dict)
    unread_partitions: int = 0

    def ratings_lag_seconds(self, partition: int, now: float) -> float | None:
        """Seconds since the ratings topic lacks rows that are on the boards of a partition; None without this topic, or without pools.

        now: monotonic time in seconds.
        """
        if partition not in self.ratings_since:
            return None
        since = self.ratings_since[partition]
        return 0.0 if since is None else max(0.0, now - since)
