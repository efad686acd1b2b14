"""What a shard counts from its start on, over all partitions that it ever had."""

from collections import Counter
from dataclasses import dataclass, field

from services.runtime.durations import Durations
from services.runtime.metrics import CHECKPOINT_BUCKETS


@dataclass(slots=True)
class ShardFigures:
    """Shared by the parts of a shard, so no count falls while the shard lives, also where a partition is recovered again.

    The folding thread writes, any thread may read.

    Attributes:
        counts: What happened how often, by the words of `services/engine/metrics.py`.
        dead_letters: Dead letters by reason.
        folds: How long each call of the fold took.
        freezes: How long the fold paused each time pools were frozen for a checkpoint.
        copies: How long it paused each time changes were copied for readers.
        checkpoints: How long each checkpoint written took.
        polled_at: When the log was read last, seconds since 1970.
        published_at: When the store took something last, seconds since 1970.
        measured_at: When the topic said last how far it reaches, by the timer.
        unread_partitions: How many partitions were added to the topic, which nothing reads.
    """

    counts: Counter[str] = field(default_factory=Counter)
    dead_letters: Counter[str] = field(default_factory=Counter)
    folds: Durations = field(default_factory=Durations)
    freezes: Durations = field(default_factory=Durations)
    copies: Durations = field(default_factory=Durations)
    checkpoints: Durations = field(default_factory=lambda: Durations(CHECKPOINT_BUCKETS))
    polled_at: float = 0.0
    published_at: float | None = None
    measured_at: float = 0.0
    unread_partitions: int = 0
