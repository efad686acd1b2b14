"""The distance |u| of two agents on a task, corrected for chance: the absolute value of a noisy mean is too large, and 1 after one vote."""

import numpy as np

from ratings_core.solution import Floats


def denoised(u: Floats, games: Floats, decided: Floats, kappa: float = 0.0) -> Floats:
    """Estimate |u| from means of few games, (tasks, n, n), symmetric, at most the observed |u|.

    u: as `preferences` returns it, (ahead + kappa (2q - 1)) / (games + kappa), where q is treated as the true chance; games: number of
    games of each pair; decided: number of games with a winner. A result is -1, 0 or 1, so its variance is d - u**2, where d is the share of
    decided games. The variance of a mean of n results is r (d - u**2) with r = n / (n + kappa)**2. Hence (u**2 - r d) / (1 - r) is an
    unbiased estimate of the square. The answer is 0 if this estimate is negative, and after one game without a prior. For equal agents, the
    square root is still too large, by about half as much as the observed |u|.
    """
    played = np.where(games > 0, games, 1.0)
    noise = np.where(games > 0, games / (played + kappa) / (played + kappa), 0.0)
    left = 1.0 - noise
    square = np.divide(u * u - noise * decided / played, left, out=np.zeros_like(u), where=left > 0)
    return np.asarray(np.minimum(np.sqrt(np.maximum(square, 0.0)), np.abs(u)), np.float64)
