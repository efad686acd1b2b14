"""Majority cycles: the strongest cycles of all agents or of some agents, and the strongest cycle of each level of an iterated lottery."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.checks import Sparse
from ratings_core.errors import InputError
from ratings_core.graphs import strong_components
from ratings_core.solution import Floats
from ratings_core.voting.lottery_records import IteratedMaximalLotteries


@dataclass(frozen=True, slots=True)
class Cycle:
    """A majority cycle. agents: ids, smallest first; each beats the next, and the last beats the first; margins: of these victories."""

    agents: tuple[int, ...]
    margins: tuple[float, ...]

    @property
    def weakest(self) -> float:
        """The margin of the weakest victory: the cycle's strength."""
        return min(self.margins)


def strongest_cycle(margins: Any, among: Any = None) -> Cycle | None:
    """The cycle whose weakest victory has the largest margin; the shortest of several. None if victories form no cycle.

    margins: (m, m), antisymmetric, dense or sparse; among: ids of the agents that the cycle may contain, all by default. The margin is
    found by bisection with a graph search in each step, the shortest cycle by breadth-first search. Raises `InputError`.
    """
    M = _accepted(margins)
    ids = np.arange(M.shape[0]) if among is None else _ids(among, M.shape[0])
    return _strongest(M, ids)


def strongest_cycles(margins: Any, most: int, among: Any = None) -> tuple[Cycle, ...]:
    """Up to `most` cycles without common agents, strongest first. Each is the strongest cycle of the agents not in earlier cycles.

    margins, among: as in `strongest_cycle`. Raises `InputError`.
    """
    M, wanted = _accepted(margins), checks.count("most", most)
    free = np.zeros(M.shape[0], np.bool_)
    free[np.arange(M.shape[0]) if among is None else _ids(among, M.shape[0])] = True
    cycles: list[Cycle] = []
    while len(cycles) < wanted and (cycle := _strongest(M, np.flatnonzero(free))) is not None:
        cycles.append(cycle)
        free[list(cycle.agents)] = False
    return tuple(cycles)


def level_cycles(margins: Any, found: IteratedMaximalLotteries) -> tuple[Cycle | None, ...]:
    """The strongest cycle among the agents of each level, best level first; None for a level without a cycle.

    A cycle explains why the lottery of a level has several agents. Raises `InputError`.
    """
    M = _accepted(margins)
    checks.instance("found", found, IteratedMaximalLotteries)
    if M.shape[0] != len(found.ratings):
        raise InputError("margins", M.shape, f"must have a row for each of the {len(found.ratings)} agents in the levels")
    return tuple(_strongest(M, level.agents) for level in found.levels)


def _accepted(margins: Any) -> Sparse:
    if checks.is_sparse(margins):
        return checks.sparse_antisymmetric("margins", margins)
    return scipy.sparse.csr_array(checks.antisymmetric("margins", margins))


def _ids(among: Any, m: int) -> NDArray[np.int64]:
    given = checks.ids("among", among)
    if given.ndim != 1 or ((given < 0) | (given >= m)).any():
        raise InputError("among", among, f"must be ids from 0 to {m - 1}")
    return np.unique(given.astype(np.int64))


def _strongest(M: Sparse, ids: NDArray[np.int64]) -> Cycle | None:
    inside = scipy.sparse.csr_array(M[ids][:, ids]) if len(ids) else scipy.sparse.csr_array((1, 1))
    victories = scipy.sparse.coo_array(inside.multiply(inside > 0))
    winner, loser = (np.asarray(each, np.int64) for each in victories.coords)
    levels = np.unique(victories.data)
    low, high = 0, len(levels)  # victories of at least levels[low] form a cycle, those of at least levels[high] do not
    if not _cyclic(winner, loser, len(ids)):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        kept = victories.data >= levels[middle]
        low, high = (middle, high) if _cyclic(winner[kept], loser[kept], len(ids)) else (low, middle)
    kept = victories.data >= levels[low]
    local = _shortest(winner[kept], loser[kept], len(ids))
    agents = ids[local].tolist()
    turn = agents.index(min(agents))
    agents = agents[turn:] + agents[:turn]
    return Cycle(tuple(agents), tuple(float(M[a, b]) for a, b in zip(agents, agents[1:] + agents[:1], strict=True)))


def _cyclic(winner: NDArray[np.int64], loser: NDArray[np.int64], size: int) -> bool:
    return int(strong_components(winner, loser, size).max(initial=-1)) < size - 1


def _shortest(winner: NDArray[np.int64], loser: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """A shortest cycle of the graph, from the smallest possible start agent."""
    graph = scipy.sparse.csr_array((np.ones(len(winner)), (winner, loser)), shape=(size, size))
    beaten_by = scipy.sparse.csr_array(graph.T)
    component = strong_components(winner, loser, size)
    inside = component[winner] == component[loser]
    best: list[int] = []
    for start in np.unique(winner[inside]).tolist():
        length, before = scipy.sparse.csgraph.dijkstra(
            graph, indices=start, unweighted=True, return_predecessors=True, limit=len(best) - 2 if best else np.inf
        )
        back = _nearest_beater(beaten_by, start, length)
        if back >= 0 and (not best or length[back] + 1 < len(best)):
            best = _path(before, start, back)
            if len(best) == 3:
                break
    return np.array(best, np.int64)


def _nearest_beater(beaten_by: Sparse, start: int, length: Floats) -> int:
    """The agent that beats `start` and has the shortest path from it; -1 if no such agent is reached."""
    beaters = beaten_by.indices[beaten_by.indptr[start] : beaten_by.indptr[start + 1]]
    reached = beaters[np.isfinite(length[beaters])]
    return int(reached[np.argmin(length[reached])]) if reached.size else -1


def _path(before: NDArray[np.int32], start: int, end: int) -> list[int]:
    path = [end]
    while path[-1] != start:
        path.append(int(before[path[-1]]))
    return path[::-1]
