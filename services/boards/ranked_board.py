"""Ranks of agents on a live or solved board, in one form, so that boards of different methods can be compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from ratings_core.ranking import Ranking
from services.boards.evidence import all_ranked
from services.boards.result import SolvedBoard


@dataclass(frozen=True, slots=True)
class RankedBoard:
    """Ranks on one board, of provisional agents as well: insight compares what methods make of all agents.

    Attributes:
        method: Name of the method.
        position: Log offset up to which the board counts outcomes.
        rank: Name of each rated agent -> its competition rank among all, best first.
    """

    method: str
    position: int
    rank: Mapping[str, int]

    @classmethod
    def of_board(cls, board: SolvedBoard) -> "RankedBoard":
        """Take the ranks of a solved board."""
        ranks = {row.agent: row.rank for row in all_ranked(board.result).agents if row.rating is not None and row.rank is not None}
        return cls(board.result.method, board.position, dict(sorted(ranks.items(), key=itemgetter(1))))

    @classmethod
    def of_ratings(cls, method: str, position: int, names: Sequence[str], ratings: NDArray[np.float64]) -> "RankedBoard":
        """Rank the ratings of an online method. Equal ratings share a rank and are ordered by name.

        names: Agents' names by id. ratings: float64 (n,), by id.
        """
        ranks = Ranking.from_scores(ratings).rank.tolist()
        return cls(method, position, dict(sorted(zip(names, ranks, strict=True), key=lambda item: (item[1], item[0]))))

    def leaders(self, count: int) -> list[str]:
        """Names of the first `count` agents."""
        return [name for name, _ in zip(self.rank, range(count), strict=False)]
