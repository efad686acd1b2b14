"""Backups of a data folder that is being written to, and folders made from them."""

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ratings_core.errors import InputError
from services import backup, events, generations
from services.control import ControlLog
from services.demo import simulated
from services.log.partition import partition_of
from services.log.protocol import Log
from services.log.sqlite import open_sqlite_log
from services.pools import FoldSettings
from services.shard.build import Build
from services.shard.checkpoint import CheckpointStore
from services.shard.checkpointer import Checkpointer
from services.shard.directory import LiveDirectory
from services.shard.partition import Partition
from services.shard.recovery import recover
from services.verify import verify_partition

PARTITIONS = 3
HOME = partition_of(simulated.POOL, PARTITIONS)


def play(log: Log, start: int, stop: int) -> None:
    games = [simulated.game(i, float(i)) for i in range(start, stop)]
    log.outcomes.append(HOME, [(b"", record) for record in events.encode_records(games, 10)])


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def log(data: Path) -> Iterator[Log]:
    """A folder with 200 games, folded and checkpointed."""
    data.mkdir()
    log = open_sqlite_log(data / "log.sqlite", PARTITIONS)
    play(log, 0, 200)
    control = ControlLog(log.control)
    directory = LiveDirectory(control, FoldSettings(), 10, lambda: 0.0, create=True)
    partition = Partition(HOME, PARTITIONS)
    reader = log.outcomes.reader({HOME: 0})
    assert partition.fold(reader.poll(5.0, 100)[HOME], directory) == []
    reader.close()
    control.close()
    Checkpointer(CheckpointStore((data / "state").as_uri()), log.outcomes.identity, 1, 3, None).drain(0.0, partition)
    (data / "replay").mkdir()
    (data / "replay" / "x.json").write_text("{}")
    yield log
    log.close()


def test_a_folder_comes_back_and_verifies(data: Path, log: Log, tmp_path: Path) -> None:
    made = backup.back_up(data, tmp_path / "copy", PARTITIONS)
    assert (made.outcomes, made.checkpoints) == (20, 1)
    again = backup.restore(tmp_path / "copy", tmp_path / "again")
    assert (again.outcomes, again.checkpoints) == (20, 1)
    assert (tmp_path / "again" / "replay" / "x.json").exists()
    copy = open_sqlite_log(tmp_path / "again" / "log.sqlite", PARTITIONS)
    found = list(verify_partition(HOME, copy, CheckpointStore((tmp_path / "again" / "state").as_uri()), None))
    assert [(one.what, one.difference) for one in found] == [("checkpoint", None)]
    assert copy.outcomes.identity == log.outcomes.identity
    play(copy, 200, 210)
    copy.close()


def test_a_generation_under_construction_is_in_the_backup(data: Path, log: Log, tmp_path: Path) -> None:
    control, checkpoints = ControlLog(log.control), CheckpointStore((data / "state").as_uri())
    control.want(generations.wish(control.standing(simulated.POOL), time=0.0, bans=["rock"]))
    wish = control.refresh().wish(simulated.POOL)
    assert wish is not None
    made = control.create_generation(generations.after_wish(control.refresh(), wish, 20, 0, 0.0))
    partition, manifest = recover(HOME, log.outcomes, control.refresh(), checkpoints, [])
    partition.begin(Build(control.refresh().pools[simulated.POOL], made))
    control.close()
    Checkpointer(checkpoints, log.outcomes.identity, 1, 3, manifest).drain(1.0, partition)
    assert backup.back_up(data, tmp_path / "copy", PARTITIONS).checkpoints == 1
    found = CheckpointStore((tmp_path / "copy" / "state").as_uri()).recover(HOME, [])
    assert found is not None
    assert [entry.generation for entry in found[0].entries] == [1, 2]


def test_a_backup_of_a_log_that_is_written_holds_all_that_was_acknowledged_before(data: Path, log: Log, tmp_path: Path) -> None:
    stop, written = threading.Event(), [200]

    def write() -> None:
        while not stop.is_set():
            play(log, written[0], written[0] + 10)
            written[0] += 10

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for i in range(5):
            before = written[0]
            made = backup.back_up(data, tmp_path / f"copy-{i}", PARTITIONS)
            assert made.outcomes >= before // 10
            assert backup.restore(tmp_path / f"copy-{i}", tmp_path / f"again-{i}").outcomes == made.outcomes
    finally:
        stop.set()
        writer.join()


def test_nothing_is_written_over(data: Path, log: Log, tmp_path: Path) -> None:
    backup.back_up(data, tmp_path / "copy", PARTITIONS)
    with pytest.raises(InputError, match="must not exist"):
        backup.back_up(data, tmp_path / "copy", PARTITIONS)
    with pytest.raises(InputError, match="must hold nothing of another installation"):
        backup.restore(tmp_path / "copy", data)
    with pytest.raises(InputError, match="data folder of"):
        backup.back_up(tmp_path / "nothing", tmp_path / "other", PARTITIONS)
    with pytest.raises(InputError, match="equirank backup"):
        backup.restore(tmp_path / "nothing", tmp_path / "other")


def test_what_a_backup_that_was_cut_off_left_is_not_touched(data: Path, log: Log, tmp_path: Path) -> None:
    (tmp_path / "copy.part").mkdir()
    with pytest.raises(InputError, match="cut off"):
        backup.back_up(data, tmp_path / "copy", PARTITIONS)
    assert (tmp_path / "copy.part").exists()


def test_a_backup_that_fails_leaves_nothing(data: Path, log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_source: Path, _target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(backup, "_copy_log", full)
    with pytest.raises(OSError, match="No space"):
        backup.back_up(data, tmp_path / "copy", PARTITIONS)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data"]


def test_a_damaged_backup_is_refused_and_makes_no_log(data: Path, log: Log, tmp_path: Path) -> None:
    backup.back_up(data, tmp_path / "copy", PARTITIONS)
    with sqlite3.connect(tmp_path / "copy" / "log.sqlite") as file:
        file.execute("PRAGMA application_id = 7")
    file.close()
    with pytest.raises(InputError, match="log of Equirank"):
        backup.restore(tmp_path / "copy", tmp_path / "again")
    assert not (tmp_path / "again" / "log.sqlite").exists()


@pytest.mark.parametrize("left", ["log.sqlite-wal", "state/x", "replay/x"])
def test_what_is_left_of_another_installation_is_never_mixed_in(data: Path, log: Log, tmp_path: Path, left: str) -> None:
    backup.back_up(data, tmp_path / "copy", PARTITIONS)
    used = tmp_path / "used"
    (used / left).parent.mkdir(parents=True)
    (used / left).write_text("x")
    with pytest.raises(InputError, match=f"must hold nothing .*{Path(left).parts[0]}"):
        backup.restore(tmp_path / "copy", used)
    assert not (used / "log.sqlite").exists()


def test_a_restore_that_was_cut_off_is_done_again(data: Path, log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backup.back_up(data, tmp_path / "copy", PARTITIONS)

    def cut(_source: Path, _target: Path) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(backup, "_copy_log", cut)
        with pytest.raises(OSError, match="No space"):
            backup.restore(tmp_path / "copy", tmp_path / "again")
    (tmp_path / "again" / "state" / "stray").write_text("of the one cut off")
    assert backup.restore(tmp_path / "copy", tmp_path / "again").outcomes == 20
    assert not (tmp_path / "again" / "state" / "stray").exists()
