"""Weights of old results: the parameter `half_life`, which every solved method has in addition to its own. It applies to games."""

from collections.abc import Mapping
from typing import Final

import numpy as np

from ratings_core.errors import InputError
from ratings_core.options import Parameter, Value
from ratings_core.problems.games import games_of
from ratings_core.problems.history import LEAST_WEIGHT, BucketedGames, HalfLifeChoice
from ratings_core.problems.inputs import FeaturesInput, GamesInput, Ids, Problem

RECENCY: Final = (
    Parameter("half_life", 0.0, "number of time buckets after which a result of a game has half its weight; 0: equal weights", 0.0, 1e9),
)
"""Parameters that every solved method has in addition to its own. Only games have results of different ages."""
_NO_GAMES: Final = "must be 0: only results of games have ages (those of files with features count alike)"
_UNTIMED: Final = (
    "must be 0 where games are not counted by time: give the time buckets a width "
    "(a pool: `equirank pools settings POOL --set bucket_seconds=S`; a file with times: `equirank solve FILE --bucket-seconds`; in Python: "
    "`bucket_seconds=S`)"
)


def check_half_life(half_life: float, *, games: bool, timed: bool) -> None:
    """Raise `InputError` for a half-life other than 0 if results have no ages.

    games: Whether the results are of games. timed: Whether games are counted by time.
    """
    if half_life and not games:
        raise InputError("half_life", half_life, _NO_GAMES)
    if half_life and not timed:
        raise InputError("half_life", half_life, _UNTIMED)


def recent(problem: Problem, values: dict[str, Value]) -> tuple[Problem, dict[str, object]]:
    """The problem with results weighted by age, and the field of `extra` about it; unchanged for half-life 0.

    values: Values of parameters, with `half_life` in buckets.

    Raises:
        InputError: Results of the problem have no ages.
    """
    half_life = float(values["half_life"])
    if not half_life:
        return problem, {}
    if isinstance(problem, FeaturesInput) and problem.buckets is not None:
        return _recent_features(problem, problem.buckets, half_life)
    history = _history(problem, half_life)
    recency = {"half_life": half_life, "oldest_bucket": history.buckets[0], "newest_bucket": history.buckets[-1]}
    return games_of(problem.names, history, half_life), {"recency": recency}


def _recent_features(problem: FeaturesInput, buckets: Ids, half_life: float) -> tuple[Problem, dict[str, object]]:
    newest = int(buckets.max())
    weights = 2.0 ** ((buckets - newest) / half_life)
    recency = {"half_life": half_life, "oldest_bucket": int(buckets.min()), "newest_bucket": newest}
    games = problem.comparisons.weights * np.where(weights >= LEAST_WEIGHT, weights, 0.0)
    return problem.weighted(games), {"recency": recency}


def chosen_half_life(problem: Problem, parameters: Mapping[str, Value]) -> HalfLifeChoice:
    """Choose the half-life of least held-out log loss.

    Raises:
        InputError: A half-life is given already, results of the problem have no ages, or there are too few of them to hold some out.
    """
    if "half_life" in parameters:
        raise InputError("half_life", parameters["half_life"], "must be given, or chosen by --choose-half-life, but not both")
    return _history(problem, "chosen").choose(len(problem.names))


def _history(problem: Problem, half_life: object) -> BucketedGames:
    if not isinstance(problem, GamesInput):
        raise InputError("half_life", half_life, _NO_GAMES)
    if problem.history is None:
        raise InputError("half_life", half_life, _UNTIMED)
    return problem.history
