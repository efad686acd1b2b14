"""Inputs of the tasks by size: arrays from the shared generators of `benchmarks.workloads`, with one seed."""

from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.workloads import battles, free_for_alls, preferences, random_margins, zipf_games

Arrays: TypeAlias = dict[str, NDArray[Any]]

SEED: Final = 1
PERIODS: Final = 10
"""Rating periods of the games of `periods`."""
PERIOD_SECONDS: Final = 604_800.0
SEATS: Final = 7
AGENTS: Final = 100
FEW: Final = 50
MODELS: Final = 6
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
    """Wins of a thousand battles an agent, everybody linked."""
    winner, loser = battles(1_000 * agents, agents, seed=SEED)
    wins = np.zeros((agents, agents))
    np.add.at(wins, (winner, loser), 1.0)
    linked = np.roll(np.eye(agents), 1, axis=1)
    return {"wins": wins + linked + linked.T}


def named_battles(games: int) -> Arrays:
    """Battles of a hundred agents by name, as columns of texts and as numbers, everybody linked."""
    winner, loser = battles(games, AGENTS, seed=SEED)
    ring = np.arange(AGENTS)
    winner, loser = np.concatenate([winner, ring, (ring + 1) % AGENTS]), np.concatenate([loser, (ring + 1) % AGENTS, ring])
    swap = np.random.default_rng(SEED).random(len(winner)) < 0.5
    names = np.array([f"agent-{agent:03d}" for agent in range(AGENTS)])
    first, second = np.where(swap, loser, winner), np.where(swap, winner, loser)
    return {
        "model_a": names[first], "model_b": names[second], "winner": np.where(swap, "model_b", "model_a"),
        "winners": winner, "losers": loser, "agents": np.array(AGENTS),
    }  # fmt: skip


def few_rankings(games: int) -> Arrays:
    """Games of seven between fifty agents, best first."""
    rng = np.random.default_rng(SEED)
    seats = np.argsort(rng.random((games, FEW)), axis=1)[:, :SEATS]
    order = np.argsort(-(rng.normal(size=FEW)[seats] + rng.gumbel(size=seats.shape)), axis=1)
    return {"games": np.take_along_axis(seats, order, axis=1), "agents": np.array(FEW)}


def ballots(candidates: int) -> Arrays:
    """Strict votes by a skill and noise, one more than ten a candidate: an odd number, so that no margin is 0."""
    rng, voters = np.random.default_rng(SEED), 10 * candidates + 1
    return {"orders": np.argsort(rng.gumbel(size=(voters, candidates)) - np.linspace(0, 1, candidates), axis=1)}


def odd_margins(agents: int) -> Arrays:
    """Odd margins of a random tournament, whose maximal lottery is unique."""
    return {"margins": random_margins(agents, SEED, odd=True)}


def normal_scores(agents: int) -> Arrays:
    """Normal scores of agents on three times as many tasks, whose equilibrium is unique."""
    return {"scores": np.random.default_rng(SEED).normal(size=(agents, 3 * agents))}


def normal_payoffs(agents: int) -> Arrays:
    """Antisymmetric normal payoffs of agents against agents."""
    A = np.random.default_rng(SEED).normal(size=(agents, agents))
    return {"payoffs": A - A.T}


def three_players(strategies: int) -> Arrays:
    """Normal payoffs of three players."""
    return {"payoffs": np.random.default_rng(SEED).normal(size=(3, *(strategies,) * 3))}


def hill(prompts: int) -> Arrays:
    """King of the hill: a judge's preferences between six models."""
    return {"ahead": preferences(prompts, MODELS, seed=SEED)}


def task_scores(agents: int) -> Arrays:
    """Beta(1/2, 1/2) scores times a skill, of agents on as many tasks."""
    rng = np.random.default_rng(SEED)
    return {"scores": rng.beta(0.5, 0.5, size=(agents, agents)) * rng.uniform(0.3, 1, size=(agents, 1))}
