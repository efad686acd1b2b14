"""A partition that a shard owns: its state, and what goes with it."""

import logging
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from services.archive.history import ArchiveFails
from services.control.lifecycles import PARTITION_LIFECYCLE, PartitionEvent, PartitionStatus
from services.log.dead_letters import DeadLetter
from services.log.protocol import BatchDamaged, LogError, OffsetLost, TopicReplaced
from services.shard.attempts import Attempts, Isolated
from services.shard.checkpointing.checkpointer import Checkpointer
from services.shard.generations.builder import Builder
from services.shard.health import PartitionHealth
from services.shard.partition import Partition

log = logging.getLogger("equirank.shard")

_MEMORY_SECONDS: Final = 10.0
_SKEW_SECONDS: Final = 60.0
"""A record that the log took further ahead of our clock than this says nothing of the lag: one of the two clocks was put back."""


@dataclass(slots=True)
class PartitionRuntime:
    """A partition and what goes with it.

    Attributes:
        attempts: Notes of what is folded.
        even_at: When no record waited last, or its start, by the timer.
        passed: Offset below which everything was folded or is no record.
        end: End of the log, when it was asked last.
        folded_at: When the log took the last record, seconds since 1970.
        status: Whether it runs, and for what it stopped.
        stopped: Why it stopped, for people; None while it runs.
        stopped_at: Offset that the log lost, or of the damaged batch, for which it stopped.
        recovered: Whether it has been what its checkpoint holds.
        letters: Dead letters not yet written.
    """

    partition: Partition
    epoch: int
    checkpointer: Checkpointer
    builder: Builder
    attempts: Attempts
    even_at: float
    passed: int = 0
    end: int = 0
    folded_at: float | None = None
    stopped: str | None = None
    status: PartitionStatus = PARTITION_LIFECYCLE.start
    stopped_at: int | None = None
    recovered: bool = True
    letters: list[DeadLetter] = field(default_factory=list)
    _memory_read: dict[str, int] = field(default_factory=dict)
    _memory_at: float = float("-inf")

    @property
    def lag(self) -> int:
        """Offsets of the log that nobody looked at yet."""
        return max(0, self.end - max(self.passed, self.partition.position))

    def pass_to(self, position: int, *, idle: bool) -> None:
        """Everything below `position` was folded or is no record, unless the partition stopped on the way."""
        if self.stopped is None:
            self.passed = position
            self.attempts.settle(position, idle=idle)

    def stop(self, error: Exception) -> None:
        """Stop the partition for an error of its log; readers see why. Raises `UndefinedTransition` if it stopped before."""
        partition, why, event = self.partition, str(error), _event(error)
        self.status = PARTITION_LIFECYCLE.after(self.status, event)
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
        """An operator decided on what it stopped for, or it is tried again."""
        self.status = PARTITION_LIFECYCLE.after(self.status, event)
        self.stopped = self.partition.readers.stopped = self.stopped_at = None

    def health(self, at: float, now: float) -> PartitionHealth:
        """Where the partition stands. at: by the clock; now: by the timer."""
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
            isolated=self.attempts.isolated,
            pools=len(pools),
            pools_stopped=sum(state.stopped is not None for state in pools),
            pools_frozen=len(partition.frozen),
            agents=sum(len(state.content.agents) for state in pools),
            counts=partition.counters.outcomes.copy(),
            pending=sum(state.retractions.waiting for state in pools),
            building=len(builds),
            progress=min((build.progress(partition.position) for build in builds), default=None),
            memory=self.memory(now),
        )

    def memory(self, now: float) -> dict[str, int]:
        """Bytes of pools and builds by part; counted now and then, as there may be thousands."""
        if now >= self._memory_at + _MEMORY_SECONDS:
            partition, total = self.partition, Counter[str]()
            building = [build.state for build in list(partition.builds.values()) if build.state is not None]
            for state in (*list(partition.pools.values()), *building):
                total.update(state.memory())
            self._memory_read, self._memory_at = dict(total), now
        return self._memory_read

    def lag_seconds(self, at: float, now: float) -> float:
        """How long the first record that nobody looked at waits, at most. at: by the clock, beside the log's; now: by the timer."""
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
        case LogError() if error.retriable:
            return PartitionEvent.GET_NO_ANSWER
    return PartitionEvent.FAIL
