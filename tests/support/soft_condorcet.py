"""Readable twin of a step of soft Condorcet optimization."""

from collections.abc import Collection
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ratings_core.voting.profile import Profile


def twin_gradient(profile: Profile, votes: Collection[int], theta: NDArray[np.float64], tau: float) -> NDArray[np.float64]:
    """Gradient (m,) of eq. 7 at `theta` (m,), averaged over the votes with indices `votes`."""
    gradient = np.zeros(len(theta))
    for vote in votes:
        levels = profile.ballots[vote].levels
        for above, below in combinations(levels, 2):
            for a in above:
                for b in below:
                    wrong = expit((theta[b] - theta[a]) / tau)
                    gradient[a] -= wrong * (1 - wrong) / tau
                    gradient[b] += wrong * (1 - wrong) / tau
    return gradient / len(votes)
