"""States of a pool as server-sent events. Readers share the encoded events; only the changes of agents are encoded for each reader.

The events of a state are `board` for each board whose rows changed, `agents`, and `pool`. The last one ends the state and has its id, so a
reader that lost its connection within a state gets the whole state again.
"""

import weakref
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import msgspec
from litestar.response.sse import ServerSentEventMessage

from services.api.replies import Boards
from services.boards.reading import Board
from services.boards.result import AgentRow
from services.boards.store.protocol import Building

AgentRows = Mapping[str, Mapping[str, AgentRow]]
"""Agent -> method -> the agent's row on its board."""


class PoolState(msgspec.Struct, frozen=True, kw_only=True):
    """Data of a `pool` event, which ends the events of a state.

    Attributes:
        pool: Name of the pool.
        generation: Generation that readers see; None before the first outcome was folded. Another value than before is a switch.
        position: Log offset up to which outcomes were counted; None before the first outcome was folded. It also moves by records of other
            pools, and such a move alone sends no event.
        outcomes: Number of outcomes counted.
        agents: Number of agents.
        boards: Names of the boards that the pool, or the slice, has.
        stopped: Why the pool stopped; None if it is folded.
        building: The next generation, while it is under construction.
        slice: Slice of the stream, such as `language:English`. Absent for all outcomes. Numbers of outcomes and agents are the pool's.
    """

    pool: str
    generation: int | None = None
    position: int | None = None
    outcomes: int = 0
    agents: int = 0
    boards: list[str] = []
    stopped: str | None = None
    building: Building | None = None
    slice: str | msgspec.UnsetType = msgspec.UNSET


class AgentChange(msgspec.Struct, frozen=True, kw_only=True):
    """A changed row of an agent.

    Attributes:
        agent: Name of the agent.
        method: Name of the board.
        before: The row that this stream sent last; None if it sent none, if the agent was not on the board, or if that row is of another
            generation: ratings of two generations do not follow each other.
        after: The row now; None if the agent is not on the board.
    """

    agent: str
    method: str
    before: AgentRow | None
    after: AgentRow | None


class AgentChanges(msgspec.Struct, frozen=True, kw_only=True):
    """Data of an `agents` event. changes: Rows that differ from those sent last, or are of another generation."""

    pool: str
    changes: list[AgentChange]


class Stale(msgspec.Struct, frozen=True, kw_only=True):
    """Data of a `stale` event: the store does not answer, or lost the pool. The next `pool` event says that it answers again.

    Attributes:
        pool: Name of the pool.
        stale_seconds: Seconds since the store last confirmed the state that was sent.
        reason: What does not answer.
    """

    pool: str
    stale_seconds: float
    reason: str


class End(msgspec.Struct, frozen=True, kw_only=True):
    """Data of an `end` event, the last one of a stream.

    Attributes:
        pool: Name of the pool.
        reason: `shutdown`: the process ends; connect again. `deleted`: the pool or slice no longer exists. `failed`: a defect; connect
            again.
    """

    pool: str
    reason: str


class Wanted(NamedTuple):
    """What a stream sends.

    methods: names of boards; None for all. rows: first rows of each board. agents: agents that are followed. part: slice whose boards are
    sent; empty for all outcomes.
    """

    pool: str
    methods: frozenset[str] | None
    rows: int
    agents: tuple[str, ...]
    part: str = ""

    def has(self, method: str) -> bool:
        """Whether the stream sends this board."""
        return self.methods is None or method in self.methods


class FollowedRow(NamedTuple):
    """A row of an agent that a stream follows. generation: that of its board; None if the board was not read with it."""

    generation: int | None
    row: AgentRow


class BoardEvent(NamedTuple):
    """A `board` event. content: what decides whether the board changed. event: the encoded event."""

    content: bytes
    event: bytes


class State:
    """One state of a pool with the encoded events that its readers share.

    Args:
        number: Number of the state. It counts different states, so a reader knows how many it missed.
        version: Digest of the `pool` event's data without the position, which moves by records of other pools of the partition. Rows may
            differ at an equal version: after a solve, or after an erasure of a name.
        pool: Data of the `pool` event.
        boards: Boards with their first `count` rows.
        count: Most rows of each board.
        agents: Rows of the followed agents, also of those without a row.
    """

    def __init__(self, number: int, version: bytes, pool: PoolState, boards: Mapping[str, Board], count: int, agents: AgentRows) -> None:
        self.number, self.version, self.pool, self.count, self.agents = number, version, pool, count, agents
        self._boards = boards
        self._events: dict[tuple[str, int], BoardEvent] = {}
        self._pool_events: dict[Wanted, bytes] = {}
        self._pool_data = msgspec.json.encode(pool)

    def board_events(self, wanted: Wanted) -> dict[str, BoardEvent]:
        """Method -> the event of its board, for the boards that a stream sends."""
        return {method: self._board_event(method, wanted.rows) for method in self._boards if wanted.has(method)}

    def pool_event(self, wanted: Wanted) -> bytes:
        """Return the encoded `pool` event with the id of this state."""
        event = self._pool_events.get(wanted)
        if event is None:
            event = self._pool_events[wanted] = encoded("pool", self._pool_data, self.id_of(wanted))
        return event

    def id_of(self, wanted: Wanted) -> str:
        """Return the id of this state in a stream: equal ids mean equal events. So streams with other parameters have other ids."""
        parameters = [sorted(wanted.methods or ()), wanted.rows, wanted.agents, list(self.rows_of(wanted).items())]
        digest = blake2b(self.version + msgspec.json.encode(parameters), digest_size=9)
        for event in self.board_events(wanted).values():
            digest.update(event.content)
        return f"{self.pool.generation or 0}-{self.pool.outcomes}-{digest.hexdigest()}"

    def generation_of(self, method: str) -> int | None:
        """Generation of a board; None if the state has no such board."""
        board = self._boards.get(method)
        return None if board is None else board.generation

    def rows_of(self, wanted: Wanted) -> dict[tuple[str, str], FollowedRow]:
        """(agent, method) -> row, for the agents that a stream follows and the boards that it sends."""
        return {
            (agent, method): FollowedRow(self.generation_of(method), row)
            for agent in wanted.agents
            for method, row in sorted(self.agents.get(agent, {}).items())
            if wanted.has(method)
        }

    def _board_event(self, method: str, count: int) -> BoardEvent:
        event = self._events.get((method, count))
        if event is None:
            board = self._boards[method]
            board = msgspec.structs.replace(board, rows=board.rows[:count])
            event = self._events[method, count] = BoardEvent(_content(board), encoded("board", msgspec.json.encode(board)))
        return event


def state_of(number: int, boards: Boards, count: int, agents: AgentRows, part: str = "") -> State:
    """Return the state that an answer of boards shows.

    Args:
        number: Number of the state.
        boards: Answer with the first `count` rows of each board.
        count: Most rows of each board.
        agents: Rows of the followed agents.
        part: Slice of the boards; empty for all outcomes.
    """
    head, by_method = boards.pool.head, {board.method: board for board in boards.boards}
    pool = PoolState(pool=boards.pool.pool, slice=part or msgspec.UNSET)
    if head is not None:
        pool = PoolState(
            pool=head.pool, generation=head.generation, position=head.position, outcomes=head.outcomes, agents=head.agents,
            boards=list(by_method), stopped=head.stopped, building=head.building, slice=part or msgspec.UNSET,
        )  # fmt: skip
    version = blake2b(msgspec.json.encode(msgspec.structs.replace(pool, position=None)), digest_size=16).digest()
    return State(number, version, pool, by_method, count, agents)


def encoded(event: str, data: bytes, identity: str | None = None) -> bytes:
    """Return an event in the format of server-sent events. data: JSON."""
    return ServerSentEventMessage(data=data, event=event, id=identity).encode()


def comment(text: str, retry_milliseconds: int | None = None) -> bytes:
    """Return a comment, which clients ignore. retry_milliseconds: pause of a client before it connects again."""
    return ServerSentEventMessage(data=None, comment=text, retry=retry_milliseconds).encode()


_UNCHANGED: Final[Mapping[str, Any]] = {
    "position": 0,
    "age_seconds": 0.0,
    "seconds": None,
    "outcomes": None,
    "certificate": None,
    "extra": {},
    "games_position": msgspec.UNSET,
    "earlier": msgspec.UNSET,
}
"""Fields of a board in which states may differ although its rows are equal. A new solve with equal rows changes them, a live board's
position changes with each outcome of the pool, a checkpoint moves `games_position`, and the clock moves `earlier`."""


def _content(board: Board) -> bytes:
    rows = board.rows
    if board.earlier is not msgspec.UNSET:  # what the rows were a day before changes with the clock, also in a pool at rest
        rows = [msgspec.structs.replace(row, earlier_rank=None, earlier_rating=None) for row in rows]
    return msgspec.json.encode(msgspec.structs.replace(board, rows=rows, **_UNCHANGED))


class Reader:
    """What one stream has sent. It makes the events that lead from there to a state, however many states are between.

    last_id: Id of the last state that the client received before it connected again, or empty.
    """

    def __init__(self, wanted: Wanted, last_id: str) -> None:
        self.wanted, self.dropped, self.sent = wanted, 0, 0
        """dropped: states that were replaced by a newer one before they could be sent. sent: events. Both since they were last recorded."""
        self._last_id = last_id
        self._state: weakref.ref[State] | None = None
        self._number, self._version = 0, b""
        self._boards: dict[str, bytes] = {}
        self._agents: dict[tuple[str, str], FollowedRow] = {}
        self._stale = False

    @property
    def began(self) -> bool:
        """Whether a state was sent."""
        return self._state is not None

    def events(self, state: State) -> bytes:
        """Return the events that lead to `state`; empty if nothing changed. They are considered sent."""
        before, self._state = self._state, weakref.ref(state)  # a slow reader must not keep the encoded events of an old state
        if before is not None:
            self.dropped += max(0, state.number - self._number - 1)
        equal = before is not None and self._version == state.version
        self._number, self._version = state.number, state.version
        was_stale, self._stale = self._stale, False
        if before is not None and before() is state and not was_stale:
            return b""
        parts = self._board_parts(state) + self._agent_parts(state)
        if equal and not parts and not was_stale:
            return b""
        if before is None and self._last_id == state.id_of(self.wanted):
            return comment("nothing changed since the last event")
        self.sent += len(parts) + 1
        return b"".join([*parts, state.pool_event(self.wanted)])

    def stale(self, seconds: float, reason: str) -> bytes:
        """Return the `stale` event; empty if it was sent since the last state."""
        if self._stale:
            return b""
        self._stale = True
        self.sent += 1
        return encoded("stale", msgspec.json.encode(Stale(pool=self.wanted.pool, stale_seconds=round(seconds, 3), reason=reason)))

    def end(self, reason: str) -> bytes:
        """Return the `end` event."""
        self.sent += 1
        return encoded("end", msgspec.json.encode(End(pool=self.wanted.pool, reason=reason)))

    def _board_parts(self, state: State) -> list[bytes]:
        events = state.board_events(self.wanted)
        changed = [event.event for method, event in events.items() if self._boards.get(method) != event.content]
        self._boards = {method: event.content for method, event in events.items()}
        return changed

    def _agent_parts(self, state: State) -> list[bytes]:
        rows, sent = state.rows_of(self.wanted), self._agents
        self._agents = rows
        keys = [key for key in sorted({*rows, *sent}) if rows.get(key) != sent.get(key)]
        changes = [
            AgentChange(
                agent=agent,
                method=method,
                before=_row_of(sent.get((agent, method)), state.generation_of(method)),
                after=None if (after := rows.get((agent, method))) is None else after.row,
            )
            for agent, method in keys
        ]
        return [encoded("agents", msgspec.json.encode(AgentChanges(pool=self.wanted.pool, changes=changes)))] if changes else []


def _row_of(sent: FollowedRow | None, generation: int | None) -> AgentRow | None:
    """The row that was sent, unless the board is of another generation now. generation: that of the board; None if the board is gone."""
    return None if sent is None or generation not in (None, sent.generation) else sent.row
