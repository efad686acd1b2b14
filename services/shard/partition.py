"""The state of a partition: its pools, folded in log order. The code is pure: it uses no log, store or clock.

The same records from the same position give the same pools, however they are split into calls (law 1).
"""

import hashlib
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Protocol

from services.control.records import FOLD_VERSION, Generation, PoolCreated
from services.log.dead_letters import DeadLetter
from services.log.partition import partition_of
from services.log.protocol import Record, Records
from services.log.records import count_below
from services.shard.batch import Batch
from services.shard.generations.build import Build
from services.shard.share import Share
from services.state.content import COUNTERS, PoolContent
from services.state.history import TracedOutcomes
from services.state.pool import PoolState
from services.wire.pools import Kind
from services.wire.refusals import Reason

log = logging.getLogger("equirank.shard")


class Directory(Protocol):
    """Gives a partition the pools and generations that the control log defines."""

    def generation(self, pool: str, kind: Kind | None, offset: int) -> tuple[PoolCreated, Generation] | None:
        """Return the pool and the generation to fold it by; None if the pool is unknown at `offset`.

        kind: kind of the outcome at `offset`, None for a retraction. Directories that create pools on first use need it.
        """


@dataclass(slots=True)
class ReaderView:
    """Restrictions on what is published of a partition.

    Attributes:
        hidden: Pools whose present state is not published, because readers already saw a later generation. That one is built again.
        stopped: Why the partition stopped; None while its records are folded.
        unread: Empty states of the pools that no checkpoint contains. If the partition stops before it folds them, only their heads are
            published. `Partition.begin_unread` adds them to the pools.
    """

    hidden: set[str] = field(default_factory=set)
    stopped: str | None = None
    unread: dict[str, PoolState] = field(default_factory=dict)


@dataclass(slots=True)
class FoldCounters:
    """Counts outcomes folded into the serving pools. Counts never decrease, even when a pool switches to another generation.

    Attributes:
        outcomes: Outcomes by `COUNTERS`, since this object was created. Outcomes that builds read again are not counted.
        odd: Number of outcomes that are "late" (before their pool's time) or "future" (ahead of the log's clock), since this object was
            created.
        future_seconds: An outcome counts as future if its time is more than this many seconds ahead of the log's clock. Retractions do
            not count.
    """

    outcomes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTERS, 0))
    odd: Counter[str] = field(default_factory=Counter)
    future_seconds: float = float("inf")

    def add(self, content: PoolContent, before: Mapping[str, int], late_before: int, share: Share, batch: Batch) -> None:
        """Count a pool's outcomes after the fold. before, late_before: `content.counts` and `content.clock.late` before it."""
        for name, count in content.counts.items():
            self.outcomes[name] += count - before[name]
        clock = content.clock
        self.odd["late"] += clock.late - late_before
        if share.kind is not None and clock.time is not None and clock.time > batch.records[:1].time[0] + self.future_seconds:
            self.odd["future"] += share.ahead(self.future_seconds)


class Partition:
    """State of partition `number` of `partitions`. position: the first offset not yet folded.

    builds: generations under construction, by pool and number. on_segment: called with pool, generation and outcomes of each segment of
    history that is complete; None drops them. edition: counter of the changes that leave `position` as it is, such as
    progress of a build. outcomes: number of outcomes read so far.
    """

    def __init__(self, number: int, partitions: int, position: int = 0) -> None:
        self.number, self.partitions, self.position = number, partitions, position
        self.pools: dict[str, PoolState] = {}
        self.builds: dict[tuple[str, int], Build] = {}
        self.edition = self.outcomes = 0
        self.readers = ReaderView()
        self.counters = FoldCounters()
        self.on_segment: Callable[[str, int, TracedOutcomes], None] | None = None
        self._last: Record | tuple[int, str] | None = None

    def fold(self, records: Records, directory: Directory) -> list[DeadLetter]:
        """Fold the records at or after the position. Returns a dead letter for each refused outcome or record."""
        records = records[count_below(records, self.position) :]
        if not len(records):
            return []
        batch = Batch(self.number, records)
        batch.refuse_undecodable()
        known = {pool: self._state(pool, shares, directory) for pool, shares in batch.shares.items()}
        # All states are looked up first: if the directory fails, nothing is folded yet, and the call can be repeated.
        for pool, shares in batch.shares.items():
            for share in shares:
                self._fold_or_refuse(known[pool], share, batch)
        self.outcomes += batch.outcomes
        end = int(records.offset[-1]) + 1
        for build in [build for build in self.builds.values() if build.failed is None and not build.behind(self.position)]:
            self._fold_build(build, batch)
            build.reached(end)
        self.position = end
        self._last = None if records.archived else records[-1]
        return batch.letters

    def pass_over(self, end: int) -> None:
        """Continue at `end`. The caller has found that all records from the position to there are skipped."""
        for build in [build for build in self.builds.values() if build.failed is None and not build.behind(self.position)]:
            build.reached(end)
        self.position = end

    def begin_unread(self) -> None:
        """Add the pools that no checkpoint contains, without outcomes.

        The caller has found that an operator skipped records. These may be all that a pool had, so that no record begins it, and its old
        boards would stay.
        """
        for pool, state in self.readers.unread.items():
            if pool not in self.pools:
                self.pools[pool] = _stop_if_unfit(state)
        self.edition += 1

    def catch_up(self, records: Records, start: int) -> list[DeadLetter]:
        """Fold old records into the builds that are behind the partition. Returns a dead letter for each outcome that a build refuses.

        Args:
            records: All records of the partition from `start` to the last of them. Those at or after the partition's position are ignored.
            start: Offset from which `records` is complete. A build at an earlier position takes nothing.
        """
        letters: list[DeadLetter] = []
        old = records[: count_below(records, self.position)]
        reached = self.position if len(old) < len(records) else int(old.offset[-1]) + 1 if len(old) else start
        for build in [build for build in self.builds.values() if build.behind(self.position) and start <= build.position < reached]:
            letters += self.catch_up_alone(build, build.concerned(old), reached)
        return letters

    def catch_up_alone(self, build: Build, records: Records, reached: int) -> list[DeadLetter]:
        """Fold old records into one build that is behind the partition. Returns a dead letter for each outcome that the build refuses.

        After a recovery from an older checkpoint, an archive may contain records at or after the partition's position. They are ignored,
        because the build gets them later, when the partition folds them.

        Args:
            build: The build to advance.
            records: All records that the build needs, from its position to before `reached`.
            reached: Offset up to which the build has then read the log.
        """
        records, reached = records[: count_below(records, self.position)], min(reached, self.position)
        batch = Batch(self.number, records)
        self._fold_build(build, batch)
        build.reached(reached)
        self.edition += 1
        return batch.letters

    def begin(self, build: Build) -> None:
        """Start a build alongside the serving generation. Another unfinished build of the same pool is dropped."""
        for key in [key for key, existing in self.builds.items() if key[0] == build.generation.pool and existing.failed is None]:
            del self.builds[key]
        self.builds[build.key] = build
        self.edition += 1

    def switch(self, build: Build) -> None:
        """Replace the pool's state with the state of `build`. Raises `ValueError` if the build is behind the partition."""
        self.pools[build.generation.pool] = build.switch(self.position)
        self.readers.hidden.discard(build.generation.pool)
        for key in [key for key in self.builds if key[0] == build.generation.pool and key[1] <= build.generation.number]:
            del self.builds[key]
        self.edition += 1

    @property
    def last(self) -> tuple[int, str] | None:
        """Offset and SHA-256 of the last folded record, with which recovery checks that the log is the same; None after archived records.

        The hash is computed only when it is needed, because it can take a tenth of the time of a fold.
        """
        if isinstance(self._last, Record):
            self._last = self._last.offset, hashlib.sha256(self._last.value).hexdigest()
        return self._last

    @last.setter
    def last(self, last: tuple[int, str] | None) -> None:
        """Set the record before the position, as a checkpoint has it."""
        self._last = last

    @property
    def unbuilt(self) -> set[str]:
        """Hidden pools whose builds have all failed. Their published boards are not updated."""
        building = {pool for (pool, _), build in self.builds.items() if build.failed is None}
        return {pool for pool in self.readers.hidden if pool not in building and any(pool == built for built, _ in self.builds)}

    def _state(self, pool: str, shares: Sequence[Share], directory: Directory) -> "PoolState | _Refusal":
        if (home := partition_of(pool, self.partitions)) != self.number:
            rule = (
                f"pool {pool} belongs to partition {home} of {self.partitions}: produce with the pool as key and Kafka's default "
                "(murmur2) partitioner; librdkafka clients set partitioner=murmur2_random"
            )
            return Reason.WRONG_PARTITION, rule
        return self.pools.get(pool) or self._begin(pool, shares, directory) or _UNKNOWN

    def _fold_or_refuse(self, state: "PoolState | _Refusal", share: Share, batch: Batch) -> None:
        if not isinstance(state, PoolState):
            batch.refuse_all(share, *state)
            return
        if state.generation.number == 1 and share.first < state.generation.start:  # outcomes before the pool's creation are refused
            batch.refuse_all(share.below(state.generation.start), *_UNKNOWN)
        self._fold(state, share.since(state.generation.start), batch)

    def _fold_build(self, build: Build, batch: Batch) -> None:
        if build.state is not None:
            self._record(build.state)
        build.fold(batch)

    def _record(self, state: PoolState) -> None:
        """Direct the state's segments of history to `on_segment`."""
        history, made = state.content.history, state.generation
        if history is not None:
            history.sink = None if self.on_segment is None else partial(self.on_segment, made.pool, made.number)

    def _begin(self, pool: str, shares: Sequence[Share], directory: Directory) -> PoolState | None:
        answers = (directory.generation(pool, share.kind, share.first) for share in shares)
        created_and_generation = next(filter(None, answers), None)
        if created_and_generation is None:
            return None
        state = self.pools[pool] = _stop_if_unfit(PoolState(*created_and_generation))
        return state

    def _fold(self, state: PoolState, share: Share, batch: Batch) -> None:
        """Fold one pool's outcomes in order. If the fold raises, only this pool stops."""
        if state.stopped is not None or not len(share):
            return
        self._record(state)
        before, late_before, version = state.content.counts.copy(), state.content.clock.late, state.changes.version
        try:
            refused = state.fold(share.outcomes)
            state.note(share.outcomes, share.offset)
        except Exception as error:  # law 6: failures are isolated
            first, last = share.first, share.last
            log.exception("pool stopped", extra={"pool": share.pool, "position": first})
            why = f"{type(error).__name__} between offsets {first} and {last}: {error}"
            hint = f"retract what it cannot fold, or change its settings, then `equirank pools resume {share.pool}`"
            state.stop(f"{why}; {hint}", first, broken=state.changes.version != version)  # equal if freezing the pool beforehand failed
            return
        self.counters.add(state.content, before, late_before, share, batch)
        for i, reason, path, rule in refused:
            batch.refuse(share, i, reason, path, rule, state.generation.number)


def _stop_if_unfit(state: PoolState) -> PoolState:
    """Return a pool's empty state. It is stopped if folding it from here would give wrong results without a warning."""
    generation = state.generation
    if generation.fold_version != FOLD_VERSION:
        why = f"generation {generation.number} was made by fold version {generation.fold_version}, this is {FOLD_VERSION}"
        state.stop(why, generation.start)
    elif not state.opened:
        state.stop(f"the end of the season before generation {generation.number} was not read from the log", generation.start)
    elif generation.retraction_horizon > generation.start:
        state.stop(f"what generation {generation.number} leaves out was not read from the log", generation.start)
    return state


_Refusal = tuple[Reason, str]
_UNKNOWN: Final[_Refusal] = (
    Reason.UNKNOWN_POOL,
    "must have been created (PUT /v1/pools/NAME); first use creates pools only where that is on and EQUIRANK_MAX_POOLS allows one more",
)
