"""Ranks by evidence: settled agents have ranks and come first on a board, and provisional agents follow without a rank.

`Provisional` says which agents are provisional. Live boards get their marks from the shard that writes them (`few_outcomes`), solved boards
from the task that solves them (`settled_first`). So no reader computes a mark, and a board has its order in the store and in files.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from services.boards.result import LOTTERY, AgentRow, SolveResult
from services.runtime.settings import Provisional

TOO_LITTLE_EVIDENCE: Final = "too_little_evidence"
"""Status of a board on which all agents are provisional."""


def few_outcomes(counts: ArrayLike, limits: Provisional) -> NDArray[np.bool_]:
    """Mask of the provisional agents of a live board, bool (n,). counts: Number of outcomes of each agent, int (n,)."""
    return np.asarray(np.asarray(counts) < limits.outcomes, np.bool_)


def reason(outcomes: int, opponents: int = 0, *, tasks: bool = False) -> str:
    """Why no agent of a board has a rank.

    Args:
        outcomes: Number of outcomes that is needed.
        opponents: Number of opponents that is needed as well; 0 if opponents do not count.
        tasks: Whether a score on every task is enough.
    """
    needed = [f"{outcomes} outcome{'' if outcomes == 1 else 's'}"] if outcomes else []
    needed += [f"{opponents} opponents"] if opponents > 1 else []
    also = " or a score on every task" if tasks else ""
    return f"no agent has {' and '.join(needed)}{also} yet, so all are provisional, without a rank"


def settled_first(result: SolveResult, why: str = "") -> SolveResult:
    """A result with ranks among its settled agents alone. Provisional agents follow them, in their order, without a rank.

    The interval of a settled agent's rank, if the solve has it, moves with its rank: by the number of provisional agents above. It claims
    no more than before, because each agent that is surely above or below is still counted, if it has a rank. Intervals from replicates are
    added later, and count the settled agents of each replicate (`services.solve.intervals.replicates`).

    Args:
        result: A result whose rows have marks, and ranks among all agents.
        why: The reason if all agents are provisional; empty to keep that of the result.
    """
    provisional = [row for row in result.agents if row.provisional]
    above, ranked = sorted(_rank(row) for row in provisional), len(result.agents) - len(provisional)
    rows = [_moved(row, -bisect_left(above, _rank(row)), ranked) for row in result.agents if not row.provisional]
    rows += [msgspec.structs.replace(row, rank=None, rank_low=None, rank_high=None) for row in provisional]
    result = msgspec.structs.replace(result, agents=rows, ranked=ranked, extra=_extra_of(result, rows))
    if ranked or not rows:
        return result
    return msgspec.structs.replace(result, status=TOO_LITTLE_EVIDENCE, reason=why or result.reason)


def _rank(row: AgentRow) -> int:
    return 0 if row.rank is None else row.rank


def _moved(row: AgentRow, by: int, most: int) -> AgentRow:
    """A row with its rank, and the interval of its rank, moved. most: Largest rank."""
    if row.rank is None:
        return row
    moved = msgspec.structs.replace(row, rank=row.rank + by)
    if row.rank_low is None or row.rank_high is None:
        return moved
    return msgspec.structs.replace(moved, rank_low=max(1, row.rank_low + by), rank_high=min(most, row.rank_high + by))


def _extra_of(result: SolveResult, rows: Sequence[AgentRow]) -> dict[str, object]:
    """`extra` of a result for its new rows.

    That of a maximal lottery has `support_rows`, the number of first rows that contain its support. `rank_intervals` of refits are left
    out: they count all agents, and the rows have those that count settled ones.
    """
    extra = {name: value for name, value in result.extra.items() if name != "rank_intervals"}
    if result.method != LOTTERY or not isinstance(support := extra.get("support"), list):
        return extra
    members = set(support)
    return {**extra, "support_rows": next((at for at in range(len(rows), 0, -1) if rows[at - 1].agent in members), 0)}
