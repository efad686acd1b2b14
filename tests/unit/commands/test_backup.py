"""Backups of a data folder that is being written to, and folders made from them."""

import hashlib
import os
import shutil
import sqlite3
import threading
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from ratings_core.errors import InputError
from services.admin import backup
from services.admin.verify import verify_partition
from services.checkpoints.blob_files import BlobFiles
from services.checkpoints.checkpoint import CheckpointStore
from services.cli.backup import backup as command
from services.cli.restore import restore as restore_command
from services.control import generations
from services.control.directory import LiveDirectory
from services.control.log import ControlLog
from services.control.records import FoldSettings
from services.demo import simulated
from services.log.partition import partition_of
from services.log.protocol import Log, LogError
from services.log.sqlite.log import open_sqlite_log
from services.shard.checkpointing.checkpointer import Checkpointer
from services.shard.generations.build import Build
from services.shard.partition import Partition
from services.shard.recovery import recover
from services.solve.results import ResultFiles
from services.wire import events
from tests.support.boards import solved_of
from tests.support.disk import fill, mounted

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
    Checkpointer(CheckpointStore((data / "state").as_uri()), log.outcomes.identity, 1, 3, None).drain(partition)
    (data / "replay").mkdir()
    (data / "replay" / "x.json").write_text("{}")
    yield log
    log.close()


def test_a_folder_comes_back_and_verifies(data: Path, log: Log, tmp_path: Path) -> None:
    made = backup.back_up(data, tmp_path / "copy")
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


def test_a_restore_takes_no_memory_of_the_size_of_a_file(data: Path, log: Log, tmp_path: Path) -> None:
    size = 1 << 26
    with (data / "replay" / "large.json").open("wb") as file:
        file.truncate(size)
    backup.back_up(data, tmp_path / "copy")
    tracemalloc.start()
    try:
        backup.restore(tmp_path / "copy", tmp_path / "again")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (tmp_path / "again" / "replay" / "large.json").stat().st_size == size
    assert peak < size // 4


def test_checkpoints_and_results_that_lie_elsewhere_are_in_the_backup_and_come_back_there(
    data: Path, log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (data / "state").rename(tmp_path / "elsewhere")
    ResultFiles(BlobFiles((tmp_path / "elsewhere").as_uri()), 5).write(solved_of(simulated.POOL))
    BlobFiles((tmp_path / "elsewhere").as_uri()).write("history/p00000/blitz.eqh", [b"outcomes"])
    monkeypatch.setenv("EQUIRANK_CHECKPOINTS", str(tmp_path / "elsewhere"))
    command(tmp_path / "copy", data)
    assert "checkpoints of 1 partitions" in capsys.readouterr().out
    with pytest.raises(InputError, match=r"EQUIRANK_CHECKPOINTS .*must not contain .*\(checkpoints, objects, history, results\)"):
        restore_command(tmp_path / "copy", tmp_path / "again")
    assert not (tmp_path / "again").exists()
    monkeypatch.setenv("EQUIRANK_CHECKPOINTS", (tmp_path / "new").as_uri())
    restore_command(tmp_path / "copy", tmp_path / "again")
    assert "20 records, checkpoints of 1 partitions" in capsys.readouterr().out
    assert not (tmp_path / "again" / "state").exists()
    assert CheckpointStore((tmp_path / "new").as_uri()).recover(HOME, []) is not None
    assert len(BlobFiles((tmp_path / "new").as_uri()).tree("results")) == 1
    assert BlobFiles((tmp_path / "new").as_uri()).read("history/p00000/blitz.eqh") == b"outcomes"


def test_a_restore_that_fails_leaves_no_checkpoints_elsewhere(
    data: Path, log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup.back_up(data, tmp_path / "copy")

    write, written = BlobFiles.write, list[str]()

    def fills(self: BlobFiles, name: str, parts: Sequence[bytes | memoryview]) -> None:
        if name.startswith("checkpoints/"):
            raise OSError(28, "No space left on device")
        write(self, name, parts)
        written.append(name)

    monkeypatch.setattr(BlobFiles, "write", fills)
    with pytest.raises(OSError, match="No space"):
        backup.restore(tmp_path / "copy", tmp_path / "again", checkpoints=str(tmp_path / "new"))
    assert written, "objects come before the checkpoints that name them"
    assert not [path for path in (tmp_path / "new").rglob("*") if path.is_file()]
    assert not (tmp_path / "again" / "log.sqlite").exists()


def test_checkpoints_of_another_log_are_in_no_backup(data: Path, log: Log, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    open_sqlite_log(other / "log.sqlite", PARTITIONS).close()
    with pytest.raises(InputError, match="must contain checkpoints of this log"):
        backup.back_up(other, tmp_path / "copy", checkpoints=(data / "state").as_uri())
    assert not (tmp_path / "copy").exists()


def test_a_generation_under_construction_is_in_the_backup(data: Path, log: Log, tmp_path: Path) -> None:
    control, checkpoints = ControlLog(log.control), CheckpointStore((data / "state").as_uri())
    control.want(generations.wish(control.standing(simulated.POOL), time=0.0, bans=["rock"]))
    wish = control.refresh().wish(simulated.POOL)
    assert wish is not None
    made = control.create_generation(generations.after_wish(control.refresh(), wish, 20, 0, 0.0))
    partition, manifest = recover(HOME, log, control.refresh(), checkpoints, [])
    partition.begin(Build(control.refresh().pools[simulated.POOL], made))
    control.close()
    Checkpointer(checkpoints, log.outcomes.identity, 1, 3, manifest).drain(partition)
    assert backup.back_up(data, tmp_path / "copy").checkpoints == 1
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
            made = backup.back_up(data, tmp_path / f"copy-{i}")
            assert made.outcomes >= before // 10
            assert backup.restore(tmp_path / f"copy-{i}", tmp_path / f"again-{i}").outcomes == made.outcomes
    finally:
        stop.set()
        writer.join()


def test_nothing_is_written_over(data: Path, log: Log, tmp_path: Path) -> None:
    backup.back_up(data, tmp_path / "copy")
    with pytest.raises(InputError, match="must not exist"):
        backup.back_up(data, tmp_path / "copy")
    with pytest.raises(InputError, match="must not contain another installation's data"):
        backup.restore(tmp_path / "copy", data)
    with pytest.raises(InputError, match="data folder of"):
        backup.back_up(tmp_path / "nothing", tmp_path / "other")
    with pytest.raises(InputError, match="equirank backup"):
        backup.restore(tmp_path / "nothing", tmp_path / "other")


def test_what_a_backup_that_was_cut_off_left_is_not_touched(data: Path, log: Log, tmp_path: Path) -> None:
    (tmp_path / "copy.part").mkdir()
    with pytest.raises(InputError, match="interrupted"):
        backup.back_up(data, tmp_path / "copy")
    assert (tmp_path / "copy.part").exists()


def test_a_backup_that_fails_leaves_nothing(data: Path, log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_source: Path, _target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(backup, "copy_log", full)
    with pytest.raises(OSError, match="No space"):
        backup.back_up(data, tmp_path / "copy")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data"]


def test_a_log_that_is_not_ours_is_refused_and_makes_no_log(data: Path, log: Log, tmp_path: Path) -> None:
    backup.back_up(data, tmp_path / "copy")
    (tmp_path / "copy" / "backup.json").unlink()
    with sqlite3.connect(tmp_path / "copy" / "log.sqlite") as file:
        file.execute("PRAGMA application_id = 7")
    file.close()
    with pytest.raises(InputError, match="log of Equirank"):
        backup.restore(tmp_path / "copy", tmp_path / "again")
    assert not (tmp_path / "again" / "log.sqlite").exists()


@pytest.mark.parametrize("left", ["log.sqlite-wal", "state/x", "replay/x"])
def test_what_is_left_of_another_installation_is_never_mixed_in(data: Path, log: Log, tmp_path: Path, left: str) -> None:
    backup.back_up(data, tmp_path / "copy")
    used = tmp_path / "used"
    (used / left).parent.mkdir(parents=True)
    (used / left).write_text("x")
    with pytest.raises(InputError, match=f"must not contain .*{Path(left).parts[0]}"):
        backup.restore(tmp_path / "copy", used)
    assert not (used / "log.sqlite").exists()


def test_a_restore_that_was_cut_off_is_done_again(data: Path, log: Log, tmp_path: Path) -> None:
    backup.back_up(data, tmp_path / "copy")
    again = tmp_path / "again"
    (again / "state").mkdir(parents=True)
    (again / "log.sqlite.part").touch()
    (again / "state" / "stray").write_text("of the one cut off")
    assert backup.restore(tmp_path / "copy", again).outcomes == 20
    assert not (again / "state" / "stray").exists()


def test_every_partition_of_the_log_is_in_a_backup_whatever_the_settings_say(
    data: Path, log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EQUIRANK_PARTITIONS", str(HOME))
    command(tmp_path / "copy", data)
    assert "20 records, 0 archived outcomes, checkpoints of 1 partitions" in capsys.readouterr().out


def test_a_folder_that_nobody_runs_is_backed_up(data: Path, log: Log, tmp_path: Path) -> None:
    log.close()
    assert not (data / "log.sqlite-wal").exists()
    assert backup.back_up(data, tmp_path / "copy").outcomes == 20


def turned(path: Path) -> None:
    """One bit in the middle of an outcome."""
    body = bytearray(path.read_bytes())
    body[body.index(b'"rock"') + 2] ^= 1
    path.write_bytes(bytes(body))


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def damage_of_manifest(folder: Path) -> None:
    cut(next(folder.rglob("checkpoints/*/*.json")))


def newer(folder: Path) -> None:
    body = (folder / "backup.json").read_bytes().partition(b"\n")[2].replace(b'"format":1', b'"format":2').replace(b'"files"', b'"parts"')
    (folder / "backup.json").write_bytes(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)


DAMAGES: list[tuple[Callable[[Path], object], str]] = [
    (lambda folder: turned(folder / "log.sqlite"), r"log\.sqlite is not: its checksum differs"),
    (lambda folder: cut(folder / "log.sqlite"), r"log\.sqlite is not: it has \d+ of \d+ bytes"),
    (lambda folder: shutil.rmtree(folder / "state" / "objects"), r"\.eqr is not: it is missing"),
    (damage_of_manifest, r"\.json is not: it has \d+ of \d+ bytes"),
    (lambda folder: cut(folder / "backup.json"), r"backup\.json is not: its checksum differs"),
    (newer, "was made by a later release"),
]


@pytest.mark.parametrize(("damage", "words"), DAMAGES, ids=[words for _, words in DAMAGES])
def test_a_backup_that_is_not_as_it_was_made_is_refused(
    data: Path, log: Log, tmp_path: Path, damage: Callable[[Path], object], words: str
) -> None:
    backup.back_up(data, tmp_path / "copy")
    damage(tmp_path / "copy")
    with pytest.raises(InputError, match=words):
        backup.restore(tmp_path / "copy", tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_a_log_of_a_later_release_is_refused(data: Path, log: Log, tmp_path: Path) -> None:
    """Of a backup that an earlier release made, which took no stock of it."""
    backup.back_up(data, tmp_path / "copy")
    (tmp_path / "copy" / "backup.json").unlink()
    assert backup.restore(tmp_path / "copy", tmp_path / "fine").checkpoints == 1
    with sqlite3.connect(tmp_path / "copy" / "log.sqlite") as file:
        file.execute("PRAGMA user_version = 99")
    file.close()
    with pytest.raises(InputError, match="schema version 1, not 99"):
        backup.restore(tmp_path / "copy", tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_what_was_put_beside_a_backup_is_not_restored(data: Path, log: Log, tmp_path: Path) -> None:
    backup.back_up(data, tmp_path / "copy")
    (tmp_path / "copy" / "state" / "results").mkdir(exist_ok=True)
    (tmp_path / "copy" / "state" / "results" / "stray.json").write_text("{}")
    backup.restore(tmp_path / "copy", tmp_path / "again")
    assert not (tmp_path / "again" / "state" / "results").exists()


def test_a_disk_that_fills_during_a_backup_or_a_restore_keeps_nothing_of_it(data: Path, log: Log, tmp_path: Path) -> None:
    """However far each comes."""
    play(log, 200, 2000)
    backup.back_up(data, tmp_path / "copy")
    size = sum(path.stat().st_size for path in (tmp_path / "copy").rglob("*") if path.is_file())
    with mounted(tmp_path / "disk", 2 * size + (1 << 20)) as disk:
        failed = 0
        for part in range(12):
            ballast = fill(disk, part * size // 10)
            for work, target in ((backup.back_up, disk / "saved"), (backup.restore, disk / "data")):
                try:
                    work(data if work is backup.back_up else tmp_path / "copy", target)
                except (OSError, LogError):
                    failed += 1
                    left = [path.name for path in disk.rglob("*") if path.is_file()]
                    assert sorted(left) in (["ballast"], ["ballast", "lock"]), f"{work.__name__} with {part}/10 of its room"
                shutil.rmtree(target, ignore_errors=True)
            ballast.unlink()
        assert failed > 8
        assert backup.back_up(data, disk / "saved").outcomes == 200
        assert backup.restore(disk / "saved", tmp_path / "again").outcomes == 200


def test_what_else_lies_in_a_folder_does_not_matter_to_a_restore(data: Path, log: Log, tmp_path: Path) -> None:
    """Such as `lost+found` of a disk that is mounted there, which only root may open."""
    made = backup.back_up(data, tmp_path / "copy")
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "lost+found").symlink_to("nowhere")  # nobody can open it, root neither
    assert backup.restore(tmp_path / "copy", tmp_path / "disk").outcomes == made.outcomes
