"""Drops old records of the embedded log, and gives their room back to the file system, in short transactions.

Every transaction is a step of a few milliseconds, and a pause follows that is four times as long: appends of all processes take turns with
it on SQLite's write lock. A step deletes records and moves the partition's beginning together, so a crash leaves a log that is whole.
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
"""Free pages that the file keeps, because the next appends would only take them back."""
_REST: Final = 4.0
"""Length of the pause after a step, in lengths of the step."""

ResultT = TypeVar("ResultT")
Work = Callable[[sqlite3.Connection], ResultT]


def drop(transact: Callable[[Work[bool]], bool], topic: str, partition: int, before: int, seconds: float) -> bool:
    """Drop the records of a partition below offset `before`, then shrink the file.

    Args:
        transact: Does work in one transaction that takes the write lock.
        topic: Name of the topic, without its prefix.
        partition: Number of the partition.
        before: First offset to keep. The log's end keeps its offset, also where all records go.
        seconds: Time after which no further step begins.

    Returns:
        Whether nothing is left to do.

    Raises:
        LogError: The file cannot be written. What earlier steps dropped stays dropped.
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
    """Delete the oldest records below `before`, as many as one step may. Returns whether more are left."""
    begin, end = connection.execute('SELECT "begin", "end" FROM heads WHERE topic = ? AND "partition" = ?', (topic, partition)).fetchone()
    before = min(before, end)
    cut = _cut(connection, table_of(topic, partition), begin, before)
    if cut > begin:
        connection.execute(f'DELETE FROM {table_of(topic, partition)} WHERE "offset" < ?', (cut,))  # noqa: S608 - a name of ours
        connection.execute('UPDATE heads SET "begin" = ? WHERE topic = ? AND "partition" = ?', (cut, topic, partition))
    return bool(cut < before)


def _cut(connection: sqlite3.Connection, table: str, begin: int, before: int) -> int:
    """First offset that one step keeps: at least one record goes, if there is one. SQLite reads lengths without the values."""
    query = f'SELECT "offset", length(value) FROM {table} WHERE "offset" < ? ORDER BY "offset" LIMIT ?'  # noqa: S608 - a name of ours
    rows, size, cut = connection.execute(query, (before, STEP_RECORDS)).fetchall(), 0, begin
    for offset, length in rows:
        if size and size + length > STEP_BYTES:
            return cut
        size, cut = size + length, int(offset) + 1
    return cut if len(rows) == STEP_RECORDS else max(begin, before)


def shrink(connection: sqlite3.Connection, kept: int = FREE_PAGES) -> bool:
    """Move the last pages of the file to free places and cut it off there. Returns whether more free pages are left than `kept`.

    A file that an earlier release made keeps its size: appends use its free pages.
    """
    if pragma(connection, "auto_vacuum") == 0:
        return False
    free = pragma(connection, "freelist_count") - kept
    for _ in range(min(free, STEP_PAGES)):
        connection.execute("PRAGMA incremental_vacuum(1)")  # Python's module takes one step of a statement without columns: one page
    return free > STEP_PAGES
