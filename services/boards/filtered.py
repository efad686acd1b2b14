"""Rows of a board that match filters, page by page. Ranks are those of the complete board.

If few agents match, they are looked up by their names and put in the board's order. Otherwise rows are examined from the page's begin on.
"""

from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import Final, NamedTuple, TypeAlias

import msgspec

from services.boards import reading
from services.boards.agent_columns import Matching
from services.boards.cursors import FilterCursor, ReplacedBoard, text_of
from services.boards.reading import Board, ShownProvisional
from services.boards.result import LOTTERY, AgentRow
from services.boards.slice_boards import method_of
from services.boards.store.protocol import INSIGHT, StoreError
from services.boards.store.redis import RedisStore

_MOST_NAMED: Final = 20_000
"""Most agents that are looked up by their names for one page."""
_RARE: Final = 20
"""Agents are looked up by their names if at most one of this many agents of the board matches."""
_ROWS_A_READ: Final = 1000
_ROWS_A_FILE_READ: Final = 20_000
"""Rows of a read of a board that is in files. Each read loads the whole board."""
MOST_EXAMINED: Final = 100_000
"""Most rows that are examined for one page. A page may end there with fewer rows than were asked for."""


class Selection(NamedTuple):
    """What a request selects of a board.

    Attributes:
        pool: Name of the pool.
        method: Name of the board: of the method, or of the slice's board of the method.
        filters: Checksum of the filters.
        matching: The agents that match.
        everyone: Whether agents outside the support of a maximal lottery have rows.
        shown: Whether rows of provisional agents match.
    """

    pool: str
    method: str
    filters: str
    matching: Matching
    everyone: bool = True
    shown: ShownProvisional = ShownProvisional.INCLUDE

    def of(self, rows: Sequence[AgentRow | None]) -> list[tuple[int, AgentRow]]:
        """Index and row of the rows that match."""
        named = [(index, row) for index, row in enumerate(rows) if row is not None and self.shown.allows(provisional=row.provisional)]
        matches = self.matching.among([row.agent for _, row in named])
        return [place for place, matched in zip(named, matches, strict=True) if matched]


class _Part(NamedTuple):
    """Rows that were read in one step.

    Attributes:
        board: The board, with any rows.
        version: Version of the board; empty if it changed in between.
        start: Index of the first of the rows: the requested one, or a later one before which no row can match.
        rows: Rows from this index on; None for an agent that left the board.
        end: Index after the last row that can match.
    """

    board: Board
    version: str
    start: int
    rows: Sequence[AgentRow | None]
    end: int


_Read: TypeAlias = Callable[[int, int], _Part | None]
"""Reads rows from an index on, a number of rows at most. Returns None if there is no such board."""


class _Page(NamedTuple):
    """Rows of a page.

    Attributes:
        board: The board, with any rows.
        version: Version of the board; empty if it changed in between.
        rows: The rows that match.
        start: Index after the last examined row.
        ended: Whether no row follows.
    """

    board: Board
    version: str
    rows: list[AgentRow]
    start: int
    ended: bool


def page(store: RedisStore, selected: Selection, cursor: FilterCursor | None, count: int, *, now: float) -> Board | None:
    """A page of the rows of a live or solved board that match. Returns None if there is no such board.

    Args:
        store: The store.
        selected: What the request selects.
        cursor: Where the page begins; None for the first page.
        count: Largest number of rows. A page has fewer if it is the last one, or after `MOST_EXAMINED` rows of the board.
        now: Seconds since 1970.

    Raises:
        ReplacedBoard: The board of the cursor was solved, and another is shown now; or too many agents match now for its kind of page.
        StoreError: The store does not answer, or a solved board was replaced while it was read.
    """
    read_board = partial(reading.rows_and_version, store, selected.pool, selected.method, now=now)
    first = read_board(0, 1)
    if first is None:
        return None
    by_name = _are_few(selected.matching, first[0]) if cursor is None else cursor.by_name
    if by_name and _number_of(selected.matching) > 2 * _MOST_NAMED:  # many more match than when the cursor was made
        raise ReplacedBoard(selected.pool, selected.method)
    read = _by_name(store, selected, first[1], read_board) if by_name else _in_order(read_board, selected)
    if read is None:
        return None
    walked = _walk(read, selected, cursor, count)
    return None if walked is None else _with_cursor(walked, selected, cursor, by_name=by_name)


def page_of_file(read: Callable[[int, int], tuple[Board, str]], selected: Selection, cursor: FilterCursor | None, count: int) -> Board:
    """A page of the rows of a past board, or of a final board of a season, that match.

    Args:
        read: Reads rows from an index on, a number of rows at most, and the version of the board.
        selected: What the request selects.
        cursor: Where the page begins; None for the first page.
        count: Largest number of rows, as of `page`.

    Raises:
        ReplacedBoard: The board is not that of the cursor.
    """
    walked = _walk(_in_order(read, selected), selected, cursor, count, least=_ROWS_A_FILE_READ)
    if walked is None:
        raise ReplacedBoard(selected.pool, selected.method)
    return _with_cursor(walked, selected, cursor, by_name=False)


def complete(store: RedisStore, selected: Selection, *, now: float) -> Board | None:
    """All rows of a live or solved board that match. Returns None if there is no such board.

    Raises:
        InputError: The board is too large for an answer with all its rows, and too many agents match to look them up.
        StoreError: The store does not answer, or the board changes during every attempt.
    """
    read_board = partial(reading.rows_and_version, store, selected.pool, selected.method, now=now)
    first = read_board(0, 1)
    if first is None:
        return None
    if not _are_few(selected.matching, first[0]):
        board = reading.whole(store, selected.pool, selected.method, now=now)
        return None if board is None else matching_rows(board, selected)
    read = _by_name(store, selected, first[1], read_board)
    part = None if read is None else read(0, _MOST_NAMED)
    if part is None:
        return None
    return matching_rows(msgspec.structs.replace(part.board, rows=[row for row in part.rows if row is not None]), selected)


def matching_rows(board: Board, selected: Selection) -> Board:
    """The rows that match of a board with all of its rows."""
    return msgspec.structs.replace(board, rows=_placed([row for _, row in selected.of(board.rows)], 0), next=None)


def _number_of(matching: Matching) -> float:
    return inf if matching.size is None else matching.size


def _are_few(matching: Matching, board: Board) -> bool:
    """Whether the agents that match are looked up by their names."""
    return _number_of(matching) <= min(_MOST_NAMED, board.total // _RARE)


def _with_cursor(walked: _Page, selected: Selection, cursor: FilterCursor | None, *, by_name: bool) -> Board:
    """The page with its places, and with the cursor of the next page. Raises `ReplacedBoard`."""
    board, version, before = walked.board, walked.version, 0 if cursor is None else cursor.matched
    changed: bool | msgspec.UnsetType = msgspec.UNSET
    if cursor is not None:
        if board.source != cursor.source or (board.source != "live" and version != cursor.version):
            raise ReplacedBoard(selected.pool, selected.method)
        changed = not version or version != cursor.version or selected.matching.version != cursor.matching
    position, generation = (board.position, board.generation) if board.source == "past" else (None, None)
    following = FilterCursor(
        selected.pool, selected.method, board.source, version, selected.filters, selected.matching.version, walked.start,
        before + len(walked.rows), by_name, selected.everyone, position, generation,
    )  # fmt: skip
    rows = _placed(walked.rows, before)
    return msgspec.structs.replace(board, rows=rows, next=None if walked.ended else text_of(following), changed=changed)


def _walk(read: _Read, selected: Selection, cursor: FilterCursor | None, count: int, *, least: int = 0) -> _Page | None:
    """Examine rows from the cursor on, until `count` rows match. No agent has two of them. Returns None if there is no such board.

    least: Least number of rows of a read. The first read has no more rows than the page, because most agents may match.
    """
    rows, shown = list[AgentRow](), set[str]()
    end = 0 if cursor is None else cursor.start
    versions, board, ended, size, examined = set[str](), None, False, min(count, _ROWS_A_READ), 0
    while len(rows) < count and examined < MOST_EXAMINED and not ended:
        part = read(end, max(size, least))
        if part is None:
            return None
        board, size = board or part.board, _ROWS_A_READ
        versions.add(part.version)
        left, examined = count - len(rows), examined + len(part.rows)
        matches = [match for match in selected.of(part.rows) if match[1].agent not in shown][:left]  # a live board can change between reads
        rows += [row for _, row in matches]
        shown.update(row.agent for _, row in matches)
        end = part.start + (matches[-1][0] + 1 if len(matches) == left else len(part.rows))
        ended = end >= part.end or not part.rows
    if board is None:
        return None
    if board.source != "live" and len(versions) > 1:
        raise _replaced_meanwhile(selected)
    return _Page(board, versions.pop() if len(versions) == 1 else "", rows, end, ended)


def _replaced_meanwhile(selected: Selection) -> StoreError:
    return StoreError(f"the board {selected.method} of pool {selected.pool} was replaced while it was read", retriable=True)


def _in_order(read_board: Callable[[int, int], tuple[Board, str] | None], selected: Selection) -> _Read:
    """Reads the rows of a board in its order. Settled agents are first, so the others need not be examined to leave either out."""

    def read(start: int, count: int) -> _Part | None:
        read = read_board(start, count)
        if read is not None and (first := selected.shown.of(read[0].ranked, read[0].total)[0]) > start:
            start, read = first, read_board(first, count)
        if read is None:
            return None
        board, version = read
        most = board.total if selected.everyone else reading.support_of(board) or board.total
        end = selected.shown.of(board.ranked, most)[1]
        return _Part(board, version, start, board.rows[: max(0, end - start)], end)

    return read


def _by_name(
    store: RedisStore, selected: Selection, version: str, read_board: Callable[[int, int], tuple[Board, str] | None]
) -> _Read | None:
    """Reads the rows of the agents that match, in the order of the board. Returns None if there is no such board.

    version: that of the board before.
    """
    head, names = store.live.head(selected.pool), selected.matching.names()
    order: list[str] | None = None
    if head is not None and head.has_board(selected.method):
        order = [name for name, mark in store.live.in_order(head, selected.method, names) if selected.shown.allows(provisional=mark)]
    elif head is not None:
        order = _solved_order(store, selected, names)
    if head is None or order is None:
        return None

    def read(start: int, count: int) -> _Part | None:
        chosen = order[start : start + count]
        rows = reading.ratings(store, head, selected.method, chosen) if chosen else []
        newest = read_board(0, 1)
        if newest is None or rows is None:
            return None
        board, after = newest
        if board.source == "solved" and after != version:
            raise _replaced_meanwhile(selected)
        return _Part(board, after if after == version else "", start, rows, len(order))

    return read


def _solved_order(store: RedisStore, selected: Selection, names: Sequence[str]) -> list[str] | None:
    """The agents of which a solved board has rows that can be shown, in its order; None if there is no such board."""
    if selected.method == INSIGHT or (placed := store.solved.places_of(selected.pool, selected.method, names)) is None:
        return None
    board, total, places = placed
    support = reading.support_rows(board.result.extra) if method_of(selected.method) == LOTTERY and not selected.everyone else None
    first, end = selected.shown.of(reading.ranked_of(board.result, total), total if support is None else support)
    return sorted((name for name, place in places.items() if first <= place < end), key=places.__getitem__)


def _placed(rows: Sequence[AgentRow], before: int) -> list[AgentRow]:
    return [msgspec.structs.replace(row, filter_place=place) for place, row in enumerate(rows, before + 1)]
