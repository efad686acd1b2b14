"""Global minimum of the sigmoid loss for up to 16 agents, by branch and bound over their ratings."""

import heapq
import math
import time
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.batch.box_fit import box_of
from ratings_core.batch.pair_counts import pair_counts
from ratings_core.batch.sigmoid_loss import Box, SigmoidLoss, descend
from ratings_core.batch.soft_condorcet import SoftCondorcet, SoftCondorcetOptions, soft_condorcet, soft_condorcet_at, strong_winner
from ratings_core.errors import InputError, SolverError
from ratings_core.kernels.compile import inlined, kernel
from ratings_core.solution import Certificate, Floats, Status

MOST_AGENTS: Final = 16
"""The number of boxes grows exponentially with agents: ten take seconds, twelve a minute; with sixteen the proof often stays incomplete."""
_SWEEPS: Final = 40
_HALVINGS: Final = 50


def sigmoidal_program(
    wins: Any,
    ties: Any = None,
    *,
    tau: float = 1.0,
    low: float = 0.0,
    high: float = 100.0,
    tolerance: float = 1e-6,
    max_nodes: int = 200_000,
    accept_approximate: bool = False,
) -> SoftCondorcet:
    """Global minimum of the sigmoid loss in the box (Lanctot et al. 2025, sec. 3.2.2 and appendix C) for up to 16 agents, with a proof.

    Arguments as for `soft_condorcet`, whose answer is the starting point. The paper has one variable for each ordered pair, with
    constraints between them (Udell and Boyd 2014). This search divides boxes of ratings instead. In a box, each sigmoid is replaced by
    its convex envelope over the differences that the box allows. Minimising the sum of the envelopes, and subtracting a bound on the
    remaining error, gives a lower bound of the loss in the box. Adding a constant to all ratings does not change the loss, so one rating
    is fixed at `high`: that of a strong Condorcet winner (theorem 5); without a winner, the agents are tried one after the other.
    Kemeny's smallest number of wrong pairs also bounds the loss (see `soft_condorcet`) and often ends the search immediately.

    Certificate (``loss_gap``): loss - bound, divided by the sum of all absolute margins; it is at most `tolerance`. `bound` holds for this
    box and temperature. max_nodes: number of boxes examined before the search ends with status `approximate`; the returned loss and
    bound are valid in that case, too.
    Raises `InputError`, and `SolverError` with the best point unless accept_approximate is set.
    """
    begun = time.perf_counter()
    checks.switch("accept_approximate", accept_approximate)
    counts = pair_counts(wins, ties)
    if counts.m > MOST_AGENTS:
        raise InputError("wins", counts.m, f"must have at most {MOST_AGENTS} agents; soft_condorcet accepts more")
    most, box = checks.count("max_nodes", max_nodes, low=1), box_of(low, high)
    allowed = checks.number("tolerance", tolerance, above=0.0)
    first = soft_condorcet(counts, options=SoftCondorcetOptions(tau=tau, low=low, high=high, accept_approximate=True))
    loss = SigmoidLoss.of(counts)
    search = _Search(loss, box, first.tau, first.ratings, first.loss - loss.agreed, first.bound - loss.agreed)
    search.run(allowed * search.total, most)
    solution = search.solution(allowed)
    solution = replace(solution, seconds=time.perf_counter() - begun)
    if solution.status is Status.OPTIMAL or accept_approximate:
        return solution
    reached = f"the loss gap is {solution.certificate.value:.3g} of the sum of all margins, more than {allowed:g}"
    raise SolverError(f"{reached}: raise max_nodes or tolerance, or pass accept_approximate=True", solution)


@dataclass(frozen=True, slots=True)
class _Node:
    """A box of ratings. bound: lower bound of the loss in it; at: approximate minimum of its relaxation; cut: the agent to split by."""

    bound: float
    at: Floats
    cut: int
    lower: Floats
    upper: Floats

    def halves(self) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        """Split the box in two along rating `cut`: at the relaxation's minimum if it is between 20 and 80 % of the side, else halfway."""
        least, width = self.lower[self.cut], self.upper[self.cut] - self.lower[self.cut]
        share = (self.at[self.cut] - least) / width
        below, above = self.upper.copy(), self.lower.copy()
        below[self.cut] = above[self.cut] = least + width * (share if 0.2 < share < 0.8 else 0.5)
        return (self.lower, below), (above, self.upper)


@dataclass(slots=True)
class _Search:
    """Best-first search.

    best: smallest loss so far, at ratings theta; floor: a lower bound known before the search. All losses here omit `loss.agreed`, which
    is the same for all ratings.
    """

    loss: SigmoidLoss
    box: Box
    tau: float
    theta: Floats
    best: float
    floor: float
    bound: float = 0.0
    nodes: int = 0

    @property
    def total(self) -> float:
        """Sum of all absolute margins, the unit of the certificate; 1 without margins."""
        return float(self.loss.margin.sum()) or 1.0

    def run(self, gap: float, max_nodes: int) -> None:
        """Split boxes until the best loss is proven to within `gap`, or `max_nodes` boxes were examined."""
        self.bound = self.floor
        if self.best - self.floor <= gap:
            return
        order, closed = count(), self.best
        waiting: list[tuple[float, int, _Node]] = []

        def look(lower: Floats, upper: Floats) -> float:
            node = self._look(lower, upper)
            if node.bound < self.best - gap:
                heapq.heappush(waiting, (node.bound, next(order), node))
                return np.inf
            return node.bound

        for held in self._held():
            lower, upper = np.full((2, self.loss.m), [[self.box.low], [self.box.high]])
            lower[held] = self.box.high
            closed = min(closed, look(lower, upper))
        while waiting and self.nodes < max_nodes and waiting[0][0] < self.best - gap:
            for half in heapq.heappop(waiting)[2].halves():
                closed = min(closed, look(*half))
        self.bound = max(self.floor, min(closed, self.best, waiting[0][0] if waiting else np.inf))

    def solution(self, tolerance: float) -> SoftCondorcet:
        """The best point, with the loss gap as its certificate."""
        point = soft_condorcet_at(
            self.loss, self.box, self.tau, self.theta, tolerance=tolerance, bound=self.loss.agreed + self.bound, stats={}
        )
        gap = max(0.0, point.loss - point.bound) / self.total
        status = Status.OPTIMAL if gap <= tolerance * (1 + 1e-9) else Status.APPROXIMATE
        return replace(point, certificate=Certificate("loss_gap", gap), status=status, stats={"nodes": self.nodes})

    def _held(self) -> list[int]:
        winner = strong_winner(self.loss)
        return [*range(self.loss.m)] if winner is None else [winner]

    def _look(self, lower: Floats, upper: Floats) -> "_Node":
        """Compute the bound of a box. Updates `theta` and `best` if the relaxation's minimum has a smaller loss."""
        self.nodes += 1
        at = (lower + upper) / 2
        bound, cut = _relax(self.loss.winner, self.loss.loser, self.loss.margin, lower, upper, 1 / self.tau, at)
        value = self.loss.value(at, self.tau) - self.loss.agreed
        if value < self.best:
            near = descend(self.loss, self.box, self.tau, at, 100)
            self.theta, self.best = (near.theta, near.value) if near.value < value else (at, value)
        return _Node(bound, at, cut, lower, upper)


@kernel
def _relax(
    winner: NDArray[np.int64], loser: NDArray[np.int64], margin: Floats, lower: Floats, upper: Floats, slope: float, theta: Floats
) -> tuple[float, int]:
    """Lower bound of the sum of convex envelopes in a box, and the agent whose rating should be split.

    Coordinate descent moves `theta`, in place, towards the minimum of the sum. The bound is valid wherever the descent ends. The agent
    belongs to the pair with the largest difference of sigmoid and envelope; of the two, it has the wider range of ratings.
    """
    pairs, m = len(winner), len(theta)
    bend, chord = np.empty(pairs), np.empty(pairs)
    for p in range(pairs):
        least = slope * (lower[loser[p]] - upper[winner[p]])
        most = slope * (upper[loser[p]] - lower[winner[p]])
        bend[p], chord[p] = _envelope(least, most)
    for _ in range(_SWEEPS):
        moved = 0.0
        for a in range(m):
            moved = max(moved, slope * abs(_settle(winner, loser, margin, bend, chord, lower, upper, slope, theta, a)))
        if moved < 1e-7:
            break
    bound, worst, cut = 0.0, -1.0, 0
    gradient = np.zeros(m)
    for p in range(pairs):
        x = slope * (theta[loser[p]] - theta[winner[p]])
        value, rise = _convex(x, bend[p], chord[p])
        bound += margin[p] * value
        gradient[loser[p]] += margin[p] * slope * rise
        gradient[winner[p]] -= margin[p] * slope * rise
        missing = margin[p] * (_sigmoid(x) - value)
        if missing > worst:
            wide = upper[loser[p]] - lower[loser[p]] > upper[winner[p]] - lower[winner[p]]
            worst, cut = missing, loser[p] if wide else winner[p]
    for a in range(m):  # a convex function lies above its tangent plane, and the plane is smallest at a corner of the box
        bound += min(gradient[a] * (lower[a] - theta[a]), gradient[a] * (upper[a] - theta[a]))
    return bound, cut


@inlined
def _sigmoid(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))


@kernel
def _envelope(least: float, most: float) -> tuple[float, float]:
    """Convex envelope of the sigmoid over [least, most], as (bend, slope): the sigmoid up to `bend`, then a line of this slope."""
    if most <= 0.0:
        return np.inf, 0.0
    top = _sigmoid(most)
    if least < 0.0:  # z is where the tangent passes through (most, top): sigmoid'(z) (most - z) = top - sigmoid(z)
        low, high = least, 0.0
        for _ in range(_HALVINGS):
            z = (low + high) / 2
            s = _sigmoid(z)
            if s * (1.0 - s) * (most - z) < top - s:
                low = z
            else:
                high = z
        touch = low
    else:
        touch = least
    return touch, (top - _sigmoid(touch)) / (most - touch) if most > touch else 0.0


@inlined
def _convex(x: float, bend: float, chord: float) -> tuple[float, float]:
    """Value and slope of an envelope at x. The envelope lies above the line of this slope through the point (a subgradient)."""
    if x < bend:
        s = _sigmoid(x)
        return s, s * (1.0 - s)
    return _sigmoid(bend) + chord * (x - bend), chord


@kernel
def _settle(
    winner: NDArray[np.int64], loser: NDArray[np.int64], margin: Floats, bend: Floats, chord: Floats,
    lower: Floats, upper: Floats, slope: float, theta: Floats, a: int,
) -> float:  # fmt: skip
    """Move the rating of agent a to the minimum of the envelopes' sum along this coordinate, by bisection. Returns the distance moved."""
    before, low, high = theta[a], lower[a], upper[a]
    for _ in range(_HALVINGS):
        if not low < high:
            break
        theta[a] = (low + high) / 2
        rise = 0.0
        for p in range(len(winner)):
            if winner[p] == a or loser[p] == a:
                up = margin[p] * _convex(slope * (theta[loser[p]] - theta[winner[p]]), bend[p], chord[p])[1]
                rise += up if loser[p] == a else -up
        if rise > 0.0:
            high = theta[a]
        elif rise < 0.0:
            low = theta[a]
        else:
            low = high = theta[a]
    theta[a] = (low + high) / 2
    return float(theta[a] - before)
