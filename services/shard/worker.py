"""What a shard does, in whatever process runs it: recover, then read, fold, publish and checkpoint until it is stopped.

Delivery: exactly once into the state (law 3), at least once for dead letters, absolute values into the store (law 4).
Unit of parallelism: the partition. One thread folds; publication and checkpoints run beside it on copies. Not guaranteed: order
between partitions.
"""

import logging
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Final

from services.boards.folding import Heartbeat
from services.boards.store.protocol import StoreWriter
from services.checkpoints.anchors import spacing
from services.checkpoints.checkpoint import CheckpointStore, SkippedCheckpoint
from services.control.directory import LiveDirectory
from services.control.log import ControlLog
from services.control.records import ControlState, FoldSettings, Takeover
from services.log import dead_letters
from services.log.protocol import BatchDamaged, CommitsPositions, Log, LogError, OffsetLost, Reader, Record, TopicReplaced
from services.log.skipping import beyond, open_reader
from services.runtime.durations import Durations
from services.runtime.metrics import CHECKPOINT_BUCKETS
from services.runtime.settings import Settings
from services.shard.attempts import Attempts, Isolated
from services.shard.checkpointing.checkpointer import Checkpointer
from services.shard.generations.builder import Builder
from services.shard.generations.pace import Pace
from services.shard.health import WorkerHealth
from services.shard.partition import Partition
from services.shard.partition_runtime import PartitionRuntime
from services.shard.provenance import Provenance
from services.shard.publisher import Fenced, Publisher
from services.shard.recovery import WrongLog, recover, served
from services.shard.slices import size, slices
from services.state.pool import PoolState

log = logging.getLogger("equirank.shard")

_POLL_SECONDS: Final = 0.05
_PROBES: Final = 10
_PROBE_SECONDS: Final = 0.5
_LOOK_SECONDS: Final = 1.0
_FULL_BYTES: Final = 1 << 20
_BEGINS_SECONDS: Final = 10.0
_PAUSE_SECONDS: Final = 0.01
"""Of the fold, for checkpoints to freeze pools: one that takes longer goes alone."""
_RETRY_SECONDS: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


class ShardWorker:
    """Owns `partitions` from the start of `run`, which returns after `stop` and raises `Fenced` when another took them.

    clock: seconds since 1970, as readers and records are told; timer: seconds that never go back, by which everything is due: a clock
    that is put back or forward holds nothing up.
    """

    def __init__(
        self,
        settings: Settings,
        partitions: Sequence[int],
        owner: str,
        log_: Log,
        store: StoreWriter,
        clock: Callable[[], float] = time.time,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings, self._numbers, self._owner, self._log = settings, list(partitions), owner, log_
        self._clock, self._timer = clock, timer
        self._control = ControlLog(log_.control)
        self._checkpoints = CheckpointStore(settings.checkpoint_url)
        self._anchor_seconds = spacing(log_.outcomes, settings.anchor_seconds)
        standing = Provenance(log_.outcomes, self._control, store.pools)
        self._publisher = Publisher(store, settings.publish_seconds, standing, clock)
        self._pace = Pace(settings.retraction_share)
        self._owned: dict[int, PartitionRuntime] = {}
        self._turns = list(partitions)
        """In which order partitions look after checkpoints: for whose the fold paused longest ago first."""
        self._stopping = threading.Event()
        self._counters: dict[str, float] = defaultdict(float)
        self._reasons: Counter[str] = Counter()
        self._folds = Durations()
        self._progress_at, self._measured_at = clock(), timer()
        self._looked_at = self._begins_at = float("-inf")
        self._changed = self._behind = self._other = False

    def stop(self) -> None:
        """Ask `run` to finish its batch, publish, checkpoint and return. Any thread may call it."""
        self._stopping.set()

    def run(self) -> None:
        """Take the partitions over, recover them, and work until `stop`. Raises `Fenced`."""
        self._retry(self._take_over)
        reader: Reader | None = None
        try:
            while not self._stopping.is_set():
                reader = self._round(reader)
            self._drain()
        finally:
            if reader is not None:
                reader.close()
            for owned in self._owned.values():
                owned.builder.close()
            self._control.close()

    def health(self) -> WorkerHealth:
        """Progress so far. Any thread may call it."""
        counters = dict(self._counters)
        owned_now = list(self._owned.values())
        beside = [part.counters for owned in owned_now for part in (owned.checkpointer, owned.builder)]
        for part in (self._publisher.counters, *beside):
            for name, value in part.items():
                counters[name] = counters.get(name, 0) + value
        return WorkerHealth(
            owner=self._owner,
            progress_at=self._progress_at,
            counters=counters,
            dead_letters=dict(self._reasons),
            odd_times=dict(sum((owned.partition.odd_times for owned in owned_now), Counter())),
            folds=Durations.together([self._folds]),
            pauses={
                "checkpoint": Durations.together([owned.checkpointer.pauses for owned in owned_now]),
                "publication": Durations.together([self._publisher.pauses]),
            },
            checkpoints=Durations.together([owned.checkpointer.durations for owned in owned_now], CHECKPOINT_BUCKETS),
            published_at=self._publisher.written_at,
            partitions=[owned.health(self._clock(), self._timer()) for owned in owned_now],
        )

    def heartbeats(self) -> list[Heartbeat]:
        """What readers learn of each partition's folding. Any thread may call it."""
        at, now = self._clock(), self._timer()
        idle = max(0.0, now - self._measured_at)
        return [
            Heartbeat(
                partition=number,
                epoch=owned.epoch,
                shard=self._owner,
                position=owned.partition.position,
                lag=owned.lag,
                lag_seconds=owned.lag_seconds(at, now),
                idle_seconds=idle,
                stopped=owned.stopped is not None,
            )
            for number, owned in list(self._owned.items())
        ]

    def _take_over(self) -> None:
        control = self._control.refresh()  # a control log that cannot be read is told before anything is added to it
        for number in self._numbers:
            if number not in self._owned:
                bound, again = control.logs.get(number, self._log.outcomes.identity), number in control.epochs
                epoch = self._control.append(Takeover(partition=number, owner=self._owner, time=self._clock(), log=bound))
                self._owned[number] = self._recovered(number, epoch, again=again)
        settings = self._settings
        fold = FoldSettings(max_agents=settings.max_agents, max_tasks=settings.max_tasks)
        self._directory = LiveDirectory(
            self._control,
            fold,
            settings.max_pools,
            self._clock,
            create=settings.creates_pools,
            check=lambda state: self._check_epochs(state.epochs),
        )

    def _recovered(self, number: int, epoch: int, *, again: bool = True) -> PartitionRuntime:
        """The partition from its newest checkpoint. again: whether a shard had it before."""
        topic, skipped = self._log.outcomes, list[SkippedCheckpoint]()
        failed: WrongLog | LogError | None = None
        control = self._control.refresh()
        try:
            partition, manifest = recover(number, topic, control, self._checkpoints, skipped)
        except (WrongLog, LogError) as error:
            if isinstance(error, LogError) and error.retriable:
                raise
            partition, manifest, failed = Partition(number, topic.partitions), None, error
        partition.future_seconds = self._settings.future_seconds
        self._counters["checkpoints_skipped"] += len(skipped)
        log.info("taken over under epoch %d", epoch, extra={"partition": number, "position": partition.position})
        kept = self._settings.checkpoints_kept
        checkpointer = Checkpointer(self._checkpoints, topic.identity, epoch, kept, manifest, self._anchor_seconds, self._clock)
        quiet = self._settings.retraction_seconds
        builder = Builder(partition, topic, self._control, quiet, slices, self._clock, self._checkpoints, self._pace)
        attempts = Attempts(number, epoch, topic.end(number) if again and failed is None else 0, self._control, self._clock)
        attempts.look_back(partition.position)
        owned = PartitionRuntime(partition, epoch, checkpointer, builder, attempts, even_at=self._timer(), recovered=failed is None)
        if failed is not None:
            owned.stop(failed)
        if isinstance(failed, LogError) and not isinstance(failed, TopicReplaced):  # it is this log, so what readers see is of it
            partition.unread = {made.pool: PoolState(control.pools[made.pool], made) for made in served(number, topic, control)}
        return owned

    def _round(self, reader: Reader | None) -> Reader | None:
        """One look at the log, and what follows. The reader to go on with, None after a failure."""
        try:
            reader = self._still_right(reader) or self._open()
            batches = self._poll(reader)
            passed = {} if reader is None else {number: reader.position(number) for number in self._running()}
        except LogError as error:
            if reader is not None:
                reader.close()
            self._read_failed(error)
            return None
        self._progress_at = self._clock()
        self._behind = self._full(batches)
        for number, records in batches.items():
            self._fold_parts(self._owned[number], records)
        for number, position in passed.items():
            self._passed(self._owned[number], position, idle=number not in batches)
        if not batches:
            self._beside(idle=True)
        return reader

    def _fold_parts(self, owned: PartitionRuntime, records: Sequence[Record]) -> None:
        """Fold what a poll brought of a partition, up to a record that isolates it."""
        for part in owned.attempts.parts(records):
            self._fold(owned, part)
            self._beside()
        if owned.attempts.blocked and owned.attempts.isolated is not None:
            owned.stop(Isolated(owned.partition.number, owned.attempts.isolated))
            self._changed = True

    def _passed(self, owned: PartitionRuntime, position: int, *, idle: bool) -> None:
        """Everything below `position` was folded or is no record, unless the partition stopped on the way."""
        if owned.stopped is None:
            owned.passed = position
            owned.attempts.settle(position, idle=idle)

    def _full(self, batches: Mapping[int, Sequence[Record]]) -> bool:
        """Whether a poll brought as much as one may, so that more is likely to wait."""
        records = sum(map(len, batches.values()))
        return records >= self._settings.batch_records or size(record for part in batches.values() for record in part) >= _FULL_BYTES

    def _running(self) -> dict[int, PartitionRuntime]:
        return {number: owned for number, owned in self._owned.items() if owned.stopped is None}

    def _still_right(self, reader: Reader | None) -> Reader | None:
        """The reader, unless the partitions that go on are others by now."""
        if reader is not None and self._changed:
            reader.close()
            reader = None
        self._changed = False
        return reader

    def _read_failed(self, error: LogError) -> None:
        """Stop the partition whose offset is lost or whose records cannot be read, or all where the log is another; wait a little for one
        that does not answer. Raises what neither mends.
        """
        if isinstance(error, OffsetLost | BatchDamaged):
            self._owned[error.partition].stop(error)
            return
        if isinstance(error, TopicReplaced):
            self._stop_all(error)
            return
        if not error.retriable:
            self._stop_unreadable(error)
            return
        log.warning("the log cannot be read, trying again: %s", error)
        self._counters["log_failures"] += 1
        self._stopping.wait(_RETRY_SECONDS[3])

    def _stop_unreadable(self, error: LogError) -> None:
        """Stop those partitions of which alone nothing can be read either: a batch that is damaged says not where it is, and holds up all
        that are read with it. Waits where the log does not answer that; raises `error` where there is none.
        """
        found = {number: why for number, owned in self._running().items() if (why := self._unreadable(number, owned)) is not None}
        for number, why in found.items():
            if not why.retriable:
                self._owned[number].stop(why)
        away = [why for why in found.values() if why.retriable]
        if len(away) == len(found):
            if not away:
                raise error
            self._read_failed(away[0])  # nothing is known yet

    def _unreadable(self, number: int, owned: PartitionRuntime) -> LogError | None:
        """Why a partition cannot be read on, now or ever, if that is so."""
        topic = self._log.outcomes
        try:
            end = topic.end(number)
            with closing(open_reader(topic, {number: owned.partition.position}, self._control.known().skipped)) as reader:
                for _ in range(_PROBES):  # what is sound before the damage may be read first
                    if reader.position(number) >= end:
                        break
                    reader.poll(_PROBE_SECONDS, self._settings.batch_records)
        except LogError as error:
            return error
        return None

    def _open(self) -> Reader | None:
        """A reader of the partitions that go on; None when all of them are stopped."""
        positions = {number: owned.partition.position for number, owned in self._running().items()}
        return open_reader(self._log.outcomes, positions, self._control.known().skipped) if positions else None

    def _poll(self, reader: Reader | None) -> dict[int, list[Record]]:
        patience = 0.0 if self._works() else _POLL_SECONDS
        if reader is not None:
            return reader.poll(patience, self._settings.batch_records)
        self._stopping.wait(patience)
        return {}

    def _works(self) -> bool:
        """Whether there is something to go on with though nothing waits in the log."""
        return any(owned.builder.busy or owned.checkpointer.freezes for owned in self._running().values())

    def _fold(self, owned: PartitionRuntime, records: Sequence[Record]) -> None:
        began = time.perf_counter()
        partition = owned.partition
        self._retry(lambda: owned.letters.extend(partition.fold(records, self._directory)))
        owned.folded_at = records[-1].time
        self._counters["records"] += len(records)
        self._counters["bytes"] += size(records)
        self._counters["batches"] += 1
        self._folds.add(time.perf_counter() - began)
        self._write_letters(owned)

    def _write_letters(self, owned: PartitionRuntime) -> None:
        if owned.letters:
            self._reasons.update(letter.reason for letter in owned.letters)
            self._retry(lambda: dead_letters.write(self._log.dead_letters, owned.letters))
            owned.letters = []

    def _build(self, patience: float) -> None:
        """A slice of old records for generations under construction; those that caught up take over."""
        for owned in self._owned.values():
            if owned.partition.builds and owned.stopped is None:
                try:
                    owned.letters += owned.builder.step(patience)
                    owned.builder.switch(owned.checkpointer)
                except TopicReplaced as error:
                    self._stop_all(error)
                except LogError as error:
                    if not error.retriable:
                        raise
                    log.warning("new generations wait for the log: %s", error)
                    self._counters["log_failures"] += 1
                self._write_letters(owned)

    def _beside(self, *, idle: bool = False) -> None:
        """What goes on beside folding: new generations, publication, checkpoints, and a look around once a second."""
        now = self._timer()
        self._build(_POLL_SECONDS if idle else 0.0)
        partitions, epochs = self._partitions(), {number: owned.epoch for number, owned in self._owned.items()}
        self._publisher.step(now, partitions, epochs, behind=self._behind)
        self._checkpoint(now)
        if now - self._looked_at >= _LOOK_SECONDS:
            self._looked_at = now
            self._look_around()

    def _checkpoint(self, now: float) -> None:
        """Look after checkpoints. Once folding paused for some, the others wait for the next round; each has its turn."""
        seconds, outcomes = self._settings.checkpoint_seconds, self._settings.checkpoint_outcomes
        began = time.perf_counter()
        for number in list(self._turns):
            owned = self._owned[number]
            if owned.stopped is None and owned.checkpointer.step(now, seconds, owned.partition, outcomes):
                self._turns.remove(number)
                self._turns.append(number)
                if time.perf_counter() - began >= _PAUSE_SECONDS:
                    return

    def _look_around(self) -> None:
        """Measure the lag, begin generations that are due, and end when the control log says that another shard took a partition over."""
        try:
            self._measure()
            self._measured_at = self._timer()
            control = self._control.refresh()
            self._check_epochs(control.epochs)
            self._resume(control)
            for owned in self._owned.values():
                if owned.stopped is None:
                    owned.builder.look(self._timer(), control)
        except TopicReplaced as error:
            self._stop_all(error)
        except LogError as error:
            log.warning("the log does not answer: %s", error)

    def _measure(self) -> None:
        """Ask the log how far it reaches, and tell it how far it was folded. Of another log than the one that was folded, nothing."""
        if self._other:
            return
        for number, owned in self._owned.items():
            owned.end = self._log.outcomes.end(number)
            if owned.lag == 0:
                owned.even_at = self._timer()
        self._look_for_begins()
        if isinstance(self._log.outcomes, CommitsPositions):  # for lag tools; recovery never reads them
            self._log.outcomes.commit({number: max(owned.passed, owned.partition.position) for number, owned in self._running().items()})

    def _resume(self, control: ControlState) -> None:
        """Let stopped partitions go on whose reason an operator decided; one that stopped in recovery is recovered."""
        for number, owned in list(self._owned.items()):
            if owned.stopped is None or (position := self._resumed_at(owned, control)) is None:
                continue
            log.warning("an operator decided: going on at %d", position, extra={"partition": number})
            owned.attempts.resume(self._log.outcomes.end(number))
            if owned.recovered:
                owned.partition.position = position
                owned.go_on()
            else:
                self._owned[number] = self._recovered(number, owned.epoch)
                owned.builder.close()
            self._changed = True

    def _resumed_at(self, owned: PartitionRuntime, control: ControlState) -> int | None:
        """Where a stopped partition goes on; None where that is not decided. What is skipped, its reader passes over."""
        number, position = owned.partition.number, owned.partition.position
        if owned.lost is not None:
            begin = control.beyond_losses(number, owned.lost)
            return begin if begin > owned.lost else None
        if owned.damaged is not None:
            return position if beyond(control.skipped.get(number, ()), owned.damaged) > owned.damaged else None
        return position if owned.attempts.is_decided(control) else None

    def _look_for_begins(self) -> None:
        """Learn what a log of finite retention still holds, from time to time: anchors before that are of no more use."""
        now = self._timer()
        if self._anchor_seconds is None or now - self._begins_at < _BEGINS_SECONDS:
            return
        self._begins_at = now
        for number, owned in self._owned.items():
            owned.checkpointer.log_begin = self._log.outcomes.begin(number)

    def _check_epochs(self, standing: Mapping[int, int]) -> None:
        for number, owned in self._owned.items():
            if standing.get(number, owned.epoch) > owned.epoch:
                raise Fenced(f"partition {number} was taken over under epoch {standing[number]}; this shard had {owned.epoch}")

    def _drain(self) -> None:
        now = self._timer()
        self._publisher.drain(now, self._partitions(), {number: owned.epoch for number, owned in self._owned.items()})
        for owned in self._owned.values():
            if owned.stopped is None:
                owned.checkpointer.drain(now, owned.partition)

    def _partitions(self) -> dict[int, Partition]:
        return {number: owned.partition for number, owned in self._owned.items()}

    def _stop_all(self, error: TopicReplaced) -> None:
        """Stop every partition: the log is another one, of which nothing may be read, and no restart of the shard would mend it."""
        for owned in self._running().values():
            owned.stop(error)
        self._other = self._changed = True

    def _retry(self, work: Callable[[], None]) -> None:
        """Do `work`, again and again while the log says that this can help and nobody asks to stop."""
        tries = 0
        while True:
            try:
                return work()
            except LogError as error:
                if not error.retriable or self._stopping.is_set():
                    raise
                log.warning("trying again: %s", error)
                self._stopping.wait(_RETRY_SECONDS[min(tries, len(_RETRY_SECONDS) - 1)])
                tries += 1
