"""What answers show of agents besides their ratings: details, and games up to a checkpoint; and which agents an answer leaves out."""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeVar

import msgspec

from ratings_core.errors import InputError
from services.boards.agent_history import last_played
from services.boards.agent_index import AgentIndex, GamesPlayed, NoIndex, outcomes_of
from services.boards.history import Difference, Moved
from services.boards.reading import Board, settled_ranks
from services.boards.result import AgentRow
from services.control.details import AgentDetails, AgentFilter
from services.control.details_records import PoolDetails

RowT = TypeVar("RowT", AgentRow, Moved)
_EARLIER: Final = frozenset({"past", "season"})
"""Sources of boards that are older than the index of agents."""
_OF_TASKS: Final = "task"
"""Fields of `extra` with this in their names hold names of tasks."""


class Matching:
    """The agents that match a filter.

    Args:
        version: Changes with what decides who matches. Equal versions mean equal agents.
        names: Names of the agents; None for all agents, or all with a number of games if there is an index.
        index: The index that counts these games.
        least: The number of games.
        left_out: Hidden agents that are left out of these.
    """

    def __init__(
        self, version: str, names: Collection[str] | None, index: AgentIndex | None = None, least: int = 0,
        left_out: Collection[str] = (),
    ) -> None:  # fmt: skip
        self.version = version
        self._names = None if names is None else frozenset(names)
        self._index, self._least, self._left_out = index, least, left_out
        self._ids = None if index is None else index.with_games(least)

    @property
    def size(self) -> int | None:
        """Number of agents; hidden agents with enough games may be counted. None if all agents match but hidden ones."""
        return len(self._names) if self._names is not None else None if self._ids is None else len(self._ids)

    def names(self) -> list[str]:
        """Names of the agents, in no order. Empty if `size` is None."""
        if self._names is not None or self._index is None or self._ids is None:
            return list(self._names or ())
        return [name for name in self._index.names(self._ids) if name not in self._left_out]

    def among(self, names: Sequence[str]) -> list[bool]:
        """Which of these agents match."""
        if self._names is not None:
            return [name in self._names for name in names]
        if self._index is None:
            return [name not in self._left_out for name in names]
        enough = outcomes_of(self._index.played(names).games) >= self._least
        return [has_enough and name not in self._left_out for name, has_enough in zip(names, enough.tolist(), strict=True)]


class AgentColumns:
    """The details and the index of the agents of a pool or a slice, as they are at one moment.

    Args:
        details: Details of the pool's agents.
        index: The index of the agents of the pool or the slice; or why it is missing. None for a pool of scores, which has no games to
            count.
    """

    def __init__(self, details: PoolDetails, index: AgentIndex | NoIndex | None) -> None:
        self._details, self._index = details, index

    @property
    def version(self) -> tuple[object, ...]:
        """Changes with everything that the columns show."""
        return self._details.version, self._index.content if isinstance(self._index, AgentIndex) else None

    def is_hidden(self, agent: str) -> bool:
        """Whether an agent is hidden."""
        return self._details.is_hidden(agent)

    def board(self, board: Board, *, hidden: bool = False) -> Board:
        """A board whose rows have details and games, without hidden agents unless `hidden`. Earlier boards have details only."""
        left_out = frozenset[str]() if hidden else self._details.hidden()
        rows = self._with_details(_visible(board.rows, left_out))
        extra = _without(board.extra, left_out) if left_out else board.extra
        board = msgspec.structs.replace(board, rows=rows, extra=extra, settled_ranks=settled_ranks(rows))
        index = None if board.source in _EARLIER else self._index
        if not isinstance(index, AgentIndex) or not index.counts_games or index.entry.slice != (board.slice or ""):
            return board
        return msgspec.structs.replace(board, rows=_with_games(rows, index, board.source), games_position=index.entry.position)

    def difference(self, difference: Difference) -> Difference:
        """A difference of boards without hidden agents. Its counts include them."""
        left_out = self._details.hidden()
        lists = {name: _visible(getattr(difference, name), left_out) for name in ("moved", "joined", "left")}
        return msgspec.structs.replace(difference, **lists) if left_out else difference

    def matching(self, wanted: AgentFilter) -> Matching:
        """The agents that match a filter.

        Raises:
            NoIndex: The filter has a number of games, and there is no index.
            InputError: The filter has a number of games, and the pool is not one of games.
        """
        index = None if wanted.min_games is None else self._checked_index(wanted.min_games)
        left_out = frozenset[str]() if wanted.hidden else self._details.hidden()
        if not wanted.of_details:
            return Matching(self.version_of(wanted), None, index, wanted.min_games or 0, left_out)
        names = [agent for agent, details in self._details.items() if wanted.accepts(details)]
        if index is not None:
            enough = outcomes_of(index.played(names).games) >= (wanted.min_games or 0)
            names = [name for name, has_enough in zip(names, enough.tolist(), strict=True) if has_enough]
        return Matching(self.version_of(wanted), names)

    def version_of(self, wanted: AgentFilter) -> str:
        """Version of the agents that match a filter, as in `Matching`."""
        changes, counted = self.version
        return f"{changes}/{counted if wanted.min_games is not None else ''}"

    def _checked_index(self, least: int) -> AgentIndex:
        if self._index is None:
            raise InputError("min_games", least, "must be sent for a pool of games only")
        if isinstance(self._index, NoIndex):
            raise NoIndex(f"games are counted in checkpoints: {self._index}", retriable=True)
        return self._index

    def _with_details(self, rows: Sequence[AgentRow]) -> list[AgentRow]:
        known = self._details.get
        return [row if (details := known(row.agent)) is None else _detailed(row, details) for row in rows]


def _detailed(row: AgentRow, details: AgentDetails) -> AgentRow:
    return msgspec.structs.replace(
        row,
        display_name=details.display_name,
        country=details.country,
        organisation=details.organisation,
        licence=details.licence,
        tags=details.tags,
    )


def _with_games(rows: Sequence[AgentRow], index: AgentIndex, source: str) -> list[AgentRow]:
    """Rows with the games of the index. Those of a live board have none while they count fewer outcomes than the index does."""
    names = [row.agent for row in rows]
    played = index.played(names)
    if source == "live":  # a checkpoint can be newer than the board that was published or read before it
        played = played._replace(known=played.known & ~index.is_ahead_of(rows))
    return rows_with_games(rows, played, last_played(index, names))


def rows_with_games(rows: Sequence[AgentRow], played: GamesPlayed, times: Mapping[str, float] = MappingProxyType({})) -> list[AgentRow]:
    """Rows with the games of their agents.

    Args:
        rows: The rows.
        played: The games, in the order of the rows. Rows of agents that it does not know stay as they are.
        times: Agent -> time of its newest outcome in seconds since 1970, as far as it is known.
    """
    columns = (outcomes_of(weights).tolist() for weights in (played.games, played.wins, played.draws, played.losses))
    return [
        msgspec.structs.replace(row, games=games, wins=wins, draws=draws, losses=losses, last_played=times.get(row.agent)) if known else row
        for row, known, games, wins, draws, losses in zip(rows, played.known.tolist(), *columns, strict=True)
    ]


def _visible(rows: Sequence[RowT], left_out: frozenset[str]) -> list[RowT]:
    return [row for row in rows if row.agent not in left_out]


def _without(value: Any, names: frozenset[str]) -> Any:
    """Copy of a part of `Board.extra` without these names of agents: as keys, as values of fields (the field is left out), or in lists."""
    match value:
        case dict():
            kept = {key: part for key, part in value.items() if key not in names and (_OF_TASKS in key or not _is_one_of(part, names))}
            return {key: part if _OF_TASKS in key else _without(part, names) for key, part in kept.items()}
        case list() | tuple():
            return [_without(part, names) for part in value if not _is_one_of(part, names)]
    return value


def _is_one_of(value: object, names: frozenset[str]) -> bool:
    return isinstance(value, str) and value in names
