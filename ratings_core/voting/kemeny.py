"""Kemeny's method: the order that agrees with the most pairwise votes.

If a beats b, and both are in different strong components of the graph of victories, then a is ahead of b in every best order. Each
component is therefore ordered separately: up to 20 agents by dynamic programming, which gives all best orders; more agents by linear
programs with cuts and branching, which give one order.
"""

import time
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ratings_core import checks
from ratings_core.errors import SolverError
from ratings_core.graphs import members
from ratings_core.ranking import Ranking
from ratings_core.solution import Certificate, Floats, Status
from ratings_core.voting.condorcet import majority_components
from ratings_core.voting.kemeny_cuts import good_order
from ratings_core.voting.kemeny_search import gain_of
from ratings_core.voting.kemeny_subsets import MOST_AGENTS, best_orders
from ratings_core.voting.ties import Ints, Mask, TieRule, Voted, layers, linear, priority

_CUT_AGENTS: Final = 200
"""Largest component ordered by linear programs, which have k (k - 1)/2 variables and up to k**3/6 cuts for k agents."""
_EXACT: Final = 1e-10


@dataclass(frozen=True, slots=True, kw_only=True)
class Kemeny(Voted):
    """ratings: the paper's score, the sum of N(a, b) over agents below plus half the sum over tied agents.

    order: int64 (m,), a best order of all agents, or the best order known if no proof was completed; value: sum of N(a, b) over all a
    before b in `order` (VasE's Kemeny value); bound: upper bound of the value of any order; unique: whether `order` is the only best order,
    None (unknown) if a component has more than 20 agents; components: their sizes, best first.
    """

    order: Ints
    value: float
    bound: float
    unique: bool | None
    components: tuple[int, ...]


def kemeny(wins: ArrayLike, *, ties: TieRule = "keep", most_programs: int = 100, accept_approximate: bool = False) -> Kemeny:
    """Kemeny-Young (Kemeny 1959; Young and Levenglick 1978; VasE, app. C.2.6): an order with the largest sum of N(a, b), a before b.

    wins: N (m, m), nonnegative: votes for a over b. If only margins are known, pass their positive part; the order is the same, and the
    value counts margins.

    The result is exact if all components of the graph of strict victories have at most 20 agents; all best orders are then computed. It is
    also exact if the search proves its order best. most_programs: largest number of linear programs for a component of 21 to 200 agents;
    the search then ends with a bound. Larger components get a good order and a fast bound. accept_approximate: return an order that is
    not proven best, with status `approximate`, instead of raising an error.

    ties: ``keep`` ranks a above b if every best order has a before b, in levels. An arbitrary order of a level's agents need not be a best
    order: in a cycle of three all agents tie, but only its rotations are best orders. ``order`` and a seed choose the best order whose
    first agent has the lowest place in the tie order, then whose second agent has, and so on. For components of more than 20 agents only
    one best order is known, so ties are not detected and the order of the agents in the roster can decide.

    The method is Condorcet consistent, but not clone consistent. Certificate (``kemeny_gap``): bound - value, divided by the sum over pairs
    of max(N(a, b), N(b, a)). Raises `InputError`, and `SolverError` with the best order if it is not proven best.
    """
    begun = time.perf_counter()
    checks.switch("accept_approximate", accept_approximate)
    N = checks.nonnegative("wins", wins)
    checks.zero_diagonal("wins", N)
    limit, place = checks.count("most_programs", most_programs, low=1), priority(ties, len(N))
    M = N - N.T
    roster = np.arange(len(N)) if place is None else place
    parts = _parts(M, roster, limit)
    order = np.array([agent for part in parts for agent in part.order], np.int64)
    levels = layers(_above(M, parts))
    solution = _result(N, parts, levels, order, ties, begun)
    if solution.status is Status.OPTIMAL or accept_approximate:
        return solution
    advice = "raise most_programs, or pass accept_approximate=True"
    raise SolverError(
        f"no order is proven optimal; the best value is {solution.value:.10g}, and its upper bound is {solution.bound:.10g}; {advice}",
        solution,
    )


class _Part(NamedTuple):
    """An ordered component. before: bool (m, m), whether a is before b in some best order; None if only one order is known."""

    order: list[int]
    gain: float
    bound: float
    before: Mask | None
    programs: int


def _parts(M: Floats, place: Ints, most_programs: int) -> list[_Part]:
    """Components, each ordered, in an order that agrees with all victories between them.

    If several components can be next, the one with the agent of the lowest `place` is chosen.
    """
    component, _ = majority_components(M)
    agents = [np.array(ids, np.int64) for ids in members(component)]
    winner, loser = np.nonzero(M > 0)
    arcs = np.unique(np.stack([component[winner], component[loser]], axis=1)[component[winner] != component[loser]], axis=0)
    waiting = np.bincount(arcs[:, 1], minlength=len(agents))
    first = np.array([place[ids].min() for ids in agents])
    parts: list[_Part] = []
    while len(parts) < len(agents):
        ready = np.flatnonzero(waiting == 0)
        chosen = ready[np.argmin(first[ready])]
        waiting[chosen] = -1
        waiting[arcs[arcs[:, 0] == chosen, 1]] -= 1
        parts.append(_ordered(M, agents[chosen], place, most_programs))
    return parts


def _ordered(M: Floats, ids: Ints, place: Ints, most_programs: int) -> _Part:
    if len(ids) == 1:
        return _Part([int(ids[0])], 0.0, 0.0, None, 0)
    within = M[np.ix_(ids, ids)]
    if len(ids) <= MOST_AGENTS:
        best = best_orders(within, place[ids])
        before = np.zeros(M.shape, np.bool_)
        before[np.ix_(ids, ids)] = best.before
        return _Part(ids[best.order].tolist(), gain_of(within, best.order), best.gain, before, 0)
    found = good_order(within, place[ids], most_programs if len(ids) <= _CUT_AGENTS else 0)
    return _Part(ids[found.order].tolist(), found.gain, found.bound, None, found.programs)


def _above(M: Floats, parts: list[_Part]) -> Mask:
    """Pairs with the same order in all best orders; pairs that follow by transitivity may be missing."""
    above = M > 0
    for part in parts:
        ids = np.array(part.order)
        block = np.ix_(ids, ids)
        above[block] = np.triu(np.ones((len(ids),) * 2, np.bool_), 1) if part.before is None else (part.before & ~part.before.T)[block]
    return np.asarray(above)


def _result(N: Floats, parts: list[_Part], levels: Ranking, order: Ints, ties: TieRule, begun: float) -> Kemeny:
    value = float(np.triu(N[np.ix_(order, order)], 1).sum())
    gap = max(0.0, sum(part.bound - part.gain for part in parts)) / 2
    share = gap / (float(np.maximum(N, N.T).sum()) / 2 or 1.0)
    ranking = levels if ties == "keep" else linear(order.tolist())
    at = np.argsort(order)
    certain = all(part.before is not None or len(part.order) == 1 for part in parts)
    return Kemeny(
        ratings=_scores(N, ranking),
        certificate=Certificate("kemeny_gap", share),
        status=Status.OPTIMAL if share <= _EXACT else Status.APPROXIMATE,
        seconds=time.perf_counter() - begun,
        stats={"programs": sum(part.programs for part in parts), "largest_component": max(len(part.order) for part in parts)},
        ranking=ranking,
        ties=ties,
        broken=() if ties == "keep" else tuple(tuple(sorted(level, key=at.__getitem__)) for level in levels.levels if len(level) > 1),
        order=order,
        value=value,
        bound=value + gap,
        unique=len(levels.levels) == len(N) if certain else None,
        components=tuple(len(part.order) for part in parts),
    )


def _scores(N: Floats, ranking: Ranking) -> Floats:
    level = ranking.level
    below, tied = level[:, None] < level, level[:, None] == level
    return np.asarray((N * below).sum(axis=1) + (N * tied).sum(axis=1) / 2)
