"""Resampling of a solve's data for intervals, and the assumptions behind each kind of it."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import inf, sqrt
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np
import scipy
from numpy.random import Generator
from numpy.typing import NDArray

from ratings_core.analysis.resampling import PairGroups, drawn_columns, poisson_pairs, poisson_places, poisson_weights
from ratings_core.batch.pair_counts import of_tally
from ratings_core.errors import InputError
from ratings_core.games.clones import clone_classes
from ratings_core.margins import DRAWN_AGENTS, MarginDraws
from ratings_core.methods.margins import fitted, is_posterior, one_game_each
from ratings_core.methods.method import Method, Takes
from ratings_core.options import Value
from ratings_core.problems.inputs import FeaturesInput, GamesInput, MarginsInput, PairsInput, Problem, ProfileInput, ScoresInput

_SMOOTH: Final = frozenset({"bradley_terry", "davidson", "fenchel_young_fit", "sco_fit", "borda", "plurality", "approval", "uniform"})
"""Methods whose ratings change a little when the data change a little."""
_SMOOTH_DRAWS: Final = _SMOOTH | {"copeland"}
"""Methods with normal intervals from draws of posterior margins. A Copeland score is bounded, so percentiles of its draws lie towards the
middle and miss true scores near the bounds."""
_SUPPORTS: Final = frozenset({"maximal_lottery", "nash_average_agents"})
"""Methods that give most agents one rating: that of all agents in, or out of, the support of an equilibrium."""
_UPPER: Final = 0.975
"""Quantile at the upper end of a 95 % interval."""
_JUMPS: Final = "; ratings of this method can jump where data move a little: how often draws or refits came out so is no proven coverage"


class Resampling(NamedTuple):
    """How the data of a solve are resampled.

    Attributes:
        kind: Kind of the resampling: cells, clustered, ballots, tasks or posterior.
        assumes: What the intervals assume, as text.
        draw: Draws one replicate of the data with a random generator.
        values: Parameters that replace the solve's own ones when replicates are solved.
        units: Number of independent units that are drawn with replacement; 0 if there are so many that no correction is needed.
    """

    kind: str
    assumes: str
    draw: Callable[[Generator], Problem]
    values: Mapping[str, Value] = MappingProxyType({})
    units: int = 0


def normal_reach(method: Method, source: Resampling) -> float:
    """Factor by which the deviation of replicates is multiplied in a method's normal interval; 1 for many units.

    The factor is 0, which means no normal interval, for methods whose ratings can jump when the data change a little. With n drawn units,
    the deviation of a mean is too small by the factor sqrt((n - 1)/n), and its error has Student's distribution with n - 1 degrees of
    freedom.
    """
    if method.name not in (_SMOOTH_DRAWS if source.kind == "posterior" else _SMOOTH):
        return 0.0
    n = source.units
    return sqrt(n / (n - 1)) * float(scipy.special.stdtrit(n - 1, _UPPER) / scipy.special.ndtri(_UPPER)) if n else 1.0


def has_differences(method: Method) -> bool:
    """Whether differences of a method's ratings say how sure an order is (`simultaneous_ranks_of_draws`)."""
    return method.name not in _SUPPORTS


def possible_ratings(method: Method, agents: int) -> tuple[float, float]:
    """Least and largest rating that a method can give to one of `agents` agents, if its normal intervals could exceed them; else infinite.

    True ratings are in this range, too, so intervals lose no coverage by ending there.
    """
    return (0.0, agents - 1.0) if method.name == "copeland" else (-inf, inf)


def assumed(problem: Problem, method: Method) -> str:
    """The assumptions of intervals from resampled games, ballots or tasks. Raises `InputError` if the problem cannot be resampled."""
    return _resampling(problem, method.takes).assumes


def resampling(problem: Problem, method: Method, values: Mapping[str, Value] | None = None) -> Resampling:
    """Choose how a problem is resampled: draws of the true margins if it is solved on posterior margins, otherwise draws of the data.

    Args:
        problem: The problem that is solved.
        method: The method.
        values: Accepted values of its parameters; None for no posterior margins.

    Raises:
        InputError: The problem cannot be resampled: it is a table of margins, or has fewer than two distinct tasks.
    """
    if (
        values
        and "margins" in values
        and isinstance(problem, PairsInput)
        and len(problem.names) <= DRAWN_AGENTS
        and is_posterior(problem, dict(values))
    ):
        return _of_posterior(problem, method, values)
    scheme = _resampling(problem, method.takes)
    if method.name == "uniform" and values and values["merge"] and isinstance(problem, ScoresInput):
        scheme = _of_merged_tasks(problem, scheme.assumes)
    return scheme if method.name in _SMOOTH else scheme._replace(assumes=scheme.assumes + _JUMPS)


def _resampling(problem: Problem, takes: Takes) -> Resampling:
    match problem:
        case GamesInput():
            return _of_games(problem, takes)
        case FeaturesInput():
            return Resampling("clustered", "independent outcomes, redrawn whole", lambda rng: _redrawn_games(problem, rng))
        case PairsInput():
            return Resampling("cells", "independent outcomes of two sides", lambda rng: _redrawn_pairs(problem, rng))
        case ProfileInput():
            return Resampling("ballots", "independent ballots", lambda rng: _redrawn_ballots(problem, rng))
        case ScoresInput():
            return _of_tasks(problem)
        case MarginsInput():
            raise InputError("intervals", "margins", "must be for games, ballots or scores: margins have no number of games")


def _of_posterior(problem: PairsInput, method: Method, values: Mapping[str, Value]) -> Resampling:
    """Resampling by draws of the margins from their posterior. A draw is solved as observed margins."""
    counts = of_tally(problem.counts, len(problem.names))
    margins = fitted(counts, dict(values))
    draws = MarginDraws.of(counts, margins, float(values["margins_prior"]))
    assumes = f"the model of posterior margins with kappa {margins.kappa:.3g} given, and independent outcomes of two sides"
    names = problem.names

    def draw(rng: Generator) -> Problem:
        drawn = draws.draw(rng)
        return MarginsInput(names, drawn) if method.takes is Takes.MARGINS else PairsInput(names, one_game_each(drawn))

    return Resampling("posterior", assumes, draw, {"margins": "observed"})


def _of_games(problem: GamesInput, takes: Takes) -> Resampling:
    if takes is Takes.PLACES:
        assumes = "independent outcomes; for ranks, that the places of one outcome do not depend on each other"
        return Resampling("cells", assumes, lambda rng: replace(problem, places=poisson_places(problem.places, rng)))
    if takes is Takes.TASK_PAIRS:
        assumes = "independent outcomes of two sides, on tasks that are given"
        return Resampling(
            "cells", assumes, lambda rng: replace(problem, by_task=tuple(poisson_pairs(counts, rng) for counts in problem.by_task))
        )
    if problem.groups:
        groups = PairGroups(problem.groups)
        assumes = f"independent outcomes, redrawn whole, in {len(groups)} groups"
        return Resampling("clustered", assumes, lambda rng: replace(problem, counts=groups.replicate(rng)))
    assumes = "independent outcomes of two sides"
    if (sides := int(problem.places.sides.max(initial=2))) > 2:
        narrow = sqrt((sides + 1) / 3)
        assumes += f"; those of {sides} sides make them too narrow, by up to {narrow:.2g}: a pool folded with `clustered` is right"
    return Resampling("cells", assumes, lambda rng: _redrawn_pairs(problem, rng))


def _redrawn_pairs(problem: PairsInput, rng: Generator) -> PairsInput:
    return replace(problem, counts=poisson_pairs(problem.counts, rng))


def _redrawn_games(problem: FeaturesInput, rng: Generator) -> FeaturesInput:
    """Multiply the weight of each game by a Poisson number of mean 1."""
    weights = problem.comparisons.weights
    return problem.weighted(weights * rng.poisson(1.0, len(weights)))


def _redrawn_ballots(problem: ProfileInput, rng: Generator) -> ProfileInput:
    profile = problem.profile
    return replace(problem, profile=replace(profile, weight=poisson_weights(profile.weight, rng)))


def _of_tasks(problem: ScoresInput) -> Resampling:
    """Resampling of tasks. A task and its exact copies are drawn together, because copies are not independent observations."""
    classes = clone_classes(problem.scores.T)
    if len(classes) < 2:
        raise InputError(
            "intervals", len(classes), "must be for at least two different tasks (copies count once): a single task has no spread"
        )
    assumes = "tasks drawn at random from those that could be asked; the noise of a measurement does not count"
    if copies := len(problem.tasks) - len(classes):
        assumes += f"; {copies} exact copies of tasks are drawn with what they copy; near copies make intervals too narrow"
    return Resampling("tasks", assumes, lambda rng: _redrawn_tasks(problem, classes.member, rng), units=len(classes))


def _of_merged_tasks(problem: ScoresInput, assumes: str) -> Resampling:
    """Resampling for means over tasks in which copies of a task count once. A task that is drawn twice counts twice.

    Replicates are therefore solved with merge=False. Merging the two draws of a task would make the scatter of means a quarter too small.
    """
    first = np.unique(clone_classes(problem.scores.T).member, return_index=True)[1]
    own = replace(problem, tasks=tuple(problem.tasks[i] for i in first.tolist()), scores=problem.scores[:, first])
    member = np.arange(len(first))
    return Resampling("tasks", assumes, lambda rng: _redrawn_tasks(own, member, rng), {"merge": False}, len(first))


def _redrawn_tasks(problem: ScoresInput, member: NDArray[np.int64], rng: Generator) -> ScoresInput:
    """Draw tasks with replacement. Tasks are named by position, because a task may be drawn twice. member: Clone class of each task."""
    columns = drawn_columns(member, rng)
    return replace(problem, tasks=tuple(map(str, range(len(columns)))), scores=problem.scores[:, columns])
