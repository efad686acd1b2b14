"""Weng and Lin's Bayesian rating for Plackett-Luce, online (JMLR 12, 2011, Algorithm 4): a mean and a deviation for each agent."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Final, Self, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ratings_core.checks import count, number
from ratings_core.kernels.compile import inlined, kernel
from ratings_core.kernels.portable import exp
from ratings_core.online.games import UNIT, check_pair, result_of, scoring
from ratings_core.online.plain import CheckedSettings
from ratings_core.online.prequential import Prequential, record, settle
from ratings_core.online.reading import Beliefs, Reading, checked_agents
from ratings_core.online.soft_reset import checked_keep, shrunk, widened
from ratings_core.online.state import OnlineState
from ratings_core.online.trace import RatingTrace, Tracing, average_expected, tracing
from ratings_core.records.beliefs import BeliefModel, Stretch
from ratings_core.records.forecasts import ForecastModel
from ratings_core.records.games import games_of
from ratings_core.records.outcomes import MAX_SIDES, OutcomeBatch

STRETCH: Final = Stretch(0.16, distance=0.26, doubt=-0.88, spread=-0.27)
"""Calibration by simulation of pools that follow the method's own model, and of narrower pools: deviations are too wide near the start and
too narrow far from it.
"""
_MAX_RATING: Final = 1e9
_MIN_SIGMA: Final = 1e-6
_FURTHEST: Final = -300.0
"""Sides that are further behind the best side, in units of c, count as this far behind: squares of exp, and of its inverse, stay finite."""


class BeliefState(OnlineState):
    """As `OnlineState`, with the deviation of the belief about each agent. rating: the belief's mean, mu; deviation: sigma."""

    COLUMNS: ClassVar[Mapping[str, DTypeLike]] = MappingProxyType({"rating": np.float64, "deviation": np.float64, "outcomes": np.int64})

    __slots__ = ()

    @property
    def deviation(self) -> NDArray[np.float64]:
        """Standard deviation of the belief about each agent: float64 (n,), a view like `rating`."""
        return cast("NDArray[np.float64]", self.column("deviation"))


@dataclass(frozen=True)
class WengLin(CheckedSettings):
    """An outcome is one Plackett-Luce ranking of its sides; a team's strength is its members' sum. Boards rank by the mean mu.

    c**2 is the sum over sides of sigma_i**2 + beta**2. p_iq is e**(mu_i/c) over the sum of e**(mu_s/c) over the sides s that did not end
    before q. A_q is the number of sides level with q. Sums are over the sides q that did not end behind i. Side i gains sigma_i**2/c times
    the sum of ([i = q] - p_iq)/A_q. Its variance shrinks by gamma sigma_i**2/c**2 times the sum of p_iq (1 - p_iq)/A_q, with gamma =
    sigma_i/c. A member takes the share sigma_ij**2/sigma_i**2 of both. Before an outcome every variance grows by tau**2, so that no
    deviation falls to 0. The result equals that of openskill's PlackettLuce, which takes gamma and tau from the same source, up to
    rounding.

    Differences from the source: an outcome of weight w moves means and variances by w times as much, tau**2 included (openskill's weights
    are weights of players inside a team). exp is taken of differences to the best side, of 300 c at most.

    mu, sigma: belief about an agent before any outcome; beta: spread of a performance, above 0; kappa: least factor by which a variance
    shrinks, 1e-12 to 1; tau: deviation that each outcome adds; z: number of deviations that a board subtracts from the mean, 0 to 10. The
    default 0 shows the mean, whose interval the board shows; 3 gives openskill's ordinal, a cautious rating that newcomers raise by
    playing. Raises `InputError` on settings out of range.
    """

    name: ClassVar[str] = "weng_lin"

    mu: float = 25.0
    sigma: float = 25.0 / 3.0
    beta: float = 25.0 / 6.0
    kappa: float = 1e-4
    tau: float = 25.0 / 300.0
    z: float = 0.0

    def __post_init__(self) -> None:
        self._set("mu", number("mu", self.mu, low=-_MAX_RATING, high=_MAX_RATING))
        self._set("sigma", number("sigma", self.sigma, low=_MIN_SIGMA, high=_MAX_RATING))
        self._set("beta", number("beta", self.beta, low=_MIN_SIGMA, high=_MAX_RATING))
        self._set("kappa", number("kappa", self.kappa, low=1e-12, high=1.0))
        self._set("tau", number("tau", self.tau, low=0.0, high=_MAX_RATING))
        self._set("z", number("z", self.z, low=0.0, high=10.0))

    def init(self, n: int) -> BeliefState:
        """A state of `n` agents with beliefs mu and sigma."""
        state = BeliefState()
        self.grow(state, count("n", n))
        return state

    def fold(self, state: BeliefState, batch: OutcomeBatch, score: Prequential | None = None, trace: RatingTrace | None = None) -> None:
        """Apply `batch` to `state` in place, as `Rater.fold` does."""
        games, n = games_of(batch)
        traced = tracing(trace, batch, score)
        self.grow(state, n)
        model = (self.beta * self.beta, self.kappa, self.tau * self.tau)
        _fold(state.rating, state.deviation, state.outcomes, *games, model, self.z, *scoring(score, games), traced)

    def log_odds(self, state: BeliefState, a: int, b: int) -> float:
        """(mu_a - mu_b)/c, c**2 = sigma_a**2 + sigma_b**2 + 2 beta**2.

        openskill predicts with the normal distribution function of the same quotient. Raises as `Rater.log_odds` does.
        """
        check_pair(BeliefState.checked(state), a, b)
        (x, y), (s, t) = state.rating[[a, b]].tolist(), state.deviation[[a, b]].tolist()
        return float((x - y) / np.sqrt(s * s + t * t + 2.0 * self.beta * self.beta))

    def read(self, state: BeliefState, agents: NDArray[np.int32]) -> Reading:
        """The rating mu - z sigma and the deviation sigma of `agents`, as `Rater.read` does."""
        ids = checked_agents(BeliefState.checked(state), agents)
        deviation = state.deviation[ids]
        still = Beliefs(deviation, np.zeros(len(ids)), np.zeros(len(ids), np.int64))
        return Reading(state.rating[ids] - self.z * deviation, deviation, state.outcomes[ids], still)

    @property
    def beliefs(self) -> BeliefModel:
        """As `Rater.beliefs`: deviations do not grow, the rating is z deviations below the mean, and `STRETCH` calibrates intervals."""
        return BeliefModel(self.sigma, below=self.z, start=self.mu, logit=math.sqrt(2.0) * self.beta, stretch=STRETCH)

    @property
    def forecasts(self) -> ForecastModel:
        """As `Rater.forecasts`, for the formula of `log_odds`. The strength of a team is the sum of its members'."""
        variance = 2.0 * self.beta * self.beta
        return ForecastModel(1.0 / math.sqrt(variance), 1.0 / variance, sums=True)

    def soft_reset(self, state: BeliefState, keep: float, before: Self) -> BeliefState:  # noqa: ARG002 - settings do not matter
        """Means shrink to their mean, and deviations grow toward sigma, as `Rater.soft_reset` describes."""
        reset = self.init(len(BeliefState.checked(state)))
        reset.rating[:] = shrunk(state.rating, checked_keep(keep))
        reset.deviation[:] = np.maximum(state.deviation, widened(state.deviation, self.sigma, keep))
        return reset

    def grow(self, state: BeliefState, n: int) -> None:
        """Make room for n agents, as `Rater.grow` does."""
        BeliefState.checked(state).grow(n, {"rating": self.mu, "deviation": self.sigma, "outcomes": 0})


_Model = tuple[float, float, float]
"""beta**2, kappa, tau**2."""
_Floats = NDArray[np.float64]


@kernel
def _fold(
    rating: _Floats, deviation: _Floats, outcomes: NDArray[np.int64],
    side_start: NDArray[np.int64], place: NDArray[np.int32], agent_start: NDArray[np.int64], agent: NDArray[np.uint32],
    weight: NDArray[np.int64], model: _Model, z: float, scored: bool, counts: NDArray[np.int64], sums: _Floats,
    rows: NDArray[np.int32], trace: Tracing,
) -> None:  # fmt: skip
    traced, before, after, expected = trace
    mean, variance, gain, shrink = np.empty(MAX_SIDES), np.empty(MAX_SIDES), np.empty(MAX_SIDES), np.empty(MAX_SIDES)
    strength, behind, order = np.empty(MAX_SIDES), np.empty(MAX_SIDES), np.empty(MAX_SIDES, np.int64)
    for i in range(len(weight)):
        first, n, w = side_start[i], side_start[i + 1] - side_start[i], weight[i] * UNIT
        if scored:
            _believe(rating, deviation, agent_start, agent, first, n, 0.0, mean, variance)
            if traced:
                expected[first : first + n] = 0.0
            _score(place, first, n, weight[i], mean, variance, model, counts, sums, rows[i], traced, expected)
            settle(sums, rows[i], n)
            if traced:
                average_expected(expected, first, n)
        _believe(rating, deviation, agent_start, agent, first, n, w * model[2], mean, variance)
        _rank(place, first, n, order)
        _infer(place, first, n, order, mean, variance, model, strength, behind, gain, shrink)
        for side in range(n):
            for member in range(agent_start[first + side], agent_start[first + side + 1]):
                a = agent[member]
                if traced:
                    before[member] = rating[a] - z * deviation[a]
                own = deviation[a] * deviation[a] + w * model[2]
                rating[a] += own * w * gain[side]
                deviation[a] = np.sqrt(own * max(1.0 - own * w * shrink[side], model[1]))
                if traced:
                    after[member] = rating[a] - z * deviation[a]
                outcomes[a] += 1


@inlined
def _believe(
    rating: _Floats, deviation: _Floats, agent_start: NDArray[np.int64], agent: NDArray[np.uint32], first: int, n: int,
    added: float, mean: _Floats, variance: _Floats,
) -> None:  # fmt: skip
    """Write the mean and the variance of each side's strength, the sums over its members. `added` is added to each member's variance."""
    for side in range(n):
        mean[side] = variance[side] = 0.0
        for member in range(agent_start[first + side], agent_start[first + side + 1]):
            a = agent[member]
            mean[side] += rating[a]
            variance[side] += deviation[a] * deviation[a] + added


@inlined
def _rank(place: NDArray[np.int32], first: int, n: int, order: NDArray[np.int64]) -> None:
    """Write the sides in order of place, level sides in their given order. Insertion sort is fast, because
    most outcomes arrive in order.
    """
    for side in range(n):
        at = side
        while at > 0 and place[first + order[at - 1]] > place[first + side]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = side


@inlined
def _infer(
    place: NDArray[np.int32], first: int, n: int, order: NDArray[np.int64], mean: _Floats, variance: _Floats, model: _Model,
    strength: _Floats, behind: _Floats, gain: _Floats, shrink: _Floats,
) -> None:  # fmt: skip
    """Write, for each side, the gain of a member's mean over its variance, and the loss of its variance over its variance squared.

    p_iq is strength_i times 1/behind_q, so the sums over q are running sums: one pass from the back and one from the front.
    """
    square, best = 0.0, mean[0]
    for side in range(n):
        square += variance[side] + model[0]
        best = max(best, mean[side])
    inverse = 1.0 / np.sqrt(square)
    total = 0.0
    for at in range(n - 1, -1, -1):
        side = order[at]
        strength[side] = exp(max((mean[side] - best) * inverse, _FURTHEST))
        total += strength[side]
        behind[at] = total
    once = twice = 0.0
    start = 0
    while start < n:
        end = start + 1
        while end < n and place[first + order[end]] == place[first + order[start]]:
            end += 1
        level, odds = 1.0 / (end - start), 1.0 / behind[start]
        once += odds
        twice += odds * odds
        for at in range(start, end):
            side = order[at]
            chance = strength[side] * once
            gain[side] = (level - chance) * inverse
            shrink[side] = np.sqrt(variance[side]) * inverse * (chance - strength[side] * strength[side] * twice) * inverse * inverse
        start = end


@inlined
def _score(
    place: NDArray[np.int32], first: int, n: int, weight: int, mean: _Floats, variance: _Floats, model: _Model,
    counts: NDArray[np.int64], sums: _Floats, row: int, traced: bool, expected: _Floats,
) -> None:  # fmt: skip
    for i in range(n):
        for j in range(i + 1, n):
            x = (mean[i] - mean[j]) / np.sqrt(variance[i] + variance[j] + 2.0 * model[0])
            p = record(counts, sums, row, x, result_of(place[first + i], place[first + j]), weight)
            if traced:
                expected[first + i] += p
                expected[first + j] += 1.0 - p
