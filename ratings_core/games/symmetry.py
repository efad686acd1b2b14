"""Reductions of a game that keep its deviation gains, and the mapping back: offsets, scale, exact clones, interchangeable players.

A clone is a strategy that equals another strategy for every player. An offset is a part of a player's payoff that does not depend on the
player's choice; deviation gains do not depend on it. Offsets are removed first, so clones up to offsets are merged, too. Payoffs of all
players are divided by one factor, because scaling only one player would change the comparison of gains. They are rounded to 14 digits
(Marris et al., appendix B.2) of the next power of ten, so that decimals keep their ties; thirds of a unit would lose them. Two players are
interchangeable if an exchange of their strategies and payoffs does not change the game.
Joints of equal gains (their appendix B.1) are merged only by programs that need it (`equilibria.lexicographic`), because most joints are
never used.
"""

import itertools
import math
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
from ratings_core.games.merging import unit_ratio
from ratings_core.games.normal_form import JointDistribution, Joints, NormalForm
from ratings_core.solution import Floats

DIGITS: Final = 14


class Reduction(Protocol):
    """A game without its symmetries.

    gains: deviation gains of the reduced game; unit: divisor of its payoffs, > 0; merged: number of strategies that are clones of an
    earlier one.
    """

    @property
    def gains(self) -> GainMatrix:
        """Deviation gains of the reduced game."""

    @property
    def unit(self) -> float:
        """The largest difference that a player's own choice can make to its payoff; 1 if no choice matters."""

    @property
    def unit_ratio(self) -> float:
        """The largest unit of a player over the smallest one, over players whose choices matter."""

    @property
    def merged(self) -> int:
        """Number of strategies that were merged into another one."""

    @property
    def whole(self) -> float:
        """Payoffs of the reduced game times this are whole numbers, up to rounding of float64."""

    def of_strategies(self, values: Floats) -> tuple[Floats, ...]:
        """Map values of the reduced game's rows to each player's strategies of the original game."""

    def play(self, ids: Ids, probability: Floats) -> JointDistribution:
        """Map a distribution over the reduced game's joints to the original game; the first member of a class is played."""

    def joints(self, ids: Ids) -> Joints:
        """Map joints of the reduced game to joints of the original one, (k, N), with first members of classes."""

    def ids(self, joints: Joints) -> Ids:
        """Map joints of the original game to ids of joints of the reduced one, distinct, ascending."""


@singledispatch
def reduced(game: object, *, merge: bool = True) -> Reduction:
    """`game` (NormalForm, AgentAgentTask or KingOfTheHill) without offsets, scale, clones (if `merge`) and interchangeable players."""
    raise InputError("game", type(game).__name__, f"must be a NormalForm, an AgentAgentTask or a KingOfTheHill (merge={merge})")


def interchangeable_players(tensors: Sequence[Floats]) -> CloneClasses:
    """Classes of players any two of which can be exchanged. tensors: payoffs of each player, compared exactly.

    Players p and q can be exchanged if swapping axes p and q turns p's tensor into q's and q's into p's, and leaves all others unchanged.
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
    whole: float
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
    whole: float
    agents: CloneClasses
    tasks: CloneClasses
    shape: tuple[int, ...]

    @property
    def unit_ratio(self) -> float:
        return 1.0  # all players' payoffs are differences of the same scores

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
    ten = _power_of_ten(unit)
    tensors = [np.round(tensor / ten, DIGITS) * (ten / unit) for tensor in own]
    ratio = unit_ratio(np.array([float(tensor.max()) for tensor in tensors]))
    classes = tuple(_classes(_strategies_as_rows(tensors, p), merge) for p in range(len(tensors)))
    kept = np.ix_(*(one.first for one in classes))
    small = NormalForm.of([tensor[kept] for tensor in tensors])
    seats = interchangeable_players(small.payoffs)
    return _ReducedNormalForm(TensorGains(small, seats), unit, ratio, unit / ten * 10**DIGITS, classes, seats, game.shape)


@reduced.register
def _(game: AgentAgentTask, *, merge: bool = True) -> Reduction:
    above = game.scores - game.scores.min(axis=0)
    unit = float(above.max()) or 1.0
    ten = _power_of_ten(unit)
    scores = np.round(above / ten, DIGITS) * (ten / unit)
    agents, tasks = _classes(scores, merge), _classes(scores.T, merge)
    gains = PairGains(scores[np.ix_(agents.first, tasks.first)])
    return _ReducedPairs(gains, unit, unit / ten * 10**DIGITS, agents, tasks, game.shape)


@reduced.register
def _(game: KingOfTheHill, *, merge: bool = True) -> Reduction:
    """The game is reduced as stored, because the rebel's penalty leaves no interchangeable players."""
    return reduced(game.normal_form(), merge=merge)


def _power_of_ten(unit: float) -> float:
    """The least power of ten that is at least `unit`."""
    return float(10.0 ** math.ceil(math.log10(unit)))


def _classes(rows: Floats, merge: bool) -> CloneClasses:
    return clone_classes(rows) if merge else singletons(len(rows))


def _seatings(seats: CloneClasses) -> list[list[int]]:
    """All permutations of the players that exchange only interchangeable players."""
    groups = [np.flatnonzero(seats.member == k).tolist() for k in range(len(seats))]
    ways = []
    for chosen in itertools.product(*(itertools.permutations(group) for group in groups)):
        moved = dict(zip(itertools.chain(*groups), itertools.chain(*chosen), strict=True))
        ways.append([moved[p] for p in range(len(seats.member))])
    return ways


def _strategies_as_rows(tensors: list[Floats], player: int) -> Floats:
    """Payoffs of every player with each strategy of `player`, a row per strategy."""
    return np.hstack([np.moveaxis(tensor, player, 0).reshape(tensor.shape[player], -1) for tensor in tensors])


def _merged(classes: tuple[CloneClasses, ...]) -> int:
    return sum(len(one.member) - len(one) for one in classes)


def _members(joints: Joints, classes: tuple[CloneClasses, ...]) -> Joints:
    return np.column_stack([one.member[joints[:, p]] for p, one in enumerate(classes)])


def _firsts(joints: Joints, classes: tuple[CloneClasses, ...]) -> Joints:
    return np.column_stack([one.first[joints[:, p]] for p, one in enumerate(classes)])
