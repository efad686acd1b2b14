"""The SQLite file of the embedded log: creation, recognition, opening, and conversion of errors.

The file has one table for each topic and partition. The offset is the rowid, so an append writes only to the last page of a table. The
table `heads` has the first offset and the end of each partition, so that no offset is reused after records were dropped (`dropping.py`).
"""

import os
import sqlite3
import time
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from services.log.protocol import LogError
from services.log.records import NAMES
from services.log.sqlite.filesystems import refuse_network_filesystem
from services.runtime.atomic_write import sync

APPLICATION_ID = 0x45515231
SCHEMA_VERSION = 1
PAGE_BYTES = 8192
CHECKPOINT_PAGES = 1000
WAL_KEPT_BYTES = 16 * 1024 * 1024
_LEAST_BYTES = 64 * 1024

_RETRIABLE = frozenset(
    (
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_INTERRUPT,
    )
)
_ADVICE = {
    sqlite3.SQLITE_BUSY: "another process holds the log's lock",
    sqlite3.SQLITE_FULL: "the disk is full; nothing was written, and appends work again once there is room",
    sqlite3.SQLITE_NOTADB: "the file is not a SQLite database",
    sqlite3.SQLITE_CORRUPT: "the file is damaged; restore it from a copy",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened; check that it and its folder exist and may be written",
    sqlite3.SQLITE_READONLY: "the file or its folder may not be written",
}
_INHERITED: list[sqlite3.Connection] = []
"""Connections copied by a fork. They are kept open, because closing one in the child could remove files that the parent still uses."""


class SqliteFile(NamedTuple):
    """The opened file of a log. node: its device and inode, to detect that another file replaced it."""

    path: Path
    identity: str
    partitions: int
    node: tuple[int, int]
    busy_timeout: float


def open_file(path: Path, partitions: int, busy_timeout: float) -> SqliteFile:
    """Open the log at `path`, and create it if it does not exist.

    Args:
        path: Path of the file.
        partitions: Number of partitions of the outcomes topic.
        busy_timeout: Seconds to wait for the lock of another process.

    Raises:
        LogError: The file is not a log of Equirank, has another number of partitions, or cannot be opened.
    """
    path = Path(path).resolve()
    refuse_network_filesystem(path)
    if not path.parent.is_dir():
        raise LogError(f"{path}: the folder {path.parent} does not exist; make it first", retriable=False)
    with sqlite_errors(path), closing(_connect(path, "rwc", busy_timeout)) as connection:
        identity = _make_or_check(connection, path, partitions)
        _enter_wal(connection, path, busy_timeout)
        sync([path.parent, path.parent.parent])  # SQLite waits for the file, and the folder may be new
        return SqliteFile(path, identity, partitions, _node(path), busy_timeout)


def table_of(topic: str, partition: int) -> str:
    """Name of the table of a partition. topic: name of the topic without its prefix."""
    return f"{topic.replace('-', '_')}_{partition}"


@contextmanager
def sqlite_errors(path: Path) -> Iterator[None]:
    """Convert errors of SQLite and of the file system to `LogError`, with advice to the operator.

    An error of the file system is retriable, whether SQLite or this process meets it.
    """
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        unnamed = sqlite3.SQLITE_IOERR if isinstance(error, OSError) else sqlite3.SQLITE_ERROR
        code = getattr(error, "sqlite_errorcode", unnamed) & 0xFF
        if code == sqlite3.SQLITE_IOERR and _is_full(path):  # SQLite reports a full disk as a general I/O error for its shared-memory file
            code = sqlite3.SQLITE_FULL
        advice = f" ({_ADVICE[code]})" if code in _ADVICE else ""
        raise LogError(f"{path}: {error}{advice}", retriable=code in _RETRIABLE) from error


def _is_full(path: Path) -> bool:
    """Whether the disk of a log has less free space than SQLite needs for the small files next to it."""
    try:
        stats = os.statvfs(path.parent)
    except OSError:
        return False
    return stats.f_bavail * stats.f_frsize < _LEAST_BYTES


class Handle:
    """One connection, opened on first use. A process after a fork opens a new one. Only one thread at a time may use it."""

    def __init__(self, file: SqliteFile) -> None:
        self._file = file
        self._process = 0
        self._connection: sqlite3.Connection | None = None

    def get(self) -> sqlite3.Connection:
        """The connection. Raises `LogError` if another file replaced the opened one."""
        self.check_same_file()
        if self._connection is not None and self._process != os.getpid():
            _INHERITED.append(self._connection)
            self._connection = None
        if self._connection is None:
            self._connection = _connect(self._file.path, "rw", self._file.busy_timeout)
            self._process = os.getpid()
        return self._connection

    def check_same_file(self) -> None:
        """Raise `LogError` unless the path still names the opened file. Records written to a deleted file would be lost."""
        try:
            same = _node(self._file.path) == self._file.node
        except FileNotFoundError:
            same = False
        if not same:
            raise LogError(f"{self._file.path} was removed or replaced while in use; start again on the right file", retriable=False)

    def close(self) -> None:
        """Close the connection if this process opened it."""
        if self._connection is not None and self._process == os.getpid():
            self._connection.close()
            self._connection = None


def _connect(path: Path, mode: str, busy_timeout: float) -> sqlite3.Connection:
    uri = f"file:{quote(str(path))}?mode={mode}"
    connection = sqlite3.connect(uri, timeout=busy_timeout, isolation_level=None, check_same_thread=False, uri=True)
    try:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")  # dropped records may hold a name that is erased later
        connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        connection.execute(f"PRAGMA journal_size_limit = {WAL_KEPT_BYTES}")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _make_or_check(connection: sqlite3.Connection, path: Path, partitions: int) -> str:
    if pragma(connection, "application_id") == APPLICATION_ID:
        return _check(connection, path, partitions)
    # Page size and vacuum mode must be set before the first write. Of two processes that create the file, the second one finds it created.
    connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("BEGIN IMMEDIATE")
    try:
        if pragma(connection, "application_id") != APPLICATION_ID:
            _refuse_foreign(connection, path)
            _make(connection, partitions)
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise
    return _check(connection, path, partitions)


def _refuse_foreign(connection: sqlite3.Connection, path: Path) -> None:
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if tables or pragma(connection, "application_id") or pragma(connection, "user_version"):
        raise LogError(f"{path} is a SQLite database, but not a log of Equirank's; choose another path", retriable=False)


def _make(connection: sqlite3.Connection, partitions: int) -> None:
    connection.execute("CREATE TABLE log (identity TEXT NOT NULL, partitions INTEGER NOT NULL)")
    connection.execute("INSERT INTO log VALUES (?, ?)", (uuid.uuid4().hex, partitions))
    connection.execute(
        'CREATE TABLE heads (topic TEXT, "partition" INTEGER, "begin" INTEGER NOT NULL, "end" INTEGER NOT NULL, '
        'PRIMARY KEY (topic, "partition")) WITHOUT ROWID'
    )
    for topic in NAMES:
        for partition in range(partitions if topic == "outcomes" else 1):
            connection.execute("INSERT INTO heads VALUES (?, ?, 0, 0)", (topic, partition))
            columns = '"offset" INTEGER PRIMARY KEY, value BLOB NOT NULL, time REAL NOT NULL, key BLOB'
            connection.execute(f"CREATE TABLE {table_of(topic, partition)} ({columns})")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def _check(connection: sqlite3.Connection, path: Path, partitions: int) -> str:
    version = pragma(connection, "user_version")
    if version != SCHEMA_VERSION:
        raise LogError(
            f"{path} has schema version {version}, and this release reads {SCHEMA_VERSION}; use the release that wrote it", retriable=False
        )
    identity, written = connection.execute("SELECT identity, partitions FROM log").fetchone()
    if written != partitions:
        raise LogError(
            f"{path} has {written} partitions, not {partitions}: the number is fixed when a log is made; "
            f"set it back to {written}, or replay into a new log",
            retriable=False,
        )
    return str(identity)


def pragma(connection: sqlite3.Connection, name: str) -> int:
    """Run `PRAGMA name` and return its value, a setting or a figure of the open file."""
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _enter_wal(connection: sqlite3.Connection, path: Path, busy_timeout: float) -> None:
    # A change of the journal mode does not wait for locks of other processes, which may open the new file at the same time.
    deadline = time.monotonic() + busy_timeout
    while True:
        try:
            mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
            continue
        if mode != "wal":
            raise LogError(f"{path}: this file system gives SQLite no write-ahead log; use a local disk", retriable=False)
        return


def _node(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino
