"""The coarse correlated equilibrium nearest to a target, as a convex program (Liu et al. 2025, sec. 3.2 and 3.3)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ratings_core.reference.programs import cvxpy, solve
from ratings_core.solution import Floats


@dataclass(frozen=True, slots=True)
class Correlated:
    """relative_entropy: of the equilibrium to the target, nats; by_player: gain of each strategy, (n_p,) for each player."""

    relative_entropy: float
    by_player: tuple[Floats, ...]


def gains(payoffs: Sequence[Floats]) -> Floats:
    """Gain of each deviation at each joint: A[(p, a'), a] = G_p(a', a_-p) - G_p(a).

    Args:
        payoffs: One tensor for each player, all of the game's shape.

    Returns:
        A row for each player and its strategy, in order; a column for each joint, in C order.
    """
    rows = [(np.expand_dims(np.moveaxis(G, p, 0), p + 1) - G).reshape(G.shape[p], -1) for p, G in enumerate(payoffs)]
    return np.vstack(rows)


def nearest_equilibrium(payoffs: Sequence[Floats], targets: Sequence[Floats], eps: float) -> Correlated:
    """Find the joint distribution of least relative entropy to the product of targets in which no player gains more than eps.

    With uniform targets it is the equilibrium of maximum entropy.

    Args:
        payoffs: One tensor for each player, all of the game's shape.
        targets: A distribution over each player's strategies.
        eps: Largest gain of any deviation, in payoffs.

    Returns:
        Its relative entropy and the gains, which are the ratings (sec. 3.3).

    Raises:
        SolverError: The program was not solved.
        MissingExtraError: cvxpy is not installed.
    """
    cp, A = cvxpy(), gains(payoffs)
    unit = np.abs(A).max() or 1.0
    prior = targets[0]
    for own in targets[1:]:
        prior = np.multiply.outer(prior, own)
    possible = prior.ravel() > 0
    sigma = cp.Variable(int(possible.sum()), nonneg=True)
    entropy = cp.sum(cp.rel_entr(sigma, prior.ravel()[possible]))
    least = solve(cp.Minimize(entropy), [cp.sum(sigma) == 1, A[:, possible] @ sigma / unit <= eps / unit], linear=False)
    gained = A[:, possible] @ sigma.value
    return Correlated(least, tuple(np.split(gained, np.cumsum(payoffs[0].shape)[:-1])))
