"""Half-widths of intervals of online methods' beliefs: the formula of docs/concepts/intervals.md, for arrays."""

import math
from typing import Any

import numpy as np

_MODELS = {
    "glicko2": (1500.0, 350.0, 173.7178, -0.10, 0.17, 0.18, 0.0),
    "weng_lin": (25.0, 25 / 3, math.sqrt(2) * 25 / 6, 0.16, 0.26, -0.88, -0.27),
}
"""Method -> mean and deviation of a new agent, rating points per logit, and the page's base, distance, doubt and spread, all at the
method's default parameters."""


def reach(method: str, mean: Any, deviation: Any, left: Any) -> Any:
    """Half-widths of intervals, in rating points.

    Args:
        method: Name of the method.
        mean: Means of beliefs (n,).
        deviation: Their present deviations (n,).
        left: Their deviations after the last outcome (n,), without the growth since then.
    """
    start, newcomer, logit, base, distance, doubt, spread = _MODELS[method]
    x, r, n = np.minimum(np.abs(mean - start) / logit, 4.0), left / newcomer, newcomer / logit
    return 1.96 * deviation * (1 + (1 - r**2) * (base + distance * x**2 + doubt * r + spread * n))
