"""Cursors: opaque texts by which a client asks for the rows after those that it has."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final, TypeVar

import msgspec

from ratings_core.errors import InputError

PlaceT = TypeVar("PlaceT", bound=msgspec.Struct)
RULE: Final = "must be `next` of an answer to the same request, of the pool's present generation: start again without a cursor"
_LONGEST: Final = 400
_encode = msgspec.msgpack.Encoder().encode


def cursor_of(place: msgspec.Struct) -> str:
    """The cursor for a place."""
    return urlsafe_b64encode(_encode(place)).decode().rstrip("=")


def place_of(cursor: str, kind: type[PlaceT]) -> PlaceT:
    """The place that `cursor_of` converted. Raises `InputError` for any other text."""
    try:
        if len(cursor) <= _LONGEST:
            place = msgspec.msgpack.decode(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)), type=kind)
            if cursor_of(place) == cursor:
                return place
    except (msgspec.MsgspecError, ValueError):
        pass
    raise InputError("cursor", cursor[:100], RULE)
