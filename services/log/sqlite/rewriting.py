"""Replaces values of the embedded log where they are, so that nothing of the old ones is left in its files.

Offsets, times and keys stay. Each step is a short transaction, so appends take turns with it; a crash leaves the first values replaced.
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
    """Replace the value of each record by what `change` returns.

    Args:
        transact: Does work in one transaction that takes the write lock.
        topic: Name of the topic, without its prefix.
        partition: Number of the partition.
        change: Returns a record's value, or what replaces it.

    Returns:
        How many values were replaced.

    Raises:
        LogError: The file cannot be written. What earlier steps replaced stays replaced.
    """
    following: int | None = -1
    replaced = 0

    def step(connection: sqlite3.Connection) -> int:
        nonlocal following
        connection.execute("PRAGMA secure_delete = ON")
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
        pass  # free pages hold what was dropped
    return replaced
