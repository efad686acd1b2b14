"""How far the majorities of a pool are from an order: the weight of the majorities that the best order contradicts."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import scipy
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.checks import Sparse
from ratings_core.graphs import members
from ratings_core.solution import Floats
from ratings_core.voting.condorcet import majority_components
from ratings_core.voting.kemeny_search import gain_of, packing_bound, searched_order
from ratings_core.voting.kemeny_subsets import MOST_AGENTS as EXACT_AGENTS
from ratings_core.voting.kemeny_subsets import best_orders

SEARCHED_AGENTS: Final = 1_000
"""Largest component of victories that is searched for a good order. The bound compares every three of its agents."""


@dataclass(frozen=True, slots=True)
class OrderViolations:
    """What the best order of the agents contradicts.

    share: sum of the margins of the majorities that the best order found contradicts, divided by the sum of all majorities' margins, 0 to
    1. It is 0 if, and only if, the majorities form no cycle. least: no order contradicts a smaller share; equal to `share` if the order is
    proven best, and above 0 if there is a cycle.
    """

    share: float
    least: float


def order_violations(margins: Any) -> OrderViolations:
    """The weight of the majorities that the best order contradicts: min over orders of sum max(M(b, a), 0), a before b, over all pairs.

    It is the smallest weight of a set of arcs without which the graph of victories has no cycle (minimum feedback arc set; the order is a
    minimum violations ranking of Ali, Cook and Kress 1986, and one of Kemeny's). Components of victories with at most 20 agents are ordered
    exactly, larger ones by a local search with a bound from cycles of three agents. Of a component with more than 1,000 agents, the order
    is by summed margins. Every component loses its smallest victory at least.

    margins: (m, m), antisymmetric, dense or any scipy sparse array. Raises `InputError`.
    """
    M = checks.sparse_antisymmetric("margins", margins) if checks.is_sparse(margins) else checks.antisymmetric("margins", margins)
    csr = scipy.sparse.csr_array(M)
    total = float(csr.data[csr.data > 0].sum())
    component, _ = majority_components(csr)
    parts = [np.array(ids, np.int64) for ids in members(component) if len(ids) > 1]
    found = [_violations(scipy.sparse.csr_array(csr[ids][:, ids])) for ids in parts]
    share, least = (sum(column) / total for column in zip(*found, strict=True)) if found else (0.0, 0.0)
    return OrderViolations(min(1.0, share), min(share, least))


def _violations(within: Sparse) -> tuple[float, float]:
    """Weight that the order found contradicts, and a lower bound for any order, in a component of victories."""
    size, victories = within.shape[0], within.data[within.data > 0]
    total, smallest = float(victories.sum()), float(victories.min())
    if size > SEARCHED_AGENTS:
        return _against(within, np.argsort(-np.asarray(within.sum(axis=1)).ravel(), kind="stable")), smallest
    M = within.toarray()
    if size <= EXACT_AGENTS:
        exact = (total - best_orders(M, np.arange(size)).gain) / 2
        return exact, exact
    return (total - gain_of(M, searched_order(M, np.arange(size)))) / 2, max(smallest, (total - packing_bound(M)) / 2)


def _against(within: Sparse, order: NDArray[np.int64]) -> float:
    """Weight of the victories of later over earlier agents of an order."""
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    arcs = scipy.sparse.coo_array(within)
    weight: Floats = np.asarray(arcs.data, np.float64)
    return float(weight[(weight > 0) & (place[arcs.coords[0]] > place[arcs.coords[1]])].sum())
