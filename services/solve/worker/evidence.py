"""Evidence for the rows of a solved board: outcomes and opponents of each agent, which decide who has a rank."""

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ratings_core.problems.inputs import FeaturesInput, PairsInput, Problem, ScoresInput
from ratings_core.records.roster import Roster
from services.boards.evidence import reason, settled_first
from services.boards.result import AgentRow, SolveResult
from services.runtime.settings import Provisional
from services.state.parts import part


def by_evidence(result: SolveResult, arrays: Mapping[str, NDArray[Any]], given: Problem, limits: Provisional) -> SolveResult:
    """The result with the number of outcomes and of opponents of each row's agent, and ranks of those that have enough of them.

    Args:
        result: Result of a method on a pool, with ranks of all agents.
        arrays: Arrays of the pool's content.
        given: The problem that was made from them. Opponents are counted in pairs; a table of scores has none.
        limits: The least evidence for a rank.
    """
    names = Roster.from_arrays(part(arrays, "agents")).names()
    outcomes = dict(zip(names, np.asarray(arrays["activity"]).tolist(), strict=True))
    opponents: dict[str, int] = {}
    if isinstance(given, PairsInput | FeaturesInput):
        met, n = given.counts, len(given.names)
        numbers = np.bincount(met.first, minlength=n) + np.bincount(met.second, minlength=n)
        opponents = dict(zip(given.names, numbers.tolist(), strict=True))
    total, complete = len(result.agents), _on_every_task(given)

    def marked(row: AgentRow) -> AgentRow:
        numbers = outcomes.get(row.agent), opponents.get(row.agent)
        lacks = limits.lacks_evidence(*numbers, total, complete=row.agent in complete)
        return msgspec.structs.replace(row, outcomes=numbers[0], opponents=numbers[1], provisional=lacks)

    why = reason(limits.outcomes, min(limits.opponents, total - 1) if opponents else 0, tasks=isinstance(given, ScoresInput))
    return settled_first(msgspec.structs.replace(result, agents=[marked(row) for row in result.agents]), why)


def _on_every_task(given: Problem) -> set[str]:
    """Agents with a score on every task of a table of scores; empty for other problems."""
    if not isinstance(given, ScoresInput):
        return set()
    return {given.names[i] for i in np.flatnonzero(given.activity == len(given.tasks)).tolist()}
