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
from ratings_core.analysis.majority_tests import proven_majorities
from ratings_core.analysis.order_violations import OrderViolations, order_violations
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

    connectivity: of the comparison graph. violations: what the best order contradicts of the head-to-head majorities. unexplained: share of
    the outcomes' information that one strength for each agent (Bradley-Terry) cannot represent, 0 to 1, corrected for noise; cycles are one
    cause of it, results that saturate another; None if it is not identifiable. no_unexplained: the reason if it is None, else None.
    divergence: certificate of the decomposition behind it. strongest: majority cycles without common agents: those whose majorities are all
    proven, then others, each strongest first. proven: number of the first ones that are proven (`proven_majorities`); None if results
    cannot be tested. cycles: the strongest cycle of each level of iterated lotteries, None without levels. exact: groups of exact clones by
    margins; near: pairs with similar mean results, None for pools of more than 1,000 agents. flip: the fewest votes whose removal changes
    the top; None if all agents are at the top.
    """

    connectivity: Connectivity
    violations: OrderViolations
    unexplained: float | None
    no_unexplained: str | None
    divergence: float
    strongest: tuple[Cycle, ...]
    proven: int | None
    cycles: tuple[Cycle | None, ...] | None
    exact: tuple[tuple[int, ...], ...]
    near: tuple[NearClones, ...] | None
    flip: Flip | None


def insight(
    counts: PairCounts,
    agents: int,
    *,
    two_sided: bool,
    unit_weights: bool = True,
    levels: IteratedMaximalLotteries | None = None,
    radius: float = 0.05,
) -> Insight:
    """Analyse the tallies of a pool.

    counts: pair counts of agents 0 to agents - 1; two_sided: whether every outcome had two sides, so that a vote is a single pair;
    unit_weights: whether all outcomes had weight 1, so that majorities can be tested; levels: iterated maximal lotteries of the same
    margins; radius: largest difference of mean results between near clones. A mean result is from -1 to 1, and 0 for pairs that never met.
    Raises `InputError`.
    """
    size = checks.count("agents", agents, low=2)
    if levels is not None and len(checks.instance("levels", levels, IteratedMaximalLotteries).ratings) != size:
        raise InputError("levels", len(levels.ratings), f"must be for the same {size} agents")
    wins, ties = checks.instance("counts", counts, PairCounts).sparse(size)
    margins = scipy.sparse.csr_array(wins - wins.T)
    parts = cyclicity(counts, size)
    proven = _proven_cycles(counts, size) if checks.switch("unit_weights", unit_weights) else ()
    others = np.setdiff1d(np.arange(size), [agent for cycle in proven for agent in cycle.agents])
    return Insight(
        connectivity=connectivity(counts, size),
        violations=order_violations(margins),
        unexplained=parts.share,
        no_unexplained=parts.reason,
        divergence=parts.certificate.value,
        strongest=(*proven, *strongest_cycles(margins, CYCLES - len(proven), others)),
        proven=len(proven) if unit_weights else None,
        cycles=None if levels is None else level_cycles(margins, levels),
        exact=exact_clones(margins),
        near=near_clones(_mean_results(wins, ties), radius) if size <= NEAR_AGENTS else None,
        flip=flip_top_of_margins(margins, two_sided=two_sided),
    )


def _proven_cycles(counts: PairCounts, size: int) -> tuple[Cycle, ...]:
    """The strongest cycles of proven majorities."""
    proven = proven_majorities(counts)
    first, second, margin = counts.first[proven], counts.second[proven], (counts.wins - counts.losses)[proven]
    half = scipy.sparse.csr_array((margin, (first, second)), shape=(size, size))
    return strongest_cycles(half - half.T, CYCLES)


def _mean_results(wins: checks.Sparse, ties: checks.Sparse) -> Floats:
    games = np.asarray((wins + wins.T + ties).toarray())
    return np.asarray((wins - wins.T).toarray() / np.where(games > 0, games, 1.0))
