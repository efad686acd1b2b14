"""The data folder of an embedded installation: its lock, and the file with the addresses of the running services."""

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import IO

import msgspec

from services.runtime.atomic_write import write_atomically


class InUse(Exception):  # noqa: N818 - names the fact
    """Another `equirank up` process has locked the data folder."""

    def __init__(self, folder: Path, pid: str) -> None:
        super().__init__(
            f"{folder} is in use by `equirank up` (process {pid or 'unknown'}); "
            "stop it, or choose another folder with --data or EQUIRANK_DATA"
        )


class DataFolder:
    """The data folder. A missing folder is created with mode 0700."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._lock: IO[str] | None = None

    def lock(self) -> None:
        """Lock the folder until `unlock` or the end of this process, even by a crash. Raises `InUse` if another process has the lock."""
        file = (self.path / "lock").open("a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            holder = file.read().strip()
            file.close()
            raise InUse(self.path, holder) from error
        self._lock = file
        with suppress(OSError):  # on a full disk the number of the process is missing; only error messages use it
            os.ftruncate(file.fileno(), 0)
            os.write(file.fileno(), f"{os.getpid()}\n".encode())

    def refuse_beside_another(self) -> None:
        """Raise `InUse` if a process other than this one's parent has the lock. Two engines on one log would take over from each other."""
        try:
            with (self.path / "lock").open() as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return
        except BlockingIOError as error:
            if (holder := (self.path / "lock").read_text().strip()) != str(os.getppid()):
                raise InUse(self.path, holder) from error

    def unlock(self) -> None:
        """Release the lock before the process ends."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def write_addresses(self, api: str, metrics: str, redis: str) -> None:
        """Write this process's number and the addresses of the installation to `up.json`, for other programs."""
        write_atomically(self.path / "up.json", msgspec.json.encode({"pid": os.getpid(), "api": api, "metrics": metrics, "redis": redis}))
