"""Bradley-Terry ratings with a parameter for ties (Davidson 1970), from tallies."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.batch.bradley_terry import BradleyTerry, BradleyTerryOptions, bradley_terry, inside
from ratings_core.batch.logistic import DENSE_UP_TO, Curvature, PairLikelihood, conjugate_gradient, doubt, grounds_of, variance
from ratings_core.batch.pair_counts import MetPairs, pair_counts
from ratings_core.errors import InputError, SolverError
from ratings_core.graphs import Labels, strong_components
from ratings_core.solution import Certificate, Floats, Status

_Shares: TypeAlias = tuple[Floats, Floats, Floats]
_ACCURACY: Final = 1e-8
_SHORTEST: Final = 2.0**-40
_NOISE: Final = 1e-13
_DEFAULTS: Final = BradleyTerryOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class Davidson(BradleyTerry):
    """Ratings in points, and the tie parameter nu.

    If a is rated x logits above b, then win, tie and loss of a have probabilities in the ratio exp(x/2) : nu : exp(-x/2). nu is 0 if there
    are no ties, and infinite if all games are ties.
    """

    nu: float

    def probabilities(self, first: int, second: int) -> tuple[float, float, float]:
        """Probabilities that `first` wins, ties and loses against `second`; NaN between different components. Raises `InputError`."""
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
        """Expected score of `first`: the probability of a win plus half that of a tie; NaN if the agents are in different components."""
        won, tied, _ = self.probabilities(first, second)
        return won + tied / 2


def davidson(
    wins: Any,
    ties: Any = None,
    *,
    options: BradleyTerryOptions = _DEFAULTS,
    names: Sequence[str] | None = None,
) -> Davidson:
    """Fit ratings and nu together by maximum likelihood (Davidson 1970, eq. 2.6).

    Newton's method is used; the log-likelihood is concave in the ratings and log nu. Arguments as for `bradley_terry`. The pseudo-games of
    the prior have no ties. As in `bradley_terry`, a tie is half a point, and expected and actual points agree. In addition, a tie is
    evidence that two agents are close in strength. All components share nu.

    Without ties, nu is 0 and the ratings are those of `bradley_terry`. If all games are ties, nu is infinite and all ratings equal
    `centre`. With wins and ties but no prior, the fit can be infinite even for connected agents. This occurs if agents can be placed on
    levels such that every win goes down by at least one level and no tie spans more than one level. Larger distances between levels
    with a larger nu then always have a higher likelihood. Such data raise an error.

    options.standard_errors: ``none``, or ``fisher``: from the inverse information of independent games, including the uncertainty of nu.
    ``fisher`` raises an error if all games are ties, and above `DENSE_UP_TO` agents if some are.
    Certificate (``score_gap_per_game``): the larger of that of `bradley_terry` and the difference of expected and actual ties, divided by
    the number of games. Raises `InputError`, `SolverError`.
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
        rule = "must contain fewer ties: the fit is not finite, because no cycle of results has more wins than ties; set a prior"
        raise InputError("ties", tied, rule)
    model = _Model(within, halves.prior, halves.component)
    start = np.where(np.isnan(halves.ratings), 0.0, (halves.ratings - halves.centre) / halves.scale)
    point, steps = _newton(model, np.append(start, math.log(2 * tied / decided)), options.tolerance / 2, options.max_iterations)
    solution = _solution(model, halves, point, steps, options.tolerance)
    if options.standard_errors != "none":
        solution = replace(solution, covariance=_covariance(model, point, halves), assumes="independent pairs")
    solution = replace(solution, seconds=time.perf_counter() - begun)
    if solution.status is not Status.OPTIMAL:
        gap = f"expected and actual score of an agent differ by {solution.certificate.value:.3g} per game, more than {options.tolerance:g}"
        raise SolverError(f"{gap}: raise max_iterations, or set a prior", solution)
    return solution


@dataclass(frozen=True, slots=True)
class _Model:
    """Negative log-likelihood of a point (m + 1,): theta in logits, then log nu. component: label of each agent's component (m,)."""

    counts: MetPairs
    prior: float
    component: Labels

    @property
    def grounds(self) -> NDArray[np.int64]:
        """Agents whose theta is fixed during a solve, one per component; none with a prior."""
        return grounds_of(PairLikelihood(self.counts, self.prior), self.component)

    def centred(self, theta: Floats) -> Floats:
        """`theta` minus the mean of each component; with a prior, unchanged `theta`."""
        if self.prior:
            return theta
        return np.asarray(theta - (np.bincount(self.component, theta) / np.bincount(self.component))[self.component], np.float64)

    @property
    def games(self) -> Floats:
        """Games of each agent, then of all agents (m + 1,): the units of the gradient's components."""
        each = self.counts.per_agent(self.counts.games, self.counts.games) + self.prior
        return np.asarray(np.maximum(np.append(each, self.counts.games.sum()), np.finfo(float).tiny), np.float64)

    def gaps(self, point: Floats) -> Floats:
        """Difference of theta for each pair, first minus second (pairs,)."""
        return np.asarray(point[self.counts.first] - point[self.counts.second], np.float64)

    def value(self, point: Floats) -> float:
        """Negative log-likelihood plus that of the prior's pseudo-games."""
        x, eta, theta, counts = np.abs(self.gaps(point)), point[-1], point[:-1], self.counts
        upset = np.where(self.gaps(point) >= 0, counts.lost, counts.won)
        total = np.logaddexp(np.log1p(np.exp(-x)), eta - x / 2)
        pairs = counts.games @ total + upset @ x + counts.tied @ (x / 2 - eta)
        return float(pairs + self.prior * (np.abs(theta).sum() / 2 + doubt(theta).sum()))

    def shares(self, point: Floats) -> _Shares:
        """Probabilities of a win, a tie and a loss of each pair (pairs,)."""
        return _shares(self.gaps(point), point[-1])

    def gradient(self, point: Floats, shares: _Shares) -> Floats:
        """Gradient (m + 1,): expected minus actual points of each agent, then expected minus actual ties. shares: those of the point."""
        (won, tied, lost), counts = shares, self.counts
        surplus = (counts.games * (won - lost) - (counts.won - counts.lost)) / 2
        theta = counts.per_agent(surplus, -surplus) + self.prior * (scipy.special.expit(point[:-1]) - 0.5)
        return np.append(theta, counts.games @ tied - counts.tied.sum())

    def curvature(self, point: Floats, shares: _Shares) -> tuple[Curvature, Floats, float]:
        """Second derivatives: by theta, by theta and log nu (m,), and by log nu. shares: those of the point."""
        (won, tied, lost), games = shares, self.counts.games
        weights = games * (won + lost - (won - lost) ** 2) / 4
        border = -games * (won - lost) * tied / 2
        laplacian = Curvature(self.counts, weights, self.prior * variance(point[:-1]))
        return laplacian, self.counts.per_agent(border, -border), float(games @ (tied * (1 - tied)))


def _shares(x: Floats, log_nu: float) -> _Shares:
    """Probabilities of a win, a tie and a loss at the gaps x, in logits."""
    level = log_nu - np.abs(x) / 2
    top = np.maximum(level, 0.0)
    favourite, tied, other = np.exp(-top), np.exp(level - top), np.exp(-np.abs(x) - top)
    total = favourite + tied + other
    favourite, tied, other = favourite / total, tied / total, other / total
    return np.where(x >= 0, favourite, other), tied, np.where(x >= 0, other, favourite)


def _newton(model: _Model, point: Floats, tolerance: float, max_steps: int) -> tuple[Floats, int]:
    """Take damped Newton steps until the gradient per game is at most `tolerance`, and one more if it halves this gradient.

    Returns the point and the step count.
    """
    games, value, shares = model.games, model.value(point), model.shares(point)
    gradient = model.gradient(point, shares)
    for step in range(max_steps):
        off = float(np.abs(gradient / games).max())
        way, share = _step(model, point, gradient, shares), 1.0
        ahead, there = point - way, model.value(point - way)
        shares = model.shares(ahead)
        slope = model.gradient(ahead, shares)
        nearer = float(np.abs(slope / games).max()) <= 0.5 * off  # near the optimum, rounding hides a decrease
        if off <= tolerance:  # a step within rounding can also lead away, where conjugate gradients solve it roughly
            return (ahead if nearer else point), step + 1
        while not nearer and not there <= value + _NOISE * abs(value) and share > _SHORTEST:
            share /= 2
            ahead = point - share * way
            there = model.value(ahead)
        if share < 1.0:
            shares = model.shares(ahead)
            slope = model.gradient(ahead, shares)
        point, value, gradient = ahead, there, slope
    return point, max_steps


def _step(model: _Model, point: Floats, gradient: Floats, shares: _Shares) -> Floats:
    """Newton's step. Eliminating theta leaves one equation for log nu (a Schur complement of size 1)."""
    laplacian, border, corner = model.curvature(point, shares)
    solve = _solver(model, laplacian)
    plain, bent = solve(gradient[:-1]), solve(border)
    last = (gradient[-1] - border @ plain) / max(corner - float(border @ bent), np.finfo(float).tiny)
    return np.append(plain - last * bent, last)


def _solver(model: _Model, laplacian: Curvature) -> Callable[[Floats], Floats]:
    """A function that solves laplacian x = rhs up to shifts of components."""
    grounds = model.grounds
    if len(laplacian.anchors) <= DENSE_UP_TO:
        factor = scipy.linalg.cho_factor(laplacian.grounded(grounds), lower=True, check_finite=False)

        def direct(rhs: Floats) -> Floats:
            held = rhs.copy()
            held[grounds] = 0.0
            return np.asarray(scipy.linalg.cho_solve(factor, held, check_finite=False), np.float64)

        return direct
    counts, diagonal = laplacian.counts, laplacian.diagonal
    half = scipy.sparse.csr_array((laplacian.weights, (counts.first, counts.second)), shape=(counts.m, counts.m))
    weights = scipy.sparse.csr_array(half + half.T)  # its product takes half the time of sums over the pairs of each agent
    return lambda rhs: model.centred(conjugate_gradient(lambda x: diagonal * x - weights @ x, rhs, diagonal, _ACCURACY))


def _bounded(counts: MetPairs, component: Labels) -> bool:
    """Whether the fit is finite: some cycle of results has more wins than ties, so agents have no levels as `davidson` describes them."""
    up, down, level = counts.won > 0, counts.lost > 0, counts.tied > 0
    tails = np.concatenate([counts.first[up], counts.second[down]])
    heads = np.concatenate([counts.second[up], counts.first[down]])
    if (np.bincount(strong_components(tails, heads, counts.m)) > 1).any():
        return True
    drawn = [counts.first[level & ~up], counts.second[level & ~down]], [counts.second[level & ~up], counts.first[level & ~down]]
    steps = np.concatenate([np.full(len(tails), -1.0), np.ones(sum(map(len, drawn[0])))])
    arcs = (np.concatenate([tails, *drawn[0]]), np.concatenate([heads, *drawn[1]]))
    graph = scipy.sparse.csr_array(scipy.sparse.coo_array((steps, arcs), shape=(counts.m, counts.m)))
    try:
        scipy.sparse.csgraph.bellman_ford(graph, indices=np.unique(component, return_index=True)[1])
    except scipy.sparse.csgraph.NegativeCycleError:
        return True
    return False


def _solution(model: _Model, halves: BradleyTerry, point: Floats, steps: int, tolerance: float) -> Davidson:
    gap = float(np.abs(model.gradient(point, model.shares(point)) / model.games).max())
    ratings = np.where(np.isnan(halves.ratings), np.nan, halves.centre + halves.scale * model.centred(point[:-1]))
    fitted = replace(
        halves,
        ratings=ratings,
        certificate=Certificate("score_gap_per_game", gap),
        status=Status.OPTIMAL if gap <= tolerance else Status.APPROXIMATE,
        stats={"iterations": steps, "pairs": len(model.counts.first)},
    )
    return _as_davidson(fitted, math.exp(point[-1]), None)


def _covariance(model: _Model, point: Floats, halves: BradleyTerry) -> Floats:
    """Covariance of the ratings from the inverse information (points squared); without a prior, of ratings minus their component's mean."""
    if len(point) - 1 > DENSE_UP_TO:
        raise InputError("standard_errors", True, f"must be left out for more than {DENSE_UP_TO} agents ({len(point) - 1} given)")
    laplacian, border, corner = model.curvature(point, model.shares(point))
    solve = _solver(model, laplacian)
    inverse = np.column_stack([solve(column) for column in np.eye(len(border))])
    inverse[model.grounds] = inverse[:, model.grounds] = 0.0
    bent = solve(border)
    joint = inverse + np.outer(bent, bent) / (corner - float(border @ bent))
    same = halves.component[:, None] == halves.component
    less = np.eye(len(border)) - (same / same.sum(axis=1) if not halves.prior else 0.0)
    comparable = same & ~np.isnan(halves.ratings) & ~np.isnan(halves.ratings)[:, None]
    return np.asarray(np.where(comparable, halves.scale**2 * (less @ joint @ less.T), np.nan), np.float64)


def _as_davidson(fitted: BradleyTerry, nu: float, begun: float | None) -> Davidson:
    values = {field.name: getattr(fitted, field.name) for field in fields(BradleyTerry)}
    if begun is not None:
        values["seconds"] = time.perf_counter() - begun
    return Davidson(**values, nu=nu)


def _only_ties(halves: BradleyTerry, standard_errors: bool, begun: float) -> Davidson:
    if standard_errors:
        raise InputError("standard_errors", standard_errors, "must be left out if all games are ties, because errors are not finite")
    return _as_davidson(halves, math.inf, begun)
