"""Intervals of ratings and ranks from replicates: resampled data that are solved again.

The seed of a replicate depends only on the pool, the position, the method and the replicate's number. The same number of replicates thus
gives the same intervals, in whatever processes and slices they are solved. The number of replicates doubles until the ranks of the best
agents do not change any more, or the time is spent.
"""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from math import inf
from typing import NamedTuple, Self

import msgspec
import numpy as np

from ratings_core.analysis import intervals as core
from ratings_core.methods.refits import LEVEL, TOP, Refits, reach_of, sample
from ratings_core.methods.registry import Parameters, Taken, taken
from ratings_core.methods.resampling import Resampling, has_differences, normal_reach, possible_ratings, resampling
from ratings_core.problems.inputs import Problem
from services.boards.result import AgentRow, Intervals, SolveResult
from services.solve.worker.normal_intervals import with_normal_intervals


class Ends(msgspec.Struct, frozen=True, kw_only=True):
    """Ends of one agent's intervals.

    Attributes:
        low, high: Percentiles of the replicates' ratings; None if no replicate rates the agent.
        rank_low, rank_high: Best and worst rank in the interval of the rank. The intervals of all agents hold together.
        reach: Half width of the normal interval: the standard deviation of the replicates' ratings, times Student's quantile. 0 for
            methods whose ratings can jump when the data change a little.
        possible: Least and largest possible rating; normal intervals end there.
    """

    low: float | None
    high: float | None
    rank_low: int
    rank_high: int
    reach: float = 0.0
    possible: tuple[float, float] = (-inf, inf)

    def add_to(self, row: AgentRow) -> AgentRow:
        """The agent's row with its intervals: the percentiles, extended to contain the estimate and `reach` on both sides of it.

        A row without a rank gets no interval of ranks.

        Percentile intervals alone cover the true value less often than their level, because the bias of resampling moves their center in
        the direction opposite to the bias of the estimate. The union of both intervals has at least the coverage of each of them.
        """
        ranks = (None, None) if row.rank is None else (min(self.rank_low, row.rank), max(self.rank_high, row.rank))
        if row.rating is None or self.low is None or self.high is None:
            return msgspec.structs.replace(row, low=self.low, high=self.high, rank_low=ranks[0], rank_high=ranks[1])
        least, most = min(self.possible[0], row.rating), max(self.possible[1], row.rating)
        low, high = max(least, min(self.low, row.rating - self.reach)), min(most, max(self.high, row.rating + self.reach))
        return msgspec.structs.replace(row, low=low, high=high, rank_low=ranks[0], rank_high=ranks[1])


class Facts(NamedTuple):
    """Facts about a problem that is resampled.

    Attributes:
        names: Agents of the problem.
        about: Kind and assumptions of the resampling.
        reach: Factor of the replicates' deviations in normal intervals (`resampling.normal_reach`); 0 for no normal intervals.
        possible: Least and largest possible rating (`resampling.possible_ratings`).
        units: Number of units that a replicate draws with replacement (`Resampling.units`).
        differences: Whether differences of ratings count for ranks (`resampling.has_differences`).
    """

    names: tuple[str, ...]
    about: Intervals
    reach: float
    possible: tuple[float, float] = (-inf, inf)
    units: int = 0
    differences: bool = True

    @classmethod
    def of(cls, prepared: Taken, source: Resampling) -> Self:
        """Facts about a prepared solve and the resampling of its problem."""
        names, method = prepared.problem.names, prepared.method
        reach, possible = normal_reach(method, source), possible_ratings(method, len(names))
        return cls(names, about(source, reach), reach, possible, source.units, has_differences(method))


def about(source: Resampling, reach: float) -> Intervals:
    """Description of the intervals from a resampling, without level and numbers of replicates.

    Draws of posterior margins have their probability by the model. Refits have a proven one where ratings change a little with the data,
    which are the methods that have normal intervals.

    reach: Factor of normal intervals (`resampling.normal_reach`); 0 for none.
    """
    return Intervals(kind=source.kind, assumes=source.assumes, proven=source.kind == "posterior" or reach > 0)


def seed_of(pool: str, position: int, method: str) -> int:
    """The base seed for all replicates of a solve."""
    return int.from_bytes(blake2b(f"{pool}\n{position}\n{method}".encode(), digest_size=8).digest(), "little")


class Replication(Refits):
    """Replicates of one solve so far, with facts about the problem. Ranks are among the agents that have a rank in the result.

    Attributes:
        facts: Facts about the problem that is resampled. It may be newer than the result, so agents may differ.
    """

    def __init__(self, facts: Facts, result: SolveResult, seconds: float) -> None:
        """Begin without replicates. Raises `InputError` if there are too many agents."""
        at = {name: i for i, name in enumerate(facts.names)}
        ratings, ranked = np.full(len(at), np.nan), np.ones(len(at), np.bool_)
        rows = [(at[row.agent], row) for row in result.agents if row.agent in at]
        for i, row in rows:
            ratings[i] = np.nan if row.rating is None else row.rating
            ranked[i] = row.rank is not None
        top = np.array([i for i, row in rows if row.rating is not None and ranked[i]][:TOP], np.int64)
        super().__init__(ratings, top, seconds, units=facts.units, differences=facts.differences, kind=facts.about.kind, ranked=ranked)
        self.facts = facts


def add_intervals(
    method: str, problem: Problem, parameters: Parameters, result: SolveResult, seconds: float, seed: int | None = None
) -> SolveResult:
    """Add intervals to a result: its own if the method computed some, else normal ones if the method has them, else from replicates.

    So a board and `equirank solve` have the same kind of intervals: the planner leaves a board alone whose method computed its own.

    Args:
        method: The solved method.
        problem: The problem that was solved.
        parameters: Parameters of the solve.
        result: What `methods.solve` returned for these arguments, or what `settled_first` made of it: a pool's solve has tried the normal
            intervals then.
        seconds: Time limit for all replicates.
        seed: Base seed of the replicates; None for a seed that depends only on the method.

    Raises:
        InputError: The problem cannot be resampled.
    """
    if isinstance(result.intervals, Intervals):
        return result
    if result.ranked is msgspec.UNSET and (normal := with_normal_intervals(method, problem, parameters, result)) is not None:
        return normal
    prepared = taken(method, problem, parameters)
    source = resampling(prepared.problem, prepared.method, prepared.values)
    replication = Replication(Facts.of(prepared, source), result, seconds)
    base = seed_of("", 0, method) if seed is None else seed
    while not replication.done:
        first, most = replication.next
        replication.add(sample(prepared, source, base, first, most, replication.left))
    intervals, ends = measured(replication)
    return msgspec.structs.replace(result, agents=with_ends(result.agents, ends), intervals=intervals)


def with_ends(rows: Sequence[AgentRow], ends: Mapping[str, Ends]) -> list[AgentRow]:
    """The rows with their intervals. ends: Agent -> ends of its intervals; rows of other agents are unchanged."""
    return [ends[row.agent].add_to(row) if row.agent in ends else row for row in rows]


def measured(replication: Replication) -> tuple[Intervals, dict[str, Ends]]:
    """Compute intervals from replicates: their description, and the ends of each agent (none if there are too few replicates)."""
    replicates, facts = replication.whole, replication.facts
    if (why := replication.why_not) is not None:
        return Intervals(kind="none", why_not=why), {}
    intervals = msgspec.structs.replace(
        facts.about,
        level=LEVEL,
        replicates=len(replicates.ratings),
        failed=replicates.failed,
        settled=replication.settled,
        seconds=replicates.seconds,
    )
    return intervals, _ends_of(replication.intervals(), facts)


def _ends_of(intervals: core.Intervals, facts: Facts) -> dict[str, Ends]:
    """Agent -> ends of its intervals."""
    return {
        name: Ends(
            low=float(low) if np.isfinite(low) else None,
            high=float(high) if np.isfinite(high) else None,
            rank_low=int(first),
            rank_high=int(last),
            reach=float(reach),
            possible=facts.possible,
        )
        for name, low, high, first, last, reach in zip(
            facts.names,
            intervals.low,
            intervals.high,
            intervals.rank_low,
            intervals.rank_high,
            reach_of(intervals, facts.reach),
            strict=True,
        )
    }
