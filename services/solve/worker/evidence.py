"""Evidence for the rows of a solved board: outcomes and opponents of each agent. Readers mark agents with few of them as provisional."""

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ratings_core.problems.inputs import FeaturesInput, PairsInput, Problem
from ratings_core.records.roster import Roster
from services.boards.result import SolveResult
from services.state.parts import part


def with_evidence(result: SolveResult, arrays: Mapping[str, NDArray[Any]], given: Problem) -> SolveResult:
    """The result with the number of outcomes and of opponents of each row's agent.

    Args:
        result: Result of a method on a pool.
        arrays: Arrays of the pool's content.
        given: The problem that was made from them. Opponents are counted in pairs; a table of scores has none.
    """
    names = Roster.from_arrays(part(arrays, "agents")).names()
    outcomes = dict(zip(names, np.asarray(arrays["activity"]).tolist(), strict=True))
    opponents: dict[str, int] = {}
    if isinstance(given, PairsInput | FeaturesInput):
        met, n = given.counts, len(given.names)
        numbers = np.bincount(met.first, minlength=n) + np.bincount(met.second, minlength=n)
        opponents = dict(zip(given.names, numbers.tolist(), strict=True))
    rows = [msgspec.structs.replace(row, outcomes=outcomes.get(row.agent), opponents=opponents.get(row.agent)) for row in result.agents]
    return msgspec.structs.replace(result, agents=rows)
