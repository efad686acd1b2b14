"""Who was placed before whom, how often: sparse, by time bucket and, where asked, by task."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.arrays.frozen import Frozen, Joined, Still, Undo
from ratings_core.arrays.hash_table import WINDOW, add_window
from ratings_core.errors import InputError
from ratings_core.kernels.compile import inlined, kernel, unlocked
from ratings_core.records.outcomes import WEIGHT_ONE, OutcomeBatch
from ratings_core.tallies.batches import Group, game_columns, groups
from ratings_core.tallies.pair_counts import PairCounts
from ratings_core.tallies.slabs import Slabs, Totals
from ratings_core.tallies.tally import Tally

_LOW: Final = np.int64(2**32 - 1)


class PairTally(Tally):
    """Weights of wins and ties of every pair of agents that met as sides of one agent each; teams contribute no pair.

    An outcome of n single-agent sides adds its weight once for each of its n(n-1)/2 pairs, to the wins of the better placed or
    to their ties. Weights are integers (units of 2**-20), so the order of outcomes and the cuts between batches change nothing.
    per_task: keep every task's counts apart (outcomes without one are task -1); else tasks are ignored. Buckets are any int64.
    """

    def __init__(self, per_task: bool = False) -> None:
        self.per_task = per_task
        super().__init__(Slabs(("wins", "losses", "ties")))

    @property
    def tasks(self) -> list[int]:
        """Tasks on which a pair met, rising; -1 stands for none, the only one unless `per_task`."""
        return self.slabs.tasks

    def add(self, batch: OutcomeBatch, bucket: NDArray[np.int64]) -> None:
        """Count the outcomes of `batch`, outcome i in time bucket `bucket[i]`.

        Raises `InputError`, and counts nothing, where the batch breaks its rules or a cell could come near overflow.
        """
        columns = game_columns(batch)
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
        """Add all that `other` counted; its ids must mean the same agents and tasks. Raises `InputError` where `per_task` differs."""
        if self.per_task != checks.instance("other", other, PairTally).per_task:
            raise InputError("other.per_task", other.per_task, f"must be {self.per_task}, as here")
        super().merge(other)

    def counts(self, buckets: Mapping[int, float] | None = None, task: int | None = None) -> PairCounts:
        """Counts in outcomes (weight 1 counts 1), over all tasks or on `task` (-1: without one).

        buckets: bucket to its weight (>= 0); those not named take no part; by default all count once. Raises `InputError`
        where a task is asked of a tally that does not keep them apart.
        """
        if task is not None and not self.per_task:
            raise InputError("task", task, "must be None: this tally does not keep tasks apart")
        return _counts(self.slabs.totals(buckets, task))

    def counts_by_task(self, buckets: Mapping[int, float] | None = None) -> dict[int, PairCounts]:
        """`counts` of each task on which a pair met, rising; -1 stands for none, the only one unless `per_task`."""
        return {task: _counts(totals) for task, totals in self.slabs.totals_by_task(buckets).items()}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Canonical copy: those of `Slabs.arrays` (key: lower id * 2**32 + higher id,
        wins and losses: of the lower, weights in units of 2**-20), and per_task uint8 (1,).
        """
        return {**super().arrays(), **self._mode()}

    def frozen(self) -> Frozen:
        """What `arrays` gives now, as `ratings_core.arrays.frozen` says."""
        return Joined(super().frozen(), Still(self._mode()))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "PairTally":
        """The tally whose `arrays()` these are. Raises `InputError` where they are not those of one."""
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
    """How many pairs of sides a group has."""
    sides = columns.side_start[group.select + 1] - columns.side_start[group.select]
    return int((sides * (sides - 1) // 2).sum())


def _counts(totals: Totals) -> PairCounts:
    wins, losses, ties = totals.values / WEIGHT_ONE
    return PairCounts((totals.keys >> 32).astype(np.int32), (totals.keys & _LOW).astype(np.int32), wins, losses, ties)


@kernel
def _add(
    slots: NDArray[np.int32], rows: NDArray[np.int64], size: int, limit: int, select: NDArray[np.int64], done: int, columns: Any, undo: Undo
) -> tuple[int, int]:
    """Outcomes of `select` from `done` on, while all pairs of one fit. Outcomes done and the new size."""
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
    """1 where the agent with the lower id was placed better, 2 where the other was, 3 for a tie. Without branches nobody can predict.

    swapped: whether `place` is of the agent with the higher id.
    """
    lost, tied = int(place > other), int(place == other)
    return 1 + 2 * tied + (1 - tied) * (lost ^ int(swapped))
