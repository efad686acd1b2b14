"""Checks of a batch before a tally counts it, so that an invalid batch does not change the tally."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.kernels.compile import inlined, kernel
from ratings_core.records.outcomes import MAX_SCORE, MAX_SIDES, MAX_WEIGHT, NO_TASK, WEIGHT_ONE, OutcomeBatch, ScoreBatch

MAX_UNITS: Final = int(MAX_WEIGHT) * WEIGHT_ONE
"""The largest weight of an outcome in units of 2**-20."""

_SOUND, _SIDES, _WEIGHT, _EMPTY_SIDE, _AGENT, _TWICE = range(6)
_RULES: Final = {
    _SIDES: f"must have 2 to {MAX_SIDES} sides within the batch",
    _WEIGHT: f"must have a weight from 1 to {MAX_UNITS} units of 2**-20",
    _EMPTY_SIDE: "must have agents within the batch on every side",
    _AGENT: "must name agents by ids >= 0",
    _TWICE: "must name each agent once",
}
_GAME_COLUMNS: Final[Mapping[str, DTypeLike]] = {
    "side_start": np.int64,
    "place": np.int32,
    "agent_start": np.int64,
    "agent": np.int32,
    "weight": np.int64,
}
_SCORE_COLUMNS: Final[Mapping[str, DTypeLike]] = {
    "start": np.int64,
    "agent": np.int32,
    "score": np.float64,
    "task": np.int32,
    "weight": np.int64,
}


class GameColumns(NamedTuple):
    """The columns of an `OutcomeBatch` that tallies read, in the layout of kernels."""

    side_start: NDArray[np.int64]
    place: NDArray[np.int32]
    agent_start: NDArray[np.int64]
    agent: NDArray[np.int32]
    weight: NDArray[np.int64]


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


def game_columns(batch: OutcomeBatch) -> GameColumns:
    """Check `batch` and return its columns. Raises `InputError` with the first outcome that breaks a rule of `OutcomeBatch`."""
    checks.instance("batch", batch, OutcomeBatch)
    columns = GameColumns(*(_column(batch, name, dtype) for name, dtype in _GAME_COLUMNS.items()))
    _check_cut("batch.side_start", columns.side_start, len(batch), len(columns.place))
    _check_cut("batch.agent_start", columns.agent_start, len(columns.place), len(columns.agent))
    outcome, rule = _unsound_game(columns)
    if rule != _SOUND:
        raise InputError("batch", f"outcome {outcome}", _RULES[rule])
    return columns


def score_columns(batch: ScoreBatch) -> ScoreColumns:
    """Check `batch` and return its columns. Raises `InputError` if a column breaks a rule of `ScoreBatch`."""
    checks.instance("batch", batch, ScoreBatch)
    columns = ScoreColumns(*(_column(batch, name, dtype) for name, dtype in _SCORE_COLUMNS.items()))
    _check_cut("batch.start", columns.start, len(batch), len(columns.agent))
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


def _column(batch: OutcomeBatch | ScoreBatch, name: str, dtype: DTypeLike) -> NDArray[Any]:
    column = getattr(batch, name)
    if column.dtype != dtype or column.ndim != 1:
        raise InputError(f"batch.{name}", f"{column.dtype} {column.shape}", f"must be {np.dtype(dtype)} (n,)")
    return np.ascontiguousarray(column)


def _check_cut(argument: str, start: NDArray[np.int64], pieces: int, total: int) -> None:
    if start.shape != (pieces + 1,) or start[0] != 0 or start[-1] != total:
        raise InputError(argument, start, f"must cut {total} entries into {pieces} pieces")


@kernel
def _unsound_game(columns: Any) -> tuple[int, int]:
    """Index of the first outcome that breaks a rule, and the rule; (0, `_SOUND`) if all are valid."""
    for i in range(len(columns.weight)):
        lo, hi = columns.side_start[i], columns.side_start[i + 1]
        if hi - lo < 2 or hi - lo > MAX_SIDES or hi > len(columns.place):
            return i, _SIDES
        if columns.weight[i] < 1 or columns.weight[i] > MAX_UNITS:
            return i, _WEIGHT
        rule = _unsound_sides(columns, lo, hi)
        if rule != _SOUND:
            return i, rule
    return 0, _SOUND


@inlined
def _unsound_sides(columns: Any, lo: int, hi: int) -> int:
    for s in range(lo, hi):
        begin, end = columns.agent_start[s], columns.agent_start[s + 1]
        if end <= begin or end > len(columns.agent):
            return _EMPTY_SIDE
        for k in range(begin, end):
            if columns.agent[k] < 0:
                return _AGENT
        for other in range(lo, s):
            single = end - begin == 1 and columns.agent_start[other + 1] - columns.agent_start[other] == 1
            if single and columns.agent[begin] == columns.agent[columns.agent_start[other]]:
                return _TWICE
    return _SOUND
