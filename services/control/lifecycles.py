"""Lifecycles of partitions, pools and generations: the statuses that shards, metrics and commands name with the same words."""

from enum import StrEnum
from typing import Final

from services.runtime.lifecycle import Lifecycle


class PartitionStatus(StrEnum):
    """A shard folds a partition, or it stopped for one of these reasons."""

    RUNNING = "running"
    RECORDS_LOST = "records_lost"
    DAMAGED = "damaged"
    ISOLATED = "isolated"
    LOG_REPLACED = "log_replaced"
    UNREADABLE = "unreadable"
    ARCHIVE_UNREADABLE = "archive_unreadable"
    OFFLINE = "offline"


class PartitionEvent(StrEnum):
    """What happens to a partition."""

    LOSE_RECORDS = "lose_records"
    MEET_DAMAGE = "meet_damage"
    ISOLATE = "isolate"
    REPLACE_LOG = "replace_log"
    FAIL = "fail"
    MISS_ARCHIVE = "miss_archive"
    GET_NO_ANSWER = "get_no_answer"
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
        (PartitionStatus.RECORDS_LOST, PartitionEvent.DECIDE): PartitionStatus.RUNNING,
        (PartitionStatus.DAMAGED, PartitionEvent.DECIDE): PartitionStatus.RUNNING,
        (PartitionStatus.ISOLATED, PartitionEvent.DECIDE): PartitionStatus.RUNNING,
        (PartitionStatus.ARCHIVE_UNREADABLE, PartitionEvent.RETRY): PartitionStatus.RUNNING,
        (PartitionStatus.OFFLINE, PartitionEvent.RETRY): PartitionStatus.RUNNING,
    },
)
"""An operator decides on lost, damaged and isolated records. An archive, and a partition that did not answer
when it was to be recovered, are tried again once they answer. A replaced or unreadable log needs
another start of the shard."""


class PoolStatus(StrEnum):
    """folding: outcomes count. stopped: the content belongs to one position. broken: the fold failed in the middle of a call."""

    FOLDING = "folding"
    STOPPED = "stopped"
    BROKEN = "broken"


class PoolEvent(StrEnum):
    """What happens to a pool under one generation. A new generation of the pool begins a new lifecycle."""

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
    """scanning: the log is read for retractions. folding: the log is read for outcomes. serving: readers see it."""

    SCANNING = "scanning"
    FOLDING = "folding"
    SERVING = "serving"
    FAILED = "failed"


class GenerationEvent(StrEnum):
    """What happens to a generation under construction."""

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
"""A generation that failed is built again later, which begins a new lifecycle."""
