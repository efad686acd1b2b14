"""Fair opponents of an agent: those whose game with it an online method expects to be most even."""

from collections.abc import Callable
from typing import Final

import msgspec

from ratings_core.errors import InputError
from ratings_core.records.shapes import SINGLES
from services.boards import reading
from services.boards.predictions import (
    Forecaster,
    OfPool,
    Record,
    UnknownAgents,
    check_has_games,
    known_agents,
    online_methods,
    ready,
    record_of,
)
from services.boards.slice_boards import board_name
from services.boards.store.protocol import PoolHead
from services.boards.store.redis import RedisStore

MOST: Final = 200
"""Largest number of opponents of an answer."""


class FairOpponent(msgspec.Struct, frozen=True, kw_only=True):
    """One opponent.

    Attributes:
        agent: Name of the opponent.
        rating: Its rating by the method of the answer.
        rank: Its rank by this method.
        provisional: Whether it has too little evidence for a rank.
        expected_score: Expected score of the agent of the request in its next game against the opponent; 1/2 is even.
        tie: Probability of a tie.
    """

    agent: str
    rating: float
    rank: int | None
    provisional: bool
    expected_score: float
    tie: float


class FairOpponents(OfPool, frozen=True, kw_only=True):
    """Opponents of an agent whose game is expected to be most even.

    Attributes:
        pool: Name of the pool.
        generation: Generation of the pool.
        position: Log offset up to which outcomes were counted, at least.
        agent: Name of the agent.
        method: Online method of the forecasts.
        record: Record of the method's earlier forecasts of games of single agents.
        opponents: The opponents, the most even game first.
        slice: Slice of the pool whose ratings these are. Absent for all outcomes. Scale and record of the forecasts are those of the pool.
    """

    agent: str
    method: str
    record: Record
    opponents: list[FairOpponent]
    slice: str | msgspec.UnsetType = msgspec.UNSET


def fair_opponents(
    store: RedisStore, head: PoolHead, agent: str, count: int, *, method: str | None, leading: str, now: float,
    leaves_out: Callable[[str], bool] = lambda _: False, part: str = "",
) -> FairOpponents:  # fmt: skip
    """The agents next to one on the board, in the order of how even the forecast of their game is.

    Of `count` neighbours above and `count` below on the board, those with the most even forecasts are taken. For a method whose forecasts
    follow the difference of two ratings, these are the most even of the pool if all its agents are settled: provisional agents follow the
    settled ones on the board, so beside a provisional agent are not all agents of nearly its rating. With deviations, a game against an
    agent that is hardly known is expected to be more even than ratings say, so an agent far away can be more even than these; it is no
    fair opponent.
    Agents without a rating are left out.

    Args:
        store: The store.
        head: Head of the pool.
        agent: Name of the agent.
        count: Largest number of opponents.
        method: Online method of the forecasts; None for `leading` if it forecasts, else the pool's first method that does.
        leading: The method that the pool's pages show first; empty for none.
        now: Seconds since 1970.
        leaves_out: Whether an agent is left out.
        part: Slice of the pool, such as `language:English`, which the pool has; empty for all outcomes.

    Raises:
        InputError: The method is no online method of the pool, or no method forecasts games of two agents.
        UnknownAgents: The pool has no such agent, or it is left out.
        StoreError: The store does not answer.
    """
    chosen, live = _forecaster(head, method, leading, part)
    board = board_name(chosen, part)
    (name,) = known_agents(store, head, [agent], part)
    around = None if leaves_out(name) else reading.around(store, head.pool, board, name, count=2 * count + 1, now=now)
    if around is None:
        raise UnknownAgents([name], part)
    rated = {row.agent: row.rating for row in around.rows if row.rating is not None and row.agent != name and not leaves_out(row.agent)}
    own, *others = store.live.strengths(head, board, [name, *rated])
    known = {opponent: strength for opponent, strength in zip(rated, others, strict=True) if strength is not None}
    if own is None:
        raise UnknownAgents([name], part)
    rows = {row.agent: row for row in around.rows}
    scores = live.expected([own, *known.values()])[0, 1:]
    ties = live.ties.probability(scores).tolist()
    found = [
        FairOpponent(
            agent=opponent,
            rating=rated[opponent],
            rank=rows[opponent].rank,
            provisional=rows[opponent].provisional,
            expected_score=score,
            tie=tie,
        )
        for opponent, score, tie in zip(known, scores.tolist(), ties, strict=True)
    ]
    return FairOpponents(
        pool=head.pool,
        generation=head.generation,
        position=head.position,
        agent=name,
        method=chosen,
        record=record_of(head, chosen, str(SINGLES)),
        opponents=sorted(found, key=lambda one: abs(one.expected_score - 0.5))[:count],
        slice=part or msgspec.UNSET,
    )


def _forecaster(head: PoolHead, asked: str | None, leading: str, part: str) -> tuple[str, Forecaster]:
    """The method of the forecasts, and what they need. Raises `InputError`."""
    check_has_games(head)
    online = online_methods(head, part)
    names = [asked] if asked is not None else [*([leading] if leading in online else []), *online]
    reasons = []
    for name in names:
        method, why = ready(head, name) if name in online else (None, "it is none of its online methods")
        singles = why if method is None else method.of(SINGLES)
        if isinstance(singles, Forecaster):
            return name, singles
        reasons.append(f"{name}: {singles}")
    there, what = "; ".join(reasons) or "it has no online method", f"slice {part} of pool {head.pool}" if part else f"pool {head.pool}"
    raise InputError("method", asked, f"must be an online method of {what} that forecasts games of two agents ({there})")
