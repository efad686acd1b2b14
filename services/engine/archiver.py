"""Archives every partition up to its newest checkpoint, by tasks in worker processes; without EQUIRANK_ARCHIVE it does nothing.

A partition has at most one task. A task of an engine that was superseded cannot double anything: its commit conflicts. A failed task is
tried again later; folding does not wait for it.
"""

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import msgspec

from ratings_core import extras
from services.backends import open_log
from services.checkpoints.checkpoint import Manifest
from services.control.erasures import ErasureRequest
from services.control.records import ControlState
from services.engine.partition_tasks import PartitionTasks
from services.log.protocol import Drops, Forgets, LogError, Retention, Topic
from services.log.skipping import Ranges
from services.runtime.settings import Settings
from services.shard.recovery import check_log
from services.solve.worker.task_pool import TaskPool, TaskType

log = logging.getLogger("equirank.archive")

_RETENTION_SHARE: Final = 3
"""A topic has to keep records so many times as long as the archive is behind in the ordinary course."""
COMPACT_COMMITS: Final = 64
"""Commits of a partition between two compactions of its table."""
TASK_SECONDS: Final = 600.0
"""Deadline of a task, which appends at most half a gigabyte of records, or compacts one table. One that hangs is cancelled."""
_DROP_SECONDS: Final = 5.0
"""How long a task drops archived records; the next one goes on."""
_TROUBLE: Final = "the archive cannot be written, trying again: %s"


def append_partition(
    settings: Settings,
    checkpoint: Manifest,
    skipped: Mapping[int, Ranges],
    erasures: Sequence[ErasureRequest] = (),
    lost: Ranges = (),
) -> Any:
    """Archive a partition up to a checkpoint, in a worker process. Returns a `services.archive.follow.Followed`.

    The embedded log then drops what is archived, up to the last record of the checkpoint, by which recovery knows the log again.

    erasures: all of the control log. Raises `WrongLog` where the log is not the one that the checkpoint was folded from, and what
    `follow` raises.
    """
    from services.archive.follow import follow  # noqa: PLC0415 - needs the extra `archive`, which engines without an archive lack

    log_ = open_log(settings, create=False)
    try:
        check_log(checkpoint, log_.outcomes)
        found = follow(log_.outcomes, skipped, str(settings.archive), checkpoint.partition, checkpoint.position, erasures, lost)
        if settings.drop_archived and isinstance(log_.outcomes, Drops) and checkpoint.last_offset is not None:
            before = min(found.position, checkpoint.last_offset)
            found = found._replace(dropped=log_.outcomes.drop(checkpoint.partition, before, _DROP_SECONDS))
        return found
    finally:
        log_.close()


def compact_partition(url: str, partition: int) -> Any:
    """Merge the small files of a partition's table. Returns how many segments were merged."""
    from services.archive.compaction import compact  # noqa: PLC0415 - as above

    return compact(url, partition)


_APPEND: Final = TaskType(append_partition, processors=0)
"""It must not wait for a solve: the topic could forget what it is to archive."""
_COMPACT: Final = TaskType(compact_partition, processors=0)


def retention_of(topic: Topic) -> Retention | None:
    """After what a topic forgets records; None where it never does."""
    return topic.retention if isinstance(topic, Forgets) else None


def check_archive(settings: Settings, topic: Topic) -> None:
    """Refuse an archive that could come too late for what the topic forgets. Without an archive it does nothing.

    Raises:
        MissingExtraError: The extra that writes archives is not installed.
        LogError: The topic forgets records before a late archive would have them.
    """
    if settings.archive is None:
        return
    extras.load("deltalake", "archive", "EQUIRANK_ARCHIVE")
    retention = retention_of(topic)
    least = _RETENTION_SHARE * (settings.archive_seconds + settings.checkpoint_seconds)
    if retention is not None and retention.seconds is not None and retention.seconds < least:
        msg = (
            f"topic {topic.name} forgets records after {retention}, and the archive is up to "
            f"{settings.archive_seconds + settings.checkpoint_seconds:g} s behind: set its retention.ms to {least * 1000:.0f} or more, or "
            "EQUIRANK_ARCHIVE_SECONDS and EQUIRANK_CHECKPOINT_SECONDS lower"
        )
        raise LogError(msg, retriable=False)


def forgets_unarchived(settings: Settings, topic: Topic) -> list[str]:
    """Why records are gone for good once the topic forgets them, with what to set; empty where they are kept."""
    retention = retention_of(topic)
    if settings.archive is not None or retention is None or retention.unknown:
        return []
    what = f"topic {topic.name} forgets records after {retention}, and no archive keeps them"
    return [f"{what}; set EQUIRANK_ARCHIVE, or its retention.ms and retention.bytes to -1"]


@dataclass(frozen=True, slots=True)
class ArchiveHealth:
    """Where the archive stands, for metrics.

    Attributes:
        positions: Partition -> first offset that is not archived; only partitions whose archive was opened.
        lag_records: Partition -> offsets below its newest checkpoint that are not archived.
        lag_seconds: Partition -> for how long the first of them has been below a checkpoint, at most.
        rows: Rows appended since the engine's start.
        failures: Tasks that failed since the engine's start.
    """

    positions: Mapping[int, int] = field(default_factory=dict)
    lag_records: Mapping[int, int] = field(default_factory=dict)
    lag_seconds: Mapping[int, float] = field(default_factory=dict)
    rows: int = 0
    failures: int = 0


@dataclass(slots=True)
class _Partition:
    """The archive of one partition. Times are seconds of the timer.

    Attributes:
        covered_at: When the newest checkpoint was read below which everything is archived; the start, before the first.
        position: First offset that is not archived; None before the first task ended.
        checkpoint: The newest checkpoint, without its pools.
        commits: Commits since the last compaction.
        dropped: Whether the log has nothing to drop of what is archived.
    """

    covered_at: float
    position: int | None = None
    checkpoint: Manifest | None = None
    commits: int = 0
    dropped: bool = True

    @property
    def lag(self) -> int:
        """Offsets below the newest checkpoint that are not archived."""
        return 0 if self.checkpoint is None else max(0, self.checkpoint.position - (self.position or 0))

    @property
    def behind(self) -> bool:
        """Whether a checkpoint covers what is not archived."""
        return self.checkpoint is not None and (self.position is None or self.position < self.checkpoint.position)


class Archiver:
    """Driven by the engine's loop; never waits. Arguments named `now` are seconds of a timer that never goes back."""

    def __init__(self, settings: Settings, tasks: TaskPool, workers: int) -> None:
        self._settings, self._workers = settings, workers
        self._tasks = PartitionTasks(tasks, log, _TROUBLE, TASK_SECONDS)
        self._partitions: dict[int, _Partition] = {}
        self._rows = 0

    def step(self, now: float, manifests: Mapping[int, Manifest], control: ControlState, held: Collection[int] = ()) -> None:
        """Take in what ended, and start what is due.

        Args:
            now: Seconds of the timer.
            manifests: The newest manifest of each partition.
            control: The state of the control log, which says what operators gave up and which names are erased.
            held: Partitions whose tables are written by others now; no task is started for these.
        """
        if self._settings.archive is None:
            return
        self._tasks.take_in(now)
        for number, manifest in manifests.items():
            one = self._partitions.setdefault(number, _Partition(covered_at=now))
            if one.checkpoint is None or one.checkpoint.position != manifest.position:
                one.checkpoint = msgspec.structs.replace(manifest, pools=[], builds=[])
        due = [number for number in self._due(now) if number not in held]
        for number in due[: self._workers - len(self.busy)]:
            self._start(number, now, control)

    @property
    def busy(self) -> set[int]:
        """Partitions that a task writes now."""
        return self._tasks.busy

    def cancel(self) -> None:
        """End all tasks. What they did not commit is archived after the next start."""
        self._tasks.cancel()

    def health(self, now: float) -> ArchiveHealth:
        """Where the archive stands."""
        known = {number: one for number, one in sorted(self._partitions.items()) if one.position is not None}
        return ArchiveHealth(
            positions={number: one.position or 0 for number, one in known.items()},
            lag_records={number: one.lag for number, one in known.items()},
            lag_seconds={number: now - one.covered_at if one.behind else 0.0 for number, one in sorted(self._partitions.items())},
            rows=self._rows,
            failures=self._tasks.failures,
        )

    def _due(self, now: float) -> Iterator[int]:
        """Partitions that a task can be started for, those first that have waited longest."""
        waiting = sorted((one.covered_at, number) for number, one in self._partitions.items() if self._tasks.is_due(number, now))
        return (number for _, number in waiting if self._partitions[number].behind or not self._partitions[number].dropped)

    def _start(self, number: int, now: float, control: ControlState) -> None:
        one = self._partitions[number]
        if one.commits >= COMPACT_COMMITS:
            one.commits = 0  # also if it fails: appends come first, and the next compaction merges these files, too
            self._tasks.start(number, now, lambda _: None, _COMPACT, str(self._settings.archive), number)
            return
        if one.checkpoint is None:
            return
        given_up = {number: list(control.partitions.skipped.get(number, ()))}
        erasures = list(control.erasures.requests)
        lost = [(loss.position, loss.begin) for loss in control.partitions.losses.get(number, ())]
        take = partial(self._take, number, now, one.checkpoint.position)
        self._tasks.start(number, now, take, _APPEND, self._settings, one.checkpoint, given_up, erasures, lost)

    def _take(self, number: int, started: float, end: int, answer: Any) -> None:
        """Note what an append did that was to archive up to `end`."""
        one = self._partitions[number]
        one.position, one.commits, one.dropped = answer.position, one.commits + answer.commits, answer.dropped
        self._rows += answer.rows
        if answer.reached:
            one.position = max(answer.position, end)  # what is left below it is no record
            one.covered_at = started
        self._tasks.pause(number, started + self._settings.archive_seconds if answer.reached and answer.dropped else started)
