"""What a shard does, in any process: take partitions over, then read, fold, publish and checkpoint until it is stopped.

Delivery: exactly once into the state (law 3), at least once for dead letters, absolute values into the store (law 4).
Unit of parallelism: the partition. One thread folds; publication and checkpoints run beside it on copies. Not guaranteed: order
between partitions.
"""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from services.boards.folding import Heartbeat
from services.boards.store.live import LiveBoards
from services.control.directory import LiveDirectory
from services.control.log import ControlLog
from services.control.records import FoldSettings
from services.log.protocol import Log, Record
from services.runtime.settings import Settings
from services.shard.attempts import Isolated
from services.shard.checkpointing.turns import CheckpointTurns
from services.shard.feed import LogFeed, retry
from services.shard.figures import ShardFigures
from services.shard.folding import Folding
from services.shard.generations.steps import GenerationSteps
from services.shard.health import WorkerHealth
from services.shard.maintenance import Maintenance
from services.shard.owned import OwnedPartitions
from services.shard.partition_runtime import PartitionRuntime
from services.shard.publishing.publisher import Publisher
from services.shard.publishing.writing import Provenance
from services.shard.readers import LogReaders
from services.shard.report import ShardReport
from services.shard.takeover import Takeovers
from services.shard.watch import LogWatch

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
        figures = ShardFigures(polled_at=clock(), measured_at=timer())
        self._control = control = ControlLog(log_.control)
        self._owned = owned = OwnedPartitions()
        self._takeovers = Takeovers(settings, owner, log_, control, figures, clock, timer)
        self._feed = LogFeed(LogReaders(log_, control, settings.batch_records, stopping), owned, stopping, clock, figures)
        directory = _directory(settings, control, owned, clock)
        self._folding = Folding(directory, log_.dead_letters, stopping, figures)
        generations = GenerationSteps(owned, self._folding, figures)
        publisher = Publisher(boards, settings.publish_seconds, Provenance(topic, control, boards.pools), clock, figures)
        turns = CheckpointTurns(owned, partitions, settings.checkpoint_seconds, settings.checkpoint_outcomes)
        watch = LogWatch(log_, control, owned, self._takeovers, timer, figures)
        self._maintenance = Maintenance(owned, generations, publisher, turns, watch, timer)
        self._report = ShardReport(owner, owned, figures, clock, timer)

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
            self._maintenance.watch.close()
            for runtime in self._owned.all():
                runtime.builder.close()
            self._control.close()

    def health(self) -> WorkerHealth:
        """Progress so far. Any thread may call it."""
        return self._report.health()

    def heartbeats(self) -> list[Heartbeat]:
        """What readers learn of each partition's folding. Any thread may call it."""
        return self._report.heartbeats()

    def _take_over(self) -> None:
        self._control.refresh()  # a control log that cannot be read is reported before anything is added to it
        for number in self._numbers:
            if number not in self._owned.runtimes and not self._stopping.is_set():
                self._owned.runtimes[number] = self._takeovers.take_over(number)

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


def _directory(settings: Settings, control: ControlLog, owned: OwnedPartitions, clock: Callable[[], float]) -> LiveDirectory:
    """Where the partitions learn what their pools are."""
    return LiveDirectory(
        control,
        FoldSettings(max_agents=settings.max_agents, max_tasks=settings.max_tasks),
        settings.max_pools,
        clock,
        create=settings.creates_pools,
        check=lambda state: owned.check_epochs(state.partitions.epochs),
    )
