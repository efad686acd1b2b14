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
    lacking = {
        job: board
        for job, board in boards.items()
        if job.method in registry.METHODS and job.content in contents and _lacks_intervals(board, contents[job.content])
    }
    return {
        job._replace(intervals=True): given_of(board) for job, board in lacking.items() if budget and board.result.seconds * LEAST <= budget
    }


def given_of(board: SolvedBoard) -> Given:
    """What the intervals job of a board works on: this result of a solve, and no other one."""
    return Given(f"{data_of(board.generation, board.data)}/{board.solved_at}", board.outcomes, board.parameters)


def _lacks_intervals(board: SolvedBoard, entry: PoolEntry) -> bool:
    """Whether a board has rows, no intervals and no error, and is of the checkpointed data."""
    plain = not isinstance(board.result.intervals, Intervals) and bool(board.result.agents)
    return plain and board.error is None and (board.generation, board.data) == (entry.generation, entry.digest)
