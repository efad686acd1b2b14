"""Slices in manifests: each with its outcomes, the prefix and the digest of its arrays, by which a solve reads and knows it."""

import json
import uuid

import msgspec

from ratings_core.arrays.digest import digest
from services.checkpoints.checkpoint import CheckpointStore, Manifest
from services.control.directory import FixedDirectory
from services.log.protocol import Record
from services.log.records import TopicRecords
from services.shard.checkpointing.checkpointer import Checkpointer
from services.shard.partition import Partition
from services.shard.recovery import restore
from services.wire import events
from tests.support.checkpoints import try_checkpoint
from tests.support.outcomes import game
from tests.support.pools import control_of, pool_of
from tests.support.sliced_pools import FOLD, GAMES, POOL

CONTROL = control_of(pool_of(POOL, fold=FOLD), pool_of("other"))


class Owner:
    """A partition, restored from a checkpoint, and its next checkpoints."""

    def __init__(self, store: CheckpointStore, newest: Manifest | None = None) -> None:
        self.store, self.now, self.directory = store, 0.0, FixedDirectory(CONTROL)
        arrays = {} if newest is None else {entry.object: store.read_pool(entry) for entry in newest.entries}
        self.partition = Partition(0, 1) if newest is None else restore(newest, arrays, 1, CONTROL)
        self.checkpointer = Checkpointer(store, "log", 1, 9, newest, clock=lambda: 0.0)

    def fold(self, values: list[bytes]) -> None:
        at = self.partition.position
        self.partition.fold(TopicRecords([Record(at + i, value, 0.0) for i, value in enumerate(values)]), self.directory)

    def checkpoint(self) -> Manifest:
        self.now += 1e6
        try_checkpoint(self.checkpointer, self.now, self.partition)
        newest = self.store.newest(0)
        assert newest is not None
        return newest


def test_a_manifest_lists_the_slices_of_a_pool() -> None:
    owner = Owner(CheckpointStore(f"memory://{uuid.uuid4().hex}"))
    records = events.encode_records(GAMES, 30)
    owner.fold(records[:5])
    first = owner.checkpoint().pools[0]
    slices = owner.partition.pools[POOL].slices
    assert slices is not None
    assert [(one.dimension, one.value) for one in first.slices] == [(key.dimension, key.value) for _, key, _ in slices.parts()]
    for entry, (_, _, made) in zip(first.slices, slices.parts(), strict=True):
        assert (entry.outcomes, entry.digest) == (made.content.counts["outcomes"], digest(made.content.arrays()))
        assert digest(owner.store.read_pool(first.of_slice(entry))) == entry.digest
    only_english = [one for one in GAMES[150:] if one.tags == {"language": first.slices[0].value}][:1]
    owner.fold(events.encode_records(only_english))
    second = owner.checkpoint().pools[0]
    changed = [new.value for old, new in zip(first.slices, second.slices, strict=True) if old.digest != new.digest]
    assert changed == [first.slices[0].value], "no other slice has new data"


def test_slices_that_an_earlier_release_did_not_list_are_listed_by_the_next_checkpoint() -> None:
    owner = Owner(CheckpointStore(f"memory://{uuid.uuid4().hex}"))
    owner.fold(events.encode_records(GAMES, 30))
    written = owner.checkpoint()
    earlier = msgspec.structs.replace(written, pools=[msgspec.structs.replace(one, slices=[]) for one in written.pools])
    later = Owner(owner.store, earlier)
    later.fold([json.dumps(game("o", "a", "b", pool="other")).encode()])
    [found] = [one for one in later.checkpoint().pools if one.pool == POOL]
    assert found.slices == written.pools[0].slices
    assert Owner(owner.store, later.checkpoint()).checkpoint().pools[0].object == found.object, "an unchanged pool keeps its object"
