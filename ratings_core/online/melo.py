"""Multidimensional Elo, mElo2k, online (Balduzzi et al. 2018, sec. 3.1 and appendix E): a rating, and a vector for cyclic strength."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Final, Self, cast

import numpy as np
import scipy
from numpy.typing import DTypeLike, NDArray

from ratings_core.checks import count, number, whole
from ratings_core.errors import InputError
from ratings_core.kernels.compile import inlined, kernel
from ratings_core.kernels.portable import log, sigmoid
from ratings_core.online.games import UNIT, check_pair, result_of, scoring, side_means, zero
from ratings_core.online.noise import checked_seed, normal_pair
from ratings_core.online.plain import CheckedSettings
from ratings_core.online.prequential import Prequential, record, settle
from ratings_core.online.reading import Reading, plain_reading
from ratings_core.online.soft_reset import checked_keep, shrunk
from ratings_core.online.state import OnlineState
from ratings_core.online.trace import RatingTrace, Tracing, average_expected, tracing
from ratings_core.records.games import games_of
from ratings_core.records.outcomes import MAX_SIDES, OutcomeBatch

_MAX_K: Final = 1e6
_MAX_RATING: Final = 1e9
_MAX_DIMENSIONS: Final = 64
_MIN_SCALE: Final = 1e-6
_MAX_SPREAD: Final = 1.0
_FURTHEST: Final = 10.0
"""Bound of a vector's numbers, for log odds of up to 200 per plane. Long steps (a large weight or rate) would
double the numbers without end.
"""
_NOTHING: Final = 1e-12
"""Planes smaller than this, relative to the sum of squares of all vectors, contain only rounding errors."""


class MeloState(OnlineState):
    """As `OnlineState`, with a vector for each agent, whose numbers are within +-10. dimensions: its length."""

    COLUMNS: ClassVar[Mapping[str, DTypeLike]] = MappingProxyType({"rating": np.float64, "vector": np.float64, "outcomes": np.int64})

    __slots__ = ()

    def __init__(self, dimensions: int = 2) -> None:
        super().__init__({"vector": (dimensions,)})

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """As `OnlineState.from_arrays`. Also raises `InputError` for numbers beyond +-10, which no fold
        produces: products could overflow.
        """
        state = super().from_arrays(arrays)
        if (most := float(np.abs(state.vector).max(initial=0.0))) > _FURTHEST:
            raise InputError("arrays['vector']", most, f"must be within +-{_FURTHEST:g}")
        return state

    @property
    def vector(self) -> NDArray[np.float64]:
        """Vector of each agent: float64 (n, 2k), a view like `rating`."""
        return cast("NDArray[np.float64]", self.column("vector"))


@dataclass(frozen=True, slots=True)
class Skills:
    """Result of `Melo.orthogonal`.

    rating: float64 (n,), points; vector: float64 (n, 2k), planes in columns 0 and 1, 2 and 3, ..., largest first.
    """

    rating: NDArray[np.float64]
    vector: NDArray[np.float64]


@dataclass(frozen=True)
class Melo(CheckedSettings):
    """Elo with log odds slope (r_a - r_b) + sum over planes of c_a0 c_b1 - c_a1 c_b0 (eq. 13): the second term can be a cycle.

    An outcome of n sides counts as its n(n-1)/2 pairs, all with the state before the outcome. With S - E of each pair as in `Elo`, each
    member of a side moves its rating by k weight/(n - 1) sum(S - E). It moves its vector by rate weight/(n - 1) sum((S - E) (c_b1, -c_b0)),
    the gradient of the log odds by this vector (appendix E). A side has the mean of its members' ratings and vectors.

    Vectors start at `spread` times standard normal deviates keyed by the seed and the agent's id, because vectors of 0 would never move.
    The source keeps the vectors orthogonal while it learns. Here the fold does not; `orthogonal` makes them orthogonal when they are read,
    with the same predictions. Not in the source: the numbers of a vector stay within +-10.

    k: step of ratings, in points, 0 to 1e6. rate: step of vectors, in log odds, 0 to 1e6. scale, base: as in `Elo`. dimensions: length of a
    vector, 2k in the source: even, 2 to 64. spread: 0 to 1. start: rating before any outcome. seed: of the first vectors, 0 to 2**53.
    Raises `InputError` on settings out of range.
    """

    name: ClassVar[str] = "melo"

    k: float = 32.0
    rate: float = 0.1
    scale: float = 400.0
    base: float = 10.0
    start: float = 1500.0
    dimensions: int = 2
    spread: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        self._set("k", number("k", self.k, low=0.0, high=_MAX_K))
        self._set("rate", number("rate", self.rate, low=0.0, high=_MAX_K))
        self._set("scale", number("scale", self.scale, low=_MIN_SCALE, high=_MAX_RATING))
        self._set("base", number("base", self.base, above=1.0))
        self._set("start", number("start", self.start, low=-_MAX_RATING, high=_MAX_RATING))
        self._set("dimensions", whole("dimensions", self.dimensions, low=2))
        if self.dimensions > _MAX_DIMENSIONS or self.dimensions % 2:
            raise InputError("dimensions", self.dimensions, f"must be even, at most {_MAX_DIMENSIONS}")
        self._set("spread", number("spread", self.spread, low=0.0, high=_MAX_SPREAD))
        self._set("seed", checked_seed(self.seed))

    def init(self, n: int) -> MeloState:
        """A state of `n` agents with rating `start` and their first vectors."""
        state = MeloState(self.dimensions)
        self.grow(state, count("n", n))
        return state

    def fold(self, state: MeloState, batch: OutcomeBatch, score: Prequential | None = None, trace: RatingTrace | None = None) -> None:
        """Apply `batch` to `state` in place, as `Rater.fold` does. Also raises `InputError` for a state of other dimensions."""
        games, n = games_of(batch)
        traced = tracing(trace, batch, score)
        self._check(state)
        self.grow(state, n)
        steps = (self.k, self.rate, self._slope)
        _fold(state.rating, state.vector, state.outcomes, *games, steps, *scoring(score, games), traced)

    def log_odds(self, state: MeloState, a: int, b: int) -> float:
        """By ratings and vectors. Raises as `Rater.log_odds` does."""
        self._check(state)
        check_pair(state, a, b)
        return _log_odds(self._slope, state.rating, state.vector, a, b)

    def read(self, state: MeloState, agents: NDArray[np.int32]) -> Reading:
        """Ratings of `agents` without their vectors, as `Rater.read` does; `orthogonal` also adds the
        vectors' transitive part to ratings.
        """
        return plain_reading(MeloState.checked(state), agents)

    def orthogonal(self, state: MeloState) -> Skills:
        """The same predictions with vectors whose columns sum to 0 and are orthogonal to each other (sec. 3.1, the Schur form).

        The transitive part of the vectors' term, its mean over opponents (the divergence, sec. 2), is added to the ratings, so they depend
        on all agents. Each plane is rotated so that its longest vector points along its first axis. The source also requires vectors
        orthogonal to the ratings, which would change predictions.
        """
        self._check(state)
        if not len(state):
            return Skills(state.rating.copy(), state.vector.copy())
        centre = state.vector.mean(axis=0)
        transitive = _twisted(state.vector) @ centre
        return Skills(
            state.rating + transitive / self._slope, _planes(state.vector - centre, _NOTHING * float((state.vector * state.vector).sum()))
        )

    @property
    def forecasts(self) -> None:
        """As `Rater.forecasts`: none, because a reading has no vectors."""
        return None

    @property
    def _slope(self) -> float:
        """Log odds per rating point. The fold uses it, so it is computed by the portable log."""
        return log(self.base) / self.scale

    def grow(self, state: MeloState, n: int) -> None:
        """Make room for n agents, as `Rater.grow` does."""
        before = len(state)
        state.grow(n, {"rating": self.start, "vector": 0.0, "outcomes": 0})
        _draw(state.vector, before, np.uint64(self.seed), self.spread)

    def soft_reset(self, state: MeloState, keep: float, before: Self) -> MeloState:  # noqa: ARG002 - settings do not matter
        """As `Rater.soft_reset`. Vectors shrink by the root of `keep`, so both terms of the log odds shrink by `keep`.

        If the state has vectors of other dimensions, vectors are drawn as for newcomers.
        """
        reset = self.init(len(MeloState.checked(state)))
        reset.rating[:] = shrunk(state.rating, checked_keep(keep))
        if state.vector.shape == reset.vector.shape:
            reset.vector[:] = np.sqrt(keep) * state.vector
        return reset

    def _check(self, state: MeloState) -> None:
        if MeloState.checked(state).vector.shape[1] != self.dimensions:
            raise InputError("state", state.vector.shape, f"must hold vectors of {self.dimensions} numbers")


def _twisted(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows (c_0, c_1, ...) as (-c_1, c_0, ...). The product of a's new row with b's vector is their term in the log odds of a against b."""
    twisted = np.empty_like(vector)
    twisted[:, 0::2], twisted[:, 1::2] = -vector[:, 1::2], vector[:, 0::2]
    return twisted


def _planes(vector: NDArray[np.float64], least: float) -> NDArray[np.float64]:
    """Vectors with the same products c_a0 c_b1 - c_a1 c_b0 + ... and orthogonal columns: the thin Schur form, without planes of at most
    `least`.
    """
    q, r = np.linalg.qr(vector)
    form, turn = scipy.linalg.schur(_twisted(r) @ r.T, output="real")
    sizes = np.append(np.diag(form, 1), 0.0)
    sized_planes, at = [], 0
    while at < len(sizes):
        if abs(sizes[at]) > least:
            pair = [at, at + 1] if sizes[at] > 0 else [at + 1, at]
            sized_planes.append((float(abs(sizes[at])), (q @ turn)[:, pair] * np.sqrt(abs(sizes[at]))))
            at += 1
        at += 1
    planes = np.zeros_like(vector)
    for i, (_, plane) in enumerate(sorted(sized_planes, key=lambda one: -one[0])):
        planes[:, 2 * i : 2 * i + 2] = _turned(plane)
    return planes


def _turned(plane: NDArray[np.float64]) -> NDArray[np.float64]:
    longest = plane[np.argmax((plane * plane).sum(axis=1))]
    x, y = longest / np.sqrt((longest * longest).sum())
    return cast("NDArray[np.float64]", plane @ np.array([[x, -y], [y, x]]))


_Steps = tuple[float, float, float]
"""k, rate, slope."""
_Floats = NDArray[np.float64]


@kernel
def _draw(vector: _Floats, before: int, seed: np.uint64, spread: float) -> None:
    """Write the first vectors of the agents from id `before` on."""
    for agent in range(before, vector.shape[0]):
        for plane in range(vector.shape[1] // 2):
            x, y = normal_pair(seed, np.uint64(agent), np.uint64(plane))
            vector[agent, 2 * plane], vector[agent, 2 * plane + 1] = spread * x, spread * y


@inlined
def _log_odds(slope: float, rating: _Floats, vector: _Floats, a: int, b: int) -> float:
    x: float = slope * (rating[a] - rating[b])
    for at in range(0, vector.shape[1], 2):
        x += vector[a, at] * vector[b, at + 1] - vector[a, at + 1] * vector[b, at]
    return x


@kernel
def _fold(
    rating: _Floats, vector: _Floats, outcomes: NDArray[np.int64],
    side_start: NDArray[np.int64], place: NDArray[np.int32], agent_start: NDArray[np.int64], agent: NDArray[np.uint32],
    weight: NDArray[np.int64], steps: _Steps, scored: bool, counts: NDArray[np.int64], sums: _Floats,
    rows: NDArray[np.int32], trace: Tracing,
) -> None:  # fmt: skip
    traced, before, after, expected = trace
    mean, gain = np.empty(MAX_SIDES), np.empty(MAX_SIDES)
    centre, pull = np.empty((MAX_SIDES, vector.shape[1])), np.empty((MAX_SIDES, vector.shape[1]))
    for i in range(len(weight)):
        first, n = side_start[i], side_start[i + 1] - side_start[i]
        row = rows[i] if scored else zero()
        side_means(rating, agent_start, agent, first, n, mean)
        _centres(vector, agent_start, agent, first, n, centre)
        if traced:
            expected[first : first + n] = 0.0
        _pull(place, first, n, weight[i], mean, centre, steps[2], scored, counts, sums, row, traced, expected, gain, pull)
        if scored:
            settle(sums, row, n)
        if traced:
            average_expected(expected, first, n)
        share = weight[i] * UNIT / (n - 1)
        for side in range(n):
            for member in range(agent_start[first + side], agent_start[first + side + 1]):
                a = agent[member]
                if traced:
                    before[member] = rating[a]
                rating[a] += steps[0] * share * gain[side]
                if traced:
                    after[member] = rating[a]
                outcomes[a] += 1
                for at in range(vector.shape[1]):
                    vector[a, at] = min(max(vector[a, at] + steps[1] * share * pull[side, at], -_FURTHEST), _FURTHEST)


@inlined
def _centres(
    vector: _Floats, agent_start: NDArray[np.int64], agent: NDArray[np.uint32], first: int, n: int, centre: _Floats
) -> None:  # fmt: skip
    """Write the mean vector of the members of each side, summed in their order."""
    for side in range(n):
        begin, end = agent_start[first + side], agent_start[first + side + 1]
        for at in range(vector.shape[1]):
            total = vector[agent[begin], at]
            for member in range(begin + 1, end):
                total += vector[agent[member], at]
            centre[side, at] = total / (end - begin)


@inlined
def _pull(
    place: NDArray[np.int32], first: int, n: int, weight: int, mean: _Floats, centre: _Floats, slope: float,
    scored: bool, counts: NDArray[np.int64], sums: _Floats, row: int, traced: bool, expected: _Floats, gain: _Floats, pull: _Floats,
) -> None:  # fmt: skip
    """Write, for each side, the sums over its opponents of S - E and of S - E times the gradient by its vector."""
    gain[:n] = 0.0
    pull[:n] = 0.0
    for i in range(n):
        for j in range(i + 1, n):
            x, result = _log_odds(slope, mean, centre, i, j), result_of(place[first + i], place[first + j])
            p = sigmoid(x)
            if scored:
                forecast = record(counts, sums, row, x, result, weight)
                if traced:
                    expected[first + i] += forecast
                    expected[first + j] += 1.0 - forecast
            miss = result - p
            gain[i] += miss
            gain[j] -= miss
            for at in range(0, centre.shape[1], 2):
                pull[i, at] += miss * centre[j, at + 1]
                pull[i, at + 1] -= miss * centre[j, at]
                pull[j, at] -= miss * centre[i, at + 1]
                pull[j, at + 1] += miss * centre[i, at]
