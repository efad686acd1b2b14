"""Outcomes as pairwise comparisons, each with the index of its outcome. Input of resampling, clustered errors and covariates."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.batch.pair_counts import MetPairs
from ratings_core.errors import InputError
from ratings_core.kernels.compile import kernel
from ratings_core.records.outcomes import WEIGHT_ONE, OutcomeBatch
from ratings_core.solution import Floats

Ids = NDArray[np.int64]
_UNIT: Final = 1.0 / WEIGHT_ONE


@dataclass(frozen=True, slots=True, eq=False)
class Comparisons:
    """n pairwise comparisons between m agents, sorted by outcome.

    first, second: int64 (n,), agent ids; result: float64 (n,), of first: 1 won, 1/2 tied, 0 lost; outcome: int64 (n,), index of each
    comparison's outcome, ascending; weight: float64 (outcomes,), > 0. Raises `InputError` if a column breaks these rules.
    """

    m: int
    first: Ids
    second: Ids
    result: Floats
    outcome: Ids
    weight: Floats

    def __post_init__(self) -> None:
        checks.count("m", self.m, low=1, high=checks.MAX_IDS)
        n = len(self.first)
        for name, dtype in (("first", np.int64), ("second", np.int64), ("result", np.float64), ("outcome", np.int64)):
            column = getattr(self, name)
            if column.dtype != dtype or column.shape != (n,):
                raise InputError(name, column, f"must be {np.dtype(dtype).name} (n,), as long as first")
        for name, ids in (("first", self.first), ("second", self.second)):
            if n and not (ids.min() >= 0 and ids.max() < self.m):
                raise InputError(name, ids, f"must hold ids from 0 to {self.m - 1}")
        if (same := np.flatnonzero(self.first == self.second)).size:
            raise InputError(f"second[{same[0]}]", int(self.second[same[0]]), "must differ from first")
        if not np.isin(self.result, (0.0, 0.5, 1.0)).all():
            raise InputError("result", self.result, "must hold 0, 1/2 and 1 only")
        if self.weight.dtype != np.float64 or self.weight.ndim != 1 or not (np.isfinite(self.weight) & (self.weight > 0)).all():
            raise InputError("weight", self.weight, "must be float64, finite and positive, with one weight per outcome")
        if n and (self.outcome[0] < 0 or (np.diff(self.outcome) < 0).any() or self.outcome[-1] >= len(self.weight)):
            raise InputError("outcome", self.outcome, f"must be ascending, from 0 to {len(self.weight) - 1}")

    def __len__(self) -> int:
        return len(self.first)

    @classmethod
    def of_outcomes(cls, batch: OutcomeBatch, m: int) -> "Comparisons":
        """All pairs of single-agent sides in each outcome, as pair tallies count them; teams are left out. m: agent ids are 0 to m-1."""
        sides = np.diff(checks.instance("batch", batch, OutcomeBatch).side_start)
        most = int((sides * (sides - 1) // 2).sum())
        pair, result, outcome = np.empty((most, 2), np.int64), np.empty(most), np.empty(most, np.int64)
        n = _expand(batch.side_start, batch.place, batch.agent_start, batch.agent, pair, result, outcome)
        first, second = (np.ascontiguousarray(pair[:n, side]) for side in (0, 1))
        return cls(m, first, second, result[:n].copy(), outcome[:n].copy(), batch.weight.astype(np.float64) * _UNIT)

    @property
    def weights(self) -> Floats:
        """Weight of each comparison (n,), which is the weight of its outcome."""
        return np.asarray(self.weight[self.outcome], np.float64)

    def counts(self) -> MetPairs:
        """The tally of all comparisons."""
        return PairCells.of(self).counts(self.weight)


@dataclass(frozen=True, slots=True, eq=False)
class PairCells:
    """Index of the tally cell of each comparison, computed once for many tallies of the same outcomes.

    pairs: int64 (k,), first * m + second with first < second, ascending; cell: int64 (n,), three times the row in `pairs`, plus 0 if the
    first agent of the pair won, 1 if it lost, 2 if they tied; outcome: int64 (n,), index of each comparison's outcome.
    """

    m: int
    pairs: Ids
    cell: Ids
    outcome: Ids

    @classmethod
    def of(cls, comparisons: Comparisons) -> "PairCells":
        """The cells of all comparisons."""
        turned = checks.instance("comparisons", comparisons, Comparisons).first > comparisons.second
        low, high = np.minimum(comparisons.first, comparisons.second), np.maximum(comparisons.first, comparisons.second)
        pairs, row = np.unique(low * comparisons.m + high, return_inverse=True)
        won = np.where(turned, 1 - comparisons.result, comparisons.result)
        kind = np.select([won == 1.0, won == 0.0], [0, 1], 2)
        return cls(comparisons.m, pairs, 3 * row + kind, comparisons.outcome)

    def counts(self, weight: Floats) -> MetPairs:
        """Tally the outcomes with these weights (outcomes,), >= 0. Pairs of total weight 0 are left out."""
        cells = np.bincount(self.cell, weight[self.outcome], 3 * len(self.pairs)).reshape(-1, 3)
        met = cells.any(axis=1)
        pairs, (won, lost, tied) = self.pairs[met], np.ascontiguousarray(cells[met].T, np.float64)
        return MetPairs(self.m, pairs // self.m, pairs % self.m, won, lost, tied)


@kernel
def _expand(
    side_start: Ids, place: NDArray[np.int32], agent_start: Ids, agent: NDArray[np.int32], pair: Ids, result: Floats, outcome: Ids
) -> int:
    at = 0
    for game in range(len(side_start) - 1):
        for i in range(side_start[game], side_start[game + 1]):
            for j in range(i + 1, side_start[game + 1]):
                if agent_start[i + 1] - agent_start[i] == 1 and agent_start[j + 1] - agent_start[j] == 1:
                    pair[at, 0], pair[at, 1] = agent[agent_start[i]], agent[agent_start[j]]
                    result[at] = 0.5 if place[i] == place[j] else 1.0 if place[i] < place[j] else 0.0
                    outcome[at] = game
                    at += 1
    return at
