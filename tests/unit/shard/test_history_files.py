"""Files of history: written before the checkpoint that needs them, equal after a takeover, and removed with their generation."""

import json
import random
import threading
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from services.checkpoints.checkpoint import CheckpointStore, Manifest
from services.checkpoints.history_files import HistoryFiles, SegmentFile, chained, folder_of
from services.checkpoints.objects import BadObject
from services.checkpoints.segments import BLOCK
from services.control.directory import FixedDirectory
from services.control.records import ControlState, FoldSettings, Generation
from services.log.protocol import Record
from services.log.records import TopicRecords
from services.shard.checkpointing import history as history_module
from services.shard.checkpointing.checkpointer import Checkpointer
from services.shard.generations.build import Build
from services.shard.partition import Partition
from services.shard.recovery import restore
from services.state.history import PART, TracedOutcomes
from services.state.parts import part
from tests.support.checkpoints import try_checkpoint
from tests.support.histories import bits_of
from tests.support.outcomes import game
from tests.support.pools import control_of, pool_of
from tests.support.waiting import PATIENCE as WAITING

ROWS = 40
FOLD = FoldSettings(history=200)


@pytest.fixture(autouse=True)
def short_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.state.history.SEGMENT_ROWS", ROWS)


@pytest.fixture
def store() -> CheckpointStore:
    return CheckpointStore(f"memory://{uuid.uuid4().hex}")


def records(count: int, fields: Mapping[str, Any] | None = None) -> TopicRecords:
    draw = random.Random(5)
    bodies = [game(f"o{i}", *draw.sample("abcdefghij", 2), time=float(i), **(fields or {})) for i in range(count)]
    return TopicRecords([Record(at, json.dumps(body).encode(), 0.0) for at, body in enumerate(bodies)])


class Owner:
    """A partition, recovered from the newest checkpoint, and its checkpoints under one epoch."""

    def __init__(self, store: CheckpointStore, epoch: int, control: ControlState | None = None) -> None:
        self.now, control = 0.0, control or control_of(pool_of("p", fold=FOLD))
        found = store.recover(0, [])
        self.partition = Partition(0, 1) if found is None else restore(*found, 1, control)
        self.directory = FixedDirectory(control)
        self.checkpointer = Checkpointer(store, "log", epoch, 2, None if found is None else found[0], clock=lambda: 0.0)
        self.partition.on_segment = self.checkpointer.writer.history.put

    def fold(self, log: TopicRecords, to: int) -> None:
        self.partition.fold(log[self.partition.position : to], self.directory)

    def checkpoint(self) -> None:
        self.now += 1e6
        try_checkpoint(self.checkpointer, self.now, self.partition)


def kept(store: CheckpointStore, pool: str = "p", generation: int = 1) -> list[SegmentFile]:
    return sorted(file for file in HistoryFiles(store.blobs).files(0) if (file.pool, file.generation) == (pool, generation))


def window(store: CheckpointStore) -> TracedOutcomes:
    manifest = store.newest(0)
    assert manifest is not None
    return TracedOutcomes.from_arrays(part(store.read_pool(manifest.pools[0]), PART))


def window_of(owner: Owner) -> TracedOutcomes:
    history = owner.partition.pools["p"].content.history
    assert history is not None
    return history.window


def bytes_of(store: CheckpointStore) -> dict[tuple[int, int], bytes]:
    """The file of each segment that readers take: that of the latest epoch."""
    return {(file.first, file.end): store.blobs.read(file.name) for file in sorted(kept(store), key=lambda file: file.epoch)}


def test_a_shard_that_was_killed_and_taken_over_has_the_files_of_one_that_was_not(store: CheckpointStore) -> None:
    log, other = records(100), CheckpointStore(f"memory://{uuid.uuid4().hex}")
    first = Owner(store, 1)
    first.fold(log, 30)
    first.checkpoint()
    first.fold(log, 75)
    first.checkpointer.writer.history.write(0)  # files that the newest checkpoint does not need yet
    second = Owner(store, 2)
    assert second.partition.position == 30
    for end in range(31, 101):
        second.fold(log, end)
    second.checkpoint()
    whole = Owner(other, 1)
    whole.fold(log, 100)
    whole.checkpoint()
    assert bytes_of(store) == bytes_of(other)
    assert bits_of(window(store)) == bits_of(window(other))
    assert [len(chain) for chain in chained(kept(store), window(store).first)] == [1] * 5, "those of the dead shard are removed"


def test_all_files_that_a_checkpoint_needs_are_written_before_it(store: CheckpointStore, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, log = Owner(store, 1), records(100)
    owner.fold(log, 90)

    def full(*_: object) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(HistoryFiles, "write", full)
        owner.checkpoint()
        assert store.newest(0) is None
    owner.checkpoint()
    assert [(file.first, file.end) for file in kept(store)] == [(0, 20), (20, 40), (40, 60), (60, 80)]
    assert (window(store).first, window(store).end) == (80, 90)


def test_segments_are_dropped_while_no_file_can_be_written(
    store: CheckpointStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    owner, log = Owner(store, 1), records(200)
    monkeypatch.setattr(history_module, "MOST", 2)

    def full(*_: object) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(HistoryFiles, "write", full)
        for end in range(10, 201, 10):
            owner.fold(log, end)
            owner.checkpoint()
    owner.checkpoint()
    assert owner.checkpointer.writer.history.dropped == 8
    assert "history of outcomes 1 to 20 is lost" in caplog.text
    assert [(file.first, file.end) for file in kept(store)] == [(160, 180), (180, 200)]


def test_expired_segments_are_removed_once_no_kept_checkpoint_has_them(store: CheckpointStore) -> None:
    owner, log = Owner(store, 1), records(500)
    for end in (300, 400, 500):
        owner.fold(log, end)
        owner.checkpoint()
    manifest = store.newest(0)
    assert manifest is not None
    assert manifest.pools[0].history_from == 300
    assert [file.first for file in kept(store)] == list(range(200, 500, 20)), "the checkpoint before it needs those from 200 on"


def test_a_generation_has_its_own_files_which_go_with_its_checkpoints(store: CheckpointStore) -> None:
    control = control_of(pool_of("p", fold=FOLD))
    owner, log = Owner(store, 1, control), records(100)
    owner.fold(log, 100)
    owner.checkpoint()
    made = Generation(pool="p", number=2, start=0, time=0.0, fold=FoldSettings(history=200, online={"elo": {"k": 8.0}}))
    owner.partition.begin(build := Build(control.pools["p"], made))
    while build.behind(100):
        owner.partition.catch_up(log[build.position : build.position + 30], build.position)
    owner.checkpoint()
    assert len(kept(store)) == len(kept(store, generation=2)) == 5
    owner.partition.switch(build)
    for _ in range(2):
        owner.partition.edition += 1
        owner.checkpoint()
    assert (len(kept(store)), len(kept(store, generation=2))) == (0, 5)


def test_a_checkpoint_keeps_the_files_of_a_generation_that_began_while_it_was_written(
    store: CheckpointStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    control = control_of(pool_of("p", fold=FOLD))
    owner, log, write = Owner(store, 1, control), records(100), CheckpointStore.write_manifest
    owner.fold(log, 100)
    made = Generation(pool="p", number=2, start=0, time=0.0, fold=FoldSettings(history=200, online={"elo": {"k": 8.0}}))

    def begins(self: CheckpointStore, manifest: Manifest) -> str:
        if not owner.partition.builds:
            owner.partition.begin(build := Build(control.pools["p"], made))
            owner.partition.catch_up(log, build.position)
            owner.checkpointer.writer.history.write(0)
        return write(self, manifest)

    monkeypatch.setattr(CheckpointStore, "write_manifest", begins)
    owner.checkpoint()
    assert len(kept(store)) == len(kept(store, generation=2)) == 5
    owner.checkpoint()
    owner.partition.switch(owner.partition.builds["p", 2])
    for _ in range(2):
        owner.partition.edition += 1
        owner.checkpoint()
    assert (len(kept(store)), len(kept(store, generation=2))) == (0, 5)


def test_files_of_a_generation_that_no_checkpoint_has_go_with_the_next_owner(store: CheckpointStore) -> None:
    owner, log = Owner(store, 1), records(70)
    owner.fold(log, 70)
    owner.checkpointer.writer.history.put("gone", 3, window_of(owner))
    owner.checkpoint()
    assert len(kept(store, "gone", 3)) == 1
    after = Owner(store, 2)
    after.partition.edition += 1
    after.checkpoint()
    assert (len(kept(store, "gone", 3)), len(kept(store))) == (0, 3)


def test_a_file_of_this_epoch_is_not_overwritten(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path.as_uri())
    owner, log = Owner(store, 1), records(50)
    owner.fold(log, 50)
    owner.checkpoint()
    (first, *_) = kept(store)
    inode = (tmp_path / first.name).stat().st_ino
    again, written = Owner(CheckpointStore((tmp_path / "none").as_uri()), 1), list[TracedOutcomes]()
    again.partition.on_segment = lambda pool, generation, outcomes: written.append(outcomes)
    again.fold(log, 50)
    before = (tmp_path / first.name).stat().st_mtime_ns
    HistoryFiles(store.blobs).write(0, "p", 1, written[0], 1)
    assert ((tmp_path / first.name).stat().st_ino, (tmp_path / first.name).stat().st_mtime_ns) == (inode, before)


def test_damage_is_found_where_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.state.history.SEGMENT_ROWS", 400)
    store = CheckpointStore(tmp_path.as_uri())
    owner, log = Owner(store, 1), records(200)
    owner.fold(log, 200)
    owner.checkpoint()
    (file,) = kept(store)
    path = tmp_path / file.name
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))
    segment = HistoryFiles(store.blobs).open(file.name)
    first, last = segment.places_of(0), segment.places_of(9)
    assert last[1] * segment.rows(*first).dtype.itemsize > BLOCK
    assert not segment.damaged
    with pytest.raises(BadObject, match="outcomes 0 to 200 of a history: the checksum of their data differs"):
        segment.rows(*last)
    assert segment.damaged


@pytest.mark.parametrize("cut", [0, 40, 300, -10])
def test_a_file_that_was_cut_is_no_segment_or_found_damaged(tmp_path: Path, cut: int) -> None:
    store = CheckpointStore(tmp_path.as_uri())
    owner, log = Owner(store, 1), records(30)
    owner.fold(log, 30)
    owner.checkpoint()
    (file,) = kept(store)
    path = tmp_path / file.name
    path.write_bytes(path.read_bytes()[:cut])

    def read() -> None:
        segment = HistoryFiles(store.blobs).open(file.name)
        segment.rows(*segment.places_of(9))

    with pytest.raises(BadObject):
        read()


def test_a_chain_has_the_files_that_together_hold_the_outcomes() -> None:
    def file(first: int, end: int, epoch: int = 1) -> SegmentFile:
        return SegmentFile(f"{folder_of(0)}/{first}-{end}-{epoch}", "p", 1, first, end, epoch)

    files = [file(0, 20), file(20, 40), file(20, 40, epoch=3), file(25, 45), file(60, 80), file(80, 100)]
    chain = chained(files, 80)
    assert [[(one.first, one.end, one.epoch) for one in each] for each in chain] == [
        [(60, 80, 1)], [(25, 45, 1)], [(0, 20, 1)],
    ]  # fmt: skip
    assert [[one.epoch for one in each] for each in chained(files[:3], 40)] == [[3, 1], [1]]


def test_an_object_store_is_asked_once_for_an_index_and_then_for_the_blocks_of_an_agent(
    store: CheckpointStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.state.history.SEGMENT_ROWS", 2000)
    monkeypatch.setattr("services.checkpoints.history_files._FRONT", 2048)
    owner, log = Owner(store, 1, control_of(pool_of("p"))), records(1000)
    owner.fold(log, 1000)
    owner.checkpoint()
    (file,) = kept(store)
    size, ranges = len(store.blobs.read(file.name)), list[tuple[int, int]]()
    read = store.blobs.read_range

    def noted(name: str, start: int, stop: int) -> bytes:
        ranges.append((start, stop))
        return read(name, start, stop)

    monkeypatch.setattr(store.blobs, "read_range", noted)
    segment = HistoryFiles(store.blobs).open(file.name)
    assert ranges == [(0, 2048)]
    rows = segment.rows(*segment.places_of(4))
    ((start, stop),) = ranges[1:]
    assert len(rows) * rows.dtype.itemsize <= stop - start <= len(rows) * rows.dtype.itemsize + 2 * BLOCK < size
    assert (np.diff(rows["outcome"].astype(np.int64)) > 0).all()


def test_the_fold_goes_on_while_a_write_hangs(store: CheckpointStore, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, log, release = Owner(store, 1), records(200), threading.Event()
    writer, write = owner.checkpointer.writer.history, HistoryFiles.write
    monkeypatch.setattr(history_module, "MOST", 2)
    monkeypatch.setattr(history_module, "PATIENCE", 0.0)

    def hangs(self: HistoryFiles, *segment: Any) -> None:
        release.wait()
        write(self, *segment)

    monkeypatch.setattr(HistoryFiles, "write", hangs)
    for end in range(20, 201, 20):
        owner.fold(log, end)
        writer.step(0)
    assert writer.dropped > 0
    release.set()
    writer.write(0)
    writer.close()
    held = [(file.first, file.end) for file in kept(store)]
    assert held[-2:] == [(160, 180), (180, 200)]
    assert len(held) + writer.dropped == 10


def test_the_fold_waits_for_a_slow_writer_that_makes_progress(store: CheckpointStore, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, log, permits = Owner(store, 1), records(200), threading.Semaphore(0)
    writer, write = owner.checkpointer.writer.history, HistoryFiles.write
    monkeypatch.setattr(history_module, "MOST", 2)
    monkeypatch.setattr(history_module, "PATIENCE", 0.0)

    class OneFileEachTime(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            permits.release()
            return super().wait(WAITING)

    def slow(self: HistoryFiles, *segment: Any) -> None:
        permits.acquire()
        write(self, *segment)

    writer._progress = OneFileEachTime()
    monkeypatch.setattr(HistoryFiles, "write", slow)
    for end in range(20, 201, 20):
        owner.fold(log, end)
        writer.step(0)
        assert len(writer._waiting) <= 3
    permits.release(100)
    writer.write(0)
    writer.close()
    assert writer.dropped == 0
    assert [(file.first, file.end) for file in kept(store)] == [(first, first + 20) for first in range(0, 200, 20)]


def test_a_file_that_is_removed_from_an_object_store_is_damaged_for_who_has_opened_it(store: CheckpointStore) -> None:
    owner, log = Owner(store, 1), records(30)
    owner.fold(log, 30)
    owner.checkpoint()
    (file,) = kept(store)
    segment = HistoryFiles(store.blobs).open(file.name)
    store.blobs.remove(file.name)
    with pytest.raises(BadObject, match="their file was removed"):
        segment.rows(*segment.places_of(9))
    assert segment.damaged


def test_mapped_files_keep_no_descriptor_open(tmp_path: Path) -> None:
    store = CheckpointStore((tmp_path / "state").as_uri())
    owner = Owner(store, 1)
    owner.fold(records(6 * ROWS), 6 * ROWS)
    owner.checkpoint()
    files, names = HistoryFiles(store.blobs), [file.name for file in kept(store)]
    assert len(names) > 3
    segments = [files.open(name) for name in names]
    opened = [str(path.resolve()) for path in Path("/proc/self/fd").iterdir()]
    assert not [path for path in opened if path.startswith(str(tmp_path))]
    for name in names:
        (tmp_path / "state" / name).unlink()
    assert all(len(segment.rows(0, 1)) == 1 for segment in segments), "the mapping outlives the name"
