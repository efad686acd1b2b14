"""Rows of a board that match filters, page by page. Ranks are those of the complete board.

If few agents match, they are looked up by their names and put in the board's order. Otherwise rows are examined from the page's begin on.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from services.boards import reading
from services.boards.agent_columns import Matching
from services.boards.cursors import FilterCursor, ReplacedBoard, text_of
from services.boards.reading import Board
from services.boards.result import AgentRow
from services.boards.store.protocol import INSIGHT, PoolHead, StoreError
from services.boards.store.redis import RedisStore
from services.runtime.settings import PROVISIONAL, Provisional

_MOST_NAMED: Final = 20_000
"""Most agents that are looked up by their names for one page."""
_RARE: Final = 20
"""Agents are looked up by their names if at most one of this many agents of the board matches."""
_ROWS_A_READ: Final = 1000
MOST_EXAMINED: Final = 100_000
"""Most rows that are examined for one page. A page may end there with fewer rows than were asked for."""


class Selection(NamedTuple):
    """What a request selects of a board.

    Attributes:
        pool: Name of the pool.
        method: Name of the method.
        filters: Checksum of the filters.
        matching: The agents that match.
        everyone: Whether agents outside the support of a maximal lottery have rows.
    """

    pool: str
    method: str
    filters: str
    matching: Matching
    everyone: bool = True


class _Page(NamedTuple):
    """Rows of a page.

    Attributes:
        board: The board, with other rows.
        version: Version of the board; empty if it changed in between.
        rows: The rows that match.
        start: Index on the board after the last examined row; 0 if agents were looked up by their names.
        ended: Whether no row follows.
    """

    board: Board
    version: str
    rows: list[AgentRow]
    start: int
    ended: bool


def page(
    store: RedisStore, selected: Selection, cursor: FilterCursor | None, count: int, *, now: float, provisional: Provisional = PROVISIONAL
) -> Board | None:
    """A page of the rows that match. Returns None if there is no such board.

    Args:
        store: The store.
        selected: What the request selects.
        cursor: Where the page begins; None for the first page.
        count: Largest number of rows. A page has fewer if it is the last one, or after `MOST_EXAMINED` rows of the board.
        now: Seconds since 1970.
        provisional: Rules that mark agents as provisional.

    Raises:
        ReplacedBoard: The board of the cursor was solved, and another is shown now; or too many agents match now for its kind of page.
        StoreError: The store does not answer.
    """
    first = reading.rows_and_version(store, selected.pool, selected.method, 0, 1, now, provisional)
    if first is None:
        return None
    by_name = _are_few(selected.matching, first[0]) if cursor is None else cursor.by_name
    if by_name and len(selected.matching) > 2 * _MOST_NAMED:  # many more match than when the cursor was made
        raise ReplacedBoard(selected.pool, selected.method)
    if by_name:
        found = _by_name(store, selected, first[1], 0 if cursor is None else cursor.matched, count, now, provisional)
    else:
        found = _examined(store, selected, 0 if cursor is None else cursor.start, count, now, provisional)
    return None if found is None else _with_cursor(found, selected, cursor, by_name=by_name)


def complete(store: RedisStore, selected: Selection, *, now: float, provisional: Provisional = PROVISIONAL) -> Board | None:
    """All rows that match. Returns None if there is no such board.

    Raises:
        InputError: The board is too large for an answer with all its rows, and too many agents match to look them up.
        StoreError: The store does not answer, or the board changes during every attempt.
    """
    first = reading.rows_and_version(store, selected.pool, selected.method, 0, 1, now, provisional)
    if first is None:
        return None
    if _are_few(selected.matching, first[0]):
        found = _by_name(store, selected, first[1], 0, _MOST_NAMED, now, provisional)
        return None if found is None else msgspec.structs.replace(found.board, rows=_placed(found.rows, 0), next=None)
    board = reading.whole(store, selected.pool, selected.method, now=now, provisional=provisional)
    if board is None:
        return None
    return msgspec.structs.replace(board, rows=_placed(_matching(board.rows, selected.matching), 0), next=None)


def _are_few(matching: Matching, board: Board) -> bool:
    """Whether the agents that match are looked up by their names."""
    return len(matching) <= min(_MOST_NAMED, board.total // _RARE)


def _with_cursor(found: _Page, selected: Selection, cursor: FilterCursor | None, *, by_name: bool) -> Board:
    """The page with its places, and with the cursor of the next page. Raises `ReplacedBoard`."""
    source, version, before = found.board.source, found.version, 0 if cursor is None else cursor.matched
    changed: bool | msgspec.UnsetType = msgspec.UNSET
    if cursor is not None:
        if source != cursor.source or (source == "solved" and version != cursor.version):
            raise ReplacedBoard(selected.pool, selected.method)
        changed = not version or version != cursor.version or selected.matching.version != cursor.matching
    following = FilterCursor(
        selected.pool, selected.method, source, version, selected.filters, selected.matching.version, found.start,
        before + len(found.rows), by_name, selected.everyone,
    )  # fmt: skip
    rows = _placed(found.rows, before)
    return msgspec.structs.replace(found.board, rows=rows, next=None if found.ended else text_of(following), changed=changed)


def _by_name(
    store: RedisStore, selected: Selection, version: str, begin: int, count: int, now: float, provisional: Provisional
) -> _Page | None:
    """The rows `begin` to `begin + count` of those that match, from the names of all that match. version: that of the board before."""
    head, names = store.live.head(selected.pool), selected.matching.names()
    order: list[str] | None = None
    if head is not None and selected.method in head.live_methods:
        order = _live_order(store, head, selected.method, names)
    elif head is not None:
        order = _solved_order(store, selected, names)
    if head is None or order is None:
        return None
    chosen = order[begin : begin + count]
    found = reading.ratings(store, head, selected.method, chosen, provisional=provisional) if chosen else []
    read = reading.rows_and_version(store, selected.pool, selected.method, 0, 1, now, provisional)
    if read is None or found is None:
        return None
    board, after = read
    if board.source == "solved" and after != version:
        raise StoreError(f"the board {selected.method} of pool {selected.pool} was replaced while it was read", retriable=True)
    rows = [row for row in found if row is not None]
    return _Page(board, after if after == version else "", rows, 0, begin + count >= len(order))


def _live_order(store: RedisStore, head: PoolHead, method: str, names: Sequence[str]) -> list[str]:
    """The agents that are on a live board, in its order: best first, equal ratings by the bytes of names."""
    rated = zip(names, store.live.ratings_of(head, method, names), strict=True)
    return [name for _, _, name in sorted((-rating, name.encode(), name) for name, rating in rated if rating is not None)]


def _solved_order(store: RedisStore, selected: Selection, names: Sequence[str]) -> list[str] | None:
    """The agents that are on a solved board, in its order; None if there is no such board."""
    if selected.method == INSIGHT or (placed := store.solved.places_of(selected.pool, selected.method, names)) is None:
        return None
    board, total, places = placed
    support = board.result.extra.get("support") if selected.method == reading.LOTTERY and not selected.everyone else None
    most = len(support) if isinstance(support, list) else total
    return sorted((name for name, place in places.items() if place < most), key=places.__getitem__)


def _examined(store: RedisStore, selected: Selection, start: int, count: int, now: float, provisional: Provisional) -> _Page | None:
    """Rows that match, from index `start` of the board on."""
    rows: list[AgentRow] = []
    end, versions, board = start, set[str](), None
    while len(rows) < count and end < start + MOST_EXAMINED:
        read = reading.rows_and_version(store, selected.pool, selected.method, end, _ROWS_A_READ, now, provisional)
        if read is None:
            return None
        part, version = read
        board = board or part
        versions.add(version)
        most = part.total if selected.everyone else reading.support_of(part) or part.total
        examined = part.rows[: max(0, most - end)]
        left, matches = count - len(rows), selected.matching.among([row.agent for row in examined])
        kept = [index for index, matched in enumerate(matches) if matched][:left]
        rows += [examined[index] for index in kept]
        end += kept[-1] + 1 if len(kept) == left else len(examined)
        if end >= most or not examined:
            return _Page(board, versions.pop() if len(versions) == 1 else "", rows, end, ended=True)
    return None if board is None else _Page(board, versions.pop() if len(versions) == 1 else "", rows, end, ended=False)


def _matching(rows: Sequence[AgentRow], matching: Matching) -> list[AgentRow]:
    return [row for row, matches in zip(rows, matching.among([row.agent for row in rows]), strict=True) if matches]


def _placed(rows: Sequence[AgentRow], before: int) -> list[AgentRow]:
    return [msgspec.structs.replace(row, filter_place=place) for place, row in enumerate(rows, before + 1)]
