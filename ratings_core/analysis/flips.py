"""Robustness of the top: the smallest number of votes whose removal lets another agent equal or pass the top.

Removing a vote subtracts its pairs from the margins. Reaching a tie counts as a flip, so the result does not depend on how ties are broken.
For a single pair, removing its heaviest votes first is exact. To make agent b lose to no agent, all lost pairs of b must be removed
together. This is exact if every vote is a single pair, as in 1v1 games, because no vote then affects two pairs. Otherwise a linear program
gives a lower bound and a greedy choice of votes an upper bound.
"""

import math
from dataclasses import dataclass
from typing import Any, Final

import highspy
import numpy as np
import scipy
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.errors import InputError, SolverError
from ratings_core.games.linear_program import new_model
from ratings_core.kernels.compile import kernel
from ratings_core.solution import Floats
from ratings_core.voting.copeland import condorcet_winners
from ratings_core.voting.profile import Profile

_ROUNDING: Final = 1e-7
_LEVEL: Final = 1e-12
"""A margin of at most this share of the weight of all votes is a tie, because sums of weights have rounding errors."""


@dataclass(frozen=True, slots=True)
class Flip:
    """A flip. agent: the agent that equals or passes the top; low, high: bounds of the smallest number of votes to remove.

    high is None if margins alone give no upper bound. votes: ids of `high` votes whose removal is sufficient, ascending; empty if only
    margins are known.
    """

    agent: int
    low: int
    high: int | None
    votes: tuple[int, ...]

    @property
    def exact(self) -> bool:
        """Whether the lower and upper bounds are equal."""
        return self.low == self.high


def flip_pair(profile: Profile, ahead: int, behind: int) -> Flip:
    """The fewest votes whose removal leaves `ahead` without a majority over `behind`. The number is exact, and 0 without a majority.

    A vote does not compare agents that it does not list. Raises `InputError`.
    """
    _check_agent("ahead", ahead, profile)
    _check_agent("behind", behind, profile)
    if ahead == behind:
        raise InputError("behind", behind, "must differ from ahead")
    signs = _signs(profile, behind)[:, ahead]
    return _pair(behind, -signs * profile.weight)


def flip_to(profile: Profile, agent: int) -> Flip:
    """The fewest votes whose removal leaves `agent` without a loss. If votes list more than two agents, the bounds can differ.

    Memory: votes times agents. Raises `InputError`, and `SolverError` if HiGHS does not solve the linear program of the lower bound.
    """
    _check_agent("agent", agent, profile)
    against = -_signs(profile, agent) * profile.weight[:, None]
    lost = np.flatnonzero(against.sum(axis=0) > 0)
    votes = sorted({vote for b in lost for vote in _pair(agent, against[:, b]).votes})
    if int(np.diff(profile.start).max()) <= 2 or (len(lost) <= 1 and _suffices(against, votes)):
        return Flip(agent, len(votes), len(votes), tuple(votes))
    votes = _greedy(against)
    bounding = against[:, lost] if len(lost) > 1 else against  # one lost pair alone would give no more than its own number
    return Flip(agent, max(_bound(bounding), _widest(agent, against, lost)), len(votes), tuple(votes))


def flip_top(profile: Profile) -> Flip | None:
    """The fewest votes whose removal changes the top; None if all agents are at the top.

    If an agent beats all others, the flip is the nearest opponent reaching a tie with it, and the number is exact. Otherwise the top are
    the agents without a loss, and the flip is another agent that becomes one without a loss. low: the smallest lower bound of all agents.
    Raises `SolverError` as `flip_to`.
    """
    M = checks.instance("profile", profile, Profile).margins("unknown")
    if (strong := condorcet_winners(M).strong) is not None:
        flips = [flip_pair(profile, strong, b) for b in range(len(M)) if b != strong]
    else:
        flips = [flip_to(profile, int(agent)) for agent in np.flatnonzero((M < 0).any(axis=1))]
    return _least(flips)


def flip_top_of_margins(margins: Any, *, two_sided: bool) -> Flip | None:
    """`flip_top` from margins only, for votes of weight 1. The result has no ids of votes.

    margins: (m, m), antisymmetric, dense or any scipy sparse array, wins minus losses in votes. two_sided: whether every vote is a single
    pair; the result is then exact. Otherwise removing a vote can help in one pair and harm in another. The result is then exact only if an
    agent beats all others; if not, margins give no upper bound. Raises `InputError`.
    """
    checks.switch("two_sided", two_sided)
    M = checks.sparse_antisymmetric("margins", margins) if checks.is_sparse(margins) else checks.antisymmetric("margins", margins)
    csr = scipy.sparse.csr_array(M)
    if (strong := condorcet_winners(M).strong) is not None:
        ahead = scipy.sparse.coo_array(csr[[strong]])
        return _least([Flip(int(b), _votes(gap), _votes(gap), ()) for b, gap in zip(ahead.coords[1], ahead.data, strict=True)])
    missing = scipy.sparse.csr_array(-csr.multiply(csr < 0))
    most, total = np.asarray(missing.max(axis=1).toarray()).ravel(), np.asarray(missing.sum(axis=1)).ravel()
    if two_sided:
        return _least([Flip(int(b), _votes(total[b]), _votes(total[b]), ()) for b in np.flatnonzero(total > 0)])
    return _least([Flip(int(b), _votes(most[b]), None, ()) for b in np.flatnonzero(total > 0)])


def _votes(missing: float) -> int:
    return math.ceil(missing - _ROUNDING)


def _least(flips: list[Flip]) -> Flip | None:
    if not flips:
        return None
    best = min(flips, key=lambda flip: (flip.low if flip.high is None else flip.high, flip.agent))
    return Flip(best.agent, min(flip.low for flip in flips), best.high, best.votes)


def _check_agent(argument: str, agent: int, profile: Profile) -> None:
    if checks.count(argument, agent) >= len(checks.instance("profile", profile, Profile).names):
        raise InputError(argument, agent, f"must be an id from 0 to {len(profile.names) - 1}")


def _signs(profile: Profile, agent: int) -> Floats:
    """Signs (votes, agents): 1 if the vote ranks `agent` above the other agent, -1 if below, 0 if they tie or one is unlisted."""
    signs = np.zeros((len(profile), len(profile.names)))
    _compare(profile.start, profile.agent, profile.level, agent, signs)
    return signs


def _pair(agent: int, against: Floats) -> Flip:
    """Remove votes against `agent`, heaviest first, until the pair ties. against: (votes,), weight of each, negative if for `agent`."""
    slack = _LEVEL * float(np.abs(against).sum())
    missing = float(against.sum()) - slack
    order = np.argsort(-against, kind="stable")
    taken = np.cumsum(against[order])
    needed = int(np.searchsorted(taken[: np.count_nonzero(against > 0)], missing)) + 1 if missing > 0 else 0
    return Flip(agent, needed, needed, tuple(sorted(order[:needed].tolist())))


def _widest(agent: int, against: Floats, lost: NDArray[np.int64]) -> int:
    """Lower bound: the largest number of votes that a single lost pair needs."""
    return max(_pair(agent, against[:, b]).low for b in lost)


def _suffices(against: Floats, votes: list[int]) -> bool:
    """Whether no pair is lost without `votes`. Removing a vote on many agents can lose another pair."""
    return bool((_missing(against) - against[votes].sum(axis=0) <= 0).all())


def _missing(against: Floats) -> Floats:
    """Margin that each pair lacks to a tie; at most 0 if it is not lost."""
    return np.asarray(against.sum(axis=0) - _LEVEL * np.abs(against).sum(axis=0))


def _greedy(against: Floats) -> list[int]:
    """Repeatedly remove the vote that reduces the missing margins most, then restore votes whose removal is not necessary."""
    left = _missing(against)
    free = np.ones(len(against), np.bool_)
    chosen: list[int] = []
    while (left > 0).any():
        gain = left.clip(0).sum() - (left - against).clip(0).sum(axis=1)
        vote = int(np.argmax(np.where(free, gain, -np.inf)))
        free[vote] = False
        chosen.append(vote)
        left = left - against[vote]
    for vote in sorted(chosen, key=lambda vote: float(np.abs(against[vote]).sum())):
        if (left + against[vote] <= 0).all():
            left = left + against[vote]
            chosen.remove(vote)
    return sorted(chosen)


def _bound(against: Floats) -> int:
    """Lower bound: the optimum of the linear program in which fractions of votes can be removed, rounded up."""
    missing = against.sum(axis=0)
    unit = float(missing.max())
    lp = highspy.HighsLp()
    n, rows = against.shape
    lp.num_col_, lp.num_row_ = n, rows
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = np.ones(n), np.zeros(n), np.ones(n)
    lp.row_lower_, lp.row_upper_ = missing / unit, np.full(rows, highspy.kHighsInf)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = np.arange(n + 1, dtype=np.int32) * rows
    lp.a_matrix_.index_ = np.tile(np.arange(rows, dtype=np.int32), n)
    lp.a_matrix_.value_ = (against / unit).ravel()
    model = new_model({})
    model.passModel(lp)
    model.run()
    if model.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        raise SolverError(
            f"the program of the bound on votes ended as '{model.modelStatusToString(model.getModelStatus())}'; rescale the weights"
        )
    prices = np.asarray(model.getSolution().row_dual, np.float64).clip(0)
    return int(np.ceil(_dual(against / unit, missing / unit, prices) - _ROUNDING))


def _dual(against: Floats, missing: Floats, prices: Floats) -> float:
    """Lower bound by weak duality, for any nonnegative prices: the missing margins at these prices minus each vote's value above 1."""
    return float(prices @ missing - (against @ prices - 1).clip(0).sum())


@kernel
def _compare(start: NDArray[np.int64], agent: NDArray[np.int32], level: NDArray[np.int32], chosen: int, signs: Floats) -> None:
    for vote in range(len(start) - 1):
        own = -1
        for i in range(start[vote], start[vote + 1]):
            if agent[i] == chosen:
                own = level[i]
        if own >= 0:
            for i in range(start[vote], start[vote + 1]):
                signs[vote, agent[i]] = np.sign(level[i] - own)
