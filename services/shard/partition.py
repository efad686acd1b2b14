"""A partition's state: the pools that live there, folded in log order. Pure: no log, no store, no clock.

The same records from the same position give the same pools, however they are cut into calls (law 1).
"""

import hashlib
import logging
from collections import defaultdict
from collections.abc import Sequence
from typing import Protocol

from services import events
from services.events import Decoded, Reason
from services.log.partition import partition_of
from services.log.protocol import Record
from services.pools import FOLD_VERSION, GenerationMade, Kind
from services.shard.dead_letters import DeadLetter, excerpt
from services.shard.pool import PoolState

log = logging.getLogger("equirank.shard")


class Directory(Protocol):
    """Where a partition learns what its pools are."""

    def generation(self, pool: str, kind: Kind | None, offset: int) -> tuple[Kind, GenerationMade] | None:
        """The pool's kind and the generation to fold it by, or None where the pool is unknown at `offset`.

        kind: of the outcome at hand (None for a retraction), for whoever creates pools on first use.
        """


class Partition:
    """State of partition `number` of `partitions`. position: the first offset not yet folded."""

    def __init__(self, number: int, partitions: int, position: int = 0) -> None:
        self.number, self.partitions, self.position = number, partitions, position
        self.pools: dict[str, PoolState] = {}
        self.last: tuple[int, str] | None = None
        """Offset and SHA-256 of the last record folded, by which recovery knows the log again."""

    def fold(self, records: Sequence[Record], directory: Directory) -> list[DeadLetter]:
        """Fold the records that are at or after the position; entries for what could not be folded."""
        records = [record for record in records if record.offset >= self.position]
        if not records:
            return []
        batch = _Batch(self.number, records, events.decode([record.value for record in records]))
        for refusal in batch.decoded.refusals:
            batch.refuse(refusal.record, refusal.item, refusal.reason, refusal.path, refusal.rule)
        for pool, indices in batch.by_pool().items():
            self._route(pool, indices, batch, directory)
        self.position = records[-1].offset + 1
        self.last = records[-1].offset, hashlib.sha256(records[-1].value).hexdigest()
        return batch.letters

    def _route(self, pool: str, indices: list[int], batch: "_Batch", directory: Directory) -> None:
        if partition_of(pool, self.partitions) != self.number:
            rule = (
                f"pool {pool} belongs to partition {partition_of(pool, self.partitions)} of {self.partitions}: produce with the pool as key "
                "and Kafka's default (murmur2) partitioner; librdkafka clients set partitioner=murmur2_random"
            )
            batch.refuse_all(indices, Reason.WRONG_PARTITION, "pool", rule)
            return
        state = self.pools.get(pool) or self._begin(pool, batch, indices[0], directory)
        if state is None:
            batch.refuse_all(indices, Reason.UNKNOWN_POOL, "pool", "must have been created (PUT /v1/pools/NAME)")
            return
        start = state.generation.start
        self._fold(state, [i for i in indices if batch.offset(i) >= start], batch)

    def _begin(self, pool: str, batch: "_Batch", first: int, directory: Directory) -> PoolState | None:
        found = directory.generation(pool, batch.decoded.events[first].kind, batch.offset(first))
        if found is None:
            return None
        kind, generation = found
        state = self.pools[pool] = PoolState(kind, generation)
        if generation.fold_version != FOLD_VERSION:
            state.stop(f"generation {generation.number} was made by fold version {generation.fold_version}, this is {FOLD_VERSION}")
        return state

    def _fold(self, state: PoolState, indices: list[int], batch: "_Batch") -> None:
        """One pool's outcomes in order. A pool that breaks stops alone, where it is."""
        if state.stopped is not None:
            return
        try:
            refused = state.fold([batch.decoded.events[i] for i in indices])
        except Exception as error:  # noqa: BLE001 - law 6: nothing bad stops the stream
            log.exception("pool %s stopped at offset %d", state.generation.pool, batch.offset(indices[0]))
            state.stop(f"{type(error).__name__} between offsets {batch.offset(indices[0])} and {batch.offset(indices[-1])}: {error}")
            return
        for i, reason, path, rule in refused:
            batch.refuse_event(indices[i], reason, path, rule, state.generation.number)


class _Batch:
    """Records of one call, decoded, and the dead letters they give."""

    def __init__(self, partition: int, records: Sequence[Record], decoded: Decoded) -> None:
        self.partition, self.records, self.decoded = partition, records, decoded
        self.letters: list[DeadLetter] = []

    def by_pool(self) -> dict[str, list[int]]:
        groups: defaultdict[str, list[int]] = defaultdict(list)
        for i, event in enumerate(self.decoded.events):
            groups[event.pool].append(i)
        return groups

    def offset(self, index: int) -> int:
        return self.records[self.decoded.record[index]].offset

    def refuse_all(self, indices: Sequence[int], reason: Reason, path: str, rule: str) -> None:
        for i in indices:
            self.refuse_event(i, reason, path, rule)

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
                excerpt=excerpt(self.records[record].value),
            )
        )

