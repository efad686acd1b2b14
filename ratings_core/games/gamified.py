"""A game made from data, and the way back: which agent and task of the data each strategy stands for."""

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
    """The agents or the tasks of the data in a game. at: int64 (n,), the strategy that each one is, -1 where left out, equal for
    exact duplicates; dropped: ids left out for what was not measured; constant: ids left out because their normalisation is undefined.
    """

    at: Ids
    dropped: Ids
    constant: Ids

    @classmethod
    def of(cls, classes: CloneClasses, measured: Mask, used: Mask) -> "Side":
        """measured, used: of the classes, kept by the policy for missing cells and by the normaliser after it."""
        at = np.where(used, np.cumsum(used) - 1, -1)[classes.member]
        dropped = ~measured[classes.member]
        return cls(at.astype(np.int64), np.flatnonzero(dropped), np.flatnonzero((at < 0) & ~dropped))

    @property
    def kept(self) -> Mask:
        """True where in the game."""
        return np.asarray(self.at >= 0, bool)

    @property
    def merged(self) -> int:
        """How many are in the game as another one's duplicate."""
        return int(self.kept.sum()) - int(self.at.max(initial=-1) + 1)

    def values(self, values: Floats, otherwise: float) -> Floats:
        """Values of the strategies for each of the data's, `otherwise` where left out."""
        whole = np.full(len(self.at), otherwise)
        whole[self.kept] = values[self.at[self.kept]]
        return whole

    def shares(self, mix: Floats) -> Floats:
        """Probabilities of the strategies, those of duplicates split evenly; 0 where left out."""
        return self.values(mix / np.bincount(self.at[self.kept], minlength=len(mix)), 0.0)

    def in_classes(self, member: Ids) -> Ids:
        """The class that each of the data's is in, -1 where left out. member: int64, the class of each strategy."""
        return np.where(self.at >= 0, member[self.at], -1)

    def named(self, names: Names) -> Names:
        """Of all names those of the strategies: the first of duplicates."""
        return tuple(names[i] for i in np.unique(self.at, return_index=True)[1] if self.at[i] >= 0)


@dataclass(frozen=True, slots=True)
class Gamified(Generic[GameT]):
    """A game and where its strategies stand in the data it came from.

    agent_side, task_side: of the data (no tasks where there are none); normalise, missing: the policies it was made with;
    imputed: share of the game's cells that were not measured but filled in; kappa: games that predictions counted for, 0 without.
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
        """Bool over the data's agents, True where in the game."""
        return self.agent_side.kept

    @property
    def tasks(self) -> Mask:
        """Bool over the data's tasks, True where in the game."""
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
        """Ids of tasks left out because their normalisation is undefined where all agents agree."""
        return self.task_side.constant

    def of_agents(self, values: Floats, otherwise: float = np.nan) -> Floats:
        """Values of the game's agents on the data's, `otherwise` where left out; duplicates have one value."""
        return self.agent_side.values(values, otherwise)

    def of_tasks(self, values: Floats, otherwise: float = np.nan) -> Floats:
        """Values of the game's tasks on the data's, `otherwise` where left out; duplicates have one value."""
        return self.task_side.values(values, otherwise)
