"""Glicko-2, online (Glickman 2013, "Example of the Glicko-2 system"): a rating, its deviation and a volatility for each agent."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ratings_core.checks import count, number
from ratings_core.errors import InputError
from ratings_core.kernels.compile import kernel
from ratings_core.online.games import Scoring, check_pair, scoring, times_of
from ratings_core.online.glicko2_fold import NEVER, THREE_OVER_PI2, Columns, damping, fold_games
from ratings_core.online.glicko2_periods import (
    CLOSED_DEVIATION,
    CLOSED_RATING,
    CLOSED_VOLATILITY,
    Model,
    close_lanes,
    grown,
    new_lanes,
    put,
)
from ratings_core.online.plain import CheckedSettings
from ratings_core.online.prequential import Prequential
from ratings_core.online.reading import Beliefs, Reading, checked_agents
from ratings_core.online.soft_reset import checked_keep, shrunk, widened
from ratings_core.online.state import OnlineState
from ratings_core.online.trace import RatingTrace, Tracing, tracing
from ratings_core.online.volatility import LANES
from ratings_core.records.beliefs import BeliefModel, Stretch
from ratings_core.records.forecasts import ForecastModel
from ratings_core.records.games import GameColumns, games_of
from ratings_core.records.outcomes import OutcomeBatch

STRETCH: Final = Stretch(-0.10, distance=0.17, doubt=0.18)
"""Calibration by simulation of pools that follow the method's own model. Deviations are too small there, because a period is one Newton
step and the errors of agents who met depend on each other. Errors are greatest far from the start, where results are nearly certain.
"""
_MAX_RATING: Final = 1e9
_MIN_SCALE: Final = 1e-6
_MAX_TIME: Final = 1e15
_MAX_PERIOD: Final = 1e12


class GlickoState(OnlineState):
    """As `OnlineState`, with the open rating period of each agent.

    rating, deviation (points) and volatility are the values at the start of the agent's period; information and surprise are sums over its
    outcomes since then; period is the number of that period, or -2**63 before the first. clock: int64 (1,), the newest period of all
    agents.

    latest: float64 (2 m,), rating and deviation of each agent after its outcomes so far, NaN if they are not known; empty unless the last
    fold had a trace. They follow from the columns and the settings of the rater that folded them, so `arrays` does not have them. Code that
    writes columns, or folds with other settings, has to call `keep_latest(wanted=False)` first.
    """

    COLUMNS: ClassVar[Mapping[str, DTypeLike]] = MappingProxyType({
        "rating": np.float64, "deviation": np.float64, "volatility": np.float64,
        "information": np.float64, "surprise": np.float64, "period": np.int64, "outcomes": np.int64,
    })  # fmt: skip

    __slots__ = ("clock", "latest")

    def __init__(self) -> None:
        super().__init__()
        self.clock: NDArray[np.int64] = np.full(1, NEVER, np.int64)
        self.latest: NDArray[np.float64] = np.empty(0)

    @property
    def nbytes(self) -> int:
        """As `OnlineState.nbytes`, with `latest`."""
        return super().nbytes + self.latest.nbytes

    def keep_latest(self, *, wanted: bool) -> None:
        """Make `latest` as long as the columns, or empty unless it is `wanted`."""
        rows = len(self._columns["rating"]) if wanted else 0
        if 2 * rows != len(self.latest):
            known = self.latest[: 2 * rows]
            self.latest = np.full(2 * rows, np.nan)
            self.latest[: len(known)] = known

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The state from its `arrays()`. Raises `InputError` if they are of another kind."""
        clock = arrays.get("clock")
        if clock is None or clock.dtype != np.int64 or clock.shape != (1,):
            raise InputError("arrays['clock']", clock, "must be int64 (1,)")
        state = super().from_arrays({name: array for name, array in arrays.items() if name != "clock"})
        state.clock[:] = clock
        return state

    def _rest(self) -> dict[str, NDArray[Any]]:
        return {"clock": self.clock.copy()}

    def columns(self) -> Columns:
        """All columns in kernel form: views, like `rating`."""
        return Columns(*(self.column(name) for name in self.COLUMNS))


@dataclass(frozen=True)
class Glicko2(CheckedSettings):
    """Ratings change at the end of a rating period, by all its games at once, with the opponents' values at the start of the period.

    A period is `period_seconds` long and counted from 1970, by pool time (the latest time so far). So a late outcome counts in the open
    period. An agent's period is closed when the agent next plays or is read; there is no scan over agents. A reading includes the agent's
    games so far. Its deviation grows by its volatility for every complete period without a game. The equation for the volatility takes at
    most 40 steps of Glickman's own (Illinois) iteration, and ends when a step changes nothing.

    The form for n sides is not in the source. Each pair of sides is a game of weight 3/(n + 1). Places of one outcome depend on each other,
    and this weight makes the variance of an agent's score among equal agents agree with the information (for two sides it is the source's).
    A team's rating is the mean of its members, with the deviation of this mean. Each of m members gets 1/m of the score and 1/m**2 of the
    information, the derivatives by its rating. An outcome of weight w counts as w games.

    Also not in the source: deviation and volatility grow at most to the deviation of a newcomer, and log odds beyond 30 count as 30.

    start, deviation, volatility: of a newcomer, the first two in points, the last per period, in units of `scale`. tau: how freely
    volatility changes, 0.001 to 10. scale: points per logit. period_seconds: 1 to 1e12. Raises `InputError` on settings out of range.
    """

    name: ClassVar[str] = "glicko2"

    start: float = 1500.0
    deviation: float = 350.0
    volatility: float = 0.06
    tau: float = 0.5
    scale: float = 173.7178
    period_seconds: float = 604_800.0

    def __post_init__(self) -> None:
        self._set("start", number("start", self.start, low=-_MAX_RATING, high=_MAX_RATING))
        self._set("scale", number("scale", self.scale, low=_MIN_SCALE, high=_MAX_RATING))
        self._set("deviation", number("deviation", self.deviation, low=self.scale * 1e-6, high=self.scale * 1e3))
        self._set("volatility", number("volatility", self.volatility, low=1e-9, high=self.deviation / self.scale))
        self._set("tau", number("tau", self.tau, low=1e-3, high=10.0))
        self._set("period_seconds", number("period_seconds", self.period_seconds, low=1.0, high=_MAX_PERIOD))

    def init(self, n: int) -> GlickoState:
        """A state of `n` newcomers."""
        state = GlickoState()
        self.grow(state, count("n", n))
        return state

    def fold(self, state: GlickoState, batch: OutcomeBatch, score: Prequential | None = None, trace: RatingTrace | None = None) -> None:
        """Apply `batch` to `state` in place, as `Rater.fold` does. Also raises `InputError` for times beyond +-1e15 seconds."""
        games, n = games_of(batch)
        traced = tracing(trace, batch, score)
        time = times_of(batch)
        if (far := np.flatnonzero(np.abs(time) > _MAX_TIME)).size:
            raise InputError(f"time[{far[0]}]", time[far[0]].item(), f"must be within +-{_MAX_TIME:g} seconds")
        self.grow(state, n)
        state.keep_latest(wanted=traced.wanted)
        _fold(*state.columns(), state.latest, state.clock, *games, time, self.period_seconds, self._model, *scoring(score, games), traced)

    def log_odds(self, state: GlickoState, a: int, b: int) -> float:
        """From all outcomes of both agents so far, with both deviations. Raises as `Rater.log_odds` does."""
        check_pair(GlickoState.checked(state), a, b)
        rating, deviation, _ = self._known(state, np.array([a, b], np.int32), int(state.clock[0]))
        (x, y), (s, t) = rating.tolist(), (deviation / self.scale).tolist()
        return float(damping(s * s + t * t) * (x - y) / self.scale)

    def read(self, state: GlickoState, agents: NDArray[np.int32], time: float | None = None) -> Reading:
        """Ratings and deviations of `agents`, as `Rater.read` does.

        time: seconds since 1970 up to which deviations grow; by default, and if it is earlier, the latest time folded.
        """
        ids = checked_agents(GlickoState.checked(state), agents)
        now = int(state.clock[0])
        if time is not None:
            now = max(now, math.floor(number("time", time, low=-_MAX_TIME, high=_MAX_TIME) / self.period_seconds))
        rating, deviation, beliefs = self._known(state, ids, now)
        return Reading(rating, deviation, state.outcomes[ids], beliefs)

    @property
    def beliefs(self) -> BeliefModel:
        """As `Rater.beliefs`: deviations grow by the volatility, up to that of a newcomer; intervals are calibrated by `STRETCH`."""
        return BeliefModel(self.deviation, period_seconds=self.period_seconds, start=self.start, logit=self.scale, stretch=STRETCH)

    @property
    def forecasts(self) -> ForecastModel:
        """As `Rater.forecasts`, for the formula of `log_odds`."""
        return ForecastModel(1.0 / self.scale, THREE_OVER_PI2 / (self.scale * self.scale))

    def _known(self, state: GlickoState, ids: NDArray[np.int32], now: int) -> tuple[NDArray[np.float64], NDArray[np.float64], Beliefs]:
        """Ratings, deviations as of period `now`, and the beliefs from which later deviations follow."""
        rating, deviation, left, wander = (np.empty(len(ids)) for _ in range(4))
        _read(state.columns(), ids.astype(np.int64), now, self._model, rating, deviation, left, wander)
        period = state.column("period")[ids]
        return rating, deviation, Beliefs(left, wander, np.where(period == NEVER, 0, period + 1))

    def soft_reset(self, state: GlickoState, keep: float, before: Self) -> GlickoState:
        """Ratings after all outcomes shrink to their mean; deviations and volatilities move toward those of a newcomer.

        Deviations are those at the newest period of the state. They continue to grow from there, unless the lengths of periods differ:
        then they grow from an agent's first outcome on.
        """
        ids = np.arange(len(GlickoState.checked(state)), dtype=np.int32)
        rating, deviation, beliefs = before._known(state, ids, int(state.clock[0]))
        volatility = beliefs.wander / before.scale
        reset, checked = self.init(len(state)), checked_keep(keep)
        played = state.column("period") != NEVER
        reset.rating[:] = shrunk(rating, checked)
        widest = widened(deviation, self.deviation, checked)
        reset.column("deviation")[:] = np.minimum(np.maximum(deviation, widest), self.deviation)
        reset.column("volatility")[played] = (checked * volatility + (1.0 - checked) * self.volatility)[played]
        if self.period_seconds == before.period_seconds:
            reset.column("period")[played] = state.clock[0]
            reset.clock[:] = state.clock
        return reset

    @property
    def _model(self) -> Model:
        widest = self.deviation / self.scale
        return self.scale, self.tau, widest * widest

    def grow(self, state: GlickoState, n: int) -> None:
        """Make room for n agents, as `Rater.grow` does."""
        newcomer = {"rating": self.start, "deviation": self.deviation, "volatility": self.volatility}
        GlickoState.checked(state).grow(n, newcomer | {"information": 0.0, "surprise": 0.0, "period": NEVER, "outcomes": 0})


_Floats = NDArray[np.float64]
_Counts = NDArray[np.int64]


@kernel
def _fold(
    rating: _Floats, deviation: _Floats, volatility: _Floats, information: _Floats, surprise: _Floats, period: _Counts, outcomes: _Counts,
    latest: _Floats, clock: _Counts, side_start: _Counts, place: NDArray[np.int32], agent_start: _Counts, agent: NDArray[np.uint32],
    weight: _Counts, time: _Floats, seconds: float, model: Model, wanted: bool, counts: _Counts, sums: _Floats, rows: NDArray[np.int32],
    trace: Tracing,
) -> None:  # fmt: skip
    """`fold_games`. A call with tuples of arrays would take a twentieth longer for one outcome."""
    columns = Columns(rating, deviation, volatility, information, surprise, period, outcomes)
    games, scoring = GameColumns(side_start, place, agent_start, agent, weight), Scoring(wanted, counts, sums, rows)
    fold_games(columns, latest, clock, games, time, seconds, model, scoring, trace)


@kernel
def _read(
    columns: Columns, agents: _Counts, now: int, model: Model, shown: _Floats, spread: _Floats, left: _Floats, wander: _Floats
) -> None:  # fmt: skip
    """Write ratings after agents' games so far, deviations as of period `now` and at the end of their period,
    and growth per period (points).
    """
    lanes = new_lanes()
    rating, deviation, volatility, information, surprise, period, _ = columns
    for begin in range(0, len(agents), LANES):
        used = min(LANES, len(agents) - begin)
        for i in range(used):
            a = agents[begin + i]
            put(lanes, i, rating[a], deviation[a], volatility[a], information[a], surprise[a])
        close_lanes(lanes, used, model)
        for i in range(used):
            a = agents[begin + i]
            shown[begin + i], left[begin + i] = lanes[CLOSED_RATING + i], lanes[CLOSED_DEVIATION + i]
            spread[begin + i], wander[begin + i] = left[begin + i], 0.0
            if period[a] != NEVER:
                wander[begin + i] = model[0] * lanes[CLOSED_VOLATILITY + i]
                if now > period[a] + 1:
                    spread[begin + i] = grown(left[begin + i], lanes[CLOSED_VOLATILITY + i], now - period[a] - 1, model)
