"""Exact and near clones: agents with equal or similar results against all others. Methods that are not clone-proof depend on them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from ratings_core import checks
from ratings_core.checks import Sparse
from ratings_core.games.clones import CloneClasses, clone_classes
from ratings_core.solution import Floats


@dataclass(frozen=True, slots=True)
class NearClones:
    """Two agents, first < second. distance: largest difference of their margins against any agent, in the margins' unit."""

    first: int
    second: int
    distance: float


def exact_clones(margins: Any) -> tuple[tuple[int, ...], ...]:
    """Groups of two or more agents with equal margins against every agent. Members of a group tie each other.

    margins: (m, m), antisymmetric, dense or any scipy sparse array. In a sparse pool all agents without games form a group. Ids ascend in
    each group, and groups ascend by their first id. Raises `InputError`.
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
    near_pairs = [NearClones(int(a), int(b), float(distance[a, b])) for a, b in pairs]
    return tuple(sorted(near_pairs, key=lambda pair: (pair.distance, pair.first, pair.second)))


def _distances(M: Floats) -> Floats:
    """Largest absolute difference of each two rows of M (m, m).

    Rows a and b differ by M(a, b) in their columns a and b, so the margin between the two agents counts like any other margin.
    """
    return np.asarray(scipy.spatial.distance.squareform(scipy.spatial.distance.pdist(M, "chebyshev"))) if len(M) > 1 else np.zeros((1, 1))


def _sparse_classes(margins: Sparse) -> CloneClasses:
    """Classes of equal rows, by comparing the stored entries of the rows."""
    seen: dict[bytes, int] = {}
    start, who, value = margins.indptr, margins.indices.astype(np.int64), margins.data + 0.0
    member = np.empty(margins.shape[0], np.int64)
    for a in range(len(member)):
        row = slice(start[a], start[a + 1])
        member[a] = seen.setdefault(who[row].tobytes() + value[row].tobytes(), len(seen))
    _, first, size = np.unique(member, return_index=True, return_counts=True)
    return CloneClasses(member, first.astype(np.int64), size.astype(np.int64))
