"""The matrix of deviation gains of a game: a row per deviation and a column per joint. The complete matrix is never stored.

A linear program over joint distributions needs two operations: to compute some columns, and to find the columns with the least weighted
gains for given weights of the rows (the pricing step of column generation). Both only need contractions of the payoffs.
"""

import math
from itertools import pairwise
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ratings_core.games.clones import CloneClasses, singletons
from ratings_core.games.normal_form import Joints, NormalForm
from ratings_core.kernels.compile import kernel
from ratings_core.solution import Floats

Ids: TypeAlias = NDArray[np.int64]


class GainMatrix(Protocol):
    """Deviation gains of a game. Laws: `least` returns the column of least value first; equal calls return equal columns."""

    @property
    def rows(self) -> int:
        """Number of deviations."""

    @property
    def joint_count(self) -> int:
        """Number of joints, the orders of interchangeable players included."""

    def whole_gains(self, whole: float) -> tuple[Ids, NDArray[np.int64], float]:
        """Ids of all joints, their gains as exact whole numbers (rows, joints), and the scale: the gains times it are these numbers.

        Of joints that differ by an exchange of interchangeable players, one is listed. whole: payoffs times this are whole numbers of at
        most 14 digits, up to rounding of float64.
        """

    def columns(self, ids: Ids) -> Floats:
        """Gains at the joints `ids` (k,), a column per joint, (rows, k)."""

    def least(self, weights: Floats, count: int) -> tuple[Ids, Floats]:
        """Up to `count` joints with low weights @ column, and these values, ascending; the first is the minimum. weights: (rows,)."""


class TensorGains:
    """Deviation gains of a game with stored payoffs.

    Rows: strategies of the first player, then of the second, ...; ids: joints in C order. seats: classes of interchangeable players. The
    players of a class share rows, which hold the mean of their gains. An exchange of such players maps the game to itself. So the mean over
    all orders of the players at a joint equals the mean over the players at that joint, and one order represents all.
    """

    def __init__(self, game: NormalForm, seats: CloneClasses | None = None) -> None:
        self.game = game
        self._seats = singletons(len(game.shape)) if seats is None else seats
        sizes = [game.shape[p] for p in self._seats.first.tolist()]
        ends = np.cumsum(sizes).tolist()
        self._rows = [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]
        self._repeated = self._other_ways()

    @property
    def rows(self) -> int:
        """Number of strategies of all classes of players together."""
        return int(self._rows[-1].stop)

    @property
    def joint_count(self) -> int:
        """Number of entries of a player's payoffs."""
        return math.prod(self.game.shape)

    def whole_gains(self, whole: float) -> tuple[Ids, NDArray[np.int64], float]:
        """Gains in whole numbers. Means over interchangeable players are whole because payoffs are multiplied by their numbers."""
        ids = np.arange(self.joint_count) if self._repeated is None else np.flatnonzero(~self._repeated)
        parts = math.lcm(*self._seats.size.tolist())
        game = NormalForm.of([np.rint(tensor * whole) * parts for tensor in self.game.payoffs])
        return ids, TensorGains(game, self._seats).columns(ids).astype(np.int64), whole * parts

    def joints(self, ids: Ids) -> Joints:
        """The joints of the ids, (k, N)."""
        return np.column_stack(np.unravel_index(ids, self.game.shape)).astype(np.int64)

    def columns(self, ids: Ids) -> Floats:
        """Gains at the joints, (rows, k)."""
        joints = self.joints(ids)
        here, total = self.game.payoffs_at(joints), np.zeros((self.rows, len(ids)))
        for p, there in enumerate(self.game.deviations_at(joints)):
            seat = self._seats.member[p]
            total[self._rows[seat]] += (there - here[:, [p]]).T / self._seats.size[seat]
        return total

    def least(self, weights: Floats, count: int) -> tuple[Ids, Floats]:
        """The joints with the least weighted gains."""
        total = np.zeros(self.game.shape)
        for p, tensor in enumerate(self.game.payoffs):
            seat = self._seats.member[p]
            own = weights[self._rows[seat]] / self._seats.size[seat]
            if own.any():
                total += np.expand_dims(np.tensordot(own, tensor, axes=(0, p)), p) - own.sum() * tensor
        if self._repeated is not None:
            total[self._repeated] = np.inf
        chosen = _lowest(total.ravel(), count)
        chosen = chosen[np.isfinite(total.ravel()[chosen])]
        return chosen, total.ravel()[chosen]

    def _other_ways(self) -> NDArray[np.bool_] | None:
        """Mask of joints that repeat another order of interchangeable players: an earlier player has the later strategy. None if there are
        none.
        """
        repeated = np.zeros(self.game.shape, bool)
        axes = np.ogrid[tuple(slice(n) for n in self.game.shape)]
        for k in range(len(self._seats)):
            for p, q in pairwise(np.flatnonzero(self._seats.member == k).tolist()):
                repeated |= axes[p] > axes[q]
        return repeated if repeated.any() else None


class PairGains:
    """Deviation gains of an `AgentAgentTask`, averaged over the two orders of the agents; ids: unordered pair * tasks + task.

    An exchange of the two agents' players maps the game to itself. So the average of an optimal distribution over both orders is optimal,
    and joints that differ only in the order share a column. Rows are agents, then tasks. For agent m at (a, b, t), the mean of both
    players' gains is T(m, t) - (T(a, t) + T(b, t)) / 2; for task s it is |T(a, s) - T(b, s)| - |T(a, t) - T(b, t)|.
    """

    def __init__(self, scores: Floats) -> None:
        self._scores = np.ascontiguousarray(scores)
        self._first, self._second = np.triu_indices(len(scores))

    @property
    def rows(self) -> int:
        """Number of agents and tasks together."""
        return sum(self._scores.shape)

    @property
    def joint_count(self) -> int:
        """Number of ordered pairs of agents times tasks."""
        return len(self._scores) * self._scores.size

    def whole_gains(self, whole: float) -> tuple[Ids, NDArray[np.int64], float]:
        """Gains in whole numbers. Scores are doubled, because gains hold means of two agents."""
        ids = np.arange(len(self._first) * self._scores.shape[1])
        return ids, PairGains(np.rint(self._scores * whole) * 2).columns(ids).astype(np.int64), 2 * whole

    def joints(self, ids: Ids) -> Joints:
        """Agent, opponent (not before the agent) and task, (k, 3)."""
        pair, task = np.divmod(ids, self._scores.shape[1])
        return np.column_stack([self._first[pair], self._second[pair], task])

    def ids(self, joints: Joints) -> Ids:
        """The distinct ids of joints in either order of the agents, ascending."""
        low, high = np.sort(joints[:, :2], axis=1).T
        pair = low * len(self._scores) - low * (low - 1) // 2 + high - low
        return np.unique(pair * self._scores.shape[1] + joints[:, 2]).astype(np.int64)

    def columns(self, ids: Ids) -> Floats:
        """Gains at the joints, (rows, k)."""
        agent, opponent, task = self.joints(ids).T
        here = (self._scores[agent, task] + self._scores[opponent, task]) / 2
        apart = np.abs(self._scores[agent] - self._scores[opponent]).T
        return np.vstack([self._scores[:, task] - here, apart - apart[task, np.arange(len(task))]])

    def least(self, weights: Floats, count: int) -> tuple[Ids, Floats]:
        """The joints with the least weighted gains, at most one per pair of agents: different pairs help a linear program more than similar
        columns.
        """
        value, task = np.empty(len(self._first)), np.empty(len(self._first), np.int64)
        agents = len(self._scores)
        _best_tasks(self._scores, weights[:agents] @ self._scores, weights[:agents].sum() / 2, weights[agents:], value, task)
        pair = _lowest(value, count)
        return pair * self._scores.shape[1] + task[pair], value[pair]


@kernel
def _best_tasks(scores: Floats, base: Floats, half: float, weights: Floats, value: Floats, best: Ids) -> None:
    """For each pair of agents, in the order of triu_indices, the task of least weighted gains and their value.

    base: (tasks,), sum over the agents' rows; half: half the sum of the agents' weights; weights: of the tasks' rows.
    """
    agents, tasks = scores.shape
    total = weights.sum()
    pair = 0
    for a in range(agents):
        for b in range(a, agents):
            spread, least, at = 0.0, np.inf, 0
            for t in range(tasks):
                apart = abs(scores[a, t] - scores[b, t])
                spread += weights[t] * apart
                gains = base[t] - half * (scores[a, t] + scores[b, t]) - total * apart
                if gains < least:
                    least, at = gains, t
            value[pair], best[pair] = least + spread, at
            pair += 1


def _lowest(values: Floats, count: int) -> Ids:
    """Indices of the lowest `count` values, in ascending order of value, then of index."""
    among = np.sort(np.argpartition(values, count - 1)[:count]) if count < len(values) else np.arange(len(values))
    return among[np.argsort(values[among], kind="stable")]
