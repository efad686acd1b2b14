"""Ranks of solved boards in the form in which boards are compared."""

from ratings_core.findings.ranked_board import RankedBoard
from services.boards.result import SolvedBoard


def ranked(board: SolvedBoard) -> RankedBoard:
    """The ranks of a solved board."""
    ranks = {row.agent: row.rank for row in board.result.agents if row.rating is not None and row.rank is not None}
    return RankedBoard(board.result.method, board.position, ranks)
