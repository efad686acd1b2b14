"""Weights of wins, losses and ties for each pair of agents that met: the input of pairwise methods."""

from dataclasses import dataclass, fields
from typing import Final, TypeAlias

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from ratings_core import checks
from ratings_core.errors import InputError

Matrix: TypeAlias = "scipy.sparse.csr_array[np.float64, tuple[int, int]]"

MOST_DENSE: Final = 1 << 20
"""Largest number of agents for a dense matrix of all pairs, which takes 8 TB at this size."""


@dataclass(frozen=True, slots=True)
class PairCounts:
    """Results of k pairs that met. Each pair has one row, with first < second; rows ascend by (first, second).

    first, second: int32 (k,), agent ids; wins, losses, ties: float64 (k,), weight of the outcomes in which `first` was placed better,
    `second` was placed better, or both had the same place. An outcome of weight 1 counts 1. Raises `InputError` if columns differ in
    length, pairs are not sorted, or a weight is negative or not finite.
    """

    first: NDArray[np.int32]
    second: NDArray[np.int32]
    wins: NDArray[np.float64]
    losses: NDArray[np.float64]
    ties: NDArray[np.float64]

    def __post_init__(self) -> None:
        for field in fields(self):
            dtype = np.int32 if field.name in ("first", "second") else np.float64
            column = checks.instance(field.name, getattr(self, field.name), np.ndarray)
            if column.dtype != dtype or column.shape != self.first.shape or column.ndim != 1:
                raise InputError(field.name, column, f"must be {np.dtype(dtype).name} (k,), as long as first")
        _check_pairs(self.first, self.second)
        for name, column in (("wins", self.wins), ("losses", self.losses), ("ties", self.ties)):
            if not (np.isfinite(column) & (column >= 0)).all():
                raise InputError(name, column, "must be finite and nonnegative")

    def __len__(self) -> int:
        return len(self.first)

    @classmethod
    def from_dense(cls, wins: ArrayLike, ties: ArrayLike | None = None) -> "PairCounts":
        """Convert dense matrices to counts.

        wins: (n, n), weight of a beating b; ties: (n, n), symmetric, 0 by default. Diagonals must be 0. Pairs of weight 0 did not meet and
        are left out. Raises `InputError` for other shapes, and for negative, infinite or missing entries.
        """
        won = checks.nonnegative("wins", wins)
        tied = np.zeros_like(won) if ties is None else checks.symmetric("ties", checks.nonnegative("ties", ties))
        if tied.shape != won.shape:
            raise InputError("ties", tied.shape, f"must have the shape of wins, {won.shape}")
        checks.zero_diagonal("wins", won)
        checks.zero_diagonal("ties", tied)
        first, second = np.nonzero(np.triu(won + won.T + tied, 1))
        return cls(first.astype(np.int32), second.astype(np.int32), won[first, second], won[second, first], tied[first, second])

    def sparse(self, n: int) -> tuple[Matrix, Matrix]:
        """(wins, ties) of agents 0 to n-1 as CSR (n, n) with sorted indices and no stored zeros.

        wins[a, b]: weight of a beating b; ties is symmetric. Raises `InputError` if an id is n or greater.
        """
        self._check_bound(n)
        rows, columns = np.concatenate([self.first, self.second]), np.concatenate([self.second, self.first])
        return (
            _csr(rows, columns, np.concatenate([self.wins, self.losses]), n),
            _csr(rows, columns, np.concatenate([self.ties, self.ties]), n),
        )

    def dense(self, n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(wins, ties) as float64 (n, n), as in `sparse`. Memory is 16 n*n bytes; n is at most 2**20."""
        self._check_bound(n, MOST_DENSE)
        wins, ties = np.zeros((n, n)), np.zeros((n, n))
        wins[self.first, self.second], wins[self.second, self.first] = self.wins, self.losses
        ties[self.first, self.second] = ties[self.second, self.first] = self.ties
        return wins, ties

    def margins(self, n: int) -> NDArray[np.float64]:
        """Wins minus losses as float64 (n, n), antisymmetric; ties are ignored. Raises `InputError` if an id is n or greater."""
        self._check_bound(n, MOST_DENSE)
        margins, margin = np.zeros((n, n)), self.wins - self.losses
        margins[self.first, self.second], margins[self.second, self.first] = margin, -margin
        return margins

    def _check_bound(self, n: int, most: int = checks.MAX_IDS) -> None:
        checks.count("n", n, high=most)
        if len(self) and int(self.second.max()) >= n:
            raise InputError("n", n, f"must be above the largest agent id, {int(self.second.max())}")


def _csr(rows: NDArray[np.int32], columns: NDArray[np.int32], weight: NDArray[np.float64], n: int) -> Matrix:
    kept = weight != 0
    matrix: Matrix = scipy.sparse.csr_array((weight[kept], (rows[kept], columns[kept])), shape=(n, n))
    matrix.sort_indices()
    return matrix


def _check_pairs(first: NDArray[np.int32], second: NDArray[np.int32]) -> None:
    if not (first >= 0).all() or not (first < second).all():
        raise InputError("first, second", "pairs", "must be ids >= 0 with first < second")
    ahead = first[1:] > first[:-1]
    if not (ahead | ((first[1:] == first[:-1]) & (second[1:] > second[:-1]))).all():
        raise InputError("first, second", "pairs", "must be sorted, each pair once")
