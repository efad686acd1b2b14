"""A partition that a shard owns: its state, its checkpointer and builder, and its progress in the log."""

import logging
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from services.archive.history import ArchiveFails
from services.control.lifecycles import PARTITION_LIFECYCLE, PartitionEvent, PartitionStatus
from services.log.dead_letters import DeadLetter, LettersRefused
from services.log.protocol import BatchDamaged, LogError, OffsetLost, Ranges, TopicReplaced
from services.shard.checkpointing.checkpointer import Checkpointer
from services.shard.generations.builder import Builder
from services.shard.health import PartitionHealth
from services.shard.partition import Partition
from services.shard.restarts import Isolated, RestartCounter

log = logging.getLogger("equirank.shard")

_MEMORY_SECONDS: Final = 10.0
_SKEW_SECONDS: Final = 60.0
"""If the log time of the last record is further ahead of the shard's clock than this, one of the clocks was set back. The lag in seconds
is then computed without that log time."""


@dataclass(slots=True)
class PartitionRuntime:
    """A partition and the objects that a shard keeps for it.

    Attributes:
        partition: State of the partition.
        epoch: Epoch under which the shard owns it.
        checkpointer: Writes its checkpoints.
        builder: Builds its generations.
        restarts: Its restart counter.
        even_at: Last time at which no record was known to wait, by the timer; first the time of the takeover.
        passed: Offset below which every record was folded. Some offsets have no record.
        end: End of the log, as last read.
        measured_at: Time at which the log was asked for `end`, by the timer; first the time of the takeover.
        folded_at: Log time of the last folded record, seconds since 1970; None before the first.
        status: Whether the partition runs, and the kind of reason for which it stopped.
        stopped: Why the partition stopped, for people; None while it runs.
        stopped_at: First lost offset or offset of the damaged batch, if the partition stopped for one of these.
        recovered: Whether recovery succeeded. If not, `partition` is empty and its position is unknown.
        letters: Dead letters not yet written.
    """

    partition: Partition
    epoch: int
    checkpointer: Checkpointer
    builder: Builder
    restarts: RestartCounter
    even_at: float
    passed: int = 0
    end: int = 0
    measured_at: float = 0.0
    folded_at: float | None = None
    stopped: str | None = None
    status: PartitionStatus = PARTITION_LIFECYCLE.start
    stopped_at: int | None = None
    recovered: bool = True
    letters: list[DeadLetter] = field(default_factory=list)
    _memory_read: dict[str, int] = field(default_factory=dict)
    _memory_at: float = float("-inf")

    @property
    def reached(self) -> int:
        """First offset that was not read yet. It is above the partition's position if the offsets between have no record."""
        return max(self.passed, self.partition.position)

    @property
    def lag(self) -> int:
        """Number of offsets that were not read yet."""
        return max(0, self.end - self.reached)

    def pass_to(self, position: int, skipped: Ranges = ()) -> None:
        """Note that all records below `position` were folded, unless the partition stopped.

        The partition continues behind records that an operator skipped, as after a restart: readers may have seen that position.

        skipped: ranges of offsets that operators skipped.
        """
        if self.stopped is None:
            self.passed = position
            if (end := max((end for _, end in skipped if end <= position), default=0)) > self.partition.position:
                self.partition.pass_over(end)
            self.restarts.settle(position)

    def stop(self, error: Exception) -> None:
        """Stop the partition because of `error`. The reason is published. Raises `UndefinedTransition` if it has already stopped.

        The restart counter is set back: a partition that folds nothing causes no death.
        """
        partition, why, event = self.partition, str(error), _event(error)
        self.status = PARTITION_LIFECYCLE.after(self.status, event)
        self.restarts.withdraw()
        if isinstance(error, OffsetLost) and event is PartitionEvent.LOSE_RECORDS:
            self.stopped_at = partition.position if self.recovered else error.offset
            why = f"{why}, or go on without what is lost by `equirank partitions accept-loss {partition.number}`"
        if isinstance(error, BatchDamaged):
            self.stopped_at = error.begin
        if event is PartitionEvent.GET_NO_ANSWER:
            why = f"{why}; it is tried again until it answers"
        log.error("partition stopped: %s", why, extra={"partition": partition.number, "position": partition.position})
        self.stopped = why
        partition.readers.stopped = f"partition {partition.number} stopped: {why}"

    def go_on(self, event: PartitionEvent = PartitionEvent.DECIDE) -> None:
        """Run the partition again, after an operator's decision or for another try."""
        self.status = PARTITION_LIFECYCLE.after(self.status, event)
        self.stopped = self.partition.readers.stopped = self.stopped_at = None

    def health(self, at: float, now: float) -> PartitionHealth:
        """Return the partition's progress. at: seconds since 1970; now: monotonic time in seconds."""
        partition, checkpoint = self.partition, self.checkpointer.newest
        pools, builds = list(partition.pools.values()), [build for build in list(partition.builds.values()) if build.failed is None]
        return PartitionHealth(
            partition=partition.number,
            epoch=self.epoch,
            position=partition.position,
            lag=self.lag,
            lag_seconds=self.lag_seconds(at, now),
            folded_at=self.folded_at,
            checkpoint=None if checkpoint is None else checkpoint.position,
            checkpoint_at=None if checkpoint is None else checkpoint.written_at,
            status=self.status,
            stopped=self.stopped,
            isolated_offset=self.restarts.isolated_offset,
            pools=len(pools),
            pools_stopped=sum(state.stopped is not None for state in pools),
            pools_frozen=len(partition.unbuilt),
            agents=sum(len(state.content.agents) for state in pools),
            counts=partition.counters.outcomes.copy(),
            pending=sum(state.retractions.waiting for state in pools),
            building=len(builds),
            progress=min((build.progress(partition.position) for build in builds), default=None),
            memory=self.memory(now),
        )

    def memory(self, now: float) -> dict[str, int]:
        """Return the bytes of all pools and builds, by part. Counted at most every 10 s, because there may be thousands of pools."""
        if now >= self._memory_at + _MEMORY_SECONDS:
            partition, total = self.partition, Counter[str]()
            building = [build.state for build in list(partition.builds.values()) if build.state is not None]
            for state in (*list(partition.pools.values()), *building):
                total.update(state.memory())
            self._memory_read, self._memory_at = dict(total), now
        return self._memory_read

    def lag_seconds(self, at: float, now: float) -> float:
        """Return an upper bound of the seconds that the first unread record has waited; 0 without one.

        at: seconds since 1970, compared with log times; now: monotonic time in seconds.
        """
        if not self.lag:
            return 0.0
        since = now - self.even_at
        if self.folded_at is None or self.folded_at > at + _SKEW_SECONDS:
            return since
        return max(0.0, min(since, at - self.folded_at))


def _event(error: Exception) -> PartitionEvent:
    match error:
        case OffsetLost() if error.forgotten:
            return PartitionEvent.LOSE_RECORDS
        case BatchDamaged():
            return PartitionEvent.MEET_DAMAGE
        case Isolated():
            return PartitionEvent.ISOLATE
        case TopicReplaced():
            return PartitionEvent.REPLACE_LOG
        case ArchiveFails():
            return PartitionEvent.MISS_ARCHIVE
        case LettersRefused() if not error.permanent:
            return PartitionEvent.KEEP_LETTERS
        case LogError() if error.retriable:
            return PartitionEvent.GET_NO_ANSWER
    return PartitionEvent.FAIL
