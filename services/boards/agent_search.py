"""Agents of a pool found by their names, with ratings and numbers of outcomes.

Ratings and ranks come from the store. Names are searched in an `AgentIndex`, so they have the position of a checkpoint.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from ratings_core.errors import InputError
from ratings_core.records.name_search import EXACT
from ratings_core.records.names import is_name
from services.boards import reading
from services.boards.agent_index import AgentIndex, NoIndex, Place
from services.boards.cursors import RULE, checksum, place_of, text_of
from services.boards.display_names import search
from services.boards.known_agents import KnownAgents
from services.boards.slice_boards import SliceName, board_name
from services.boards.store.protocol import ACTIVITY, PoolHead
from services.boards.store.redis import RedisStore
from services.control.details_records import PoolDetails

_PLACES_AT_ONCE: Final = 1000
"""Matches that a search reads at once after hidden agents were among the first ones."""
_SUGGESTIONS: Final = 5


class FoundAgent(msgspec.Struct, frozen=True, kw_only=True):
    """An agent that was found.

    Attributes:
        agent: Name of the agent.
        outcomes: Number of outcomes that it took part in.
        rating: Rating by the method of the answer; None if the method does not rate the agent.
        rank: Rank by this method; None if the agent is provisional, or not on its board.
        provisional: Whether there is too little evidence for a rank, as on boards.
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
        known: What is known of the agents besides their games; None for nothing.
        part: Slice of the pool, such as `language:English`, which the pool has; empty for all outcomes.

    Raises:
        InputError: The cursor is not one of this request, or there is no board of the method.
        StoreError: The store does not answer.
    """
    known = known or KnownAgents(PoolDetails())
    if isinstance(index, NoIndex):
        return _without_index(store, head, index, query, cursor, count, method, known, part)
    after, had_new = (None, False) if cursor is None else _after(head, query + part, cursor)
    places = _visible_places(index, known, query, after, count + 1 + had_new)
    if had_new:
        places = [place for place in places if index.name(place.agent) != query]
    new = [query] if cursor is None and not known.leaves_out(query) and _is_new(store, head, index, query, places, part) else []
    following, places = places[count - len(new) :], places[: count - len(new)]
    names = [*new, *(index.name(place.agent) for place in places)]
    chosen, agents = _rated(store, head, names, method, known, part)
    last = places[-1] if places else _BEFORE_ALL
    return AgentList(
        pool=head.pool,
        generation=head.generation,
        position=head.position,
        names_position=index.entry.position,
        method=chosen,
        total=_total(head, part),
        agents=agents,
        next=text_of(_AgentsPlace(head.generation, checksum(query + part), had_new or bool(new), *last)) if following else None,
        suggestions=[] if agents or not query or cursor is not None else _nearest(index, known, query),
        slice=part or msgspec.UNSET,
    )


def _without_index(
    store: RedisStore,
    head: PoolHead,
    index: NoIndex,
    query: str,
    cursor: str | None,
    count: int,
    method: str | None,
    known: KnownAgents,
    part: str,
) -> AgentList:
    """What the store alone knows: an exact name, or the agents with the most outcomes. Raises `NoIndex` for a cursor."""
    if cursor is not None:
        raise NoIndex(str(index), retriable=True)  # not `index` itself: requests share it, and each raise would add to its traceback
    if query:
        names = [query] if is_name(query) and _outcomes(store, head, [query], part)[0] is not None else []
    else:
        pages = store.live.pages(head, [board_name(ACTIVITY, part)], 0, count)  # most outcomes first
        names = [row.agent for page in pages for row in page.rows]
    names = [name for name in names if not known.leaves_out(name)]
    chosen, agents = _rated(store, head, names, method, known, part)
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
    if (place.generation, place.query) != (head.generation, checksum(query)):
        raise InputError("cursor", cursor, RULE)
    return Place(place.tier, place.outcomes, place.agent), place.had_new


def _rated(
    store: RedisStore, head: PoolHead, names: Sequence[str], method: str | None, known: KnownAgents, part: str
) -> tuple[str | None, list[FoundAgent]]:
    """The method of the ratings, and the agents of these names."""
    methods = _methods(store, head, part, solved=method is not None)
    if method is not None and method not in methods:
        there = ", ".join(methods) or "it has none yet"
        what = f"slice {part} of pool {head.pool}" if part else f"pool {head.pool}"
        raise InputError("method", method[:100], f"must be a method with a board of {what}: {there}")
    chosen = method or next(iter(methods), None)
    rows = reading.ratings(store, head, board_name(chosen, part), names) if chosen is not None else None
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
        return [] if found is None else [*found.live, *found.solved]
    return [*head.online, *(store.solved.methods(head.pool) if solved or not head.online else [])]
