"""Lifecycles of partitions, pools and generations. Shards, metrics and commands use the same names of statuses."""

from enum import StrEnum
from typing import Final

from services.runtime.lifecycle import Lifecycle


class PartitionStatus(StrEnum):
    """Status of a partition: `running` while a shard folds it, else the reason why it stopped."""

    RUNNING = "running"
    RECORDS_LOST = "records_lost"
    DAMAGED = "damaged"
    ISOLATED = "isolated"
    LOG_REPLACED = "log_replaced"
    UNREADABLE = "unreadable"
    ARCHIVE_UNREADABLE = "archive_unreadable"
    OFFLINE = "offline"
    LETTERS_REFUSED = "letters_refused"


class PartitionEvent(StrEnum):
    """An event of a partition that changes its status."""

    LOSE_RECORDS = "lose_records"
    MEET_DAMAGE = "meet_damage"
    ISOLATE = "isolate"
    REPLACE_LOG = "replace_log"
    FAIL = "fail"
    MISS_ARCHIVE = "miss_archive"
    GET_NO_ANSWER = "get_no_answer"
    KEEP_LETTERS = "keep_letters"
    DECIDE = "decide"
    RETRY = "retry"


PARTITION_LIFECYCLE: Final = Lifecycle(
    "partition",
    PartitionStatus.RUNNING,
    {
        (PartitionStatus.RUNNING, PartitionEvent.LOSE_RECORDS): PartitionStatus.RECORDS_LOST,
        (PartitionStatus.RUNNING, PartitionEvent.MEET_DAMAGE): PartitionStatus.DAMAGED,
        (PartitionStatus.RUNNING, PartitionEvent.ISOLATE): PartitionStatus.ISOLATED,
        (PartitionStatus.RUNNING, PartitionEvent.REPLACE_LOG): PartitionStatus.LOG_REPLACED,
        (PartitionStatus.RUNNING, PartitionEvent.FAIL): PartitionStatus.UNREADABLE,
        (PartitionStatus.RUNNING, PartitionEvent.MISS_ARCHIVE): PartitionStatus.ARCHIVE_UNREADABLE,
        (PartitionStatus.RUNNING, PartitionEvent.GET_NO_ANSWER): PartitionStatus.OFFLINE,
        (PartitionStatus.RUNNING, PartitionEvent.KEEP_LETTERS): PartitionStatus.LETTERS_REFUSED,
        (PartitionStatus.RECORDS_LOST, PartitionEvent.DECIDE): PartitionStatus.RUNNING,
        (PartitionStatus.DAMAGED, PartitionEvent.DECIDE): PartitionStatus.RUNNING,
        (PartitionStatus.ISOLATED, PartitionEvent.DECIDE): PartitionStatus.RUNNING,
        (PartitionStatus.ARCHIVE_UNREADABLE, PartitionEvent.RETRY): PartitionStatus.RUNNING,
        (PartitionStatus.OFFLINE, PartitionEvent.RETRY): PartitionStatus.RUNNING,
        (PartitionStatus.LETTERS_REFUSED, PartitionEvent.RETRY): PartitionStatus.RUNNING,
    },
)
"""After lost, damaged or isolated records, a partition continues when an operator has decided. After an unreadable archive, or if it was
offline during its recovery, it continues when the archive or the partition answers again, and after refused dead letters when the log takes
them. After a replaced or unreadable log, the shard has to be restarted."""


class PoolStatus(StrEnum):
    """Status of a pool under one generation.

    `folding`: outcomes are folded. `stopped`: no more outcomes are folded, and the content belongs to one position. `broken`: a fold
    failed halfway, so the content belongs to no position.
    """

    FOLDING = "folding"
    STOPPED = "stopped"
    BROKEN = "broken"


class PoolEvent(StrEnum):
    """An event of a pool under one generation. A new generation of the pool begins a new lifecycle."""

    STOP = "stop"
    BREAK = "break"


POOL_LIFECYCLE: Final = Lifecycle(
    "pool",
    PoolStatus.FOLDING,
    {
        (PoolStatus.FOLDING, PoolEvent.STOP): PoolStatus.STOPPED,
        (PoolStatus.FOLDING, PoolEvent.BREAK): PoolStatus.BROKEN,
        (PoolStatus.STOPPED, PoolEvent.STOP): PoolStatus.STOPPED,
        (PoolStatus.STOPPED, PoolEvent.BREAK): PoolStatus.BROKEN,
        (PoolStatus.BROKEN, PoolEvent.STOP): PoolStatus.BROKEN,
        (PoolStatus.BROKEN, PoolEvent.BREAK): PoolStatus.BROKEN,
    },
)


class GenerationStatus(StrEnum):
    """Status of a generation.

    `scanning`: the log is read for retractions. `folding`: the log is read for outcomes. `serving`: readers see the generation.
    `failed`: the generation could not be built.
    """

    SCANNING = "scanning"
    FOLDING = "folding"
    SERVING = "serving"
    FAILED = "failed"


class GenerationEvent(StrEnum):
    """An event of a generation under construction."""

    BEGIN = "begin"
    SWITCH = "switch"
    FAIL = "fail"


GENERATION_LIFECYCLE: Final = Lifecycle(
    "generation",
    GenerationStatus.SCANNING,
    {
        (GenerationStatus.SCANNING, GenerationEvent.BEGIN): GenerationStatus.FOLDING,
        (GenerationStatus.SCANNING, GenerationEvent.FAIL): GenerationStatus.FAILED,
        (GenerationStatus.FOLDING, GenerationEvent.SWITCH): GenerationStatus.SERVING,
        (GenerationStatus.FOLDING, GenerationEvent.FAIL): GenerationStatus.FAILED,
        (GenerationStatus.FAILED, GenerationEvent.FAIL): GenerationStatus.FAILED,
    },
)
"""A failed generation is built again later. The new attempt begins a new lifecycle."""
