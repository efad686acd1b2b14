"""Bradley-Terry ratings: the maximum-likelihood fit to tallies of wins and ties. The model of Elo, fitted to all games together."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np
import scipy
from numpy.typing import ArrayLike

from ratings_core import checks
from ratings_core.batch.comparisons import Comparisons
from ratings_core.batch.covariance import inverse_curvature, outcome_meat, pair_meat, prior_meat
from ratings_core.batch.logistic import DENSE_UP_TO, Minimum, PairLikelihood, minimise, solver
from ratings_core.batch.pair_counts import MetPairs, pair_counts
from ratings_core.errors import InputError, SolverError
from ratings_core.graphs import Labels, members, strong_components, weak_components
from ratings_core.options import Options, option
from ratings_core.solution import Certificate, Floats, Solution, Status

ELO_SCALE: Final = 400.0 / math.log(10.0)
"""Rating points per logit. As in chess, a difference of 400 points means odds of 10 to 1."""
COVARIANCE_UP_TO: Final = 5_000
"""Largest number of agents with standard errors, which need the inverse of a dense (m, m) matrix."""
LEAST_PRIOR: Final = 1e-13
"""Smallest prior, relative to the largest number of games of an agent. Rounding hides the effect of a smaller prior on the mean."""
Unconnected: TypeAlias = Literal["raise", "components"]
StandardErrors: TypeAlias = Literal["none", "fisher", "sandwich", "clustered"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BradleyTerry(Solution):
    """Ratings in points: the expected score of a against b is 1 / (1 + exp((ratings[b] - ratings[a]) / scale)), where a tie counts half.

    component: int64 (m,), the component of each agent. Only ratings of the same component are comparable; with a prior there is a single
    component. covariance: (m, m), in points squared, of the ratings minus their component's mean (with a prior: of the ratings, where only
    ``fisher`` includes the error of a common shift); NaN for agents of different components and for unrated agents; None if not requested.
    assumes: the assumption behind the covariance.
    """

    component: Labels
    scale: float
    centre: float
    prior: float
    covariance: Floats | None = None
    assumes: str | None = None

    @property
    def standard_error(self) -> Floats | None:
        """Standard error of each rating, in points (m,); None if not requested."""
        return None if self.covariance is None else np.asarray(np.sqrt(self.covariance.diagonal()), np.float64)

    def expected_score(self, first: int, second: int) -> float:
        """Expected score of `first` against `second`, 0 to 1, where a tie counts half; NaN if they are in different components.

        Raises `InputError` for an unknown agent id.
        """
        for argument, agent in (("first", first), ("second", second)):
            if checks.count(argument, agent) >= len(self.ratings):
                raise InputError(argument, agent, f"must be an agent's id, 0 to {len(self.ratings) - 1}")
        if self.component[first] != self.component[second]:
            return math.nan
        return float(scipy.special.expit((self.ratings[first] - self.ratings[second]) / self.scale))


@dataclass(frozen=True, slots=True, kw_only=True)
class LogitOptions(Options):
    """Options of every fit whose ratings are logits."""

    prior: float = option(0.0, "games each agent is taken to have tied with an anchor", 0.0, 1e6)
    scale: float = option(ELO_SCALE, "rating points a logit", 1e-6, 1e6)
    centre: float = option(1500.0, "mean rating", -1e9, 1e9)
    tolerance: float = option(1e-10, "largest score gap a game", 1e-14, 1e-2)
    max_iterations: int = option(200, "of Newton's method", 1, 10_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class BradleyTerryOptions(LogitOptions):
    """Options of `bradley_terry`."""

    unconnected: Unconnected = option("raise", "agents not linked by wins both ways", choices=get_args(Unconnected))
    standard_errors: StandardErrors = option("none", "intervals", choices=get_args(StandardErrors))


_DEFAULTS: Final = BradleyTerryOptions()


def bradley_terry(
    wins: Any,
    ties: Any = None,
    *,
    options: BradleyTerryOptions = _DEFAULTS,
    names: Sequence[str] | None = None,
    start: ArrayLike | None = None,
) -> BradleyTerry:
    """Maximum-likelihood Bradley-Terry ratings (Bradley and Terry 1952; Hunter 2004, sec. 1-2), by Newton's method.

    wins: (m, m), entry (a, b) is the weight of the outcomes in which a beat b; ties: (m, m), symmetric, weight of ties. A tie counts as
    half a win for each agent. Both may be dense or scipy sparse; `MetPairs` or `Comparisons` may replace both. Above
    `logistic.DENSE_UP_TO` agents, the fit uses no dense (m, m) matrix, unless standard errors are requested.
    options.centre: mean rating of each component; with a prior, the anchor's rating.

    Without a prior, ratings are finite and unique exactly if chains of wins lead from every agent to every other agent (Ford 1957); a tie
    counts as a win of both. For other data `options.unconnected` decides: ``raise`` raises an error; ``components`` rates each strongly
    connected component separately and gives NaN to an agent that is alone in its component. The differences inside a component then equal
    the limit of the full maximum-likelihood fit, in which the results of games between components become certain.

    options.standard_errors: ``fisher`` inverts the information (a tie counts as two half games; with a prior, the information is the
    curvature of the posterior). ``sandwich`` also holds if results vary less or more than in the model, as ties do (White 1982; squared
    residuals are divided by 1 minus the leverage, MacKinnon and White 1985). Where the games say little about an agent, squares that the
    model expects replace a share of its squared residuals (`covariance.model_share`), and a prior's games count as results that could have
    been others (`covariance.prior_meat`). Both ``fisher`` and ``sandwich`` assume independent games of weight 1. Their errors are too small
    for games of more than two sides, because they treat the pairs of such a game as independent. ``clustered`` needs `Comparisons`. It is
    the sandwich by outcome, without correction for leverage. The pairs of an outcome may depend on each other in any way.

    The certificate (kind ``score_gap_per_game``) is the largest difference of expected and actual points of an agent, divided by its
    number of games in the fit. It is recomputed from the returned ratings and is at most the tolerance. ``stats["score_gap"]`` is the
    largest difference in points. ``stats["cautious"]`` counts the rejected steps; a large count means nearly separable data.
    names: names of the agents, for error messages only. start: earlier ratings (m,), in points, NaN for agents without a rating. They
    reduce the number of Newton steps and do not affect the answer, because the ratings are unique.

    Raises `InputError` for invalid arguments and unconnected data, `SolverError` (with the best point) if the tolerance is not reached.
    """
    BradleyTerryOptions.require(options)
    begun = time.perf_counter()
    comparisons = wins if isinstance(wins, Comparisons) else None
    counts = pair_counts(wins if comparisons is None else comparisons.counts(), ties)
    _check_agents(options, counts.m, names)
    if options.standard_errors == "clustered" and comparisons is None:
        raise InputError(
            "standard_errors", options.standard_errors, "must not be 'clustered' for tallies; pass Comparisons, which know their outcomes"
        )
    component = components_of(counts, options.prior)
    if options.unconnected == "raise":
        check_connected(component, names)
    likelihood = PairLikelihood(inside(counts, component), options.prior)
    _check_prior(likelihood)
    solution, theta = _fitted(options, likelihood, component, _first(options, likelihood, start))
    if options.standard_errors != "none":
        covariance = options.scale**2 * _covariance(likelihood, theta, component, options.standard_errors, comparisons)
        assumes = "independent outcomes" if options.standard_errors == "clustered" else "independent pairs"
        solution = replace(solution, covariance=covariance, assumes=assumes)
    return _checked(replace(solution, seconds=time.perf_counter() - begun), options.tolerance)


def _fitted(options: LogitOptions, likelihood: PairLikelihood, component: Labels, first: Floats | None) -> tuple[BradleyTerry, Floats]:
    """The solution and its logits (m,), from `first` or from 0. A poor start can end above the tolerance: then the better of both."""
    solve, found = solver(likelihood, component), []
    for start in (None,) if first is None else (first, None):
        minimum = minimise(likelihood, solve, options.tolerance / 2, options.max_iterations, start)
        found.append((_solution(options, likelihood, minimum, component), minimum.theta))
        if found[-1][0].status is Status.OPTIMAL:
            return found[-1]
    return min(found, key=lambda one: one[0].certificate.value)


def _first(options: LogitOptions, likelihood: PairLikelihood, start: ArrayLike | None) -> Floats | None:
    """First logits (m,) to try, or None for 0: with conjugate gradients the first steps are cheap, so a start from points saves nothing."""
    m = likelihood.counts.m
    if start is None and m <= DENSE_UP_TO:
        return likelihood.from_points()
    return started("start", start, m, options.centre, options.scale)


def started(argument: str, ratings: ArrayLike | None, m: int, centre: float, scale: float) -> Floats | None:
    """Convert earlier ratings (m,) to logits, with 0 for agents without a rating. None if `ratings` is None. Raises `InputError`."""
    if ratings is None:
        return None
    given = checks.real(argument, ratings)
    if given.shape != (m,):
        raise InputError(argument, given.shape, f"must contain a rating for each of {m} agents")
    if np.isinf(given).any():
        raise InputError(argument, "infinite", "must be finite, or NaN for agents without rating")
    return np.asarray(np.where(np.isnan(given), 0.0, (given - centre) / scale), np.float64)


def _points(options: LogitOptions, theta: Floats, component: Labels) -> Floats:
    """Convert logits to rating points (m,). Without a prior, an agent that is alone in its component gets NaN."""
    if options.prior > 0:
        return options.centre + options.scale * theta
    mean = np.bincount(component, theta) / np.bincount(component)
    ratings = options.centre + options.scale * (theta - mean[component])
    ratings[_alone(component)] = np.nan
    return np.asarray(ratings, np.float64)


def _solution(options: LogitOptions, likelihood: PairLikelihood, minimum: Minimum, component: Labels) -> BradleyTerry:
    ratings = _points(options, minimum.theta, component)
    gap = np.abs(likelihood.gradient(np.where(np.isnan(ratings), 0.0, (ratings - options.centre) / options.scale)))
    gap_per_game = float((gap / np.maximum(likelihood.games, np.finfo(float).tiny)).max())
    return BradleyTerry(
        ratings=ratings,
        certificate=Certificate("score_gap_per_game", gap_per_game),
        status=Status.OPTIMAL if gap_per_game <= options.tolerance else Status.APPROXIMATE,
        seconds=0.0,
        stats={
            "iterations": minimum.iterations,
            "cautious": minimum.cautious,
            "pairs": len(likelihood.counts.first),
            "score_gap": float(gap.max()),
        },
        component=component,
        scale=options.scale,
        centre=options.centre,
        prior=options.prior,
    )


def _check_agents(options: BradleyTerryOptions, m: int, names: Sequence[str] | None) -> None:
    if options.standard_errors != "none" and m > COVARIANCE_UP_TO:
        rule = f"must be 'none' for more than {COVARIANCE_UP_TO} agents ({m} given)"
        raise InputError("standard_errors", options.standard_errors, rule)
    if names is not None:
        if len(checks.sequence("names", names)) != m:
            raise InputError("names", len(names), f"must contain a name for each of the {m} rows of wins")
        for i, name in enumerate(names):
            checks.instance(f"names[{i}]", name, str)


def _check_prior(likelihood: PairLikelihood) -> None:
    """Reject a prior too small for float64: only the prior determines the mean, and rounding errors of many games would exceed it."""
    if not likelihood.prior:
        return
    most = float(likelihood.games.max())
    if likelihood.prior < LEAST_PRIOR * most:
        rule = f"must be 0 or at least {LEAST_PRIOR * most:.3g}, because rounding hides a smaller prior if an agent has {most:.3g} games"
        raise InputError("prior", likelihood.prior, rule)


def components_of(counts: MetPairs, prior: float) -> Labels:
    """Label of each agent's component (m,): agents of the same component have comparable ratings.

    Without a prior these are the strong components of the graph of wins, where a tie counts as a win of both. With a prior all agents are
    in component 0.
    """
    if prior > 0:
        return np.zeros(counts.m, np.int64)
    up, down = counts.points > 0, counts.points < counts.games
    tails = np.concatenate([counts.first[up], counts.second[down]])
    heads = np.concatenate([counts.second[up], counts.first[down]])
    return strong_components(tails, heads, counts.m)


def comparable(counts: MetPairs, prior: float) -> Labels:
    """Label of each agent (m,): of two agents with different labels, either may be above the other, whatever their ratings are.

    Without a prior these are the components. With a prior all agents have ratings on one scale, but nothing but the prior orders agents
    that no chain of games links.
    """
    if not prior:
        return components_of(counts, prior)
    met = counts.games > 0
    return weak_components(counts.first[met], counts.second[met], counts.m)


def check_connected(component: Labels, names: Sequence[str] | None) -> None:
    """Raises `InputError`, with the members of each component, if there is more than one."""
    groups = members(component)
    if len(groups) > 1:
        named = [[names[agent] if names is not None else agent for agent in group] for group in sorted(groups, key=len)]
        rule = (
            "must connect every two agents by chains of wins in both directions, because ratings are not finite otherwise"
            f" ({len(groups)} strongly connected components; set a prior, as in options=BradleyTerryOptions(prior=1) or"
            " --param prior=1; or set unconnected='components' to rate each component separately)"
        )
        raise InputError("wins", named, rule)


def inside(counts: MetPairs, component: Labels) -> MetPairs:
    """The pairs whose agents are in the same component."""
    return counts.only(component[counts.first] == component[counts.second]) if component.any() else counts


def _alone(component: Labels) -> Any:
    """Bool (m,): agents that are alone in their component. A single agent (m = 1) is not marked."""
    return (np.bincount(component)[component] == 1) & (len(component) > 1)


def _covariance(likelihood: PairLikelihood, theta: Floats, component: Labels, kind: str, comparisons: Comparisons | None) -> Floats:
    """Covariance of theta minus its component's mean, in logits squared (m, m)."""
    covariance = inverse_curvature(likelihood, theta, component)
    if kind != "fisher":
        if kind == "clustered" and comparisons is not None:
            meat = outcome_meat(comparisons, component, theta)
        else:
            meat = pair_meat(likelihood.counts, theta, covariance)
        covariance = covariance @ (meat + prior_meat(theta, likelihood.prior)) @ covariance
    comparable = (component[:, None] == component) & ~_alone(component)
    return np.asarray(np.where(comparable, covariance, np.nan), np.float64)


def _checked(solution: BradleyTerry, tolerance: float) -> BradleyTerry:
    if solution.status is not Status.OPTIMAL:
        reached = f"expected and actual score of an agent differ by {solution.certificate.value:.3g} per game, more than {tolerance:g}"
        advice = "raise max_iterations, set a prior (the data may be nearly separable) or accept a larger tolerance"
        raise SolverError(f"{reached}, after {solution.stats['iterations']:.0f} iterations: {advice}", solution)
    return solution
