"""Soft reset of ratings between two seasons: ratings shrink to their mean, and deviations grow toward that of a newcomer."""

import math
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ratings_core.checks import number


def checked_keep(keep: float) -> float:
    """`keep` if it is from 0 to 1. Raises `InputError`."""
    return number("keep", keep, low=0.0, high=1.0)


def shrunk(values: NDArray[np.float64], keep: float) -> NDArray[np.float64]:
    """Values whose distances to their mean are `keep` times as large: float64 (n,).

    The mean is rounded once (`math.fsum`), so it does not depend on the order of the agents or on the processor. With `keep` 1 every value
    keeps its bits.
    """
    mean = math.fsum(values.tolist()) / len(values) if len(values) else 0.0
    return keep * values + (1.0 - keep) * mean


def widened(deviations: NDArray[np.float64], newcomer: float, keep: float) -> NDArray[np.float64]:
    """Deviations after a soft reset: float64 (n,).

    A strength after the reset is keep times the one before plus an independent part, such that an agent with the deviation of a newcomer
    keeps it. So variances are keep**2 times those before, plus 1 - keep**2 times that of a newcomer.
    """
    variances = keep * keep * (deviations * deviations) + (1.0 - keep * keep) * (newcomer * newcomer)
    return cast("NDArray[np.float64]", np.sqrt(variances))
