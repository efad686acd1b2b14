"""The single transferable vote with the Droop quota, and the order that winners and losers come in."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.kernels.compile import kernel
from ratings_core.ranking import Ranking
from ratings_core.solution import Certificate, Floats, Status
from ratings_core.voting.profile import Profile
from ratings_core.voting.ties import Ints, TieRule, Voted, linear, priority

Surplus: TypeAlias = Literal["fractional", "in_order"]

_CLOSE: Final = 1e-9
"""Counts closer than this share of all votes are equal: fractions of votes that should tie differ by rounding only."""


@dataclass(frozen=True, slots=True)
class Round:
    """One round. agents: who was elected or eliminated, ascending; votes: what each of them held; tied: the agents that it could also have
    hit with as many votes, themselves included, where the tie rule chose; empty where it had no choice.
    """

    elected: bool
    agents: tuple[int, ...]
    votes: float
    tied: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class STV(Voted):
    """ratings: base + votes/10**d with d the digits of all votes: 6.3 is base 6 and 3 votes of 5, 14.02 base 14 and 2 of 50.

    A winner's base is 2m - i for the i-th elected, a loser's m - i for place i among losers, i from 0, the last eliminated first
    (VasE, app. C.2.4); agents that leave in one round share the better base. scores: the paper's text "base.votes"; winners: in the
    order of their election; quota; rounds: in order; unused: votes that elected nobody.
    """

    scores: tuple[str, ...]
    winners: tuple[int, ...]
    quota: float
    rounds: tuple[Round, ...]
    unused: float


def stv(profile: Profile, winners: int | None = None, *, surplus: Surplus = "fractional", ties: TieRule = "keep") -> STV:
    """STV as VasE ranks by it (app. C.2.4): winners by when they were elected, then losers, the last eliminated first.

    winners: seats, from 1 to m, by default floor(m/2) (the paper's printed min would always give 1), at least 1. Each round elects the
    agent of most votes where that reaches the Droop quota floor(n/(seats + 1) + 1), n all votes; else it eliminates the one of
    fewest, also when few are left, so fewer than `winners` may win. Seats are filled by quota only; the rest is eliminated too.

    surplus: what a winner's votes beyond the quota do. ``fractional``: each vote that elected keeps the share of surplus in the
    winner's votes (weighted inclusive Gregory), which does not depend on the order of votes; ``in_order``: the first votes of the
    profile are used up to the quota, the rest move on whole, as the authors' program does. A vote whose top is a tie counts for
    its members evenly. A vote whose alternatives are all gone is exhausted; what a vote does not list it never reaches.

    ties: of most or of fewest votes. ``keep``: all of them leave in that round and share a rank; else one leaves, by the rule.
    Not Condorcet consistent; not clone consistent with more than one winner; not monotone; the quota is in whole votes, so the
    unit of weights matters. Certificate (``exact``): votes that were lost or made in any round, over all votes. Raises `InputError`.
    """
    begun = time.perf_counter()
    m = len(checks.instance("profile", profile, Profile).names)
    seats = max(1, m // 2) if winners is None else checks.count("winners", winners, low=1)
    if seats > m:
        raise InputError("winners", winners, f"must be at most the number of alternatives, {m}")
    checks.choice("surplus", surplus, get_args(Surplus))
    count = _Count(_Votes(profile), seats, surplus == "in_order", priority(ties, m))
    rounds = tuple(count.rounds())
    return _result(count, rounds, ties, begun)


class _Votes:
    """Which alternatives stand, and what each vote is still worth.

    at: where the best level of each vote begins that somebody stands on; value: of each vote; used: to elect; lost: most that was lost or
    made in a round; exhausted: value of votes whose alternatives are all gone.
    """

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.standing = np.ones(len(profile.names), np.bool_)
        self.at, self.value = profile.start[:-1].copy(), profile.weight.copy()
        self.used = self.lost = self.exhausted = 0.0

    def count(self) -> Floats:
        """Votes of each alternative."""
        votes, profile = np.zeros(len(self.standing)), self.profile
        self.exhausted = _tally(profile.start, profile.agent, profile.level, self.at, self.value, self.standing, votes)
        self.lost = max(self.lost, abs(float(votes.sum()) + self.exhausted + self.used - profile.voters))
        return votes

    def use(self, winners: Ints, votes: Floats, quota: float, *, in_order: bool) -> None:
        """Take the quota from the votes of winners."""
        need, profile = np.zeros(len(votes)), self.profile
        need[winners] = np.minimum(votes[winners], quota)
        self.used += float(need.sum())
        held = np.where(in_order | (votes == 0), 1.0, votes)
        _spend(profile.start, profile.agent, profile.level, self.at, self.value, self.standing, need, held, in_order)


class _Count:
    """One count. seats: to fill; place: of each alternative by the tie rule, None where ties are kept."""

    def __init__(self, votes: _Votes, seats: int, in_order: bool, place: Ints | None) -> None:
        self.votes, self.seats, self.in_order, self.place = votes, seats, in_order, place
        self.quota = votes.profile.voters // (seats + 1) + 1

    def rounds(self) -> "list[Round]":
        """All rounds, until nobody stands."""
        found: list[Round] = []
        elected = 0
        while self.votes.standing.any():
            found.append(self._round(self.votes.count(), self.seats - elected))
            elected += found[-1].elected * len(found[-1].agents)
        self.votes.count()
        return found

    def _round(self, votes: Floats, open_seats: int) -> Round:
        margin, standing = _CLOSE * self.votes.profile.voters, self.votes.standing
        most, fewest = float(votes[standing].max()), float(votes[standing].min())
        elected = open_seats > 0 and most >= self.quota - margin
        hit = np.flatnonzero(standing & (votes >= most - margin if elected else votes <= fewest + margin))
        leaving = self._chosen(hit, first=elected)
        if elected:
            self.votes.use(leaving, votes, self.quota, in_order=self.in_order)
        standing[leaving] = False
        tied = tuple(hit.tolist()) if len(hit) > len(leaving) else ()
        return Round(elected, tuple(leaving.tolist()), float(votes[leaving[0]]), tied)

    def _chosen(self, hit: Ints, *, first: bool) -> Ints:
        """All of `hit` where ties are kept; else the one whom the rule puts first (to elect) or last (to eliminate)."""
        if self.place is None:
            return hit
        place = self.place[hit]
        return hit[[int(np.argmin(place) if first else np.argmax(place))]]


def _result(count: _Count, rounds: tuple[Round, ...], ties: TieRule, begun: float) -> STV:
    m, total = len(count.votes.standing), count.votes.profile.voters
    order = [one for one in rounds if one.elected] + [one for one in reversed(rounds) if not one.elected]
    base, votes = _bases(order, m), np.zeros(m)
    for one in order:
        votes[list(one.agents)] = one.votes
    lost = count.votes.lost / (total or 1.0)
    levels = [one.agents for one in order]
    return STV(
        ratings=base + votes / 10 ** len(str(int(total))),
        certificate=Certificate("exact", lost),
        status=Status.OPTIMAL if lost <= _CLOSE else Status.FAILED,
        seconds=time.perf_counter() - begun,
        stats={"rounds": len(rounds), "tied_rounds": sum(bool(one.tied) or len(one.agents) > 1 for one in rounds)},
        ranking=linear([agent for level in levels for agent in level]) if ties != "keep" else Ranking.from_levels(levels),
        ties=ties,
        broken=tuple(tuple(sorted(one.tied, key=lambda agent: -base[agent])) for one in rounds if one.tied),
        scores=tuple(f"{int(b)}.{v:.10g}" for b, v in zip(base, votes, strict=True)),
        winners=tuple(agent for one in order if one.elected for agent in one.agents),
        quota=count.quota,
        rounds=rounds,
        unused=count.votes.exhausted,
    )


def _bases(order: Sequence[Round], m: int) -> Floats:
    """Bases by agent; order: winners' rounds, then losers' ones from the last."""
    base = np.zeros(m)
    starts = np.cumsum([0, *(len(one.agents) for one in order)])
    winners = sum(len(one.agents) for one in order if one.elected)
    for one, (begin, _) in zip(order, pairwise(starts.tolist()), strict=True):
        base[list(one.agents)] = 2 * m - begin if one.elected else m - (begin - winners)
    return base


@kernel
def _level(level: NDArray[np.int32], begin: int, end: int) -> int:
    """Where the level that starts at `begin` ends."""
    stop = begin + 1
    while stop < end and level[stop] == level[begin]:
        stop += 1
    return stop


@kernel
def _tally(
    start: NDArray[np.int64],
    agent: NDArray[np.int32],
    level: NDArray[np.int32],
    at: NDArray[np.int64],
    value: Floats,
    standing: NDArray[np.bool_],
    votes: Floats,
) -> float:
    """Moves each vote on to its best level where somebody stands (`at`), adds it to their `votes`; returns what is exhausted."""
    exhausted = 0.0
    for vote in range(len(at)):
        end, here = start[vote + 1], 0
        while at[vote] < end and here == 0:
            stop = _level(level, at[vote], end)
            for i in range(at[vote], stop):
                here += standing[agent[i]]
            if here == 0:
                at[vote] = stop
        if here == 0:
            exhausted += value[vote]
            continue
        for i in range(at[vote], _level(level, at[vote], end)):
            if standing[agent[i]]:
                votes[agent[i]] += value[vote] / here
    return exhausted


@kernel
def _spend(
    start: NDArray[np.int64],
    agent: NDArray[np.int32],
    level: NDArray[np.int32],
    at: NDArray[np.int64],
    value: Floats,
    standing: NDArray[np.bool_],
    need: Floats,
    held: Floats,
    in_order: bool,
) -> None:
    """Takes need[winner] from the votes that count for winners: the same share need/held of each, or whole votes in their order."""
    for vote in range(len(at)):
        if at[vote] == start[vote + 1]:
            continue
        stop, here, spent = _level(level, at[vote], start[vote + 1]), 0, 0.0
        for i in range(at[vote], stop):
            here += standing[agent[i]]
        for i in range(at[vote], stop):
            winner = agent[i]
            if standing[winner] and need[winner] > 0:
                part = value[vote] / here
                taken = min(part, need[winner]) if in_order else part * (need[winner] / held[winner])
                spent += taken
                if in_order:
                    need[winner] -= taken
        value[vote] = max(0.0, value[vote] - spent)
