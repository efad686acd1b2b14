"""Bradley-Terry ratings with a parameter for ties (Davidson 1970), from tallies."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse import csgraph
from scipy.special import expit

from ratings_core import checks
from ratings_core.batch.bradley_terry import BradleyTerry, BradleyTerryOptions, bradley_terry, inside
from ratings_core.batch.logistic import DENSE_UP_TO, Curvature, PairLikelihood, conjugate_gradient, doubt, grounds_of, variance
from ratings_core.batch.pair_counts import MetPairs, pair_counts
from ratings_core.errors import InputError, SolverError
from ratings_core.graphs.components import Labels, strong_components
from ratings_core.solution import Certificate, Floats, Status

_ACCURACY: Final = 1e-8
_SHORTEST: Final = 2.0**-40
_NOISE: Final = 1e-13
_DEFAULTS: Final = BradleyTerryOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class Davidson(BradleyTerry):
    """Ratings in points, and nu: with a and b rated x apart, in logits, a wins, ties and loses as exp(x/2) : nu : exp(-x/2).

    nu is 0 where nothing was tied, and infinite where everything was.
    """

    nu: float

    def probabilities(self, first: int, second: int) -> tuple[float, float, float]:
        """That `first` wins, ties and loses against `second`; NaN where their ratings do not compare. Raises `InputError`."""
        for argument, agent in (("first", first), ("second", second)):
            if checks.count(argument, agent) >= len(self.ratings):
                raise InputError(argument, agent, f"must be an agent's id, 0 to {len(self.ratings) - 1}")
        if self.component[first] != self.component[second]:
            return math.nan, math.nan, math.nan
        if math.isinf(self.nu):
            return 0.0, 1.0, 0.0
        half = (self.ratings[first] - self.ratings[second]) / self.scale / 2
        won, tied, lost = _shares(np.array([2 * half]), math.log(self.nu) if self.nu else -math.inf)
        return float(won[0]), float(tied[0]), float(lost[0])

    def expected_score(self, first: int, second: int) -> float:
        """Probability that `first` beats `second` plus half of that of a tie; NaN where their ratings do not compare."""
        won, tied, _ = self.probabilities(first, second)
        return won + tied / 2


def davidson(
    wins: Any,
    ties: Any = None,
    *,
    options: BradleyTerryOptions = _DEFAULTS,
    names: Sequence[str] | None = None,
) -> Davidson:
    """Maximum-likelihood ratings and nu together (Davidson 1970, eq. 2.6), by Newton's method: concave in ratings and log nu.

    Arguments as for `bradley_terry`, also the prior, whose pseudo-games know no ties. A tie is half a point as there, and expected
    and actual points agree; what differs is that a tie tells that two agents are near each other. All components share nu.

    No ties: nu is 0 and the ratings are those of `bradley_terry`. Ties only: nu is infinite, and all ratings are `centre`. With both, and
    no prior, the answer can be infinite even among linked agents: when an order in steps exists such that every win is a step down
    or more and no tie is over more than a step (nobody who beat somebody ever came back), larger steps and a larger nu are always
    likelier. That is refused.

    options.standard_errors: ``none``, or ``fisher``: of independent games, from the inverse information, nu's uncertainty included.
    Certificate (``score_gap_per_game``): as for `bradley_terry`, and the difference of expected and actual ties over all games.
    Raises `InputError`, `SolverError`.
    """
    BradleyTerryOptions.require(options)
    begun = time.perf_counter()
    checks.choice("standard_errors", options.standard_errors, ("none", "fisher"))
    counts = pair_counts(wins, ties)
    halves = bradley_terry(counts, options=replace(options, standard_errors="none"), names=names)
    within = inside(counts, halves.component)
    decided, tied = float((within.won + within.lost).sum()), float(within.tied.sum())
    if not tied:
        plain = bradley_terry(counts, options=options, names=names)
        return _as_davidson(plain, 0.0, begun)
    if not decided:
        return _only_ties(halves, options.standard_errors != "none", begun)
    if not halves.prior and not _bounded(within, halves.component):
        rule = "must not be explained ever better by more and more ties: nobody who beat an agent is led back to it. Set a prior"
        raise InputError("ties", tied, rule)
    model = _Model(within, halves.prior, halves.component)
    start = np.where(np.isnan(halves.ratings), 0.0, (halves.ratings - halves.centre) / halves.scale)
    point, steps = _newton(model, np.append(start, math.log(2 * tied / decided)), options.tolerance / 2, options.max_iterations)
    solution = _solution(model, halves, point, steps, options.tolerance)
    if options.standard_errors != "none":
        solution = replace(solution, covariance=_covariance(model, point, halves), assumes="independent pairs")
    solution = replace(solution, seconds=time.perf_counter() - begun)
    if solution.status is not Status.OPTIMAL:
        gap = f"expected and actual score of an agent differ by {solution.certificate.value:.3g} a game, more than {options.tolerance:g}"
        raise SolverError(f"{gap}: raise max_iterations, or set a prior", solution)
    return solution


@dataclass(frozen=True, slots=True)
class _Model:
    """The likelihood of theta (logits) and log nu, one vector (m + 1,). component: of each agent, shifted freely without a prior."""

    counts: MetPairs
    prior: float
    component: Labels

    @property
    def grounds(self) -> NDArray[np.int64]:
        """Agents held where shifts are free."""
        return grounds_of(PairLikelihood(self.counts, self.prior), self.component)

    def centred(self, theta: Floats) -> Floats:
        """`theta` less its component's mean; as it is with a prior."""
        if self.prior:
            return theta
        return np.asarray(theta - (np.bincount(self.component, theta) / np.bincount(self.component))[self.component], np.float64)

    @property
    def games(self) -> Floats:
        """Of each agent, and of all (m + 1,): what the gradient is measured against."""
        each = self.counts.per_agent(self.counts.games, self.counts.games) + self.prior
        return np.asarray(np.maximum(np.append(each, self.counts.games.sum()), np.finfo(float).tiny), np.float64)

    def gaps(self, point: Floats) -> Floats:
        """Differences of theta across pairs."""
        return np.asarray(point[self.counts.first] - point[self.counts.second], np.float64)

    def value(self, point: Floats) -> float:
        """Minus the log-likelihood, and the prior's."""
        x, eta, theta, counts = np.abs(self.gaps(point)), point[-1], point[:-1], self.counts
        upset = np.where(self.gaps(point) >= 0, counts.lost, counts.won)
        total = np.logaddexp(np.log1p(np.exp(-x)), eta - x / 2)
        pairs = counts.games @ total + upset @ x + counts.tied @ (x / 2 - eta)
        return float(pairs + self.prior * (np.abs(theta).sum() / 2 + doubt(theta).sum()))

    def gradient(self, point: Floats) -> Floats:
        """Expected less actual points of each agent, and expected less actual ties (m + 1,)."""
        won, tied, lost = _shares(self.gaps(point), point[-1])
        counts = self.counts
        surplus = (counts.games * (won - lost) - (counts.won - counts.lost)) / 2
        theta = counts.per_agent(surplus, -surplus) + self.prior * (expit(point[:-1]) - 0.5)
        return np.append(theta, counts.games @ tied - counts.tied.sum())

    def curvature(self, point: Floats) -> tuple[Curvature, Floats, float]:
        """Second derivatives: by theta, by theta and log nu (m,), by log nu."""
        won, tied, lost = _shares(self.gaps(point), point[-1])
        games = self.counts.games
        weights = games * (won + lost - (won - lost) ** 2) / 4
        border = -games * (won - lost) * tied / 2
        laplacian = Curvature(self.counts, weights, self.prior * variance(point[:-1]))
        return laplacian, self.counts.per_agent(border, -border), float(games @ (tied * (1 - tied)))


def _shares(x: Floats, log_nu: float) -> tuple[Floats, Floats, Floats]:
    """Probabilities of a win, a tie and a loss at these gaps."""
    level = log_nu - np.abs(x) / 2
    top = np.maximum(level, 0.0)
    favourite, tied, other = np.exp(-top), np.exp(level - top), np.exp(-np.abs(x) - top)
    total = favourite + tied + other
    favourite, tied, other = favourite / total, tied / total, other / total
    return np.where(x >= 0, favourite, other), tied, np.where(x >= 0, other, favourite)


def _newton(model: _Model, point: Floats, tolerance: float, max_steps: int) -> tuple[Floats, int]:
    """Damped Newton steps until the gradient a game is small, and one more."""
    games, value = model.games, model.value(point)
    for step in range(max_steps):
        gradient = model.gradient(point)
        off = float(np.abs(gradient / games).max())
        way, share = _step(model, point, gradient), 1.0
        ahead, there = point - way, model.value(point - way)
        nearer = float(np.abs(model.gradient(ahead) / games).max()) <= 0.5 * off  # close to the end, where rounding hides a fall
        while not nearer and not there <= value + _NOISE * abs(value) and share > _SHORTEST:
            share /= 2
            ahead = point - share * way
            there = model.value(ahead)
        point, value = ahead, there
        if off <= tolerance:
            return point, step + 1
    return point, max_steps


def _step(model: _Model, point: Floats, gradient: Floats) -> Floats:
    """Newton's step: theta eliminated, log nu from what is left (a Schur complement of one number)."""
    laplacian, border, corner = model.curvature(point)
    solve = _solver(model, laplacian)
    plain, bent = solve(gradient[:-1]), solve(border)
    last = (gradient[-1] - border @ plain) / max(corner - float(border @ bent), np.finfo(float).tiny)
    return np.append(plain - last * bent, last)


def _solver(model: _Model, laplacian: Curvature) -> Callable[[Floats], Floats]:
    """Solves laplacian x = rhs up to shifts of components."""
    grounds = model.grounds
    if len(laplacian.anchors) <= DENSE_UP_TO:
        factor = linalg.cho_factor(laplacian.grounded(grounds), check_finite=False)

        def direct(rhs: Floats) -> Floats:
            held = rhs.copy()
            held[grounds] = 0.0
            return np.asarray(linalg.cho_solve(factor, held, check_finite=False), np.float64)

        return direct
    counts, weights, diagonal = laplacian.counts, laplacian.weights, laplacian.diagonal

    def apply(x: Floats) -> Floats:
        return np.asarray(diagonal * x - counts.per_agent(weights * x[counts.second], weights * x[counts.first]), np.float64)

    return lambda rhs: model.centred(conjugate_gradient(apply, rhs, diagonal, _ACCURACY))


def _bounded(counts: MetPairs, component: Labels) -> bool:
    """Whether some cycle of results has more wins than ties, so that no ever larger steps explain all of them."""
    up, down, level = counts.won > 0, counts.lost > 0, counts.tied > 0
    tails = np.concatenate([counts.first[up], counts.second[down]])
    heads = np.concatenate([counts.second[up], counts.first[down]])
    if (np.bincount(strong_components(tails, heads, counts.m)) > 1).any():
        return True
    drawn = [counts.first[level & ~up], counts.second[level & ~down]], [counts.second[level & ~up], counts.first[level & ~down]]
    steps = np.concatenate([np.full(len(tails), -1.0), np.ones(sum(map(len, drawn[0])))])
    arcs = (np.concatenate([tails, *drawn[0]]), np.concatenate([heads, *drawn[1]]))
    graph = sparse.csr_array(sparse.coo_array((steps, arcs), shape=(counts.m, counts.m)))
    try:
        csgraph.bellman_ford(graph, indices=np.unique(component, return_index=True)[1])
    except csgraph.NegativeCycleError:
        return True
    return False


def _solution(model: _Model, halves: BradleyTerry, point: Floats, steps: int, tolerance: float) -> Davidson:
    gap = float(np.abs(model.gradient(point) / model.games).max())
    ratings = np.where(np.isnan(halves.ratings), np.nan, halves.centre + halves.scale * model.centred(point[:-1]))
    found = replace(
        halves,
        ratings=ratings,
        certificate=Certificate("score_gap_per_game", gap),
        status=Status.OPTIMAL if gap <= tolerance else Status.APPROXIMATE,
        stats={"iterations": steps, "pairs": len(model.counts.first)},
    )
    return _as_davidson(found, math.exp(point[-1]), None)


def _covariance(model: _Model, point: Floats, halves: BradleyTerry) -> Floats:
    """Inverse information of ratings (points squared), less their component's mean without a prior."""
    if len(point) - 1 > DENSE_UP_TO:
        raise InputError("standard_errors", True, f"must be left out above {DENSE_UP_TO} agents, here are {len(point) - 1}")
    laplacian, border, corner = model.curvature(point)
    solve = _solver(model, laplacian)
    inverse = np.column_stack([solve(column) for column in np.eye(len(border))])
    inverse[model.grounds] = inverse[:, model.grounds] = 0.0
    bent = solve(border)
    joint = inverse + np.outer(bent, bent) / (corner - float(border @ bent))
    same = halves.component[:, None] == halves.component
    less = np.eye(len(border)) - (same / same.sum(axis=1) if not halves.prior else 0.0)
    comparable = same & ~np.isnan(halves.ratings) & ~np.isnan(halves.ratings)[:, None]
    return np.asarray(np.where(comparable, halves.scale**2 * (less @ joint @ less.T), np.nan), np.float64)


def _as_davidson(found: BradleyTerry, nu: float, begun: float | None) -> Davidson:
    values = {field.name: getattr(found, field.name) for field in fields(BradleyTerry)}
    if begun is not None:
        values["seconds"] = time.perf_counter() - begun
    return Davidson(**values, nu=nu)


def _only_ties(halves: BradleyTerry, standard_errors: bool, begun: float) -> Davidson:
    if standard_errors:
        raise InputError("standard_errors", standard_errors, "must be left out where everything was tied: ratings have no finite error")
    return _as_davidson(halves, math.inf, begun)
