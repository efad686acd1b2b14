"""Games without exact clones, and the mapping of their solutions to the original games.

A clone is a strategy that equals another strategy for every player. A class of clones is solved as one strategy. The class's probability is
split evenly among its members, and each member gets the class's rating.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.errors import InputError
from ratings_core.games.agent_agent_task import AgentAgentTask
from ratings_core.games.clones import CloneClasses, clone_classes, singletons, split_evenly
from ratings_core.games.king_of_the_hill import KingOfTheHill
from ratings_core.games.normal_form import Names, NormalForm
from ratings_core.games.tilted import Mixes, TiltedGame
from ratings_core.solution import Floats

LEAST: Final = 1e-140
"""Smallest positive difference of payoffs; solvers can divide by it twice without overflow."""


@dataclass(frozen=True, slots=True)
class Merged:
    """A game of classes. game: the first member of each class; classes: classes of each player's strategies."""

    game: TiltedGame
    classes: tuple[CloneClasses, ...]

    @property
    def merged(self) -> int:
        """Number of strategies that were merged into another one."""
        return sum(len(own.member) - len(own) for own in self.classes)

    def split(self, mixes: Sequence[Floats]) -> Mixes:
        """Map mixes over classes to mixes over the original strategies: members of a class share evenly."""
        return tuple(split_evenly(mix, own) for mix, own in zip(mixes, self.classes, strict=True))

    def on_firsts(self, values: Sequence[Floats]) -> Mixes:
        """Map values of classes to their first members; the other members get 0."""
        return tuple(_on_first(own, classes) for own, classes in zip(values, self.classes, strict=True))

    def totals(self, mixes: Sequence[Floats]) -> Mixes:
        """Map mixes over the original strategies to mixes over classes."""
        return tuple(
            np.asarray(np.bincount(own.member, mix, minlength=len(own)), np.float64) for mix, own in zip(mixes, self.classes, strict=True)
        )


def merged(game: TiltedGame, *, merge: bool = True) -> Merged:
    """`game` with each class of exact clones as one strategy; without `merge`, `game` itself."""
    classes = clones_of(game)
    if not merge or all(len(own) == len(own.member) for own in classes):
        return Merged(game, tuple(singletons(n) for n in game.shape))
    return Merged(_firsts_only(game, classes), classes)


@singledispatch
def clones_of(game: object) -> tuple[CloneClasses, ...]:
    """Classes of each player's strategies that are equal for every player."""
    raise InputError("game", type(game).__name__, "must be a NormalForm, a KingOfTheHill or an AgentAgentTask")


@clones_of.register
def _(game: NormalForm) -> tuple[CloneClasses, ...]:
    return tuple(clone_classes(_as_rows(game.payoffs, p)) for p in range(len(game.shape)))


@clones_of.register
def _(game: KingOfTheHill) -> tuple[CloneClasses, ...]:
    models = clone_classes(np.moveaxis(game.ahead, 1, 0).reshape(len(game.models), -1))
    return clone_classes(game.ahead.reshape(len(game.prompts), -1)), models, models


@clones_of.register
def _(game: AgentAgentTask) -> tuple[CloneClasses, ...]:
    agents = clone_classes(game.scores)
    return agents, agents, clone_classes((game.scores - game.scores.min(axis=0)).T)


def units_of(game: object) -> Floats:
    """The units of a game's players, (N,): their `spreads`, or 1 for a player whose choice does not matter."""
    return units_from(spreads(game))


def units_from(spread: Floats) -> Floats:
    """The players' units, given their spreads."""
    return np.where(spread > 0, spread, 1.0)


def unit_ratio(spread: Floats) -> float:
    """The largest unit of a player over the smallest one, given the spreads; 1 if no choice matters."""
    matter = spread[spread > 0]
    return float(matter.max() / matter.min()) if len(matter) else 1.0


@singledispatch
def spreads(game: object) -> Floats:
    """For each player, the largest difference that its own choice can make to its payoff, or a bound that scales with it, (N,).

    Raises `InputError` if a difference is so small that its square vanishes.
    """
    raise InputError("game", type(game).__name__, "must be a NormalForm, a KingOfTheHill or an AgentAgentTask")


@spreads.register
def _(game: NormalForm) -> Floats:
    return _checked(*(np.ptp(tensor, axis=p).max() for p, tensor in enumerate(game.payoffs)))


@spreads.register
def _(game: KingOfTheHill) -> Floats:
    prompt, king = np.ptp(np.abs(game.ahead), axis=0).max(), np.ptp(game.ahead, axis=1).max()
    return _checked(prompt, king, np.ptp(game.ahead + game.penalty * game.same, axis=2).max())


@spreads.register
def _(game: AgentAgentTask) -> Floats:
    agent = np.ptp(game.scores, axis=0).max()
    return _checked(agent, agent, agent)


def _checked(*largest: float) -> Floats:
    if vanishing := [float(own) for own in largest if 0 < own < LEAST]:
        raise InputError("game", vanishing[0], f"must have payoffs that are equal or differ by at least {LEAST:g}; scale them")
    return np.array([float(own) for own in largest])


def _firsts_only(game: TiltedGame, classes: tuple[CloneClasses, ...]) -> TiltedGame:
    firsts = [own.first for own in classes]
    names = [_chosen(own, first) for own, first in zip(game.strategies, firsts, strict=True)]
    if isinstance(game, KingOfTheHill):
        same = game.same[np.ix_(firsts[1], firsts[1])]
        return KingOfTheHill(np.ascontiguousarray(game.ahead[np.ix_(*firsts)]), same, game.penalty, names[0], names[1])
    if isinstance(game, AgentAgentTask):
        return AgentAgentTask(game.scores[np.ix_(firsts[0], firsts[2])], names[0], names[2])
    return NormalForm(tuple(tensor[np.ix_(*firsts)] for tensor in game.payoffs), tuple(names), game.players)


def _as_rows(tensors: Sequence[Floats], player: int) -> Floats:
    """Payoffs of every player with each strategy of `player`, a row per strategy."""
    return np.hstack([np.moveaxis(tensor, player, 0).reshape(tensor.shape[player], -1) for tensor in tensors])


def _chosen(names: Names, ids: NDArray[np.int64]) -> Names:
    return tuple(names[i] for i in ids.tolist())


def _on_first(values: Floats, classes: CloneClasses) -> Floats:
    expanded = np.zeros(len(classes.member))
    expanded[classes.first] = values
    return expanded
