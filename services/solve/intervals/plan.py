"""Choice of the board whose intervals are computed next: a pure function, like `planning.due`.

A board is a candidate if its job has not tried intervals for this solve, and if the time budget allows enough replicates, judged by the
seconds of the solve. After a lost try it is a candidate again, with the same growing pauses as lost solves. The least recently tried board
comes first, so no board starves. Ties go to the cheaper cost class.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from services.boards.result import SolvedBoard
from services.solve.planning.due import pause_after
from services.solve.planning.jobs import Job

LOAD: Final = 1.0
"""Length of the pause after intervals, as a multiple of the seconds that they took.

At 1, intervals use at most half of the time of one worker that no solve needs, at low priority. At 9, the boards of a quiet pool waited
minutes for their intervals.
"""


@dataclass(frozen=True, slots=True)
class Redrawn:
    """The newest try to compute a job's intervals.

    Attributes:
        solve: Identity of the solve, as `Basis.solve` returns it.
        ended: When the try ended, in seconds of the scheduler's timer.
        losses: Number of consecutive tries for this solve that were lost with their process.
    """

    solve: tuple[object, ...]
    ended: float
    losses: int = 0


def next_job(
    now: float,
    boards: Mapping[Job, SolvedBoard],
    tried: Mapping[Job, Redrawn],
    budget: float,
    least: int,
    cost: Mapping[str, int],
    seconds: float,
) -> Job | None:
    """Choose the job whose intervals are computed now.

    Args:
        now: Seconds of the scheduler's timer.
        boards: Job -> its newest board, for boards whose data are still checkpointed.
        tried: Job -> its newest try.
        budget: Time limit for all replicates of one board, in seconds.
        least: Number of replicates that must fit into the budget.
        cost: Method -> cost class.
        seconds: Shortest time between two solves of a job; the pauses after lost tries grow from it.

    Returns:
        The job; None if no board is a candidate.
    """
    held = {job: board for job, board in boards.items() if board.result.seconds * least <= budget}
    wanted = [job for job, board in held.items() if _is_due(now, board, tried.get(job), seconds)]
    return min(wanted, key=lambda job: (_ended(tried.get(job)), cost.get(job.method, 0), job), default=None)


def rested(now: float, ended: float, spent: float) -> bool:
    """Whether the pause is over after a computation that took `spent` seconds and ended at `ended`."""
    return now - ended >= LOAD * spent


def _is_due(now: float, board: SolvedBoard, last: Redrawn | None, seconds: float) -> bool:
    if last is None or last.solve != board.solve:
        return True
    return last.losses > 0 and last.ended <= now - pause_after(last.losses, seconds)


def _ended(last: Redrawn | None) -> float:
    return float("-inf") if last is None else last.ended
