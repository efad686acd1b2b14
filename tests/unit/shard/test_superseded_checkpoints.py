"""A superseded shard that writes one more checkpoint may delete objects that the new owner still names: the new owner writes them again."""

import json
import logging
import uuid

import pytest

from services.checkpoints.checkpoint import CheckpointStore, SkippedCheckpoint
from services.control.directory import FixedDirectory
from services.log.protocol import Record
from services.log.records import TopicRecords
from services.shard.checkpointing.checkpointer import Checkpointer
from services.shard.partition import Partition
from services.shard.recovery import restore
from tests.support.checkpoints import try_checkpoint
from tests.support.outcomes import game
from tests.support.pools import control_of, pool_of

POOLS = ("busy", "still")


class Owner:
    """A partition, recovered from the newest checkpoint, and its checkpoints under one epoch."""

    def __init__(self, store: CheckpointStore, epoch: int) -> None:
        self.now, control = 0.0, control_of(*map(pool_of, POOLS))
        found = store.recover(0, [])
        self.partition = Partition(0, 1) if found is None else restore(*found, 1, control)
        self.directory = FixedDirectory(control)
        self.checkpointer = Checkpointer(store, "log", epoch, 1, None if found is None else found[0], clock=lambda: 0.0)

    def fold(self, pool: str) -> None:
        at = self.partition.position
        self.partition.fold(TopicRecords([Record(at, json.dumps(game(f"o{at}", "a", "b", pool=pool)).encode(), 0.0)]), self.directory)

    def checkpoint(self) -> None:
        self.now += 1e6
        try_checkpoint(self.checkpointer, self.now, self.partition)


def test_objects_that_were_removed_are_written_again(caplog: pytest.LogCaptureFixture) -> None:
    store = CheckpointStore(f"memory://{uuid.uuid4().hex}")
    old = Owner(store, 1)
    for pool in POOLS:
        old.fold(pool)
    old.checkpoint()
    new = Owner(store, 2)
    old.fold("still")  # the superseded owner does not know yet: its checkpoint removes the object of "still" that `new` goes on with
    old.checkpoint()
    new.fold("busy")
    new.fold("busy")
    with caplog.at_level(logging.WARNING):
        new.checkpoint()
    assert "writes them again" in caplog.text
    assert [store.read_manifest(name).epoch for name in store.manifests(0)] == [1], "no manifest without its objects"
    new.checkpoint()
    skipped = list[SkippedCheckpoint]()
    found = store.recover(0, skipped)
    assert found is not None
    manifest, objects = found
    assert (manifest.position, manifest.epoch, skipped) == (4, 2, [])
    assert {entry.pool: entry.outcomes for entry in manifest.pools} == {"busy": 3, "still": 1}
    assert len(objects) == len(POOLS)


def test_a_checkpoint_stays_although_damaged_ones_of_later_positions_lie_there() -> None:
    """Recovery passed these over; each new checkpoint is the newest that it can use."""
    store = CheckpointStore(f"memory://{uuid.uuid4().hex}")
    old = Owner(store, 1)
    for _ in range(5):
        old.fold("busy")
    old.checkpoint()
    for name in store.objects(0):
        store.blobs.remove(name)
    new = Owner(store, 2)
    for position in (1, 2, 5, 6):
        while new.partition.position < position:
            new.fold("busy")
        new.checkpoint()
        found = store.recover(0, [])
        assert found is not None
        assert (found[0].position, found[0].epoch) == (position, 2)
    assert len(store.manifests(0)) == 1, "what is behind the newest goes, as ever"
