"""Choice of the board whose intervals are computed next: a pure function, as `planning.due` is. Intervals wait for every solve.

A board is a candidate if it is of another solve than the newest intervals of its job and the budget of seconds allows enough
replicates, judged by the seconds of its solve. After a lost try it is one again, after the pauses that solves have. The least recently
tried board comes first, so no board starves; then the cheaper class.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from services.boards.result import SolvedBoard
from services.solve.planning.due import pause_after
from services.solve.planning.jobs import Job

LOAD: Final = 1.0
"""Work of s seconds is followed by a rest of LOAD * s, so intervals take at most half of one worker that no solve needs, at low
priority. With a rest of 9 s for each second, the boards of a quiet pool waited for their intervals for minutes.
"""


@dataclass(frozen=True, slots=True)
class Redrawn:
    """The newest try at a job's intervals. solve: of which solve, as `Basis.solve` names it; losses: lost tries of it in a row."""

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
    """The job whose intervals to compute now, if any.

    boards: of data that can still be redrawn; budget: seconds for all replicates of one; least: replicates it has to hold; seconds:
    between two solves of a job, from which the pauses after lost tries grow.
    """
    held = {job: board for job, board in boards.items() if board.result.seconds * least <= budget}
    wanted = [job for job, board in held.items() if _is_due(now, board, tried.get(job), seconds)]
    return min(wanted, key=lambda job: (_ended(tried.get(job)), cost.get(job.method, 0), job), default=None)


def rested(now: float, ended: float, spent: float) -> bool:
    """Whether intervals may work again, after `spent` seconds of it that ended at `ended`."""
    return now - ended >= LOAD * spent


def _is_due(now: float, board: SolvedBoard, last: Redrawn | None, seconds: float) -> bool:
    if last is None or last.solve != board.solve:
        return True
    return last.losses > 0 and last.ended <= now - pause_after(last.losses, seconds)


def _ended(last: Redrawn | None) -> float:
    return float("-inf") if last is None else last.ended
