"""The data folder of an embedded installation: its lock, and the note that tells other commands where things answer."""

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import IO

import msgspec

from services.runtime.atomic_write import write_whole


class InUse(Exception):  # noqa: N818 - names the fact
    """Another `equirank up` holds the data folder."""

    def __init__(self, folder: Path, pid: str) -> None:
        super().__init__(
            f"{folder} is in use by `equirank up` (process {pid or 'unknown'}); "
            "stop that one, or name another folder by --data or EQUIRANK_DATA"
        )


class Addresses(msgspec.Struct, frozen=True):
    """Where a running installation answers."""

    pid: int
    api: str
    metrics: str
    redis: str


class DataFolder:
    """The folder, made with mode 0700 when it is not there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._lock: IO[str] | None = None

    def lock(self) -> None:
        """Hold the folder until this process ends, however it ends. Raises `InUse`."""
        file = (self.path / "lock").open("a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            holder = file.read().strip()
            file.close()
            raise InUse(self.path, holder) from error
        self._lock = file
        with suppress(OSError):  # a full disk: who holds the folder is told to people only
            os.ftruncate(file.fileno(), 0)
            os.write(file.fileno(), f"{os.getpid()}\n".encode())

    def refuse_beside_another(self) -> None:
        """Raises `InUse` where somebody holds the folder who did not start this process: two engines would take the log from each other."""
        try:
            with (self.path / "lock").open() as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return
        except BlockingIOError as error:
            if (holder := (self.path / "lock").read_text().strip()) != str(os.getppid()):
                raise InUse(self.path, holder) from error

    def unlock(self) -> None:
        """Let the folder go before this process ends."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def write_addresses(self, addresses: Addresses) -> None:
        """Tell other commands where this installation answers."""
        write_whole(self.path / "up.json", msgspec.json.encode(addresses))

    def addresses(self) -> Addresses | None:
        """Where the installation answers, or answered last; None when it never ran."""
        try:
            return msgspec.json.decode((self.path / "up.json").read_bytes(), type=Addresses)
        except FileNotFoundError:
            return None
