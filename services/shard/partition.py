"""A partition's state: the pools that live there, folded in log order. Pure: no log, no store, no clock.

The same records from the same position give the same pools, however they are cut into calls (law 1).
"""

import hashlib
import logging
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Protocol

from services import events
from services.events import Decoded, Event, Reason, RetractEvent
from services.log.partition import partition_of
from services.log.protocol import Record
from services.pools import FOLD_VERSION, GenerationMade, Kind, PoolCreated
from services.shard.build import Build
from services.shard.dead_letters import DeadLetter, excerpt
from services.shard.pool import PoolState

log = logging.getLogger("equirank.shard")


class Directory(Protocol):
    """Where a partition learns what its pools are."""

    def generation(self, pool: str, kind: Kind | None, offset: int) -> tuple[PoolCreated, GenerationMade] | None:
        """The pool and the generation to fold it by, or None where the pool is unknown at `offset`.

        kind: of the outcome at hand (None for a retraction), for whoever creates pools on first use.
        """


class Partition:
    """State of partition `number` of `partitions`. position: the first offset not yet folded.

    builds: generations under construction, by pool and number; hidden: pools whose state readers were already taken on from, to a
    generation that is being built again; edition: rises with every change that the position does not tell; outcomes: read so far.
    """

    def __init__(self, number: int, partitions: int, position: int = 0) -> None:
        self.number, self.partitions, self.position = number, partitions, position
        self.pools: dict[str, PoolState] = {}
        self.builds: dict[tuple[str, int], Build] = {}
        self.hidden: set[str] = set()
        self.edition = self.outcomes = 0
        self.odd_times: Counter[str] = Counter()
        """Outcomes "late" (before their pool's time) and "future" (ahead of the log's clock), since this object was made."""
        self.future_seconds = float("inf")
        """How far ahead of the log's clock an outcome's time counts as future."""
        self.last: tuple[int, str] | None = None
        """Offset and SHA-256 of the last record folded, by which recovery knows the log again."""

    def fold(self, records: Sequence[Record], directory: Directory) -> list[DeadLetter]:
        """Fold the records that are at or after the position; entries for what could not be folded."""
        if records and records[0].offset < self.position:
            records = [record for record in records if record.offset >= self.position]
        if not records:
            return []
        batch = _Batch(self.number, records, events.decode([record.value for record in records]))
        for refusal in batch.decoded.refusals:
            batch.refuse(refusal.record, refusal.item, refusal.reason, refusal.path, refusal.rule)
        groups = batch.by_pool()
        known = {pool: self._state(pool, batch, indices, directory) for pool, indices in groups.items()}
        for pool, indices in groups.items():  # the directory was asked before anything is folded: it may fail, and the call be repeated
            self._fold_or_refuse(known[pool], indices, batch)
        self.outcomes += len(batch.decoded.events)
        end = records[-1].offset + 1
        for build in [build for build in self.builds.values() if build.failed is None and not build.behind(self.position)]:
            self._fold_build(build, groups.get(build.generation.pool, ()), batch)
            build.reached(end)
        self.position = end
        self.last = records[-1].offset, hashlib.sha256(records[-1].value).hexdigest()
        return batch.letters

    def catch_up(self, records: Sequence[Record], start: int) -> list[DeadLetter]:
        """Give builds that are behind what they have not read of `records`; entries for what they refuse.

        records: all that the partition holds from `start` to the last of them; a build that stands before them waits for others.
        """
        letters: list[DeadLetter] = []
        whole = not records or records[-1].offset < self.position
        old = records if whole else [record for record in records if record.offset < self.position]
        reached = self.position if len(old) < len(records) else old[-1].offset + 1 if old else start
        for build in [build for build in self.builds.values() if build.behind(self.position) and start <= build.position < reached]:
            found = build.concerned(old)
            batch = _Batch(self.number, found, events.decode([record.value for record in found]))
            indices = batch.by_pool().get(build.generation.pool, ())
            if build.state is None:
                build.scan(batch.events(batch.below(indices, build.generation.retraction_horizon)))
            else:
                self._fold_build(build, indices, batch)
            build.reached(reached)
            letters += batch.letters
            self.edition += 1
        return letters

    def begin(self, build: Build) -> None:
        """Build a generation beside the one that serves; another of its pool is given up."""
        for key in [key for key, other in self.builds.items() if key[0] == build.generation.pool and other.failed is None]:
            del self.builds[key]
        self.builds[build.key] = build
        self.edition += 1

    def switch(self, build: Build) -> None:
        """From now on the pool's state is that of `build`, which has caught up. Nobody was told anything of it yet."""
        if build.state is None or build.behind(self.position):
            msg = f"generation {build.generation.number} of pool {build.generation.pool} has not caught up"
            raise ValueError(msg)
        build.state.mark_all()
        self.pools[build.generation.pool] = build.state
        self.hidden.discard(build.generation.pool)
        for key in [key for key in self.builds if key[0] == build.generation.pool and key[1] <= build.generation.number]:
            del self.builds[key]
        self.edition += 1

    @property
    def frozen(self) -> set[str]:
        """Hidden pools for which nothing is built: what readers have of them goes no further."""
        building = {pool for (pool, _), build in self.builds.items() if build.failed is None}
        return {pool for pool in self.hidden if pool not in building and any(pool == one for one, _ in self.builds)}

    def _fold_build(self, build: Build, indices: Sequence[int], batch: "_Batch") -> None:
        counted = batch.from_offset(indices, build.position) if indices else ()
        if counted:
            for i, reason, path, rule in build.fold(batch.events(counted)):
                batch.refuse_event(counted[i], reason, path, rule, build.generation.number)
            if build.state is not None:
                build.state.note(batch.retractions(counted))

    def _state(self, pool: str, batch: "_Batch", indices: Sequence[int], directory: Directory) -> "PoolState | _Refusal":
        if (home := partition_of(pool, self.partitions)) != self.number:
            rule = (
                f"pool {pool} belongs to partition {home} of {self.partitions}: produce with the pool as key and Kafka's default (murmur2) "
                "partitioner; librdkafka clients set partitioner=murmur2_random"
            )
            return Reason.WRONG_PARTITION, rule
        return self.pools.get(pool) or self._begin(pool, batch, indices, directory) or _UNKNOWN

    def _fold_or_refuse(self, state: "PoolState | _Refusal", indices: Sequence[int], batch: "_Batch") -> None:
        if not isinstance(state, PoolState):
            batch.refuse_all(indices, *state)
            return
        counted = batch.from_offset(indices, state.generation.start)
        if len(counted) < len(indices) and state.generation.number == 1:  # they came before their pool was there
            batch.refuse_all(indices[: len(indices) - len(counted)], *_UNKNOWN)
        self._fold(state, counted, batch)

    def _begin(self, pool: str, batch: "_Batch", indices: Sequence[int], directory: Directory) -> PoolState | None:
        asked = (directory.generation(pool, kind, offset) for kind, offset in batch.firsts(indices))
        found = next(filter(None, asked), None)
        if found is None:
            return None
        created, generation = found
        state = self.pools[pool] = PoolState(created, generation)
        if generation.fold_version != FOLD_VERSION:
            why = f"generation {generation.number} was made by fold version {generation.fold_version}, this is {FOLD_VERSION}"
            state.stop(why, generation.start)
        elif generation.retraction_horizon > generation.start:  # to count them as if nothing were retracted would be silently wrong
            state.stop(f"what generation {generation.number} leaves out was not read from the log", generation.start)
        return state

    def _fold(self, state: PoolState, indices: Sequence[int], batch: "_Batch") -> None:
        """One pool's outcomes in order. A pool that breaks stops alone, where it is."""
        if state.stopped is not None or not indices:
            return
        late, wanted = state.late, batch.events(indices)
        try:
            refused = state.fold(wanted)
            state.note(batch.retractions(indices))
        except Exception as error:  # law 6: nothing bad stops the stream
            first, last = batch.offset(indices[0]), batch.offset(indices[-1])
            log.exception("pool stopped", extra={"pool": state.generation.pool, "position": first})
            why = f"{type(error).__name__} between offsets {first} and {last}: {error}"
            hint = f"retract what it cannot fold, or change its settings, then `equirank pools resume {state.generation.pool}`"
            state.stop(f"{why}; {hint}", first, broken=True)
            return
        self.odd_times["late"] += state.late - late
        if state.pool_time is not None and state.pool_time > batch.records[0].time + self.future_seconds:
            limits = [batch.time(i) + self.future_seconds for i in indices]
            self.odd_times["future"] += sum(event.time > limit for event, limit in zip(wanted, limits, strict=True))
        for i, reason, path, rule in refused:
            batch.refuse_event(indices[i], reason, path, rule, state.generation.number)


_Refusal = tuple[Reason, str]
_UNKNOWN: Final[_Refusal] = (
    Reason.UNKNOWN_POOL,
    "must have been created (PUT /v1/pools/NAME); first use creates pools only where that is on and EQUIRANK_MAX_POOLS allows one more",
)


class _Batch:
    """Records of one call, decoded, and the dead letters they give."""

    def __init__(self, partition: int, records: Sequence[Record], decoded: Decoded) -> None:
        self.partition, self.records, self.decoded = partition, records, decoded
        self.letters: list[DeadLetter] = []
        self._texts: tuple[int, Sequence[bytes]] = -1, ()
        self._plain: bool | None = None
        """Whether there is no retraction in it, once that was asked."""

    def by_pool(self) -> Mapping[str, Sequence[int]]:
        """Indices of each pool's events, rising; nearly always there is one pool only."""
        pools = [event.pool for event in self.decoded.events]
        if pools and pools.count(pools[0]) == len(pools):
            return {pools[0]: range(len(pools))}
        groups: defaultdict[str, list[int]] = defaultdict(list)
        for i, pool in enumerate(pools):
            groups[pool].append(i)
        return groups

    def from_offset(self, indices: Sequence[int], start: int) -> Sequence[int]:
        """Those of `indices` (rising) whose record is at or after `start`."""
        return indices if self.offset(indices[0]) >= start else [i for i in indices if self.offset(i) >= start]

    def below(self, indices: Sequence[int], end: int) -> Sequence[int]:
        """Those of `indices` whose record is before `end`."""
        return [i for i in indices if self.offset(i) < end]

    def events(self, indices: Sequence[int]) -> Sequence[Event]:
        events = self.decoded.events
        return events if len(indices) == len(events) else [events[i] for i in indices]

    def retractions(self, indices: Sequence[int]) -> Sequence[tuple[int, RetractEvent]]:
        """The retractions among `indices`, each with its record's offset."""
        if self._plain is None:
            self._plain = RetractEvent not in map(type, self.decoded.events)
        if self._plain:
            return ()
        events = self.events(indices)
        return [(self.offset(i), event) for i, event in zip(indices, events, strict=True) if isinstance(event, RetractEvent)]

    def offset(self, index: int) -> int:
        return self.records[self.decoded.record[index]].offset

    def time(self, index: int) -> float:
        """When the log took an event."""
        return self.records[self.decoded.record[index]].time

    def firsts(self, indices: Sequence[int]) -> Iterator[tuple[Kind | None, int]]:
        """Kind and offset of the first outcome, and of the first that has a kind: a retraction makes no pool, what follows it may."""
        kind = self.decoded.events[indices[0]].kind
        yield kind, self.offset(indices[0])
        if kind is None and (later := next((i for i in indices if self.decoded.events[i].kind is not None), None)) is not None:
            yield self.decoded.events[later].kind, self.offset(later)

    def refuse_all(self, indices: Sequence[int], reason: Reason, rule: str) -> None:
        for i in indices:
            self.refuse_event(i, reason, "pool", rule)

    def refuse_event(self, index: int, reason: Reason, path: str, rule: str, generation: int = 0) -> None:
        item, pool = self.decoded.item[index], self.decoded.events[index].pool
        self.refuse(self.decoded.record[index], item, reason, path, rule, pool, generation)

    def refuse(
        self, record: int, item: int, reason: Reason, path: str, rule: str, pool: str | None = None, generation: int = 0
    ) -> None:
        self.letters.append(
            DeadLetter(
                generation=generation,
                partition=self.partition,
                offset=self.records[record].offset,
                item=item,
                reason=reason,
                path=path,
                rule=rule,
                pool=pool,
                excerpt=excerpt(self._refused_text(record, item)),
            )
        )

    def _refused_text(self, record: int, item: int) -> bytes:
        """An item's own text, so that the entries of a record together are about as long as the record, however many it holds."""
        value = self.records[record].value
        if item < 0:
            return value
        if self._texts[0] != record:
            self._texts = record, events.item_texts(value)
        texts = self._texts[1]
        return texts[item] if item < len(texts) else value

