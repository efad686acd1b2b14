"""Contractions for large games of two players and a task player, computed task by task.

Agents i and j meet on task t with u_t(i, j), antisymmetric. The first player gets u_t(i, j). The second player gets -u_t(i, j), minus a
penalty if the pair is marked as the same. The task player gets |u_t(i, j)|. u comes from a stored tensor (`KingOfTheHill`) or from a table
as T(i, t) - T(j, t) (`AgentAgentTask`), so that no tensor is stored. All passes process the tasks in order and share one buffer.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from ratings_core.games.agent_agent_task import AgentAgentTask
from ratings_core.games.king_of_the_hill import KingOfTheHill
from ratings_core.kernels.compile import inlined, reducing, reducing_inlined
from ratings_core.solution import Floats

LOWEST: Final = -700.0
"""Lower bound for log weights relative to the largest; lower ones are raised to it, because e^x would be subnormal."""
_LOG2_E: Final = 1 / float(np.log(2))
_LN2_HIGH: Final = float.fromhex("0x1.62e42fefa2000p-1")
_LN2_LOW: Final = float.fromhex("0x1.9ef35793c7673p-41")
_TO_WHOLE: Final = 1.5 * 2.0**52


@dataclass(frozen=True, slots=True)
class PairSlabs:
    """Stored u: tensor (tasks, n, n) or table (tasks, n), the other one is empty. lost: (n, n), the second player's loss at each pair."""

    tensor: Floats
    table: Floats
    lost: Floats

    @property
    def tasks(self) -> int:
        """Number of tasks."""
        return len(self.tensor) or len(self.table)

    @property
    def agents(self) -> int:
        """Number of strategies of the first player, and also of the second."""
        return len(self.lost)

    def slab(self, task: int) -> Floats:
        """u_t, (n, n)."""
        return np.asarray(self.tensor[task] if len(self.tensor) else self.table[task][:, None] - self.table[task], np.float64)


def slabs_of(game: KingOfTheHill | AgentAgentTask) -> PairSlabs:
    """The game's slabs; the task player is first in king of the hill and last in agent against agent on a task."""
    if isinstance(game, KingOfTheHill):
        return PairSlabs(game.ahead, np.zeros((0, 0)), np.where(game.same, game.penalty, 0.0))
    agents = len(game.scores)
    return PairSlabs(np.zeros((0, 0, 0)), np.ascontiguousarray(game.scores.T), np.zeros((agents, agents)))


@dataclass(frozen=True, slots=True)
class Weighed:
    """Sums over all joints of w(t, i, j) = exp(log weight - shift).

    shift: the largest log weight; total: sum of w; task, first, second: marginals of w; payoffs: sums of w times the payoff of the task
    player, first and second; worth_*: for each strategy, the sum of w times its payoff against the others.
    """

    shift: float
    total: float
    task: Floats
    first: Floats
    second: Floats
    payoffs: Floats
    worth_task: Floats
    worth_first: Floats
    worth_second: Floats


def weighed(slabs: PairSlabs, logs: tuple[Floats, Floats, Floats], multipliers: tuple[Floats, Floats, Floats]) -> Weighed:
    """Sums of the weights prior(a) exp(-sum_c lambda_c A_c(a)), A the deviation gains; all triples are of (task, first, second).

    logs: log prior of each player's strategies; multipliers: lambda of each player's deviations.
    """
    task, pair, worth_task = np.empty(slabs.tasks), np.zeros_like(slabs.lost), np.zeros(slabs.tasks)
    sums, payoffs = np.zeros((4, slabs.agents)), np.zeros(3)
    base, of_models = _base(slabs, logs, multipliers), np.array(multipliers[1:])
    fixed = (slabs.tensor, slabs.table, slabs.lost, logs[0], base, of_models, _slopes(multipliers))
    shift, total = _weigh(*fixed, task, pair, sums, payoffs)
    _distances(slabs.tensor, slabs.table, pair, worth_task)
    first, second, worth_first, worth_second = sums
    return Weighed(shift, total, task, first, second, payoffs, worth_task, worth_first, worth_second - first @ slabs.lost)


def log_weights(slabs: PairSlabs, logs: tuple[Floats, Floats, Floats], multipliers: tuple[Floats, Floats, Floats], tasks: slice) -> Floats:
    """The log weights of `weighed` on some tasks, (tasks, n, n), without subtracting the shift."""
    base, slopes = _base(slabs, logs, multipliers), _slopes(multipliers)
    chosen = range(slabs.tasks)[tasks]
    log_weight = np.empty((len(chosen), *base.shape))
    for row, task in enumerate(chosen):
        u = slabs.slab(task)
        log_weight[row] = logs[0][task] + base + slopes[0] * np.abs(u) + slopes[1] * u
        log_weight[row] += (u @ multipliers[2])[:, None] + u @ multipliers[1]
    return log_weight


def _slopes(multipliers: tuple[Floats, Floats, Floats]) -> Floats:
    of_task, of_first, of_second = (float(own.sum()) for own in multipliers)
    return np.array([of_task, of_first - of_second])


def _base(slabs: PairSlabs, logs: tuple[Floats, Floats, Floats], multipliers: tuple[Floats, Floats, Floats]) -> Floats:
    """The part of the log weights that is equal on all tasks, (n, n)."""
    deviations = np.zeros_like(slabs.lost)
    _mean_distance(slabs.tensor, slabs.table, multipliers[0], deviations)
    second = multipliers[2]
    lost = (slabs.lost @ second)[:, None] - second.sum() * slabs.lost
    return np.asarray(logs[1][:, None] + logs[2] - deviations + lost, np.float64)


@inlined
def _fill(tensor: Floats, table: Floats, task: int, u: Floats) -> None:
    n = u.shape[0]
    if tensor.shape[0] > 0:
        for i in range(n):
            for j in range(n):
                u[i, j] = tensor[task, i, j]
    else:
        for i in range(n):
            for j in range(n):
                u[i, j] = table[task, i] - table[task, j]


@inlined
def _exp_below(x: float) -> float:
    """e^x for x <= 0, at least e^LOWEST, to 2 ulp. Without branches and tables, so that loops over it become vector instructions."""
    x = max(x, LOWEST)
    shifted = x * _LOG2_E + _TO_WHOLE
    whole = shifted - _TO_WHOLE
    r = (x - whole * _LN2_HIGH) - whole * _LN2_LOW
    grown = 1 / 479001600.0 + r * (1 / 6227020800.0)
    grown = 1 / 3628800.0 + r * (1 / 39916800.0 + r * grown)
    grown = 1 / 40320.0 + r * (1 / 362880.0 + r * grown)
    grown = 1 / 720.0 + r * (1 / 5040.0 + r * grown)
    grown = 1 / 24.0 + r * (1 / 120.0 + r * grown)
    grown = 1.0 + r * (1.0 + r * (0.5 + r * (1 / 6.0 + r * grown)))
    exponent = np.float64(shifted).view(np.int64) << np.int64(52)
    return np.int64(np.float64(grown).view(np.int64) + exponent).view(np.float64)


@reducing
def _weigh(
    tensor: Floats,
    table: Floats,
    lost: Floats,
    log_task: Floats,
    base: Floats,
    multipliers: Floats,
    slopes: Floats,
    task: Floats,
    pair: Floats,
    sums: Floats,
    payoffs: Floats,
) -> tuple[float, float]:
    """One pass over all joints. If a task's largest log weight exceeds the shift, the shift rises and the sums so far are scaled down.

    sums: rows are marginals of first and second, worth of first and second; multipliers: of first and second.
    """
    n = len(base)
    u, w, near = np.empty((n, n)), np.empty((n, n)), np.empty((2, n))
    shift, total = -np.inf, 0.0
    for t in range(len(log_task)):
        _fill(tensor, table, t, u)
        top = _log_slab(u, base, log_task[t], multipliers, slopes, near, w)
        if top > shift:
            down = np.exp(shift - top)
            total *= down
            payoffs *= down
            sums *= down
            pair *= down
            task[:t] *= down
            shift = top
        for i in range(n):
            for j in range(n):
                w[i, j] = _exp_below(w[i, j] - shift)
        task[t] = _add_slab(u, w, lost, near, pair, sums, payoffs)
        total += task[t]
    return shift, total


@reducing_inlined
def _log_slab(u: Floats, base: Floats, log_task: float, multipliers: Floats, slopes: Floats, near: Floats, w: Floats) -> float:
    """Write the log weights of a task to w and return the largest. near: scratch."""
    n = len(base)
    for i in range(n):
        one, other = 0.0, 0.0
        for j in range(n):
            one += u[i, j] * multipliers[1, j]
            other += u[i, j] * multipliers[0, j]
        near[0, i], near[1, i] = one, other
    apart, ahead = slopes[0], slopes[1]
    top = -np.inf
    for i in range(n):
        start = log_task + near[0, i]
        for j in range(n):
            w[i, j] = start + near[1, j] + base[i, j] + apart * abs(u[i, j]) + ahead * u[i, j]
        for j in range(n):
            top = max(top, w[i, j])
    return top


@reducing_inlined
def _add_slab(u: Floats, w: Floats, lost: Floats, near: Floats, pair: Floats, sums: Floats, payoffs: Floats) -> float:
    """Add a task's weights to all sums and return the total of the weights. near: scratch, overwritten with row and column sums."""
    n = len(w)
    near[1, :] = 0.0
    total = 0.0
    for i in range(n):
        along, apart, ahead, less = 0.0, 0.0, 0.0, 0.0
        for j in range(n):
            along += w[i, j]
            apart += w[i, j] * abs(u[i, j])
            ahead += w[i, j] * u[i, j]
            less += w[i, j] * lost[i, j]
            near[1, j] += w[i, j]
            pair[i, j] += w[i, j]
        near[0, i] = along
        total += along
        payoffs[0] += apart
        payoffs[1] += ahead
        payoffs[2] -= ahead + less
    for i in range(n):
        one, other = 0.0, 0.0
        for j in range(n):
            one += u[i, j] * near[1, j]
            other += u[i, j] * near[0, j]
        sums[0, i] += near[0, i]
        sums[1, i] += near[1, i]
        sums[2, i] += one
        sums[3, i] += other
    return total


@reducing
def _mean_distance(tensor: Floats, table: Floats, weights: Floats, out: Floats) -> None:
    """Add sum_t weights(t) |u_t| to out. Tasks of weight 0 are skipped."""
    n = len(out)
    u = np.empty((n, n))
    for t in range(len(weights)):
        if weights[t] != 0.0:
            _fill(tensor, table, t, u)
            for i in range(n):
                for j in range(n):
                    out[i, j] += weights[t] * abs(u[i, j])


@reducing
def _distances(tensor: Floats, table: Floats, pair: Floats, out: Floats) -> None:
    """For each task, the sum over pairs of |u_t| times pair."""
    n = len(pair)
    u, row = np.empty((n, n)), np.empty(n)
    for t in range(len(out)):
        _fill(tensor, table, t, u)
        for j in range(n):
            row[j] = 0.0
        for i in range(n):
            for j in range(n):
                row[j] += abs(u[i, j]) * pair[i, j]
        out[t] = row.sum()


@dataclass(frozen=True, slots=True)
class Paired:
    """Contractions with mixes x of the first player, y of the second and z of the task player.

    apart_first: sum_j |u_t(i, j)| y(j), (tasks, n); apart_second: sum_i x(i) |u_t(i, j)|; ahead_first: sum_j u_t(i, j) y(j); ahead_second:
    -sum_i x(i) u_t(i, j); mean: sum_t z(t) u_t, (n, n).
    """

    apart_first: Floats
    apart_second: Floats
    ahead_first: Floats
    ahead_second: Floats
    mean: Floats


def paired(slabs: PairSlabs, task: Floats, first: Floats, second: Floats) -> Paired:
    """Contractions in one pass over all tasks. task, first, second: the mixes z, x and y."""
    on_tasks, mean = np.zeros((4, slabs.tasks, slabs.agents)), np.zeros_like(slabs.lost)
    _pair_up(slabs.tensor, slabs.table, task, first, second, on_tasks, mean)
    return Paired(on_tasks[0], on_tasks[1], on_tasks[2], on_tasks[3], mean)


@reducing
def _pair_up(tensor: Floats, table: Floats, task: Floats, first: Floats, second: Floats, out: Floats, mean: Floats) -> None:
    n = len(first)
    u = np.empty((n, n))
    for t in range(len(task)):
        _fill(tensor, table, t, u)
        z = task[t]
        for i in range(n):
            x, apart, ahead = first[i], 0.0, 0.0
            for j in range(n):
                apart += abs(u[i, j]) * second[j]
                ahead += u[i, j] * second[j]
                out[1, t, j] += x * abs(u[i, j])
                out[3, t, j] -= x * u[i, j]
                mean[i, j] += z * u[i, j]
            out[0, t, i] = apart
            out[2, t, i] = ahead
