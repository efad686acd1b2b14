"""Folds one pool again, from log and archive up to any position: for ends of seasons and for past boards.

It is the fold of a generation under construction (`Build`), so its content equals, bit for bit, the one that was served at the position.
"""

from collections.abc import Callable, Iterator
from math import inf
from typing import NamedTuple

import numpy as np

from services.control.records import ControlState
from services.log.protocol import Log, Records
from services.log.reading import read_parts
from services.log.records import count_below
from services.shard.batch import Batch
from services.shard.generations.build import Build


class Folded(NamedTuple):
    """The last record of a pool that was folded. position: Offset after it. time: When the log took it, in seconds since 1970."""

    position: int
    time: float


class Refold(NamedTuple):
    """What a fold up to a limit met.

    last: The last folded record of the pool; None if none was folded. next_taken: When the log took the pool's first record after the limit
    of time, in seconds since 1970; None if the fold did not end by it.
    """

    last: Folded | None
    next_taken: float | None = None


def fold_to(
    build: Build, log_: Log, control: ControlState, partition: int, end: int, until: float = inf,
    continues: Callable[[Build], bool] = lambda _: True,
) -> Refold:  # fmt: skip
    """Fold the records of a build's pool from its position to before offset `end`.

    The build is at `end` afterwards. If a record of the pool was taken by the log after `until`, the build is at or before that record.
    If the fold fails, the build says so. Records of other pools have no part in it, so the log may have reached the build's position after
    `until`: the last folded record tells which position the log had reached by then.

    Args:
        build: The build. It has its retractions.
        log_: The log, with its archive.
        control: State of the control log, for skipped records.
        partition: Number of the partition.
        end: Offset to stop before, at most the log's end.
        until: Time in seconds since 1970. Folding stops before the first record of the pool that the log took later.
        continues: Called after each part of the records: whether the fold goes on. If not, the build is at the last folded record.

    Returns:
        The last folded record of the pool, and the time of the next one if `until` ended the fold.

    Raises:
        LogError: The log or the archive cannot be read, or lost the records.
    """
    last: Folded | None = None
    for records in _records(build, log_, control, partition, end):
        concerned = build.concerned(records)
        late = np.flatnonzero(concerned.time > until)
        next_taken = float(concerned.time[late[0]]) if len(late) else None
        if len(late):
            concerned = concerned[: int(late[0])]
        if len(concerned):
            build.fold(Batch(partition, concerned))
            if build.failed is not None:
                return Refold(last)
            last = Folded(int(concerned.offset[-1]) + 1, float(concerned.time[-1]))
            build.reached(last.position)
        if next_taken is not None:
            return Refold(last, next_taken)
        build.reached(int(records.offset[-1]) + 1)
        if not continues(build):
            return Refold(last)
    build.reached(end)
    return Refold(last)


def _records(build: Build, log_: Log, control: ControlState, partition: int, end: int) -> Iterator[Records]:
    """The records of the log from a build's position to before `end`, from the archive first. Raises `LogError`."""
    skipped, position = control.partitions.skipped, build.position
    if log_.archived is not None:
        ranges = skipped.get(partition, ())
        for part in log_.archived.parts_of(build.generation.pool, partition, position, skipped=ranges):
            if len(records := part.records[: count_below(part.records, end)]):
                yield records
            position = min(part.end, end)
            if part.end >= end:
                break
    for records in read_parts(log_.history, partition, control.partitions.beyond(partition, position), end, skipped):
        if len(below := records[: count_below(records, end)]):
            yield below
