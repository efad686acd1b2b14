"""The archive that the embedded log has by default: a copy of the log. If it fails, everything reads the log, and says so."""

import logging
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from deltalake.exceptions import DeltaError
from typer.testing import CliRunner

from ratings_core.errors import InputError
from services.admin import backup, export
from services.admin.log_coverage import coverage
from services.admin.verify_archive import verify_archive
from services.archive.history import ArchiveFails, next_archived
from services.archive.reader import ArchiveReader, open_reader
from services.backends import open_log
from services.checkpoints.checkpoint import CheckpointStore
from services.cli.main import application
from services.control.log import ControlLog
from services.demo import simulated
from services.log.protocol import Log, LogError
from services.runtime.settings import Settings
from tests.support.archiving import archive, failed, fold, served
from tests.support.command_line import Run
from tests.support.worker import HOME, SETTINGS, differences, published, retract, until, working

Damage = Callable[[Path], object]


@pytest.fixture
def log(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Log]:
    monkeypatch.delenv("EQUIRANK_ARCHIVE", raising=False)
    with closing(open_log(settings)) as log:
        yield log


def newest_file_is_lost(archived: Path) -> None:
    max(archived.rglob("*.parquet"), key=lambda file: file.stat().st_mtime_ns).unlink()


def newest_file_is_garbage(archived: Path) -> None:
    file = max(archived.rglob("*.parquet"), key=lambda file: file.stat().st_mtime_ns)
    file.write_bytes(b"x" * file.stat().st_size)


def entry_is_garbage(archived: Path) -> None:
    max(archived.rglob("*.json")).write_bytes(b"{")


def half_archived(settings: Settings, log: Log) -> None:
    """300 games in two files of the archive."""
    fold(settings, log, 0, 200)
    archive(settings)
    fold(settings, log, 200, 300)
    assert archive(settings) == 30


def exported(file: Path) -> list[str]:
    ids: list[str] = pq.read_table(file)["id"].to_pylist()
    return ids


IDS = [simulated.game(i, float(i)).id for i in range(300)]


def test_the_log_drops_nothing_for_it_and_folds_read_it(settings: Settings, log: Log, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    half_archived(settings, log)
    assert (log.outcomes.begin(HOME), open_reader(str(settings.data / "archive"), HOME).position) == (0, 30)
    read = list[int]()
    tables = ArchiveReader._tables

    def counted(reader: ArchiveReader, *given: Any, **named: Any) -> Any:
        read.append(reader.rows)
        return tables(reader, *given, **named)

    monkeypatch.setattr(ArchiveReader, "_tables", counted)
    with working(settings, log):
        run("pools", "settings", simulated.POOL, "--set", "online.elo.k=10")
        until(lambda: (served(log), published(settings)) == (2, 300), "the second generation serves")
    assert read, "the new generation was folded from the archive"
    assert differences(settings, log) == []
    verified = run("verify")
    assert f"partition {HOME} archive at 30: equal" in verified
    assert f"partition {HOME} 300 archived rows against the log at 30: equal" in verified


def test_a_log_of_an_earlier_release_is_archived_from_its_first_record(settings: Settings, log: Log) -> None:
    fold(settings, log, 0, 300)
    assert not (settings.data / "archive").exists()
    assert list(verify_archive(str(settings.archive_url), log, is_copy=True)) == [], "a copy that has not begun lacks nothing"
    assert archive(settings) == 30
    assert open_reader(str(settings.data / "archive"), HOME).rows == 300


@pytest.mark.parametrize(("damage", "is_copied"), [(newest_file_is_lost, False), (newest_file_is_garbage, True), (entry_is_garbage, False)])
def test_nothing_stops_when_it_fails_and_all_say_so(
    settings: Settings, log: Log, run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: Damage, is_copied: bool
) -> None:
    """A backup copies bytes: it notices files that it cannot open, and no others."""
    half_archived(settings, log)
    damage(settings.data / "archive")
    with caplog.at_level(logging.WARNING), working(settings, log):
        retract(log, [0, 250])
        until(lambda: published(settings) == 298, "they count no more")
        assert (served(log), failed(settings)) == (2, "")
    assert f"the archive of partition {HOME} cannot be read" in caplog.text
    assert "the log has these records and is read instead" in caplog.text
    assert differences(settings, log) == []

    run("export", str(file := tmp_path / "games.parquet"), "--pool", simulated.POOL)
    assert [one for one in exported(file) if not one.startswith("r")] == IDS
    assert "paper" in run("solve", "--pool", simulated.POOL, "--method", "elo")

    verified = CliRunner().invoke(application("verify"), ["verify"], env={"COLUMNS": "200"})
    assert verified.exit_code == 1
    assert f"the log has all its rows: stop `equirank up`, remove {settings.data}/archive/partition-{HOME:05d}" in verified.output

    saved = tmp_path / "saved"
    assert ("not copied: the archive" not in run("backup", str(saved))) == is_copied
    again = Settings(data=tmp_path / "again", redis=settings.redis, **SETTINGS)
    backup.restore(saved, again.data, again.archive_url)
    with closing(open_log(again)) as copy:
        assert copy.outcomes.end(HOME) == log.outcomes.end(HOME)


def test_a_folder_that_cannot_be_written_fails_only_its_appends(settings: Settings, log: Log, run: Run, tmp_path: Path) -> None:
    fold(settings, log, 0, 200)
    (settings.data / "archive").write_bytes(b"")
    with pytest.raises((OSError, DeltaError)):
        archive(settings)
    fold(settings, log, 200, 300)
    with working(settings, log):
        retract(log, [0])
        until(lambda: published(settings) == 299, "it counts no more")
    assert f"not archived yet: partitions [{HOME}]; the log has their outcomes" in run("verify")
    assert "0 archived outcomes" in run("backup", str(tmp_path / "saved"))


def test_the_list_of_partitions_names_an_archive_that_cannot_be_read(settings: Settings, log: Log, run: Run) -> None:
    half_archived(settings, log)
    entry_is_garbage(settings.data / "archive")
    control = ControlLog(log.control)
    found = list(coverage(log, control.refresh(), CheckpointStore(settings.checkpoint_url)))[HOME]
    control.close()
    assert (found.lost, found.unreadable, found.archived) == (None, None, None)
    assert "cannot be read" in str(found.unread)
    assert "the partition continues, because its log has all records that it needs" in run("partitions", "list")


def test_an_export_continues_in_the_log_within_a_record(
    settings: Settings, log: Log, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The archive fails after seven tables of seven rows, and a record has ten outcomes."""
    half_archived(settings, log)
    left = [7]

    def failing(partition: int, following: Iterator[Any]) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise ArchiveFails(partition, "a test", retriable=True)
        return next_archived(partition, following)

    monkeypatch.setattr(export, "_ROWS", 7)
    monkeypatch.setattr(export, "next_archived", failing)
    run("export", str(file := tmp_path / "games.parquet"), "--pool", simulated.POOL)
    assert left == [-1]
    assert exported(file) == IDS


def test_an_archive_that_is_removed_is_written_again(settings: Settings, log: Log) -> None:
    half_archived(settings, log)
    shutil.rmtree(settings.data / "archive")
    assert differences(settings, log) == []
    assert archive(settings) == 30
    assert open_reader(str(settings.data / "archive"), HOME).rows == 300


def test_a_backup_has_it_and_is_restored_without_it_where_it_is_off(settings: Settings, log: Log, run: Run, tmp_path: Path) -> None:
    half_archived(settings, log)
    saved = tmp_path / "saved"
    assert "300 archived outcomes" in run("backup", str(saved))
    again = Settings(data=tmp_path / "again", **SETTINGS)
    backup.restore(saved, again.data, again.archive_url)
    assert open_reader(str(again.data / "archive"), HOME).rows == 300
    off = Settings(data=tmp_path / "off", archive="off", **SETTINGS)
    backup.restore(saved, off.data, off.archive_url)
    assert not (off.data / "archive").exists()
    for restored in (again, off):
        with closing(open_log(restored)) as copy:
            assert copy.outcomes.end(HOME) == log.outcomes.end(HOME)


def test_a_killed_restore_is_repeated_over_its_own_part_of_the_archive(settings: Settings, log: Log, run: Run, tmp_path: Path) -> None:
    half_archived(settings, log)
    run("backup", str(saved := tmp_path / "saved"))
    again = Settings(data=tmp_path / "again", **SETTINGS)
    shutil.copytree(saved / "archive", again.data / "archive")
    newest_file_is_garbage(again.data / "archive")
    with pytest.raises(InputError, match="must be a new or empty folder"):
        backup.restore(saved, again.data, again.archive_url)
    (again.data / "log.sqlite.part").touch()
    (other := again.data / "archive" / "other").touch()
    with pytest.raises(InputError, match="must be a new or empty folder"):
        backup.restore(saved, again.data, again.archive_url)
    other.unlink()
    backup.restore(saved, again.data, again.archive_url)
    with closing(open_log(again)) as copy:
        assert [found.difference for found in verify_archive(str(again.archive_url), copy, is_copy=True)] == [None, None]


def test_a_backup_in_a_folder_that_tables_cannot_be_in_lacks_a_copy_and_fails_for_an_archive(
    settings: Settings, log: Log, run: Run, tmp_path: Path
) -> None:
    half_archived(settings, log)
    assert "not copied: the archive" in run("backup", str(tmp_path / "saved[1]"))
    assert not (tmp_path / "saved[1]" / "archive").exists()
    with pytest.raises(InputError, match=r"target must not contain \["):
        backup.back_up(settings.data, tmp_path / "saved[2]", settings.archive_url)
    assert not list(tmp_path.glob("saved[[]2]*"))


def test_the_log_drops_what_it_holds_once_it_is_set(settings: Settings, log: Log, run: Run, tmp_path: Path) -> None:
    half_archived(settings, log)
    named = settings.model_copy(update={"archive": str(settings.data / "archive")})
    assert archive(named) == 30
    assert log.outcomes.begin(HOME) == 29
    assert log.history.begin(HOME) == 0, "also where the setting is removed again"
    assert differences(settings, log) == []

    entry_is_garbage(settings.data / "archive")
    [found] = verify_archive(str(settings.archive_url), log, is_copy=True)
    assert "the log has all" not in str(found.difference), "it is no copy any more"
    with pytest.raises(LogError, match=r"cannot be read"):
        run("export", str(tmp_path / "games.parquet"), "--pool", simulated.POOL)
    with pytest.raises((LogError, DeltaError)):
        run("backup", str(tmp_path / "saved"))


def test_a_copy_that_reaches_beyond_the_log_is_not_read(
    settings: Settings, log: Log, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the log's file was replaced by an older one."""
    half_archived(settings, log)
    assert log.archived is not None
    monkeypatch.setattr(log.outcomes, "end", lambda _: 25)
    assert [len(part.records) for part in log.archived.parts_of(simulated.POOL, HOME, 0)] == [0]
    assert "it holds records up to offset 30, and the log ends at 25" in caplog.text
