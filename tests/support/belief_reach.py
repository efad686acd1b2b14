"""How far the interval of an online method's belief reaches: docs/concepts/intervals.md, written again for arrays."""

import math
from typing import Any

import numpy as np

_MODELS = {
    "glicko2": (1500.0, 350.0, 173.7178, -0.10, 0.17, 0.18, 0.0),
    "weng_lin": (25.0, 25 / 3, math.sqrt(2) * 25 / 6, 0.16, 0.26, -0.88, -0.27),
}
"""Mean and deviation of a newcomer, points a logit, and base, distance, doubt and spread of the page, at the defaults of the methods."""


def reach(method: str, mean: Any, deviation: Any, left: Any) -> Any:
    """Half the widths of intervals. left: deviations as the last outcomes left them."""
    start, newcomer, logit, base, distance, doubt, spread = _MODELS[method]
    x, r, n = np.minimum(np.abs(mean - start) / logit, 4.0), left / newcomer, newcomer / logit
    return 1.96 * deviation * (1 + (1 - r**2) * (base + distance * x**2 + doubt * r + spread * n))
