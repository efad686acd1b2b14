"""Pools that contain everything that insight reports, and the report as a board."""

import numpy as np

from ratings_core.findings.ranked_board import RankedBoard
from ratings_core.online.prequential import Prequential
from ratings_core.problems.inputs import GamesInput
from ratings_core.tallies import PairCounts, PlaceCounts
from services.boards.result import SolvedBoard, SolveResult
from services.solve.insight import job as insight

NAMES = ("rock", "scissors", "paper", "rock-copy", "pebble", "stranger", "other")
"""Three agents in a cycle, a copy of one of them, an agent that mostly loses, and two agents that played only against each other."""
WINS = np.array(
    [
        [0, 80, 20, 25, 90, 0, 0],
        [20, 0, 80, 20, 90, 0, 0],
        [80, 20, 0, 80, 90, 0, 0],
        [25, 80, 20, 0, 90, 0, 0],
        [10, 10, 10, 10, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 1],
        [0, 0, 0, 0, 0, 0, 0],
    ],
    np.float64,
)
OUTCOMES = int(WINS.sum())
STANDINGS = (
    RankedBoard("elo", 9, {"rock": 1, "scissors": 2, "paper": 3, "rock-copy": 4, "pebble": 5, "stranger": 6, "other": 7}),
    RankedBoard("maximal_lottery", 7, {"stranger": 1, "other": 2, "paper": 3, "rock": 4, "rock-copy": 4, "scissors": 4, "pebble": 7}),
    RankedBoard("bradley_terry", 7, {"paper": 1, "rock": 2}),
)


def places(sides: int = 2) -> PlaceCounts:
    """Tally of a place in outcomes with `sides` sides."""
    return PlaceCounts(*(np.array([value], np.int32) for value in (0, sides, 0, 1)), np.array([1.0]))


def games(wins: np.ndarray = WINS, sides: int = 2) -> GamesInput:
    """Tallies of a pool with these wins (m, m)."""
    return GamesInput(NAMES[: len(wins)], PairCounts.from_dense(wins), places(sides))


def forecasts() -> dict[str, Prequential]:
    """Prequential sums of two online methods. Those of `elo` are empty."""
    seen = Prequential()
    seen.counts[:], seen.sums[0, :3] = (400 << 20, 200 << 20), (200.0, 100.0, 50.0)
    seen.sums[3] = 400.0, 210.0, 250.0, 100.0
    return {"sco": Prequential(), "elo": seen}


def result() -> SolveResult:
    """Report on the pool of `games()`."""
    return insight.solve(games(), OUTCOMES, STANDINGS, forecasts())


def board(pool: str, *, position: int = 7, error: str | None = None) -> SolvedBoard:
    """The report of `result()` as a published board."""
    return SolvedBoard(
        pool=pool,
        generation=1,
        position=position,
        outcomes=OUTCOMES,
        data="0" * 64,
        parameters={},
        solved_at=995.0,
        result=result(),
        error=error,
    )
