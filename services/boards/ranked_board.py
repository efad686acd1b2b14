"""Who stands where on a board, live or solved: what boards of different methods are compared by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ratings_core.ranking import Ranking
from services.boards.result import SolvedBoard


@dataclass(frozen=True, slots=True)
class RankedBoard:
    """rank: competition rank of each rated agent, by name, best first. position: up to where the board counts outcomes."""

    method: str
    position: int
    rank: Mapping[str, int]

    @classmethod
    def of_board(cls, board: SolvedBoard) -> "RankedBoard":
        """Of a solved board."""
        rank = {row.agent: row.rank for row in board.result.agents if row.rating is not None}
        return cls(board.result.method, board.position, rank)

    @classmethod
    def of_ratings(cls, method: str, position: int, names: Sequence[str], ratings: NDArray[np.float64]) -> "RankedBoard":
        """Of an online method: equal ratings share a rank, and stand by name. names: of agents by id."""
        ranks = Ranking.from_scores(ratings).rank.tolist()
        return cls(method, position, dict(sorted(zip(names, ranks, strict=True), key=lambda one: (one[1], one[0]))))

    def leaders(self, count: int) -> list[str]:
        """The first `count` agents."""
        return [name for name, _ in zip(self.rank, range(count), strict=False)]
