"""Waiting until files and folders are on disk."""

import errno
import os
import stat
from pathlib import Path

import pytest

from services.runtime.atomic_write import sync


def test_a_file_system_that_cannot_sync_folders_still_syncs_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[bool] = []

    def of_files(number: int) -> None:
        if stat.S_ISDIR(os.fstat(number).st_mode):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        synced.append(True)

    (tmp_path / "file").write_bytes(b"x")
    monkeypatch.setattr(os, "fsync", of_files)
    sync([tmp_path / "file", tmp_path])
    assert synced == [True]


@pytest.mark.parametrize("number", [errno.EIO, errno.EINVAL])
def test_a_file_that_is_not_on_disk_is_an_error(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_file: int) -> None:
        raise OSError(number, os.strerror(number))

    (tmp_path / "file").write_bytes(b"x")
    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OSError, match=os.strerror(number)):
        sync([tmp_path / "file"])
