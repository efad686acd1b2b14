"""Simulated pools with known true probabilities: transitive, cyclic, mixed, with new agents, with copies."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PlantedPool:
    """wins, ties: tallies (m, m). truth: margins under the true probabilities (m, m). skill: true skills in logits (m,)."""

    wins: Matrix
    ties: Matrix
    truth: Matrix
    skill: Matrix

    @classmethod
    def drawn(
        cls,
        seed: int,
        *,
        agents: int = 60,
        games: int = 12_000,
        skill: float = 1.0,
        cyclic: float = 0.0,
        newcomers: int = 0,
        newcomer_games: int = 3,
        ties: float = 0.0,
    ) -> "PlantedPool":
        """Simulate games.

        Args:
            seed: Seed of the random numbers.
            agents: Number of agents that play the `games`.
            games: Number of games between random pairs.
            skill: Standard deviation of the normal skills, in logits.
            cyclic: Advantage of each of three types of agents over the next type, in logits.
            newcomers: Number of new agents; they come after the others.
            newcomer_games: Games of each new agent.
            ties: Probability that a game is tied.
        """
        rng, m = np.random.default_rng(seed), agents + newcomers
        strength, kind = rng.normal(0, skill, m), rng.integers(0, 3, m)
        turn = (kind[:, None] - kind) % 3
        log_odds = strength[:, None] - strength + cyclic * ((turn == 2).astype(float) - (turn == 1))
        chance = 1 / (1 + np.exp(-log_odds))
        first = rng.integers(0, agents, games)
        second = (first + rng.integers(1, agents, games)) % agents
        first = np.append(first, np.repeat(np.arange(agents, m), newcomer_games))
        second = np.append(second, rng.integers(0, agents, newcomers * newcomer_games))
        won, tied = rng.random(len(first)) < chance[first, second], rng.random(len(first)) < ties
        wins, drawn = np.zeros((2, m, m))
        np.add.at(wins, (np.where(won, first, second)[~tied], np.where(won, second, first)[~tied]), 1.0)
        np.add.at(drawn, (first[tied], second[tied]), 1.0)
        return cls(wins, drawn + drawn.T, (1 - ties) * (2 * chance - 1), strength)


def with_clones(wins: Matrix, *, agent: int, copies: int) -> Matrix:
    """Append exact copies of an agent to `wins` (m, m). Copies have no games against each other or the agent."""
    ids = np.append(np.arange(len(wins)), np.full(copies, agent))
    copied = wins[np.ix_(ids, ids)].copy()
    same = ids[:, None] == ids
    copied[same] = 0.0
    return np.asarray(copied, np.float64)


def planted_kappa(seed: int, *, agents: int, met: float, games: int, kappa: float) -> Matrix:
    """Wins (m, m) drawn from the model: a pair's probability is drawn from Beta(kappa s, kappa (1 - s)), with s by the skills.

    Skills are normal with a standard deviation of 1 logit. met: probability that a pair played; it then played `games` games.
    """
    rng = np.random.default_rng(seed)
    skill = rng.normal(size=agents)
    first, second = np.triu_indices(agents, 1)
    chosen = rng.random(len(first)) < met
    first, second = first[chosen], second[chosen]
    predicted = 1 / (1 + np.exp(skill[second] - skill[first]))
    wins = np.zeros((agents, agents))
    wins[first, second] = rng.binomial(games, rng.beta(kappa * predicted, kappa * (1 - predicted)))
    wins[second, first] = games - wins[first, second]
    return wins
