"""Fewest outcomes that change a rank by Copeland's rule on observed margins: a knapsack over pairs for each rival.

Removing outcomes of a pair turns its majority into a tie, or into the opposite majority if the loser won at all. Each step costs outcomes
and moves two agents closer. For a given rival the cheapest choice of steps that lets it pass is a knapsack. Any set of outcomes that
changes the rank lets some rival pass, so the cheapest knapsack over all rivals bounds the size of every set from below. Third agents also
move; a solve therefore verifies the choice.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from ratings_core.deadline import NEVER, Deadline
from ratings_core.methods.explained import Solve
from ratings_core.problems.inputs import PairsInput
from ratings_core.solution import Floats
from ratings_core.tallies import PairCounts

Step: TypeAlias = tuple[int, int, dict[int, int]]
"""Gain in half points, cost in outcomes, and the number of outcomes removed by result."""
_LEAST_STEP: Final = 0.5
"""Smallest difference of two scores."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The cheapest removal that lets one rival pass. cost: number of outcomes; removed: (3, pairs), as in `removals.of_cells`."""

    cost: int
    removed: Floats


def applies(solve: Solve) -> bool:
    """Whether a solve is by Copeland's rule on observed margins of outcomes, with exact ties of margins and of scores."""
    return (
        solve.taken.method.name == "copeland"
        and isinstance(solve.problem, PairsInput)
        and solve.posterior() is None
        and not solve.taken.values["tie_tolerance"]
        and (solve.tie_tolerance or 0.0) < _LEAST_STEP
    )


def plans(
    counts: PairCounts, scores: Floats, agent: int, rivals: Any, direction: str, deadline: Deadline = NEVER
) -> tuple[list[Plan], int]:
    """The cheapest plans, cheapest first, and a lower bound of the number of outcomes of every set that changes the rank.

    One outcome moves two agents closer by at most a full point, so a rival is skipped if its distance alone costs as much as the best plan.

    Args:
        counts: Results of pairs, whole numbers.
        scores: Copeland's scores (m,).
        agent: Id of the agent.
        rivals: int64, ids of all agents that could pass (`down`) or be passed (`up`).
        direction: `down` or `up`.
        deadline: After it, no further rival is considered, and the bound is 1.
    """
    rows_of = _rows_by_agent(counts)
    found: list[Plan] = []
    best = np.inf
    for rival in rivals.tolist():
        ahead, behind = (agent, rival) if direction == "down" else (rival, agent)
        lead = round(2 * float(scores[ahead] - scores[behind]))
        needed = lead + 1 if direction == "down" else lead  # to pass strictly, or to draw level with an agent above
        if (needed + 1) // 2 >= best:
            continue
        if deadline.passed():
            return sorted(found, key=lambda plan: plan.cost), 1
        plan = _cheapest(counts, rows_of, ahead, behind, needed)
        if plan is not None:
            found.append(plan)
            best = min(best, plan.cost)
    found.sort(key=lambda plan: plan.cost)
    return found, found[0].cost if found else 1


def _rows_by_agent(counts: PairCounts) -> Callable[[int], list[int]]:
    """A function that gives the rows of an agent's pairs."""
    agents = np.concatenate([counts.first, counts.second])
    order = np.argsort(agents, kind="stable")
    ascending = agents[order]

    def rows_of(agent: int) -> list[int]:
        low, high = np.searchsorted(ascending, [agent, agent + 1]).tolist()
        rows: list[int] = (order[low:high] % len(counts)).tolist()
        return rows

    return rows_of


def _cheapest(counts: PairCounts, rows_of: Callable[[int], list[int]], ahead: int, behind: int, needed: int) -> Plan | None:
    """The cheapest steps with a gain of at least `needed` half points; None if all steps together gain less."""
    rows = sorted({*rows_of(ahead), *rows_of(behind)})
    groups = [(row, steps) for row in rows if (steps := [*_steps(counts, row, ahead, behind)])]
    cost = np.full(needed + 1, np.inf)
    cost[0] = 0
    chosen = np.zeros((len(groups), needed + 1), np.int8)
    for i, (_, steps) in enumerate(groups):
        new = cost.copy()
        for number, (gain, price, _) in enumerate(steps, 1):
            shifted = cost[np.maximum(np.arange(needed + 1) - gain, 0)] + price
            better = shifted < new
            new, chosen[i, better] = np.where(better, shifted, new), number
        cost = new
    if not np.isfinite(cost[needed]):
        return None
    removed, left = np.zeros((3, len(counts))), needed
    for i in range(len(groups) - 1, -1, -1):
        if number := int(chosen[i, left]):
            row, steps = groups[i]
            gain, _, taken = steps[number - 1]
            for result, count in taken.items():
                removed[result, row] += count
            left = max(left - gain, 0)
    return Plan(int(cost[needed]), removed)


def _steps(counts: PairCounts, row: int, ahead: int, behind: int) -> Iterator[Step]:
    """Steps of one pair that lower `ahead` or raise `behind`: first to a tie, then to the opposite majority."""
    first, second = int(counts.first[row]), int(counts.second[row])
    own = ahead if ahead in (first, second) else behind  # for the pair of both, `ahead` is the one to lower
    lowered = own == ahead
    won, lost = int(counts.wins[row]), int(counts.losses[row])
    loses = 0 if (first == own) == lowered else 1  # result whose outcomes are removed: those that favor the wrong side
    favor, against = (won, lost) if loses == 0 else (lost, won)
    both = 2 if {first, second} == {ahead, behind} else 1
    margin = favor - against
    if margin > 0:
        yield both, margin, {loses: margin}
        if against > 0:
            yield 2 * both, margin + 1, {loses: margin + 1}
    elif margin == 0 and favor > 0:
        yield both, 1, {loses: 1}
