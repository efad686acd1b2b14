"""Flips: few outcomes, or tasks, without which an agent would have another rank. Every answer was verified by a solve without them.

Candidates come from three sources: for Copeland's rule on observed margins a knapsack over pairs, whose cost bounds the size of every set;
for other methods on pairs, and if solves refute the knapsack's choices, the influence of outcomes on Bradley-Terry ratings
(`analysis.influence`); for tables of scores the differences of the two agents by task. The smallest prefix of the candidates that changes
the rank is then found by solves, and results that prove unnecessary are restored. If there are few results, each is tried alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar

import numpy as np

from ratings_core import checks
from ratings_core.analysis.influence import OutcomeInfluence
from ratings_core.batch.pair_counts import of_tally
from ratings_core.deadline import NEVER, Deadline
from ratings_core.errors import InputError, SolverError
from ratings_core.methods import copeland_flips
from ratings_core.methods.explained import Solve
from ratings_core.methods.explanations import explain
from ratings_core.methods.removals import Removal, Unit, cells, of_cells, removable, unit_of, why_no_removals, without_cells, without_tasks
from ratings_core.problems.inputs import Problem
from ratings_core.solution import Floats

Direction: TypeAlias = Literal["down", "up"]
UnitT = TypeVar("UnitT")

_RIVALS: Final = 3
"""Number of agents with the nearest ranks that are tried as the one that passes or is passed."""
_PRIOR: Final = 1.0
"""Prior of the Bradley-Terry fit whose influences order the candidates."""
MOST_SOLVES: Final = 200
FEW_SHARE: Final = 0.05
FEW_LEAST: Final = 5
MOST_REMOVED: Final = 10_000
"""A set is few if it has at most `FEW_SHARE` of all outcomes or tasks, or at most `FEW_LEAST`, and at most `MOST_REMOVED`. Larger sets are
not given: any rank changes without enough outcomes, so a large set says only that no few outcomes decide the rank.
"""
_OUT_OF_LIMITS: Final = "no set was found within the limit of solves or time"


@dataclass(frozen=True, slots=True, kw_only=True)
class RankFlip:
    """A set of results without which an agent has another rank.

    direction: `down`, a worse rank, or `up`, a better one; rank: now; rank_after: without the set; removed: the set, of `count` outcomes
    or tasks; unit: what is counted; few: largest size of a set that is given; at_least: proven lower bound of the size of any such set,
    which can be above `few`; solves: number of solves that were made; cut_short: whether a limit of solves or time ended the search, so
    that it did not try all smaller sets that it would have tried. why_not: why no set is given; `removed` is then empty, and `rank_after`
    is `rank`.
    """

    direction: Direction
    rank: int
    rank_after: int
    removed: Removal
    unit: Unit
    few: int
    at_least: int
    solves: int
    cut_short: bool
    why_not: str | None = None

    @property
    def count(self) -> int:
        """Size of the set."""
        return self.removed.count

    @property
    def smallest(self) -> bool:
        """Whether it is proven that no smaller set changes the rank in this direction."""
        return self.why_not is None and self.at_least == self.count


def rank_flip(
    solve: Solve,
    agent: str,
    direction: Direction,
    *,
    outcomes: int | None = None,
    most: int | None = None,
    most_solves: int = MOST_SOLVES,
    deadline: Deadline = NEVER,
) -> RankFlip | None:
    """Find few results without which an agent has a worse (`down`) or better (`up`) rank.

    Args:
        solve: A solve of any method.
        agent: Name of a rated agent.
        direction: Which change of the rank.
        outcomes: Number of outcomes behind the problem, if known: it shows whether all have weight 1.
        most: Largest set that is given, at least 1; None for what is few of the problem.
        most_solves: Largest number of solves, at least 1.
        deadline: No solve begins after it.

    Returns:
        A verified set, or the reason why no set is given. None if the rank cannot change in this direction: no rated agent is at or below
        the agent's rank (`down`), or above it (`up`).

    Raises:
        UnknownAgent: The solve has no such agent.
        InputError: An argument is invalid.
    """
    at = solve.id_of(agent)
    checks.choice("direction", direction, ("down", "up"))
    few = _few(solve) if most is None else checks.count("most", most, low=1)
    search = _Search(solve, at, direction, few, checks.count("most_solves", most_solves, low=1), deadline)
    rivals = search.rivals()
    if not len(rivals):
        return None
    why_not = why_no_removals(solve.taken.method, solve.problem, outcomes)
    if why_not is None and np.isnan(solve.solution.ratings[search.agent]):
        why_not = "the method gives this agent no rating"
    if why_not is not None:
        return search.nothing(why_not)
    return search.tasks(rivals) if search.unit == "tasks" else search.pairs(rivals)


def _few(solve: Solve) -> int:
    """Largest set of outcomes or tasks that is few."""
    return min(MOST_REMOVED, max(FEW_LEAST, int(FEW_SHARE * removable(solve.problem))))


@dataclass(frozen=True, slots=True)
class _Candidates(Generic[UnitT]):
    """Single results in the order in which they are removed. problem: Makes the problem without some of them."""

    units: Sequence[UnitT]
    problem: Callable[[Sequence[UnitT]], Problem]


class _Search:
    """A search in one direction. It counts its solves, and remembers no problem."""

    def __init__(self, solve: Solve, agent: int, direction: Direction, few: int, most: int, deadline: Deadline) -> None:
        self.solve, self.agent, self.direction, self.few, self.most, self.deadline = solve, agent, direction, few, most, deadline
        self.unit = unit_of(solve.taken.method, solve.problem)
        self.rank, self.solves, self.cut_short = int(solve.rank[agent]), 0, False
        self.failures = 0  # solves that did not reach their accuracy, so that the rank without these results is unknown

    def rivals(self) -> Any:
        """Ids of rated agents that could pass the agent (`down`) or be passed (`up`), nearest rank first, then nearest rating."""
        ratings, rank = self.solve.solution.ratings, self.solve.rank
        others = np.flatnonzero(~np.isnan(ratings) & (np.arange(len(rank)) != self.agent))
        there = rank[others] >= self.rank if self.direction == "down" else rank[others] < self.rank
        others = others[there]
        return others[np.lexsort((np.abs(ratings[others] - ratings[self.agent]), np.abs(rank[others] - self.rank)))]

    def nothing(self, why_not: str, at_least: int = 1) -> RankFlip:
        """The answer without a set."""
        return RankFlip(
            direction=self.direction, rank=self.rank, rank_after=self.rank, removed=Removal(), unit=self.unit, few=self.few,
            at_least=at_least, solves=self.solves, cut_short=self.cut_short, why_not=why_not,
        )  # fmt: skip

    def rank_without(self, problem: Problem) -> int | None:
        """Rank of the agent in a solve of a smaller problem; None if the agent has no rating there, or the solve fails.

        Raises `_Spent` if no further solve is allowed.
        """
        if self.solves >= self.most or self.deadline.passed():
            self.cut_short = True
            raise _Spent
        self.solves += 1
        taken = self.solve.taken._replace(problem=problem)
        try:
            rated = taken.rated()
        except InputError:  # too few results are left for the method
            return None
        except SolverError:
            self.failures += 1
            return None
        if np.isnan(rated.solution.ratings[self.agent]):
            return None
        return int(self.solve.rank_in(rated)[self.agent])

    def flips(self, problem: Problem) -> int | None:
        """The agent's rank without some results if it changed in the direction of the search, else None."""
        rank = self.rank_without(problem)
        changed = rank is not None and (rank > self.rank if self.direction == "down" else rank < self.rank)
        return rank if changed else None

    def pairs(self, rivals: Any) -> RankFlip:
        """Search among outcomes of pairs."""
        problem, at_least = self.solve.problem, 1
        if copeland_flips.applies(self.solve):
            found, at_least = self._exact(rivals)
            if found is not None:
                return found
            if at_least > self.few:
                return self.nothing(self._none_is_few(), at_least)
        counts = of_tally(problem.counts, len(problem.names))
        sign = 1 if self.direction == "down" else -1

        def made(units: Sequence[tuple[int, int]]) -> Problem:
            return without_cells(problem, _cell_counts(units, len(counts.first)))

        def candidates(rival: int) -> _Candidates[tuple[int, int]]:
            influence = self.solve.once("influence", lambda: OutcomeInfluence(counts, prior=_PRIOR))
            wanted = -sign * influence.on_difference(self.agent, rival)
            number = cells(problem.counts)
            order = np.argsort(-wanted, axis=None, kind="stable")[: min(2 * self.few, int(np.count_nonzero(wanted > 0)))]
            helping = (divmod(cell, len(counts.first)) for cell in order.tolist())
            units = (cell for cell in helping for _ in range(int(number[cell])))
            return _Candidates(list(islice(units, 2 * self.few)), made)

        there = cells(problem.counts) > 0
        every = [(result, pair) for result, pair in np.argwhere(there).tolist()] if np.count_nonzero(there) <= self.most else None
        return self._answer(rivals, candidates, made, every, lambda units: of_cells(
            problem.names, problem.counts, _cell_counts(units, len(counts.first))
        ), at_least)  # fmt: skip

    def tasks(self, rivals: Any) -> RankFlip:
        """Search among tasks of a table of scores."""
        problem = self.solve.problem
        sign = 1 if self.direction == "down" else -1

        def made(units: Sequence[int]) -> Problem:
            return without_tasks(problem, units)

        def candidates(rival: int) -> _Candidates[int]:
            lead = sign * self._lead_by_task(rival)
            order = [task for task in np.argsort(-lead, kind="stable").tolist() if lead[task] > 0]
            return _Candidates(order[: min(2 * self.few, len(problem.tasks) - 1)], made)

        return self._answer(
            rivals, candidates, made, list(range(len(problem.tasks))), lambda units: Removal(tasks=tuple(problem.tasks[i] for i in units))
        )

    def _lead_by_task(self, rival: int) -> Floats:
        """By how much each task favors the agent over a rival (tasks,): in terms of their ratings if these are by task, else in wins."""
        scores = self.solve.problem.scores
        own, other = self._terms_by_task(self.agent), self._terms_by_task(rival)
        if own is None or other is None:
            return np.asarray(np.sign(np.nan_to_num(scores[self.agent] - scores[rival])), np.float64)
        return own - other

    def _terms_by_task(self, agent: int) -> Floats | None:
        """Terms of an agent's rating by task (tasks,); None if the rating has none."""
        tasks: tuple[str, ...] = self.solve.problem.tasks
        tables = explain(self.solve, self.solve.names[agent]).terms
        terms = next((terms for terms in tables if terms.by == "task"), None)
        if terms is None:
            return None
        place = {task: i for i, task in enumerate(tasks)}
        return np.asarray(np.bincount([place[name] for name in terms.names], terms.values, len(tasks)), np.float64)

    def _exact(self, rivals: Any) -> tuple[RankFlip | None, int]:
        """Copeland's rule on observed margins: the knapsack of each rival, verified by a solve; and a bound of the size of every set.

        The answer is None if a solve refuted all plans: third agents moved, too.
        """
        problem = self.solve.problem
        scores = self.solve.solution.ratings
        plans, at_least = copeland_flips.plans(problem.counts, scores, self.agent, rivals, self.direction, self.deadline)
        self.cut_short = self.deadline.passed()
        try:
            for plan in plans:
                if plan.cost > self.few:
                    break
                rank = self.flips(without_cells(problem, plan.removed))
                if rank is not None:
                    return self._found(rank, of_cells(problem.names, problem.counts, plan.removed), at_least), at_least
        except _Spent:
            pass
        return self.nothing(_OUT_OF_LIMITS, at_least) if self.cut_short else None, at_least

    def _answer(
        self,
        rivals: Any,
        candidates: Callable[[int], _Candidates[UnitT]],
        made: Callable[[Sequence[UnitT]], Problem],
        every: Sequence[UnitT] | None,
        removal: Callable[[Sequence[UnitT]], Removal],
        at_least: int = 1,
    ) -> RankFlip:
        """The smallest set over the nearest rivals.

        every: All single results, with which sizes of 1 are excluded; None if there are too many. at_least: Proven bound of the size.
        """
        best: tuple[int, Sequence[UnitT]] | None = None
        try:
            for rival in rivals[:_RIVALS].tolist():
                found = self._shortest(candidates(rival), len(best[1]) if best is not None else None)
                best = best if found is None or len(found[1]) > self.few else found
            if at_least == 1 and (best is None or len(best[1]) > 1) and every is not None and len(every) <= self.most - self.solves:
                failures = self.failures
                single = next(((rank, [unit]) for unit in every if (rank := self.flips(made([unit]))) is not None), None)
                best = best if single is None else single
                at_least = 2 if single is None and self.failures == failures else 1
        except _Spent:
            pass
        if best is None:
            return self.nothing(_OUT_OF_LIMITS if self.cut_short else self._none_is_few(), at_least)
        return self._found(best[0], removal(best[1]), at_least)

    def _none_is_few(self) -> str:
        return f"no set of at most {self.few:,} {self.unit} was found that changes the rank"

    def _found(self, rank: int, removed: Removal, at_least: int) -> RankFlip:
        return RankFlip(
            direction=self.direction, rank=self.rank, rank_after=rank, removed=removed, unit=self.unit, few=self.few,
            at_least=at_least, solves=self.solves, cut_short=self.cut_short,
        )  # fmt: skip

    def _shortest(self, candidates: _Candidates[UnitT], below: int | None) -> tuple[int, Sequence[UnitT]] | None:
        """The shortest prefix of the candidates that changes the rank, shorter than `below`, without what proves unnecessary.

        Candidates are twice as many as are few, because some of a prefix usually prove unnecessary.
        """
        units = candidates.units if below is None else candidates.units[: below - 1]
        high, rank = 1, None
        while units and (rank := self.flips(candidates.problem(units[: min(high, len(units))]))) is None and high < len(units):
            high *= 2
        if rank is None:
            return None
        low, high = high // 2, min(high, len(units))  # a prefix of `low` does not suffice, one of `high` does
        best = (rank, units[:high])
        try:
            while high - low > 1:
                middle = (low + high) // 2
                if (there := self.flips(candidates.problem(units[:middle]))) is None:
                    low = middle
                else:
                    high, best = middle, (there, units[:middle])
            return self._pruned(candidates, best)
        except _Spent:
            return best

    def _pruned(self, candidates: _Candidates[UnitT], best: tuple[int, Sequence[UnitT]]) -> tuple[int, Sequence[UnitT]]:
        """Restore single results as long as the rank stays changed; equal results of a pair are tried once."""
        rank, units = best
        for unit in dict.fromkeys(reversed(units)):
            while len(units) > 1:
                fewer = list(units)
                fewer.remove(unit)
                if (there := self.flips(candidates.problem(fewer))) is None:
                    break
                rank, units = there, fewer
                if unit not in units:
                    break
        return rank, units


class _Spent(Exception):  # noqa: N818 - names the fact
    """No further solve is allowed."""


def _cell_counts(units: Sequence[tuple[int, int]], pairs: int) -> Floats:
    """Number of units of each cell (3, pairs)."""
    removed = np.zeros((3, pairs))
    np.add.at(removed, tuple(np.array(units, np.int64).reshape(-1, 2).T), 1.0)
    return removed
