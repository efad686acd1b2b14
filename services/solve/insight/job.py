"""The job `insight` of a pool: a report on the pool's checkpoint and on the newest boards of its methods.

The scheduler runs it like a method, but after the pool's methods. The job is due when the outcomes or the boards of the pool changed.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from ratings_core.findings import parts as insight_parts
from ratings_core.findings import records as findings
from ratings_core.findings.ranked_board import RankedBoard
from ratings_core.findings.report import of_outcomes
from ratings_core.methods import registry
from ratings_core.online.prequential import Prequential
from ratings_core.problems.inputs import GamesInput, ScoresInput
from services.boards.evidence import few_outcomes
from services.boards.result import CertificateRow, SolvedBoard, SolveResult
from services.boards.store.protocol import INSIGHT
from services.checkpoints.checkpoint import PoolEntry
from services.control.generations import make_raters
from services.control.records import ControlState, FoldSettings
from services.runtime.settings import Provisional
from services.solve.insight.look_alikes import look_alikes
from services.solve.planning.jobs import Job
from services.solve.planning.ledger import Given, data_of
from services.state.parts import part
from services.wire.pools import Kind

__all__ = ["COST", "INSIGHT", "alarms", "offered", "online_standings", "solve", "sums_of"]

COST: Final = 4
"""Cost class above the most expensive methods (3), so that insight runs after the methods whose boards it reads."""


def offered(entries: Iterable[PoolEntry], control: ControlState, boards: Mapping[Job, SolvedBoard], log: str) -> dict[Job, Given]:
    """The insight job of each pool, and what it would work on. Its data change with the pool's outcomes and with its boards."""
    solved: defaultdict[str, list[float]] = defaultdict(list)
    for job, board in boards.items():
        if not job.is_insight and not job.sliced:
            solved[job.pool].append(board.solved_at)
    return {Job(entry.pool, INSIGHT): _given(entry, control, solved[entry.pool], log) for entry in entries}


def _given(entry: PoolEntry, control: ControlState, solved: Sequence[float], log: str) -> Given:
    made = control.generations.get(entry.pool, {}).get(entry.generation)
    fold = FoldSettings() if made is None else made.fold
    online = msgspec.json.encode(fold.methods(Kind(entry.kind)), order="sorted").decode()
    boards = hash(frozenset(solved))  # of all times: the latest time would hide a new board after the clock was set back
    seen = f"{data_of(entry.generation, entry.digest)}/{boards}"
    return Given(seen, entry.outcomes, {"online": online, "log": log}, reads_boards=True)


def solve(
    problem: GamesInput | ScoresInput, outcomes: int, standings: Sequence[RankedBoard], sums: Mapping[str, Prequential]
) -> SolveResult:
    """Compute the insight report of a pool.

    Args:
        problem: The pool's games or scores.
        outcomes: Number of outcomes that the pool counts.
        standings: Boards to compare, of solved and online methods. Those of methods that do not apply to the problem are left out: a
            kept answer of an earlier release can be such a board.
        sums: Online method -> sums of its prediction scores.

    Returns:
        A result without rows, with the `findings.Findings` in `extra`.

    Raises:
        InputError: The problem is invalid.
        SolverError: A computation did not reach its accuracy.
    """
    standings = [board for board in standings if _applies(board.method, problem)]
    found = of_outcomes(problem, outcomes, standings)
    report = findings.Findings(
        agents=len(found.taken.names),
        left_out=found.left_out,
        disagreement=insight_parts.disagreement(standings, len(found.taken.names) + found.left_out),
        prequential=insight_parts.prequential(sums),
        look_alikes=look_alikes(found.taken.names, found.taken.activity),
        **found.parts,
    )
    return SolveResult(
        method=INSIGHT,
        input="scores" if isinstance(problem, ScoresInput) else "games",
        agents=[],
        certificate=CertificateRow(kind="divergence", value=found.divergence),
        status="optimal",
        seconds=0.0,
        extra=msgspec.to_builtins(report),
    )


def alarms(boards: Iterable[SolvedBoard]) -> dict[str, int]:
    """Counts of pools for metrics, from their newest insight.

    Returns:
        `unconnected`: pools with agents that never met the others. `thinly_led`: pools with a board led by weakly connected agents.
    """
    links = [board.result.extra.get("connectivity") for board in boards if board.result.method == INSIGHT]
    known = [link for link in links if isinstance(link, dict)]
    return {
        "unconnected": sum(link.get("components", 0) > 1 for link in known),  # a file of another version may lack the field
        "thinly_led": sum(bool(link.get("leaders")) for link in known),
    }


def sums_of(arrays: Mapping[str, NDArray[Any]], online: Sequence[str]) -> dict[str, Prequential]:
    """The prequential sums of online methods, from the arrays of a pool's content."""
    sums = {method: part(arrays, f"prequential.{method}") for method in online}
    return {method: Prequential.from_arrays(one, by_shape="shapes" in one) for method, one in sums.items()}


def online_standings(kind: Kind, online: Mapping[str, Mapping[str, float]], arrays: Mapping[str, NDArray[Any]],
                     names: Sequence[str], position: int, limits: Provisional) -> list[RankedBoard]:  # fmt: skip
    """The boards of online methods, from the arrays of a pool's content.

    online: Method -> its parameters. names: Agents' names by id. position: Log offset of the content. limits: The least evidence for a
    rank.
    """
    raters = make_raters(kind, FoldSettings(online={name: dict(parameters) for name, parameters in online.items()}))
    ids, settled = np.arange(len(names), dtype=np.int32), ~few_outcomes(arrays["activity"], limits)
    boards = []
    for method, rater in raters.items():
        state = type(rater.init(0)).from_arrays(part(arrays, f"online.{method}"))
        boards.append(RankedBoard.of_ratings(method, position, names, rater.read(state, ids).rating, settled))
    return boards


def _applies(method: str, problem: GamesInput | ScoresInput) -> bool:
    """Whether a problem has results that a method counts. Online methods count all games."""
    return method not in registry.METHODS or registry.uncounted(registry.METHODS[method].takes, problem) is None
