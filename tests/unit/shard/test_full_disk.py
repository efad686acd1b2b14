"""A disk that is full, and then is not: nothing half-written stays, the last checkpoint stands, and writing goes on by itself."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import fsspec
import msgspec
import pytest

from services.checkpoints.checkpoint import CheckpointStore
from services.control.directory import LiveDirectory
from services.control.log import ControlLog
from services.control.records import FoldSettings
from services.demo import simulated
from services.log.protocol import Log, LogError
from services.log.sqlite.log import open_sqlite_log
from services.shard.checkpointing.checkpointer import Checkpointer
from services.shard.partition import Partition
from services.wire import events
from tests.support.disk import fill, mounted
from tests.support.waiting import PATIENCE

SIZE = 4 << 20


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path / "disk", SIZE) as folder:
        yield folder


def play(log: Log, start: int, stop: int) -> None:
    games = [simulated.game(i, float(i)) for i in range(start, stop)]
    log.outcomes.append(0, [(b"", record) for record in events.encode_records(games, 10)])


def fill_log(log: Log) -> None:
    """Append until the log refuses: its write-ahead log may have had room of its own."""
    while True:
        before = log.outcomes.end(0)
        try:
            log.outcomes.append(0, [(None, os.urandom(100_000))])
        except LogError:
            assert log.outcomes.end(0) == before, "nothing of what was refused stands"
            raise


def test_a_log_on_a_full_disk_refuses_and_goes_on_once_there_is_room(disk: Path) -> None:
    log = open_sqlite_log(disk / "log.sqlite", 1)
    play(log, 0, 100)
    ballast = fill(disk)
    with pytest.raises(LogError, match="full") as raised:
        fill_log(log)
    assert raised.value.retriable
    before = log.outcomes.end(0)
    ballast.unlink()
    play(log, 100, 200)
    assert log.outcomes.end(0) == before + 10
    reader = log.outcomes.reader({0: 0})
    offsets = []
    while len(offsets) < before + 10:
        offsets += [record.offset for record in reader.poll(5.0, 10_000)[0]]
    assert offsets == list(range(before + 10))
    reader.close()
    log.close()


class Folded:
    """A partition that is folded from a log in memory's place, and its checkpoints at `url`."""

    def __init__(self, folder: Path, url: str) -> None:
        self.log = open_sqlite_log(folder / "log.sqlite", 1)
        self.control = ControlLog(self.log.control)
        self.directory = LiveDirectory(self.control, FoldSettings(), 10, lambda: 0.0, create=True)
        self.partition, self.store = Partition(0, 1), CheckpointStore(url)
        self.checkpointer = Checkpointer(self.store, self.log.outcomes.identity, 1, 2, None)
        self.now = 0.0

    def grow(self, start: int, stop: int) -> None:
        play(self.log, start, stop)
        reader = self.log.outcomes.reader({0: self.partition.position})
        assert self.partition.fold(reader.poll(5.0, 10_000)[0], self.directory) == []
        reader.close()

    def checkpoint(self) -> None:
        """One try, to its end."""
        self.now += 1e6
        self.checkpointer.step(self.now, 1.0, self.partition)
        if self.checkpointer._job is not None:
            self.checkpointer._job.exception(60.0)
        self.checkpointer.step(self.now, 1.0, self.partition)

    @property
    def tries(self) -> tuple[float, float]:
        """Checkpoints written, and failed."""
        return self.checkpointer.figures.counts["checkpoints"], self.checkpointer.figures.counts["checkpoint_failures"]

    def close(self) -> None:
        self.checkpointer._executor.shutdown()
        self.control.close()
        self.log.close()


def test_a_checkpoint_on_a_full_disk_leaves_the_one_before_and_nothing_of_its_own(disk: Path, tmp_path: Path) -> None:
    one = Folded(tmp_path, (disk / "state").as_uri())
    one.grow(0, 500)
    one.checkpoint()
    files = sorted(path for path in disk.rglob("*") if path.is_file())
    standing = one.store.newest(0)
    assert standing is not None
    ballast = fill(disk)
    one.grow(500, 1000)
    for tries in (1, 2):
        one.checkpoint()
        assert one.tries == (1, tries)
        assert sorted(path for path in disk.rglob("*") if path.is_file() and path != ballast) == files
        assert one.store.recover(0, []) is not None
    ballast.unlink()
    one.checkpoint()
    assert one.tries == (2, 2)
    newest = one.store.newest(0)
    assert newest is not None
    assert newest.position == one.partition.position > standing.position
    one.close()


def test_a_store_of_objects_that_refuses_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = Folded(tmp_path, f"memory://full-{tmp_path.name}")
    one.grow(0, 100)
    files = type(fsspec.filesystem("memory"))
    opened = files._open

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "_open", full)
    one.checkpoint()
    assert one.tries == (0, 1)
    monkeypatch.setattr(files, "_open", opened)
    one.checkpoint()
    assert one.tries == (1, 1)
    assert one.store.recover(0, []) is not None
    one.close()


def test_a_checkpoint_counts_although_its_store_refuses_to_remove_older_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = Folded(tmp_path, f"memory://kept-{tmp_path.name}")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(type(fsspec.filesystem("memory")), "rm_file", refuse)
        for i in range(4):
            one.grow(100 * i, 100 * i + 100)
            one.checkpoint()
            assert one.checkpointer.newest is not None
            assert one.checkpointer.newest.position == one.partition.position
    assert one.tries == (4, 2)
    assert len(one.store.manifests(0)) == 4
    one.grow(400, 500)
    one.checkpoint()
    assert one.tries == (5, 2)
    assert len(one.store.manifests(0)) == 2
    one.close()


def test_a_checkpoint_is_due_after_some_time_or_after_so_many_outcomes(tmp_path: Path) -> None:
    one = Folded(tmp_path, f"memory://due-{tmp_path.name}")
    one.grow(0, 100)
    one.checkpoint()
    for start, stop, began in ((100, 140, False), (140, 180, True), (180, 220, False), (220, 260, True)):
        one.grow(start, stop)
        one.checkpointer.step(one.now, 1e9, one.partition, 80)
        assert (one.checkpointer._job is not None) == began
        if one.checkpointer._job is not None:
            one.checkpointer._job.exception(60.0)
    one.checkpointer.step(one.now, 1e9, one.partition, 80)
    assert one.tries == (3, 0)
    one.close()


def test_what_is_frozen_stays_as_it_was_while_folding_goes_on(tmp_path: Path) -> None:
    one = Folded(tmp_path, f"memory://frozen-{tmp_path.name}")
    one.grow(0, 300)
    [state] = one.partition.pools.values()
    before, frozen = state.arrays(), state.freeze()
    one.grow(300, 600)
    after = frozen.arrays()
    assert after.keys() == before.keys()
    assert all(after[name].tobytes() == before[name].tobytes() for name in before)
    assert msgspec.json.encode(sorted(state.arrays())) == msgspec.json.encode(sorted(before))
    one.close()


OPENED = """
import sys
from pathlib import Path
from services.log.protocol import LogError
from services.log.sqlite.log import open_sqlite_log

log = open_sqlite_log(Path(sys.argv[1]), 1)
reader = log.outcomes.reader({0: 0})
print(len(reader.poll(5.0, 10_000)[0]))
try:
    log.outcomes.append(0, [(None, bytes(1_000_000))] * 4)
except LogError as error:
    print(error.retriable)
"""


def test_who_starts_while_the_disk_is_full_reads_the_log_and_is_told_that_it_takes_nothing(disk: Path) -> None:
    """As an API does that is started again beside an engine."""
    log = open_sqlite_log(disk / "log.sqlite", 1)
    play(log, 0, 100)
    fill(disk)
    command = [sys.executable, "-c", OPENED, str(disk / "log.sqlite")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, cwd=Path(__file__).parents[3])
    assert (done.returncode, done.stdout.split()) == (0, ["10", "True"]), done.stderr
    log.close()
