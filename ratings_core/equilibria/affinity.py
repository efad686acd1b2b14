"""Affinity entropy: the spread of a mix, where copies of a strategy count as one (Liu et al. 2025, sec. 3.3, eq. 4 to 6).

H(x) = (1 - sum (U x)^(p+1)) / p with U = K Lambda^-1. K is the similarity of strategies (1 for clones), and Lambda is the diagonal matrix
of the (p+1)-norms of K's columns. With p = 1 and K the identity, H is the Gini-Simpson index; as p falls to 0, H becomes Shannon's entropy.
For p = 1 the maximiser is the mix of least x'U'Ux. For p below 1 the sum of (U x)^(p+1) is convex, too, and repeated weighted least squares
lead to its minimum.

The paper leaves four points open, which are decided here as follows. Strategies with equal columns of U leave a set of maximisers: these
strategies share evenly. The maximiser of a soft kernel often lies on the boundary. An equilibrium can never play a strategy with a target
of 0, although a player may gain by deviating to it, so a small part of the uniform mix is added to targets (`AffinityTarget.floor`). A soft
kernel is only approximately invariant to exact clones, so clones are merged before kernels are computed. Similarity depends only on the
payoffs of the player who has the strategies (eq. 5).
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import singledispatch
from typing import Final, get_args

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from ratings_core import checks
from ratings_core.deadline import NEVER, Deadline
from ratings_core.errors import InputError, SolverError
from ratings_core.games.agent_agent_task import AgentAgentTask
from ratings_core.games.clones import clone_classes, split_evenly
from ratings_core.games.king_of_the_hill import KingOfTheHill
from ratings_core.games.normal_form import NormalForm
from ratings_core.games.tilted import Mixes, TiltedGame
from ratings_core.solution import Certificate, Floats, Solution, Status

KKT: Final = 1e-9
_BLOCK: Final = 1 << 22
_MOST_STEPS: Final = 500
_LEAST_WEIGHED: Final = 1e-12
"""Weights stop growing where an entry of U x is below this fraction of the largest entry."""
_GONE: Final = 1e-12
"""A strategy leaves the mix if a step leaves it at most this fraction of its probability."""


@dataclass(frozen=True, slots=True)
class AffinityTarget:
    """How targets are computed.

    sigma: None for the kernel that is 1 for equal own payoffs and 0 otherwise, or the width, in payoffs, of the kernel exp(-D / (2
    sigma)^2) of eq. 6; floor: share of the uniform mix in the target; samples: None for D of eq. 5 over all joints of the other players, or
    the number of joints to draw; seed: of the draw; p: order of the entropy, in (0, 1], which matters only for soft kernels.
    """

    sigma: float | None = None
    floor: float = 1e-3
    samples: int | None = None
    seed: int = 0
    p: float = 1.0

    def __post_init__(self) -> None:
        if self.sigma is not None:
            checks.number("sigma", self.sigma, above=0.0)
        checks.number("floor", self.floor, low=0.0, high=1.0)
        if self.samples is not None:
            checks.count("samples", self.samples, low=1)
        checks.count("seed", self.seed)
        checks.number("p", self.p, above=0.0, high=1.0)


EXACT: Final = AffinityTarget()
"""The target for which strategies with equal own payoffs count as one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MostAffine(Solution):
    """The mix of largest affinity entropy. ratings: the mix, (n,); entropy: its H.

    certificate: ``kkt_residual``. With v = U'(Ux)^p, the gradient over p + 1, it is the larger of two numbers: x'v minus the least entry of
    v, and the largest entry of v with x > 0 minus x'v.
    """

    entropy: float


def affinity_entropy(mix: ArrayLike, kernel: ArrayLike, p: float = 1.0) -> float:
    """Affinity entropy of a mix (Liu et al. 2025, definition 1, eq. 4): H = (1 - sum over strategies of (U x)^(p+1)) / p, without unit.

    mix: x (n,), nonnegative, of sum 1; kernel: K (n, n), entries in [0, 1], 1 on the diagonal; p: order, in (0, 1]. U is K with each
    column over its (p+1)-norm. A mix on one strategy, or on its exact copies, has H = 0. Raises `InputError`.
    """
    p = checks.number("p", p, above=0.0, high=1.0)
    scaled = _scaled(kernel, p)
    x = checks.finite("mix", mix)
    if x.shape != (len(scaled),) or (x < 0).any() or abs(float(x.sum()) - 1) > KKT:
        raise InputError("mix", x, f"must be {len(scaled)} nonnegative numbers of sum 1")
    return (1.0 - float(((scaled @ x) ** (p + 1)).sum())) / p


def most_affine(
    kernel: ArrayLike,
    *,
    p: float = 1.0,
    tolerance: float = KKT,
    max_seconds: float | None = None,
    accept_approximate: bool = False,
) -> MostAffine:
    """The mix of largest affinity entropy; strategies with equal columns share evenly.

    kernel: K (n, n), entries in [0, 1], 1 on the diagonal; p: order of the entropy, in (0, 1]; tolerance: largest certificate of an optimal
    result; max_seconds: limit of wall time, checked between linear systems, after which the best mix so far is used; accept_approximate:
    return a result beyond the tolerance, with status `approximate`, instead of raising. Raises `InputError`, and `SolverError` (with its
    result) beyond the tolerance.
    """
    accepted = checks.number("tolerance", tolerance, above=0.0)
    checks.switch("accept_approximate", accept_approximate)
    result = _most_affine(kernel, checks.number("p", p, above=0.0, high=1.0), accepted, Deadline.after(max_seconds))
    return result if accept_approximate else _accepted(result, accepted)


def _most_affine(kernel: ArrayLike, p: float, tolerance: float, deadline: Deadline) -> MostAffine:
    started = time.perf_counter()
    U = _scaled(kernel, p)
    columns = clone_classes(np.ascontiguousarray(U.T))
    mix, rounds = _least_power(U[:, columns.first], p, 0.1 * tolerance, deadline)
    x = split_evenly(mix, columns)
    residual, level = _residual(U, x, p)
    return MostAffine(
        ratings=x,
        certificate=Certificate("kkt_residual", residual),
        status=Status.OPTIMAL if residual <= tolerance else Status.APPROXIMATE,
        seconds=time.perf_counter() - started,
        stats={"rounds": rounds, "merged": len(x) - len(columns)},
        entropy=(1.0 - level) / p,
    )


def _residual(U: Floats, x: Floats, p: float) -> tuple[float, float]:
    """The certificate of `MostAffine`, and the sum of (U x)^(p+1)."""
    towards = U.T @ (U @ x) ** p
    level = float(x @ towards)
    return max(float(level - towards.min()), float((towards[x > 0] - level).max())), level


def _least_power(U: Floats, p: float, tolerance: float, deadline: Deadline) -> tuple[Floats, int]:
    """The mix x of least sum of (U x)^(p+1), and the rounds taken.

    With weights (U x)^(p-1), a square is nowhere below the sum and touches it at x, so the mix of least square is at least as good as x. A
    step 1/p times as long is Newton's step on the strategies that stay. It is shortened if it leaves the simplex or does not improve.
    """
    x, rounds = _least_square(U, deadline)
    if p == 1.0:
        return x, rounds
    for _ in range(_MOST_STEPS):
        if _residual(U, x, p)[0] <= tolerance or deadline.passed():
            break
        reached = U @ x
        weights = np.maximum(reached, _LEAST_WEIGHED * reached.max()) ** (p - 1)
        towards, more = _least_square(U * np.sqrt(weights / weights.min())[:, None], deadline)
        x, rounds = _stepped(U, x, towards, p), rounds + more
    return x, rounds


def _stepped(U: Floats, x: Floats, towards: Floats, p: float) -> Floats:
    """Move from x by 1/p of the way to `towards`, or by less if that leaves the simplex or does not improve."""
    way, best = towards - x, float(((U @ x) ** (p + 1)).sum())
    leaving = way < 0
    longest = float((x[leaving] / -way[leaving]).min(initial=1 / p))
    for length in (longest, (1 + longest) / 2):
        ahead = np.maximum(x + length * way, 0.0)
        ahead[leaving & (ahead <= _GONE * x)] = 0.0
        ahead /= ahead.sum()
        if length > 1 and float(((U @ ahead) ** (p + 1)).sum()) < best:
            return np.asarray(ahead, np.float64)
    return towards


def _accepted(result: MostAffine, tolerance: float) -> MostAffine:
    if result.status is Status.OPTIMAL:
        return result
    raise SolverError(
        f"the most affine mix does not reach tolerance {tolerance:g}: its residual is {result.certificate.value:.2g}; "
        "use a narrower kernel, or raise tolerance or max_seconds",
        result,
    )


def affinity_targets(game: TiltedGame, how: AffinityTarget, deadline: Deadline = NEVER) -> Mixes:
    """For each player (1 - floor) argmax H + floor times the uniform mix, over the strategies of `game`, whose clones are merged before.

    Raises `SolverError` if a target misses its tolerance when the deadline passes, because targets determine the meaning of ratings.
    """
    checks.instance("how", how, AffinityTarget)
    checks.instance("game", game, *get_args(TiltedGame))
    return tuple((1 - how.floor) * _most_affine_of(game, player, how, deadline) + how.floor / n for player, n in enumerate(game.shape))


def _most_affine_of(game: TiltedGame, player: int, how: AffinityTarget, deadline: Deadline) -> Floats:
    """The mix of largest affinity entropy. For a 0/1 kernel it is known: classes share evenly, and so do members of a class."""
    if how.sigma is not None:
        return _accepted(_most_affine(affinity_kernel(game, player, how), how.p, KKT, deadline), KKT).ratings
    member = _own_classes(game, player)
    size = np.bincount(member)
    return np.asarray(1.0 / (len(size) * size[member]), np.float64)


def affinity_kernel(game: TiltedGame, player: int, how: AffinityTarget) -> Floats:
    """The kernel K (n, n) of a player's strategies (eq. 6)."""
    if how.sigma is None:
        member = _own_classes(game, player)
        return np.asarray(member[:, None] == member, np.float64)
    return np.asarray(np.exp(-dissimilarity(game, player, how) / (2 * how.sigma) ** 2), np.float64)


def dissimilarity(game: TiltedGame, player: int, how: AffinityTarget = EXACT) -> Floats:
    """D (n, n): mean squared difference of two strategies' payoffs over joints of the other players: all, or
    `samples` drawn ones (eq. 5).
    """
    if how.samples is None:
        rows = own_payoffs(game, player)
        return _mean_squares(rows, game.shape[player])
    rng = np.random.default_rng([how.seed, player])
    joints = np.column_stack([rng.integers(0, n, how.samples) for n in game.shape])
    drawn = list(game.deviations_at(joints))[player]
    return _mean_squares(iter([drawn.T]), game.shape[player])


@singledispatch
def own_payoffs(game: object, player: int) -> Iterator[Floats]:
    """The payoffs of a player's strategies (n, k) against joints of the other players, in blocks of joints."""
    raise InputError("game", type(game).__name__, f"must be a NormalForm, a KingOfTheHill or an AgentAgentTask (player {player})")


@own_payoffs.register
def _(game: NormalForm, player: int) -> Iterator[Floats]:
    yield np.moveaxis(game.payoffs[player], player, 0).reshape(game.shape[player], -1)


@own_payoffs.register
def _(game: KingOfTheHill, player: int) -> Iterator[Floats]:
    u = game.ahead
    if player == 0:
        yield np.abs(u).reshape(len(u), -1)
    elif player == 1:
        yield np.moveaxis(u, 1, 0).reshape(u.shape[1], -1)
    else:
        yield np.moveaxis(-u - game.penalty * game.same, 2, 0).reshape(u.shape[1], -1)


@own_payoffs.register
def _(game: AgentAgentTask, player: int) -> Iterator[Floats]:
    """The payoffs of two agents differ by the same amount against every opponent, so the table's rows are enough."""
    if player < 2:
        yield game.scores
        return
    step = max(1, _BLOCK // game.scores.size)
    for start in range(0, len(game.scores), step):
        apart = np.abs(game.scores[start : start + step, None] - game.scores)
        yield apart.reshape(-1, apart.shape[2]).T


def _own_classes(game: TiltedGame, player: int) -> NDArray[np.int64]:
    """Classes of strategies with equal own payoffs."""
    member = np.zeros(game.shape[player], np.int64)
    for rows in own_payoffs(game, player):
        also = clone_classes(rows).member
        member = np.unique(member * (int(also.max()) + 1) + also, return_inverse=True)[1].ravel()
    return member


def _mean_squares(blocks: Iterator[Floats], n: int) -> Floats:
    """Mean squared distances of rows. Each block is centred first: this does not change distances and saves digits."""
    total, columns = np.zeros((n, n)), 0
    for rows in blocks:
        centred = rows - rows.mean(axis=0)
        squares = (centred**2).sum(axis=1)
        total += squares[:, None] + squares - 2 * (centred @ centred.T)
        columns += rows.shape[1]
    np.fill_diagonal(total, 0.0)
    return np.maximum(total + total.T, 0.0) / (2 * columns)


def _scaled(kernel: ArrayLike, p: float) -> Floats:
    """U = K Lambda^-1."""
    K = checks.finite("kernel", checks.square("kernel", kernel))
    if (bad := np.argwhere((K < 0) | (K > 1))).size:
        a, b = (int(i) for i in bad[0])
        raise InputError(f"kernel[{a}, {b}]", K[a, b].item(), "must be from 0 to 1")
    if (off := np.flatnonzero(K.diagonal() != 1)).size:
        raise InputError(f"kernel[{off[0]}, {off[0]}]", K[off[0], off[0]].item(), "must be 1, because a strategy equals itself")
    return np.asarray(K / (K ** (p + 1)).sum(axis=0) ** (1 / (p + 1)), np.float64)


def _least_square(U: Floats, deadline: Deadline) -> tuple[Floats, int]:
    """The mix x of least |U x|: the y >= 0 with Q y >= 1, and equality where y > 0, divided by its sum (Q = U'U).

    The method is principal pivoting in blocks (Portugal, Judice and Vicente 1994). It pivots singly if blocks do not reduce the wrong
    signs, and uses nonnegative least squares if single pivots cycle.
    """
    n = U.shape[1]
    free, fewest, patience = np.ones(n, bool), n + 1, 3
    for rounds in range(1, 5 * n + 50):
        y = np.zeros(n)
        y[free] = _normal_solution(U[:, free])
        wrong = np.where(free, y < 0, U.T @ (U @ y) < 1 - KKT)
        count = int(wrong.sum())
        if not count:
            return y / y.sum(), rounds
        if deadline.passed():
            held = np.maximum(y, 0.0)  # not all 0, as y sums to y'Qy
            return held / held.sum(), rounds
        if count < fewest:
            fewest, patience = count, 3
        elif patience:
            patience -= 1
        else:
            wrong[: np.flatnonzero(wrong)[-1]] = False
        free ^= wrong
        if not free.any():
            break
    y = scipy.optimize.nnls(np.vstack([U, np.ones(n)]), np.append(np.zeros(len(U)), 1.0))[0]
    return y / y.sum(), rounds


def _normal_solution(U: Floats) -> Floats:
    """Solve U'U y = 1 by the triangle of U, which does not square the condition number."""
    triangle = scipy.linalg.qr(U, mode="r", check_finite=False)[0][: U.shape[1]]
    if len(triangle) < U.shape[1] or np.abs(triangle.diagonal()).min() < 1e-13 * np.abs(triangle.diagonal()).max():
        return np.asarray(scipy.linalg.lstsq(U.T @ U, np.ones(U.shape[1]))[0], np.float64)
    inner = scipy.linalg.solve_triangular(triangle, np.ones(U.shape[1]), trans="T")
    return np.asarray(scipy.linalg.solve_triangular(triangle, inner), np.float64)
