"""The intervals jobs of the planner: one for each board that lacks intervals and can get them."""

from collections.abc import Mapping

from ratings_core.methods import registry
from ratings_core.methods.refits import LEAST
from services.boards.result import Intervals, SolvedBoard
from services.checkpoints.checkpoint import PoolEntry
from services.solve.planning.jobs import ContentKey, Job
from services.solve.planning.ledger import Given, data_of


def offered(contents: Mapping[ContentKey, PoolEntry], boards: Mapping[Job, SolvedBoard], budget: float) -> dict[Job, Given]:
    """The intervals jobs, and what they would work on. Their data change with every solve of the board.

    Args:
        contents: Pool or slice -> its newest checkpoint.
        boards: Job -> its newest board.
        budget: Time limit for all replicates of one board, in seconds; 0 for no intervals from replicates.
    """
    if not budget:
        return {}
    lacking = {
        job: board
        for job, board in boards.items()
        if _can_have_intervals(board, budget) and job.method in registry.METHODS and _is_of(board, contents.get(job.content))
    }
    return {job._replace(intervals=True): given_of(board) for job, board in lacking.items()}


def given_of(board: SolvedBoard) -> Given:
    """What the intervals job of a board works on: this result of a solve, and no other one."""
    return Given(f"{data_of(board.generation, board.data)}/{board.solved_at}", board.outcomes, board.parameters)


def _can_have_intervals(board: SolvedBoard, budget: float) -> bool:
    """Whether a board has rows, no intervals and no error, and was solved fast enough for the least number of replicates."""
    result = board.result
    plain = board.error is None and not isinstance(result.intervals, Intervals)
    return plain and bool(result.agents) and result.seconds * LEAST <= budget


def _is_of(board: SolvedBoard, entry: PoolEntry | None) -> bool:
    """Whether a board is of the checkpointed data."""
    return entry is not None and (board.generation, board.data) == (entry.generation, entry.digest)
