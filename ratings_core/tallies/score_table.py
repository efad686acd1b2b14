"""How agents scored on tasks: weight, sum and sum of squares of every cell that was measured, by time bucket."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.arrays.frozen import Undo, save
from ratings_core.arrays.hash_table import row_of
from ratings_core.errors import InputError
from ratings_core.kernels.compile import kernel
from ratings_core.records.outcomes import WEIGHT_ONE, ScoreBatch
from ratings_core.tallies.batches import Group, groups, in_all, score_columns
from ratings_core.tallies.pair_counts import PairCounts
from ratings_core.tallies.slabs import Slabs
from ratings_core.tallies.tally import Tally
from ratings_core.tallies.task_ballots import ballot_pairs

_LOW: Final = np.int64(2**32 - 1)


@dataclass(frozen=True, slots=True)
class ScoreCells:
    """k measured cells, sorted by (agent, task).

    agent, task: int32 (k,), ids; weight: float64 (k,), how much was measured, one measurement of weight 1 counts 1; total,
    squares: float64 (k,), weighted sums of score and of score squared.
    """

    agent: NDArray[np.int32]
    task: NDArray[np.int32]
    weight: NDArray[np.float64]
    total: NDArray[np.float64]
    squares: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.agent)

    @property
    def mean(self) -> NDArray[np.float64]:
        """Weighted mean score (k,)."""
        return self.total / self.weight


class ScoreTable(Tally):
    """Weight (integer, units of 2**-20), weighted sum and sum of squares of the scores of every (agent, task) and bucket.

    Float sums are taken in fold order, so the cuts between batches change no bit of them. An agent named twice in one
    measurement counts twice. Buckets are any int64. Merging adds weights exactly, and sums of a cell measured in both up to
    rounding, as floats are not associative. In its arrays, key is agent * 2**32 + task, numbers in units of 2**-20.
    """

    def __init__(self) -> None:
        super().__init__(Slabs(("weight",), ("total", "squares")))

    def add(self, batch: ScoreBatch, bucket: NDArray[np.int64]) -> None:
        """Count the measurements of `batch`, measurement i in time bucket `bucket[i]`.

        Raises `InputError`, and counts nothing, where the batch breaks its rules or a weight could come near overflow.
        """
        columns = score_columns(batch)
        grouped = list(groups(bucket, None, len(batch)))
        self.slabs.admit(int(columns.weight @ np.diff(columns.start)))
        for group in grouped:
            self._add_group(columns, group)

    def _add_group(self, columns: Any, group: Group) -> None:
        slab, done = self.slabs.at(group.bucket), 0
        while True:
            with slab.undo(lambda: in_all(columns.start, group)) as undo:
                done, slab.size = _add(slab.slots, slab.rows, slab.floats, slab.size, slab.limit, group.select, done, columns, undo)
            if done == len(group.select):
                return
            slab.reserve(int(columns.start[group.select[done] + 1] - columns.start[group.select[done]]))

    def cells(self, buckets: Mapping[int, float] | None = None) -> ScoreCells:
        """Measured cells. buckets: bucket to its weight (>= 0), those not named take no part; by default all count once."""
        keys, values = self.slabs.totals(buckets)
        weight, total, squares = values / WEIGHT_ONE
        return ScoreCells((keys >> 32).astype(np.int32), (keys & _LOW).astype(np.int32), weight, total, squares)

    def means(self, n_agents: int, n_tasks: int, buckets: Mapping[int, float] | None = None) -> NDArray[np.float64]:
        """Weighted mean scores (n_agents, n_tasks); NaN exactly where an agent was never measured on a task.

        Raises `InputError` where an id is not below its bound.
        """
        cells = self.cells(buckets)
        _check_bound("n_agents", n_agents, cells.agent)
        _check_bound("n_tasks", n_tasks, cells.task)
        means = np.full((n_agents, n_tasks), np.nan)
        means[cells.agent, cells.task] = cells.mean
        return means

    def pairs(self, n_agents: int, buckets: Mapping[int, float] | None = None) -> PairCounts:
        """Every task as one ballot of weight 1, however often it was measured: the higher mean beats the lower, equal means tie.

        Agents not measured on a task take no part in its ballot. Means are equal when their bits are; scores measured with
        weights that are not powers of two can differ in the last one. Raises `InputError` where an id is not below `n_agents`.
        """
        cells = self.cells(buckets)
        _check_bound("n_agents", n_agents, cells.agent)
        return ballot_pairs(cells.agent, cells.task, cells.mean)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "ScoreTable":
        """The table whose `arrays()` these are. Raises `InputError` where they are not those of one."""
        table = cls()
        table.slabs.restore(arrays)
        key = arrays["key"]
        if ((key < 0) | ((key & _LOW) >= 2**31)).any():
            raise InputError("arrays['key']", key, "must be ids of agents and tasks")
        if not all(np.isfinite(arrays[name]).all() for name in ("total", "squares")):
            raise InputError("arrays['total'], arrays['squares']", "sums", "must be finite")
        return table


def _check_bound(argument: str, n: int, ids: NDArray[np.int32]) -> None:
    checks.count(argument, n)
    if len(ids) and int(ids.max()) >= n:
        raise InputError(argument, n, f"must be above the largest id, {int(ids.max())}")


@kernel
def _add(
    slots: NDArray[np.int32],
    rows: NDArray[np.int64],
    floats: NDArray[np.float64],
    size: int,
    limit: int,
    select: NDArray[np.int64],
    done: int,
    columns: Any,
    undo: Undo,
) -> tuple[int, int]:
    """Measurements of `select` from `done` on, while all scores of one fit. Measurements done and the new size."""
    for i in range(done, len(select)):
        lo, hi = columns.start[select[i]], columns.start[select[i] + 1]
        if size + hi - lo > limit:
            return i, size
        for k in range(lo, hi):
            row = row_of(slots, rows, size, np.int64(columns.agent[k]) << 32 | np.int64(columns.task[select[i]]))
            size += row == size
            save(undo, rows, row)
            rows[row, 1] += columns.weight[select[i]]
            weighted = np.float64(columns.weight[select[i]]) * columns.score[k]
            floats[row, 2] += weighted
            floats[row, 3] += weighted * columns.score[k]
    return len(select), size
