"""Ranked pairs (Tideman): victories are locked from the largest margin down; a victory that closes a cycle is skipped."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ratings_core import checks
from ratings_core.kernels.compile import kernel
from ratings_core.solution import Certificate, Floats, Status
from ratings_core.voting.reachability import Bits, Reachability, join, reaches
from ratings_core.voting.schulze import widest_paths
from ratings_core.voting.ties import Ints, Mask, TieRule, Voted, layers, priority, settled

_MOST_CONTESTED: Final = 12
"""Largest number of conflicting victories of equal margin for which all outcomes are searched, by trying their subsets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedPairs(Voted):
    """ratings: the paper's score, the sum of margins of all locked victories reachable from the agent; the mean over universes.

    locked: bool (m, m), victories locked in every universe; margins: as given; universes: number of different outcomes that orders of equal
    margins allow. It is 1 if equal margins do not affect the outcome or `ties` chose an order, and 0 if there were too many outcomes and
    equal margins were locked together.
    """

    locked: Mask
    margins: Floats
    universes: int

    @property
    def edges(self) -> tuple[tuple[int, int, float], ...]:
        """Locked victories as (winner, loser, margin), largest first."""
        edges = [(a, b, float(self.margins[a, b])) for a, b in np.argwhere(self.locked).tolist()]
        return tuple(sorted(edges, key=lambda edge: (-edge[2], edge[:2])))


def ranked_pairs(margins: ArrayLike, *, ties: TieRule = "keep", universes: int = 100) -> RankedPairs:
    """Ranked pairs (Tideman 1987; VasE, app. C.2.8).

    margins: (m, m), antisymmetric. An agent is above another one if it reaches it through locked victories in every universe. Each level of
    the ranking contains the agents that no remaining agent is above. The paper's ranking removes sources one by one and does not define
    which of several sources is first.

    ties: rule for equal margins. ``keep``: each order of equal margins defines a universe (Brill and Fischer 2012). All different outcomes
    are computed if there are at most `universes` of them, and at most 12 victories of equal margin conflict. Otherwise victories of equal
    margin are locked together, except those that would close a cycle with locked victories or with each other. Both ways are anonymous and
    neutral. ``order`` or a seed: equal margins are ordered by the winner's place, then by the loser's, and remaining ties of the ranking
    by place; these rules are not neutral.

    The method is Condorcet and clone consistent if all margins differ. It takes O(m**3 / 64) per universe.

    Certificate (``unopposed_margin``): for each victory that is not counted, some chain of counted victories of at least the same margin
    should lead from its loser to its winner (Zavist and Tideman 1989). The certificate is the largest shortfall of such a chain, divided by
    the largest margin. Locked victories are counted; if equal margins were locked together, also the conflicting victories that were
    left out. Raises `InputError`.
    """
    begun = time.perf_counter()
    M = checks.antisymmetric("margins", margins)
    most, place = checks.count("universes", universes, low=1), priority(ties, len(M))
    outcomes, counted = _outcomes(M, _victories(M, place), most if place is None else 0)
    above = np.logical_and.reduce([one.reach.mask() for one in outcomes])
    ranking, broken = settled(layers(above), ties)
    gap = max(_unopposed(M, one.locked | counted) for one in outcomes) / (float(M.max()) or 1.0)
    return RankedPairs(
        ratings=np.mean([_scores(M, one) for one in outcomes], axis=0),
        certificate=Certificate("unopposed_margin", gap),
        status=Status.OPTIMAL if gap == 0 else Status.FAILED,
        seconds=time.perf_counter() - begun,
        ranking=ranking,
        ties=ties,
        broken=broken,
        locked=np.logical_and.reduce([one.locked for one in outcomes]),
        margins=M,
        universes=0 if counted.any() else len(outcomes),
    )


@dataclass(frozen=True, slots=True)
class _Victories:
    """Pairs with a positive margin, largest first. start: start index of each group that is locked together, and the end."""

    winner: Ints
    loser: Ints
    start: Ints


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Locked victories, bool (m, m), and their transitive closure `reach`."""

    locked: Mask
    reach: Reachability

    def copy(self) -> "_Outcome":
        return _Outcome(self.locked.copy(), self.reach.copy())


def _victories(M: Floats, place: Ints | None) -> _Victories:
    """Victories in groups of equal margins; with a tie order `place`, in groups of one victory."""
    winner, loser = np.nonzero(M > 0)
    margin = M[winner, loser]
    by_place = (np.zeros(len(winner)),) * 2 if place is None else (place[loser], place[winner])
    order = np.lexsort((*by_place, -margin))
    margin = margin[order]
    opens = np.ones(len(order), np.bool_) if place is not None else np.append(True, margin[1:] != margin[:-1])[: len(order)]
    return _Victories(winner[order], loser[order], np.append(np.flatnonzero(opens), len(order)))


Found: TypeAlias = tuple[list[_Outcome], Mask]


def _outcomes(M: Floats, victories: _Victories, universes: int) -> Found:
    """All outcomes of the universes, or the single outcome of locking equal margins together if there are too many.

    The mask (m, m) marks the conflicting victories that were left out in the second case.
    """
    empty = _Outcome(np.zeros(M.shape, np.bool_), Reachability.none(len(M)))
    followed: dict[bytes, _Outcome] = {}
    if universes:
        for outcome in _followed(victories, 0, empty.copy()):
            if outcome is None:
                break
            followed[outcome.locked.tobytes()] = outcome
            if len(followed) > universes:
                break
        else:
            return list(followed.values()), np.zeros(M.shape, np.bool_)
    return _together(victories, empty)


def _together(victories: _Victories, outcome: _Outcome) -> Found:
    contested = np.zeros(len(victories.winner), np.bool_)
    group = 0
    while group < len(victories.start) - 1:
        group = 1 + _locked(victories, group, outcome, contested)
    counted = np.zeros(outcome.locked.shape, np.bool_)
    counted[victories.winner[contested], victories.loser[contested]] = True
    return [outcome], counted


def _locked(victories: _Victories, group: int, outcome: _Outcome, contested: Mask) -> int:
    """Call `_lock` on the arrays of an outcome."""
    ahead, behind = outcome.reach.ahead, outcome.reach.behind
    return _lock(victories.winner, victories.loser, victories.start, group, outcome.locked, ahead, behind, contested)


def _followed(victories: _Victories, group: int, outcome: _Outcome) -> Iterator[_Outcome | None]:
    """Outcomes of locking the groups from `group` on; the same outcome may occur repeatedly. Yields None if too many victories conflict."""
    contested = np.zeros(len(victories.winner), np.bool_)
    group = _locked(victories, group, outcome, contested)
    if group == len(victories.start) - 1:
        yield outcome
        return
    if np.count_nonzero(contested) > _MOST_CONTESTED:
        yield None
        return
    edges = list(zip(victories.winner[contested].tolist(), victories.loser[contested].tolist(), strict=True))
    for chosen in _maximal(outcome, edges, []):
        yield from _followed(victories, group + 1, chosen)


def _maximal(outcome: _Outcome, edges: list[tuple[int, int]], left_out: list[tuple[int, int]]) -> Iterator[_Outcome]:
    """Extend `outcome` by each maximal acyclic subset of `edges`. These are the results of locking `edges` in all possible orders."""
    if not edges:
        if all(reaches(outcome.reach.ahead, b, a) for a, b in left_out):
            yield outcome
        return
    (a, b), rest = edges[0], edges[1:]
    if not reaches(outcome.reach.ahead, b, a):
        locked = outcome.copy()
        locked.locked[a, b] = True
        join(locked.reach.ahead, locked.reach.behind, a, b)
        yield from _maximal(locked, rest, left_out)
    yield from _maximal(outcome, rest, [*left_out, (a, b)])


def _scores(M: Floats, outcome: _Outcome) -> Floats:
    won = np.where(outcome.locked, M, 0.0).sum(axis=1)
    return np.asarray(won + outcome.reach.mask() @ won)


def _unopposed(M: Floats, counted: Mask) -> float:
    """Certificate before scaling: largest difference of an uncounted margin and the strongest opposing chain of counted victories."""
    victories, reach = _victories(M, None), Reachability.none(len(M))
    if _opposed(victories.winner, victories.loser, victories.start, counted, reach.ahead, reach.behind):
        return 0.0
    paths, _ = widest_paths(np.where(counted, M, 0.0))
    return max(0.0, float(np.where((M > 0) & ~counted, M - paths.T, 0.0).max()))


@kernel
def _opposed(winner: Ints, loser: Ints, start: Ints, counted: Mask, ahead: Bits, behind: Bits) -> bool:
    """Whether, for each uncounted victory, counted victories of at least its margin form a chain from its loser to its winner."""
    for g in range(len(start) - 1):
        for i in range(start[g], start[g + 1]):
            if counted[winner[i], loser[i]]:
                join(ahead, behind, winner[i], loser[i])
        for i in range(start[g], start[g + 1]):
            if not counted[winner[i], loser[i]] and not reaches(ahead, loser[i], winner[i]):
                return False
    return True


@kernel
def _lock(winner: Ints, loser: Ints, start: Ints, group: int, locked: Mask, ahead: Bits, behind: Bits, contested: Mask) -> int:
    """Lock the groups from `group` on, up to and including the first group with conflicting victories. Returns the index of that group.

    A victory conflicts if it closes a cycle with other victories of its group, but not with those locked before. Conflicting victories are
    marked in `contested` and not locked. Without a conflict, all groups are locked and their number is returned.
    """
    for g in range(group, len(start) - 1):
        low, high = start[g], start[g + 1]
        found = high - low > 1 and _contest(winner[low:high], loser[low:high], ahead, behind, contested[low:high])
        for i in range(low, high):
            if not contested[i] and not reaches(ahead, loser[i], winner[i]):
                locked[winner[i], loser[i]] = True
                join(ahead, behind, winner[i], loser[i])
        if found:
            return g
    return len(start) - 1


@kernel
def _contest(winner: Ints, loser: Ints, ahead: Bits, behind: Bits, contested: Mask) -> bool:
    """Mark conflicting victories of a group in `contested`; returns whether there are any.

    Such a victory closes no cycle alone, but closes one together with the group's other victories that close none alone.
    """
    onward, back = ahead.copy(), behind.copy()
    found = False
    for i in range(len(winner)):
        if not reaches(ahead, loser[i], winner[i]):
            join(onward, back, winner[i], loser[i])
    for i in range(len(winner)):
        contested[i] = reaches(onward, loser[i], winner[i]) and not reaches(ahead, loser[i], winner[i])
        found |= contested[i]
    return found
