"""Scores of agents on tasks: weight, sum and sum of squares of every measured cell, by time bucket."""

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
from ratings_core.tallies.pair_counts import MOST_DENSE, PairCounts
from ratings_core.tallies.slabs import Slabs
from ratings_core.tallies.tally import Tally
from ratings_core.tallies.task_ballots import ballot_pairs

MOST_CELLS: Final = MOST_DENSE**2
"""Largest number of cells of a dense matrix, which takes 8 TB at this size."""
_LOW: Final = np.int64(2**32 - 1)


@dataclass(frozen=True, slots=True)
class ScoreCells:
    """k measured cells, sorted by (agent, task).

    agent, task: int32 (k,), ids; weight: float64 (k,), total weight of the measurements, where a measurement of weight 1 counts 1; total,
    squares: float64 (k,), weighted sums of scores and of squared scores.
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
    """Weight (integer, in units of 2**-20), weighted sum and weighted sum of squares of the scores of each (agent, task), by bucket.

    Float sums are computed in fold order, so they do not depend on the division into batches. An agent that occurs twice in a measurement
    counts twice. A bucket is any int64. Merging is exact for weights. For float sums of a cell in both tables it is exact up to rounding,
    because float addition is not associative. In the arrays, key is agent * 2**32 + task, and all numbers are in units of 2**-20.
    """

    def __init__(self) -> None:
        super().__init__(Slabs(("weight",), ("total", "squares")))

    def add(self, batch: ScoreBatch, bucket: NDArray[np.int64]) -> None:
        """Count the measurements of `batch`, measurement i in time bucket `bucket[i]`.

        Raises `InputError`, without counting any measurement, if the batch breaks its rules or a weight could overflow.
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
        """Measured cells. buckets: weight (>= 0) of each bucket, 0 for others; by default all buckets have weight 1."""
        keys, values = self.slabs.totals(buckets)
        weight, total, squares = values / WEIGHT_ONE
        return ScoreCells((keys >> 32).astype(np.int32), (keys & _LOW).astype(np.int32), weight, total, squares)

    def means(self, n_agents: int, n_tasks: int, buckets: Mapping[int, float] | None = None) -> NDArray[np.float64]:
        """Weighted mean scores (n_agents, n_tasks); NaN for cells without measurements, and only for these.

        Raises `InputError` if an id is not below its bound, or the matrix has more than `MOST_CELLS` cells.
        """
        cells = self.cells(buckets)
        _check_bound("n_agents", n_agents, cells.agent)
        _check_bound("n_tasks", n_tasks, cells.task)
        if n_agents * n_tasks > MOST_CELLS:
            raise InputError("n_agents, n_tasks", (n_agents, n_tasks), f"must have a product of at most {MOST_CELLS}")
        means = np.full((n_agents, n_tasks), np.nan)
        means[cells.agent, cells.task] = cells.mean
        return means

    def pairs(self, n_agents: int, buckets: Mapping[int, float] | None = None) -> PairCounts:
        """Count pairs with each task as a ballot of weight 1: the higher mean score wins, equal means tie.

        The number of measurements of a task does not change its weight. Agents without a measurement on a task are not in its ballot. Means
        are equal only if all bits are equal. With weights that are not powers of two, means of equal scores can differ in the last bit.
        Raises `InputError` if an id is `n_agents` or greater.
        """
        cells = self.cells(buckets)
        _check_bound("n_agents", n_agents, cells.agent)
        return ballot_pairs(cells.agent, cells.task, cells.mean)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "ScoreTable":
        """Restore a table from the result of `arrays()`. Raises `InputError` for invalid arrays."""
        table = cls()
        table.slabs.restore(arrays)
        key = arrays["key"]
        if ((key < 0) | ((key & _LOW) >= 2**31)).any():
            raise InputError("arrays['key']", key, "must be ids of agents and tasks")
        if not all(np.isfinite(arrays[name]).all() for name in ("total", "squares")):
            raise InputError("arrays['total'], arrays['squares']", "sums", "must be finite")
        return table


def _check_bound(argument: str, n: int, ids: NDArray[np.int32]) -> None:
    checks.count(argument, n, high=checks.MAX_IDS)
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
    """Add the measurements of `select` from index `done` until one might not fit. Returns the index after the last and the new size."""
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
