"""Sparse counts of wins, losses and ties of pairs of agents, by time bucket and optionally by task."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.arrays.frozen import Frozen, Joined, Still, Undo
from ratings_core.arrays.hash_table import WINDOW, add_window
from ratings_core.errors import InputError
from ratings_core.kernels.compile import inlined, kernel, unlocked
from ratings_core.records.games import games_of
from ratings_core.records.outcomes import WEIGHT_ONE, OutcomeBatch
from ratings_core.tallies.batches import Group, groups
from ratings_core.tallies.pair_counts import PairCounts
from ratings_core.tallies.slabs import Slabs, Totals
from ratings_core.tallies.tally import Tally

_LOW: Final = np.int64(2**32 - 1)


class PairTally(Tally):
    """Weights of wins, losses and ties of every pair of agents that met as single-agent sides. Teams are ignored.

    An outcome of n single-agent sides adds its weight to each of its n(n-1)/2 pairs: to the wins of the better placed agent, or to the
    ties. Weights are integers in units of 2**-20, so the result does not depend on the order of outcomes or their division into batches.
    per_task: keep separate counts for each task (-1 for outcomes without a task); otherwise tasks are ignored. A bucket is any int64.
    """

    def __init__(self, per_task: bool = False) -> None:
        self.per_task = per_task
        super().__init__(Slabs(("wins", "losses", "ties")))

    @property
    def tasks(self) -> list[int]:
        """Tasks with counts, ascending; -1 means no task. Without `per_task`, -1 is the only task."""
        return self.slabs.tasks

    def add(self, batch: OutcomeBatch, bucket: NDArray[np.int64]) -> None:
        """Count the outcomes of `batch`, outcome i in time bucket `bucket[i]`.

        Raises `InputError`, without counting any outcome, if the batch breaks its rules or a cell could overflow.
        """
        columns, _ = games_of(batch)
        grouped = list(groups(bucket, batch.task if self.per_task else None, len(batch)))
        self.slabs.admit(int(columns.weight.sum()))
        for group in grouped:
            self._add_group(columns, group)

    def _add_group(self, columns: Any, group: Group) -> None:
        slab, done = self.slabs.at(group.bucket, group.task), 0
        while True:
            with slab.undo(lambda: _pairs_of(columns, group)) as undo:
                done, slab.size = _add(slab.slots, slab.rows, slab.size, slab.limit, group.select, done, columns, undo)
            if done == len(group.select):
                break
            sides = int(columns.side_start[group.select[done] + 1] - columns.side_start[group.select[done]])
            slab.reserve(sides * (sides - 1) // 2)
        if not slab.size:  # teams only
            self.slabs.remove(group.bucket, group.task)

    def merge(self, other: "PairTally") -> None:
        """Add the counts of `other`, which must use the same ids of agents and tasks. Raises `InputError` if `per_task` differs."""
        if self.per_task != checks.instance("other", other, PairTally).per_task:
            raise InputError("other.per_task", other.per_task, f"must be {self.per_task}, as in this tally")
        super().merge(other)

    def counts(self, buckets: Mapping[int, float] | None = None, task: int | None = None) -> PairCounts:
        """Counts, in outcomes (weight 1 counts 1), over all tasks or on `task` (-1: outcomes without a task).

        buckets: weight (>= 0) of each bucket, 0 for others; by default all buckets have weight 1. Raises `InputError` if `task` is given
        and the tally has no separate counts for tasks.
        """
        if task is not None and not self.per_task:
            raise InputError("task", task, "must be None: this tally does not separate tasks")
        return _counts(self.slabs.totals(buckets, task))

    def counts_by_task(self, buckets: Mapping[int, float] | None = None) -> dict[int, PairCounts]:
        """`counts` of each task with counts, ascending; -1 means no task. Without `per_task`, -1 is the only task."""
        return {task: _counts(totals) for task, totals in self.slabs.totals_by_task(buckets).items()}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Canonical copy: the arrays of `Slabs.arrays`, and per_task uint8 (1,).

        key is lower id * 2**32 + higher id; wins and losses are those of the lower id; weights are in units of 2**-20.
        """
        return {**super().arrays(), **self._mode()}

    def frozen(self) -> Frozen:
        """Freeze the current content of `arrays` (see `ratings_core.arrays.frozen`)."""
        return Joined(super().frozen(), Still(self._mode()))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "PairTally":
        """Restore a tally from the result of `arrays()`. Raises `InputError` for invalid arrays."""
        rest = dict(arrays)
        per_task = rest.pop("per_task", None)
        if per_task is None or per_task.shape != (1,) or per_task[0] not in (0, 1):
            raise InputError("arrays['per_task']", per_task, "must be 0 or 1 in an array of shape (1,)")
        tally = cls(per_task=bool(per_task[0]))
        tally.slabs.restore(rest)
        if not _are_pairs(np.require(rest["key"], requirements=["C", "W"])):  # one kernel for all
            raise InputError("arrays['key']", rest["key"], "must be pairs of two ids, the lower one first")
        return tally

    def _mode(self) -> dict[str, NDArray[Any]]:
        return {"per_task": np.array([self.per_task], np.uint8)}


@unlocked
def _are_pairs(key: NDArray[np.int64]) -> bool:
    for one in key:  # noqa: SIM110 - a plain loop is what the compiler makes fast
        if one < 0 or one >> 32 >= one & _LOW or one & _LOW >= 2**31:
            return False
    return True


def _pairs_of(columns: Any, group: Group) -> int:
    """Number of pairs of sides in the outcomes of a group."""
    sides = columns.side_start[group.select + 1] - columns.side_start[group.select]
    return int((sides * (sides - 1) // 2).sum())


def _counts(totals: Totals) -> PairCounts:
    wins, losses, ties = totals.values / WEIGHT_ONE
    return PairCounts((totals.keys >> 32).astype(np.int32), (totals.keys & _LOW).astype(np.int32), wins, losses, ties)


@kernel
def _add(
    slots: NDArray[np.int32], rows: NDArray[np.int64], size: int, limit: int, select: NDArray[np.int64], done: int, columns: Any, undo: Undo
) -> tuple[int, int]:
    """Add the outcomes of `select` from index `done` until one might not fit. Returns the next index and the new size."""
    window, count = np.empty((4, WINDOW), np.int64), 0
    while done < len(select):
        lo, hi = columns.side_start[select[done]], columns.side_start[select[done] + 1]
        if size + count + (hi - lo) * (hi - lo - 1) // 2 > limit:
            size, count = add_window(slots, rows, size, window, count, undo), 0
            if size + (hi - lo) * (hi - lo - 1) // 2 > limit:
                return done, size
        for s in range(lo, hi):
            for t in range(s + 1, hi):
                at, other = columns.agent_start[s], columns.agent_start[t]
                if columns.agent_start[s + 1] - at == 1 and columns.agent_start[t + 1] - other == 1:
                    a, b = np.int64(columns.agent[at]), np.int64(columns.agent[other])
                    key, column = min(a, b) << 32 | max(a, b), _column(columns.place[s], columns.place[t], a > b)
                    if count == WINDOW:
                        size, count = add_window(slots, rows, size, window, count, undo), 0
                    window[0, count], window[1, count], window[2, count] = key, column, columns.weight[select[done]]
                    count += 1
        done += 1
    return done, add_window(slots, rows, size, window, count, undo)


@inlined
def _column(place: int, other: int, swapped: bool | np.bool_) -> int:
    """Column of a result: 1 if the agent with the lower id was placed better, 2 if the other agent was, 3 for a tie.

    swapped: whether `place` belongs to the agent with the higher id. The code has no branches, because results are unpredictable for the
    CPU.
    """
    lost, tied = int(place > other), int(place == other)
    return 1 + 2 * tied + (1 - tied) * (lost ^ int(swapped))
