"""Methods that fit ratings: Bradley-Terry, Davidson, soft Condorcet optimisation and Fenchel-Young.

A name ends in `_fit` if an online method with the same loss has the name without it.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, TypeVar

import numpy as np

from ratings_core.analysis.intervals import cell_replicates, including, replicate_intervals
from ratings_core.analysis.rank_intervals import PAIRED_AGENTS, simultaneous_ranks, simultaneous_ranks_of_errors
from ratings_core.batch.bradley_terry import BradleyTerry, BradleyTerryOptions, bradley_terry, comparable
from ratings_core.batch.contextual import ContextualOptions, contextual_bradley_terry
from ratings_core.batch.davidson import davidson
from ratings_core.batch.fenchel_young import FenchelYoung, FenchelYoungOptions, fenchel_young
from ratings_core.batch.logistic import DENSE_UP_TO
from ratings_core.batch.pair_counts import MetPairs, of_tally
from ratings_core.batch.soft_condorcet import SoftCondorcet, SoftCondorcetOptions, soft_condorcet
from ratings_core.errors import InputError
from ratings_core.graphs import Labels
from ratings_core.margins import PosteriorMargins
from ratings_core.methods.margins import MARGINS, chosen, fitted, one_game_each
from ratings_core.methods.method import Method, Rated, Takes
from ratings_core.methods.parameters import chosen_options
from ratings_core.methods.separate import separate_groups
from ratings_core.methods.starts import by_name, of_names
from ratings_core.methods.unrated import unrated_because
from ratings_core.options import Parameter, parameters_of
from ratings_core.problems.inputs import FeaturesInput, MarginsInput, PairsInput, Problem, ProfileInput, ScoresInput
from ratings_core.ranking import Ranking
from ratings_core.solution import Floats, Solution, Start

Found = TypeVar("Found", bound=Solution)

_DENSE_AGENTS: Final = 2_000
"""Largest number of agents in fits of posterior margins, which have a term for every pair."""
_CONTEXTUAL_AGENTS: Final = 2_000
"""Largest number of agents in the fit with features, which solves dense linear systems."""
_LEVEL: Final = 0.95
_NORMAL_95: Final = 1.959963984540054


def _bradley_terry(problem: PairsInput | ProfileInput | ScoresInput, parameters: dict[str, Any], start: Start | None) -> Rated:
    wins, ties = problem.counts.sparse(len(problem.names))
    before = None if start is None else by_name(start, 0, "ratings", problem.names, np.nan)
    result = bradley_terry(wins, ties, options=BradleyTerryOptions(**parameters), names=problem.names, start=before)
    return replace(_with_errors(problem, result), start=_next(problem, result))


def _next(problem: Problem, result: BradleyTerry) -> Start | None:
    """The start of the next solve; None if no agent is rated, or above `DENSE_UP_TO` agents.

    Newton's steps are inexact for more agents than that, so a start would not save any step.
    """
    rated = np.flatnonzero(np.isfinite(result.ratings)).tolist()
    if not rated or len(problem.names) > DENSE_UP_TO:
        return None
    return of_names("bradley_terry", {"ratings": ([problem.names[i] for i in rated], result.ratings[rated])})


def _with_errors(problem: PairsInput | ProfileInput | ScoresInput, result: BradleyTerry) -> Rated:
    sizes = np.unique(result.component, return_counts=True)[1]
    extra: dict[str, object] = {"components": len(sizes), "largest_component": int(sizes.max()), **_unrated(problem, result)}
    rated = Rated(solution=result, unit=result.scale, extra=extra)
    if result.covariance is None:
        return rated
    counts = of_tally(problem.counts, len(problem.names))
    return _with_normal(rated, result.covariance, result.assumes, comparable(counts, result.prior))


def _with_normal(rated: Rated, covariance: Floats, assumes: str | None, component: Labels) -> Rated:
    """`rated` with normal intervals of its ratings and ranks.

    covariance: of the ratings (m, m), NaN where it is undefined; component: label of each agent (m,), as by `comparable`.
    """
    ratings, known = rated.solution.ratings, np.where(np.isnan(covariance), 0.0, covariance)
    error = np.sqrt(covariance.diagonal())
    if len(ratings) <= PAIRED_AGENTS:
        first, last = simultaneous_ranks(ratings, known, component, level=_LEVEL)
    else:
        first, last = simultaneous_ranks_of_errors(ratings, error, component, level=_LEVEL)
    low, high = ratings - _NORMAL_95 * error, ratings + _NORMAL_95 * error
    extra = {**rated.extra, "assumes": assumes, "interval": _LEVEL}
    return replace(rated, low=low, high=high, rank_low=first, rank_high=last, extra=extra)


def _contextual(problem: FeaturesInput, parameters: dict[str, Any]) -> Rated:
    options = chosen_options(ContextualOptions, parameters)
    result = contextual_bradley_terry(problem.comparisons, problem.features, options=options, names=problem.names)
    error = _NORMAL_95 * result.coefficient_error
    columns = (result.coefficients, result.coefficient_error, result.coefficients - error, result.coefficients + error)
    rows = zip(problem.feature_names, *(column.tolist() for column in columns), strict=True)
    names = ("feature", "coefficient", "standard_error", "low", "high")
    extra: dict[str, object] = {"features": [dict(zip(names, row, strict=True)) for row in rows], "games": len(problem.comparisons)}
    if problem.left_out:
        extra["games_left_out"] = dict(problem.left_out)
    rated = Rated(solution=result, unit=result.scale, extra=extra)
    if parameters["standard_errors"] == "none":
        return rated
    m = len(problem.names)
    linked = comparable(problem.comparisons.counts(), result.prior)
    return _with_normal(rated, result.covariance[:m, :m], "independent outcomes", linked)


def _unrated(problem: PairsInput | ProfileInput | ScoresInput, result: BradleyTerry) -> dict[str, object]:
    """Number of agents without a rating, the reason, and the number of separate groups with a rating."""
    agents, rated = np.flatnonzero(np.isnan(result.ratings)), np.flatnonzero(~np.isnan(result.ratings))
    if not len(agents):
        return {"unrated": 0}
    groups = separate_groups(problem.counts, len(problem.names), rated) if isinstance(problem, PairsInput) else {}
    return {"unrated": len(agents), "unrated_because": unrated_because(problem, agents), **groups}


def _sco_fit(problem: Problem, parameters: dict[str, Any]) -> Rated:
    options = chosen_options(SoftCondorcetOptions, parameters)
    if isinstance(problem, MarginsInput):
        if parameters["replicates"]:
            raise InputError("replicates", parameters["replicates"], "must be 0 for margins, because they have no number of games")
        result = soft_condorcet(np.maximum(problem.margins, 0.0), options=options)
        return chosen(problem, parameters).reported(_sco_rated(problem, result))

    def fit(pairs: MetPairs, posterior: PosteriorMargins | None) -> SoftCondorcet:
        return soft_condorcet(pairs if posterior is None else np.maximum(posterior.dense(), 0.0), options=options)

    return _on_pairs(problem, parameters, fit, lambda result: _sco_rated(problem, result))


def _sco_rated(problem: Problem, result: SoftCondorcet) -> Rated:
    winner = None if result.winner is None else problem.names[result.winner]
    extra: dict[str, object] = {"loss": result.loss, "bound": result.bound, "condorcet_winner": winner}
    return Rated(solution=result, unit=result.tau, ranking=result.ranking, extra=extra)


def _fenchel_young_fit(problem: PairsInput | ProfileInput | ScoresInput, parameters: dict[str, Any]) -> Rated:
    options = chosen_options(FenchelYoungOptions, parameters)

    def fit(pairs: MetPairs, posterior: PosteriorMargins | None) -> FenchelYoung:
        given = pairs if posterior is None else of_tally(one_game_each(posterior.dense()), len(posterior))
        return fenchel_young(given, options=options)

    return _on_pairs(
        problem, parameters, fit, lambda result: Rated(solution=result, unit=result.sigma, extra={"at_bound": int(result.at_bound.sum())})
    )


def _on_pairs(
    problem: PairsInput | FeaturesInput | ProfileInput | ScoresInput,
    parameters: dict[str, Any],
    fit: Callable[[MetPairs, PosteriorMargins | None], Found],
    rated: Callable[[Found], Rated],
) -> Rated:
    """Fit results of pairs, or the posterior margins that the parameters choose; with intervals from refits for `replicates`.

    Posterior margins of a replicate use the kappa of the original data. An infinite kappa becomes 1e12, the largest value of the parameter.

    fit: Fits ratings to results of pairs, or to posterior margins instead. rated: Describes a fit.
    """
    margins, counts = chosen(problem, parameters), of_tally(problem.counts, len(problem.names))
    posterior = margins.posterior
    given = parameters if posterior is None else {**parameters, "margins_kappa": min(posterior.kappa, 1e12)}

    def refit(drawn: MetPairs) -> Found:
        return fit(drawn, None if posterior is None else fitted(drawn, given))

    return margins.reported(_with_intervals(rated(fit(counts, posterior)), problem, counts, parameters, refit))


def _davidson(problem: PairsInput | ProfileInput | ScoresInput, parameters: dict[str, Any]) -> Rated:
    options = chosen_options(BradleyTerryOptions, parameters)
    counts = of_tally(problem.counts, len(problem.names))
    result = davidson(counts, options=options, names=problem.names)
    extra: dict[str, object] = {
        "nu": result.nu if np.isfinite(result.nu) else None,
        "components": int(result.component.max()) + 1,
        **_unrated(problem, result),
    }
    rated = Rated(solution=result, unit=result.scale, extra=extra)
    return _with_intervals(rated, problem, counts, parameters, lambda drawn: davidson(drawn, options=options))


def _with_intervals(
    rated: Rated, problem: Problem, counts: MetPairs, parameters: dict[str, Any], fit: Callable[[MetPairs], Solution]
) -> Rated:
    """`rated` with intervals of ratings and ranks, from refits to resampled results of pairs. Unchanged for 0 replicates.

    fit: Refits the method to resampled counts.
    """
    if not parameters["replicates"]:
        return rated
    replicates = cell_replicates(counts, seed=parameters["seed"], replicates=parameters["replicates"])
    drawn = replicate_intervals(lambda one: fit(one).ratings, replicates, estimate=rated.solution.ratings)
    ranking = rated.ranking or Ranking.from_scores(rated.solution.ratings)
    intervals = including(drawn, rated.solution.ratings, ranking.rank)
    ranks = dict(zip(problem.names, zip(intervals.rank_low.tolist(), intervals.rank_high.tolist(), strict=True), strict=True))
    extra = {**rated.extra, "assumes": "independent pairs", "interval": intervals.level, "rank_intervals": ranks}
    return replace(rated, low=intervals.low, high=intervals.high, rank_low=intervals.rank_low, rank_high=intervals.rank_high, extra=extra)


_BY_COMPONENT: Final = {"unconnected": "components"}
"""In a service, each connected component is rated by itself. The library's default is an error if agents are not connected."""
_APPROXIMATE: Final = {"accept_approximate": True}
_REPLICATES: Final = (
    Parameter("replicates", 0, "number of refits to resampled results, for intervals: at least 2, or 0 for none", 0, 10_000),
    Parameter("seed", 0, "random seed of the replicates", 0, 2**31 - 1),
)
REGISTERED: Final = (
    Method(
        name="bradley_terry",
        takes=Takes.PAIRS,
        run=_bradley_terry,
        cost=1,
        tie_tolerance=1e-8,
        parameters=parameters_of(BradleyTerryOptions, defaults=_BY_COMPONENT, choices={"standard_errors": ("none", "fisher", "sandwich")}),
        starts=True,
    ),
    Method(
        name="contextual_bradley_terry",
        takes=Takes.FEATURES,
        run=_contextual,
        cost=3,
        tie_tolerance=1e-8,
        most_agents=_CONTEXTUAL_AGENTS,
        parameters=(
            *parameters_of(ContextualOptions),
            Parameter("standard_errors", "sandwich", "standard errors for intervals, clustered by outcome", choices=("none", "sandwich")),
        ),
    ),
    Method(
        name="davidson",
        takes=Takes.PAIRS,
        run=_davidson,
        cost=1,
        tie_tolerance=1e-8,
        parameters=(
            *parameters_of(BradleyTerryOptions, defaults=_BY_COMPONENT, leave_out=("standard_errors",)),
            *_REPLICATES,
        ),
    ),
    Method(
        name="sco_fit",
        takes=Takes.MARGINS,
        run=_sco_fit,
        dense_agents=_DENSE_AGENTS,
        cost=2,
        tie_tolerance=None,
        parameters=(
            *parameters_of(SoftCondorcetOptions, defaults=_APPROXIMATE),
            *_REPLICATES,
            *MARGINS,
        ),
    ),
    Method(
        name="fenchel_young_fit",
        takes=Takes.PAIRS,
        run=_fenchel_young_fit,
        dense_agents=_DENSE_AGENTS,
        cost=1,
        tie_tolerance=1e-6,
        parameters=(
            *parameters_of(FenchelYoungOptions, defaults=_APPROXIMATE),
            *_REPLICATES,
            *MARGINS,
        ),
    ),
)
