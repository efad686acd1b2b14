"""The equation for a Glicko-2 volatility (Glickman 2013, step 5), in portable arithmetic and at most 40 steps."""

from typing import Final

import numpy as np

from ratings_core.kernels.compile import inlined, kernel
from ratings_core.kernels.portable import exp, log

_STEPS: Final = 40
"""Largest number of steps; about ten are usual. The last step depends only on the numbers, so it is the same on every machine."""
_STILL: Final = 2.0**-50
"""The iteration ends at a step this small, relative to |x| or 1, whichever is larger."""


@kernel
def new_volatility(variance: float, volatility: float, v: float, delta: float, tau: float) -> float:
    """Sigma' for phi**2 = `variance`, sigma = `volatility`, and the period's v and delta. For kernels.

    The result is exp(x/2) for the root x of f in step 5. The root is between ln sigma**2 and the second start value of step 5, and f is
    decreasing.
    """
    start = log(volatility * volatility)
    excess = delta * delta - variance - v
    a, f_a = start, _slope(start, start, delta, variance + v, tau)
    b = log(excess) if excess > 0.0 else start - tau
    f_b = _slope(b, start, delta, variance + v, tau)
    while f_b < 0.0 and not excess > 0.0:  # at most tau/2 + 1 times, since f(start - k tau) > k/tau - 1/2
        b -= tau
        f_b = _slope(b, start, delta, variance + v, tau)
    for _ in range(_STEPS):
        if f_b == 0.0 or abs(a - b) <= _STILL * max(1.0, abs(b)):
            break
        c = a + (a - b) * f_a / (f_b - f_a)
        if abs(c - b) <= _STILL * max(1.0, abs(b)):
            break
        f_c = _slope(c, start, delta, variance + v, tau)
        if f_c * f_b <= 0.0:
            a, f_a = b, f_b
        else:
            f_a *= 0.5
        b, f_b = c, f_c
    return np.float64(exp(0.5 * b))


@inlined
def _slope(x: float, start: float, delta: float, known: float, tau: float) -> float:
    """f(x) of step 5; known: phi**2 + v."""
    squared = exp(x)
    total = known + squared
    return squared * (delta * delta - total) / (2.0 * total * total) - (x - start) / (tau * tau)
