"""Insight into a pool: cycles, clones, the comparison graph, and the number of votes that decide the top."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import scipy

from ratings_core import checks
from ratings_core.analysis.clones import NearClones, exact_clones, near_clones
from ratings_core.analysis.connectivity import Connectivity, connectivity
from ratings_core.analysis.cycles import Cycle, level_cycles, strongest_cycles
from ratings_core.analysis.cyclicity import cyclicity
from ratings_core.analysis.flips import Flip, flip_top_of_margins
from ratings_core.errors import InputError
from ratings_core.solution import Floats
from ratings_core.tallies.pair_counts import PairCounts
from ratings_core.voting.lottery_records import IteratedMaximalLotteries

NEAR_AGENTS: Final = 1_000
"""Largest number of agents for which near clones are searched, because the search compares every pair against all agents."""

CYCLES: Final = 5
"""Largest number of majority cycles in the report."""


@dataclass(frozen=True, slots=True)
class Insight:
    """Report on a pool.

    connectivity: of the comparison graph. cyclicity: share of the outcomes' information that ratings cannot represent, 0 to 1, corrected
    for noise; None if it is not identifiable. no_cyclicity: the reason if cyclicity is None, else None. divergence: certificate of the
    decomposition behind cyclicity. strongest: the strongest majority cycles without common agents, strongest first; cycles: the strongest
    cycle of each level of iterated lotteries, None without levels. exact: groups of exact clones by margins; near: pairs with similar mean
    results, None for pools of more than 1,000 agents. flip: the fewest votes whose removal changes the top; None if all agents are at the
    top.
    """

    connectivity: Connectivity
    cyclicity: float | None
    no_cyclicity: str | None
    divergence: float
    strongest: tuple[Cycle, ...]
    cycles: tuple[Cycle | None, ...] | None
    exact: tuple[tuple[int, ...], ...]
    near: tuple[NearClones, ...] | None
    flip: Flip | None


def insight(
    counts: PairCounts, agents: int, *, two_sided: bool, levels: IteratedMaximalLotteries | None = None, radius: float = 0.05
) -> Insight:
    """Analyse the tallies of a pool.

    counts: pair counts of agents 0 to agents - 1; two_sided: whether every outcome had two sides, so that a vote is a single pair; levels:
    iterated maximal lotteries of the same margins; radius: largest difference of mean results between near clones. A mean result is from
    -1 to 1, and 0 for pairs that never met. Raises `InputError`.
    """
    size = checks.count("agents", agents, low=2)
    if levels is not None and len(checks.instance("levels", levels, IteratedMaximalLotteries).ratings) != size:
        raise InputError("levels", len(levels.ratings), f"must be for the same {size} agents")
    wins, ties = checks.instance("counts", counts, PairCounts).sparse(size)
    margins = scipy.sparse.csr_array(wins - wins.T)
    parts = cyclicity(counts, size)
    return Insight(
        connectivity=connectivity(counts, size),
        cyclicity=parts.share,
        no_cyclicity=parts.reason,
        divergence=parts.certificate.value,
        strongest=strongest_cycles(margins, CYCLES),
        cycles=None if levels is None else level_cycles(margins, levels),
        exact=exact_clones(margins),
        near=near_clones(_mean_results(wins, ties), radius) if size <= NEAR_AGENTS else None,
        flip=flip_top_of_margins(margins, two_sided=two_sided),
    )


def _mean_results(wins: checks.Sparse, ties: checks.Sparse) -> Floats:
    games = np.asarray((wins + wins.T + ties).toarray())
    return np.asarray((wins - wins.T).toarray() / np.where(games > 0, games, 1.0))
