"""Agents that stand to all others alike, exactly or nearly: what bends methods that clones can move."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist, squareform

from ratings_core import checks
from ratings_core.checks import Sparse
from ratings_core.games.clones import CloneClasses, clone_classes
from ratings_core.solution import Floats


@dataclass(frozen=True, slots=True)
class NearClones:
    """Two agents, first < second, and the largest difference of their margins against anybody, in the margins' unit."""

    first: int
    second: int
    distance: float


def exact_clones(margins: Any) -> tuple[tuple[int, ...], ...]:
    """Groups of two or more agents with equal margins against everybody (so they tie each other): ids ascending, by their first.

    margins: (m, m), antisymmetric, dense or any scipy sparse array. In a sparse pool agents that met nobody are clones of each other.
    Raises `InputError`.
    """
    if checks.is_sparse(margins):
        classes = _sparse_classes(checks.sparse_antisymmetric("margins", margins))
    else:
        classes = clone_classes(checks.antisymmetric("margins", margins))
    order = np.argsort(classes.member, kind="stable")
    groups = np.split(order, np.cumsum(classes.size)[:-1])
    return tuple(tuple(group.tolist()) for group in groups if len(group) > 1)


def near_clones(margins: Any, radius: float) -> tuple[NearClones, ...]:
    """Pairs whose margins against every other agent, and against each other, differ by at most `radius`, nearest first.

    margins: (m, m), antisymmetric, dense; exact clones are at distance 0. Time and memory O(m**3) and O(m**2): 1,000 agents take a
    second. Raises `InputError`.
    """
    M = checks.antisymmetric("margins", margins)
    widest = checks.number("radius", radius, low=0.0)
    distance = _distances(M)
    pairs = np.argwhere(np.triu(distance <= widest, 1))
    found = [NearClones(int(a), int(b), float(distance[a, b])) for a, b in pairs]
    return tuple(sorted(found, key=lambda pair: (pair.distance, pair.first, pair.second)))


def _distances(M: Floats) -> Floats:
    """Columns a and b of the two rows hold M(a, b) and 0, and 0 and -M(a, b): the margin between the two counts like any other."""
    return np.asarray(squareform(pdist(M, "chebyshev"))) if len(M) > 1 else np.zeros((1, 1))


def _sparse_classes(margins: Sparse) -> CloneClasses:
    """Rows are equal where their stored entries are."""
    seen: dict[bytes, int] = {}
    start, who, value = margins.indptr, margins.indices.astype(np.int64), margins.data + 0.0
    member = np.empty(margins.shape[0], np.int64)
    for a in range(len(member)):
        row = slice(start[a], start[a + 1])
        member[a] = seen.setdefault(who[row].tobytes() + value[row].tobytes(), len(seen))
    _, first, size = np.unique(member, return_index=True, return_counts=True)
    return CloneClasses(member, first.astype(np.int64), size.astype(np.int64))
