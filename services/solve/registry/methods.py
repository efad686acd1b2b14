"""The registry of solved methods: the table `METHODS`, and the solve of a problem with one of them.

A method is a row of `METHODS` and a function from a problem to `Rated`. A method that does not apply to a problem gives the reason.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias, assert_never

import msgspec
import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from ratings_core.equilibria.starts import Start
from ratings_core.errors import InputError
from ratings_core.margins import posterior_copeland
from ratings_core.online import RATERS
from ratings_core.options import Parameter, Value
from ratings_core.ranking import Ranking
from ratings_core.solution import Floats
from ratings_core.voting.copeland import copeland
from services.boards.result import AgentRow, CertificateRow, Intervals, PackedStart, SolveResult, TaskRow
from services.solve.problems import checkpointed
from services.solve.problems.inputs import (
    FeaturesInput,
    GamesInput,
    MarginsInput,
    PairsInput,
    Problem,
    ProfileInput,
    ScoresInput,
    sparse_margins,
)
from services.solve.registry.equilibrium import EQUILIBRIUM
from services.solve.registry.fits import FITS
from services.solve.registry.games import GAMES
from services.solve.registry.lotteries import LOTTERIES
from services.solve.registry.margins import MARGINS, chosen
from services.solve.registry.method import GIVEN_BY_SCORES, Method, Rated, Takes, given_by_games
from services.solve.registry.parameters import accepted
from services.solve.registry.read_off import READ_OFF
from services.solve.registry.recency import RECENCY, recent
from services.solve.registry.rosters import ROSTER, roster
from services.solve.registry.starts import packed, unpacked
from services.solve.registry.voting import VOTING
from services.wire.pools import Kind

Parameters: TypeAlias = Mapping[str, Value]
Ties: TypeAlias = Literal["keep", "order"]

_ROUNDING: Final = 4 * float(np.finfo(np.float64).eps)


LACKING: Final[Mapping[Takes, str]] = {
    Takes.PAIRS: "needs wins, losses and ties; margins have no number of games",
    Takes.TASK_PAIRS: "needs results counted per task (of a pool: `equirank pools settings POOL --per-task`; of a file: "
    "`--column task=HEADER`), or scores",
    Takes.PLACES: "needs games, ballots or scores; results of pairs have no places",
    Takes.MARGINS: "needs margins between agents",
    Takes.PROFILE: "needs ballots or scores; games have no orders of voters",
    Takes.FEATURES: "needs features of games (of a pool: `equirank pools settings POOL --feature KEY`, a number in the `meta` of its "
    "games; of a file of results or battles: `equirank solve FILE --feature COLUMN`)",
}
"""Kind of input -> what a problem or a pool lacks if it does not provide this input."""


class NotApplicable(InputError):  # noqa: N818 - names the fact
    """The method cannot solve this kind of input. `rule` gives the reason."""


class Taken(NamedTuple):
    """A method with the problem and the parameters that it is run with.

    Attributes:
        method: The method.
        problem: The part of the problem that the method takes, agents in order of their names.
        values: Accepted values of the method's own parameters.
        about: Fields of `extra` about agents left out (`roster`) and about weights of old results (`recency`).
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


class Solved(msgspec.Struct, frozen=True):
    """A result of a solve.

    Attributes:
        result: The result.
        start: Start of the next solve of the same job; None if the method has none.
        memory: Peak memory of the solving process in bytes; 0 if not measured.
    """

    result: SolveResult
    start: PackedStart | None = None
    memory: int = 0


def solve(
    method: str, problem: Problem, parameters: Parameters | None = None, tie_tolerance: float | None = None, ties: Ties = "keep"
) -> SolveResult:
    """Solve a problem.

    Args:
        method: Name of a solved method.
        problem: The problem.
        parameters: Given values of parameters; the others take their defaults.
        tie_tolerance: Ratings that differ from a rank's best rating by at most this share that rank. None for the method's default.
        ties: `keep` gives equal ratings the same rank; `order` ranks them by name.

    Returns:
        The result, best agent first; agents without a rating come last. If there are more agents than the method takes, the most active
        (or best rated) ones are solved, and `extra.roster` counts the others.

    Raises:
        InputError: The method or a parameter is unknown or invalid.
        NotApplicable: The method does not apply to the problem.
        SolverError: The method did not reach its accuracy.
    """
    return solve_from(None, method, problem, parameters, tie_tolerance, ties).result


def solve_from(
    start: PackedStart | None,
    method: str,
    problem: Problem,
    parameters: Parameters | None = None,
    tie_tolerance: float | None = None,
    ties: Ties = "keep",
) -> Solved:
    """Solve as `solve` does, from the start of an earlier answer.

    start: From an answer of the same method with the same parameters. Its data may differ. None for no start.
    """
    found = taken(method, problem, parameters)
    chosen = found.method
    if chosen.tie_tolerance is None and tie_tolerance is not None:
        raise InputError("tie_tolerance", tie_tolerance, f"must be left out: {method} computes ranks itself, not from ratings")
    rated = found.rated(None if start is None else unpacked(start))
    tolerance = _own_tolerance(chosen, rated) if tie_tolerance is None else tie_tolerance
    solution = rated.solution
    result = SolveResult(
        method=method,
        input=_kind_of(problem),
        agents=_agent_rows(found.problem.names, rated, ranking_of(chosen, rated, tolerance), ties),
        certificate=CertificateRow(kind=solution.certificate.kind, value=solution.certificate.value),
        status=solution.status.value,
        seconds=solution.seconds,
        tasks=_task_rows(found.problem, rated.task_ratings, tolerance, ties),
        extra={"parameters": found.values, "tie_tolerance": tolerance, "stats": dict(solution.stats), **found.about, **rated.extra},
        intervals=UNSET if rated.low is None else _own_intervals(found.values, rated.extra),
    )
    return Solved(result, None if rated.start is None else packed(rated.start))


def taken(method: str, problem: Problem, parameters: Parameters | None = None) -> Taken:
    """The method, the part of the problem and the parameters that `solve` uses. Raises `InputError` and its subclass `NotApplicable`."""
    chosen = find(method)
    if (reason := why_not(chosen, problem)) is not None:
        raise NotApplicable("method", method, reason)
    given = accepted((*chosen.parameters, *ROSTER, *RECENCY), parameters or {})
    weighted, recency = recent(problem, given)
    part, left_out = roster(weighted.by_name(), chosen, given)
    if (reason := why_not(chosen, part)) is not None:
        raise NotApplicable("method", method, reason)
    return Taken(chosen, part, {parameter.name: given[parameter.name] for parameter in chosen.parameters}, {**left_out, **recency})


def ranking_of(method: Method, rated: Rated, tie_tolerance: float | None = None) -> Ranking:
    """The ranking of agents: the method's own ranking if it has one, otherwise by ratings.

    tie_tolerance: Ratings within it share a rank. None for the method's default.
    """
    if rated.ranking is not None:
        return rated.ranking
    return Ranking.from_scores(rated.solution.ratings, _own_tolerance(method, rated) if tie_tolerance is None else tie_tolerance)


def find(method: str) -> Method:
    """The method with a name. Raises `InputError` for an unknown name or an online method."""
    if method in RATERS:
        rule = (
            "must be a solved method; this is an online method: `equirank solve FILE` rates a file with it, and "
            f"`equirank pools settings POOL --method {method}` enables it on a pool"
        )
        raise InputError("method", method, rule)
    if method not in METHODS:
        raise InputError("method", method, f"must be one of {', '.join(METHODS)}, or an online method of `solve FILE`: {', '.join(RATERS)}")
    return METHODS[method]


def why_not(method: Method, problem: Problem) -> str | None:
    """Why `method` does not apply to `problem`; None if it applies."""
    n = len(problem.names)
    if method.takes not in _given(problem):
        return LACKING[method.takes]
    if n < method.least_agents:
        return f"needs at least {method.least_agents} agents, but there are {n}"
    return None


def defaults(kind: Kind) -> dict[str, dict[str, Value]]:
    """Method -> parameters, for a pool of this kind without a plan."""
    pairwise: dict[str, dict[str, Value]] = {"copeland": {}, "maximal_lottery": {}, "iterated_maximal_lotteries": {}}
    match kind:
        case Kind.GAMES:
            return {"bradley_terry": {}, **pairwise}
        case Kind.SCORES:
            return {"nash_average": {"missing": "drop_tasks"}, "deviation": {"missing": "drop_tasks", "explain": 3}, **pairwise}
        case _:
            assert_never(kind)


def problem_for(method: str, kind: Kind, arrays: Mapping[str, NDArray[Any]]) -> GamesInput | ScoresInput | FeaturesInput:
    """The problem of a checkpointed pool for a method: games with features if the method takes features, otherwise tallies.

    Raises:
        InputError: The method takes features, and no game has had all of them yet.
    """
    return checkpointed.featured(arrays) if find(method).takes is Takes.FEATURES else checkpointed.problem(kind, arrays)


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


def _kind_of(problem: Problem) -> str:
    match problem:
        case GamesInput() | FeaturesInput():
            return "games"
        case PairsInput():
            return "pairs"
        case MarginsInput():
            return "margins"
        case ProfileInput():
            return "profile"
        case ScoresInput():
            return "scores"


def _own_tolerance(method: Method, rated: Rated) -> float:
    """The method's tie tolerance in units of the ratings, at least their rounding error; 0 if it is 0 or None for the method."""
    if not method.tie_tolerance:
        return 0.0
    largest = float(np.nanmax(np.abs(rated.solution.ratings), initial=0.0))
    return max(method.tie_tolerance * rated.unit, _ROUNDING * largest)


def _agent_rows(names: Sequence[str], rated: Rated, ranking: Ranking, ties: Ties) -> list[AgentRow]:
    ranks = _ranks(ranking, ties)
    ends: Mapping[str, tuple[int | None, int | None]] = rated.extra.get("rank_intervals", {})  # type: ignore[assignment]
    return [
        AgentRow(
            agent=names[i],
            rating=_number(rated.solution.ratings, i),
            rank=ranks[i],
            low=None if rated.low is None else _number(rated.low, i),
            high=None if rated.high is None else _number(rated.high, i),
            rank_low=ends.get(names[i], (None, None))[0],
            rank_high=ends.get(names[i], (None, None))[1],
        )
        for i in ranking.ids.tolist()
    ]


def _own_intervals(values: Parameters, extra: Mapping[str, Any]) -> Intervals:
    """Description of the intervals that the method computed itself."""
    kind, replicates = str(values.get("standard_errors", "cells")), int(values.get("replicates", 0))
    return Intervals(kind=kind, assumes=extra["assumes"], level=extra["interval"], replicates=replicates)


def _task_rows(problem: Problem, ratings: Floats | None, tolerance: float, ties: Ties) -> list[TaskRow]:
    if ratings is None or not isinstance(problem, ScoresInput | GamesInput):
        return []
    ranking = Ranking.from_scores(ratings, tolerance)
    ranks = _ranks(ranking, ties)
    return [TaskRow(task=problem.tasks[i], rating=_number(ratings, i), rank=ranks[i]) for i in ranking.ids.tolist()]


def _ranks(ranking: Ranking, ties: Ties) -> list[int]:
    """Rank of each agent by id. With `order`, ties are ranked by id, which is the order of names."""
    ranks: list[int] = (ranking.rank if ties == "keep" else np.argsort(ranking.ids) + 1).tolist()
    return ranks


def _number(values: Floats, i: int) -> float | None:
    return float(values[i]) if np.isfinite(values[i]) else None


# methods


def _copeland(problem: Problem, parameters: dict[str, Any]) -> Rated:
    margins = chosen(problem, parameters)
    if margins.posterior is not None:
        return margins.reported(Rated(solution=posterior_copeland(margins.posterior, **margins.rest)))
    observed = problem.margins if isinstance(problem, MarginsInput) else sparse_margins(problem)
    return margins.reported(Rated(solution=copeland(observed, **margins.rest)))


_REGISTERED: Final = (
    *FITS,
    Method(
        name="copeland",
        takes=Takes.MARGINS,
        run=_copeland,
        cost=1,
        tie_tolerance=0.0,
        parameters=(Parameter("tie_tolerance", 0.0, "margins of at most this size are ties", 0.0, 1e300), *MARGINS),
    ),
    *LOTTERIES,
    *GAMES,
    *READ_OFF,
    *EQUILIBRIUM,
    *VOTING,
)
METHODS: Final[Mapping[str, Method]] = {method.name: method for method in _REGISTERED}
