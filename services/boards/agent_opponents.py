"""Records of an agent against its opponents, from an `AgentIndex`, so they have the position of a checkpoint."""

import msgspec
import numpy as np

from ratings_core.errors import InputError
from ratings_core.records.names import check_name
from ratings_core.records.roster import UNKNOWN
from services.boards import reading
from services.boards.agent_index import NO_OPPONENTS, AgentIndex, Opponents, outcomes_of
from services.boards.cursors import RULE, checksum, place_of, text_of
from services.boards.known_agents import KnownAgents
from services.boards.predictions import expected_against
from services.boards.store.protocol import PoolHead
from services.boards.store.redis import RedisStore
from services.wire.pools import Kind


class OpponentRow(msgspec.Struct, frozen=True, kw_only=True):
    """An agent's record against one opponent. A game of more than two sides counts for each pair of single-agent sides.

    Attributes:
        agent: Name of the opponent.
        games: Games in which both were single-agent sides; a game of weight 1 counts 1.
        wins: Games in which the agent of the request was placed before the opponent.
        draws: Games in which both had the same place.
        losses: Games in which the opponent was placed before it.
        expected_score: Expected score of the agent of the request in its next game against the opponent; None without a forecast.
    """

    agent: str
    games: float
    wins: float
    draws: float
    losses: float
    expected_score: float | None


class OpponentList(msgspec.Struct, frozen=True, kw_only=True):
    """An agent's opponents, most games first. A game counts for two agents that were both sides alone.

    Attributes:
        pool: Name of the pool.
        agent: Name of the agent.
        generation: Generation of the pool.
        position: Log offset up to which games were counted: that of a checkpoint. An agent that is newer has no opponents yet.
        age_seconds: Seconds since the checkpoint was written.
        method: Online method of the expected scores; None if no method forecasts.
        total: Number of all opponents.
        team_games: The agent's games in teams, which count for no opponent; a game of weight 1 counts 1. None as in `GamesRecord`, and for
            an agent that is newer than the checkpoint.
        opponents: The opponents.
        next: Cursor of the opponents after these; None at the end.
        slice: Slice of the pool's outcomes that are counted, such as `language:English`. Absent for all outcomes.
        display_names: Agent -> its display name, for the agents that are named here. Absent if none of them has one.
    """

    pool: str
    agent: str
    generation: int
    position: int
    age_seconds: float
    method: str | None
    total: int
    team_games: float | None
    opponents: list[OpponentRow]
    next: str | None
    slice: str | msgspec.UnsetType = msgspec.UNSET
    display_names: dict[str, str] | msgspec.UnsetType = msgspec.UNSET


class _OpponentsPlace(msgspec.Struct, frozen=True, array_like=True, tag="opponents"):
    """Content of a cursor of opponents: the generation, a checksum of agent and slice, and the last opponent with its games."""

    generation: int
    agent: int
    games: int
    opponent: int


class UnknownOpponent(Exception):  # noqa: N818 - the answer is 404, as of a missing agent
    """The pool or the slice has no such opponent. name: its name."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"no agent {name!r}")


def opponent_list(
    store: RedisStore,
    head: PoolHead,
    index: AgentIndex,
    name: str,
    *,
    now: float,
    cursor: str | None = None,
    count: int = 20,
    method: str | None = None,
    known: KnownAgents | None = None,
    opponent: str | None = None,
) -> OpponentList | None:
    """An agent's record against each opponent; None if neither the checkpoint nor the store has the agent, or it is left out.

    Opponents that are left out have no row; `total` counts them.

    Args:
        store: The store.
        head: Head of the pool.
        index: The index of the pool or of a slice, of the generation of `head`.
        name: Name of the agent.
        now: Seconds since 1970.
        cursor: `next` of the answer before; None for the first opponents.
        count: Largest number of opponents.
        method: Online method of the expected scores; None for the one that forecasts best, as of `expected_against`.
        known: What is known of the agents besides their games; None for nothing.
        opponent: Only the record against this agent, also if they never met; None for all opponents.

    Raises:
        UnknownOpponent: The pool or the slice has no agent `opponent`, or it is left out.
        InputError: The pool is not one of games, `opponent` is the agent, the cursor is not one of this request, or the method
            cannot forecast.
        StoreError: The store does not answer.
    """
    if index.entry.kind != Kind.GAMES:
        raise InputError("pool", head.pool, "must be a pool of games: agents in a pool of scores have no opponents")
    part = index.entry.slice
    place = None if cursor is None else place_of(cursor, _OpponentsPlace)
    if place is not None and (place.generation, place.agent) != (head.generation, checksum(name + part)):
        raise InputError("cursor", cursor, RULE)
    if known is not None and known.leaves_out(name):
        return None
    agent = index.find(name)
    if agent is None and not store.live.has(head.pool, head.generation, [name])[0]:
        return None
    met = NO_OPPONENTS if agent is None else index.opponents(agent)
    begin = 0 if place is None else met.after(place.games, place.opponent)
    page = met.take(begin, count)
    names = [index.name(int(other)) for other in page.agent]
    if opponent is not None:
        page, names = _one_opponent(store, head, index, name, opponent, met, known), [opponent]
    chosen, expected = expected_against(store, head, name, names, method, part)
    columns = (outcomes_of(weights).tolist() for weights in (page.games, page.wins, page.draws, page.losses))
    each = zip(names, *columns, expected, strict=True)
    rest = opponent is None and begin + len(names) < len(met.agent)
    last = _OpponentsPlace(head.generation, checksum(name + part), int(page.games[-1]), int(page.agent[-1])) if rest else None
    return OpponentList(
        pool=head.pool,
        agent=name,
        generation=head.generation,
        position=index.entry.position,
        age_seconds=reading.age(now, index.written_at),
        method=chosen,
        total=len(met.agent),
        team_games=None if agent is None else index.team_games(agent),
        opponents=[
            OpponentRow(agent=a, games=g, wins=w, draws=d, losses=x, expected_score=e)
            for a, g, w, d, x, e in each
            if known is None or not known.leaves_out(a)
        ],
        next=None if last is None else text_of(last),
        slice=part or msgspec.UNSET,
    )


def _one_opponent(
    store: RedisStore, head: PoolHead, index: AgentIndex, name: str, opponent: str, met: Opponents, known: KnownAgents | None
) -> Opponents:
    """The record against one opponent, with 0 games if the two did not meet. Raises as `opponent_list`."""
    if check_name(opponent, "opponent") == name:
        raise InputError("opponent", opponent, "must be another agent")
    other = index.find(opponent)
    is_there = other is not None or (not index.entry.slice and store.live.has(head.pool, head.generation, [opponent])[0])
    if not is_there or (known is not None and known.leaves_out(opponent)):
        raise UnknownOpponent(opponent)
    at = np.flatnonzero(met.agent == (UNKNOWN if other is None else other))
    return met.take(int(at[0]), 1) if len(at) else Opponents(np.full(1, UNKNOWN, np.int32), *np.zeros((3, 1), np.int64))
