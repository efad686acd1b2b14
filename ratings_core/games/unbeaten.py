"""The unbeaten components of the graph of victories, updated while agents are removed.

A component is a strongly connected component of the graph of victories (M(a, b) > 0). It is unbeaten if no agent outside beats a member. A
strategy that is optimal inside an unbeaten component is optimal against all agents, because its members lose to no agent outside. A removal
subtracts the removed agents' victories and splits only the remaining agents of the unbeaten components again.
"""

import numpy as np
import scipy
from numpy.typing import NDArray

from ratings_core.checks import Sparse
from ratings_core.graphs import members, strong_components


class UnbeatenComponents:
    """The remaining agents and their unbeaten components.

    `top` lists the unbeaten components of the remaining agents, each as int64 ids, ascending. margins: antisymmetric CSR (m, m) without
    stored zeros; agents that never met tie.
    """

    def __init__(self, margins: Sparse) -> None:
        m = margins.shape[0]
        self._victories = scipy.sparse.csr_array(margins > 0)
        winner, loser = (np.asarray(ids, np.int64) for ids in self._victories.nonzero())
        self._component = strong_components(winner, loser, m)
        self._members = [np.asarray(ids, np.int64) for ids in members(self._component)]
        self._beaters = np.bincount(self._component[loser[self._between(winner, loser)]], minlength=len(self._members))
        self._left = np.ones(m, np.bool_)
        self._place = np.zeros(m, np.int64)
        self._top = np.flatnonzero(self._beaters == 0).tolist()

    @property
    def top(self) -> list[NDArray[np.int64]]:
        """The unbeaten components; empty when no agent is left."""
        return [self._members[label] for label in self._top]

    @property
    def left(self) -> NDArray[np.bool_]:
        """Mask of the remaining agents, (m,)."""
        return self._left

    def remove(self, gone: NDArray[np.int64]) -> None:
        """Remove agents of the unbeaten components, at least one of each component."""
        self._left[gone] = False
        freed = self._freed(gone)
        parted = [part for label in self._top if (rest := self._rest(label)).size for part in self._part(label, rest)]
        self._top = [label for label in (*freed, *parted) if self._beaters[label] == 0]

    def _between(self, winner: NDArray[np.int64], loser: NDArray[np.int64]) -> NDArray[np.bool_]:
        return np.asarray(self._component[winner] != self._component[loser])

    def _beaten_by(self, agents: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(winner, loser) of all victories of `agents`."""
        rows = self._victories[agents]
        return np.repeat(agents, np.diff(rows.indptr)), rows.indices.astype(np.int64)

    def _freed(self, gone: NDArray[np.int64]) -> list[int]:
        """Labels of the other components that `gone` beat, after subtracting these victories from their counts."""
        winner, loser = self._beaten_by(gone)
        labels, times = np.unique(self._component[loser[self._between(winner, loser)]], return_counts=True)
        self._beaters[labels] -= times
        return [int(label) for label in labels]

    def _rest(self, label: int) -> NDArray[np.int64]:
        ids = self._members[label]
        return ids[self._left[ids]]

    def _part(self, label: int, rest: NDArray[np.int64]) -> list[int]:
        """Split the remaining agents of an unbeaten component into components, and return their labels."""
        winner, loser = self._beaten_by(rest)
        inside = (self._component[loser] == label) & self._left[loser]
        self._place[rest] = np.arange(len(rest))
        winner, loser = self._place[winner[inside]], self._place[loser[inside]]
        component = strong_components(winner, loser, len(rest))
        parts = [rest[ids] for ids in members(component)]
        self._component[rest] = component + len(self._members)
        beaters = np.bincount(component[loser[component[winner] != component[loser]]], minlength=len(parts))
        labels = range(len(self._members), len(self._members) + len(parts))
        self._members.extend(parts)
        self._beaters = np.append(self._beaters, beaters)
        return list(labels)
