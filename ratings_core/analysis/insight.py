"""Insight into a pool in one record: cycles, clones, the comparison graph, and how many votes decide the top."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import sparse

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
"""Near clones compare all pairs against all others: beyond this many agents they are not looked for."""

CYCLES: Final = 5
"""Majority cycles looked for."""


@dataclass(frozen=True, slots=True)
class Insight:
    """connectivity: of the comparison graph. cyclicity: share of what outcomes say that no ratings can, 0 to 1, freed of noise; None
    where it is not identifiable, and no_cyclicity says why. cycle: the strongest majority cycle, if any; cycles: the strongest one of
    each level of iterated lotteries, None without levels. exact: groups of exact clones by margins; near: pairs whose mean
    results differ little, None in pools of more than 1,000 agents. flip: the fewest votes whose removal changes who is at the top;
    None where everybody is.
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
    """What the tallies of a pool of `agents` agents (ids below it) show.

    two_sided: every outcome had two sides, so that each vote is one pair; levels: of iterated lotteries of the same margins; radius: the
    largest difference of mean results (from -1 to 1, 0 where a pair never met) of near clones. Raises `InputError`.
    """
    size = checks.count("agents", agents, low=2)
    if levels is not None and len(checks.instance("levels", levels, IteratedMaximalLotteries).ratings) != size:
        raise InputError("levels", len(levels.ratings), f"must be of the same {size} agents")
    wins, ties = checks.instance("counts", counts, PairCounts).sparse(size)
    margins = sparse.csr_array(wins - wins.T)
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
