"""Score tables as ballots: for each pair of agents, the number of tasks won, lost and tied.

The sum over tasks of the squared number of measured agents is much larger than the number of pairs. The counts are therefore computed in
blocks of rows of the dense (agents, agents) matrix. This needs no hashing, and the block size limits the memory.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratings_core.kernels.compile import kernel
from ratings_core.tallies.pair_counts import PairCounts

BLOCK_CELLS: Final = 1 << 22
"""Number of matrix cells (pairs) counted at a time, with 12 bytes each."""


class _Ballots(NamedTuple):
    """Tasks in CSR form: entries start[t] to start[t+1] are the agents of task t (numbers 0 to m-1, ascending) and their mean scores."""

    start: NDArray[np.int64]
    agent: NDArray[np.int64]
    mean: NDArray[np.float64]


def ballot_pairs(
    agent: NDArray[np.int32], task: NDArray[np.int32], mean: NDArray[np.float64], block_cells: int = BLOCK_CELLS
) -> PairCounts:
    """Count pairs of agents over their common tasks. Each task adds 1 to the wins of the higher mean, or to the ties of equal means.

    agent, task: int32 (k,), cells sorted by (agent, task), each once; mean: float64 (k,), finite.
    """
    agents, dense = np.unique(agent, return_inverse=True)
    order = np.argsort(task, kind="stable")  # a stable sort keeps agents ascending within a task
    start = np.append(np.flatnonzero(np.diff(task[order], prepend=-1)), len(order))
    ballots = _Ballots(start, dense[order].astype(np.int64), mean[order])
    height = max(1, block_cells // max(1, len(agents)))
    blocks = [_block(ballots, low, min(low + height, len(agents)), len(agents)) for low in range(0, len(agents), height)]
    columns = [np.concatenate(column) for column in zip(*blocks, strict=True)] if blocks else [np.zeros(0, np.int64)] * 5
    first, second, wins, losses, ties = columns
    return PairCounts(agents[first], agents[second], *(column.astype(np.float64) for column in (wins, losses, ties)))


def _block(ballots: _Ballots, low: int, high: int, m: int) -> tuple[NDArray[np.int64], ...]:
    counts = np.zeros((high - low, m, 3), np.int32)
    _count(ballots, low, high, counts)
    first, second = np.nonzero(counts.any(axis=2))
    return first + low, second, *counts[first, second].T


@kernel
def _count(ballots: _Ballots, low: int, high: int, counts: NDArray[np.int32]) -> None:
    """Add to counts[a - low, b] the wins, losses and ties of a against b, for low <= a < high and a < b."""
    for t in range(len(ballots.start) - 1):
        begin, end = ballots.start[t], ballots.start[t + 1]
        i = begin + np.searchsorted(ballots.agent[begin:end], low)
        while i < end and ballots.agent[i] < high:
            mean, row = ballots.mean[i], counts[ballots.agent[i] - low]
            for j in range(i + 1, end):
                other = ballots.mean[j]
                row[ballots.agent[j], 0] += mean > other
                row[ballots.agent[j], 1] += mean < other
                row[ballots.agent[j], 2] += mean == other
            i += 1
