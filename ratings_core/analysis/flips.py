"""How many votes an answer hangs on: the least number whose removal lets somebody else draw level with or pass the top.

A vote puts agents in an order; removing it takes its pairs out of the margins. Drawing level is enough to count as a flip, so that
nothing depends on how ties are broken. One pair needs its largest votes first, which is exact. To make b lose to nobody all of b's
lost pairs must be made up at once: exact where every vote is one pair, as of 1v1 games, as then no vote serves two pairs;
else a linear program bounds the number from below and a greedy choice of votes from above.
"""

import math
from dataclasses import dataclass
from typing import Any, Final

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ratings_core import checks
from ratings_core.errors import InputError, SolverError
from ratings_core.kernels.compile import kernel
from ratings_core.solution import Floats
from ratings_core.voting.copeland import condorcet_winners
from ratings_core.voting.profile import Profile

_ROUNDING: Final = 1e-7
_LEVEL: Final = 1e-12
"""Margins within this of 0, over the weight of all votes, are level: sums of weights are rounded."""


@dataclass(frozen=True, slots=True)
class Flip:
    """agent: who draws level; low, high: bounds of the least number of votes, high None where the votes themselves are not known;
    votes: ids of `high` votes that do it, ascending.
    """

    agent: int
    low: int
    high: int | None
    votes: tuple[int, ...]

    @property
    def exact(self) -> bool:
        """Whether the bounds meet."""
        return self.low == self.high


def flip_pair(profile: Profile, ahead: int, behind: int) -> Flip:
    """The fewest votes whose removal leaves `ahead` without a majority over `behind`; exact, 0 where it has none.

    Votes say nothing about agents that they do not list. Raises `InputError`.
    """
    _check_agent("ahead", ahead, profile)
    _check_agent("behind", behind, profile)
    if ahead == behind:
        raise InputError("behind", behind, "must be another agent than ahead")
    signs = _signs(profile, behind)[:, ahead]
    return _pair(behind, -signs * profile.weight)


def flip_to(profile: Profile, agent: int) -> Flip:
    """The fewest votes whose removal leaves `agent` losing to nobody; an interval where votes list more than two agents.

    Memory: votes times agents. Raises `InputError`, and `SolverError` where HiGHS does not solve the bound.
    """
    _check_agent("agent", agent, profile)
    against = -_signs(profile, agent) * profile.weight[:, None]
    lost = np.flatnonzero(against.sum(axis=0) > 0)
    if len(lost) <= 1:
        return _pair(agent, against[:, lost[0]] if lost.size else np.zeros(len(profile)))
    if int(np.diff(profile.start).max()) <= 2:
        votes = sorted(vote for b in lost for vote in _pair(agent, against[:, b]).votes)
        return Flip(agent, len(votes), len(votes), tuple(votes))
    votes = _greedy(against)
    return Flip(agent, max(_bound(against[:, lost]), _widest(agent, against, lost)), len(votes), tuple(votes))


def flip_top(profile: Profile) -> Flip | None:
    """The fewest votes whose removal changes the top.

    Where one agent beats everybody, that is the nearest opponent drawing level, which is exact; where nobody does, another agent than
    those that lose to nobody being made to lose to nobody. low: the least of all agents' lower bounds. None where everybody is
    at the top. Raises `SolverError` as `flip_to`.
    """
    M = checks.instance("profile", profile, Profile).margins("unknown")
    if (strong := condorcet_winners(M).strong) is not None:
        found = [flip_pair(profile, strong, b) for b in range(len(M)) if b != strong]
    else:
        found = [flip_to(profile, int(agent)) for agent in np.flatnonzero((M < 0).any(axis=1))]
    return _least(found)


def flip_top_of_margins(margins: Any, *, two_sided: bool) -> Flip | None:
    """As `flip_top` from margins alone, where every vote weighs 1; without the votes' ids.

    margins: (m, m), antisymmetric, dense or any scipy sparse array, wins minus losses in votes. two_sided: no vote holds more than one
    pair, so the answer is exact; otherwise a vote may make up one pair and undo another, and only the answer for a winner over everybody
    is exact: for others margins say no upper bound. Raises `InputError`.
    """
    checks.switch("two_sided", two_sided)
    M = checks.sparse_antisymmetric("margins", margins) if checks.is_sparse(margins) else checks.antisymmetric("margins", margins)
    csr = sparse.csr_array(M)
    if (strong := condorcet_winners(M).strong) is not None:
        ahead = sparse.coo_array(csr[[strong]])
        return _least([Flip(int(b), _votes(gap), _votes(gap), ()) for b, gap in zip(ahead.coords[1], ahead.data, strict=True)])
    missing = sparse.csr_array(-csr.multiply(csr < 0))
    most, total = np.asarray(missing.max(axis=1).toarray()).ravel(), np.asarray(missing.sum(axis=1)).ravel()
    if two_sided:
        return _least([Flip(int(b), _votes(total[b]), _votes(total[b]), ()) for b in np.flatnonzero(total > 0)])
    return _least([Flip(int(b), _votes(most[b]), None, ()) for b in np.flatnonzero(total > 0)])


def _votes(missing: float) -> int:
    return math.ceil(missing - _ROUNDING)


def _least(found: list[Flip]) -> Flip | None:
    if not found:
        return None
    best = min(found, key=lambda flip: (flip.low if flip.high is None else flip.high, flip.agent))
    return Flip(best.agent, min(flip.low for flip in found), best.high, best.votes)


def _check_agent(argument: str, agent: int, profile: Profile) -> None:
    if checks.count(argument, agent) >= len(checks.instance("profile", profile, Profile).names):
        raise InputError(argument, agent, f"must be an id from 0 to {len(profile.names) - 1}")


def _signs(profile: Profile, agent: int) -> Floats:
    """(votes, agents): 1 where the vote puts `agent` above the other, -1 below, 0 where they tie or one is not listed."""
    signs = np.zeros((len(profile), len(profile.names)))
    _compare(profile.start, profile.agent, profile.level, agent, signs)
    return signs


def _pair(agent: int, against: Floats) -> Flip:
    """Largest votes against first, until they no longer outweigh the rest. against: (votes,), weight of each, negative for `agent`."""
    slack = _LEVEL * float(np.abs(against).sum())
    missing = float(against.sum()) - slack
    order = np.argsort(-against, kind="stable")
    taken = np.cumsum(against[order])
    needed = int(np.searchsorted(taken[: np.count_nonzero(against > 0)], missing)) + 1 if missing > 0 else 0
    return Flip(agent, needed, needed, tuple(sorted(order[:needed].tolist())))


def _widest(agent: int, against: Floats, lost: NDArray[np.int64]) -> int:
    """No fewer votes than any single pair needs."""
    return max(_pair(agent, against[:, b]).low for b in lost)


def _greedy(against: Floats) -> list[int]:
    """Takes the vote that makes up most of what is missing, again and again, then puts back those that were not needed."""
    left = against.sum(axis=0) - _LEVEL * np.abs(against).sum(axis=0)
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
    """The least total of removed shares of votes, rounded up."""
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
    model = highspy.Highs()
    for option, value in (("output_flag", False), ("threads", 1), ("random_seed", 0)):
        model.setOptionValue(option, value)
    model.passModel(lp)
    model.run()
    if model.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        raise SolverError(f"the bound on votes ended as '{model.modelStatusToString(model.getModelStatus())}'; rescale the weights")
    prices = np.asarray(model.getSolution().row_dual, np.float64).clip(0)
    return int(np.ceil(_dual(against / unit, missing / unit, prices) - _ROUNDING))


def _dual(against: Floats, missing: Floats, prices: Floats) -> float:
    """A lower bound by weak duality, whatever the prices: what is missing at these prices less what votes are worth beyond 1."""
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
