"""Checkpoints that hold an erased name are deleted, also where a shard died before it did that and nothing is folded after it."""

import json
import uuid
from collections.abc import Mapping

import pytest

from services.checkpoints.checkpoint import CheckpointStore
from services.control.directory import FixedDirectory
from services.control.erasures import erased_name
from services.control.records import ControlState, Serve
from services.log.protocol import Record
from services.log.records import TopicRecords
from services.shard.checkpointing.checkpointer import Checkpointer
from services.shard.generations.build import Build
from services.shard.partition import Partition
from services.shard.recovery import restore
from tests.support.checkpoints import try_checkpoint
from tests.support.outcomes import game
from tests.support.pools import control_of, first_generation, pool_of

POOL = pool_of("p")
RECORD = Record(0, json.dumps(game("g1", "ann", "ben", pool="p")).encode(), 0.0)


class Killed(Exception):  # noqa: N818 - names the fact
    """In place of a kill."""


def checkpointer(store: CheckpointStore, epoch: int) -> Checkpointer:
    return Checkpointer(store, "log", epoch, 1, store.newest(0), clock=lambda: 0.0)


def erasing(control: ControlState, partition: Partition) -> None:
    """The pool is folded by a generation that erases a name, and readers see it."""
    made = first_generation(POOL, number=2, erased=(erased_name("ann", ()),))
    control.apply(control.position, made)
    control.apply(control.position, Serve(pool="p", number=2, time=0.0))
    partition.begin(Build(POOL, made))
    partition.catch_up(TopicRecords([RECORD]), 0)
    partition.switch(partition.builds["p", 2])


def test_what_a_store_refused_to_delete_is_deleted_later_though_nothing_is_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    store, control, partition = CheckpointStore(f"memory://{uuid.uuid4().hex}"), control_of(POOL), Partition(0, 1)
    partition.fold(TopicRecords([RECORD]), FixedDirectory(control))
    checkpointer(store, 1).drain(partition)
    erasing(control, partition)
    one = checkpointer(store, 2)

    def refuse(_: CheckpointStore, name: str) -> None:
        raise PermissionError(name)

    with monkeypatch.context() as patch:
        patch.setattr(type(store.blobs), "remove", refuse)
        try_checkpoint(one, 1e6, partition)
    refused = store.newest(0)
    assert store.generations(0, "p") == {1, 2}
    try_checkpoint(one, 2e6, partition)
    assert store.generations(0, "p") == {2}
    newest = store.newest(0)
    assert refused is not None
    assert newest is not None
    assert newest.sequence > refused.sequence, "nothing is overwritten"
    one.drain(partition)


def test_a_shard_that_starts_deletes_what_one_that_died_had_left(monkeypatch: pytest.MonkeyPatch) -> None:
    store, control, partition = CheckpointStore(f"memory://{uuid.uuid4().hex}"), control_of(POOL), Partition(0, 1)
    partition.fold(TopicRecords([RECORD]), FixedDirectory(control))
    checkpointer(store, 1).drain(partition)
    erasing(control, partition)

    def kill(_: CheckpointStore, partition: int, first: Mapping[str, int]) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(CheckpointStore, "drop_generations", kill)
        with pytest.raises(Killed):
            checkpointer(store, 1).drain(partition)
    assert store.generations(0, "p") == {1, 2}
    found = store.recover(0, [])
    assert found is not None
    checkpointer(store, 2).drain(restore(*found, 1, control))
    assert store.generations(0, "p") == {2}
    assert store.recover(0, []) is not None
