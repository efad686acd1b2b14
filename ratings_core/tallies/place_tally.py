"""Counts of each agent's places by the number of sides: the input of plurality, approval and Borda from games."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.arrays.frozen import Undo
from ratings_core.arrays.hash_table import WINDOW, add_window
from ratings_core.errors import InputError
from ratings_core.kernels.compile import inlined, kernel
from ratings_core.records.games import games_of
from ratings_core.records.outcomes import MAX_SIDES, WEIGHT_ONE, OutcomeBatch
from ratings_core.tallies.batches import Group, groups, in_all
from ratings_core.tallies.slabs import Slabs
from ratings_core.tallies.tally import Tally

_FIELD: Final = np.int64(255)


@dataclass(frozen=True, slots=True)
class PlaceCounts:
    """k distinct results, sorted by (agent, sides, ahead, tied).

    agent: int32 (k,), agent id; sides, ahead, tied: int32 (k,), number of sides of the outcome, of sides placed strictly better, and of
    sides with the same place, including the agent; weight: float64 (k,), where an outcome of weight 1 counts 1.
    """

    agent: NDArray[np.int32]
    sides: NDArray[np.int32]
    ahead: NDArray[np.int32]
    tied: NDArray[np.int32]
    weight: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.agent)


class PlaceTally(Tally):
    """Weight of each observed (agent, sides, sides ahead, sides tied), by time bucket.

    Only single-agent sides get counts. Teams are included in the numbers of sides, sides ahead and sides tied. Weights are integers in
    units of 2**-20, so the result does not depend on the order of outcomes or their division into batches. A bucket is any int64. In the
    arrays, key is agent * 2**24 + sides * 2**16 + ahead * 2**8 + tied.
    """

    counts_teams: ClassVar[bool] = False
    """Whether members of teams get counts, in place of agents that are a side alone."""

    def __init__(self) -> None:
        super().__init__(Slabs(("weight",)))

    def add(self, batch: OutcomeBatch, bucket: NDArray[np.int64]) -> None:
        """Count the outcomes of `batch`, outcome i in time bucket `bucket[i]`.

        Raises `InputError`, without counting any outcome, if the batch breaks its rules or a cell could overflow.
        """
        columns, _ = games_of(batch)
        grouped = list(groups(bucket, None, len(batch)))
        self.slabs.admit(int(columns.weight.sum()))
        for group in grouped:
            self._add_group(columns, group)

    def _add_group(self, columns: Any, group: Group) -> None:
        slab, done = self.slabs.at(group.bucket), 0
        starts = columns.agent_start[columns.side_start] if self.counts_teams else columns.side_start  # of what outcomes add at most
        while True:
            with slab.undo(lambda: in_all(starts, group)) as undo:
                done, slab.size = _add(slab.slots, slab.rows, slab.size, slab.limit, group.select, done, columns, self.counts_teams, undo)
            if done == len(group.select):
                break
            slab.reserve(int(starts[group.select[done] + 1] - starts[group.select[done]]))
        if not slab.size:  # nobody was counted
            self.slabs.remove(group.bucket)

    def merge(self, other: Self) -> None:
        """Add the counts of `other`, which must use the same ids of agents. Raises `InputError` if it counts other sides."""
        if checks.instance("other", other, PlaceTally).counts_teams != self.counts_teams:
            raise InputError("other", other, f"must be a {type(self).__name__}")
        super().merge(other)

    def counts(self, buckets: Mapping[int, float] | None = None) -> PlaceCounts:
        """Counts, in outcomes. buckets: weight (>= 0) of each bucket, 0 for others; by default all buckets have weight 1."""
        keys, values = self.slabs.totals(buckets)
        sides, ahead, tied = ((keys >> shift & _FIELD).astype(np.int32) for shift in (16, 8, 0))
        return PlaceCounts((keys >> 24).astype(np.int32), sides, ahead, tied, values[0] / WEIGHT_ONE)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Restore a tally from the result of `arrays()`. Raises `InputError` for invalid arrays."""
        tally = cls()
        tally.slabs.restore(arrays)
        key = arrays["key"]
        sides, ahead, tied = (key >> shift & _FIELD for shift in (16, 8, 0))
        if ((key < 0) | (key >> 55 != 0) | (sides < 2) | (sides > MAX_SIDES) | (tied < 1) | (ahead + tied > sides)).any():
            raise InputError("arrays['key']", key, "must be agents and places among 2 to 64 sides")
        return tally


class TeamTally(PlaceTally):
    """As `PlaceTally`, of the members of teams: only sides of more than one agent get counts, one for each member."""

    counts_teams: ClassVar[bool] = True


@kernel
def _add(
    slots: NDArray[np.int32], rows: NDArray[np.int64], size: int, limit: int, select: NDArray[np.int64], done: int, columns: Any,
    teams: bool, undo: Undo,
) -> tuple[int, int]:  # fmt: skip
    """Add the outcomes of `select` from index `done` until one might not fit. Returns the next index and the new size."""
    side_start, place, agent_start, agent, weight = columns
    window, count = np.empty((4, WINDOW), np.int64), 0
    while done < len(select):
        lo, hi = side_start[select[done]], side_start[select[done] + 1]
        most = agent_start[hi] - agent_start[lo] if teams else hi - lo
        if size + count + most > limit:
            size, count = add_window(slots, rows, size, window, count, undo), 0
            if size + most > limit:
                return done, size
        for s in range(lo, hi):
            begin, end = agent_start[s], agent_start[s + 1]
            if (end - begin > 1) == teams:
                standing = (hi - lo) << 16 | _standing(place, lo, hi, place[s])
                for at in range(begin, end):
                    if count == WINDOW:
                        size, count = add_window(slots, rows, size, window, count, undo), 0
                    window[0, count], window[1, count], window[2, count] = np.int64(agent[at]) << 24 | standing, 1, weight[select[done]]
                    count += 1
        done += 1
    return done, add_window(slots, rows, size, window, count, undo)


@inlined
def _standing(place: NDArray[np.int32], lo: int, hi: int, own: np.int32) -> int:
    """Number of sides placed better than `own`, times 2**8, plus the number of sides with the same place."""
    ahead = tied = 0
    for s in range(lo, hi):
        ahead += place[s] < own
        tied += place[s] == own
    return ahead << 8 | tied
