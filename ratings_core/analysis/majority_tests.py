"""Which head-to-head majorities are beyond chance, with a bound of the error over all pairs of a pool together."""

import numpy as np
import scipy
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.tallies.pair_counts import PairCounts


def proven_majorities(counts: PairCounts, *, error: float = 0.05) -> NDArray[np.bool_]:
    """Whether the majority of each pair is proven, bool (pairs,): with probability 1 - error, all proven majorities are right at once.

    The majority of a pair is right if its winner wins more often than it loses in the long run. It is tested by the sign test (Dixon and
    Mood 1946): without a difference, w of n decided games have Bin(n, 1/2). Ties do not count. The error is shared out among the pairs that
    could pass at all (Bonferroni's bound, after Tarone 1990): K pairs are tested at error / K each, for the smallest K such that at most K
    pairs have enough decided games to pass at error / K. The games of a pair have to be independent; different pairs may depend on each
    other, as on tasks.

    A cycle of proven majorities is therefore proven with the same error, wherever it was searched for.

    counts: results in outcomes of weight 1; error: above 0, at most 1/2. Raises `InputError`, also if a count is no whole number.
    """
    checks.instance("counts", counts, PairCounts)
    level = checks.number("error", error, above=0.0, high=0.5)
    for name, column in (("wins", counts.wins), ("losses", counts.losses)):
        if (parts := np.flatnonzero(column != np.floor(column))).size:
            raise InputError(f"counts.{name}[{parts[0]}]", float(column[parts[0]]), "must be a whole number of outcomes")
    more, fewer = np.maximum(counts.wins, counts.losses), np.minimum(counts.wins, counts.losses)
    smallest = np.exp2(1.0 - (more + fewer))  # of a pair whose decided games all had one winner
    able = np.sort(smallest)
    share = level / np.arange(1, len(able) + 1)
    fits = np.flatnonzero(np.searchsorted(able, share, side="right") <= np.arange(1, len(able) + 1))
    if not fits.size:
        return np.zeros(len(counts), np.bool_)
    chance = 2.0 * scipy.special.betainc(np.maximum(more, 1.0), fewer + 1.0, 0.5)  # P(Bin(n, 1/2) >= more), of either winner
    return np.asarray((more > fewer) & (chance <= share[fits[0]]))
