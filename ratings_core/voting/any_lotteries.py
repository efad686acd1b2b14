"""Levels of certified maximal lotteries of sparse margins: some lottery of each level, not the one of largest entropy.

Every unbeaten component of the agents left gets an even share, and its own optimal strategy inside that share: alone
unbeaten agents are elected without solving anything, cycles by the program of `games.sparse_symmetric`. That is a maximal
lottery, as no member of such a component loses to anybody outside. Nothing is ever made dense beyond a component.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ratings_core.checks import Sparse
from ratings_core.games.face import entropy
from ratings_core.games.sparse_symmetric import SparseSolution, some_optimal_strategy
from ratings_core.games.unbeaten import UnbeatenComponents
from ratings_core.solution import Floats, Status
from ratings_core.voting.lottery_records import Level

_ALONE = SparseSolution(np.ones(1), 0.0, unique=True, stats={"iterations": 0.0})


@dataclass(frozen=True, slots=True)
class _Part:
    """A component: its agents, its solution, and the largest |margin| inside."""

    agents: NDArray[np.int64]
    solution: SparseSolution
    unit: float


def any_levels(margins: Sparse, *, tolerance: float, max_iterations: int) -> Iterator[tuple[Level, dict[str, float]]]:
    """Levels, best first, with counts of their solves. margins: antisymmetric CSR without stored zeros.

    Raises `SolverError` where a component has no answer at all; levels below one beyond the tolerance are `approximate`.
    """
    unbeaten = UnbeatenComponents(margins)
    status = Status.OPTIMAL
    while unbeaten.top:
        parts = [_part(margins, agents, tolerance, max_iterations) for agents in unbeaten.top]
        level = _level(margins, parts, unbeaten.left, status, tolerance)
        status = level.status
        yield level, _stats(parts)
        unbeaten.remove(level.agents)


def _part(margins: Sparse, agents: NDArray[np.int64], tolerance: float, max_iterations: int) -> _Part:
    if len(agents) == 1:
        return _Part(agents, _ALONE, 0.0)
    inside = sparse.csr_array(margins[agents][:, agents])
    inside.sort_indices()
    solution = some_optimal_strategy(inside, tolerance=tolerance, max_iterations=max_iterations)
    return _Part(agents, solution, float(np.abs(inside.data).max()))


def _level(margins: Sparse, parts: list[_Part], left: NDArray[np.bool_], above: Status, tolerance: float) -> Level:
    """The mix of the parts' strategies, judged against all agents left."""
    agents = np.concatenate([part.agents for part in parts])
    lottery = np.concatenate([part.solution.strategy for part in parts]) / len(parts)
    order = np.argsort(agents)
    order = order[lottery[order] > 0]
    agents, lottery = agents[order], lottery[order]
    preferred, who = _preferred(margins, agents, lottery, left)
    unit = max(part.unit for part in parts) or 1.0
    exploitability = max(0.0, -float(preferred.min(initial=0.0))) / unit
    good = above is Status.OPTIMAL and exploitability <= tolerance
    return Level(
        agents=agents,
        lottery=lottery,
        exploitability=exploitability,
        entropy=entropy(lottery),
        unique=len(parts) == 1 and parts[0].solution.unique and _beaten(parts[0], preferred, who, left, tolerance * unit),
        status=Status.OPTIMAL if good else Status.APPROXIMATE,
    )


def _preferred(margins: Sparse, agents: NDArray[np.int64], lottery: Floats, left: NDArray[np.bool_]) -> tuple[Floats, NDArray[np.int64]]:
    """M'p at the agents left that some elected one has a margin with (0 at all others), and who they are."""
    rows = margins[agents]
    known = left[rows.indices]
    share = np.repeat(lottery, np.diff(rows.indptr))
    who, at = np.unique(rows.indices[known], return_inverse=True)
    return np.asarray(np.bincount(at, (share * rows.data)[known], len(who)), np.float64), who.astype(np.int64)


def _beaten(part: _Part, preferred: Floats, who: NDArray[np.int64], left: NDArray[np.bool_], least: float) -> bool:
    """Whether the lottery is preferred to everybody outside its component, so that no maximal lottery elects any of them."""
    outside = ~np.isin(who, part.agents)
    return int(outside.sum()) == int(left.sum()) - len(part.agents) and bool((preferred[outside] > least).all())


def _stats(parts: list[_Part]) -> dict[str, float]:
    solved = [part.solution.stats for part in parts if len(part.agents) > 1]
    names = ("dense", "first_order", "interior", "iterations")
    counts = {name: sum(stats.get(name, 0.0) for stats in solved) for name in names}
    return {**counts, "components": len(parts), "largest": max(len(part.agents) for part in parts)}
