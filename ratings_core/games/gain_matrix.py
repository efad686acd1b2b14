"""The matrix of deviation gains of a game, a row for each deviation and a column for each joint, never stored whole.

A linear program over joint distributions needs two things of it: some columns, and, for given weights of the rows, the columns
whose weighted gains are least (pricing, in the words of column generation). Both cost contractions of the payoffs only.
"""

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
    """Deviation gains. Laws: `least` returns the least of all columns first; equal calls return equal columns."""

    @property
    def rows(self) -> int:
        """How many deviations there are."""

    def columns(self, ids: Ids) -> Floats:
        """Gains at the joints `ids` (k,), each a column, (rows, k)."""

    def least(self, weights: Floats, count: int) -> tuple[Ids, Floats]:
        """Up to `count` joints of low weights @ column, the least of all first, and those values, ascending. weights: (rows,)."""


class TensorGains:
    """Of a game with stored payoffs. Rows: strategies of the first player, then of the second, ...; ids: joints in C order.

    seats: classes of interchangeable players, which share rows: the mean of their gains. Exchanging them maps the game to itself, so
    a mean over all ways to seat them at a joint is the mean over them at the joint itself, and one way stands for all.
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
        """The strategies of all classes of players together."""
        return int(self._rows[-1].stop)

    def joints(self, ids: Ids) -> Joints:
        """The joints behind the ids, (k, N)."""
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
        """Joints of the least weighted gains of all."""
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
        """Joints in which an earlier of two interchangeable players has the later strategy."""
        repeated = np.zeros(self.game.shape, bool)
        axes = np.ogrid[tuple(slice(n) for n in self.game.shape)]
        for k in range(len(self._seats)):
            for p, q in pairwise(np.flatnonzero(self._seats.member == k).tolist()):
                repeated |= axes[p] > axes[q]
        return repeated if repeated.any() else None


class PairGains:
    """Of two agents on a task, gains averaged over the two orders of the agents; ids: unordered pair * tasks + task.

    Exchanging the two players maps the game to itself, so the average over both orders of an optimal distribution is optimal and
    joints that differ in the order alone are one column: rows are agents, then tasks. For agent m at (a, b, t) the mean of
    both players' gains is T(m, t) - (T(a, t) + T(b, t)) / 2, for task s it is |T(a, s) - T(b, s)| - |T(a, t) - T(b, t)|.
    """

    def __init__(self, scores: Floats) -> None:
        self._scores = np.ascontiguousarray(scores)
        self._first, self._second = np.triu_indices(len(scores))

    @property
    def rows(self) -> int:
        """Agents and tasks together."""
        return sum(self._scores.shape)

    def joints(self, ids: Ids) -> Joints:
        """Agent, opponent (not before the agent) and task, (k, 3)."""
        pair, task = np.divmod(ids, self._scores.shape[1])
        return np.column_stack([self._first[pair], self._second[pair], task])

    def ids(self, joints: Joints) -> Ids:
        """The ids of joints, whichever agent comes first, each once, ascending."""
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
        """The best task of each pair, and of those the least: columns of different pairs help a program more than like ones."""
        value, task = np.empty(len(self._first)), np.empty(len(self._first), np.int64)
        agents = len(self._scores)
        _best_tasks(self._scores, weights[:agents] @ self._scores, weights[:agents].sum() / 2, weights[agents:], value, task)
        pair = _lowest(value, count)
        return pair * self._scores.shape[1] + task[pair], value[pair]


@kernel
def _best_tasks(scores: Floats, base: Floats, half: float, weights: Floats, value: Floats, best: Ids) -> None:
    """For each pair of agents in the order of triu_indices its task of least weighted gains, and their value.

    base: what the agents' rows give on each task; half: half the sum of their weights; weights: of the tasks' rows.
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
    """Where the lowest `count` values stand, ascending, equal ones by place."""
    among = np.sort(np.argpartition(values, count - 1)[:count]) if count < len(values) else np.arange(len(values))
    return among[np.argsort(values[among], kind="stable")]
