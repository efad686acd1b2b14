"""Cursors: where the next page of a board begins, and of which version of the board the page before it was."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import blake2b
from typing import Final

import msgspec

from ratings_core.errors import InputError

_MOST_BYTES: Final = 1024
_RULE: Final = "must be the `next` of an earlier answer for this board"


class Cursor(msgspec.Struct, frozen=True, array_like=True):
    """The begin of a page.

    Attributes:
        pool: Name of the pool.
        method: Name of the method.
        source: `live`, `solved` or `past`, as in `Board`.
        version: Version of the board; empty for a live board that was being written.
        start: Index of the page's first row.
        position: Log offset of a past board; None for other boards.
        everyone: Whether agents outside a lottery's support have rows.

    """

    pool: str
    method: str
    source: str
    version: str
    start: int
    position: int | None = None
    everyone: bool = True

    def text(self) -> str:
        """The cursor as readers get it."""
        return urlsafe_b64encode(msgspec.json.encode(self)).decode().rstrip("=")


class ReplacedBoard(Exception):  # noqa: N818 - names the fact
    """The board of a cursor was replaced by another one."""

    def __init__(self, pool: str, method: str) -> None:
        super().__init__(f"the board {method} of pool {pool} was replaced since the cursor was made: begin again without a cursor")


def cursor_of(text: str, pool: str, method: str) -> Cursor:
    """Read a cursor. Raises `InputError` if it is not one, or is one of another board."""
    try:
        if len(text) > _MOST_BYTES:
            raise InputError("cursor", f"{len(text)} bytes", _RULE)
        cursor = msgspec.json.decode(urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=Cursor)
    except (ValueError, msgspec.DecodeError) as error:
        raise InputError("cursor", text[:100], _RULE) from error
    known = cursor.source in {"live", "solved", "past"} and (cursor.position is not None) == (cursor.source == "past")
    in_range = 0 <= cursor.start < 2**31 and (cursor.position is None or 0 <= cursor.position < 2**63)
    if (cursor.pool, cursor.method) != (pool, method) or not known or not in_range:
        raise InputError("cursor", text[:100], _RULE)
    return cursor


def digest(*parts: object) -> str:
    """A version from what identifies it."""
    return blake2b(msgspec.json.encode(parts), digest_size=8).hexdigest()
