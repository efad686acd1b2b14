"""Supports: read off a point of the central path, proven by linear algebra, extended from candidates to the complete game."""

from typing import Final, TypeAlias, TypeVar

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.solution import Floats

Mask: TypeAlias = NDArray[np.bool_]
Indices: TypeAlias = NDArray[np.int64]
Scalar = TypeVar("Scalar", bound=np.generic)

WELL_POSED: Final = 1e-12
"""Support systems with a lower reciprocal condition number count as singular; uniqueness is then not claimed."""
CLEAR: Final = 1e9
"""Factor between probability, relative to the uniform share, and slack from which the path has shown whether a strategy is played.
At a gap of 1e-14, differences of payoffs of 1e-11 and more stay below it where they decide.
"""
FINEST: Final = 1e-11
"""Smaller differences of payoffs, over their spread, do not show on the path."""
ROUNDING: Final = 4e-16
"""Differences of payoffs, over their spread, that count as rounding errors."""
CANDIDATES: Final = 96
"""Games with more than twice this many columns are first solved on this many of them."""


def played(strategy: Floats, slack: Floats) -> Mask:
    """Mask of strategies whose probability, relative to the uniform share, exceeds their slack; one of the two vanishes along the path.

    At least one strategy is in the mask.
    """
    return np.asarray((strategy * len(strategy) > slack) | (strategy == strategy.max()), bool)


def unclear(strategy: Floats, slack: Floats, close: float) -> Mask:
    """Mask of strategies whose probability and slack are both below `close`."""
    return np.asarray(np.maximum(strategy * len(strategy), slack) < close, bool)


def out_of_play(strategy: Floats, slack: Floats) -> Mask:
    """Mask of strategies that are clearly not played."""
    return np.asarray(slack > CLEAR * len(strategy) * strategy, bool)


def in_doubt(strategy: Floats, slack: Floats) -> bool:
    """True if a strategy is neither clearly played nor clearly not."""
    shares = len(strategy) * strategy
    return bool(((shares < CLEAR * slack) & (slack < CLEAR * shares)).any())


def hides_differences(payoffs: Floats) -> bool:
    """True if payoffs, scaled to differences of about 1, have differences above rounding that are too small to show on the path."""
    steps = np.diff(np.sort(payoffs, axis=None))
    return bool(((steps > ROUNDING) & (steps < FINEST)).any())


def played_before(argument: str, mix: ArrayLike, member: Indices, n: int) -> Mask:
    """Mask of n strategies: True for those in an earlier mix (m,). member: (m,), the strategy of each entry, -1 for none. Raises
    `InputError`.
    """
    given = checks.finite(argument, mix)
    if given.shape != member.shape:
        raise InputError(argument, given.shape, f"must be of shape {member.shape}")
    was_played = np.zeros(n, np.bool_)
    was_played[member[(given > 0) & (member >= 0)]] = True
    return was_played


# Proofs that an equilibrium is the only one


def only_symmetric(M: Floats, support: Mask) -> Floats | None:
    """The optimal strategy on `support`, or None if it is not proven to be the game's only one."""
    if not np.count_nonzero(support) % 2:  # an antisymmetric matrix of even order has no kernel of dimension one
        return None
    block = M[np.ix_(support, support)]
    solved = _bordered(block)
    if solved is None or not _strict(solved[0], solved[0] @ M[np.ix_(support, ~support)], solved[2]):
        return None
    return solved[0]


def only_equilibrium(A: Floats, rows: Mask, columns: Mask) -> tuple[Floats, Floats] | None:
    """Both strategies on the given supports, or None if they are not proven to be the game's only equilibrium."""
    if np.count_nonzero(rows) != np.count_nonzero(columns):
        return None
    block = A[np.ix_(rows, columns)]
    solved = _bordered(block)
    if solved is None:
        return None
    x, y, noise = solved
    value = float(x @ block @ y)
    ahead = np.append(x @ A[np.ix_(rows, ~columns)] - value, value - A[np.ix_(~rows, columns)] @ y)
    return (x, y) if _strict(np.append(x, y), ahead, noise) else None


def _strict(strategy: Floats, slack: Floats, noise: float) -> bool:
    """True if the probabilities on the support and the slacks off it exceed the bound `noise` on rounding errors."""
    return bool(strategy.min() > noise and (not slack.size or slack.min() > noise))


def inside(strategy: Floats, support: Mask) -> Floats:
    """The strategy on `support`, divided by its sum. At the end of the path, it maximises the product of probabilities and slacks on the
    face.
    """
    return np.asarray(strategy[support] / strategy[support].sum(), np.float64)


def clipped(support: Mask, shares: Floats) -> Floats:
    """Extend shares of `support` to all strategies. Negative shares from rounding become 0; the exploitability includes this error."""
    strategy = np.zeros(len(support))
    strategy[support] = np.maximum(shares, 0.0)
    return np.asarray(strategy / strategy.sum(), np.float64)


def _bordered(block: Floats) -> tuple[Floats, Floats, float] | None:
    """x, y with x'block and block y constant, sums 1, and a bound on their rounding errors; None if the system does not determine them.

    One factorisation of [[block', -1], [1', 0]] serves both, because y solves the transposed system up to the value's sign.
    """
    n = len(block)
    system = np.zeros((n + 1, n + 1), order="F")
    system[:n, :n], system[:n, n], system[n, :n] = block.T, -1.0, 1.0
    factors, pivots, singular = scipy.linalg.lapack.dgetrf(system)
    if singular or scipy.linalg.lapack.dgecon(factors, float(np.abs(system).sum(axis=0).max()))[0] < WELL_POSED:
        return None
    x, x_noise = _refined(system, factors, pivots, 1.0)
    y, y_noise = _refined(system.T, factors, pivots, -1.0)
    return x, y, max(1e-12, 100 * x_noise, 100 * y_noise)


def _refined(system: Floats, factors: Floats, pivots: NDArray[np.int32], total: float) -> tuple[Floats, float]:
    """One step of iterative refinement. The size of the step bounds the rounding error of the refined solution."""
    transposed = 1 if total < 0 else 0
    wanted = np.zeros(len(system))
    wanted[-1] = total
    solution = scipy.linalg.lapack.dgetrs(factors, pivots, wanted, trans=transposed)[0]
    correction = scipy.linalg.lapack.dgetrs(factors, pivots, wanted - system @ solution, trans=transposed)[0]
    return (solution + correction)[:-1], float(np.abs(correction[:-1]).max())


# Candidates: it is enough to solve a subset of the strategies if its solution strictly beats every strategy outside. A strategy that
# an optimal strategy strictly beats is in no optimal support, so value, supports, entropy and uniqueness are those of the complete game.


def first_candidates(payoffs: Floats) -> Indices:
    """The few columns with the lowest mean payoff to rows; all columns of a small game."""
    n = payoffs.shape[1]
    best = np.argsort(payoffs.mean(axis=0), kind="stable")
    return np.sort(best[:CANDIDATES] if n > 2 * CANDIDATES else best)


def more_candidates(chosen: Indices, slack: Floats, tolerance: float) -> Indices | None:
    """Enlarge `chosen` at most twofold, in order of least slack; None if no strategy is missing.

    All strategies are returned if more than a quarter are missing or more than half would be candidates, because further rounds would cost
    more than they save.
    """
    outside = slack.copy()
    outside[chosen] = np.inf
    missing = np.argsort(outside, kind="stable")[: np.count_nonzero(outside <= tolerance)]
    if not missing.size:
        return None
    grown = np.sort(np.append(chosen, missing[: len(chosen)]))
    return np.arange(len(slack)) if len(missing) > len(slack) / 4 or len(grown) > len(slack) / 2 else grown


def placed(values: NDArray[Scalar], where: Indices, n: int) -> NDArray[Scalar]:
    """An array of length n with `values` at the indices `where`, 0 elsewhere."""
    padded = np.zeros(n, values.dtype)
    padded[where] = values
    return padded
