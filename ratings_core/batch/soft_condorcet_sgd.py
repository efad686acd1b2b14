"""Algorithm 1 of soft Condorcet optimisation: stochastic gradient descent over votes, and posterior samples of ratings from its noise."""

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.batch.box_fit import LARGEST, box_of, scale_of
from ratings_core.batch.pair_counts import of_tally
from ratings_core.batch.sigmoid_loss import Box, SigmoidLoss
from ratings_core.batch.soft_condorcet import SoftCondorcet, soft_condorcet_at
from ratings_core.errors import InputError
from ratings_core.kernels.compile import inlined, kernel
from ratings_core.ranking import Ranking
from ratings_core.solution import Floats
from ratings_core.voting.profile import Profile

_CHUNK: Final = 1 << 20
"""Votes drawn at a time, so that memory does not grow with the number of iterations."""
_SAFE_SPAN: Final = 600.0
"""Largest width of the box, in temperatures, for which products of exponentials of ratings (relative to the middle) stay finite."""
_MOST_BATCH: Final = 1 << 24
"""Largest number of votes per step. All votes of a step are in memory."""
_MOST_SAMPLED: Final = 1 << 28
"""Largest number of ratings in all samples together. All samples are in memory: 2 GB."""
_LANES: Final = 32
"""Votes processed together in vector instructions."""
_NOWHERE: Final = -1.0
_RATING, _ODDS, _PUSH = range(3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Posterior:
    """Samples of ratings. samples: (k, m); step: step size alpha; gradient_noise: trace of the covariance of one vote's gradient."""

    samples: Floats
    step: float
    gradient_noise: float

    @property
    def ranks(self) -> NDArray[np.int64]:
        """Rank of each agent in each sample (k, m); 1 is best."""
        return np.stack([Ranking.from_scores(sample).rank for sample in self.samples])

    def rankings(self) -> list[tuple[Ranking, float]]:
        """The sampled rankings and their relative frequencies, most frequent first."""
        counted = Counter(Ranking.from_scores(sample) for sample in self.samples)
        return [(ranking, count / len(self.samples)) for ranking, count in counted.most_common()]

    def rank_intervals(self, level: float = 0.95) -> NDArray[np.int64]:
        """Best and worst rank of each agent (m, 2) in the central share `level` of the samples, each agent by itself."""
        tail = (1 - checks.number("level", level, above=0.0, high=1.0)) / 2
        return np.stack(
            [
                np.quantile(self.ranks, tail, axis=0, method="inverted_cdf"),
                np.quantile(self.ranks, 1 - tail, axis=0, method="inverted_cdf"),
            ],
            axis=1,
        ).astype(np.int64)


def soft_condorcet_sgd(
    profile: Profile,
    *,
    seed: int,
    tau: float = 1.0,
    alpha: float = 0.01,
    batch: int = 32,
    iterations: int = 10_000,
    low: float = 0.0,
    high: float = 100.0,
    tolerance: float = 1e-6,
) -> SoftCondorcet:
    """Run Algorithm 1 (Lanctot et al. 2025, sec. 3.2.1). The defaults are those of the paper for up to 10 alternatives (E.2).

    profile: complete or partial votes; a vote of weight w is drawn with a probability proportional to w. Tied and unlisted pairs of a vote
    do not change ratings. batch: votes per step, drawn with replacement, at most 2**24; 0 uses all votes in every step (gradient
    descent). For 11 to 500 alternatives the paper uses 100,000 iterations; for more alternatives also alpha 0.1 and tau 1/2.

    Deviations from the paper: Ratings start at the middle of the box (the printed start equals it only if low is 0). The gradient is the
    mean over the batch, in agreement with the step counts of table 3 and with appendix B. For the sum of eq. 7, divide alpha by the batch.

    The certificate is that of `soft_condorcet`, at the last ratings. Steps of constant size may not reach the tolerance; the status is
    then `approximate`, without an error. The same call with the same seed gives the same ratings.
    Raises `InputError`.
    """
    begun = time.perf_counter()
    checks.number("tolerance", tolerance, above=0.0)
    chain = _Chain(profile, box_of(low, high), tau, alpha, seed)
    chain.run(checks.count("batch", batch, high=_MOST_BATCH), checks.count("iterations", iterations))
    loss = SigmoidLoss.of(of_tally(profile.pair_counts("unknown"), len(profile.names)))
    stats = {"iterations": iterations, "batch": batch or len(profile), "pairs": len(loss.margin)}
    solution = soft_condorcet_at(loss, chain.box, chain.tau, chain.theta, tolerance=tolerance, bound=loss.agreed, stats=stats)
    return replace(solution, seconds=time.perf_counter() - begun)


def soft_condorcet_posterior(
    profile: Profile,
    *,
    seed: int,
    samples: int = 1_000,
    thin: int = 100,
    tau: float = 1.0,
    alpha: float = 0.01,
    batch: int = 32,
    burn_in: int = 10_000,
    low: float = 0.0,
    high: float = 100.0,
) -> Posterior:
    """Sample ratings by stochastic gradient descent with a constant step (appendix E.3; Mandt, Hoffman and Blei 2017, theorem 1).

    After `burn_in` steps of size `alpha` the step size becomes 2 (batch/n) d / trace C. C is the covariance over all votes of one vote's
    gradient at that point, n the total weight of the votes, and d = m - 1 the number of dimensions that the votes determine. Afterwards
    every `thin`-th iterate is approximately a sample from the density exp(-loss): the posterior of ratings if a wrong pair costs one unit
    (Mallows).

    The approximation assumes a quadratic loss around a single minimum and Gaussian noise. On tournaments as in sec. 4.3 its 95 % rank
    intervals contained about 80 % of the true ranks. For intervals with correct coverage use replicates of the data
    (`analysis.intervals`). Raises `InputError`, also if all votes have the same gradient.
    """
    agents = len(checks.instance("profile", profile, Profile).names)
    count, each = checks.count("samples", samples, low=1, high=_MOST_SAMPLED // agents), checks.count("thin", thin, low=1)
    size = checks.count("batch", batch, low=1, high=_MOST_BATCH)
    chain = _Chain(profile, box_of(low, high), tau, alpha, seed)
    chain.run(size, checks.count("burn_in", burn_in))
    noise = chain.gradient_noise()
    if not noise > 0:
        raise InputError("profile", profile.voters, "must contain different votes, because the gradients of equal votes have no variance")
    chain.alpha = 2 * (size / profile.voters) * (len(profile.names) - 1) / noise
    iterates = np.empty((count, len(profile.names)))
    for sample in iterates:
        chain.run(size, each)
        sample[:] = chain.theta
    return Posterior(samples=iterates, step=chain.alpha, gradient_noise=noise)


class _Chain:
    """Gradient descent on ratings, with steps of size alpha over votes. Raises `InputError` for invalid votes or settings."""

    def __init__(self, profile: Profile, box: Box, tau: float, alpha: float, seed: int) -> None:
        if not checks.instance("profile", profile, Profile).voters > 0:
            raise InputError("weight", profile.voters, "must have a positive sum")
        self._profile, self.box = profile, box
        self.tau, self.alpha = scale_of("tau", tau, box), checks.number("alpha", alpha, above=0.0, high=LARGEST**2)
        self._rng = np.random.default_rng(checks.count("seed", seed))
        self._votes = (profile.start, profile.agent, profile.level)
        weight = profile.weight / profile.voters
        self._upto = None if (weight == weight[0]).all() else np.cumsum(weight)
        self.theta = np.full(len(profile.names), box.middle)

    def run(self, batch: int, iterations: int) -> None:
        """Take `iterations` steps of `batch` votes each; batch 0 uses all votes in every step."""
        bounds = (1.0 / self.tau, self.box.low, self.box.high)
        steps = _steps if self.box.width <= _SAFE_SPAN * self.tau else _steps_far
        if not batch:
            share = self._profile.weight * (self.alpha / self.tau / self._profile.voters)
            every = np.arange(len(share), dtype=np.int64)[None, :]
            for _ in range(iterations):
                steps(self.theta, *self._votes, every, share, bounds)
            return
        share = np.full(batch, self.alpha / self.tau / batch)
        for votes in self._drawn(batch, iterations):
            steps(self.theta, *self._votes, votes, share, bounds)

    def gradient_noise(self) -> float:
        """Trace of the covariance of one vote's gradient, with the vote drawn in proportion to its weight."""
        total, squares = np.zeros(len(self.theta)), np.zeros(len(self._profile))
        _moments(self.theta, *self._votes, self._profile.weight, 1.0 / self.tau, total, squares)
        voters = self._profile.voters
        return float((squares @ self._profile.weight / voters - (total / voters) @ (total / voters)) / self.tau**2)

    def _drawn(self, batch: int, iterations: int) -> Iterator[NDArray[np.int64]]:
        rows = max(1, _CHUNK // batch)
        for done in range(0, iterations, rows):
            shape = (min(rows, iterations - done), batch)
            if self._upto is None:
                yield self._rng.integers(0, len(self._profile), shape)
            else:
                yield np.minimum(np.searchsorted(self._upto, self._rng.random(shape), side="right"), len(self._upto) - 1)


@kernel
def _steps(
    theta: Floats, start: NDArray[np.int64], agent: NDArray[np.int32], level: NDArray[np.int32],
    votes: NDArray[np.int64], share: Floats, bounds: tuple[float, float, float],
) -> None:  # fmt: skip
    """Take one step for each row of `votes` (steps, batch). share: (batch,), factor of each column's push; bounds: 1/tau, low, high.

    For boxes up to `_SAFE_SPAN` wide: each agent's exponential is stored and recomputed only when its rating moves. The numbers of an agent
    are adjacent in memory, so a step reads one cache line per agent. The votes of a step are processed together in vector instructions.
    """
    slope, low, high = bounds
    state, middle = np.zeros((len(theta), 4)), (low + high) / 2  # rating, odds against the middle, push, unused
    for a in range(len(theta)):
        state[a, _RATING], state[a, _ODDS] = theta[a], np.exp(slope * (theta[a] - middle))
    longest = np.max(start[1:] - start[:-1])
    odds, place, own = np.empty((longest, _LANES)), np.empty((longest, _LANES)), np.empty((longest, _LANES))
    for step in range(len(votes)):
        for column in range(0, votes.shape[1], _LANES):
            lanes = votes[step, column : column + _LANES]
            n = _gather(state, start, agent, level, lanes, odds, place)
            _pushes_in_lanes(odds[:n], place[:n], own[:n], len(lanes))
            for lane in range(len(lanes)):
                begin = start[lanes[lane]]
                for i in range(start[lanes[lane] + 1] - begin):
                    state[agent[begin + i], _PUSH] += share[column + lane] * own[i, lane]
        for vote in votes[step]:
            for i in range(start[vote], start[vote + 1]):
                one = state[agent[i]]
                if one[_PUSH] != 0.0:  # it is 0 for an agent that was already moved in this step
                    one[_RATING] = min(max(one[_RATING] + one[_PUSH], low), high)
                    one[_ODDS], one[_PUSH] = np.exp(slope * (one[_RATING] - middle)), 0.0
    theta[:] = state[:, _RATING]


@inlined
def _gather(
    state: Floats, start: NDArray[np.int64], agent: NDArray[np.int32], level: NDArray[np.int32],
    votes: NDArray[np.int64], odds: Floats, place: Floats,
) -> int:  # fmt: skip
    """Write the odds and levels of the listed agents, one column per vote; pad short votes with `_NOWHERE`. Returns the longest length."""
    longest = 0
    for lane in range(len(votes)):
        begin = start[votes[lane]]
        n = start[votes[lane] + 1] - begin
        for i in range(longest, n):
            odds[i, :lane], place[i, :lane] = 1.0, _NOWHERE
        longest = max(longest, n)
        for i in range(n):
            odds[i, lane], place[i, lane] = state[agent[begin + i], _ODDS], level[begin + i]
        for i in range(n, longest):
            odds[i, lane], place[i, lane] = 1.0, _NOWHERE
    return longest


@kernel
def _pushes_in_lanes(odds: Floats, place: Floats, own: Floats, lanes: int) -> None:
    """`_pushes` for `lanes` votes together, with one division per pair and no exponential. odds, place, own: (n, at least lanes)."""
    own[:] = 0.0
    for i in range(len(odds)):
        for j in range(i + 1, len(odds)):
            for lane in range(lanes):
                mine, other = odds[i, lane], odds[j, lane]
                rest = 1.0 / (mine + other)
                up = (mine * rest) * (other * rest) if place[j, lane] > place[i, lane] else 0.0
                own[i, lane] += up
                own[j, lane] -= up


@kernel
def _steps_far(
    theta: Floats, start: NDArray[np.int64], agent: NDArray[np.int32], level: NDArray[np.int32],
    votes: NDArray[np.int64], share: Floats, bounds: tuple[float, float, float],
) -> None:  # fmt: skip
    """The steps of `_steps` for boxes of any width."""
    push, own = np.zeros(len(theta)), np.empty(len(theta))
    for step in range(len(votes)):
        for column in range(votes.shape[1]):
            begin, end = start[votes[step, column]], start[votes[step, column] + 1]
            _pushes(theta, agent, level, begin, end, bounds[0], own)
            for i in range(begin, end):
                push[agent[i]] += share[column] * own[i - begin]
        for vote in votes[step]:
            for i in range(start[vote], start[vote + 1]):
                a = agent[i]  # the push of an agent already moved in this step is 0
                theta[a] = min(max(theta[a] + push[a], bounds[1]), bounds[2])
                push[a] = 0.0


@kernel
def _moments(
    theta: Floats, start: NDArray[np.int64], agent: NDArray[np.int32], level: NDArray[np.int32],
    weight: Floats, slope: float, total: Floats, squares: Floats,
) -> None:  # fmt: skip
    """Compute moments of the vote gradients, each times tau (with its sign reversed).

    total: (m,), receives their weighted sum; squares: (votes,), receives the squared length of each.
    """
    own = np.empty(len(theta))
    for vote in range(len(weight)):
        begin, end = start[vote], start[vote + 1]
        _pushes(theta, agent, level, begin, end, slope, own)
        for i in range(begin, end):
            total[agent[i]] += weight[vote] * own[i - begin]
            squares[vote] += own[i - begin] ** 2


@inlined
def _pushes(theta: Floats, agent: NDArray[np.int32], level: NDArray[np.int32], begin: int, end: int, slope: float, own: Floats) -> None:
    """Write to `own` minus tau times the gradient of one vote's loss, by the rating of each agent that the vote lists."""
    own[: end - begin] = 0.0
    for i in range(begin, end):
        for j in range(i + 1, end):
            if level[i] != level[j]:
                small = np.exp(-slope * abs(theta[agent[i]] - theta[agent[j]]))
                up = small / ((1.0 + small) * (1.0 + small))
                own[i - begin] += up
                own[j - begin] -= up
