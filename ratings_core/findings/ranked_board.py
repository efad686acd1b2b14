"""Ranks of agents on a live or solved board, in one form, so that boards of different methods can be compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ratings_core.ranking import Ranking


@dataclass(frozen=True, slots=True)
class RankedBoard:
    """Ranks on one board, as readers see them: of settled agents. An agent without a rating or without a rank has no place.

    Attributes:
        method: Name of the method.
        position: Log offset up to which the board counts outcomes.
        rank: Name of each settled and rated agent -> its competition rank, best first.
    """

    method: str
    position: int
    rank: Mapping[str, int]

    @classmethod
    def of_ratings(
        cls, method: str, position: int, names: Sequence[str], ratings: NDArray[np.float64], settled: NDArray[np.bool_]
    ) -> "RankedBoard":
        """Rank the ratings of an online method. Equal ratings share a rank and are ordered by name.

        names: Agents' names by id. ratings: float64 (n,), by id. settled: bool (n,), which agents have a rank.
        """
        ids = np.flatnonzero(settled)
        ranks = zip((names[i] for i in ids.tolist()), Ranking.from_scores(ratings[ids]).rank.tolist(), strict=True)
        return cls(method, position, dict(sorted(ranks, key=lambda item: (item[1], item[0]))))

    def leaders(self, count: int) -> list[str]:
        """Names of the first `count` agents."""
        return [name for name, _ in zip(self.rank, range(count), strict=False)]
