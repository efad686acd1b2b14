"""What a shard does, in any process: take partitions over, then read, fold, publish and checkpoint until it is stopped.

Delivery: exactly once into the state (law 3), at least once for dead letters, absolute values into the store (law 4).
Unit of parallelism: the partition. One thread folds; publication and checkpoints run beside it on copies. Not guaranteed: order
between partitions.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from services.boards.folding import Heartbeat
from services.boards.store.live import LiveBoards
from services.control.log import ControlLog
from services.log.protocol import Log, LogError, Record, TopicReplaced
from services.runtime.durations import Durations
from services.runtime.metrics import CHECKPOINT_BUCKETS
from services.runtime.settings import Settings
from services.shard.attempts import Isolated
from services.shard.feed import LogFeed, retry
from services.shard.folding import Folding
from services.shard.health import WorkerHealth
from services.shard.owned import OwnedPartitions
from services.shard.partition_runtime import PartitionRuntime
from services.shard.publishing.publisher import Publisher
from services.shard.publishing.writing import Provenance
from services.shard.readers import LogReaders
from services.shard.takeover import Takeovers
from services.shard.watch import LogWatch

log = logging.getLogger("equirank.shard")

_FREEZE_SECONDS: Final = 0.01
"""Once freezing took that long in a round, the other partitions wait for the next round."""


class CheckpointTurns:
    """Whose checkpoint is next: partitions take turns, so that freezing pools delays the fold by one partition's slice at a time.

    seconds: least time between two checkpoints of a partition. outcomes: outcomes read after which the next one is due anyway.
    """

    def __init__(self, owned: OwnedPartitions, partitions: Sequence[int], seconds: float, outcomes: int | None) -> None:
        self._owned, self._seconds, self._outcomes = owned, seconds, outcomes
        self._turns = list(partitions)
        """Partitions, the one that paused the fold longest ago first."""

    def step(self, now: float) -> None:
        """Look after the checkpoints of the running partitions. now: by the timer."""
        began = time.perf_counter()
        for number in list(self._turns):
            runtime = self._owned.runtimes[number]
            if runtime.stopped is None and runtime.checkpointer.step(now, self._seconds, runtime.partition, self._outcomes):
                self._turns.remove(number)
                self._turns.append(number)
                if time.perf_counter() - began >= _FREEZE_SECONDS:
                    return


class GenerationSteps:
    """Builds new generations of all partitions, a slice between two batches of the fold. log_failures: slices that the log did not give."""

    def __init__(self, owned: OwnedPartitions, folding: Folding) -> None:
        self._owned, self._folding = owned, folding
        self.log_failures = 0

    def step(self, patience: float) -> None:
        """Fold a slice of old records for each partition that builds; builds that caught up start to serve readers.

        Waits at most `patience` seconds for each partition's slice. Raises `LogError` that cannot be retried.
        """
        for runtime in self._owned.running().values():
            if runtime.partition.builds:
                self._step(runtime, patience)

    def _step(self, runtime: PartitionRuntime, patience: float) -> None:
        try:
            runtime.letters += runtime.builder.step(patience)
            runtime.builder.switch(runtime.checkpointer)
        except TopicReplaced as error:
            self._owned.stop_all(error)
        except LogError as error:
            if not error.retriable:
                raise
            log.warning("new generations wait for the log: %s", error)
            self.log_failures += 1
        self._folding.write_letters(runtime)


class ShardReport:
    """What a shard reports: its health to the engine, heartbeats to readers. Any thread may call it.

    clock: seconds since 1970; timer: seconds that never go back.
    """

    def __init__(
        self,
        owner: str,
        owned: OwnedPartitions,
        publisher: Publisher,
        folding: Folding,
        clock: Callable[[], float],
        timer: Callable[[], float],
    ) -> None:
        self._owner, self._owned, self._publisher, self._folding = owner, owned, publisher, folding
        self._clock, self._timer = clock, timer

    def health(self, progress_at: float, counters: Mapping[str, float]) -> WorkerHealth:
        """Progress so far. progress_at: when the shard polled last, by the clock; counters: of the shard's other parts."""
        runtimes, publisher, folding = self._owned.all(), self._publisher, self._folding
        parts = [part.counters for runtime in runtimes for part in (runtime.checkpointer, runtime.builder)]
        return WorkerHealth(
            owner=self._owner,
            progress_at=progress_at,
            counters=_sum([counters, folding.counters, publisher.counters, *parts]),
            dead_letters=dict(folding.reasons),
            odd_times=dict(sum((runtime.partition.counters.odd for runtime in runtimes), Counter())),
            folds=Durations.together([folding.durations]),
            pauses={
                "checkpoint": Durations.together([runtime.checkpointer.pauses for runtime in runtimes]),
                "publication": Durations.together([publisher.pauses]),
            },
            checkpoints=Durations.together([runtime.checkpointer.writer.durations for runtime in runtimes], CHECKPOINT_BUCKETS),
            published_at=publisher.written_at,
            partitions=[runtime.health(self._clock(), self._timer()) for runtime in runtimes],
        )

    def heartbeats(self, measured_at: float) -> list[Heartbeat]:
        """One heartbeat per partition, for readers. measured_at: when the log answered last, by the timer."""
        at, now = self._clock(), self._timer()
        return [
            Heartbeat(
                partition=runtime.partition.number,
                epoch=runtime.epoch,
                shard=self._owner,
                position=runtime.partition.position,
                lag=runtime.lag,
                lag_seconds=runtime.lag_seconds(at, now),
                idle_seconds=max(0.0, now - measured_at),
                stopped=runtime.stopped is not None,
            )
            for runtime in self._owned.all()
        ]


def _sum(parts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for counters in parts:
        for name, value in counters.items():
            total[name] = total.get(name, 0) + value
    return total


class Maintenance:
    """What goes on between two batches of the fold: new generations, publication, checkpoints, and a look at the logs once a second.

    Driven by the folding thread. timer: seconds that never go back.
    """

    def __init__(
        self,
        owned: OwnedPartitions,
        generations: GenerationSteps,
        publisher: Publisher,
        checkpoints: CheckpointTurns,
        watch: LogWatch,
        timer: Callable[[], float],
    ) -> None:
        self._owned, self._timer = owned, timer
        self.generations, self.publisher, self.checkpoints, self.watch = generations, publisher, checkpoints, watch

    def step(self, patience: float, *, behind: bool) -> None:
        """A short piece of each. patience: seconds to wait for old records; behind: whether more records are likely to wait.

        Raises `Fenced` and `LogError`.
        """
        now = self._timer()
        self.generations.step(patience)
        self.publisher.step(now, self._owned.states(), self._owned.epochs(), behind=behind)
        self.checkpoints.step(now)
        self.watch.step(now)

    def drain(self) -> None:
        """Publish and checkpoint all that was folded. Raises `Fenced`."""
        now = self._timer()
        self.publisher.drain(now, self._owned.states(), self._owned.epochs())
        for runtime in self._owned.running().values():
            runtime.checkpointer.drain(now, runtime.partition)


_POLL_SECONDS: Final = 0.05


class ShardWorker:
    """Owns `partitions` from the start of `run`, which returns after `stop` and raises `Fenced` when another shard took one of them.

    clock: seconds since 1970, for readers and records. timer: seconds that never go back, by which everything is due: a clock that is
    set back or forward delays nothing.
    """

    def __init__(
        self,
        settings: Settings,
        partitions: Sequence[int],
        owner: str,
        log_: Log,
        boards: LiveBoards,
        clock: Callable[[], float] = time.time,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        topic, stopping = log_.outcomes, threading.Event()
        self._numbers, self._stopping = list(partitions), stopping
        self._control = control = ControlLog(log_.control)
        self._owned = owned = OwnedPartitions()
        self._takeovers = Takeovers(settings, owner, log_, control, clock, timer)
        self._feed = LogFeed(LogReaders(log_, control, settings.batch_records, stopping), owned, stopping, clock)
        self._folding = Folding(log_.dead_letters, stopping)
        publisher = Publisher(boards, settings.publish_seconds, Provenance(topic, control, boards.pools), clock)
        turns = CheckpointTurns(owned, partitions, settings.checkpoint_seconds, settings.checkpoint_outcomes)
        watch = LogWatch(log_, control, owned, self._takeovers, timer)
        self._maintenance = Maintenance(owned, GenerationSteps(owned, self._folding), publisher, turns, watch, timer)
        self._report = ShardReport(owner, owned, publisher, self._folding, clock, timer)

    def stop(self) -> None:
        """Ask `run` to finish its batch, publish, checkpoint and return. Any thread may call it."""
        self._stopping.set()

    def run(self) -> None:
        """Take the partitions over, recover them, and work until `stop`. Raises `Fenced`."""
        retry(self._take_over, self._stopping)
        try:
            while not self._stopping.is_set():
                self._round()
            self._maintenance.drain()
        finally:
            self._feed.close()
            for runtime in self._owned.all():
                runtime.builder.close()
            self._control.close()

    def health(self) -> WorkerHealth:
        """Progress so far. Any thread may call it."""
        log_failures = self._feed.failures + self._maintenance.generations.log_failures
        return self._report.health(
            self._feed.polled_at, {"log_failures": log_failures, "checkpoints_skipped": self._takeovers.checkpoints_skipped}
        )

    def heartbeats(self) -> list[Heartbeat]:
        """What readers learn of each partition's folding. Any thread may call it."""
        return self._report.heartbeats(self._maintenance.watch.measured_at)

    def _take_over(self) -> None:
        self._control.refresh()  # a control log that cannot be read is reported before anything is added to it
        for number in self._numbers:
            if number not in self._owned.runtimes:
                self._owned.runtimes[number] = self._takeovers.take_over(number)
        self._folding.directory = self._takeovers.directory(lambda state: self._owned.check_epochs(state.partitions.epochs))

    def _round(self) -> None:
        """One look at the log, and what follows."""
        poll = self._feed.poll(0.0 if self._works() else _POLL_SECONDS)
        if poll is None:
            return
        for number, records in poll.records.items():
            self._fold(self._owned.runtimes[number], records, behind=poll.full)
        for number, position in poll.passed.items():
            self._owned.runtimes[number].pass_to(position, idle=number not in poll.records)
        if not poll.records:
            self._maintenance.step(_POLL_SECONDS, behind=False)

    def _fold(self, runtime: PartitionRuntime, records: Sequence[Record], *, behind: bool) -> None:
        """Fold what a poll brought of a partition, up to a record that isolates it."""
        for part in runtime.attempts.parts(records):
            self._folding.fold(runtime, part)
            self._maintenance.step(0.0, behind=behind)
        if runtime.attempts.blocked and runtime.attempts.isolated is not None:
            number = runtime.partition.number
            self._owned.stop(number, Isolated(number, runtime.attempts.isolated))

    def _works(self) -> bool:
        """Whether there is work although no record waits in the log."""
        return any(runtime.builder.busy or runtime.checkpointer.freezes for runtime in self._owned.running().values())
