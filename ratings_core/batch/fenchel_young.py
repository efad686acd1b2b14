"""The Fenchel-Young loss of soft Condorcet optimisation from tallies: a Bradley-Terry fit in a box, without sampling."""

import time
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.batch.box_fit import LARGEST, BoxOptions, box_fit
from ratings_core.batch.logistic import PairLikelihood, conjugate_gradient
from ratings_core.batch.pair_counts import MetPairs
from ratings_core.batch.sigmoid_loss import Box
from ratings_core.errors import SolverError
from ratings_core.graphs import Labels, strong_components, weak_components
from ratings_core.options import option
from ratings_core.solution import Certificate, Floats, Solution, Status

_SHORTEST: Final = 2.0**-40
_ARMIJO: Final = 1e-4
_NOISE: Final = 1e-13
"""Relative rounding error of the loss."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FenchelYoung(Solution):
    """Ratings in the box. at_bound: bool (m,), agents rated `low` or `high`, within rounding; sigma, low, high, prior: as given."""

    at_bound: NDArray[np.bool_]
    sigma: float
    low: float
    high: float
    prior: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FenchelYoungOptions(BoxOptions):
    """Options of `fenchel_young`."""

    sigma: float = option(1.0, "scale of the noise, in points", 1 / LARGEST, LARGEST)
    prior: float = option(0.0, "votes that tie each agent with one held in the middle", 0.0, checks.LARGEST_WEIGHT)


_DEFAULTS: Final = FenchelYoungOptions()
_BOUND: Final = 1 - 1e-12
"""Share of half the box's width from which a rating counts as at a bound, because of rounding."""


def fenchel_young(wins: Any, ties: Any = None, *, options: FenchelYoungOptions = _DEFAULTS) -> FenchelYoung:
    """Minimise the Fenchel-Young loss in the box (Lanctot et al. 2025, sec. 3.3 and appendix B), with Gumbel noise on the ratings.

    wins: (m, m), entry (a, b) is N(a, b), the weight of votes for a over b; ties: (m, m), each tie is half a vote for each agent. Dense or
    scipy sparse; `MetPairs` may replace both.

    The rank of an agent is the number of agents ahead of it. The expected gradient of a vote is the agents' expected ranks minus their
    ranks (appendix B; the printed eq. 9 has the opposite sign). With Gumbel noise, b is ahead of a with probability
    1 / (1 + exp((a - b)/sigma)), so the gradient equals that of the pairwise logistic likelihood and needs no sampling. In a sufficiently
    wide box the result is the Bradley-Terry ratings of scale sigma, with the mean of each connected group of agents in the middle of the
    box. A group of agents that never lost to an agent outside it has no finite Bradley-Terry ratings; its ratings rise to the upper bound.
    Correspondingly, a group that never won falls to the lower bound. A Condorcet winner is not always first.

    The loss is convex and is minimised by projected Newton steps. Certificate (``projected_gradient``): the largest difference of expected
    and actual points, divided by the agent's votes, over agents that are not pushed against a bound. It is recomputed from the ratings and
    is at most the tolerance. Raises `InputError`, and `SolverError` with the best point if the tolerance is not reached, unless
    `options.accept_approximate` is set.
    """
    FenchelYoungOptions.require(options)
    begun, allowed = time.perf_counter(), options.tolerance
    counts, box, scale = box_fit(wins, ties, options, "sigma")
    likelihood = PairLikelihood(counts, options.prior)
    half = box.width / (2 * scale)
    theta, steps = _minimise(likelihood, half, allowed / 2, options.max_iterations)
    if not likelihood.prior:
        theta = _spread(counts, theta, half)
    solution = _solution(likelihood, box, scale, theta, half, allowed)
    solution = replace(solution, seconds=time.perf_counter() - begun, stats={"iterations": steps, "pairs": len(counts.first)})
    if solution.status is Status.OPTIMAL or options.accept_approximate:
        return solution
    reached = f"expected and actual points of an agent differ by {solution.certificate.value:.3g} per vote, more than {allowed:g}"
    raise SolverError(f"{reached}: raise max_iterations or tolerance, or set accept_approximate", solution)


def _solution(likelihood: PairLikelihood, box: Box, sigma: float, theta: Floats, half: float, tolerance: float) -> FenchelYoung:
    ratings = np.select([theta >= half, theta <= -half], [box.high, box.low], np.clip(box.middle + sigma * theta, box.low, box.high))
    logits = (ratings - box.middle) / sigma
    gap = float(np.abs(_free(logits, likelihood.gradient(logits), half) / _games(likelihood)).max())
    return FenchelYoung(
        ratings=ratings,
        certificate=Certificate("projected_gradient", gap),
        status=Status.OPTIMAL if gap <= tolerance else Status.APPROXIMATE,
        seconds=0.0,
        at_bound=np.abs(logits) >= half * _BOUND,
        sigma=sigma,
        low=box.low,
        high=box.high,
        prior=likelihood.prior,
    )


def _games(likelihood: PairLikelihood) -> Floats:
    return np.asarray(np.maximum(likelihood.games, np.finfo(float).tiny), np.float64)


def _free(theta: Floats, gradient: Floats, half: float) -> Floats:
    return Box(-half * _BOUND, half * _BOUND).free(theta, gradient)


def _minimise(likelihood: PairLikelihood, half: float, tolerance: float, max_steps: int) -> tuple[Floats, int]:
    """Projected Newton's method (Bertsekas 1982) from the middle of the box; half: half the box's width. Returns logits (m,) and steps."""
    games, theta = _games(likelihood), np.zeros(likelihood.counts.m)
    value = likelihood.value(theta)
    for step in range(max_steps):
        gradient = likelihood.gradient(theta)
        free = _free(theta, gradient, half)
        if float(np.abs(free / games).max()) <= tolerance:
            return theta, step
        ahead = _along(likelihood, theta, value, free, _direction(likelihood, theta, free, games), half)
        if ahead is None:
            return theta, step
        theta, value = ahead
    return theta, max_steps


def _direction(likelihood: PairLikelihood, theta: Floats, free: Floats, games: Floats) -> Floats:
    """Newton's direction for the ratings with a nonzero projected gradient, and 0 for the others.

    The required accuracy rises as the gradient falls.
    """
    moving = (free != 0).astype(np.float64)
    curvature = likelihood.curvature(theta)
    counts, diagonal = curvature.counts, curvature.diagonal
    accuracy = min(0.1, float(np.sqrt(np.abs(free / games).max())))

    def apply(x: Floats) -> Floats:
        x = moving * x
        other = counts.per_agent(curvature.weights * x[counts.second], curvature.weights * x[counts.first])
        return np.asarray(moving * (diagonal * x - other), np.float64)

    return conjugate_gradient(apply, free, moving * diagonal, accuracy)


def _along(
    likelihood: PairLikelihood, theta: Floats, value: float, free: Floats, direction: Floats, half: float
) -> tuple[Floats, float] | None:
    """Backtracking line search, clipped to the box. Returns a point with a sufficiently smaller loss and its loss.

    Where the change of the loss is within rounding, a smaller projected gradient is sufficient. None if no step qualifies.
    """
    share = 1.0
    while share > _SHORTEST:
        ahead = np.clip(theta - share * direction, -half, half)
        there = likelihood.value(ahead)
        if there <= value - _ARMIJO * float(free @ (theta - ahead)):
            return ahead, there
        if there <= value + _NOISE * value and _closer(likelihood, theta, ahead, half):
            return ahead, there
        share /= 2
    return None


def _closer(likelihood: PairLikelihood, theta: Floats, ahead: Floats, half: float) -> bool:
    here, there = (np.abs(_free(point, likelihood.gradient(point), half)).max() for point in (theta, ahead))
    return bool(there <= 0.9 * here)


def _spread(counts: MetPairs, theta: Floats, half: float) -> Floats:
    """Choose one of the points of equal loss.

    Each connected part is centred in the box. A strong component that beat outside agents, and was beaten by none of them, moves up to the
    bound; a component that was beaten by outside agents, and beat none of them, moves down. Neither move increases the loss.
    """
    up, down = counts.won + counts.tied > 0, counts.lost + counts.tied > 0
    tails = np.concatenate([counts.first[up], counts.second[down]])
    heads = np.concatenate([counts.second[up], counts.first[down]])
    group, part = strong_components(tails, heads, counts.m), weak_components(tails, heads, counts.m)
    across = group[tails] != group[heads]
    beaten, beating = np.zeros((2, int(group.max()) + 1), np.bool_)
    beaten[group[heads[across]]] = beating[group[tails[across]]] = True
    theta = _centred(theta, part, half)
    top, bottom = np.full((2, len(beaten)), [[-np.inf], [np.inf]])
    np.maximum.at(top, group, theta)
    np.minimum.at(bottom, group, theta)
    lift = np.where(beating & ~beaten, half - top, np.where(beaten & ~beating, -half - bottom, 0.0))
    return np.asarray(np.clip(theta + lift[group], -half, half), np.float64)


def _centred(theta: Floats, part: Labels, half: float) -> Floats:
    """Shift each part so that its mean is in the middle of the box, as far as its ratings stay inside."""
    mean = np.bincount(part, theta) / np.bincount(part)
    top, bottom = np.full((2, len(mean)), [[-np.inf], [np.inf]])
    np.maximum.at(top, part, theta)
    np.minimum.at(bottom, part, theta)
    shift = np.clip(-mean, -half - bottom, half - top)
    return np.asarray(theta + shift[part], np.float64)
