"""Levels of certified maximal lotteries of sparse margins. The lottery of a level is arbitrary, not that of largest entropy.

The unbeaten components of the remaining agents get equal shares. Each share is distributed by an optimal strategy inside the component:
a component of one agent needs no computation; a cycle is solved by `games.sparse_symmetric`. The mixture is a maximal lottery, because no
member of such a component loses to an agent outside it. Dense matrices are at most as large as a component.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from ratings_core.checks import Sparse
from ratings_core.games.face import entropy
from ratings_core.games.sparse_symmetric import SparseSolution, some_optimal_strategy
from ratings_core.games.unbeaten import UnbeatenComponents
from ratings_core.solution import Floats, Status
from ratings_core.voting.lottery_records import Level

_ALONE = SparseSolution(np.ones(1), 0.0, unique=True, stats={"iterations": 0.0})


@dataclass(frozen=True, slots=True)
class _Part:
    """A component: its agents, its optimal strategy, and the largest |margin| inside (0 for one agent)."""

    agents: NDArray[np.int64]
    solution: SparseSolution
    unit: float


def any_levels(margins: Sparse, *, tolerance: float, max_iterations: int) -> Iterator[tuple[Level, dict[str, float]]]:
    """Yield the levels, best first, each with statistics of its solves. margins: antisymmetric CSR (m, m) without stored zeros.

    A level above the tolerance and all levels below it have the status `approximate`. Raises `SolverError` if the solver returns no
    strategy for a component.
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
    inside = scipy.sparse.csr_array(margins[agents][:, agents])
    inside.sort_indices()
    solution = some_optimal_strategy(inside, tolerance=tolerance, max_iterations=max_iterations)
    return _Part(agents, solution, float(np.abs(inside.data).max()))


def _level(margins: Sparse, parts: list[_Part], left: NDArray[np.bool_], above: Status, tolerance: float) -> Level:
    """Mix the strategies of the parts in equal shares, and certify the mixture against all remaining agents."""
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
    """Entries of M'p at the remaining agents that have a margin against an elected agent, and their ids. Other entries are 0."""
    rows = margins[agents]
    known = left[rows.indices]
    share = np.repeat(lottery, np.diff(rows.indptr))
    who, at = np.unique(rows.indices[known], return_inverse=True)
    return np.asarray(np.bincount(at, (share * rows.data)[known], len(who)), np.float64), who.astype(np.int64)


def _beaten(part: _Part, preferred: Floats, who: NDArray[np.int64], left: NDArray[np.bool_], least: float) -> bool:
    """Whether the lottery is preferred to every agent outside its component, so that no maximal lottery elects any of them."""
    outside = ~np.isin(who, part.agents)
    return int(outside.sum()) == int(left.sum()) - len(part.agents) and bool((preferred[outside] > least).all())


def _stats(parts: list[_Part]) -> dict[str, float]:
    solved = [part.solution.stats for part in parts if len(part.agents) > 1]
    names = ("dense", "first_order", "interior", "iterations")
    counts = {name: sum(stats.get(name, 0.0) for stats in solved) for name in names}
    return {**counts, "components": len(parts), "largest": max(len(part.agents) for part in parts)}
