"""Soft Condorcet optimisation from tallies: ratings that minimise a smooth count of the votes that disagree with their order."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from ratings_core.batch.box_fit import LARGEST, BoxOptions, box_fit
from ratings_core.batch.sigmoid_loss import Box, Descent, SigmoidLoss, descend
from ratings_core.errors import SolverError
from ratings_core.options import option
from ratings_core.ranking import Ranking
from ratings_core.solution import Certificate, Floats, Solution, Status
from ratings_core.voting.kemeny_search import gain_of, improved, packing_bound
from ratings_core.voting.kemeny_subsets import MOST_AGENTS, best_orders

ORDERED_UP_TO: Final = 500
"""Largest number of agents for which a good order gives a second start and a lower bound of the loss. Both need dense margins."""
_STAGE_STEPS: Final = 30
_STAGE_PROGRESS: Final = 1e-6
_TIED: Final = 1e-6
"""Ratings that differ by at most this, in temperatures, are tied. It is about the accuracy of a descent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftCondorcet(Solution):
    """Ratings in the box. ranking: their order; ties at a bound of the box are resolved by margins.

    loss: the soft count of wrongly ordered pairs over all votes (eq. 6); bound: lower bound of the loss, valid for all boxes and
    temperatures; winner: the strong Condorcet winner, or None; tau, low, high, prior: as given.
    """

    ranking: Ranking
    loss: float
    bound: float
    winner: int | None
    tau: float
    low: float
    high: float
    prior: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftCondorcetOptions(BoxOptions):
    """Options of `soft_condorcet`."""

    tau: float = option(1.0, "temperature: differences beyond a few of it hardly matter", 1 / LARGEST, LARGEST)
    tolerance: float = option(1e-6, "largest projected gradient", 1e-14, 1.0)
    max_iterations: int = option(2_000, "of L-BFGS at the last temperature", 1, 1_000_000)


_DEFAULTS: Final = SoftCondorcetOptions()


def soft_condorcet(wins: Any, ties: Any = None, *, options: SoftCondorcetOptions = _DEFAULTS) -> SoftCondorcet:
    """Find a local minimum of the sigmoid loss in the box (Lanctot et al. 2025, eq. 6 and 8), from the tallies of all votes.

    wins: (m, m), entry (a, b) is N(a, b), the weight of votes for a over b, dense or scipy sparse; or `MetPairs`. Ties are ignored.
    options.prior: adds prior/2 ((theta - middle)/tau)^2 for each agent; 0 gives the paper's loss. The prior is our addition: without it,
    noise can push an agent with few votes to a bound.

    The loss is not convex. The temperature is halved from the width of the box down to tau, with L-BFGS at each temperature, because a
    descent at tau alone can stall where the loss is flat. Up to `ORDERED_UP_TO` agents a second descent starts from a good order, spread
    over the box (up to 20 agents from the best order, that of Kemeny's method), and the result with the smaller loss is used. Without a
    prior, a strong Condorcet winner is then set to `high`, which does not increase the loss (theorem 5). If several points have the
    smallest loss, the order of the agents can decide between them.

    `bound` is Kemeny's smallest number of wrong pairs, or a lower bound of it. Our reason: under independent Gumbel noise of scale tau on
    the ratings, b comes before a with probability sigmoid((b - a)/tau), so the loss is the mean number of wrong pairs of random orders.

    Certificate (``projected_gradient``): the largest component of the projected gradient, times tau, divided by the sum of the agent's
    absolute margins (at most 1/4). It is recomputed from the ratings and is at most the tolerance. It proves that no small move reduces
    the loss. The distance of the loss from its global minimum is at most loss - bound.

    The paper's columns come from `soft_condorcet_sgd`, whose final ratings differ from the minimum.
    Raises `InputError`, and `SolverError` with the best point if the certificate is above the tolerance, unless
    `options.accept_approximate` is set.
    """
    SoftCondorcetOptions.require(options)
    begun, tolerance, steps = time.perf_counter(), options.tolerance, options.max_iterations
    counts, box, tau = box_fit(wins, ties, options, "tau")
    loss = SigmoidLoss.of(counts, options.prior)
    winner = strong_winner(loss)
    descent, starts = _annealed(loss, box, tau, steps, tolerance / 4), 1
    bound = 0.0
    if loss.m <= ORDERED_UP_TO and len(loss.margin):
        margins = loss.dense()
        order, bound = _good_order(margins, descent.theta)
        descent = _lower(descent, descend(loss, box, tau, _spread(order, box), steps, accuracy=tolerance / 4), float(loss.margin.sum()))
        starts = 2
    theta = descent.theta.copy()
    if winner is not None and not loss.prior:
        theta[winner] = box.high
    stats = {"iterations": descent.steps, "starts": starts, "pairs": len(loss.margin)}
    solution = soft_condorcet_at(loss, box, tau, theta, tolerance=tolerance, bound=loss.agreed + bound, stats=stats)
    solution = replace(solution, seconds=time.perf_counter() - begun)
    if solution.status is Status.OPTIMAL or options.accept_approximate:
        return solution
    reached = f"the projected gradient is {solution.certificate.value:.3g}, more than {tolerance:g}"
    raise SolverError(f"{reached}: raise max_iterations or tolerance, or set accept_approximate", solution)


def strong_winner(loss: SigmoidLoss) -> int | None:
    """The agent with a positive margin over every other agent; None without such an agent, and if there is only one agent."""
    beaten = np.bincount(loss.winner, minlength=loss.m)
    best = int(beaten.argmax())
    return best if beaten[best] == loss.m - 1 and loss.m > 1 else None


def projected_gradient(loss: SigmoidLoss, box: Box, tau: float, theta: Floats) -> float:
    """The certificate of `soft_condorcet` at the ratings `theta` (m,)."""
    free = np.abs(box.free(theta, loss.forces(theta, tau, box.middle)))
    return float((free / np.maximum(loss.weight, np.finfo(float).tiny))[loss.weight > 0].max(initial=0.0))


def soft_condorcet_at(
    loss: SigmoidLoss, box: Box, tau: float, theta: Floats, *, tolerance: float, bound: float, stats: Mapping[str, float]
) -> SoftCondorcet:
    """The solution with ratings `theta` (m,) and its certificate. bound: lower bound of the loss."""
    gradient, winner = projected_gradient(loss, box, tau, theta), strong_winner(loss)
    return SoftCondorcet(
        ratings=theta,
        certificate=Certificate("projected_gradient", gradient),
        status=Status.OPTIMAL if gradient <= tolerance else Status.APPROXIMATE,
        seconds=0.0,
        stats=stats,
        ranking=_ranked(loss, box, tau, theta, winner),
        loss=loss.value(theta, tau),
        bound=bound,
        winner=winner,
        tau=tau,
        low=box.low,
        high=box.high,
        prior=loss.prior,
    )


def _ranked(loss: SigmoidLoss, box: Box, tau: float, theta: Floats, winner: int | None) -> Ranking:
    """Order of the ratings. Agents tied at a bound are ordered by their margins against each other, a strong winner first (ours)."""
    levels: list[list[int]] = []
    inside = (theta > box.low) & (theta < box.high)
    for level in Ranking.from_scores(theta, _TIED * tau).levels:
        at_bound = len(level) > 1 and not inside[list(level)].any()
        levels += _by_margin(loss, np.array(level, np.int64), winner) if at_bound else [list(level)]
    return Ranking.from_levels(levels)


def _by_margin(loss: SigmoidLoss, ids: Any, winner: int | None) -> list[list[int]]:
    inside = np.zeros(loss.m, np.bool_)
    inside[ids] = True
    among = inside[loss.winner] & inside[loss.loser]
    winners, losers, margin = loss.winner[among], loss.loser[among], loss.margin[among]
    total = (np.bincount(winners, margin, loss.m) - np.bincount(losers, margin, loss.m)).astype(np.float64)
    if winner is not None:
        total[winner] = np.inf
    return [ids[list(level)].tolist() for level in Ranking.from_scores(total[ids]).levels]


def _annealed(loss: SigmoidLoss, box: Box, tau: float, max_steps: int, accuracy: float) -> Descent:
    theta, steps, temperature = np.full(loss.m, box.middle), 0, box.width
    while temperature > tau:
        stage = descend(loss, box, temperature, theta, min(_STAGE_STEPS, max_steps), progress=_STAGE_PROGRESS)
        theta, steps, temperature = stage.theta, steps + stage.steps, temperature / 2
    last = descend(loss, box, tau, theta, max_steps, accuracy=accuracy)
    return Descent(last.theta, steps + last.steps, last.value)


def _good_order(margins: Floats, theta: Floats) -> tuple[list[int], float]:
    """An order of small loss, and a lower bound of the total margin that every order gets wrong."""
    place, total = np.arange(len(margins)), float(np.maximum(margins, 0.0).sum())
    if len(margins) <= MOST_AGENTS:
        best = best_orders(margins, place)
        return best.order, max(0.0, (total - best.gain) / 2)
    start = np.lexsort((place, -margins.sum(axis=1), -theta))
    orders = [improved(margins, start), improved(margins, np.lexsort((place, -margins.sum(axis=1))))]
    return max(orders, key=lambda order: gain_of(margins, order)), max(0.0, (total - packing_bound(margins)) / 2)


def _spread(order: list[int], box: Box) -> Floats:
    theta = np.full(len(order), box.middle)
    theta[order] = np.linspace(box.high, box.low, len(order)) if len(order) > 1 else box.middle
    return theta


def _lower(first: Descent, second: Descent, weight: float) -> Descent:
    """The descent of smaller loss, or the first if the losses differ only by rounding; `steps` is the sum of both."""
    steps = first.steps + second.steps
    chosen = second if second.value < first.value - 1e-9 * weight else first
    return Descent(chosen.theta, steps, chosen.value)
