"""Nash averages (Balduzzi et al. 2018, sec. 3 and 4): zero-sum games as linear programs, the equilibrium of largest entropy."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ratings_core.reference.lotteries import maximal_lottery
from ratings_core.reference.programs import PLAYED, cvxpy, most_even, solve
from ratings_core.solution import Floats


@dataclass(frozen=True, slots=True)
class Averages:
    """agents, tasks: ratings (n,) and (k,): S q, and minus p'S; agent_dist, task_dist: p and q; value: p'Sq."""

    agents: Floats
    tasks: Floats
    agent_dist: Floats
    task_dist: Floats
    value: float


def nash_average(scores: Floats, *, merge: bool = True) -> Averages:
    """Rate agents against tasks (sec. 4): one player mixes agents for a high score, the other mixes tasks for a low score.

    Args:
        scores: S (n, k), higher is better.
        merge: Whether exact duplicates count as one in the entropy.

    Returns:
        Ratings and mixes, each side's of largest entropy.

    Raises:
        SolverError: A program was not solved.
        MissingExtraError: cvxpy is not installed.
    """
    rows, columns = _classes(scores, 0, merge), _classes(scores, 1, merge)
    S = scores[np.ix_(rows[0], columns[0])]
    middle, unit = (S.max() + S.min()) / 2, (S.max() - S.min()) / 2 or 1.0
    S = (S - middle) / unit
    agents, tasks = _support(S), _support(-S.T)
    p, q = _most_even_optimum(S, agents, tasks), _most_even_optimum(-S.T, tasks, agents)
    p, q = (p / rows[2])[rows[1]], (q / columns[2])[columns[1]]
    return Averages(agents=scores @ q, tasks=-(p @ scores), agent_dist=p, task_dist=q, value=float(p @ scores @ q))


def nash_average_agents(payoffs: Floats, *, merge: bool = True) -> tuple[Floats, Floats]:
    """Rate agents against each other (sec. 3): A is antisymmetric, so an equilibrium strategy is a maximal lottery of A.

    Args:
        payoffs: A (m, m), antisymmetric: the payoff of a against b.
        merge: Whether exact duplicates count as one in the entropy.

    Returns:
        Ratings A p (m,) and p (m,).

    Raises:
        SolverError: A program was not solved.
        MissingExtraError: cvxpy is not installed.
    """
    p = maximal_lottery(payoffs, merge=merge)
    return payoffs @ p, p


def _classes(S: Floats, axis: int, merge: bool) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """First member of each class of exact duplicates, the class of each row or column, and the sizes of the classes."""
    if not merge:
        n = S.shape[axis]
        return np.arange(n), np.arange(n), np.ones(n, np.int64)
    _, first, member, size = np.unique(S, axis=axis, return_index=True, return_inverse=True, return_counts=True)
    return first, member.ravel(), size


def _support(S: Floats) -> NDArray[np.bool_]:
    """Mask of the rows that some optimal strategy of the row player plays."""
    cp = cvxpy()
    p, value = cp.Variable(len(S), nonneg=True), cp.Variable()
    optimum = solve(cp.Maximize(value), [cp.sum(p) == 1, S.T @ p >= value], linear=True)
    played = []
    for row in range(len(S)):
        most = solve(cp.Maximize(p[row]), [cp.sum(p) == 1, S.T @ p >= optimum - 1e-11], linear=True)
        played.append(most > PLAYED)
    return np.array(played)


def _most_even_optimum(S: Floats, own: NDArray[np.bool_], other: NDArray[np.bool_]) -> Floats:
    """The row player's optimal strategy of largest entropy: its payoff is the value at every column that the column player may play."""
    value = cvxpy().Variable()
    return most_even(own, lambda p: [S.T[other] @ p == value, S.T[~other] @ p >= value] if not other.all() else [S.T @ p == value])
