"""The work of a shard, independent of Ray: take over partitions, then read, fold, publish and write checkpoints until it is stopped.

Delivery: exactly once into the state (law 3), at least once for dead letters, absolute values into the store (law 4).
The partition is the unit of parallelism. One thread folds; other threads publish and write checkpoints from copies. There is no order
between partitions.
"""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from ratings_core.errors import InputError
from services.boards.folding import Heartbeat
from services.boards.store.live import LiveBoards
from services.boards.store.redis import RedisStore
from services.control.directory import LiveDirectory
from services.control.generations import default_fold
from services.control.log import ControlLog
from services.log.dead_letters import LettersRefused
from services.log.protocol import Log, LogError, Records
from services.log.records import NO_RECORDS
from services.runtime.settings import Settings
from services.shard.checkpointing.turns import CheckpointTurns
from services.shard.feed import LogFeed, retry
from services.shard.figures import ShardFigures
from services.shard.folding import Folding
from services.shard.health import WorkerHealth
from services.shard.maintenance import Maintenance
from services.shard.owned import OwnedPartitions
from services.shard.partition_runtime import PartitionRuntime
from services.shard.publishing.publisher import Publisher
from services.shard.publishing.writing import Provenance
from services.shard.ratings_topic.publisher import RatingsPublisher
from services.shard.ratings_topic.solved import SolvedCopies
from services.shard.ratings_topic.writer import TopicWriter
from services.shard.readers import LogReaders
from services.shard.report import ShardReport
from services.shard.restarts import Isolated
from services.shard.slices import BATCH_RECORDS
from services.shard.takeover import Takeovers
from services.shard.watch import LogWatch

_CHECKPOINT_OUTCOMES: Final = 1_000_000
"""Number of new outcomes in a partition after which a checkpoint is written without `checkpoint_seconds`."""
_POLL_SECONDS: Final = 0.05


class ShardWorker:
    """Owns `partitions` from the start of `run`, which returns after `stop` and raises `Fenced` if another shard took over one of them.

    clock: seconds since 1970, for readers and records. timer: monotonic time in seconds, for all schedules, so that setting the clock
    does not delay work. store: has the solved boards that are written to the ratings topic; needed if the log has this topic.
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
        store: RedisStore | None = None,
    ) -> None:
        topic, stopping = log_.outcomes, threading.Event()
        self._numbers, self._stopping = list(partitions), stopping
        figures = ShardFigures(polled_at=clock())
        self._control = control = ControlLog(log_.control)
        self._owned = owned = OwnedPartitions()
        self._takeovers = Takeovers(settings, owner, log_, control, figures, clock, timer)
        self._feed = LogFeed(LogReaders(log_, control, BATCH_RECORDS, stopping), owned, stopping, clock, figures)
        directory = LiveDirectory(
            control,
            default_fold(settings),
            settings.max_pools,
            clock,
            create=settings.creates_pools,
            check=lambda state: owned.check_epochs(state.partitions.epochs),
        )
        self._folding = Folding(directory, log_.dead_letters, stopping, figures)
        ratings = _ratings_publisher(settings, log_, store, figures, timer)
        written = None if ratings is None else ratings.note
        judge, limits = Provenance(topic, control, boards.pools), settings.provisional
        publisher = Publisher(boards, settings.publish_seconds, judge, clock, figures, written, limits)
        turns = CheckpointTurns(owned, partitions, settings.checkpoint_seconds, _CHECKPOINT_OUTCOMES)
        watch = LogWatch(log_, control, owned, self._takeovers, self._folding, timer, figures)
        self._maintenance = Maintenance(owned, self._folding, publisher, turns, watch, timer, ratings)
        self._report = ShardReport(owner, owned, figures, clock, timer)

    def stop(self) -> None:
        """Make `run` finish its batch, publish, write checkpoints and return. Any thread may call this."""
        self._stopping.set()

    def run(self) -> None:
        """Take over the partitions, recover them, and work until `stop`. Raises `Fenced`."""
        retry(self._take_over, self._stopping)
        try:
            while not self._stopping.is_set():
                self._round()
            self._maintenance.drain()
        finally:
            self._feed.close()
            self._maintenance.watch.close()
            if self._maintenance.ratings is not None:
                self._maintenance.ratings.close()
            for runtime in self._owned.all():
                runtime.builder.close()
            self._control.close()

    def health(self) -> WorkerHealth:
        """Return the shard's progress and counters. Any thread may call this."""
        return self._report.health()

    def heartbeats(self) -> list[Heartbeat]:
        """Return one heartbeat per partition, for readers. Any thread may call this."""
        return self._report.heartbeats()

    def _take_over(self) -> None:
        self._control.refresh()  # fail before the first takeover record if the control log cannot be read
        for number in self._numbers:
            if number not in self._owned.runtimes and not self._stopping.is_set():
                self._owned.runtimes[number] = self._takeovers.take_over(number)

    def _round(self) -> None:
        """Poll the log once, and fold the records; without records, do maintenance."""
        poll = self._feed.poll(0.0 if self._has_work() else _POLL_SECONDS)
        if poll is None:
            return
        skipped = self._control.known().partitions.skipped
        for number, position in poll.passed.items():
            runtime = self._owned.runtimes[number]
            self._fold(runtime, poll.records.get(number, NO_RECORDS), behind=poll.full)
            postponed = runtime.restarts.blames
            runtime.pass_to(position, skipped.get(number, ()))  # at once: a decision may resume it while others are folded
            if postponed:
                self._maintenance.step(0.0, behind=poll.full)
        if not poll.records:
            self._maintenance.step(_POLL_SECONDS, behind=False)

    def _fold(self, runtime: PartitionRuntime, records: Records, *, behind: bool) -> None:
        """Fold the records of a partition that a poll brought. Stops the partition before an isolated record, or if its dead letters are
        refused. Without effect on a partition that was stopped after the poll.

        Maintenance is done between the calls, unless the restart counter would blame their records for a death in it.
        """
        calls = runtime.restarts.calls(records)
        try:
            while runtime.stopped is None and (part := next(calls, None)) is not None:  # maintenance can stop it, also before its turn
                self._folding.fold(runtime, part)
                if runtime.restarts.blames:
                    self._maintenance.check_logs()
                else:
                    self._maintenance.step(0.0, behind=behind)
        except (Isolated, LettersRefused) as error:
            self._owned.stop(runtime.partition.number, error)
        except LogError:  # the shard ends, and no record is to blame
            runtime.restarts.withdraw()
            raise

    def _has_work(self) -> bool:
        """Whether a build or a half-frozen checkpoint has work to do, so that polls must not wait for records."""
        return any(runtime.builder.busy or runtime.checkpointer.freezes for runtime in self._owned.running().values())


def _ratings_publisher(
    settings: Settings,
    log_: Log,
    store: RedisStore | None,
    figures: ShardFigures,
    timer: Callable[[], float],
) -> RatingsPublisher | None:
    """Publisher of the ratings topic; None without this topic."""
    if log_.ratings is None:
        return None
    if store is None:
        raise InputError("store", None, "must be given, because the log has a ratings topic")
    control = ControlLog(log_.control)  # the state of a shared one would change while the folding thread reads it
    writer = TopicWriter(log_.ratings, log_.outcomes, control, SolvedCopies(store, timer))
    return RatingsPublisher(writer, settings.publish_seconds, figures, timer)
