"""The embedded log: one SQLite file, in WAL mode with synchronous=FULL, for the processes of one machine.

Delivery: an append returns when its transaction is on disk, so a crash loses no acknowledged record. An append writes all of its records or
none. Offsets are assigned inside the transaction, so they are dense and equal for all processes. Threads of a process share transactions
(`group_commit`); processes use SQLite's write lock in turn.
Unit of parallelism: the reader. Writes are serial: the file has one writer at a time.
Not guaranteed: fairness between processes that append concurrently.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from services.log.protocol import Log, LogError, OffsetLost, Record
from services.log.records import TopicRecords, check_partition, check_partitions, check_positions, check_records
from services.log.sqlite.dropping import ResultT, Work, drop
from services.log.sqlite.file import Handle, SqliteFile, open_file, pragma, sqlite_errors, table_of
from services.log.sqlite.group_commit import GroupCommit
from services.log.sqlite.rewriting import rewrite
from services.runtime.settings import TOPIC_PREFIX

GROUP_RECORDS = 1000
POLL_BYTES = 32 * 1024 * 1024
FETCH_ROWS = 64
FIRST_PAUSE = 0.0005
LONGEST_PAUSE = 0.005
_record: Callable[[tuple[object, ...]], Record] = partial(tuple.__new__, Record)
"""Makes a record of a row. It is `Record._make` without a Python call for each row."""


def open_sqlite_log(path: Path, partitions: int, *, busy_timeout: float = 10.0) -> Log:
    """Open the log at `path`, and create it if it does not exist.

    Args:
        path: Path of the file.
        partitions: Number of partitions of the outcomes topic.
        busy_timeout: Seconds that an append waits for the lock of another process before it raises a retriable error.

    Raises:
        LogError: Retriable if another process holds the lock. Not retriable if the file is not a log of Equirank, is damaged, has the
            schema version of another release or another number of partitions, or is on a network file system.

    """
    check_partitions(partitions)
    file = open_file(path, partitions, busy_timeout)
    shared = _Shared(file)
    return Log(
        outcomes=SqliteTopic(shared, "outcomes", partitions),
        control=SqliteTopic(shared, "control", 1),
        dead_letters=SqliteTopic(shared, "dead-letters", 1),
        close=lambda: shared.process().close(),
    )


class SqliteTopic:
    """One topic of the file. Threads can share it, and processes after a fork (each opens its own connections)."""

    def __init__(self, shared: "_Shared", topic: str, partitions: int) -> None:
        self._shared, self._topic = shared, topic
        self.name = f"{TOPIC_PREFIX}{topic}"
        self.partitions = partitions
        self.identity = f"sqlite:{shared.file.identity}:{topic}"

    def append(self, partition: int, records: Sequence[tuple[bytes | None, bytes]]) -> list[int]:
        """See `Topic.append`. A failed append writes none of `records`."""
        check_partition(self.name, partition, self.partitions)
        check_records(self.name, records, keyed=self._topic == "control")
        if not records:
            return []
        first = self._shared.process().group.submit(_Append(self._topic, partition, records))
        return list(range(first, first + len(records)))

    def drop(self, partition: int, before: int, seconds: float) -> bool:
        """See `Drops.drop`."""
        check_partition(self.name, partition, self.partitions)
        return drop(self._shared.process().transact, self._topic, partition, before, seconds)

    def rewrite(self, partition: int, change: Callable[[Record], bytes]) -> int:
        """See `Rewrites.rewrite`."""
        check_partition(self.name, partition, self.partitions)
        process = self._shared.process()
        replaced = rewrite(process.transact, self._topic, partition, change)
        process.empty_wal()
        return replaced

    def reader(self, positions: Mapping[int, int]) -> "SqliteReader":
        """See `Topic.reader`."""
        check_positions(self.name, positions, self.partitions)
        return SqliteReader(self._shared, self._topic, self.name, positions)

    def begin(self, partition: int) -> int:
        """See `Topic.begin`."""
        return self._head(partition)[0]

    def end(self, partition: int) -> int:
        """See `Topic.end`."""
        return self._head(partition)[1]

    def _head(self, partition: int) -> tuple[int, int]:
        check_partition(self.name, partition, self.partitions)
        with self._shared.process().query() as connection:
            return _head(connection, self._topic, partition)


class SqliteReader:
    """Reads partitions of one topic with its own connection, which the first poll opens. It must not be shared between threads."""

    def __init__(self, shared: "_Shared", topic: str, name: str, positions: Mapping[int, int]) -> None:
        self._file, self._topic, self._name = shared.file, topic, name
        self._handle = Handle(shared.file)
        self._positions = dict(positions)
        self._order = list(positions)
        self._closed = False

    def poll(self, timeout: float, max_records: int) -> dict[int, TopicRecords]:
        """See `Reader.poll`. Returns at most `max_records` records of about 32 MiB."""
        if max_records < 1:
            raise LogError(f"max_records must be at least 1, not {max_records}", retriable=False)
        if self._closed:
            raise LogError(f"this reader of {self._name} is closed", retriable=False)
        deadline = time.monotonic() + timeout
        with sqlite_errors(self._file.path):
            while True:
                connection = self._handle.get()
                # `data_version` changes when another connection commits. It is read before the query, so that a commit after the query
                # ends the wait.
                version = pragma(connection, "data_version")
                batches = self._take(connection, max_records)
                if batches or not self._wait(connection, version, deadline):
                    return batches

    def position(self, partition: int) -> int:
        """See `Reader.position`."""
        return self._positions[partition]

    def close(self) -> None:
        """Close the connection."""
        self._closed = True
        self._handle.close()

    def _take(self, connection: sqlite3.Connection, max_records: int) -> dict[int, TopicRecords]:
        batches: dict[int, TopicRecords] = {}
        rows, size = max_records, POLL_BYTES
        for partition in tuple(self._order):
            records = self._read(connection, partition, rows, size)
            if records:
                batches[partition] = records
                rows -= len(records)
                size -= records.nbytes
            if rows <= 0 or size <= 0:
                break
        for partition, records in batches.items():
            self._positions[partition] = records[-1].offset + 1
        # Partitions that returned records are read last by the next poll, so that a busy partition does not starve the others.
        self._order.sort(key=batches.__contains__)
        return batches

    def _read(self, connection: sqlite3.Connection, partition: int, rows: int, size: int) -> TopicRecords:
        position = self._positions[partition]
        table = table_of(self._topic, partition)
        query = f'SELECT "offset", value, time, key FROM {table} WHERE "offset" >= ? ORDER BY "offset" LIMIT ?'  # noqa: S608 - a name of ours
        records = TopicRecords(_fetch(connection.execute(query, (position, rows)), size))
        if not records or records[-1].offset != position + len(records) - 1:
            self._check_position(connection, partition, position, records)
        return records

    def _check_position(self, connection: sqlite3.Connection, partition: int, position: int, records: TopicRecords) -> None:
        begin, end = _head(connection, self._topic, partition)
        if records or not begin <= position <= end:
            raise OffsetLost(self._name, partition, position, begin, end)

    def _wait(self, connection: sqlite3.Connection, version: int, deadline: float) -> bool:
        pause = FIRST_PAUSE
        while (left := deadline - time.monotonic()) > 0:
            time.sleep(min(pause, left))
            if pragma(connection, "data_version") != version:
                return True
            self._handle.check_same_file()
            pause = min(2 * pause, LONGEST_PAUSE)
        return False


class _Append(NamedTuple):
    topic: str
    partition: int
    records: Sequence[tuple[bytes | None, bytes]]


class _Shared:
    """State that the topics of a log share: the file, and a `_Process` for each process that uses the log after a fork."""

    def __init__(self, file: SqliteFile) -> None:
        self.file = file
        self._processes: dict[int, _Process] = {}

    def process(self) -> "_Process":
        pid = os.getpid()
        existing = self._processes.get(pid)
        # `setdefault` is atomic, so two threads get the same object. After a fork, the parent's object stays in the dictionary, unclosed.
        return existing or self._processes.setdefault(pid, _Process(self.file))


class _Process:
    """Connections of a process: one for writing, which `group` uses for appends, and one for small queries."""

    def __init__(self, file: SqliteFile) -> None:
        self._file = file
        self._writer, self._asker = Handle(file), Handle(file)
        self._asking, self._writing = threading.Lock(), threading.Lock()
        self.group: GroupCommit[_Append, int] = GroupCommit(self._commit, lambda append: len(append.records), GROUP_RECORDS)

    @contextmanager
    def query(self) -> Iterator[sqlite3.Connection]:
        with self._asking, sqlite_errors(self._file.path):
            yield self._asker.get()

    def close(self) -> None:
        with self._asking, self._writing:
            self._asker.close()
            self._writer.close()

    def transact(self, work: Work[ResultT]) -> ResultT:
        """Run `work` in one transaction with the write lock. Raises `LogError`; then nothing was written."""
        with self._writing, sqlite_errors(self._file.path):
            connection = self._writer.get()
            try:
                connection.execute("BEGIN IMMEDIATE")
                result = work(connection)
                connection.execute("COMMIT")
            except BaseException:
                self._undo(connection)
                raise
            return result

    def empty_wal(self) -> None:
        """Truncate the write-ahead log, which contains old versions of pages. Raises a retriable `LogError` while a reader uses it."""
        with self._writing, sqlite_errors(self._file.path):
            if pragma(self._writer.get(), "wal_checkpoint(TRUNCATE)"):
                why = "another process reads the write-ahead log, so it cannot be emptied now"
                raise LogError(f"{self._file.path}: {why}", retriable=True)

    def _commit(self, appends: Sequence[_Append]) -> list[int]:
        return self.transact(lambda connection: [_write(connection, append) for append in appends])

    def _undo(self, connection: sqlite3.Connection) -> None:
        # If the rollback fails, the connection is closed, which also rolls back.
        try:
            connection.rollback()
        except sqlite3.Error:
            self._writer.close()


def _write(connection: sqlite3.Connection, append: _Append) -> int:
    now = time.time()
    first = _head(connection, append.topic, append.partition)[1]
    rows = [(first + index, value, now, key) for index, (key, value) in enumerate(append.records)]
    connection.executemany(f"INSERT INTO {table_of(append.topic, append.partition)} VALUES (?, ?, ?, ?)", rows)  # noqa: S608 - a name of ours
    connection.execute(
        'UPDATE heads SET "end" = ? WHERE topic = ? AND "partition" = ?', (first + len(rows), append.topic, append.partition)
    )
    return first


def _head(connection: sqlite3.Connection, topic: str, partition: int) -> tuple[int, int]:
    begin, end = connection.execute('SELECT "begin", "end" FROM heads WHERE topic = ? AND "partition" = ?', (topic, partition)).fetchone()
    return int(begin), int(end)


def _fetch(cursor: sqlite3.Cursor, size: int) -> list[Record]:
    # An open cursor would keep its snapshot, and SQLite could not reset the write-ahead log.
    records: list[Record] = []
    try:
        while size > 0 and (rows := cursor.fetchmany(FETCH_ROWS)):
            records.extend(map(_record, rows))
            size -= sum([len(row[1]) for row in rows])
    finally:
        cursor.close()
    return records
