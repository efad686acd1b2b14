"""The type of a registered method, and of what its function returns."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.options import Parameter
from ratings_core.ranking import Ranking
from ratings_core.solution import Floats, Solution, Start


class Takes(StrEnum):
    """The input that a method takes. Where scores provide ballots, each task is one ballot."""

    PAIRS = "pairs"
    """Wins, losses and ties of pairs. Games, ballots and scores provide them."""
    TASK_PAIRS = "pairs per task"
    """Results of agents on each task. Scores provide them, and games if tasks are counted separately."""
    PLACES = "places"
    """Places of agents in games or ballots, with the number of sides. Games, ballots and scores provide them."""
    MARGINS = "margins"
    """By how much each agent beats each other one. Pairs, ballots, scores and tables of margins provide them."""
    PROFILE = "profile"
    """Ballots, each an order of many agents. Ballots and scores provide them."""
    FEATURES = "comparisons with features"
    """Games of two sides with covariates. Pools that keep features provide them, and files of results or battles whose feature columns
    the caller names."""


def given_by_games(*, per_task: bool, features: bool = False) -> frozenset[Takes]:
    """The kinds of input that games provide.

    per_task: Whether games are counted separately for each task. features: Whether games are kept with their features.
    """
    given = {Takes.PAIRS, Takes.MARGINS, Takes.PLACES}
    asked = {Takes.TASK_PAIRS: per_task, Takes.FEATURES: features}
    return frozenset(given | {takes for takes, kept in asked.items() if kept})


GIVEN_BY_SCORES: Final = frozenset(Takes) - {Takes.FEATURES}
"""The kinds of input that a table of scores provides: all except features."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rated:
    """What a method's function returns for n agents.

    Attributes:
        solution: Ratings, certificate, status and statistics.
        unit: Size of the ratings' unit. `Method.tie_tolerance` is a multiple of it.
        task_ratings: Ratings of tasks; None if the method does not rate tasks.
        low, high: float64 (n,), ends of the ratings' intervals; None without intervals.
        rank_low, rank_high: int64 (n,), ends of the ranks' intervals, which hold together; None without intervals.
        extra: Further fields of the result.
        ranking: The method's own ranking; None if ratings determine the ranks.
        start: Start of the next solve; None if it starts from nothing.
    """

    solution: Solution
    unit: float = 1.0
    task_ratings: Floats | None = None
    low: Floats | None = None
    high: Floats | None = None
    rank_low: NDArray[np.int64] | None = None
    rank_high: NDArray[np.int64] | None = None
    extra: dict[str, object] = field(default_factory=dict)
    ranking: Ranking | None = None
    start: Start | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A solved method.

    Attributes:
        name: Its name.
        takes: The input that it takes.
        run: Computes ratings from a problem (agents in order of their names) and accepted parameters.
        parameters: Its parameters, with defaults.
        cost: Cost class. The work grows with the number of pairs that met (1), with the square of the agents (2), or faster (3).
        tie_tolerance: Ratings that differ by at most this multiple of `Rated.unit` share a rank by default. None for a method that
            ranks agents itself (`Rated.ranking`).
        least_agents: Smallest number of agents.
        most_agents: Largest number of agents that one solve takes; None for no limit.
        dense_agents: The same with posterior margins, for methods that need these as a dense matrix.
        starts: Whether `run` has the argument `start`: a start from the previous answer, which saves work and changes no rating.
    """

    name: str
    takes: Takes
    run: Callable[..., Rated]
    parameters: tuple[Parameter, ...] = ()
    cost: int
    tie_tolerance: float | None
    least_agents: int = 2
    most_agents: int | None = None
    dense_agents: int | None = None
    starts: bool = False
