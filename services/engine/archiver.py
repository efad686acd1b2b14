"""Archive every partition up to its newest checkpoint, by tasks in worker processes. Without an archive, no task starts.

A partition has at most one task at a time. A task of a superseded engine cannot archive a row twice, because its commit conflicts. A
failed task is repeated later. Folding never waits for a task.
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
from services.control.records import ControlState, Why
from services.engine.partition_tasks import PartitionTasks
from services.log.protocol import Drops, Forgets, LogError, Ranges, Retention, Topic
from services.runtime.settings import Settings
from services.shard.recovery import check_log
from services.solve.worker.task_pool import TaskPool, TaskType

log = logging.getLogger("equirank.archive")

_RETENTION_SHARE: Final = 3
"""Minimum retention of a topic, as a multiple of the archive's usual delay: EQUIRANK_ARCHIVE_SECONDS + EQUIRANK_CHECKPOINT_SECONDS."""
COMPACT_COMMITS: Final = 64
"""Commits of a partition between two compactions of its table."""
TASK_SECONDS: Final = 600.0
"""Deadline after which a task is cancelled. A task appends at most about 500 MB of records, or compacts one table."""
_DROP_SECONDS: Final = 5.0
"""Maximum time that a task spends on dropping archived records. The next task continues."""
_TROUBLE: Final = "the archive cannot be written, trying again: %s"


def append_partition(
    settings: Settings,
    checkpoint: Manifest,
    skipped: Mapping[int, Ranges],
    erasures: Sequence[ErasureRequest] = (),
    lost: Ranges = (),
) -> Any:
    """Archive a partition up to a checkpoint, in a worker process.

    If `drop_archived` is set, the embedded log then drops archived records, unless the archive is a copy. It keeps the checkpoint's last
    record, because recovery compares this record to detect another log.

    Args:
        settings: The service's settings, with an archive.
        checkpoint: Manifest of the checkpoint.
        skipped: Partition -> ranges of records that an operator skipped.
        erasures: All erasures, in the order of the control log.
        lost: Ranges of the partition's offsets that an operator accepted as lost.

    Returns:
        A `services.archive.follow.Followed`.

    Raises:
        MissingExtraError: The extra `archive` is not installed.
        WrongLog: The checkpoint was folded from another log, or the log lost its end.
        Others: See `services.archive.follow.follow`.
    """
    extras.load("deltalake", "archive", "EQUIRANK_ARCHIVE")
    from services.archive.follow import follow  # noqa: PLC0415 - needs the extra `archive`, which engines without an archive lack

    log_ = open_log(settings, create=False)
    try:
        check_log(checkpoint, log_.outcomes)
        followed = follow(log_.outcomes, skipped, str(settings.archive_url), checkpoint.partition, checkpoint.position, erasures, lost)
        drops = settings.drop_archived and not settings.archive_is_copy
        if drops and isinstance(log_.outcomes, Drops) and checkpoint.last_offset is not None:
            before = min(followed.position, checkpoint.last_offset)
            followed = followed._replace(dropped=log_.outcomes.drop(checkpoint.partition, before, _DROP_SECONDS))
        return followed
    finally:
        log_.close()


def compact_partition(url: str, partition: int) -> Any:
    """Merge the small files of a partition's table. Returns the number of merged segments."""
    from services.archive.compaction import compact  # noqa: PLC0415 - as above

    return compact(url, partition)


_APPEND: Final = TaskType(append_partition, processors=0)
"""An append reserves no processor, so it starts while solves run. After a wait for solves, the topic could have dropped its records."""
_COMPACT: Final = TaskType(compact_partition, processors=0)


def retention_of(topic: Topic) -> Retention | None:
    """Retention of a topic; None if it keeps all records."""
    return topic.retention if isinstance(topic, Forgets) else None


def check_archive(settings: Settings, topic: Topic) -> None:
    """Refuse a retention that is too short for the archive's delay. Without an archive that is set, nothing is checked.

    Raises:
        MissingExtraError: The extra `archive` is not installed.
        LogError: The topic may drop records before they are archived.
    """
    if settings.archive_url is None or settings.archive_is_copy:
        return
    extras.load("deltalake", "archive", "EQUIRANK_ARCHIVE")
    retention = retention_of(topic)
    lag = settings.archive_seconds + settings.checkpoint_seconds
    least = _RETENTION_SHARE * lag
    if retention is not None and retention.seconds is not None and retention.seconds < least:
        msg = (
            f"topic {topic.name} forgets records after {retention}, and the archive is up to {lag:g} s behind: set its retention.ms to "
            f"{least * 1000:.0f} or more, or "
            "EQUIRANK_ARCHIVE_SECONDS and EQUIRANK_CHECKPOINT_SECONDS lower"
        )
        raise LogError(msg, retriable=False)


def forgets_unarchived(settings: Settings, topic: Topic) -> list[str]:
    """Warning that the topic drops records and no archive keeps them, with settings to change; empty if all records are kept."""
    retention = retention_of(topic)
    is_kept = settings.archive_url is not None and not settings.archive_is_copy
    if is_kept or retention is None or retention.unknown:
        return []
    what = f"topic {topic.name} forgets records after {retention}, and no archive keeps them"
    return [f"{what}; set EQUIRANK_ARCHIVE, or its retention.ms and retention.bytes to -1"]


@dataclass(frozen=True, slots=True)
class ArchiveHealth:
    """Progress of the archive, for metrics.

    Attributes:
        positions: Partition -> first offset that is not archived; only partitions with a completed task.
        lag_records: Partition -> number of offsets below its newest checkpoint that are not archived; the same partitions.
        lag_seconds: Partition -> seconds since the start of the last task that reached its checkpoint; 0 if the newest checkpoint is
            archived.
        rows: Number of rows appended since the engine's start.
        failures: Number of tasks that failed since the engine's start.
    """

    positions: Mapping[int, int] = field(default_factory=dict)
    lag_records: Mapping[int, int] = field(default_factory=dict)
    lag_seconds: Mapping[int, float] = field(default_factory=dict)
    rows: int = 0
    failures: int = 0


@dataclass(slots=True)
class _Partition:
    """The archive of one partition. Times are seconds of a monotonic timer.

    Attributes:
        covered_at: Start time of the last task that reached its checkpoint; before the first one, time of the first checkpoint.
        checkpoint: Manifest of the newest checkpoint, without its pools.
        position: First offset that is not archived; None before the first task ended.
        commits: Number of commits since the last compaction.
        dropped: Whether the log has dropped all archived records that it has to drop.
    """

    covered_at: float
    checkpoint: Manifest
    position: int | None = None
    commits: int = 0
    dropped: bool = True

    @property
    def lag(self) -> int:
        """Number of offsets below the newest checkpoint that are not archived."""
        return max(0, self.checkpoint.position - (self.position or 0))

    @property
    def behind(self) -> bool:
        """Whether the newest checkpoint is above the archive's position, or no task has ended yet."""
        return self.position is None or self.position < self.checkpoint.position


class Archiver:
    """Starts tasks that archive partitions and compact their tables. The engine's loop calls `step`; no method waits for a task.

    Arguments named `now` are seconds of a monotonic timer.

    Args:
        settings: The service's settings.
        pool: Pool of worker processes.
        workers: Maximum number of tasks at a time.

    Attributes:
        tasks: The running tasks. Records whose task is cancelled are archived after the engine's next start.
    """

    def __init__(self, settings: Settings, pool: TaskPool, workers: int) -> None:
        self._settings, self._workers = settings, workers
        self.tasks = PartitionTasks(pool, log, _TROUBLE, TASK_SECONDS)
        self._partitions: dict[int, _Partition] = {}
        self._rows = 0

    def step(self, now: float, manifests: Mapping[int, Manifest], control: ControlState, held: Collection[int] = ()) -> None:
        """Process ended tasks, and start due tasks.

        Args:
            now: Seconds of the timer.
            manifests: Partition -> its newest manifest.
            control: State of the control log, with skipped and lost records and erasures.
            held: Partitions whose tables an erasure writes now; no task starts for these.
        """
        if self._settings.archive_url is None:
            return
        self.tasks.take_in(now)
        for number, manifest in manifests.items():
            checkpoint = msgspec.structs.replace(manifest, pools=[], builds=[])
            self._partitions.setdefault(number, _Partition(now, checkpoint)).checkpoint = checkpoint
        due = [number for number in self._due(now) if number not in held]
        for number in due[: self._workers - len(self.tasks.busy)]:
            self._start(number, now, control)

    def health(self, now: float) -> ArchiveHealth:
        """Progress of the archive."""
        known = {number: partition for number, partition in sorted(self._partitions.items()) if partition.position is not None}
        return ArchiveHealth(
            positions={number: partition.position or 0 for number, partition in known.items()},
            lag_records={number: partition.lag for number, partition in known.items()},
            lag_seconds={
                number: now - partition.covered_at if partition.behind else 0.0 for number, partition in sorted(self._partitions.items())
            },
            rows=self._rows,
            failures=self.tasks.failures,
        )

    def _due(self, now: float) -> Iterator[int]:
        """Partitions that need a task and may start one now, those with the oldest `covered_at` first."""
        waiting = sorted((partition.covered_at, number) for number, partition in self._partitions.items() if self.tasks.is_due(number, now))
        return (number for _, number in waiting if self._partitions[number].behind or not self._partitions[number].dropped)

    def _start(self, number: int, now: float, control: ControlState) -> None:
        partition = self._partitions[number]
        if partition.commits >= COMPACT_COMMITS:
            partition.commits = 0  # also if the task fails, so that appends go first; the next compaction merges these files too
            self.tasks.start(number, now, lambda _: None, _COMPACT, str(self._settings.archive_url), number)
            return
        decisions = control.partitions.decisions.get(number, ())
        given_up = {number: [(made.begin, made.end) for made in decisions if made.why is not Why.LOST]}
        erasures = list(control.erasures.requests)
        lost = [(made.begin, made.end) for made in decisions if made.why is Why.LOST]
        take = partial(self._take, number, now, partition.checkpoint.position)
        self.tasks.start(number, now, take, _APPEND, self._settings, partition.checkpoint, given_up, erasures, lost)

    def _take(self, number: int, started: float, end: int, answer: Any) -> None:
        """Process the result of an append. started: time of its start; end: position of its checkpoint."""
        partition = self._partitions[number]
        partition.position, partition.commits, partition.dropped = answer.position, partition.commits + answer.commits, answer.dropped
        self._rows += answer.rows
        if answer.reached:
            partition.position = max(answer.position, end)  # offsets below `end` without a record
            partition.covered_at = started
        self.tasks.pause(number, started + self._settings.archive_seconds if answer.reached and answer.dropped else started)
