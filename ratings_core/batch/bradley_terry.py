"""Bradley-Terry ratings: the maximum-likelihood fit to tallies of wins and ties, "Elo of all games at once"."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from ratings_core import checks
from ratings_core.batch.comparisons import Comparisons
from ratings_core.batch.covariance import inverse_curvature, outcome_meat, pair_meat
from ratings_core.batch.logistic import Minimum, PairLikelihood, minimise, solver
from ratings_core.batch.pair_counts import MetPairs, pair_counts
from ratings_core.errors import InputError, SolverError
from ratings_core.graphs.components import Labels, members, strong_components
from ratings_core.options import Options, option
from ratings_core.solution import Certificate, Floats, Solution, Status

ELO_SCALE: Final = 400.0 / math.log(10.0)
"""Rating points a logit: 400 points are odds of ten to one, as in chess."""
COVARIANCE_UP_TO: Final = 5_000
"""Agents up to which standard errors are offered: they need the inverse of a dense (m, m) matrix."""
LEAST_PRIOR: Final = 1e-13
"""Of the most games that an agent has: what a smaller prior says of the mean is lost in rounding."""
Unconnected: TypeAlias = Literal["raise", "components"]
StandardErrors: TypeAlias = Literal["none", "fisher", "sandwich", "clustered"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BradleyTerry(Solution):
    """Ratings in points: a beats b with probability 1 / (1 + exp((ratings[b] - ratings[a]) / scale)).

    component: int64 (m,), the component each agent was rated in; ratings compare inside one only. With a prior there is one.
    covariance: (m, m), points squared, of the ratings less their component's mean (of the ratings themselves, with a prior), NaN
    across components and for agents without rating; None where not asked for. assumes: what the covariance takes for granted.
    """

    component: Labels
    scale: float
    centre: float
    prior: float
    covariance: Floats | None = None
    assumes: str | None = None

    @property
    def standard_error(self) -> Floats | None:
        """Standard error of each rating, in points (m,), or None where not asked for."""
        return None if self.covariance is None else np.asarray(np.sqrt(self.covariance.diagonal()), np.float64)

    def expected_score(self, first: int, second: int) -> float:
        """Probability that `first` beats `second`, a tie being half; NaN where their ratings do not compare.

        Raises `InputError` where one is not an agent's id.
        """
        for argument, agent in (("first", first), ("second", second)):
            if checks.count(argument, agent) >= len(self.ratings):
                raise InputError(argument, agent, f"must be an agent's id, 0 to {len(self.ratings) - 1}")
        if self.component[first] != self.component[second]:
            return math.nan
        return float(expit((self.ratings[first] - self.ratings[second]) / self.scale))


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

    wins: (m, m), entry (a, b) is the weight of the outcomes in which a beat b; ties: (m, m), symmetric, weight of ties, each half a
    win for both. Dense or scipy sparse, or `MetPairs` or `Comparisons` in place of both; beyond `logistic.DENSE_UP_TO` agents only the
    pairs that met are ever touched.
    options.centre: mean rating of each component; with a prior, the anchor's rating.

    Without a prior ratings are finite and unique exactly where every two agents are linked by chains of wins both ways (Ford 1957),
    ties being wins of both. Elsewhere `options.unconnected` decides: ``raise`` refuses the data; ``components`` rates each strongly
    connected component by itself and gives NaN to agents that are alone in theirs. Differences inside a component are then the limit
    of the whole likelihood's: games across components end up certain and say nothing more.

    options.standard_errors: ``fisher`` inverts the information (a tie counts as two half games; with a prior it is the curvature of the
    posterior); ``sandwich`` allows for results that vary less or more than the model says, as ties do (White 1982).
    Both take games for independent and of weight 1, so that places of one larger game count as if played apart: too narrow there.
    ``clustered``, of `Comparisons`, is the sandwich of whole outcomes: pairs of one outcome may depend on each other in any way.

    The certificate (kind ``score_gap_per_game``) is the largest difference of expected and actual points of an agent, over the
    games it has in the fit, recomputed from the returned ratings; the tolerance bounds it. The same in points is ``stats["score_gap"]``;
    ``stats["cautious"]`` counts the steps that had to be shortened, many of them mean nearly separable data.
    names: of the agents, for messages only. start: ratings of an earlier answer (m,), in points, NaN for agents without one; they save
    Newton steps and decide nothing, as the ratings are unique.

    Raises `InputError` for bad arguments and unconnected data, `SolverError` (with the best point) beyond the tolerance.
    """
    BradleyTerryOptions.require(options)
    begun = time.perf_counter()
    comparisons = wins if isinstance(wins, Comparisons) else None
    counts = pair_counts(wins if comparisons is None else comparisons.counts(), ties)
    _check_agents(options, counts.m, names)
    if options.standard_errors == "clustered" and comparisons is None:
        raise InputError("standard_errors", options.standard_errors, "must not be 'clustered' for tallies; Comparisons know their outcomes")
    component = components_of(counts, options.prior)
    if options.unconnected == "raise":
        check_connected(component, names)
    likelihood = PairLikelihood(inside(counts, component), options.prior)
    _check_prior(likelihood)
    solve, first = solver(likelihood, component), started("start", start, counts.m, options.centre, options.scale)
    minimum = minimise(likelihood, solve, options.tolerance / 2, options.max_iterations, first)
    solution = _solution(options, likelihood, minimum, component)
    if first is not None and solution.status is not Status.OPTIMAL:  # far off, a start can be worse than none
        minimum = minimise(likelihood, solve, options.tolerance / 2, options.max_iterations)
        solution = _solution(options, likelihood, minimum, component)
    if options.standard_errors != "none":
        covariance = options.scale**2 * _covariance(likelihood, minimum.theta, component, options.standard_errors, comparisons)
        assumes = "independent outcomes" if options.standard_errors == "clustered" else "independent pairs"
        solution = replace(solution, covariance=covariance, assumes=assumes)
    return _checked(replace(solution, seconds=time.perf_counter() - begun), options.tolerance)


def started(argument: str, ratings: ArrayLike | None, m: int, centre: float, scale: float) -> Floats | None:
    """An earlier answer's ratings (m,) as logits, 0 for agents without one; None where none are given. Raises `InputError`."""
    if ratings is None:
        return None
    given = checks.real(argument, ratings)
    if given.shape != (m,):
        raise InputError(argument, given.shape, f"must be of {m} agents")
    if np.isinf(given).any():
        raise InputError(argument, "infinite", "must be finite, or NaN for agents without rating")
    return np.asarray(np.where(np.isnan(given), 0.0, (given - centre) / scale), np.float64)


def _points(options: LogitOptions, theta: Floats, component: Labels) -> Floats:
    """Logits as rating points (m,); NaN for agents that are alone in their component, without a prior."""
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
        rule = f"must be 'none' above {COVARIANCE_UP_TO} agents, here are {m}"
        raise InputError("standard_errors", options.standard_errors, rule)
    if names is not None:
        if len(checks.sequence("names", names)) != m:
            raise InputError("names", len(names), f"must be one a row of wins, {m}")
        for i, name in enumerate(names):
            checks.instance(f"names[{i}]", name, str)


def _check_prior(likelihood: PairLikelihood) -> None:
    """Where a prior is all that holds the mean, rounding of many games would move it."""
    most = float(likelihood.games.max())
    if 0 < likelihood.prior < LEAST_PRIOR * most:
        rule = f"must be 0, or at least {LEAST_PRIOR * most:.3g} where an agent has {most:.3g} games: rounding would hide less"
        raise InputError("prior", likelihood.prior, rule)


def components_of(counts: MetPairs, prior: float) -> Labels:
    """Which agents' ratings compare: strong components of the graph of wins, ties being wins of both; one with a prior."""
    if prior > 0:
        return np.zeros(counts.m, np.int64)
    up, down = counts.points > 0, counts.points < counts.games
    tails = np.concatenate([counts.first[up], counts.second[down]])
    heads = np.concatenate([counts.second[up], counts.first[down]])
    return strong_components(tails, heads, counts.m)


def check_connected(component: Labels, names: Sequence[str] | None) -> None:
    """Raises `InputError` where there is more than one component, naming them."""
    groups = members(component)
    if len(groups) > 1:
        named = [[names[agent] if names is not None else agent for agent in group] for group in sorted(groups, key=len)]
        rule = (
            "must link every two agents by chains of wins both ways, else ratings are not finite"
            f" ({len(groups)} strongly connected components here: set a prior, as in options=BradleyTerryOptions(prior=1) or"
            " --param prior=1; or set unconnected='components' to rate each by itself)"
        )
        raise InputError("wins", named, rule)


def inside(counts: MetPairs, component: Labels) -> MetPairs:
    """The pairs of agents of one component."""
    kept = component[counts.first] == component[counts.second]
    return counts if kept.all() else counts.only(kept)


def _alone(component: Labels) -> Any:
    """Agents in a component of their own, unless there is nobody else at all."""
    return (np.bincount(component)[component] == 1) & (len(component) > 1)


def _covariance(likelihood: PairLikelihood, theta: Floats, component: Labels, kind: str, comparisons: Comparisons | None) -> Floats:
    """Covariance of theta less its component's mean, in logits squared (m, m)."""
    covariance = inverse_curvature(likelihood, theta, component)
    if kind == "sandwich":
        covariance = covariance @ pair_meat(likelihood.counts, theta) @ covariance
    elif comparisons is not None:
        covariance = covariance @ outcome_meat(comparisons, component, theta) @ covariance
    comparable = (component[:, None] == component) & ~_alone(component)
    return np.asarray(np.where(comparable, covariance, np.nan), np.float64)


def _checked(solution: BradleyTerry, tolerance: float) -> BradleyTerry:
    if solution.status is not Status.OPTIMAL:
        reached = f"expected and actual score of an agent differ by {solution.certificate.value:.3g} a game, more than {tolerance:g}"
        advice = "raise max_iterations, set a prior (the data may be nearly separable) or accept a larger tolerance"
        raise SolverError(f"{reached}, after {solution.stats['iterations']:.0f} iterations: {advice}", solution)
    return solution
