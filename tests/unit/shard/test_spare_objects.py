"""A pool that rests while others of its partition move: all kept checkpoints name its object, and no one bad file costs them all."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from ratings_core.arrays.digest import digest
from services.checkpoints.checkpoint import CheckpointStore, PoolEntry, SkippedCheckpoint
from services.control.directory import FixedDirectory
from services.log.protocol import Record
from services.shard.checkpointing.checkpointer import Checkpointer
from services.shard.partition import Partition
from services.wire import events
from tests.support.outcomes import game_event
from tests.support.pools import control_of, pool_of

KEPT = 3


@pytest.fixture(params=["folder", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> CheckpointStore:
    return CheckpointStore((tmp_path / "state").as_uri() if request.param == "folder" else f"memory://{uuid.uuid4().hex}")


class Shard:
    """A partition of two pools, and its checkpoints."""

    def __init__(self, store: CheckpointStore) -> None:
        directory = FixedDirectory(control_of(pool_of("resting"), pool_of("busy")))
        self.store, self.partition, self.directory = store, Partition(0, 1), directory
        self.checkpointer, self.now = Checkpointer(store, "log", 1, KEPT, None), 0.0

    def play(self, pool: str) -> None:
        at = self.partition.position
        game = game_event(f"g{at}", "a", f"b{at}", pool=pool)
        assert self.partition.fold([Record(at, events.encode([game]), 0.0)], self.directory) == []

    def checkpoint(self) -> PoolEntry:
        """Write one; the entry of the pool that rests."""
        self.now += 1e6
        self.begin(1.0)
        assert self.checkpointer._job is not None
        self.checkpointer._job.result(60.0)
        self.checkpointer.step(self.now, 1e9, self.partition)
        newest = self.store.newest(0)
        assert newest is not None
        assert newest.position == self.partition.position
        return next(entry for entry in newest.pools if entry.pool == "resting")

    def begin(self, interval: float) -> None:
        """All slices of a checkpoint."""
        while self.checkpointer.step(self.now, interval, self.partition) and self.checkpointer.freezes:
            pass

    def rest(self, checkpoints: int) -> PoolEntry:
        for _ in range(checkpoints):
            self.play("busy")
            entry = self.checkpoint()
        return entry


@pytest.fixture
def shard(store: CheckpointStore) -> Iterator[Shard]:
    shard = Shard(store)
    shard.play("resting")
    yield shard
    shard.checkpointer._executor.shutdown()


def damage(store: CheckpointStore, name: str) -> None:
    data = bytearray(store.blobs.read(name))
    data[len(data) // 2] ^= 1
    store.blobs.write(name, [bytes(data)])


def test_what_rests_is_written_once_more_and_then_only_named(shard: Shard) -> None:
    first = shard.rest(KEPT - 1)
    assert first.spare is None, "an older checkpoint that is kept may still name another object"
    then = shard.rest(1)
    assert then.spare == first.object
    assert shard.store.blobs.read(then.object) == shard.store.blobs.read(first.object)
    last = shard.rest(KEPT + 2)
    assert last.objects == then.objects
    assert (last.sha256, last.digest) == (first.sha256, first.digest)
    shard.play("resting")
    moved = shard.checkpoint()
    assert moved.spare is None
    shard.rest(2 * KEPT)
    assert sum("/resting-" in name for name in shard.store.blobs.tree("objects")) == 2, "what nobody names is removed"


def test_no_one_bad_file_costs_all_checkpoints_nor_the_newest_one_of_a_pool_that_rests(shard: Shard) -> None:
    entry = shard.rest(2 * KEPT)
    wanted = digest(shard.partition.pools["resting"].arrays())
    for bad in entry.objects:
        whole = shard.store.blobs.read(bad)
        damage(shard.store, bad)
        skipped: list[SkippedCheckpoint] = []
        found = shard.store.recover(0, skipped)
        assert found is not None
        manifest, arrays = found
        assert manifest.position == shard.partition.position
        assert skipped == []
        taken = next(one for one in manifest.pools if one.pool == "resting")
        assert bad not in taken.objects or taken == entry, "what is known to be bad is not named again"
        assert digest(arrays[taken.object]) == wanted
        shard.store.blobs.write(bad, [whole])
    for bad in entry.objects:
        damage(shard.store, bad)
    skipped = []
    assert shard.store.recover(0, skipped) is None
    assert len(skipped) == KEPT


def test_after_a_start_from_the_spare_another_is_written(shard: Shard) -> None:
    entry = shard.rest(2 * KEPT)
    damage(shard.store, entry.object)
    found = shard.store.recover(0, [])
    assert found is not None
    shard.checkpointer._executor.shutdown()
    for state in shard.partition.pools.values():  # as restored ones
        state.changes.version = 0
    shard.checkpointer = Checkpointer(shard.store, "log", 2, KEPT, found[0])
    healed = shard.rest(1)
    assert entry.object not in healed.objects
    assert len(healed.objects) == 2
    assert shard.store.blobs.read(healed.objects[0]) == shard.store.blobs.read(healed.objects[1])


def test_the_pause_after_a_checkpoint_counts_its_writing_not_how_late_the_fold_looks(
    shard: Shard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fold that waited a minute for something else is no reason to leave five without a checkpoint."""
    clock = [0.0]
    monkeypatch.setattr("services.shard.checkpointing.checkpointer.time.perf_counter", lambda: clock[0])
    shard.play("busy")
    shard.begin(2.0)
    assert shard.checkpointer._job is not None
    shard.checkpointer._job.result(60.0)
    clock[0] = 60.0
    shard.checkpointer.step(60.0, 2.0, shard.partition)
    shard.play("busy")
    shard.checkpointer.step(61.9, 2.0, shard.partition)
    assert shard.checkpointer._job is None
    shard.now = 62.0
    shard.begin(2.0)
    assert shard.checkpointer._job is not None
