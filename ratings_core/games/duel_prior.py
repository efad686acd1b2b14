"""The prior of duels: predictions for pairs that were not compared on a task, by a Bradley-Terry model with offsets per task.

The log-odds of a over b on task t are (s_a + o_ta) - (s_b + o_tb). Strengths s and offsets o have normal priors. So the fit is finite and
unique for any results, the offsets of a task with few results stay near 0, and an agent without games is average.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import scipy

from ratings_core import checks
from ratings_core.errors import InputError, SolverError
from ratings_core.solution import Floats

STRENGTHS: Final = 2.0
"""Standard deviation of strengths, in logits: wide, but an agent that won all its games still gets a finite strength."""
OFFSETS: Final = 0.5
"""Standard deviation of offsets, in logits: most tasks agree with the overall strengths."""
KAPPAS: Final = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
"""Values of kappa from which `kappa_by_held_out` chooses."""
_FLAT: Final = 1e-6
"""The fit has converged if no slope of its loss exceeds this times the largest number of games of an agent on a task."""


def predicted(ahead: Floats, games: Floats, *, strengths: float = STRENGTHS, offsets: float = OFFSETS) -> Floats:
    """Chance q that the row agent beats the column agent, (tasks, n, n), q + its transpose = 1.

    ahead, games: as in `Duels` with compare ``wins``; strengths, offsets: standard deviations of the priors, in logits. Raises
    `SolverError` if the fit does not converge.
    """
    scale = checks.number("strengths", strengths, above=0.0), checks.number("offsets", offsets, above=0.0)
    tasks, n = ahead.shape[:2]
    won = (games + ahead) / 2
    most = max(1.0, float(games.sum(axis=2).max()))

    def loss(theta: Floats) -> tuple[float, Floats]:
        level, own = theta[:n], theta[n:].reshape(tasks, n)
        strength = level + own
        odds = strength[:, :, None] - strength[:, None, :]
        value = (won * np.logaddexp(0.0, -odds)).sum() + ((level / scale[0]) ** 2).sum() / 2 + ((own / scale[1]) ** 2).sum() / 2
        slope = (games * scipy.special.expit(odds) - won).sum(axis=2)
        return float(value), np.append(slope.sum(axis=0) + level / scale[0] ** 2, (slope + own / scale[1] ** 2).ravel())

    start, slope_at_end = np.zeros(n * (tasks + 1)), _FLAT / 10
    minimum = scipy.optimize.minimize(
        loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 10_000, "gtol": slope_at_end, "ftol": 0.0}
    )
    if (steepest := float(np.abs(minimum.jac).max())) > _FLAT * most:
        raise SolverError(f"the fit of the prior of duels did not converge (slope {steepest:.3g}); pool tasks, or use another policy")
    strength = minimum.x[:n] + minimum.x[n:].reshape(tasks, n)
    return np.asarray(scipy.special.expit(strength[:, :, None] - strength[:, None, :]), np.float64)


def kappa_by_held_out(ahead: Floats, games: Floats) -> float:
    """The value of `KAPPAS` with the smallest held-out loss, the largest among equals. Needs whole games. Raises `InputError`."""
    losses = held_out_losses(ahead, games, KAPPAS)
    return max(kappa for kappa, loss in zip(KAPPAS, losses, strict=True) if loss == min(losses))


def held_out_losses(ahead: Floats, games: Floats, kappas: Sequence[float], *, share: float = 0.2, seed: int = 0) -> tuple[float, ...]:
    """Mean log loss of held-out games for each kappa, in nats per game, to choose kappa by.

    Each win and each loss of a compared cell is held out with probability `share`. Two ties of a cell count as a win and a loss; a single
    tie is never held out. The other games are fitted and shrunk by each kappa as in `preferences`. ahead, games: whole numbers of games.
    Raises `InputError`.
    """
    weights = [checks.number("kappa", kappa, above=0.0) for kappa in kappas]
    rng = np.random.default_rng(seed)
    upper = np.triu(np.ones(ahead.shape[1:], bool), 1)
    won, lost = (games + ahead)[:, upper] / 2, (games - ahead)[:, upper] / 2
    if (2 * won != np.round(2 * won)).any() or not games.any():
        raise InputError("games", games.shape, "must hold whole numbers of games, at least one")
    out = [rng.binomial(np.floor(own).astype(np.int64), checks.number("share", share, above=0.0, high=0.9)) for own in (won, lost)]
    kept = np.zeros((2, *ahead.shape))
    kept[0][:, upper], kept[1][:, upper] = won - lost - out[0] + out[1], won + lost - out[0] - out[1]
    train = kept[0] - np.swapaxes(kept[0], 1, 2), kept[1] + np.swapaxes(kept[1], 1, 2)
    q = predicted(*train)
    chances = ((((train[1] + train[0]) / 2 + kappa * q) / (train[1] + kappa))[:, upper] for kappa in weights)
    total = max(1.0, float((out[0] + out[1]).sum()))
    return tuple(float(-(out[0] * np.log(chance) + out[1] * np.log1p(-chance)).sum()) / total for chance in chances)
