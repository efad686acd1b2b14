"""Replaces values of the embedded log in place, and overwrites the bytes of the old values.

Offsets, times and keys stay the same. Each step is a short transaction, so appends can run in between. After a crash, the values of the
completed steps are replaced and the others are not.
"""

import sqlite3
from collections.abc import Callable
from functools import partial
from typing import Final

from services.log.protocol import Record
from services.log.sqlite.dropping import Work, shrink
from services.log.sqlite.file import table_of

STEP_RECORDS: Final = 1000


def rewrite(transact: Callable[[Work[int]], int], topic: str, partition: int, change: Callable[[Record], bytes]) -> int:
    """Replace the value of each record by the result of `change`, and remove the free pages from the file, as far as `shrink` can.

    Args:
        transact: Runs a function in one transaction with the write lock.
        topic: Name of the topic, without its prefix.
        partition: Number of the partition.
        change: Returns the new value of a record, or its present value.

    Returns:
        Number of replaced values.

    Raises:
        LogError: The file cannot be written. The values that earlier steps replaced stay replaced.
    """
    following: int | None = -1
    replaced = 0

    def step(connection: sqlite3.Connection) -> int:
        nonlocal following
        table = table_of(topic, partition)
        query = f'SELECT "offset", value, time, key FROM {table} WHERE "offset" > ? ORDER BY "offset" LIMIT ?'  # noqa: S608 - a name of ours
        records = [Record(*row) for row in connection.execute(query, (following, STEP_RECORDS)).fetchall()]
        changed = [(value, record.offset) for record in records if (value := change(record)) != record.value]
        connection.executemany(f'UPDATE {table} SET value = ? WHERE "offset" = ?', changed)  # noqa: S608 - a name of ours
        following = records[-1].offset if len(records) == STEP_RECORDS else None
        return len(changed)

    while following is not None:
        replaced += transact(step)
    while transact(partial(shrink, kept=0)):
        pass  # free pages can contain dropped records
    return replaced
