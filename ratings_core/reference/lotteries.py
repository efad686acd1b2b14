"""Maximal lotteries as linear programs (Lanctot et al. 2023, sec. 3.1.1 and C.2.9; Algorithm 1 for the iterated ones)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratings_core.reference.programs import PLAYED, cvxpy, most_even, solve
from ratings_core.solution import Floats


def maximal_lottery(margins: Floats, *, merge: bool = True) -> Floats:
    """Find the maximal lottery of largest entropy.

    A lottery p is maximal if M'p >= 0 (sec. 3.1.1). The paper does not choose among several maximal lotteries; this library takes the one
    of largest entropy over classes of exact duplicates.

    Args:
        margins: M (m, m), antisymmetric: by how much a beats b.
        merge: Whether exact duplicates count as one agent in the entropy.

    Returns:
        Probabilities (m,).

    Raises:
        SolverError: A program was not solved.
        MissingExtraError: cvxpy is not installed.
    """
    return _elected(margins, merge=merge)[0]


def iterated_maximal_lotteries(margins: Floats, *, merge: bool = True) -> Floats:
    """Rate agents by iterated maximal lotteries (Algorithm 1): each level's support is removed, and the other agents elect the next level.

    Args:
        margins: M (m, m), antisymmetric.
        merge: As for `maximal_lottery`, among the agents that are left.

    Returns:
        Ratings (m,): the number of levels below an agent's own, plus its probability there (sec. 4.3).

    Raises:
        SolverError: A program was not solved.
        MissingExtraError: cvxpy is not installed.
    """
    left, levels = np.arange(len(margins)), []
    while left.size:
        lottery, support = _elected(margins[np.ix_(left, left)], merge=merge)
        levels.append((left[support], lottery[support]))
        left = left[~support]
    ratings = np.empty(len(margins))
    for below, (agents, shares) in enumerate(reversed(levels)):
        ratings[agents] = below + shares
    return ratings


def _elected(margins: Floats, *, merge: bool) -> tuple[Floats, NDArray[np.bool_]]:
    """The lottery, and the mask of agents that some maximal lottery elects."""
    first, member, size = np.unique(margins, axis=0, return_index=True, return_inverse=True, return_counts=True)[1:]
    if not merge:
        first = member = np.arange(len(margins))
        size = np.ones(len(margins), np.int64)
    M = margins[np.ix_(first, first)] / (np.abs(margins).max() or 1.0)
    support = np.array([_most_likely(M, agent) > PLAYED for agent in range(len(M))])

    def maximal(p: Any) -> list[Any]:
        return [M.T[support] @ p == 0, M.T[~support] @ p >= 0] if not support.all() else [M.T @ p == 0]

    member = member.ravel()
    return (most_even(support, maximal) / size)[member], support[member]


def _most_likely(M: Floats, agent: int) -> float:
    """The largest probability that a maximal lottery gives the agent."""
    cp = cvxpy()
    p = cp.Variable(len(M), nonneg=True)
    return solve(cp.Maximize(p[agent]), [cp.sum(p) == 1, M.T @ p >= 0], linear=True)
