"""What a solved method is to the registry, and what its function returns."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from ratings_core.equilibria.starts import Start
from ratings_core.options import Parameter
from ratings_core.ranking import Ranking
from ratings_core.solution import Floats, Solution


class Takes(StrEnum):
    """What a method needs to know."""

    PAIRS = "pairs"
    """Wins, losses and ties of pairs; games and ballots give them, and scores, each task as one ballot."""
    TASK_PAIRS = "pairs per task"
    """How agents compare on each task; games give it where the pool counts tasks apart, and scores."""
    PLACES = "places"
    """Who came where, in fields of how many; games and ballots give it, and scores, each task as one ballot."""
    MARGINS = "margins"
    """Which agent is ahead of which, and by how much; pairs, ballots and scores give them."""
    PROFILE = "profile"
    """Ballots, each an order of many agents; scores give them, each task as one."""
    FEATURES = "comparisons with features"
    """Games of two sides with covariates; files of results and battles give them, through columns that the caller names, and pools that
    keep features."""


def given_by_games(*, per_task: bool, features: bool = False) -> frozenset[Takes]:
    """What games give to solve. per_task: whether those of each task were counted apart; features: whether games are kept with theirs."""
    given = {Takes.PAIRS, Takes.MARGINS, Takes.PLACES}
    asked = {Takes.TASK_PAIRS: per_task, Takes.FEATURES: features}
    return frozenset(given | {takes for takes, kept in asked.items() if kept})


GIVEN_BY_SCORES: Final = frozenset(Takes) - {Takes.FEATURES}
"""What a table of scores gives to solve: all but features."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rated:
    """What a method's function returns. unit: of its ratings, in which the method's own tie tolerance counts; task_ratings: where it
    rates tasks; low, high: intervals; extra: what it adds to the result; ranking: the method's own, where ratings do not determine it;
    start: for the next solve.
    """

    solution: Solution
    unit: float = 1.0
    task_ratings: Floats | None = None
    low: Floats | None = None
    high: Floats | None = None
    extra: dict[str, object] = field(default_factory=dict)
    ranking: Ranking | None = None
    start: Start | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """One solved method.

    run: from a problem (agents by name) and accepted parameters to ratings; cost: class of the work, 1 grows with the pairs that met,
    2 with the square of the agents, 3 faster; tie_tolerance: ratings closer than this, in units of `Rated.unit`, share a rank unless
    told otherwise; None: the method ranks by itself (`Rated.ranking`);
    least_agents: of the input; most_agents: taken of it; dense_agents: taken of it with posterior margins, which the method needs dense;
    starts: `run` also takes `start=`, of the answer before, which saves work and
    changes no rating.
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
