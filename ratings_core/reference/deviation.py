"""Deviation ratings as the sequence of linear programs of Algorithm 1 (Marris et al., eq. 4)."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.reference.correlated import gains
from ratings_core.reference.programs import cvxpy, solve
from ratings_core.solution import Floats

_BINDING: Final = 1e-6
"""A multiplier above this proves that its constraint binds in every optimum. Multipliers sum to 1 in each
program, so at least one is larger.
"""


def deviation_ratings(payoffs: Sequence[Floats]) -> tuple[Floats, ...]:
    """Rate strategies by their gains in the strictest coarse correlated equilibrium.

    Each program minimizes the largest gain of the constraints that are still free. Constraints with a positive multiplier get that value as
    their rating and stay bounded by it.

    Args:
        payoffs: One tensor for each player, all of the game's shape.

    Returns:
        Ratings (n_p,) of each player's strategies, in payoffs.

    Raises:
        SolverError: A program was not solved.
        MissingExtraError: cvxpy is not installed.
    """
    A = gains(payoffs)
    unit = np.abs(A).max() or 1.0
    ratings = np.full(len(A), np.nan)
    while (free := np.isnan(ratings)).any():
        least, multipliers = _program(A / unit, free, ratings)
        ratings[np.flatnonzero(free)[multipliers > _BINDING]] = least
    return tuple(np.split(ratings * unit, np.cumsum(payoffs[0].shape)[:-1]))


def _program(A: Floats, free: NDArray[np.bool_], ratings: Floats) -> tuple[float, Floats]:
    """Least t with A sigma <= t on the free constraints and A sigma <= rating on the others, and the
    multipliers of the free constraints.
    """
    cp = cvxpy()
    sigma, t = cp.Variable(A.shape[1], nonneg=True), cp.Variable()
    bounded = A[free] @ sigma <= t
    constraints: list[Any] = [cp.sum(sigma) == 1, bounded]
    if not free.all():
        constraints.append(A[~free] @ sigma <= ratings[~free])
    least = solve(cp.Minimize(t), constraints, linear=True)
    return least, np.abs(np.atleast_1d(bounded.dual_value))
