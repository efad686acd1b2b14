"""The registry of solved methods: the table `METHODS`, and the methods with the problems and parameters that they are run with.

A method is a row of `METHODS` and a function from a problem to `Rated`. A method that does not apply to a problem gives the reason.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from ratings_core.checks import similar
from ratings_core.errors import InputError
from ratings_core.methods.method import GIVEN_BY_SCORES, Method, Rated, Takes, given_by_games
from ratings_core.methods.names import MODULES, ONLINE
from ratings_core.methods.parameters import accepted
from ratings_core.methods.recency import RECENCY, recent
from ratings_core.methods.rosters import ROSTER, playing, roster
from ratings_core.methods.separate import separate_groups
from ratings_core.options import Value
from ratings_core.problems.inputs import (
    FeaturesInput,
    GamesInput,
    MarginsInput,
    PairsInput,
    Problem,
    ProfileInput,
    ScoresInput,
)
from ratings_core.ranking import Ranking
from ratings_core.solution import Start

Parameters: TypeAlias = Mapping[str, Value]

_ROUNDING: Final = 4 * float(np.finfo(np.float64).eps)


LACKING: Final[Mapping[Takes, str]] = {
    Takes.PAIRS: "needs wins, losses and ties; margins have no number of games",
    Takes.TASK_PAIRS: "needs results counted per task (of a pool: `equirank pools settings POOL --set per_task=true`; of a file: "
    "`--column task=HEADER`; in Python: `columns={'task': HEADER}`), or scores",
    Takes.PLACES: "needs games, ballots or scores; results of pairs have no places",
    Takes.MARGINS: "needs margins between agents",
    Takes.PROFILE: "needs ballots or scores; games have no orders of voters",
    Takes.FEATURES: "needs features of games (of a pool: `equirank pools settings POOL --set features=KEY`, a number in the `meta` of its "
    "games; of a file of games: `equirank solve FILE --feature COLUMN`; in Python: `features=[COLUMN]`)",
}
"""Kind of input -> what a problem or a pool lacks if it does not provide this input."""
NO_PAIRS: Final = "needs a game between two agents that each play alone; games of teams are not counted by pairs"
"""What games lack in which no two agents met."""
_NO_PLACES: Final = "needs a game in which an agent plays alone; places of teams are not counted"


class NotApplicable(InputError):  # noqa: N818 - names the fact
    """The method cannot solve this kind of input. `rule` gives the reason."""


class Taken(NamedTuple):
    """A method with the problem and the parameters that it is run with.

    Attributes:
        method: The method.
        problem: The part of the problem that the method takes, agents in order of their names.
        values: Accepted values of the method's own parameters.
        about: Fields of `extra` about agents left out (`roster`), weights of old results (`recency`) and groups that never met
            (`separate_groups`).
    """

    method: Method
    problem: Problem
    values: dict[str, Value]
    about: dict[str, object]

    def rated(self, start: Start | None = None) -> Rated:
        """Run the method. start: Start from an answer of the same method with the same parameters; its data may differ.

        Raises `InputError` and `SolverError`.
        """
        warm = {"start": start} if self.method.starts else {}
        return self.method.run(self.problem, self.values, **warm)


def taken(method: str, problem: Problem, parameters: Parameters | None = None) -> Taken:
    """The method, the part of the problem and the parameters that `solve` uses. Raises `InputError` and its subclass `NotApplicable`."""
    chosen = find(method)
    if (reason := why_not(chosen, problem)) is not None:
        raise NotApplicable("method", method, reason)
    given = accepted((*chosen.parameters, *ROSTER, *RECENCY), parameters or {})
    weighted, recency = recent(problem, given)
    named = weighted.by_name()
    part, left_out = roster(playing(named) if isinstance(named, GamesInput) else named, chosen, given)
    if (reason := why_not(chosen, part)) is not None:
        raise NotApplicable("method", method, reason)
    separate = separate_groups(part.counts, len(part.names)) if isinstance(part, PairsInput) else {}
    values = {parameter.name: given[parameter.name] for parameter in chosen.parameters}
    return Taken(chosen, part, values, {**left_out, **recency, **separate})


def ranking_of(method: Method, rated: Rated, tie_tolerance: float | None = None) -> Ranking:
    """The ranking of agents: the method's own ranking if it has one, otherwise by ratings.

    tie_tolerance: Ratings within it share a rank. None for the method's default.
    """
    if rated.ranking is not None:
        return rated.ranking
    return Ranking.from_scores(rated.solution.ratings, tolerance_of(method, rated) if tie_tolerance is None else tie_tolerance)


def find(method: str) -> Method:
    """The method with a name. Raises `InputError` for an unknown name or an online method."""
    if method in ONLINE:
        rule = (
            "must be a solved method; this is an online method: `rate` and `equirank solve FILE` rate games with it, and "
            f"`equirank pools settings POOL --set online={method}` rates a pool with it"
        )
        raise InputError("method", method, rule)
    if method not in METHODS:
        near = similar(method, [*METHODS, *ONLINE])
        known = f"{', '.join(METHODS)}, or an online method of `solve FILE`: {', '.join(ONLINE)}"
        raise InputError("method", method, f"must be one of {known}{near}")
    return METHODS[method]


def why_not(method: Method, problem: Problem) -> str | None:
    """Why `method` does not apply to `problem`; None if it applies."""
    n = len(problem.names)
    if method.takes not in _given(problem):
        return LACKING[method.takes]
    if n < method.least_agents:
        return f"needs at least {method.least_agents} agents, but there are {n}"
    return uncounted(method.takes, problem)


def uncounted(takes: Takes, games: Problem) -> str | None:
    """Why games have no result of the kind `takes`, so that an answer would rest on nothing; None if they have some, or are no games."""
    if not isinstance(games, GamesInput):
        return None
    if takes is Takes.PLACES:
        return None if len(games.places) else _NO_PLACES
    met = games.by_task if takes is Takes.TASK_PAIRS else (games.counts,)
    return None if any(map(len, met)) else NO_PAIRS


def _given(problem: Problem) -> frozenset[Takes]:
    """The kinds of input that `problem` provides."""
    match problem:
        case GamesInput():
            return given_by_games(per_task=bool(problem.tasks))
        case FeaturesInput():
            return frozenset({Takes.PAIRS, Takes.MARGINS, Takes.FEATURES})
        case PairsInput():
            return frozenset({Takes.PAIRS, Takes.MARGINS})
        case MarginsInput():
            return frozenset({Takes.MARGINS})
        case ProfileInput():
            return frozenset({Takes.PAIRS, Takes.MARGINS, Takes.PLACES, Takes.PROFILE})
        case ScoresInput():
            return GIVEN_BY_SCORES


def tolerance_of(method: Method, rated: Rated) -> float:
    """The method's tie tolerance in units of the ratings, at least their rounding error; 0 if it is 0 or None for the method."""
    if not method.tie_tolerance:
        return 0.0
    largest = float(np.nanmax(np.abs(rated.solution.ratings), initial=0.0))
    return max(method.tie_tolerance * rated.unit, _ROUNDING * largest)


class _Methods(Mapping[str, Method]):
    """All solved methods by name. The module of a method is loaded when the method is first used."""

    def __getitem__(self, name: str) -> Method:
        module = import_module(f"ratings_core.methods.{MODULES[name]}")
        registered: tuple[Method, ...] = module.REGISTERED
        return next(method for method in registered if method.name == name)

    def __iter__(self) -> Iterator[str]:
        return iter(MODULES)

    def __len__(self) -> int:
        return len(MODULES)

    def __contains__(self, name: object) -> bool:
        return name in MODULES


METHODS: Final[Mapping[str, Method]] = _Methods()
