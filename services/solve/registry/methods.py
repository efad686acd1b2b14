"""The registry of solved methods: what each takes, its parameters, cost and limits, and how its answer becomes a board.

A method is one line of `METHODS` and one function from a problem to `Rated`. A method that does not apply says why.
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
    Takes.PAIRS: "needs wins, losses and ties; margins do not say of how many games",
    Takes.TASK_PAIRS: "needs results on tasks, counted apart (of a pool: `equirank pools settings POOL --per-task`; of a file: "
    "`--column task=HEADER`), or scores",
    Takes.PLACES: "needs games, ballots or scores; results of pairs alone do not say who came where",
    Takes.MARGINS: "needs margins between agents",
    Takes.PROFILE: "needs ballots or scores; games do not say how any voter ordered the others",
    Takes.FEATURES: "needs features of games (of a pool: `equirank pools settings POOL --feature KEY`, a number in the `meta` of its "
    "games; of a file of results or battles: `equirank solve FILE --feature COLUMN`)",
}
"""What an input lacks that does not give what a method takes."""


class NotApplicable(InputError):  # noqa: N818 - names the fact
    """The method cannot solve this kind of input; the message says why."""


class Taken(NamedTuple):
    """What is to be solved: the part of a problem that the method takes, agents by name, with accepted parameters.

    about: what to say of agents that are not in it, and of how much old results count in it.
    """

    method: Method
    problem: Problem
    values: dict[str, Value]
    about: dict[str, object]

    def rated(self, start: Start | None = None) -> Rated:
        """What the method says. start: of an answer of the same method with the same parameters, on whatever data.

        Raises `InputError` and `SolverError`.
        """
        warm = {"start": start} if self.method.starts else {}
        return self.method.run(self.problem, self.values, **warm)


class Solved(msgspec.Struct, frozen=True):
    """A result, and where the next solve of the same may start. memory: bytes that the process which solved held at most."""

    result: SolveResult
    start: PackedStart | None = None
    memory: int = 0


def solve(
    method: str, problem: Problem, parameters: Parameters | None = None, tie_tolerance: float | None = None, ties: Ties = "keep"
) -> SolveResult:
    """What `method` says about `problem`, best agent first.

    tie_tolerance: ratings within it of a rank's best share that rank, in the ratings' own numbers (none: the method's own);
    ties: ``keep`` shared ranks, or ``order`` them by name. Agents without a rating come last; of more agents than the method takes
    the most active are rated, and `extra.roster` says how many were left out.
    Raises `InputError` (`NotApplicable` among them) and `SolverError`.
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
    """As `solve`, beginning where an answer of the same method with the same parameters left off, on whatever data that was."""
    found = taken(method, problem, parameters)
    chosen = found.method
    if chosen.tie_tolerance is None and tie_tolerance is not None:
        raise InputError("tie_tolerance", tie_tolerance, f"must be left out: {method} ranks by itself, not by differences of ratings")
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
    """What `solve` solves. Raises `InputError` (`NotApplicable` among them)."""
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
    """How ratings rank agents: the method's own ranking, or ties within the tolerance (none: the method's own)."""
    if rated.ranking is not None:
        return rated.ranking
    return Ranking.from_scores(rated.solution.ratings, _own_tolerance(method, rated) if tie_tolerance is None else tie_tolerance)


def find(method: str) -> Method:
    """The method of that name. Raises `InputError` naming those there are."""
    if method in RATERS:
        rule = f"must be a solved method; this one is live: `equirank pools settings POOL --method {method}` keeps it"
        raise InputError("method", method, rule)
    if method not in METHODS:
        raise InputError("method", method, f"must be one of {', '.join(METHODS)}, or a live method of `solve FILE`: {', '.join(RATERS)}")
    return METHODS[method]


def why_not(method: Method, problem: Problem) -> str | None:
    """Why `method` does not apply to `problem`; None where it does."""
    n = len(problem.names)
    if method.takes not in _given(problem):
        return LACKING[method.takes]
    if n < method.least_agents:
        return f"needs at least {method.least_agents} agents, there are {n}"
    return None


def defaults(kind: Kind) -> dict[str, dict[str, Value]]:
    """Methods solved for a pool of this kind where nobody chose, with their parameters."""
    pairwise: dict[str, dict[str, Value]] = {"copeland": {}, "maximal_lottery": {}, "iterated_maximal_lotteries": {}}
    match kind:
        case Kind.GAMES:
            return {"bradley_terry": {}, **pairwise}
        case Kind.SCORES:
            return {"nash_average": {"missing": "drop_tasks"}, "deviation": {"missing": "drop_tasks", "explain": 3}, **pairwise}
        case _:
            assert_never(kind)


def problem_for(method: str, kind: Kind, arrays: Mapping[str, NDArray[Any]]) -> GamesInput | ScoresInput | FeaturesInput:
    """What a method solves of a checkpointed pool: its games with their features where the method takes them, else its tallies.

    Raises:
        InputError: The method takes features, and no game has had all of them yet.
    """
    return checkpointed.featured(arrays) if find(method).takes is Takes.FEATURES else checkpointed.problem(kind, arrays)


def _given(problem: Problem) -> frozenset[Takes]:
    """What methods may take of `problem`."""
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
    """In the ratings' numbers; no less than their rounding, where the method computes them in floating point at all."""
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
    """What a method says of the intervals that its parameters asked it for."""
    kind, replicates = str(values.get("standard_errors", "cells")), int(values.get("replicates", 0))
    return Intervals(kind=kind, assumes=extra["assumes"], level=extra["interval"], replicates=replicates)


def _task_rows(problem: Problem, ratings: Floats | None, tolerance: float, ties: Ties) -> list[TaskRow]:
    if ratings is None or not isinstance(problem, ScoresInput | GamesInput):
        return []
    ranking = Ranking.from_scores(ratings, tolerance)
    ranks = _ranks(ranking, ties)
    return [TaskRow(task=problem.tasks[i], rating=_number(ratings, i), rank=ranks[i]) for i in ranking.ids.tolist()]


def _ranks(ranking: Ranking, ties: Ties) -> list[int]:
    """Rank by id; ordered ties follow the order of ids, which is that of names."""
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
        parameters=(Parameter("tie_tolerance", 0.0, "margins within it are ties", 0.0, 1e300), *MARGINS),
    ),
    *LOTTERIES,
    *GAMES,
    *READ_OFF,
    *EQUILIBRIUM,
    *VOTING,
)
METHODS: Final[Mapping[str, Method]] = {method.name: method for method in _REGISTERED}
