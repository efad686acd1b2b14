"""A generation whose build failed is built again: a checkpoint never takes the object of the first build for the second one's."""

import json
import uuid

import pytest

from services.checkpoints.checkpoint import CheckpointStore
from services.control.directory import FixedDirectory
from services.control.records import ControlState
from services.log.protocol import Record
from services.log.records import TopicRecords
from services.shard.checkpointing.checkpointer import Checkpointer
from services.shard.generations.build import Build
from services.shard.partition import Partition
from services.shard.recovery import restore
from tests.support.checkpoints import try_checkpoint
from tests.support.outcomes import game
from tests.support.pools import control_of, first_generation, pool_of

POOL, END = pool_of("p"), 10
RECORDS = TopicRecords([Record(at, json.dumps(game(f"g{at}", "ann", "ben", pool="p")).encode(), 0.0) for at in range(END)])


class Shard:
    """A partition and its checkpoints under one epoch."""

    def __init__(self, store: CheckpointStore, epoch: int, control: ControlState) -> None:
        found, self.now = store.recover(0, []), 0.0
        self.partition = Partition(0, 1) if found is None else restore(*found, 1, control)
        self.checkpointer = Checkpointer(store, "log", epoch, 2, None if found is None else found[0], clock=lambda: 0.0)

    def begin(self, control: ControlState, until: int) -> None:
        """Build generation 2 from its start; the one before, if there is one, fails."""
        if (before := self.partition.builds.pop(("p", 2), None)) is not None:
            before.fail("the archive is away")
        self.partition.begin(Build(POOL, control.generations["p"][2]))
        if until:
            self.partition.catch_up(RECORDS[:until], 0)

    def checkpoint(self) -> None:
        self.now += 1e6
        try_checkpoint(self.checkpointer, self.now, self.partition)


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("until", [0, 3, END])
def test_what_a_restart_finds_of_the_second_build_is_folded_once(until: int, restarts: bool) -> None:
    store, control = CheckpointStore(f"memory://{uuid.uuid4().hex}"), control_of(POOL)
    control.apply(control.position, first_generation(POOL, number=2))
    shard = Shard(store, 1, control)
    shard.partition.fold(RECORDS, FixedDirectory(control))
    shard.begin(control, 8)
    shard.checkpoint()
    if restarts:
        shard = Shard(store, 2, control)
    shard.begin(control, until)
    shard.checkpoint()
    partition = Shard(store, 3, control).partition
    build = partition.builds["p", 2]
    partition.catch_up(RECORDS[build.position :], build.position)
    assert build.state is not None
    assert (build.state.content.counts["outcomes"], build.state.content.counts["duplicates"]) == (END, 0)


def test_a_build_that_had_caught_up_when_its_owner_died_is_held_though_no_record_follows() -> None:
    store, control = CheckpointStore(f"memory://{uuid.uuid4().hex}"), control_of(POOL)
    control.apply(control.position, first_generation(POOL, number=2))
    dead = Shard(store, 1, control)
    dead.partition.fold(RECORDS, FixedDirectory(control))
    dead.begin(control, END)
    dead.checkpoint()
    shard = Shard(store, 2, control)
    build = shard.partition.builds["p", 2]
    assert not shard.checkpointer.holds(build)
    shard.checkpoint()
    assert shard.checkpointer.holds(build)


def test_a_checkpoint_that_failed_is_not_repeated_at_once_for_a_build_that_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    store, control = CheckpointStore(f"memory://{uuid.uuid4().hex}"), control_of(POOL)
    control.apply(control.position, first_generation(POOL, number=2))
    shard = Shard(store, 1, control)
    shard.partition.fold(RECORDS, FixedDirectory(control))
    shard.begin(control, END)
    with monkeypatch.context() as full:
        full.setattr(store, "write_manifest", no_space)
        shard.checkpoint()
        assert shard.checkpointer.figures.counts["checkpoint_failures"] == 1
    assert not shard.checkpointer.step(shard.now + 0.5, 1.0, shard.partition)
    shard.checkpoint()
    assert shard.checkpointer.holds(shard.partition.builds["p", 2])


def no_space(*_: object) -> str:
    raise OSError("no space is left")
