"""Cyclicity of a pool: the share of the decided outcomes' information that ratings cannot represent, corrected for noise.

Cycles are one cause. Results that saturate are another: where the stronger agent always wins, no finite strengths predict the results, and
the share is large without any cycle. `order_violations` is 0 there.
"""

from typing import Final

import numpy as np
import scipy
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.analysis.hodge import Hodge, hodge
from ratings_core.batch.bradley_terry import BradleyTerryOptions, bradley_terry
from ratings_core.solution import Floats
from ratings_core.tallies.pair_counts import PairCounts

LARGEST_LOGIT: Final = 12.0
"""Largest absolute difference of fitted ratings, in logits. The variance of a result at a larger difference is too small to be a weight."""


def cyclicity(counts: PairCounts, agents: int, *, prior: float = 0.5) -> Hodge:
    """Hodge decomposition of outcomes in logits, around the Bradley-Terry fit. Its `share` is the cyclicity of the pool.

    counts: pair counts of agents 0 to agents - 1. Ties are left out, because a model of ties that fails would look like cycles.
    Empirical logits of few games are biased, and infinite if one agent won all games. The flow of a pair is therefore the working response
    of the fit, r(a) - r(b) + (wins - expected) / (n p q), with weight n p q, from n decided games. Its noise has variance 1/weight, its
    weighted residuals are Pearson residuals, and its cyclic part is only noise if the Bradley-Terry model holds. (Mean results would make
    agents of very different strength look cyclic, because results saturate.) The share is about 0.1 too high if few pairs met more than
    once.

    prior: tied pseudo-games of each agent against an anchor. They keep the fit finite, with a small bias. Raises `InputError`, and
    `SolverError` from the fit.
    """
    size = checks.count("agents", agents, low=2)
    wins, _ = checks.instance("counts", counts, PairCounts).sparse(size)
    fit = bradley_terry(wins, options=BradleyTerryOptions(prior=checks.number("prior", prior, above=0.0), scale=1.0, centre=0.0))
    games = counts.wins + counts.losses
    met = games > 0
    a, b, games, won = counts.first[met], counts.second[met], games[met], counts.wins[met]
    logit = np.clip(fit.ratings[a] - fit.ratings[b], -LARGEST_LOGIT, LARGEST_LOGIT)
    p = 1 / (1 + np.exp(-logit))
    weight = games * p * (1 - p)
    flow = logit + (won - games * p) / weight
    return hodge(_both(flow, a, b, size, sign=-1), _both(weight, a, b, size, sign=1), noise=1.0)


def _both(values: Floats, a: NDArray[np.int32], b: NDArray[np.int32], size: int, sign: int) -> checks.Sparse:
    half = scipy.sparse.csr_array((values, (a, b)), shape=(size, size))
    return scipy.sparse.csr_array(half + sign * half.T)
