"""Agents of a pool as readers see them: found by name, one profile each, and records against opponents.

Ratings and ranks come from the store. Names and records of games come from an `AgentIndex`, so they have the position of a checkpoint.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple
from zlib import crc32

import msgspec
import numpy as np

from ratings_core.errors import InputError
from ratings_core.records.name_search import EXACT
from ratings_core.records.names import check_name, is_name
from ratings_core.records.roster import UNKNOWN
from services.boards import reading
from services.boards.agent_history import Streak, played
from services.boards.agent_index import NO_OPPONENTS, AgentIndex, NoIndex, Opponents, Place, outcomes_of
from services.boards.cursors import RULE, place_of, text_of
from services.boards.display_names import DisplayNames, search
from services.boards.predictions import expected_against
from services.boards.reading import Board
from services.boards.slice_boards import SliceName, board_name
from services.boards.store.protocol import ACTIVITY, PoolHead
from services.boards.store.redis import RedisStore
from services.control.details import AgentDetails
from services.control.details_records import PoolDetails
from services.runtime.settings import PROVISIONAL, Provisional
from services.wire.pools import Kind

_PLACES_AT_ONCE: Final = 1000
"""Matches that a search reads at once after hidden agents were among the first ones."""
_SUGGESTIONS: Final = 5
_TASKS_LISTED: Final = 10


class FoundAgent(msgspec.Struct, frozen=True, kw_only=True):
    """An agent that was found.

    Attributes:
        agent: Name of the agent.
        outcomes: Number of outcomes that it took part in.
        rating: Rating by the method of the answer; None if the method does not rate the agent.
        rank: Rank by this method; None if the agent is not on its board.
        provisional: Whether the rating is uncertain, as on boards.
        display_name: Name to show in place of the agent's name; None if it has none.
    """

    agent: str
    outcomes: int
    rating: float | None
    rank: int | None
    provisional: bool
    display_name: str | None = None


class AgentList(msgspec.Struct, frozen=True, kw_only=True):
    """Agents of a pool: equal names, then names that begin with the query, then names that contain it, each with most outcomes first.

    Agents whose display name matches in one of these ways, and whose name does not, follow in the same order.

    Attributes:
        pool: Name of the pool.
        generation: Generation of the pool.
        position: Log offset up to which outcomes were counted, at least, for ratings and numbers of outcomes.
        names_position: Position of the checkpoint that was searched, and by whose numbers of outcomes the agents are ordered. A newer
            agent is found by its exact name. None if there is no checkpoint that can be read: then only an exact name is found, or without
            a query the agents with most outcomes, and `next` is None.
        method: Method of the ratings and ranks; None if the pool has no board of a method yet.
        total: Number of all agents of the pool, or of the slice.
        agents: The agents.
        next: Cursor of the agents after these; None at the end.
        suggestions: If nothing is found, the nearest names, at most five: those with one edit, then those of which a beginning has one
            edit, then those with two. An edit inserts, removes or replaces a character, or swaps two.
        slice: Slice of the pool whose agents, outcomes and ratings these are, such as `language:English`. Absent for all outcomes.
    """

    pool: str
    generation: int
    position: int
    names_position: int | None
    method: str | None
    total: int
    agents: list[FoundAgent]
    next: str | None
    suggestions: list[str]
    slice: str | msgspec.UnsetType = msgspec.UNSET


class MethodRating(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An agent's rating by one method. Fields that the method does not have are absent.

    Attributes:
        source: `live` or `solved`, as on boards.
        rating: Rating of the agent; None if the method cannot rate it.
        rank: Rank of the agent. 1 is best, and equal ratings share a rank.
        total: Number of agents on the board.
        generation: Generation of the pool that the board is of.
        position: Log offset up to which outcomes were counted.
        age_seconds: Seconds since the board was published or solved.
        provisional: Whether the rating is uncertain, as on boards.
        low: Lower end of the rating's interval.
        high: Upper end of this interval.
        rank_low: Best rank in the rank's interval.
        rank_high: Worst rank in this interval.
        deviation: Standard deviation of an online method's belief about the agent.
    """

    source: str
    rating: float | None
    rank: int
    total: int
    generation: int
    position: int
    age_seconds: float
    provisional: bool
    low: float | None = None
    high: float | None = None
    rank_low: int | None = None
    rank_high: int | None = None
    deviation: float | None = None


class GamesRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An agent's games at a checkpoint. A game of weight 1 counts 1; games in dropped time buckets are not counted.

    Attributes:
        position: Log offset up to which games were counted.
        age_seconds: Seconds since the checkpoint was written.
        games: All games.
        wins: Games in which the agent's side was alone in first place.
        draws: Games in which the agent's side shared the first place.
        losses: Games in which another side was placed before it.
        team_games: Games of these in which its side had more agents. None in a pool that does not count them (`team_records` of its
            settings): then `games` are those that the agent played alone.
    """

    position: int
    age_seconds: float
    games: float
    wins: float
    draws: float
    losses: float
    team_games: float | None


class TaskPlace(msgspec.Struct, frozen=True, kw_only=True):
    """An agent on one task.

    Attributes:
        task: Name of the task.
        score: Its mean score there.
        rank: Its rank among the agents with a score on the task; 1 for the highest, and equal scores share a rank.
        agents: Number of these agents.
    """

    task: str
    score: float
    rank: int
    agents: int


class ScoresRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An agent's scores at a checkpoint. Scores in dropped time buckets are not counted.

    Attributes:
        position: Log offset up to which scores were counted.
        age_seconds: Seconds since the checkpoint was written.
        tasks: Number of tasks on which the agent has a score.
        measurements: Number of scores; a score of weight 1 counts 1.
        best: Up to ten tasks with the agent's best places among the agents there, best first.
        worst: Up to ten other tasks with its worst places, worst first.
    """

    position: int
    age_seconds: float
    tasks: int
    measurements: float
    best: list[TaskPlace] = []
    worst: list[TaskPlace] = []


class AgentProfile(msgspec.Struct, frozen=True, kw_only=True):
    """One agent.

    Attributes:
        pool: Name of the pool.
        agent: Name of the agent.
        generation: Generation of the pool.
        position: Log offset up to which outcomes were counted, at least, for live methods and `outcomes`.
        age_seconds: Seconds since this position was published.
        outcomes: Number of outcomes that the agent took part in.
        methods: Method -> the agent's rating.
        games: Record of its games; None in a pool of scores, or if `no_record` says why.
        scores: Record of its scores; None in a pool of games, or if `no_record` says why.
        no_record: Why there is no record; None if there is one.
        first_played: Time of its first outcome in seconds since 1970, as the record at a checkpoint; None if the history of this outcome is
            not kept.
        last_played: Time of its newest outcome; None if its history is not kept.
        streak: Equal results of its newest outcomes; None as for `last_played`.
        details: What is known of the agent besides its games; None if nothing is known.
        slice: Slice of the pool's outcomes that `outcomes`, `methods` and the record count, such as `language:English`. Absent for all
            outcomes. Times and the streak are known of all outcomes only, so a profile in a slice has none.
        slices: Slice, such as `language:English` -> method -> the agent's rating in it. Only slices in which it has a rating.
    """

    pool: str
    agent: str
    generation: int
    position: int
    age_seconds: float
    outcomes: int
    methods: dict[str, MethodRating]
    games: GamesRecord | None
    scores: ScoresRecord | None
    no_record: str | None
    first_played: float | None
    last_played: float | None
    streak: Streak | None
    details: AgentDetails | None = None
    slice: str | msgspec.UnsetType = msgspec.UNSET
    slices: dict[str, dict[str, MethodRating]] = {}


class KnownAgents(NamedTuple):
    """What is known of a pool's agents besides their games.

    Attributes:
        details: Details of the agents.
        display_names: Their display names, for searches; None if these are not searched.
        hidden: Whether answers have hidden agents.
    """

    details: PoolDetails
    display_names: DisplayNames | None = None
    hidden: bool = False

    def leaves_out(self, agent: str) -> bool:
        """Whether answers leave an agent out."""
        return not self.hidden and self.details.is_hidden(agent)


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


class _AgentsPlace(msgspec.Struct, frozen=True, array_like=True, tag="agents"):
    """Content of a cursor of agents: the generation, a checksum of the query, and the last agent.

    had_new: whether the first page has an agent that was newer than the index. A later index has it too.
    """

    generation: int
    query: int
    had_new: bool
    tier: int
    outcomes: int
    agent: int


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


_BEFORE_ALL: Final = Place(0, 2**62, -1)
"""The place before all agents."""


def agent_list(
    store: RedisStore,
    head: PoolHead,
    index: AgentIndex | NoIndex,
    *,
    query: str = "",
    cursor: str | None = None,
    count: int = 20,
    method: str | None = None,
    provisional: Provisional = PROVISIONAL,
    known: KnownAgents | None = None,
    part: str = "",
) -> AgentList:
    """Agents of a pool, or of one of its slices, whose names match a query.

    Args:
        store: The store.
        head: Head of the pool.
        index: The index of the pool or the slice, of the generation of `head`; or why it is missing.
        query: Text that names equal, begin with or contain, without regard to case; empty for all agents.
        cursor: `next` of the answer before; None for the first agents.
        count: Largest number of agents.
        method: Method of ratings and ranks; None for the pool's first online method, or else its first solved method.
        provisional: Rules that mark agents as provisional.
        known: What is known of the agents besides their games; None for nothing.
        part: Slice of the pool, such as `language:English`, which the pool has; empty for all outcomes.

    Raises:
        InputError: The cursor is not one of this request, or there is no board of the method.
        StoreError: The store does not answer.
    """
    known = known or KnownAgents(PoolDetails())
    if isinstance(index, NoIndex):
        return _without_index(store, head, index, query, cursor, count, method, provisional, known, part)
    after, had_new = (None, False) if cursor is None else _after(head, query + part, cursor)
    places = _visible_places(index, known, query, after, count + 1 + had_new)
    if had_new:
        places = [place for place in places if index.name(place.agent) != query]
    new = [query] if cursor is None and not known.leaves_out(query) and _is_new(store, head, index, query, places, part) else []
    following, places = places[count - len(new) :], places[: count - len(new)]
    names = [*new, *(index.name(place.agent) for place in places)]
    chosen, agents = _rated(store, head, names, method, provisional, known, part)
    last = places[-1] if places else _BEFORE_ALL
    return AgentList(
        pool=head.pool,
        generation=head.generation,
        position=head.position,
        names_position=index.entry.position,
        method=chosen,
        total=_total(head, part),
        agents=agents,
        next=text_of(_AgentsPlace(head.generation, _checksum(query + part), had_new or bool(new), *last)) if following else None,
        suggestions=[] if agents or not query or cursor is not None else _nearest(index, known, query),
        slice=part or msgspec.UNSET,
    )


def profile(
    store: RedisStore, head: PoolHead, index: AgentIndex | NoIndex, name: str, *, now: float, provisional: Provisional = PROVISIONAL,
    known: KnownAgents | None = None, part: SliceName | None = None,
) -> AgentProfile | None:  # fmt: skip
    """The profile of an agent; None if the agent is on no board of the pool or of the slice, or is left out.

    Args:
        store: The store.
        head: Head of the pool.
        index: The index of the pool or the slice, of the generation of `head`; or why it is missing.
        name: Name of the agent.
        now: Seconds since 1970.
        provisional: Rules that mark agents as provisional.
        known: What is known of the agents besides their games; None for nothing.
        part: Slice of the pool; None for all outcomes.

    Raises:
        StoreError: The store does not answer.
    """
    if known is not None and known.leaves_out(name):
        return None
    boards = reading.agent(store, head.pool, name, now=now, provisional=provisional, head=head, part=part)
    if boards is None:
        return None
    games, scores, no_record = _record(index, name, now)
    times = played(index, name)
    activity = boards.get(ACTIVITY)
    return AgentProfile(
        pool=head.pool,
        agent=name,
        generation=head.generation,
        position=head.position,
        age_seconds=reading.age(now, head.published_at),
        outcomes=0 if activity is None else int(activity.rows[0].rating or 0.0),
        methods={method: _method_rating(board) for method, board in boards.items() if method != ACTIVITY},
        games=games,
        scores=scores,
        no_record=no_record,
        first_played=times.first_played,
        last_played=times.last_played,
        streak=times.streak,
        details=None if known is None else known.details.get(name),
        slice=str(part) if part else msgspec.UNSET,
        slices={
            part: {method: _method_rating(board) for method, board in ratings.items()}
            for part, ratings in reading.agent_slices(store, head, name, now=now, provisional=provisional).items()
        },
    )


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
        method: Online method of the expected scores; None for the first one that forecasts.
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
    if place is not None and (place.generation, place.agent) != (head.generation, _checksum(name + part)):
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
    last = _OpponentsPlace(head.generation, _checksum(name + part), int(page.games[-1]), int(page.agent[-1])) if rest else None
    return OpponentList(
        pool=head.pool,
        agent=name,
        generation=head.generation,
        position=index.entry.position,
        age_seconds=reading.age(now, index.written_at),
        method=chosen,
        total=len(met.agent),
        team_games=None if agent is None else _team_games(index, agent),
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


def _without_index(
    store: RedisStore,
    head: PoolHead,
    index: NoIndex,
    query: str,
    cursor: str | None,
    count: int,
    method: str | None,
    provisional: Provisional,
    known: KnownAgents,
    part: str,
) -> AgentList:
    """What the store alone knows: an exact name, or the agents with the most outcomes. Raises `NoIndex` for a cursor."""
    if cursor is not None:
        raise NoIndex(str(index), retriable=True)  # not `index` itself: requests share it, and each raise would add to its traceback
    if query:
        names = [query] if is_name(query) and _outcomes(store, head, [query], part)[0] is not None else []
    else:
        pages = store.live.pages(head, [board_name(ACTIVITY, part)], 0, count)
        names = [row.agent for page in pages for row in page.rows]
    names = [name for name in names if not known.leaves_out(name)]
    chosen, agents = _rated(store, head, names, method, provisional, known, part)
    return AgentList(
        pool=head.pool,
        generation=head.generation,
        position=head.position,
        names_position=None,
        method=chosen,
        total=_total(head, part),
        agents=agents,
        next=None,
        suggestions=[],
        slice=part or msgspec.UNSET,
    )


def _total(head: PoolHead, part: str) -> int:
    """Number of the agents of the pool or of the slice."""
    dimension, _, value = part.partition(":")
    return next(one.agents for one in head.slices[dimension].values if one.value == value) if part else head.agents


def _outcomes(store: RedisStore, head: PoolHead, names: Sequence[str], part: str) -> list[float | None]:
    """Number of outcomes of each agent in the pool or the slice; None for agents that it does not have."""
    return store.live.ratings_of(head, board_name(ACTIVITY, part), names) if names else []


def _visible_places(index: AgentIndex, known: KnownAgents, query: str, after: Place | None, count: int) -> list[Place]:
    """The first `count` matches in the index that are not left out."""
    found: list[Place] = []
    wanted = count
    while True:
        places = search(index, known.display_names, query, after, wanted)
        found += [place for place in places if not known.leaves_out(index.name(place.agent))]
        if len(places) < wanted or len(found) >= count:
            return found[:count]
        after, wanted = places[-1], _PLACES_AT_ONCE  # many, because a query can match a million hidden agents


def _nearest(index: AgentIndex, known: KnownAgents, query: str) -> list[str]:
    """The nearest names that are not left out. Those of hidden agents take places, so there may be fewer."""
    return [name for name in index.nearest(query, _SUGGESTIONS) if not known.leaves_out(name)]


def _is_new(store: RedisStore, head: PoolHead, index: AgentIndex, query: str, places: Sequence[Place], part: str) -> bool:
    """Whether the query is the name of an agent that is newer than the index. places: the first matches in the index."""
    if not is_name(query) or any(place.tier == EXACT and index.name(place.agent) == query for place in places):
        return False
    return _outcomes(store, head, [query], part)[0] is not None and index.find(query) is None


def _after(head: PoolHead, query: str, cursor: str) -> tuple[Place, bool]:
    """The place of a cursor, and whether the pages before it have an agent that was newer than the index."""
    place = place_of(cursor, _AgentsPlace)
    if (place.generation, place.query) != (head.generation, _checksum(query)):
        raise InputError("cursor", cursor, RULE)
    return Place(place.tier, place.outcomes, place.agent), place.had_new


def _rated(
    store: RedisStore, head: PoolHead, names: Sequence[str], method: str | None, provisional: Provisional, known: KnownAgents, part: str
) -> tuple[str | None, list[FoundAgent]]:
    """The method of the ratings, and the agents of these names."""
    methods = _methods(store, head, part, solved=method is not None)
    if method is not None and method not in methods:
        there = ", ".join(methods) or "it has none yet"
        what = f"slice {part} of pool {head.pool}" if part else f"pool {head.pool}"
        raise InputError("method", method[:100], f"must be a method with a board of {what}: {there}")
    chosen = method or next(iter(methods), None)
    rows = reading.ratings(store, head, board_name(chosen, part), names, provisional=provisional) if chosen is not None else None
    agents = [
        FoundAgent(
            agent=name,
            outcomes=int(count or 0),
            rating=None if row is None else row.rating,
            rank=None if row is None else row.rank,
            provisional=row is not None and row.provisional,
            display_name=None if (details := known.details.get(name)) is None else details.display_name,
        )
        for name, count, row in zip(names, _outcomes(store, head, names, part), rows or [None] * len(names), strict=True)
    ]
    return chosen, agents


def _methods(store: RedisStore, head: PoolHead, part: str, *, solved: bool) -> list[str]:
    """Methods with ratings of the pool or the slice, online ones first. solved: also solved ones; otherwise only if there are no others."""
    if part:
        found = reading.methods_of_slice(store.solved, head, SliceName.parsed(part))
        return [] if found is None else [method for method in (*found.live, *found.solved) if method != ACTIVITY]
    return [*head.online, *(store.solved.methods(head.pool) if solved or not head.online else [])]


def _method_rating(board: Board) -> MethodRating:
    (row,) = board.rows
    return MethodRating(
        source=board.source,
        rating=row.rating,
        rank=row.rank,
        total=board.total,
        generation=board.generation,
        position=board.position,
        age_seconds=board.age_seconds,
        provisional=row.provisional,
        low=row.low,
        high=row.high,
        rank_low=row.rank_low,
        rank_high=row.rank_high,
        deviation=row.deviation,
    )


def _record(index: AgentIndex | NoIndex, name: str, now: float) -> tuple[GamesRecord | None, ScoresRecord | None, str | None]:
    """The record of an agent's games or scores, or why it is missing."""
    if isinstance(index, NoIndex):
        return None, None, str(index)
    position, age, agent = index.entry.position, reading.age(now, index.written_at), index.find(name)
    if agent is None:
        return None, None, f"the newest checkpoint that was read (position {position}) has no outcome of the agent yet"
    if index.entry.kind == Kind.SCORES:
        tasks, weight = index.measured(agent)
        places = [TaskPlace(**one._asdict()) for one in index.task_scores(agent)]
        worst = places[_TASKS_LISTED:][: -_TASKS_LISTED - 1 : -1]
        measured = float(outcomes_of(weight))
        best = places[:_TASKS_LISTED]
        return None, ScoresRecord(position=position, age_seconds=age, tasks=tasks, measurements=measured, best=best, worst=worst), None
    results = index.results(agent)
    games, wins, draws, losses = (float(outcomes_of(weight)) for weight in (results.games, *results))
    in_teams = _team_games(index, agent)
    record = GamesRecord(position=position, age_seconds=age, games=games, wins=wins, draws=draws, losses=losses, team_games=in_teams)
    return record, None, None


def _team_games(index: AgentIndex, agent: int) -> float | None:
    in_teams = index.results_in_teams(agent)
    return None if in_teams is None else float(outcomes_of(in_teams.games))


def _checksum(text: str) -> int:
    return crc32(text.encode("utf-8", "surrogatepass"))
