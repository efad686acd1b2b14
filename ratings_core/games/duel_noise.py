"""How far apart two agents are on a task, |u|, freed of what chance adds: the size of a noisy mean is too large, 1 after a single vote."""

import numpy as np

from ratings_core.solution import Floats


def denoised(u: Floats, games: Floats, decided: Floats, kappa: float = 0.0) -> Floats:
    """|u|, estimated from means of few games, (tasks, n, n), symmetric, at most the observed |u|.

    u: as `preferences` gives it, (ahead + kappa (2q - 1)) / (games + kappa) with q taken for the truth; games: how many each pair had;
    decided: how many of them had a winner. A result is -1, 0 or 1, so its variance is d - u**2, d being the share of decided games, and
    a mean of n of them is off by r (d - u**2), r = n / (n + kappa)**2. Hence (u**2 - r d) / (1 - r) estimates the square without
    bias; where that is below 0, and after one game without a prior, the answer is 0. The root of it is still too large where
    agents are equal, about half of what it was.
    """
    played = np.where(games > 0, games, 1.0)
    noise = np.where(games > 0, games / (played + kappa) / (played + kappa), 0.0)
    left = 1.0 - noise
    square = np.divide(u * u - noise * decided / played, left, out=np.zeros_like(u), where=left > 0)
    return np.asarray(np.minimum(np.sqrt(np.maximum(square, 0.0)), np.abs(u)), np.float64)
