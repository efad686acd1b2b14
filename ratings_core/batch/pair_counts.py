"""The input of batch methods: wins, losses and ties, one row for each pair of agents that met."""

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import scipy
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.kernels.compile import kernel
from ratings_core.solution import Floats
from ratings_core.tallies import pair_counts as tallies

Ids = NDArray[np.int64]
MatrixT = TypeVar("MatrixT", bound=checks.Matrix)


@dataclass(frozen=True, slots=True)
class MetPairs:
    """Results of the pairs of m agents that met. Each pair has one row, with first < second; rows ascend by (first, second).

    m: number of agents; first, second: int64 (pairs,), agent ids; won, lost, tied: float64 (pairs,), weight of the outcomes that
    `first` won, lost and tied against `second`. `of_tally` converts a `tallies.PairCounts`, which does not store the number of agents.
    """

    m: int
    first: Ids
    second: Ids
    won: Floats
    lost: Floats
    tied: Floats

    @property
    def games(self) -> Floats:
        """Weight of all outcomes of each pair (pairs,)."""
        return self.won + self.lost + self.tied

    @property
    def points(self) -> Floats:
        """Points of `first` against `second` (pairs,): 1 for a win, 1/2 for a tie."""
        return self.won + self.tied / 2

    def per_agent(self, of_first: Floats, of_second: Floats) -> Floats:
        """Sum a quantity over the pairs of each agent (m,).

        of_first, of_second: (pairs,), the amounts that each pair adds to its first and to its second agent.
        """
        return np.asarray(np.bincount(self.first, of_first, self.m) + np.bincount(self.second, of_second, self.m), np.float64)

    def only(self, kept: NDArray[np.bool_]) -> "MetPairs":
        """The same agents, with only the pairs selected by `kept`, bool (pairs,)."""
        return MetPairs(self.m, self.first[kept], self.second[kept], self.won[kept], self.lost[kept], self.tied[kept])

    def times(self, factor: Floats) -> "MetPairs":
        """The same pairs, with the weights of each pair's outcomes multiplied by `factor` (pairs,)."""
        return MetPairs(self.m, self.first, self.second, factor * self.won, factor * self.lost, factor * self.tied)


def pair_counts(wins: Any, ties: Any = None) -> MetPairs:
    """Check matrices of wins and ties and convert them to pairs.

    wins: (m, m), entry (a, b) is the weight of the outcomes in which a beat b; ties: (m, m), symmetric, entry (a, b) is the weight of
    the outcomes that a and b tied, or None. Each may be dense or any scipy sparse array. `MetPairs` passed as `wins`, without `ties`, are
    returned unchanged.

    Raises `InputError` unless both matrices are square and of the same size, with entries from 0 to 1e150 and a zero diagonal, and ties
    are symmetric.
    """
    if isinstance(wins, MetPairs):
        if ties is not None:
            raise InputError("ties", ties, "must be left out if wins is a MetPairs, which contains ties")
        return wins
    if ties is None and not checks.is_sparse(wins):
        return _of_dense(_allowed("wins", checks.nonnegative("wins", wins)))
    beaten = _accepted("wins", wins)
    drawn = _accepted("ties", ties) if ties is not None else None
    if drawn is not None and drawn.shape != beaten.shape:
        raise InputError("ties", drawn.shape, f"must have the shape of wins, {beaten.shape}")
    if drawn is not None:
        checks.sparse_symmetric("ties", drawn)
    return _from_upper(beaten, drawn)


def of_tally(counts: tallies.PairCounts, m: int) -> MetPairs:
    """Convert the counts of a tally of agents 0 to m-1. Raises `InputError` if an agent id is m or greater."""
    checks.count("m", m, low=1, high=checks.MAX_IDS)
    checks.instance("counts", counts, tallies.PairCounts)
    if len(counts) and int(counts.second.max()) >= m:
        raise InputError("m", m, f"must be above the largest agent id, {int(counts.second.max())}")
    return MetPairs(m, counts.first.astype(np.int64), counts.second.astype(np.int64), counts.wins, counts.losses, counts.ties)


def _accepted(argument: str, matrix: Any) -> checks.Sparse:
    if checks.is_sparse(matrix):
        accepted = checks.sparse_nonnegative(argument, matrix)
    else:
        accepted = scipy.sparse.csr_array(checks.nonnegative(argument, matrix))
    return _allowed(argument, accepted)


def _allowed(argument: str, matrix: MatrixT) -> MatrixT:
    """The nonnegative matrix, dense or sparse. Raises `InputError` for pairs of an agent with itself and for weights beyond the limit."""
    checks.zero_diagonal(argument, matrix)
    if (most := float(matrix.max())) > checks.LARGEST_WEIGHT:
        raise InputError(argument, most, f"must hold weights of at most {checks.LARGEST_WEIGHT:g}")
    return matrix


def _of_dense(wins: Floats) -> MetPairs:
    pairs = _met(wins)
    first, second = np.empty((2, pairs), np.int64)
    won, lost = np.empty((2, pairs))
    _list_met(wins, first, second, won, lost)
    return MetPairs(len(wins), first, second, won, lost, np.zeros(pairs))


@kernel
def _met(wins: Floats) -> int:
    """Number of pairs with wins of either agent."""
    pairs = 0
    for a in range(len(wins)):
        for b in range(a + 1, len(wins)):
            pairs += wins[a, b] > 0 or wins[b, a] > 0
    return pairs


@kernel
def _list_met(wins: Floats, first: Ids, second: Ids, won: Floats, lost: Floats) -> None:
    """Write the pairs with wins of either agent and their wins, ascending by (first, second); all columns have one entry per pair."""
    pair = 0
    for a in range(len(wins)):
        for b in range(a + 1, len(wins)):
            if wins[a, b] > 0 or wins[b, a] > 0:
                first[pair], second[pair] = a, b
                won[pair], lost[pair] = wins[a, b], wins[b, a]
                pair += 1


def _from_upper(beaten: checks.Sparse, drawn: "checks.Sparse | None") -> MetPairs:
    m = beaten.shape[0]
    won, lost, tied = _upper(beaten), _upper(beaten.T), _upper(drawn)
    keys = np.sort(np.concatenate([won[0], lost[0], tied[0]]))
    keys = keys[np.diff(keys, prepend=-1) > 0]
    columns = [_spread(keys, *part) for part in (won, lost, tied)]
    return MetPairs(m, keys // m, keys % m, *columns)


def _upper(matrix: Any) -> tuple[Ids, Floats]:
    """Keys (first * m + second) and values of the entries above the diagonal."""
    if matrix is None:
        return np.empty(0, np.int64), np.empty(0)
    entries = scipy.sparse.coo_array(matrix)
    above = entries.row < entries.col
    keys = entries.row[above].astype(np.int64) * matrix.shape[0] + entries.col[above]
    return keys, entries.data[above]


def _spread(keys: Ids, own: Ids, values: Floats) -> Floats:
    column = np.zeros(len(keys))
    column[np.searchsorted(keys, own)] = values
    return column
