"""Problems without some of their results: what a solve would have been without a few outcomes or tasks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

import numpy as np

from ratings_core.methods.method import Method, Takes
from ratings_core.problems.inputs import GamesInput, PairsInput, Problem, ScoresInput
from ratings_core.solution import Floats
from ratings_core.tallies import PairCounts

Unit: TypeAlias = Literal["outcomes", "results of pairs", "tasks"]
RESULTS: Final = ("won", "lost", "tied")
_ROUNDING: Final = 1e-9
"""Relative error of sums of thirds and other shares of weights."""


@dataclass(frozen=True, slots=True)
class PairResult:
    """Outcomes of one pair with one result. agent, opponent: names; result: of `agent`: won, lost or tied; count: number of outcomes."""

    agent: str
    opponent: str
    result: str
    count: int


@dataclass(frozen=True, slots=True)
class Removal:
    """What is removed from a problem. results: outcomes of pairs; tasks: names of tasks. One of them is empty."""

    results: tuple[PairResult, ...] = ()
    tasks: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """Number of removed outcomes or tasks."""
        return len(self.tasks) + sum(result.count for result in self.results)


def unit_of(method: Method, problem: Problem) -> Unit:
    """What can be removed from a problem of this method: see `why_no_removals`."""
    if isinstance(problem, ScoresInput):
        return "tasks"
    two_sided = not isinstance(problem, GamesInput) or bool((problem.places.sides == 2).all())
    return "outcomes" if two_sided and method.takes in (Takes.PAIRS, Takes.MARGINS) else "results of pairs"


def weighs_more(problem: PairsInput, outcomes: int) -> bool:
    """Whether some outcomes of a problem weigh more than 1: their weights have a larger sum than their number.

    outcomes: Number of outcomes behind the problem. Sides of teams have no places, so outcomes with teams show it less often.
    """
    places = problem.places if isinstance(problem, GamesInput) else None
    if places is None or bool((places.sides == 2).all()):
        return float(cells(problem.counts).sum()) > outcomes
    return float((places.weight / places.sides).sum()) > outcomes * (1 + _ROUNDING)


def why_no_removals(method: Method, problem: Problem, outcomes: int | None = None) -> str | None:
    """Why single results cannot be removed from a problem; None if they can.

    outcomes: Number of outcomes behind the problem, if known. More weight than outcomes of two sides shows that some weigh more than 1.
    """
    if isinstance(problem, ScoresInput):
        return None if len(problem.tasks) > 1 else "needs two tasks at least"
    if not isinstance(problem, PairsInput):
        return "needs games, results of pairs or scores: other inputs do not keep single outcomes"
    if method.takes not in (Takes.PAIRS, Takes.MARGINS):
        return f"needs a pool of scores for a method that takes {method.takes}: games are removed by pair only"
    counts = problem.counts
    if not all(bool((column == np.floor(column)).all()) for column in (counts.wins, counts.losses, counts.ties)):
        return "needs outcomes of weight 1: weights or a half-life give parts of outcomes"
    if outcomes is not None and weighs_more(problem, outcomes):
        return "needs outcomes of weight 1: some weigh more"
    return None


def removable(problem: Problem) -> int:
    """Number of outcomes, results or tasks of a problem that can be removed; 0 for a problem that keeps none of these."""
    if isinstance(problem, ScoresInput):
        return len(problem.tasks)
    return int(cells(problem.counts).sum()) if isinstance(problem, PairsInput) else 0


def cells(counts: PairCounts) -> Floats:
    """Number of outcomes by result and pair (3, pairs), in the order of `RESULTS`."""
    return np.stack([counts.wins, counts.losses, counts.ties])


def of_cells(names: Sequence[str], counts: PairCounts, removed: Floats) -> Removal:
    """The removal of some outcomes. removed: (3, pairs), number of outcomes of each cell."""
    rows = []
    for cell in np.argwhere(removed.T > 0).tolist():
        pair, result = cell
        first, second = names[counts.first[pair]], names[counts.second[pair]]
        rows.append(PairResult(first, second, RESULTS[result], int(removed[result, pair])))
    return Removal(results=tuple(sorted(rows, key=lambda row: -row.count)))


def without_cells(problem: PairsInput, removed: Floats) -> PairsInput:
    """The problem without some outcomes. removed: (3, pairs), at most the outcomes of each cell. Pairs without outcomes are left out."""
    counts = problem.counts
    left = cells(counts) - removed
    kept = left.sum(axis=0) > 0
    fewer = PairCounts(counts.first[kept], counts.second[kept], *(np.ascontiguousarray(row[kept]) for row in left))
    if isinstance(problem, GamesInput):
        return replace(problem, counts=fewer, groups=(), history=None)
    return replace(problem, counts=fewer)


def without_tasks(problem: ScoresInput, removed: Sequence[int]) -> ScoresInput:
    """The problem without some tasks. removed: ids of tasks."""
    kept = np.setdiff1d(np.arange(len(problem.tasks)), np.asarray(removed, np.int64))
    return ScoresInput(problem.names, tuple(problem.tasks[i] for i in kept.tolist()), problem.scores[:, kept])
