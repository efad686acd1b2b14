"""Free space is checked before anything is written: on real disks."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from services.cli.engine import _ray_folder
from services.cli.up import _needs
from services.runtime.disk_space import DiskFull, NoTemporaryFolder, check_room, temporary_folder
from services.runtime.settings import Settings
from tests.support.disk import fill, mounted

SIZE = 4 << 20
LEAST = 1 << 20


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path / "disk", SIZE) as folder:
        yield folder


def test_where_there_is_room_nothing_is_said_and_nothing_stays(disk: Path, tmp_path: Path) -> None:
    check_room([(disk, LEAST), (tmp_path, LEAST)])
    assert list(disk.iterdir()) == []


@pytest.mark.parametrize("left", [0, LEAST // 2])
def test_a_full_disk_is_told_with_its_folder_what_is_left_and_what_is_needed(disk: Path, left: int) -> None:
    ballast = fill(disk, left)
    with pytest.raises(DiskFull, match=rf"the disk of {disk} is full: {left / (1 << 20):.1f} MiB are left and 1 MiB are needed"):
        check_room([(disk, LEAST)])
    assert list(disk.iterdir()) == [ballast]
    ballast.unlink()
    check_room([(disk, LEAST)])


def test_folders_of_one_disk_need_room_for_all(disk: Path) -> None:
    fill(disk, LEAST * 3 // 2)
    check_room([(disk, LEAST)])
    with pytest.raises(DiskFull):
        check_room([(disk, LEAST), (disk, LEAST)])


def test_an_engine_that_begins_on_a_full_disk_leaves_no_folders_behind(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is begun again and again until there is room."""
    (disk / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(disk / "tmp"))
    settings = Settings(data=disk / "data")
    ballast = fill(disk)
    for _ in range(3):
        with pytest.raises(OSError, match="No space left"):
            _ray_folder(settings)
    assert list((disk / "tmp").iterdir()) == []
    ballast.unlink()
    folder = _ray_folder(settings)
    assert folder is not None
    assert [folder] == list((disk / "tmp").iterdir())


def test_where_no_folder_takes_temporary_files_both_programs_say_so(disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python looks for one that can be written, and finds none where their disk is full but that of the data is not."""
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("tempfile._candidate_tempdir_list", lambda: [str(disk)])
    settings = Settings(data=tmp_path)
    ballast = fill(disk)
    said = rf"no folder takes temporary files \(.*'{disk}'.*\); make room there, give this user the permission, or set TMPDIR"
    with pytest.raises(NoTemporaryFolder, match=said):
        check_room(_needs(settings))
    with pytest.raises(NoTemporaryFolder, match=said):
        _ray_folder(settings)
    ballast.unlink()
    assert temporary_folder() == disk
