"""Bradley-Terry ratings with covariates of each comparison, for style control and for the advantage of a side."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import scipy
from numpy.typing import ArrayLike

from ratings_core import checks
from ratings_core.batch.bradley_terry import LogitOptions, check_connected, components_of
from ratings_core.batch.comparisons import Comparisons
from ratings_core.batch.covariance import model_share, outcome_scores, prior_meat
from ratings_core.batch.logistic import doubt, variance
from ratings_core.errors import InputError, SolverError
from ratings_core.options import option
from ratings_core.solution import Certificate, Floats, Solution, Status

MOST_PARAMETERS: Final = 5_000
"""Largest number of agents plus features, because the linear systems are dense."""
_LARGEST: Final = 1e100
"""Largest absolute feature value. Sums of squares of larger values could overflow."""
_SEPARABLE: Final = 1e-7
"""Smallest curvature in any direction, as a share of that at even odds. With less, the direction predicts results almost with certainty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contextual(Solution):
    """Ratings in points, and the effects of the covariates.

    First beats second with probability 1 / (1 + exp(-x)), where x = (ratings[first] - ratings[second]) / scale + features @ coefficients.

    coefficients: (k,), in logits per unit of each feature; covariance: (m + k, m + k), clustered by outcome, of the ratings (in points;
    without a prior, of the ratings minus their mean) and the coefficients.
    """

    coefficients: Floats
    covariance: Floats
    scale: float
    centre: float
    prior: float

    @property
    def standard_error(self) -> Floats:
        """Standard errors of the ratings, in points (m,)."""
        return np.asarray(np.sqrt(self.covariance.diagonal()[: len(self.ratings)]), np.float64)

    @property
    def coefficient_error(self) -> Floats:
        """Standard errors of the coefficients (k,)."""
        return np.asarray(np.sqrt(self.covariance.diagonal()[len(self.ratings) :]), np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextualOptions(LogitOptions):
    """Options of `contextual_bradley_terry`."""

    feature_prior: float = option(0.0, "half of it times the sum of squared coefficients is added to the loss", 0.0, 1e100)
    tolerance: float = option(1e-9, "largest score gap a game", 1e-14, 1e-2)
    max_iterations: int = option(100, "of Newton's method", 1, 10_000)


_DEFAULTS: Final = ContextualOptions()


def contextual_bradley_terry(
    comparisons: Comparisons, features: ArrayLike, *, options: ContextualOptions = _DEFAULTS, names: Sequence[str] | None = None
) -> Contextual:
    """Fit ratings and coefficients together by maximum likelihood: style control as in Chatbot Arena (Li et al. 2024) and arena-rank.

    features: (n, k), values of first minus second for each comparison, such as differences of lengths or of numbers of headers. A column
    of ones measures the advantage of being first. A tie counts as half a win for each agent.

    Without priors, three conditions are necessary and are checked: chains of wins lead from every agent to every other one; no feature is
    a linear combination of other features and the agents; no linear combination predicts the results with certainty. Columns are scaled
    internally, so their units do not affect the fit. The errors are sandwich estimates clustered by outcome (White 1982; Liang and Zeger
    1986), with `covariance.model_share` and `covariance.prior_meat`.

    Certificate (``score_gap_per_game``): the largest component of the gradient, each divided by its largest possible value (the games of an
    agent, the sum of a feature's absolute values). It is recomputed from the returned values. Raises `InputError` for invalid arguments and
    for data without a finite fit, `SolverError` (with the best point) if the tolerance is not reached.
    """
    ContextualOptions.require(options)
    begun = time.perf_counter()
    model = _Model(comparisons, _accepted(features, comparisons), options)
    check_connected(components_of(comparisons.counts(), options.prior), names)
    model.check_identified()
    parameters, steps = _newton(model, options.tolerance / 2, options.max_iterations)
    solution = _solution(model, parameters, steps, time.perf_counter() - begun)
    if solution.status is not Status.OPTIMAL:
        reached = f"the gradient is {solution.certificate.value:.3g} times its largest possible value, more than {options.tolerance:g}"
        raise SolverError(f"{reached}: raise max_iterations", solution)
    return solution


@dataclass(frozen=True, slots=True)
class _Model:
    """The negative log-likelihood. Its parameters x (m + k,) are m ratings in logits, then k coefficients. features: (n, k), as given."""

    data: Comparisons
    features: Floats
    options: ContextualOptions

    @property
    def most(self) -> Floats:
        """Upper bound of each component of the gradient (m + k,)."""
        weight, m = self.data.weights, self.data.m
        games = np.bincount(self.data.first, weight, m) + np.bincount(self.data.second, weight, m) + self.options.prior
        return np.asarray(np.maximum(np.concatenate([games, weight @ np.abs(self.features)]), np.finfo(float).tiny), np.float64)

    def logits(self, x: Floats) -> Floats:
        """Log-odds that first beats second, for each comparison (n,)."""
        return np.asarray(x[self.data.first] - x[self.data.second] + self.features @ x[self.data.m :], np.float64)

    def value(self, x: Floats) -> float:
        """Negative log-likelihood plus priors, as a sum of nonnegative terms."""
        eta, result = self.logits(x), self.data.result
        upset = np.where(eta >= 0, 1 - result, result)
        theta, beta = x[: self.data.m], x[self.data.m :]
        anchor = self.options.prior * (np.abs(theta).sum() / 2 + doubt(theta).sum())
        return float(self.data.weights @ (upset * np.abs(eta) + doubt(eta)) + anchor + self.options.feature_prior / 2 * (beta @ beta))

    def gradient(self, x: Floats) -> Floats:
        """Gradient of `value` (m + k,)."""
        m, surplus = self.data.m, self.data.weights * (scipy.special.expit(self.logits(x)) - self.data.result)
        games = np.bincount(self.data.first, surplus, m) - np.bincount(self.data.second, surplus, m)
        theta = games + self.options.prior * (scipy.special.expit(x[:m]) - 0.5)
        return np.concatenate([theta, self.features.T @ surplus + self.options.feature_prior * x[m:]])

    def curvature(self, weights: Floats, anchors: Floats | float) -> Floats:
        """Second derivative (m + k, m + k).

        weights: (n,), weight times variance of each comparison; anchors: variance of each agent's pseudo-games against the anchor.
        """
        m, k = self.data.m, self.features.shape[1]
        priors = np.append(np.broadcast_to(self.options.prior * anchors, m), np.full(k, self.options.feature_prior))
        return self.information(weights) + np.diag(priors)

    def information(self, weights: Floats) -> Floats:
        """Second derivative without the priors (m + k, m + k). weights: as in `curvature`."""
        m, k, first, second = self.data.m, self.features.shape[1], self.data.first, self.data.second
        matrix = np.zeros((m + k, m + k))
        pairs = np.bincount(first * m + second, weights, m * m).reshape(m, m)
        matrix[:m, :m] = -(pairs + pairs.T)
        matrix[:m, :m][np.diag_indices(m)] = np.bincount(first, weights, m) + np.bincount(second, weights, m)
        for f in range(k):
            column = weights * self.features[:, f]
            matrix[:m, m + f] = matrix[m + f, :m] = np.bincount(first, column, m) - np.bincount(second, column, m)
        matrix[m:, m:] = (self.features * weights[:, None]).T @ self.features
        return matrix

    def at(self, x: Floats) -> Floats:
        """The curvature at x."""
        return self.curvature(self.data.weights * variance(self.logits(x)), variance(x[: self.data.m]))

    def factor(self, matrix: Floats) -> tuple[Floats, bool]:
        """Cholesky factor of `matrix`; without a prior the first rating is fixed. Raises `LinAlgError` if it is numerically singular."""
        held = matrix.copy()
        if not self.options.prior:
            held[0], held[:, 0], held[0, 0] = 0.0, 0.0, 1.0
        factor, lower = scipy.linalg.cho_factor(held, check_finite=False)
        return np.asarray(factor, np.float64), bool(lower)

    def solve(self, factor: tuple[Floats, bool], rhs: Floats) -> Floats:
        """Solve with a factor from `factor`. Without a prior the first rating is fixed at 0."""
        held = rhs.copy()
        if not self.options.prior:
            held[0] = 0.0
        return np.asarray(scipy.linalg.cho_solve(factor, held, check_finite=False), np.float64)

    def check_identified(self) -> None:
        """Raises `InputError` if a feature is a linear combination of other features and the agents."""
        if not self.features.shape[1]:
            return
        even = self.curvature(self.data.weights / 4, 0.25)
        unit = np.sqrt(np.maximum(even.diagonal(), np.finfo(float).tiny))
        scaled = even / np.outer(unit, unit)
        try:
            self.factor(scaled - _SEPARABLE * 1e-3 * np.diag(scaled.diagonal()))
        except scipy.linalg.LinAlgError as error:
            rule = "must be linearly independent of each other and of the pairings; drop a feature, or set feature_prior"
            raise InputError("features", self.features.shape, rule) from error

    def check_uncertain(self, x: Floats) -> None:
        """Raises `InputError` if a combination of ratings and coefficients predicts the results (nearly) with certainty at x."""
        even = self.curvature(self.data.weights / 4, 0.25)
        unit = np.sqrt(np.maximum(even.diagonal(), np.finfo(float).tiny))
        left = (self.at(x) - _SEPARABLE * even) / np.outer(unit, unit)
        try:
            self.factor(left)
        except scipy.linalg.LinAlgError as error:
            rule = "must not determine results with certainty, because coefficients are not finite then; set feature_prior or prior"
            raise InputError("features", self.features.shape, rule) from error


def _accepted(features: ArrayLike, comparisons: Comparisons) -> Floats:
    checks.instance("comparisons", comparisons, Comparisons)
    given = checks.finite("features", features)
    if (most := float(np.abs(given).max(initial=0.0))) > _LARGEST:
        raise InputError("features", most, f"must be within +-{_LARGEST:g}")
    if given.ndim != 2 or len(given) != len(comparisons):
        raise InputError("features", given.shape, f"must have one row for each of {len(comparisons)} comparisons")
    if comparisons.m + given.shape[1] > MOST_PARAMETERS:
        raise InputError("features", comparisons.m + given.shape[1], f"must be at most {MOST_PARAMETERS} together with the agents")
    return given


def _newton(model: _Model, tolerance: float, max_steps: int) -> tuple[Floats, int]:
    """Take damped Newton steps from 0 until the gradient is at most `tolerance`, and one more. Returns the parameters and step count."""
    x, most = np.zeros(model.data.m + model.features.shape[1]), model.most
    value = model.value(x)
    for step in range(max_steps):
        gradient = model.gradient(x)
        arrived = float(np.abs(gradient / most).max(initial=0.0)) <= tolerance
        try:
            way = _step(model, x, gradient)
        except scipy.linalg.LinAlgError:
            model.check_uncertain(x)
            raise
        share, ahead = 1.0, x - way
        while model.value(ahead) > value + 1e-13 * abs(value) and share > 1e-10:
            share /= 2
            ahead = x - share * way
        x, value = ahead, model.value(ahead)
        if arrived:
            model.check_uncertain(x)
            return x, step + 1
    return x, max_steps


def _step(model: _Model, x: Floats, gradient: Floats) -> Floats:
    matrix = model.at(x)
    unit = np.sqrt(np.maximum(matrix.diagonal(), np.finfo(float).tiny))
    return model.solve(model.factor(matrix / np.outer(unit, unit)), gradient / unit) / unit


def _solution(model: _Model, x: Floats, steps: int, seconds: float) -> Contextual:
    """The solution in points, with its certificate computed from `x`."""
    m, options = model.data.m, model.options
    gap = float(np.abs(model.gradient(x) / model.most).max(initial=0.0))
    theta = x[:m] if model.options.prior else x[:m] - x[:m].mean()
    points = np.concatenate([np.full(m, options.scale), np.ones(len(x) - m)])
    return Contextual(
        ratings=options.centre + options.scale * theta,
        certificate=Certificate("score_gap_per_game", gap),
        status=Status.OPTIMAL if gap <= options.tolerance else Status.APPROXIMATE,
        seconds=seconds,
        stats={"iterations": steps, "comparisons": len(model.data), "outcomes": len(model.data.weight)},
        coefficients=x[m:],
        covariance=_covariance(model, x) * np.outer(points, points),
        scale=options.scale,
        centre=options.centre,
        prior=options.prior,
    )


def _covariance(model: _Model, x: Floats) -> Floats:
    """Sandwich covariance from the scores of outcomes (m + k, m + k), in logits; without a prior, of the ratings minus their mean."""
    m, residual = model.data.m, model.data.result - scipy.special.expit(model.logits(x))
    weights = model.data.weights * variance(model.logits(x))
    share = model_share(model.information(weights).diagonal()[:m], model.data.first, model.data.second)
    meat = outcome_scores(model.data, np.sqrt(1 - share) * residual, model.features)[1] + model.information(share * weights)
    meat[:m, :m] += prior_meat(x[:m], model.options.prior)
    if not model.options.prior:
        meat[0], meat[:, 0] = 0.0, 0.0
    factor = model.factor(model.at(x))
    half = scipy.linalg.cho_solve(factor, meat, check_finite=False)
    covariance = np.asarray(scipy.linalg.cho_solve(factor, half.T, check_finite=False), np.float64)
    if model.options.prior:
        return covariance
    less = np.eye(len(x))
    less[:m, :m] -= 1 / m
    return np.asarray(less @ covariance @ less.T, np.float64)
