"""Backups of an installation whose log drops what is archived: log and archive of a backup are the whole log."""

import shutil
import threading
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from ratings_core.errors import InputError
from services.admin import backup, inventory
from services.admin.verify import verify_partition
from services.admin.verify_archive import verify_archive
from services.archive.erasure import erase_rows
from services.archive.follow import follow
from services.backends import open_log
from services.checkpoints.checkpoint import CheckpointStore
from services.control.erasures import ErasureRequest, erased_name
from services.control.log import ControlLog
from services.demo import simulated
from services.engine.archiver import append_partition
from services.log.protocol import Log, LogError
from services.runtime.settings import Settings
from tests.support.archiving import archive, fold
from tests.support.worker import HOME, SETTINGS, play


def restored(source: Path, folder: Path) -> tuple[list[str | None], int]:
    """Restore a backup, verify all of it from the first outcome; differences, and the end of its log."""
    again = Settings(data=folder / "data", archive=str(folder / "archive"), **SETTINGS)
    backup.restore(source, again.data, again.archive)
    with closing(open_log(again)) as copy:
        found = list(verify_partition(HOME, copy, CheckpointStore(again.checkpoint_url), None))
        assert {one.what for one in found} == {"checkpoint"}
        assert copy.history.begin(HOME) == 0
        tables = list(verify_archive(str(again.archive), copy))
        with closing(copy.history.reader({HOME: 0})) as reader:
            while reader.position(HOME) < copy.outcomes.end(HOME):
                reader.poll(1.0, 1000)
        play(copy, 0, 10)
        return [one.difference for one in [*found, *tables]], copy.outcomes.end(HOME)


def test_a_backup_has_log_and_archive_and_verifies_from_the_first_outcome(tmp_path: Path, settings: Settings, log: Log) -> None:
    fold(settings, log, 0, 200)
    assert archive(settings) == 20
    assert log.outcomes.begin(HOME) == 19
    fold(settings, log, 200, 300)
    done = backup.back_up(settings.data, tmp_path / "copy", settings.archive)
    assert (done.outcomes, done.checkpoints, done.archived) == (11, 3, 200)
    assert restored(tmp_path / "copy", tmp_path / "again") == ([None, None], 31)


def test_backups_fit_together_while_the_archive_grows_and_the_log_drops(tmp_path: Path, settings: Settings, log: Log) -> None:
    fold(settings, log, 0, 400)
    newest = CheckpointStore(settings.checkpoint_url).newest(HOME)
    assert newest is not None
    positions, stop = [], threading.Event()

    def go_on() -> None:
        """Archive one record after the other, as if a checkpoint was written after each, and let the log drop it."""
        for position in range(1, 40):
            if stop.is_set():
                return
            append_partition(settings, msgspec.structs.replace(newest, position=position, last_offset=position - 1, last_sha256=None), {})

    def append() -> None:
        """What no checkpoint covers."""
        while not stop.is_set():
            play(log, 400, 410)
            stop.wait(0.02)

    working = [threading.Thread(target=work) for work in (go_on, append)]
    # The archiver compares a checkpoint's last record; these made-up checkpoints name none.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("services.engine.archiver.check_log", lambda *_: None)
        for thread in working:
            thread.start()
        try:
            for i in range(3):
                done = backup.back_up(settings.data, tmp_path / f"copy-{i}", settings.archive)
                positions.append(done.archived)
        finally:
            stop.set()
            for thread in working:
                thread.join()
    assert positions == sorted(positions)
    for i in range(3):
        differences, _ = restored(tmp_path / f"copy-{i}", tmp_path / f"again-{i}")
        assert set(differences) == {None}


def test_a_table_is_copied_as_of_the_log(tmp_path: Path, settings: Settings, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """The archive reaches beyond the log's copy when it is copied: the copy is of an older version."""
    fold(settings, log, 0, 200)
    archive(settings)
    copy_log = backup.copy_log

    def slow(source: Path, target: Path) -> None:
        copy_log(source, target)
        if target.parent.name == "copy.part":
            fold(settings, log, 200, 300)
            assert archive(settings) == 30

    monkeypatch.setattr(backup, "copy_log", slow)
    assert backup.back_up(settings.data, tmp_path / "copy", settings.archive).archived == 200
    monkeypatch.undo()
    assert restored(tmp_path / "copy", tmp_path / "again") == ([None, None], 21)


def test_what_does_not_fit_is_refused(tmp_path: Path, settings: Settings, log: Log) -> None:
    fold(settings, log, 0, 100)
    backup.back_up(settings.data, tmp_path / "early")
    fold(settings, log, 100, 200)
    archive(settings)
    for wrong, words in (
        (None, "must be set to the archive: the log dropped"),
        (str(tmp_path / "nowhere"), "that partition . of the log dropped"),
    ):
        with pytest.raises(InputError, match=words):
            backup.back_up(settings.data, tmp_path / "copy", wrong)
        assert not (tmp_path / "copy").exists()
    backup.back_up(settings.data, tmp_path / "copy", settings.archive)
    for wrong in (None, "s3://bucket/archive", settings.archive):
        with pytest.raises(InputError, match="must be a new or empty folder"):
            backup.restore(tmp_path / "copy", tmp_path / "again", wrong)
    with pytest.raises(InputError, match="must not end after the log, which ends at 10"):
        backup.restore(tmp_path / "early", tmp_path / "again", settings.archive)
    assert not (tmp_path / "again").exists()


def test_an_archive_that_is_ahead_of_the_log_is_not_written(tmp_path: Path, settings: Settings, log: Log) -> None:
    fold(settings, log, 0, 200)
    backup.back_up(settings.data, tmp_path / "early")
    fold(settings, log, 200, 300)
    archive(settings)
    backup.restore(tmp_path / "early", tmp_path / "again")
    words = "up to offset 30, and the log ends at 20"
    with closing(open_log(Settings(data=tmp_path / "again", **SETTINGS))) as copy, pytest.raises(LogError, match=words) as refused:
        follow(copy.outcomes, {}, str(settings.archive), HOME, 20)
    assert not refused.value.retriable


def test_a_changed_file_of_the_archive_is_found_before_anything_is_restored(tmp_path: Path, settings: Settings, log: Log) -> None:
    fold(settings, log, 0, 100)
    archive(settings)
    backup.back_up(settings.data, tmp_path / "copy", settings.archive)
    rows = next((tmp_path / "copy" / "archive").rglob("*.parquet"))
    rows.write_bytes(rows.read_bytes()[:-1] + b"x")
    with pytest.raises(InputError, match="its checksum differs"):
        backup.restore(tmp_path / "copy", tmp_path / "again", str(tmp_path / "new"))
    assert not (tmp_path / "new").exists()


def test_an_archive_that_underwent_an_erasure_after_the_log_was_copied_is_no_part_of_the_backup(
    tmp_path: Path, settings: Settings, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copied control log knows nothing of it: folds would take the token for an agent, and no append would be accepted."""
    fold(settings, log, 0, 200)
    archive(settings)
    backup.back_up(settings.data, tmp_path / "early", settings.archive)
    copy_log = backup.copy_log

    def erased_meanwhile(source: Path, target: Path) -> None:
        copy_log(source, target)
        request = ErasureRequest(pool=simulated.POOL, name=erased_name("rock", ()), by="x", time=0.0)
        ControlLog(log.control).append(request)
        erase_rows(str(settings.archive), HOME, log.outcomes.identity, [request])

    monkeypatch.setattr(backup, "copy_log", erased_meanwhile)
    with pytest.raises(InputError, match=r"must not have erasures that are missing in the log, .* back up again"):
        backup.back_up(settings.data, tmp_path / "copy", settings.archive)
    monkeypatch.undo()
    assert not (tmp_path / "copy").exists()
    assert backup.back_up(settings.data, tmp_path / "copy", settings.archive).archived == 200
    shutil.rmtree(tmp_path / "early" / "archive")
    (tmp_path / "early" / inventory.FILE).unlink()
    with pytest.raises(InputError, match="must not have erasures that are missing in the log"):
        backup.restore(tmp_path / "early", tmp_path / "again", settings.archive)


def test_an_erasure_that_deletes_the_files_of_the_version_to_copy_says_to_back_up_again(
    tmp_path: Path, settings: Settings, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request is in the copied log; the archive has grown beyond that copy when the erasure runs, so an older version is needed."""
    fold(settings, log, 0, 200)
    archive(settings)
    request = ErasureRequest(pool=simulated.POOL, name=erased_name("rock", ()), by="x", time=0.0)
    ControlLog(log.control).append(request)
    copy_log = backup.copy_log

    def erased_meanwhile(source: Path, target: Path) -> None:
        copy_log(source, target)
        fold(settings, log, 200, 300)
        archive(settings)
        erase_rows(str(settings.archive), HOME, log.outcomes.identity, [request])

    monkeypatch.setattr(backup, "copy_log", erased_meanwhile)
    with pytest.raises(InputError, match=r"EQUIRANK_ARCHIVE .* an erasure deleted .* back up again"):
        backup.back_up(settings.data, tmp_path / "copy", settings.archive)
    monkeypatch.undo()
    assert not (tmp_path / "copy").exists()
    assert backup.back_up(settings.data, tmp_path / "copy", settings.archive).archived == 300
