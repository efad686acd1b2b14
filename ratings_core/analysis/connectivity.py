"""How well outcomes link agents: who can be compared with whom, and through how much."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.analysis.components import strong_components, weak_components
from ratings_core.tallies.pair_counts import PairCounts


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
    wins, ties = counts.sparse(size)
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
