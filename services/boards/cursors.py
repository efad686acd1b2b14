"""Cursors: opaque texts by which a client asks for the rows after those that it has."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import blake2b
from typing import Final, TypeVar
from zlib import crc32

import msgspec

from ratings_core.errors import InputError

PlaceT = TypeVar("PlaceT", bound=msgspec.Struct)
RULE: Final = "must be `next` of an answer to the same request, of the pool's present generation: start again without a cursor"
_BOARD_RULE: Final = "must be the `next` of an earlier answer for this board"
_FILTER_RULE: Final = "must be the `next` of an earlier answer for this board with the same filters"
_LONGEST: Final = 1024
_encode = msgspec.msgpack.Encoder().encode


class Cursor(msgspec.Struct, frozen=True, array_like=True):
    """The begin of a page of a board, and of which version of the board the page before it was.

    Attributes:
        pool: Name of the pool.
        method: Name of the method.
        source: As in `Board`.
        version: Version of the board; empty for a live board that was being written. Name of the season of a final board.
        start: Index of the page's first row.
        position: Log offset of a past board; None for other boards.
        everyone: Whether agents outside a lottery's support have rows.
        generation: Generation of a past board; None for other boards.
    """

    pool: str
    method: str
    source: str
    version: str
    start: int
    position: int | None = None
    everyone: bool = True
    generation: int | None = None

    def text(self) -> str:
        """The cursor as readers get it."""
        return text_of(self)


class FilterCursor(msgspec.Struct, frozen=True, array_like=True, tag="filtered"):
    """The begin of a page of an answer with filters, and the versions of which the page before it was.

    Attributes:
        pool: Name of the pool.
        method: Name of the method.
        source: As in `Board`.
        version: As in `Cursor`.
        filters: Checksum of the filters.
        matching: Version of the set of agents that match.
        start: Index from which rows are examined: on the board, or among the agents that match if these are looked up by their names.
        matched: Number of rows of the pages before.
        by_name: Whether the agents that match are looked up by their names.
        everyone: As in `Cursor`.
        position: As in `Cursor`.
        generation: As in `Cursor`.
    """

    pool: str
    method: str
    source: str
    version: str
    filters: str
    matching: str
    start: int
    matched: int
    by_name: bool
    everyone: bool
    position: int | None = None
    generation: int | None = None


class ReplacedBoard(Exception):  # noqa: N818 - names the fact
    """The board of a cursor was replaced by another one."""

    def __init__(self, pool: str, method: str) -> None:
        super().__init__(f"the board {method} of pool {pool} was replaced since the cursor was made: begin again without a cursor")


def text_of(place: msgspec.Struct) -> str:
    """The cursor for a place."""
    return urlsafe_b64encode(_encode(place)).decode().rstrip("=")


def place_of(cursor: str, kind: type[PlaceT], rule: str = RULE) -> PlaceT:
    """The place that `text_of` converted. Raises `InputError` with `rule` for any other text."""
    try:
        if len(cursor) <= _LONGEST:
            place = msgspec.msgpack.decode(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)), type=kind)
            if text_of(place) == cursor:
                return place
    except (msgspec.MsgspecError, ValueError):
        pass
    raise InputError("cursor", cursor[:100], rule)


def cursor_of(text: str, pool: str, method: str) -> Cursor:
    """Read a cursor of a board. Raises `InputError` if it is not one, or is one of another board."""
    cursor = place_of(text, Cursor, _BOARD_RULE)
    if (cursor.pool, cursor.method) != (pool, method) or not _is_possible(cursor):
        raise InputError("cursor", text[:100], _BOARD_RULE)
    return cursor


def filter_cursor_of(text: str, pool: str, method: str, filters: str) -> FilterCursor:
    """Read a cursor of an answer with filters. Raises `InputError` if it is not one, or is one of another board or of other filters."""
    cursor = place_of(text, FilterCursor, _FILTER_RULE)
    possible = _is_possible(cursor) and 0 <= cursor.matched < 2**31
    if (cursor.pool, cursor.method, cursor.filters) != (pool, method, filters) or not possible:
        raise InputError("cursor", text[:100], _FILTER_RULE)
    return cursor


def _is_possible(cursor: Cursor | FilterCursor) -> bool:
    """Whether the source of a cursor exists, and its numbers are in range."""
    known = cursor.source in {"live", "solved", "past", "season"} and (cursor.position is not None) == (cursor.source == "past")
    return known and 0 <= cursor.start < 2**31 and (cursor.position is None or 0 <= cursor.position < 2**63)


def digest(*parts: object) -> str:
    """A version from what identifies it."""
    return blake2b(msgspec.json.encode(parts), digest_size=8).hexdigest()


def checksum(text: str) -> int:
    """Checksum of a text that a cursor belongs to, such as a query or a name."""
    return crc32(text.encode("utf-8", "surrogatepass"))
