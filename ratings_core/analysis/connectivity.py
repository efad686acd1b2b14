"""How well outcomes link agents: who can be compared with whom, and through how much."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.graphs.components import strong_components, weak_components
from ratings_core.solution import Floats
from ratings_core.tallies.pair_counts import PairCounts

RESISTANCES_UP_TO: Final = 2_000
"""Agents up to which effective games are offered: they need the inverse of a dense (m, m) matrix."""


@dataclass(frozen=True, slots=True)
class Connectivity:
    """met: int64 (agents,), a component's label by having met at all (labels in order of their smallest agent): ratings of different
    components cannot be compared. won: the same by wins both ways, a tie being half a win of each: where there is more than one,
    Bradley-Terry ratings without a prior are infinite between them. opponents: int64 (agents,), how many others each agent met.
    pairs: pairs that met; games: their weight; density: pairs that met over all pairs, 0 for one agent.
    """

    met: NDArray[np.int64]
    won: NDArray[np.int64]
    opponents: NDArray[np.int64]
    pairs: int
    games: float
    density: float

    @property
    def connected(self) -> bool:
        """Whether everybody can be compared with everybody."""
        return bool((self.met == 0).all())

    @property
    def rateable(self) -> bool:
        """Whether wins lead from everybody to everybody, so that finite strengths exist (Ford 1957)."""
        return bool((self.won == 0).all())


def connectivity(counts: PairCounts, agents: int) -> Connectivity:
    """Components of agents 0 to agents - 1 by outcomes of pairs. Raises `InputError` where an id is not below `agents`."""
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
    """How many games straight against the bulk of the pool each agent's links are worth (agents,).

    One over the effective resistance between the agent and the largest component's centre (agents weighted by their games), where n
    games of a pair conduct n (Klein and Randic 1993). At even odds it is a quarter of the information about the agent's strength, in
    logits, against that centre's. About an agent's games where its opponents are firmly linked, less where they are hardly
    linked themselves, and 0 outside that component. Of equally large components the one with the smallest agent is meant.

    Time and memory O(agents**3) and O(agents**2): at most 2,000 agents. Raises `InputError`.
    """
    size = checks.count("agents", agents, low=1)
    if size > RESISTANCES_UP_TO:
        raise InputError("agents", size, f"must be at most {RESISTANCES_UP_TO}")
    met = connectivity(counts, size).met
    inside = np.flatnonzero(met == np.argmax(np.bincount(met)))
    found = np.zeros(size)
    if len(inside) > 1:
        found[inside] = 1 / _resistances(_conductances(counts, size)[np.ix_(inside, inside)])
    return found


def _conductances(counts: PairCounts, size: int) -> Floats:
    games = np.zeros((size, size))
    games[counts.first, counts.second] = games[counts.second, counts.first] = counts.wins + counts.losses + counts.ties
    return games


def _resistances(games: Floats) -> Floats:
    """From each agent of one component to its centre, by the Laplacian with one agent held at 0."""
    degree = games.sum(axis=1)
    held = int(np.argmax(degree))
    free = np.arange(len(games)) != held
    potential = np.zeros_like(games)
    laplacian = np.diag(degree[free]) - games[np.ix_(free, free)]
    potential[np.ix_(free, free)] = linalg.inv(laplacian, overwrite_a=True, check_finite=False)
    centre = degree / degree.sum()
    to_centre = potential @ centre
    return np.asarray(potential.diagonal() - 2 * to_centre + centre @ to_centre, np.float64)
