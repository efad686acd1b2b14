"""Inputs of the tasks by size: arrays from the shared generators of `benchmarks.workloads`, with one seed."""

from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.workloads import battles, free_for_alls, zipf_games

Arrays: TypeAlias = dict[str, NDArray[Any]]

SEED: Final = 1
PERIODS: Final = 10
"""Rating periods of the games of `periods`."""
PERIOD_SECONDS: Final = 604_800.0
SEATS: Final = 7
FEWEST: Final = 300
"""Games that are drawn at least: of fewer, an agent may have more seats than there are games, and none can be drawn."""


def duels(games: int) -> Arrays:
    """Games of two, a tenth as many agents, either side listed first."""
    m = max(games // 10, 20)
    winner, loser = zipf_games(games, m, seed=SEED)
    swap = np.random.default_rng(SEED).random(games) < 0.5
    return {
        "first": np.where(swap, loser, winner), "second": np.where(swap, winner, loser), "result": np.where(swap, 0.0, 1.0),
        "agents": np.array(m),
    }  # fmt: skip


def periods(games: int) -> Arrays:
    """Games of two over `PERIODS` weeks, with the period of each."""
    period = np.arange(games) * PERIODS // games
    return duels(games) | {"period": period, "time": period * PERIOD_SECONDS}


def rankings(games: int) -> Arrays:
    """Games of seven, best first: twice as many agents as games, about as in the Diplomacy data."""
    drawn = max(games, FEWEST)
    return {"games": free_for_alls(drawn, 2 * drawn, SEATS, seed=SEED)[:games], "agents": np.array(2 * drawn)}


def win_counts(agents: int) -> Arrays:
    """Wins of a hundred games an agent and opponent on average, everybody linked."""
    winner, loser = battles(agents * agents * 50, agents, seed=SEED)
    wins = np.zeros((agents, agents))
    np.add.at(wins, (winner, loser), 1.0)
    linked = np.roll(np.eye(agents), 1, axis=1)
    return {"wins": wins + linked + linked.T}
