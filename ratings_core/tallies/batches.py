"""Checks of measurements and groups of events before a tally counts them, so that an invalid batch does not change the tally."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.records.games import MAX_UNITS, check_cut, column_of
from ratings_core.records.outcomes import MAX_SCORE, NO_TASK, ScoreBatch

_SCORE_COLUMNS: Final[Mapping[str, DTypeLike]] = {
    "start": np.int64,
    "agent": np.int32,
    "score": np.float64,
    "task": np.int32,
    "weight": np.int64,
}


class ScoreColumns(NamedTuple):
    """The columns of a `ScoreBatch` that tallies read, in the layout of kernels."""

    start: NDArray[np.int64]
    agent: NDArray[np.int32]
    score: NDArray[np.float64]
    task: NDArray[np.int32]
    weight: NDArray[np.int64]


class Group(NamedTuple):
    """Events of a slab. select: int64 (k,), their indices in the batch, in fold order."""

    bucket: int
    task: int
    select: NDArray[np.int64]


def score_columns(batch: ScoreBatch) -> ScoreColumns:
    """Check `batch` and return its columns. Raises `InputError` if a column breaks a rule of `ScoreBatch`."""
    checks.instance("batch", batch, ScoreBatch)
    columns = ScoreColumns(*(column_of(batch, name, dtype) for name, dtype in _SCORE_COLUMNS.items()))
    check_cut("batch.start", columns.start, len(batch), len(columns.agent))
    rules = [
        ("batch.start", (columns.start[1:] <= columns.start[:-1]).any(), "must give every measurement a score"),
        ("batch.weight", ((columns.weight < 1) | (columns.weight > MAX_UNITS)).any(), f"must be from 1 to {MAX_UNITS}, units of 2**-20"),
        ("batch.agent", (columns.agent < 0).any(), "must hold ids >= 0"),
        ("batch.task", len(columns.task) != len(batch) or (columns.task < 0).any(), "must name each measurement's task by an id >= 0"),
        ("batch.score", _are_not_scores(columns), f"must be finite, within +-{MAX_SCORE:g}, with one score per agent"),
    ]
    for argument, broken, rule in rules:
        if broken:
            raise InputError(argument, getattr(batch, argument.removeprefix("batch.")), rule)
    return columns


def _are_not_scores(columns: ScoreColumns) -> bool:
    """Whether a score is missing, out of range or NaN (for which the comparison is false)."""
    return len(columns.score) != len(columns.agent) or not bool((np.abs(columns.score) <= MAX_SCORE).all())


def in_all(start: NDArray[np.int64], group: Group) -> int:
    """Number of entries of all events of a group. Event i has the entries start[i] to start[i+1]."""
    return int((start[group.select + 1] - start[group.select]).sum())


def groups(bucket: NDArray[np.int64], task: NDArray[np.int32] | None, n: int) -> Iterator[Group]:
    """Group events 0 to n-1 by bucket and, if `task` (n,) is given, by task. Raises `InputError` for other shapes and dtypes."""
    if checks.instance("bucket", bucket, np.ndarray).shape != (n,) or bucket.dtype != np.int64:
        raise InputError("bucket", bucket, f"must be int64 of shape ({n},), with one bucket per event")
    if task is not None and (task.shape != (n,) or (task < NO_TASK).any()):
        raise InputError("batch.task", task, f"must have shape ({n},) and hold ids >= 0, or -1 for none")
    task = np.full(n, NO_TASK, np.int32) if task is None else task
    return _groups(bucket, task, n)


def _groups(bucket: NDArray[np.int64], task: NDArray[np.int32], n: int) -> Iterator[Group]:
    if not n:
        return
    if (bucket == bucket[0]).all() and (task == task[0]).all():
        yield Group(int(bucket[0]), int(task[0]), np.arange(n))
        return
    order = np.lexsort((task, bucket))  # stable: fold order within a slab
    changes = (np.diff(bucket[order]) != 0) | (np.diff(task[order]) != 0)
    for select in np.split(order, np.flatnonzero(changes) + 1):
        yield Group(int(bucket[select[0]]), int(task[select[0]]), select)
