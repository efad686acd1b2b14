"""Drops old records of the embedded log in short transactions, and returns their disk space to the file system.

Every transaction is a step of a few milliseconds. The pause after a step is four times as long, so that appends of all processes get
SQLite's write lock in between. A step deletes records and updates the partition's first offset in one transaction, so a crash leaves a
consistent log.
"""

import sqlite3
import threading
import time
from collections.abc import Callable
from typing import Final, TypeVar

from services.log.sqlite.file import PAGE_BYTES, pragma, table_of

STEP_RECORDS: Final = 1000
STEP_BYTES: Final = 4 << 20
STEP_PAGES: Final = STEP_BYTES // PAGE_BYTES
FREE_PAGES: Final = (8 << 20) // PAGE_BYTES
"""Number of free pages that stay in the file, because the next appends need them again."""
_REST: Final = 4.0
"""Ratio of the length of a pause to that of the step before it."""

ResultT = TypeVar("ResultT")
Work = Callable[[sqlite3.Connection], ResultT]


def drop(transact: Callable[[Work[bool]], bool], topic: str, partition: int, before: int, seconds: float) -> bool:
    """Drop the records of a partition below offset `before`, then shrink the file.

    Args:
        transact: Runs a function in one transaction with the write lock.
        topic: Name of the topic, without its prefix.
        partition: Number of the partition.
        before: First offset to keep. The log's end keeps its offset, even if all records are dropped.
        seconds: Time after which no further step begins.

    Returns:
        Whether the work is complete.

    Raises:
        LogError: The file cannot be written. The records that earlier steps dropped stay dropped.
    """
    deadline = time.monotonic() + seconds
    for step in (lambda connection: _delete(connection, topic, partition, before), shrink):
        more = True
        while more:
            began = time.monotonic()
            if began >= deadline:
                return False
            more = transact(step)
            threading.Event().wait(_REST * (time.monotonic() - began) if more else 0.0)
    return True


def _delete(connection: sqlite3.Connection, topic: str, partition: int, before: int) -> bool:
    """Run one step: delete the oldest records below `before`. Returns whether more of them are left."""
    begin, end = connection.execute('SELECT "begin", "end" FROM heads WHERE topic = ? AND "partition" = ?', (topic, partition)).fetchone()
    before = min(before, end)
    cut = _cut(connection, table_of(topic, partition), begin, before)
    if cut > begin:
        connection.execute(f'DELETE FROM {table_of(topic, partition)} WHERE "offset" < ?', (cut,))  # noqa: S608 - a name of ours
        connection.execute('UPDATE heads SET "begin" = ? WHERE topic = ? AND "partition" = ?', (cut, topic, partition))
    return bool(cut < before)


def _cut(connection: sqlite3.Connection, table: str, begin: int, before: int) -> int:
    """First offset that a step keeps. The step deletes at least one record, if one exists. SQLite reads lengths without reading values."""
    query = f'SELECT "offset", length(value) FROM {table} WHERE "offset" < ? ORDER BY "offset" LIMIT ?'  # noqa: S608 - a name of ours
    rows, size, cut = connection.execute(query, (before, STEP_RECORDS)).fetchall(), 0, begin
    for offset, length in rows:
        if size and size + length > STEP_BYTES:
            return cut
        size, cut = size + length, int(offset) + 1
    return cut if len(rows) == STEP_RECORDS else max(begin, before)


def shrink(connection: sqlite3.Connection, kept: int = FREE_PAGES) -> bool:
    """Run one step of shrinking: move the last pages of the file to free pages, and truncate the file.

    A file that an early release created keeps its size, because its vacuum mode does not allow this. Appends use its free pages.

    Returns:
        Whether more than `kept` free pages are left.
    """
    if pragma(connection, "auto_vacuum") == 0:
        return False
    free = pragma(connection, "freelist_count") - kept
    for _ in range(min(free, STEP_PAGES)):
        connection.execute("PRAGMA incremental_vacuum(1)")  # one page a call: Python runs only one step of a statement without columns
    return free > STEP_PAGES
