"""Ends of rating periods of Glicko-2 (Glickman 2013, steps 3 to 8), for one agent or for `LANES` agents at a time. For kernels."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.kernels.compile import inlined, kernel
from ratings_core.online.volatility import DELTA, LANES, SOLVED, VARIANCE, VOLATILITY, VOLATILITY_ROWS, V, new_volatilities, new_volatility

Model = tuple[float, float, float]
"""scale, tau, and the greatest variance and squared volatility in units of scale**2."""

_RATING: Final = (VOLATILITY_ROWS + 0) * LANES
_DEVIATION: Final = (VOLATILITY_ROWS + 1) * LANES
_INFORMATION: Final = (VOLATILITY_ROWS + 2) * LANES
_SURPRISE: Final = (VOLATILITY_ROWS + 3) * LANES
CLOSED_RATING: Final = (VOLATILITY_ROWS + 4) * LANES
CLOSED_DEVIATION: Final = (VOLATILITY_ROWS + 5) * LANES
CLOSED_VOLATILITY: Final = (VOLATILITY_ROWS + 6) * LANES
_NUMBERS: Final = (VOLATILITY_ROWS + 7) * LANES
_FEW: Final = 6
"""Up to this number of agents are closed one by one, which takes less time than all lanes together."""


@inlined
def new_lanes() -> NDArray[np.float64]:
    """Memory for `put` and `close_lanes`."""
    return np.ones(_NUMBERS)


@inlined
def put(
    lanes: NDArray[np.float64], i: int, rating: float, deviation: float, volatility: float, information: float, surprise: float
) -> None:
    """Write the arguments of `closed` for agent i, below `LANES`."""
    lanes[_RATING + i], lanes[_DEVIATION + i], lanes[VOLATILITY + i] = rating, deviation, volatility
    lanes[_INFORMATION + i], lanes[_SURPRISE + i] = information, surprise


@kernel
def close_lanes(lanes: NDArray[np.float64], used: int, model: Model) -> None:
    """`closed` of the first `used` agents that were `put` into `lanes`.

    The results of agent i are at `CLOSED_RATING` + i, `CLOSED_DEVIATION` + i and `CLOSED_VOLATILITY` + i.
    """
    if used <= _FEW:
        for i in range(used):
            lanes[CLOSED_RATING + i], lanes[CLOSED_DEVIATION + i], lanes[CLOSED_VOLATILITY + i] = closed(
                lanes[_RATING + i], lanes[_DEVIATION + i], lanes[VOLATILITY + i], lanes[_INFORMATION + i], lanes[_SURPRISE + i], model
            )
        return
    for i in range(LANES):
        lanes[VARIANCE + i] = square(lanes[_DEVIATION + i] / model[0])
        information = lanes[_INFORMATION + i] if lanes[_INFORMATION + i] > 0.0 else 1.0
        lanes[V + i] = 1.0 / information
        lanes[DELTA + i] = lanes[_SURPRISE + i] / information
    new_volatilities(lanes, used, model[1])
    for i in range(LANES):
        played = lanes[_INFORMATION + i] > 0.0
        rating, deviation, volatility = _after(
            lanes[_RATING + i], lanes[VARIANCE + i], lanes[SOLVED + i], lanes[_INFORMATION + i], lanes[_SURPRISE + i], model
        )
        lanes[CLOSED_RATING + i] = rating if played else lanes[_RATING + i]
        lanes[CLOSED_DEVIATION + i] = deviation if played else lanes[_DEVIATION + i]
        lanes[CLOSED_VOLATILITY + i] = volatility if played else lanes[VOLATILITY + i]


@kernel
def closed(
    rating: float, deviation: float, volatility: float, information: float, surprise: float, model: Model
) -> tuple[float, float, float]:  # fmt: skip
    """Rating, deviation and volatility after a period of these games (steps 3 to 8); unchanged if there were no games."""
    if not information > 0.0:
        return rating, deviation, volatility
    variance = square(deviation / model[0])
    solved = new_volatility(variance, volatility, 1.0 / information, surprise / information, model[1])
    return _after(rating, variance, solved, information, surprise, model)


@inlined
def grown(deviation: float, volatility: float, periods: int, model: Model) -> float:
    """The deviation after `periods` periods without a game (only step 6, in each)."""
    return float(model[0] * np.sqrt(min(square(deviation / model[0]) + periods * (volatility * volatility), model[2])))


@inlined
def square(x: float) -> float:
    """`x` times itself."""
    return x * x


@inlined
def _after(rating: float, variance: float, solved: float, information: float, surprise: float, model: Model) -> tuple[float, float, float]:
    """Steps 6 to 8. variance: before the period; solved: the solution of step 5."""
    wander = min(solved, np.sqrt(model[2]))
    before = min(variance + wander * wander, model[2])
    after = 1.0 / (1.0 / before + information)
    return rating + model[0] * (after * surprise), model[0] * np.sqrt(after), wander
