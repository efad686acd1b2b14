"""Connectivity of the comparison graph: which agents are comparable, and how strongly they are connected."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import scipy
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.graphs import strong_components, weak_components
from ratings_core.solution import Floats
from ratings_core.tallies.pair_counts import PairCounts

RESISTANCES_UP_TO: Final = 2_000
"""Largest number of agents with effective games, which need the inverse of a dense (m, m) matrix."""


@dataclass(frozen=True, slots=True)
class Connectivity:
    """Components and size of the comparison graph.

    met: int64 (agents,), component of each agent by games (labels in order of their smallest agent). Ratings of different components are
    not comparable. won: int64 (agents,), strong component by wins, where a tie counts for both agents. Between different strong components,
    Bradley-Terry ratings without a prior differ infinitely. opponents: int64 (agents,), number of agents that each agent met. pairs: number
    of pairs that met; games: their total weight; density: `pairs` divided by the number of all pairs, 0 for one agent.
    """

    met: NDArray[np.int64]
    won: NDArray[np.int64]
    opponents: NDArray[np.int64]
    pairs: int
    games: float
    density: float

    @property
    def connected(self) -> bool:
        """Whether all agents are comparable, that is, in one component by games."""
        return bool((self.met == 0).all())

    @property
    def rateable(self) -> bool:
        """Whether chains of wins lead from every agent to every other agent, so that finite strengths exist (Ford 1957)."""
        return bool((self.won == 0).all())


def connectivity(counts: PairCounts, agents: int) -> Connectivity:
    """Compute the comparison graph of agents 0 to agents - 1 from pair counts. Raises `InputError` if an id is `agents` or greater."""
    size = checks.count("agents", agents, low=1)
    wins, ties = checks.instance("counts", counts, PairCounts).sparse(size)
    winner, loser = (wins + ties).nonzero()
    games = counts.wins + counts.losses + counts.ties
    played = games > 0
    first, second = counts.first[played], counts.second[played]
    return Connectivity(
        met=weak_components(first, second, size),
        won=strong_components(winner, loser, size),
        opponents=np.asarray(np.bincount(first, minlength=size) + np.bincount(second, minlength=size), np.int64),
        pairs=len(first),
        games=float(games.sum()),
        density=2 * len(first) / (size * (size - 1)) if size > 1 else 0.0,
    )


def effective_games(counts: PairCounts, agents: int) -> Floats:
    """Effective number of direct games of each agent against the centre of the pool (agents,).

    The number is 1 / effective resistance between the agent and the centre of the largest component (its agents weighted by their games),
    where n games of a pair are a conductance of n (Klein and Randic 1993). At even odds, a quarter of it is the information about the
    difference in strength, in logits, of the agent and the centre. It is close to the agent's number of games if its opponents are strongly
    connected to the pool, less if they are weakly connected, and 0 outside the component. Of equally large components, the component with
    the smallest agent id is used.

    Takes O(agents**3) time and O(agents**2) memory, for at most 2,000 agents. Raises `InputError`.
    """
    size = checks.count("agents", agents, low=1)
    if size > RESISTANCES_UP_TO:
        raise InputError("agents", size, f"must be at most {RESISTANCES_UP_TO}")
    met = connectivity(counts, size).met
    inside = np.flatnonzero(met == np.argmax(np.bincount(met)))
    conductance = np.zeros(size)
    if len(inside) > 1:
        conductance[inside] = 1 / _resistances(_conductances(counts, size)[np.ix_(inside, inside)])
    return conductance


def _conductances(counts: PairCounts, size: int) -> Floats:
    games = np.zeros((size, size))
    games[counts.first, counts.second] = games[counts.second, counts.first] = counts.wins + counts.losses + counts.ties
    return games


def _resistances(games: Floats) -> Floats:
    """Effective resistance from each agent of a component to its centre, from the Laplacian with the potential of one agent fixed at 0."""
    degree = games.sum(axis=1)
    held = int(np.argmax(degree))
    free = np.arange(len(games)) != held
    potential = np.zeros_like(games)
    laplacian = np.diag(degree[free]) - games[np.ix_(free, free)]
    potential[np.ix_(free, free)] = scipy.linalg.inv(laplacian, overwrite_a=True, check_finite=False)
    centre = degree / degree.sum()
    to_centre = potential @ centre
    return np.asarray(potential.diagonal() - 2 * to_centre + centre @ to_centre, np.float64)
