"""Joint distributions of the form prior(a) exp(-sum_c lambda_c A_c(a)), A the deviation gains of a game, stored as prior and lambda.

The equilibrium nearest to a product of mixes in relative entropy has this form. Its moments come from contractions of the payoffs, so a
distribution over tens of millions of joints needs storage only for the strategies. Sums are in float64, after subtracting the largest
exponent.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import singledispatch
from typing import Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ratings_core.errors import InputError
from ratings_core.games.agent_agent_task import AgentAgentTask
from ratings_core.games.king_of_the_hill import KingOfTheHill
from ratings_core.games.normal_form import Joints, NormalForm
from ratings_core.games.pair_slabs import PairSlabs, log_weights, slabs_of, weighed
from ratings_core.solution import Floats

Mixes: TypeAlias = tuple[Floats, ...]
Three: TypeAlias = tuple[Floats, Floats, Floats]
Rows: TypeAlias = tuple[NDArray[np.int64], ...]
TiltedGame: TypeAlias = NormalForm | KingOfTheHill | AgentAgentTask

BLOCK: Final = 1 << 16
"""Number of joints per block in passes over all joints."""


@dataclass(frozen=True, slots=True)
class Moments:
    """Moments of a distribution over joints.

    log_total: log of the sum of the weights; marginals: of each player; payoffs: expected, (N,); gains: of each player's deviations, the
    expected payoff against the others' marginal minus the player's payoff.
    """

    log_total: float
    marginals: Mixes
    payoffs: Floats
    gains: Mixes


@dataclass(frozen=True, slots=True)
class TiltedJoint:
    """A distribution over the joints of `game`: the product of the priors times exp(-(the joint's gains weighted by multipliers)).

    log_prior, multipliers: of each player's strategies; log_total: log of the sum over joints, so that probabilities sum to 1.
    """

    game: TiltedGame
    log_prior: Mixes
    multipliers: Mixes
    log_total: float

    def probability(self, joints: Joints) -> Floats:
        """Probability of each joint, (k, N) ids to (k,)."""
        logs = np.full(len(joints), -self.log_total)
        here = self.game.payoffs_at(joints)
        for p, there in enumerate(self.game.deviations_at(joints)):
            logs += self.log_prior[p][joints[:, p]] + self.multipliers[p].sum() * here[:, p] - there @ self.multipliers[p]
        return np.asarray(np.exp(logs), np.float64)

    def likeliest(self, count: int) -> tuple[Joints, Floats]:
        """The `count` joints of highest probability, highest first, and their probabilities. Makes one pass over all joints."""
        best_logs, ids = np.empty(0), np.empty((0, len(self.game.shape)), np.int64)
        for block, logs in contractions(self.game).log_blocks(self.log_prior, self.multipliers):
            top = np.argsort(-logs.ravel(), kind="stable")[:count]
            best_logs = np.concatenate([best_logs, logs.ravel()[top]])
            ids = np.vstack([ids, block.joints(top)])
            kept = np.argsort(-best_logs, kind="stable")[:count]
            best_logs, ids = best_logs[kept], ids[kept]
        return ids, np.asarray(np.exp(best_logs - self.log_total), np.float64)


@dataclass(frozen=True, slots=True)
class Block:
    """A block of joints. Its axes are the game's players in `order`; the first axis begins at `start`, the others cover all strategies."""

    start: int
    shape: tuple[int, ...]
    order: tuple[int, ...]

    def joints(self, flat: NDArray[np.int64]) -> Joints:
        """Joints at flat indices of the block, (k, N), players in the game's order."""
        axes = list(np.unravel_index(flat, self.shape))
        axes[0] = axes[0] + self.start
        return np.column_stack([axes[self.order.index(p)] for p in range(len(axes))]).astype(np.int64)


class Contractions(Protocol):
    """Operations on a game that tilted joints need. Laws: blocks contain every joint once; equal calls return equal numbers."""

    def moments(self, log_prior: Mixes, multipliers: Mixes) -> Moments:
        """Moments of the distribution prior(a) exp(-sum_c lambda_c A_c(a)) over all joints; multipliers: lambda >= 0."""

    def log_blocks(self, log_prior: Mixes, multipliers: Mixes) -> Iterator[tuple[Block, Floats]]:
        """All joints, block by block: each block with its log weights, of its shape. log_total is not subtracted."""

    def gains(self, rows: Rows, block: Block) -> Floats:
        """Gains of the deviations `rows` (ids of each player) at the joints of a block, (number of deviations, joints)."""


@singledispatch
def contractions(game: object) -> Contractions:
    """The contractions of `game`: a `NormalForm`, `KingOfTheHill` or `AgentAgentTask`."""
    raise InputError("game", type(game).__name__, "must be a NormalForm, a KingOfTheHill or an AgentAgentTask")


@contractions.register
def _(game: NormalForm) -> Contractions:
    return _Stored(game)


@contractions.register
def _(game: KingOfTheHill) -> Contractions:
    return _OnTasks(slabs_of(game), (0, 1, 2))


@contractions.register
def _(game: AgentAgentTask) -> Contractions:
    return _OnTasks(slabs_of(game), (2, 0, 1))


def covariance(inside: Contractions, log_prior: Mixes, multipliers: Mixes, rows: Rows, log_total: float) -> Floats:
    """Covariance of the gains of some deviations, (k, k). Makes one pass over all joints, with k^2 operations per joint."""
    size = sum(map(len, rows))
    products, means = np.zeros((size, size)), np.zeros(size)
    for block, logs in inside.log_blocks(log_prior, multipliers):
        share = np.exp(logs.ravel() - log_total)
        gains = inside.gains(rows, block)
        weighted = gains * share
        products += weighted @ gains.T
        means += weighted.sum(axis=1)
    return products - np.outer(means, means)


@dataclass(frozen=True, slots=True)
class _Stored:
    """Contractions of a game with stored payoffs."""

    game: NormalForm

    def moments(self, log_prior: Mixes, multipliers: Mixes) -> Moments:
        logs = self._logs(log_prior, multipliers)
        top = float(logs.max())
        weights = np.exp(logs - top)
        total = float(weights.sum())
        weights /= total
        players = range(weights.ndim)
        payoffs = np.array([np.vdot(weights, tensor) for tensor in self.game.payoffs])
        marginals = tuple(weights.sum(axis=tuple(q for q in players if q != p)) for p in players)
        gains = tuple(_worth(self.game.payoffs[p], weights.sum(axis=p), p) - payoffs[p] for p in players)
        return Moments(top + float(np.log(total)), marginals, payoffs, gains)

    def log_blocks(self, log_prior: Mixes, multipliers: Mixes) -> Iterator[tuple[Block, Floats]]:
        logs = self._logs(log_prior, multipliers)
        for start, end in _ranges(len(logs), logs[0].size):
            yield Block(start, logs[start:end].shape, tuple(range(logs.ndim))), logs[start:end]

    def gains(self, rows: Rows, block: Block) -> Floats:
        by_player = []
        for p, (tensor, own) in enumerate(zip(self.game.payoffs, rows, strict=True)):
            here = tensor[block.start : block.start + block.shape[0]]
            there = np.moveaxis(np.take(tensor if p == 0 else here, own, axis=p), p, 0)
            by_player.append((np.expand_dims(there, p + 1) - here).reshape(len(own), here.size))
        return np.vstack(by_player)

    def _logs(self, log_prior: Mixes, multipliers: Mixes) -> Floats:
        logs = np.zeros(self.game.shape)
        for p, (tensor, own) in enumerate(zip(self.game.payoffs, multipliers, strict=True)):
            logs += log_prior[p].reshape([-1 if q == p else 1 for q in range(logs.ndim)])
            if own.any():
                logs += own.sum() * tensor - np.expand_dims(np.tensordot(own, tensor, axes=(0, p)), p)
        return logs


def _worth(tensor: Floats, others: Floats, player: int) -> Floats:
    return np.asarray(np.moveaxis(tensor, player, 0).reshape(tensor.shape[player], -1) @ others.ravel(), np.float64)


@dataclass(frozen=True, slots=True)
class _OnTasks:
    """Contractions of a game on tasks. order: the game's indices of the task player, the first and the second player."""

    slabs: PairSlabs
    order: tuple[int, int, int]

    def moments(self, log_prior: Mixes, multipliers: Mixes) -> Moments:
        sums = weighed(self.slabs, self._from_game(log_prior), self._from_game(multipliers))
        payoffs = sums.payoffs / sums.total
        marginals = (sums.task / sums.total, sums.first / sums.total, sums.second / sums.total)
        worth = (sums.worth_task, sums.worth_first, sums.worth_second)
        gains = tuple(own / sums.total - payoff for own, payoff in zip(worth, payoffs, strict=True))
        log_total = sums.shift + float(np.log(sums.total))
        return Moments(log_total, self._to_game(marginals), payoffs[np.argsort(self.order)], self._to_game(gains))

    def log_blocks(self, log_prior: Mixes, multipliers: Mixes) -> Iterator[tuple[Block, Floats]]:
        logs, lambdas = self._from_game(log_prior), self._from_game(multipliers)
        for start, end in _ranges(self.slabs.tasks, self.slabs.agents**2):
            weights = log_weights(self.slabs, logs, lambdas, slice(start, end))
            yield Block(start, weights.shape, self.order), weights

    def gains(self, rows: Rows, block: Block) -> Floats:
        of_task, of_first, of_second = (rows[p] for p in self.order)
        u = np.array([self.slabs.slab(block.start + row) for row in range(block.shape[0])])
        lost = self.slabs.lost
        on_chosen = np.array([np.abs(self.slabs.slab(t)) for t in of_task.tolist()]).reshape(len(of_task), 1, *lost.shape)
        first = u[:, of_first].transpose(1, 0, 2)[:, :, None, :] - u
        second = -u[:, :, of_second].transpose(2, 0, 1)[:, :, :, None] + u
        second += lost - lost[:, of_second].T[:, None, :, None]
        return np.vstack([gains.reshape(len(gains), u.size) for gains in self._to_game((on_chosen - np.abs(u), first, second))])

    def _from_game(self, each: Mixes) -> Three:
        task, first, second = (each[p] for p in self.order)
        return task, first, second

    def _to_game(self, each: Mixes) -> Mixes:
        return tuple(each[self.order.index(p)] for p in range(3))


def _ranges(slabs: int, size: int) -> Iterator[tuple[int, int]]:
    step = max(1, BLOCK // size)
    return ((start, min(start + step, slabs)) for start in range(0, slabs, step))
