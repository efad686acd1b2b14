"""What a game may lose before deviations are weighed, and how an answer is put back: offsets, scale, exact clones, interchangeable players.

A clone is a strategy that equals another for every player. Deviation gains do not depend on what a player gets whatever it
plays (offsets), so those are taken out first and clones up to offsets are found too. Payoffs are divided by one factor for all
players, as scaling one of them alone would change which gains compare, and rounded to 14 digits (Marris et al., appendix B.2).
Players are interchangeable where giving each the other's strategies and payoffs leaves the game as it is. Joints of equal gains
(their appendix B.1) are merged where programs ask for them (`equilibria.lexicographic`), as most joints never are.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Final, Protocol

import numpy as np

from ratings_core.errors import InputError
from ratings_core.games.agent_agent_task import AgentAgentTask
from ratings_core.games.clones import CloneClasses, clone_classes, grouped, singletons
from ratings_core.games.gain_matrix import GainMatrix, Ids, PairGains, TensorGains
from ratings_core.games.king_of_the_hill import KingOfTheHill
from ratings_core.games.normal_form import JointDistribution, Joints, NormalForm
from ratings_core.solution import Floats

DIGITS: Final = 14


class Reduction(Protocol):
    """A game without its symmetries. gains: of the reduced game; unit: what its payoffs were divided by, > 0; merged: strategies
    that had a clone before them.
    """

    @property
    def gains(self) -> GainMatrix:
        """Deviation gains of the reduced game."""

    @property
    def unit(self) -> float:
        """The largest difference that a player's own choice can make to its payoff; 1 if no choice matters."""

    @property
    def unit_ratio(self) -> float:
        """The largest unit of a player over the smallest one; players whose choices do not matter have none."""

    @property
    def merged(self) -> int:
        """How many strategies were merged into another."""

    def of_strategies(self, values: Floats) -> tuple[Floats, ...]:
        """Values of the reduced game's rows for each player's strategies of the given game."""

    def play(self, ids: Ids, probability: Floats) -> JointDistribution:
        """A distribution over the reduced game's joints as one of the given game; a class plays its first member."""

    def joints(self, ids: Ids) -> Joints:
        """Joints of the reduced game as joints of the given one, (k, N), first members."""

    def ids(self, joints: Joints) -> Ids:
        """Joints of the given game as joints of the reduced one, each once, ascending."""


@singledispatch
def reduced(game: object, *, merge: bool = True) -> Reduction:
    """`game` (NormalForm, AgentAgentTask or KingOfTheHill) without offsets, scale, clones (where `merge`) and interchangeable players."""
    raise InputError("game", type(game).__name__, f"must be a NormalForm, an AgentAgentTask or a KingOfTheHill (merge={merge})")


def interchangeable_players(tensors: Sequence[Floats]) -> CloneClasses:
    """Classes of players any two of which can be exchanged, by the payoff tensor of each, compared exactly.

    Players p and q can be where the tensors with their axes swapped are the other's of the two, and those of all others as they were.
    """

    def same(q: int, p: int) -> bool:
        if tensors[p].shape[p] != tensors[p].shape[q]:
            return False
        other = {p: q, q: p}
        return all(np.array_equal(np.swapaxes(tensor, p, q), tensors[other.get(r, r)]) for r, tensor in enumerate(tensors))

    return grouped(len(tensors), same)


@dataclass(frozen=True, slots=True)
class _ReducedNormalForm:
    gains: TensorGains
    unit: float
    unit_ratio: float
    classes: tuple[CloneClasses, ...]
    seats: CloneClasses
    shape: tuple[int, ...]

    @property
    def merged(self) -> int:
        return _merged(self.classes)

    def of_strategies(self, values: Floats) -> tuple[Floats, ...]:
        each = np.split(values, np.cumsum([len(self.classes[p]) for p in self.seats.first])[:-1])
        return tuple(each[seat][classes.member] for seat, classes in zip(self.seats.member, self.classes, strict=True))

    def play(self, ids: Ids, probability: Floats) -> JointDistribution:
        one_way = self.joints(ids)
        ways = _seatings(self.seats)
        every_way = np.vstack([one_way[:, way] for way in ways])
        return JointDistribution.of(every_way, np.tile(probability / len(ways), len(ways)), self.shape)

    def joints(self, ids: Ids) -> Joints:
        return _firsts(self.gains.joints(ids), self.classes)

    def ids(self, joints: Joints) -> Ids:
        members = _members(joints, self.classes)
        for k in range(len(self.seats)):
            alike = np.flatnonzero(self.seats.member == k)
            members[:, alike] = np.sort(members[:, alike], axis=1)
        return np.unique(np.ravel_multi_index(tuple(members.T), self.gains.game.shape)).astype(np.int64)


@dataclass(frozen=True, slots=True)
class _ReducedPairs:
    gains: PairGains
    unit: float
    agents: CloneClasses
    tasks: CloneClasses
    shape: tuple[int, ...]

    @property
    def unit_ratio(self) -> float:
        return 1.0  # all payoffs are the same scores

    @property
    def merged(self) -> int:
        return _merged((self.agents, self.agents, self.tasks))

    def of_strategies(self, values: Floats) -> tuple[Floats, ...]:
        agents = values[: len(self.agents)][self.agents.member]
        return agents, agents.copy(), values[len(self.agents) :][self.tasks.member]

    def play(self, ids: Ids, probability: Floats) -> JointDistribution:
        one_way = self.joints(ids)
        both_ways = np.vstack([one_way, one_way[:, [1, 0, 2]]])
        return JointDistribution.of(both_ways, np.tile(probability / 2, 2), self.shape)

    def joints(self, ids: Ids) -> Joints:
        return _firsts(self.gains.joints(ids), (self.agents, self.agents, self.tasks))

    def ids(self, joints: Joints) -> Ids:
        return self.gains.ids(_members(joints, (self.agents, self.agents, self.tasks)))


@reduced.register
def _(game: NormalForm, *, merge: bool = True) -> Reduction:
    own = [tensor - tensor.min(axis=p, keepdims=True) for p, tensor in enumerate(game.payoffs)]
    unit = max(float(tensor.max()) for tensor in own) or 1.0
    tensors = [np.round(tensor / unit, DIGITS) for tensor in own]
    units = [float(tensor.max()) for tensor in tensors if tensor.any()]
    ratio = max(units) / min(units) if units else 1.0
    classes = tuple(_classes(_strategies_as_rows(tensors, p), merge) for p in range(len(tensors)))
    kept = np.ix_(*(one.first for one in classes))
    small = NormalForm.of([tensor[kept] for tensor in tensors])
    seats = interchangeable_players(small.payoffs)
    return _ReducedNormalForm(TensorGains(small, seats), unit, ratio, classes, seats, game.shape)


@reduced.register
def _(game: AgentAgentTask, *, merge: bool = True) -> Reduction:
    above = game.scores - game.scores.min(axis=0)
    unit = float(above.max()) or 1.0
    scores = np.round(above / unit, DIGITS)
    agents, tasks = _classes(scores, merge), _classes(scores.T, merge)
    return _ReducedPairs(PairGains(scores[np.ix_(agents.first, tasks.first)]), unit, agents, tasks, game.shape)


@reduced.register
def _(game: KingOfTheHill, *, merge: bool = True) -> Reduction:
    """The rebel's own rule leaves no symmetry of the seats, so it is solved as stored."""
    return reduced(game.normal_form(), merge=merge)


def _classes(rows: Floats, merge: bool) -> CloneClasses:
    return clone_classes(rows) if merge else singletons(len(rows))


def _seatings(seats: CloneClasses) -> list[list[int]]:
    """All ways to seat the players so that each sits where an interchangeable one did."""
    groups = [np.flatnonzero(seats.member == k).tolist() for k in range(len(seats))]
    ways = []
    for chosen in itertools.product(*(itertools.permutations(group) for group in groups)):
        moved = dict(zip(itertools.chain(*groups), itertools.chain(*chosen), strict=True))
        ways.append([moved[p] for p in range(len(seats.member))])
    return ways


def _strategies_as_rows(tensors: list[Floats], player: int) -> Floats:
    """What every player gets with each strategy of the player, a row per strategy."""
    return np.hstack([np.moveaxis(tensor, player, 0).reshape(tensor.shape[player], -1) for tensor in tensors])


def _merged(classes: tuple[CloneClasses, ...]) -> int:
    return sum(len(one.member) - len(one) for one in classes)


def _members(joints: Joints, classes: tuple[CloneClasses, ...]) -> Joints:
    return np.column_stack([one.member[joints[:, p]] for p, one in enumerate(classes)])


def _firsts(joints: Joints, classes: tuple[CloneClasses, ...]) -> Joints:
    return np.column_stack([one.first[joints[:, p]] for p, one in enumerate(classes)])
