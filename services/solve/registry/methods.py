"""Solves of a problem with a method of `ratings_core.methods`, and their results as rows of a board."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, assert_never

import msgspec
import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from ratings_core.errors import InputError
from ratings_core.methods.method import Rated, Takes
from ratings_core.methods.registry import Parameters, Taken, find, ranking_of, taken, tolerance_of
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
from ratings_core.solution import Floats
from services.boards.result import AgentRow, CertificateRow, Intervals, PackedStart, SolveResult, TaskRow
from services.solve.problems import checkpointed
from services.solve.registry.starts import packed, unpacked
from services.wire.pools import Kind

Ties: TypeAlias = Literal["keep", "order"]


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
    prepared = taken(method, problem, parameters)
    chosen = prepared.method
    if chosen.tie_tolerance is None and tie_tolerance is not None:
        raise InputError("tie_tolerance", tie_tolerance, f"must be left out: {method} computes ranks itself, not from ratings")
    rated = prepared.rated(None if start is None else unpacked(start))
    result = result_of(prepared, rated, tie_tolerance, ties, _kind_of(problem))
    return Solved(result, None if rated.start is None else packed(rated.start))


def result_of(prepared: Taken, rated: Rated, tie_tolerance: float | None = None, ties: Ties = "keep", kind: str = "") -> SolveResult:
    """The result of a solve.

    Args:
        prepared: The method with its problem and parameters.
        rated: Its answer.
        tie_tolerance: As of `solve`.
        ties: As of `solve`.
        kind: Kind of the input; empty for that of the prepared problem.
    """
    chosen = prepared.method
    tolerance = tolerance_of(chosen, rated) if tie_tolerance is None else tie_tolerance
    solution = rated.solution
    return SolveResult(
        method=chosen.name,
        input=kind or _kind_of(prepared.problem),
        agents=_agent_rows(prepared.problem.names, rated, ranking_of(chosen, rated, tolerance), ties),
        certificate=CertificateRow(kind=solution.certificate.kind, value=solution.certificate.value),
        status=solution.status.value,
        seconds=solution.seconds,
        tasks=_task_rows(prepared.problem, rated.task_ratings, tolerance, ties),
        extra={"parameters": prepared.values, "tie_tolerance": tolerance, "stats": dict(solution.stats), **prepared.about, **rated.extra},
        intervals=UNSET if rated.low is None else _own_intervals(prepared.values, rated.extra),
    )


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


def _agent_rows(names: Sequence[str], rated: Rated, ranking: Ranking, ties: Ties) -> list[AgentRow]:
    ranks = _ranks(ranking, ties)
    return [
        AgentRow(
            agent=names[i],
            rating=_number(rated.solution.ratings, i),
            rank=ranks[i],
            low=None if rated.low is None else _number(rated.low, i),
            high=None if rated.high is None else _number(rated.high, i),
            rank_low=None if rated.rank_low is None else int(rated.rank_low[i]),
            rank_high=None if rated.rank_high is None else int(rated.rank_high[i]),
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
