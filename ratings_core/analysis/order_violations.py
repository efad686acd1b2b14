"""How far the majorities of a pool are from an order: the weight of the majorities that the best order contradicts."""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.checks import Sparse
from ratings_core.graphs import members
from ratings_core.solution import Floats
from ratings_core.voting.condorcet import majority_components
from ratings_core.voting.kemeny_cuts import good_order
from ratings_core.voting.kemeny_subsets import MOST_AGENTS as EXACT_AGENTS
from ratings_core.voting.kemeny_subsets import best_orders

EXACT_STEPS: Final = 100 * (EXACT_AGENTS << EXACT_AGENTS)
"""Steps for exact orders of all components together, some seconds: k agents take k 2**k steps. Small components are first."""

PROVED_AGENTS: Final = 40
"""Largest component whose bound is improved by linear programs. One for 40 agents takes up to a tenth of a second."""

PROGRAMS: Final = 10
MOST_PROGRAMS: Final = 100
"""Linear programs for one component, and for all of them together."""

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
    minimum violations ranking of Ali, Cook and Kress 1986, and one of Kemeny's). Each component of victories is ordered by itself: up to 20
    agents exactly, more by a local search with a bound from cycles of three agents, which a few linear programs improve, and usually prove,
    for up to 40 agents. Of a component with more than 1,000 agents, the order is by summed margins. Every component loses its smallest
    victory at least. Small components are first, and those after the limits of work for all of them are searched only.

    margins: (m, m), antisymmetric, dense or any scipy sparse array. Raises `InputError`, and `SolverError` if HiGHS fails.
    """
    M = checks.sparse_antisymmetric("margins", margins) if checks.is_sparse(margins) else checks.antisymmetric("margins", margins)
    csr = scipy.sparse.csr_array(M)
    total = float(csr.data[csr.data > 0].sum())
    component, _ = majority_components(csr)
    parts = sorted((ids for ids in members(component) if len(ids) > 1), key=len)
    if not parts:
        return OrderViolations(0.0, 0.0)
    ids = np.concatenate(parts)
    blocks = scipy.sparse.csr_array(csr[ids][:, ids])  # one component after the other
    share = least = 0.0
    end, steps, programs = 0, EXACT_STEPS, MOST_PROGRAMS
    for size in map(len, parts):
        block = scipy.sparse.csr_array(blocks[end : end + size, end : end + size])
        end += size
        if size <= EXACT_AGENTS and (steps := steps - (size << size)) >= 0:
            found = _exact(block)
        else:
            found = _bounded(block, min(PROGRAMS, programs) if size <= PROVED_AGENTS else 0)
            programs -= found.programs
        smallest = float(block.data[block.data > 0].min())  # sums can lose it by rounding, and only pools without a cycle have a share of 0
        share += max(smallest, found.against) / total
        least += max(smallest, found.at_least) / total
    return OrderViolations(min(1.0, share), min(1.0, share, least))


class _Found(NamedTuple):
    """Weight that the order found of a component contradicts, a lower bound for any order, and the number of linear programs."""

    against: float
    at_least: float
    programs: int


def _exact(within: Sparse) -> _Found:
    M = within.toarray()
    against = (float(np.maximum(M, 0.0).sum()) - best_orders(M, np.arange(len(M))).gain) / 2
    return _Found(against, against, 0)


def _bounded(within: Sparse, most_programs: int) -> _Found:
    if (size := within.shape[0]) > SEARCHED_AGENTS:
        return _Found(_against(within, np.argsort(-np.asarray(within.sum(axis=1)).ravel(), kind="stable")), 0.0, 0)
    M = within.toarray()
    total, found = float(np.maximum(M, 0.0).sum()), good_order(M, np.arange(size), most_programs)
    return _Found((total - found.gain) / 2, (total - found.bound) / 2, found.programs)


def _against(within: Sparse, order: NDArray[np.int64]) -> float:
    """Weight of the victories of later over earlier agents of an order."""
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    arcs = scipy.sparse.coo_array(within)
    weight: Floats = np.asarray(arcs.data, np.float64)
    return float(weight[(weight > 0) & (place[arcs.coords[0]] > place[arcs.coords[1]])].sum())
