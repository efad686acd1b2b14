"""A game made from data, and the mapping between the data's agents and tasks and the game's strategies."""

from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ratings_core.games.clones import CloneClasses
from ratings_core.games.normal_form import Names
from ratings_core.solution import Floats

Ids: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]
GameT = TypeVar("GameT")


@dataclass(frozen=True, slots=True)
class Side:
    """Mapping of the data's agents, or of its tasks, to strategies of a game.

    at: int64 (n,), the strategy of each agent or task, -1 if left out, equal for exact duplicates; dropped: ids left out because of missing
    cells; constant: ids left out because their normalisation is undefined.
    """

    at: Ids
    dropped: Ids
    constant: Ids

    @classmethod
    def of(cls, classes: CloneClasses, measured: Mask, used: Mask) -> "Side":
        """Build a side. measured: mask of the classes kept by the policy for missing cells; used: those also kept by the normaliser."""
        at = np.where(used, np.cumsum(used) - 1, -1)[classes.member]
        dropped = ~measured[classes.member]
        return cls(at.astype(np.int64), np.flatnonzero(dropped), np.flatnonzero((at < 0) & ~dropped))

    @property
    def kept(self) -> Mask:
        """Mask of the agents or tasks that are in the game."""
        return np.asarray(self.at >= 0, bool)

    @property
    def merged(self) -> int:
        """Number of agents or tasks in the game that are duplicates of an earlier one."""
        return int(self.kept.sum()) - int(self.at.max(initial=-1) + 1)

    def values(self, values: Floats, otherwise: float) -> Floats:
        """Map values of strategies to the data's agents or tasks, (n,); `otherwise` where left out."""
        mapped = np.full(len(self.at), otherwise)
        mapped[self.kept] = values[self.at[self.kept]]
        return mapped

    def shares(self, mix: Floats) -> Floats:
        """Map probabilities of strategies to the data's agents or tasks; duplicates share evenly; 0 where left out."""
        return self.values(mix / np.bincount(self.at[self.kept], minlength=len(mix)), 0.0)

    def in_classes(self, member: Ids) -> Ids:
        """Class of each agent or task of the data, -1 where left out. member: int64, the class of each strategy."""
        return np.where(self.at >= 0, member[self.at], -1)

    def named(self, names: Names) -> Names:
        """Names of the strategies, from the names of the data; the first duplicate names its strategy."""
        return tuple(names[i] for i in np.unique(self.at, return_index=True)[1] if self.at[i] >= 0)


@dataclass(frozen=True, slots=True)
class Gamified(Generic[GameT]):
    """A game and the mapping between the data and its strategies.

    agent_side, task_side: mappings of the data's agents and tasks; normalise, missing: the policies that were used; imputed: share of the
    game's cells that were filled in because they were not measured; kappa: number of games that predictions counted for, 0 without
    predictions.
    """

    game: GameT
    agent_side: Side
    task_side: Side
    normalise: str
    missing: str
    imputed: float
    kappa: float = 0.0

    @property
    def agents(self) -> Mask:
        """Mask of the data's agents that are in the game."""
        return self.agent_side.kept

    @property
    def tasks(self) -> Mask:
        """Mask of the data's tasks that are in the game."""
        return self.task_side.kept

    @property
    def dropped_agents(self) -> Ids:
        """Ids of agents left out by `missing`."""
        return self.agent_side.dropped

    @property
    def dropped_tasks(self) -> Ids:
        """Ids of tasks left out by `missing`."""
        return self.task_side.dropped

    @property
    def constant_tasks(self) -> Ids:
        """Ids of tasks left out because all agents agree on them, which leaves their normalisation undefined."""
        return self.task_side.constant

    def of_agents(self, values: Floats, otherwise: float = np.nan) -> Floats:
        """Map values of the game's agents to the data's agents; `otherwise` where left out; duplicates share a value."""
        return self.agent_side.values(values, otherwise)

    def of_tasks(self, values: Floats, otherwise: float = np.nan) -> Floats:
        """Map values of the game's tasks to the data's tasks; `otherwise` where left out; duplicates share a value."""
        return self.task_side.values(values, otherwise)
