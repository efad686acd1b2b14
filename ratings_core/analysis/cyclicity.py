"""How cyclic a pool is: the share of what outcomes say that no ratings can, freed of noise."""

from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ratings_core import checks
from ratings_core.analysis.hodge import Hodge, hodge
from ratings_core.batch.bradley_terry import BradleyTerryOptions, bradley_terry
from ratings_core.solution import Floats
from ratings_core.tallies.pair_counts import PairCounts

LARGEST_LOGIT: Final = 12.0
"""Pairs further apart by the fit have no variance left to weigh by."""


def cyclicity(counts: PairCounts, agents: int, *, prior: float = 0.5) -> Hodge:
    """The Hodge decomposition of outcomes in logits, around the Bradley-Terry fit; `share` is the pool's cyclicity.

    counts: of agents 0 to agents - 1; a tie is half a win for both. Logits of few games are biased and infinite after a sweep, so each
    pair's flow is the fit's working response, r(a) - r(b) + (points - expected) / (n p q), of weight n p q: its noise has
    variance 1 over the weight, its weighted residuals are Pearson's, and nothing is left over when a Bradley-Terry model holds. (Of
    mean results instead, a strong field would look cyclic, as results saturate.) Ties vary less than wins and losses, so with many of
    them the share is too low; where hardly any pair met twice it is too high, by a tenth or so.

    prior: tied games of each agent against an anchor, which keep the fit finite and bend it a little. Raises `InputError`, and
    `SolverError` from the fit.
    """
    size = checks.count("agents", agents, low=2)
    wins, ties = checks.instance("counts", counts, PairCounts).sparse(size)
    fit = bradley_terry(wins, ties, options=BradleyTerryOptions(prior=checks.number("prior", prior, above=0.0), scale=1.0, centre=0.0))
    games = counts.wins + counts.losses + counts.ties
    met = games > 0
    a, b, games = counts.first[met], counts.second[met], games[met]
    points = (counts.wins + counts.ties / 2)[met]
    logit = np.clip(fit.ratings[a] - fit.ratings[b], -LARGEST_LOGIT, LARGEST_LOGIT)
    p = 1 / (1 + np.exp(-logit))
    weight = games * p * (1 - p)
    flow = logit + (points - games * p) / weight
    return hodge(_both(flow, a, b, size, sign=-1), _both(weight, a, b, size, sign=1), noise=1.0)


def _both(values: Floats, a: NDArray[np.int32], b: NDArray[np.int32], size: int, sign: int) -> checks.Sparse:
    half = sparse.csr_array((values, (a, b)), shape=(size, size))
    return sparse.csr_array(half + sign * half.T)
