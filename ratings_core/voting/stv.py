"""The single transferable vote (STV) with the Droop quota, and a ranking of winners and losers."""

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
"""Vote counts that differ by at most this share of all votes are equal, because sums of fractional votes have rounding errors."""


@dataclass(frozen=True, slots=True)
class Round:
    """One round. elected: whether agents were elected, else eliminated; agents: their ids, ascending; votes: the votes of each of them.

    tied: ids of all agents with equal votes among which the tie rule chose, including the chosen agent; empty if the rule was not used.
    """

    elected: bool
    agents: tuple[int, ...]
    votes: float
    tied: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class STV(Voted):
    """ratings: base + votes/10**d, where d is the number of digits of the total number of votes.

    Examples: 6.3 is base 6 with 3 of 5 votes, 14.02 is base 14 with 2 of 50 votes. The i-th elected agent has the base 2m - i, the loser at
    place i among the losers has m - i, with i from 0 and the last eliminated agent first (VasE, app. C.2.4). Agents of the same round share
    the better base. scores: the paper's text "base.votes"; winners: ids in the order of election; quota: in votes; rounds: in order;
    unused: votes exhausted at the end of the count.
    """

    scores: tuple[str, ...]
    winners: tuple[int, ...]
    quota: float
    rounds: tuple[Round, ...]
    unused: float


def stv(profile: Profile, winners: int | None = None, *, surplus: Surplus = "fractional", ties: TieRule = "keep") -> STV:
    """Rank agents by STV as in VasE (app. C.2.4): winners in the order of election, then losers, the last eliminated first.

    winners: number of seats, 1 to m; the default is floor(m/2), at least 1 (the paper's printed min would always give 1). Each round elects
    the agent with the most votes if they reach the Droop quota floor(n/(seats + 1) + 1), where n is the total number of votes. Otherwise
    the round eliminates the agent with the fewest votes. Seats are filled by quota only, even if few agents remain, so fewer than
    `winners` agents may win. After the last seat is filled, the remaining agents are eliminated in the same way.

    surplus: rule for a winner's votes above the quota. ``fractional``: each vote for the winner keeps the same share of its value, surplus
    over the winner's votes (weighted inclusive Gregory); the result does not depend on the order of the votes. ``in_order``: the first
    votes of the profile are used up to the quota and the others keep their full value, as in the authors' program. A vote with a tie at its
    top is divided equally among the tied agents. A vote is exhausted if all agents that it lists were elected or eliminated; it never
    counts for unlisted agents.

    ties: rule for agents that tie for the most or the fewest votes. ``keep``: all of them leave in the same round and share a rank. Other
    rules choose one agent. The method is not Condorcet consistent, not monotone, and not clone consistent with more than one winner. The
    quota is rounded to whole votes, so the unit of the weights affects the result. Certificate (``exact``): the largest difference between
    counted and given votes in any round, divided by all votes. Raises `InputError`.
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
    """State of the votes during a count.

    standing: bool (m,), alternatives neither elected nor eliminated; at: (n,), index of the first entry of each vote's best level with a
    standing alternative; value: (n,), remaining value of each vote; used: value used to elect; lost: largest accounting difference of a
    round; exhausted: value of votes without a standing alternative.
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
        """Reduce the value of the winners' votes by the quota, or by all their votes if they have fewer."""
        need, profile = np.zeros(len(votes)), self.profile
        need[winners] = np.minimum(votes[winners], quota)
        self.used += float(need.sum())
        held = np.where(in_order | (votes == 0), 1.0, votes)
        _spend(profile.start, profile.agent, profile.level, self.at, self.value, self.standing, need, held, in_order)


class _Count:
    """One count. seats: number of seats; place: position of each alternative in the tie order, None if ties are kept."""

    def __init__(self, votes: _Votes, seats: int, in_order: bool, place: Ints | None) -> None:
        self.votes, self.seats, self.in_order, self.place = votes, seats, in_order, place
        self.quota = votes.profile.voters // (seats + 1) + 1

    def rounds(self) -> "list[Round]":
        """Run all rounds, until no alternative is standing."""
        rounds: list[Round] = []
        elected = 0
        while self.votes.standing.any():
            rounds.append(self._round(self.votes.count(), self.seats - elected))
            elected += rounds[-1].elected * len(rounds[-1].agents)
        self.votes.count()
        return rounds

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
        """All of `hit` if ties are kept, else the agent that is first (to elect) or last (to eliminate) in the tie order."""
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
    """Base of each agent (m,). order: rounds that elected, then rounds that eliminated, the last one first."""
    base = np.zeros(m)
    starts = np.cumsum([0, *(len(one.agents) for one in order)])
    winners = sum(len(one.agents) for one in order if one.elected)
    for one, (begin, _) in zip(order, pairwise(starts.tolist()), strict=True):
        base[list(one.agents)] = 2 * m - begin if one.elected else m - (begin - winners)
    return base


@kernel
def _level(level: NDArray[np.int32], begin: int, end: int) -> int:
    """End index (exclusive) of the level that starts at `begin`."""
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
    """Advance `at` of each vote to its best level with a standing agent, and divide the vote's value equally among these agents.

    Adds to `votes` and returns the total value of exhausted votes.
    """
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
    """Take need[winner] from the votes for each winner: the share need/held of each vote, or the votes in order until `need` is covered."""
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
