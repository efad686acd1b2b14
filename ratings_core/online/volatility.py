"""The equation for a Glicko-2 volatility (Glickman 2013, step 5), in portable arithmetic and at most 40 steps.

A step depends on the one before it, so a processor waits during most of a solve. `new_volatilities` takes the same steps for `LANES`
agents at a time, in loops that are compiled to vector instructions: the same bits in about a fifth of the time.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.kernels.compile import inlined, kernel
from ratings_core.kernels.portable import EXP_PLAIN, MIN_NORMAL, exp, log, plain_exp, plain_log

_STEPS: Final = 40
"""Largest number of steps; about five are usual. The last step depends only on the numbers, so it is the same on every machine."""
_STILL: Final = 2.0**-50
"""The iteration ends at a step this small, relative to |x| or 1, whichever is larger."""
_GREATEST: Final = float(np.finfo(np.float64).max)

LANES: Final = 32
"""Number of equations that `new_volatilities` solves at a time."""
VARIANCE: Final = 0 * LANES
VOLATILITY: Final = 1 * LANES
V: Final = 2 * LANES
DELTA: Final = 3 * LANES
SOLVED: Final = 4 * LANES
_A: Final = 5 * LANES
_F_A: Final = 6 * LANES
_B: Final = 7 * LANES
_F_B: Final = 8 * LANES
_START: Final = 9 * LANES
_KNOWN: Final = 10 * LANES
_OPEN: Final = 11 * LANES
"""1 while the iteration of a lane goes on, else 0."""
_ODD: Final = 12 * LANES
"""1 if a lane needs what only `new_volatility` does, else 0."""
VOLATILITY_ROWS: Final = 13


@kernel
def new_volatility(variance: float, volatility: float, v: float, delta: float, tau: float) -> float:
    """Sigma' for phi**2 = `variance`, sigma = `volatility`, and the period's v and delta. For kernels.

    The result is exp(x/2) for the root x of f in step 5. The root is between ln sigma**2 and the second start value of step 5, and f is
    decreasing.
    """
    start = log(volatility * volatility)
    excess = delta * delta - variance - v
    a, f_a = start, _slope(start, exp(start), start, delta, variance + v, tau)
    b = log(excess) if excess > 0.0 else start - tau
    f_b = _slope(b, exp(b), start, delta, variance + v, tau)
    while f_b < 0.0 and not excess > 0.0:  # at most tau/2 + 1 times, since f(start - k tau) > k/tau - 1/2
        b -= tau
        f_b = _slope(b, exp(b), start, delta, variance + v, tau)
    for _ in range(_STEPS):
        if f_b == 0.0 or abs(a - b) <= _STILL * max(1.0, abs(b)):
            break
        c = a + (a - b) * f_a / (f_b - f_a)
        if abs(c - b) <= _STILL * max(1.0, abs(b)):
            break
        f_c = _slope(c, exp(c), start, delta, variance + v, tau)
        if f_c * f_b <= 0.0:
            a, f_a = b, f_b
        else:
            f_a *= 0.5
        b, f_b = c, f_c
    return np.float64(exp(0.5 * b))


@kernel
def new_volatilities(lanes: NDArray[np.float64], used: int, tau: float) -> None:
    """`new_volatility` of `LANES` agents. For kernels.

    The loops have one array, rows at constant distances, and a constant number of lanes: LLVM compiles such loops to vector instructions.
    Where an argument of exp or log is outside the range of `plain_exp` or `plain_log`, or the second start value of step 5 has to be
    searched, the lane is solved by `new_volatility`.

    Args:
        lanes: float64 (k,), at least `VOLATILITY_ROWS` rows of `LANES` numbers. Lane i has its arguments at `VARIANCE` + i,
            `VOLATILITY` + i, `V` + i and `DELTA` + i, and its result at `SOLVED` + i.
        used: Number of lanes whose results are wanted. The others may have any numbers.
        tau: As for `new_volatility`.
    """
    _begin(lanes, tau)
    for _ in range(_STEPS):
        if not _step(lanes, tau):
            break
    for i in range(LANES):
        lanes[SOLVED + i] = plain_exp(0.5 * lanes[_B + i])
    for i in range(used):
        if lanes[_ODD + i] != 0.0:
            lanes[SOLVED + i] = new_volatility(lanes[VARIANCE + i], lanes[VOLATILITY + i], lanes[V + i], lanes[DELTA + i], tau)


@inlined
def _begin(lanes: NDArray[np.float64], tau: float) -> None:
    """Write the start values of the iteration."""
    for i in range(LANES):
        delta, known = lanes[DELTA + i], lanes[VARIANCE + i] + lanes[V + i]
        square = lanes[VOLATILITY + i] * lanes[VOLATILITY + i]
        start = plain_log(square)
        excess = delta * delta - lanes[VARIANCE + i] - lanes[V + i]
        far = plain_log(excess)
        b = far if excess > 0.0 else start - tau
        f_b = _slope(b, plain_exp(b), start, delta, known, tau)
        logs = (square >= MIN_NORMAL) & (square <= _GREATEST) & ((excess >= MIN_NORMAL) & (excess <= _GREATEST) | (excess <= 0.0))
        plain = logs & (abs(start) <= EXP_PLAIN) & (abs(b) <= EXP_PLAIN) & ((f_b >= 0.0) | (excess > 0.0))
        lanes[_START + i], lanes[_KNOWN + i] = start, known
        lanes[_A + i], lanes[_F_A + i] = start, _slope(start, plain_exp(start), start, delta, known, tau)
        lanes[_B + i], lanes[_F_B + i] = b, f_b
        lanes[_OPEN + i] = 1.0 if plain else 0.0
        lanes[_ODD + i] = 0.0 if plain else 1.0


@inlined
def _step(lanes: NDArray[np.float64], tau: float) -> bool:
    """Take one step in all lanes that are open. Returns whether a lane is still open."""
    for i in range(LANES):
        a, f_a, b, f_b = lanes[_A + i], lanes[_F_A + i], lanes[_B + i], lanes[_F_B + i]
        still = _STILL * max(1.0, abs(b))
        c = a + (a - b) * f_a / (f_b - f_a)
        f_c = _slope(c, plain_exp(c), lanes[_START + i], lanes[DELTA + i], lanes[_KNOWN + i], tau)
        on = (lanes[_OPEN + i] != 0.0) & ~((f_b == 0.0) | (abs(a - b) <= still) | (abs(c - b) <= still))
        plain = abs(c) <= EXP_PLAIN
        crossed = f_c * f_b <= 0.0
        lanes[_OPEN + i] = 1.0 if on & plain else 0.0
        lanes[_ODD + i] = 1.0 if on & ~plain else lanes[_ODD + i]
        lanes[_A + i] = (b if crossed else a) if on else a
        lanes[_F_A + i] = (f_b if crossed else 0.5 * f_a) if on else f_a
        lanes[_B + i] = c if on else b
        lanes[_F_B + i] = f_c if on else f_b
    most = 0.0
    for i in range(LANES):
        most = max(most, lanes[_OPEN + i])
    return most != 0.0


@inlined
def _slope(x: float, squared: float, start: float, delta: float, known: float, tau: float) -> float:
    """f(x) of step 5. squared: e**x; known: phi**2 + v."""
    total = known + squared
    return squared * (delta * delta - total) / (2.0 * total * total) - (x - start) / (tau * tau)
