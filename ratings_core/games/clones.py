"""Exact duplicates: merged before a game is solved, given even shares afterwards.

Maximum entropy over a set of several equilibria is not invariant to duplicates, neither in its probabilities nor in the
ratings that follow from it, so duplicates are merged first: then class totals and all ratings do not depend on how often an
agent or a task was copied.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ratings_core.solution import Floats


@dataclass(frozen=True, slots=True)
class CloneClasses:
    """A partition of n rows into classes of equal rows, numbered by first appearance.

    member: int64 (n,), the class of each row; first: int64 (classes,), the first row of each class; size: int64 (classes,).
    """

    member: NDArray[np.int64]
    first: NDArray[np.int64]
    size: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.first)


def clone_classes(rows: Floats) -> CloneClasses:
    """Classes of equal rows of `rows` (n, k), finite; 0 and -0 are equal, nothing else is rounded.

    In an antisymmetric matrix agents with equal rows have equal columns too and tie with each other, so its rows are enough.
    """
    seen: dict[bytes, int] = {}
    plain = np.ascontiguousarray(rows) + 0.0  # turns -0 into 0, which is equal but has other bytes
    member = np.array([seen.setdefault(row.tobytes(), len(seen)) for row in plain], np.int64)
    return _described(member)


def singletons(n: int) -> CloneClasses:
    """The partition of n rows in which each is a class of its own."""
    return _described(np.arange(n, dtype=np.int64))


def split_evenly(totals: Floats, classes: CloneClasses) -> Floats:
    """Shares of the members, (n,): each gets its class's total over the class's size."""
    return np.asarray((totals / classes.size)[classes.member], np.float64)


def _described(member: NDArray[np.int64]) -> CloneClasses:
    _, first, size = np.unique(member, return_index=True, return_counts=True)
    return CloneClasses(member, first.astype(np.int64), size.astype(np.int64))
