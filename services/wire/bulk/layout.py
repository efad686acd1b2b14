"""Columns of schema v1c: their names, the Arrow types that each may have, and the limits of a stream."""

from collections.abc import Mapping
from typing import Final, NamedTuple

import pyarrow as pa
from pyarrow import types

MAX_BATCHES: Final = 64
"""Maximal number of record batches in a stream."""
MAX_TEXT_BYTES: Final = 4 << 20
"""Maximal bytes of all texts of a stream. A text in a dictionary counts once for each row that uses it, because each use takes only a few
bytes in the stream and the full text after decoding."""

TEXT: Final = pa.large_string()
WHOLE: Final = pa.int64()
NUMBER: Final = pa.float64()
JSON: Final = pa.large_binary()
"""Kinds of values. Each kind is named by the Arrow type that can hold every value of it."""


class Column(NamedTuple):
    """A column of a stream.

    Attributes:
        content: Kind of its values: `TEXT`, `WHOLE`, `NUMBER` or `JSON`.
        is_list: Whether each row has a list of values.
        rule: The accepted types, as text.
    """

    content: pa.DataType
    is_list: bool
    rule: str


_TEXT_RULE: Final = "must be text: string, large_string, or a dictionary of one of them"
_NUMBER_RULE: Final = "must be numbers: float64, float32, or whole numbers of 8 to 64 bits with a sign, or of 8 to 32 bits without"
_WHOLE_RULE: Final = "of whole numbers of 8 to 64 bits with a sign, or of 8 to 32 bits without"

COLUMNS: Final[Mapping[str, Column]] = {
    "id": Column(TEXT, False, _TEXT_RULE),
    "pool": Column(TEXT, False, _TEXT_RULE),
    "time": Column(NUMBER, False, f"{_NUMBER_RULE} (seconds since 1970)"),
    "kind": Column(TEXT, False, _TEXT_RULE),
    "weight": Column(NUMBER, False, _NUMBER_RULE),
    "task": Column(TEXT, False, _TEXT_RULE),
    "agents": Column(TEXT, True, "must be lists (list or large_list) of text: string, large_string, or a dictionary of one of them"),
    "sides": Column(WHOLE, True, f"must be lists (list or large_list) {_WHOLE_RULE}"),
    "places": Column(WHOLE, True, f"must be lists (list or large_list) {_WHOLE_RULE}"),
    "scores": Column(NUMBER, True, f"must be lists (list or large_list): the values {_NUMBER_RULE}"),
    "retracts": Column(TEXT, False, _TEXT_RULE),
    "tags": Column(TEXT, False, "must be JSON objects as text: string, large_string, or a dictionary of one of them"),
    "meta": Column(JSON, False, "must be JSON text: string, large_string, binary or large_binary"),
}
"""Columns that a stream may have; the archive has columns of the same names. An absent column means null in every row."""
TEXT_COLUMNS: Final = tuple(name for name, column in COLUMNS.items() if column.content in (TEXT, JSON))


_TEXTS: Final = frozenset({pa.string(), pa.large_string()})
_WHOLES: Final = frozenset({pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32()})
_ACCEPTED: Final[Mapping[pa.DataType, frozenset[pa.DataType]]] = {
    TEXT: _TEXTS,
    WHOLE: _WHOLES,
    NUMBER: _WHOLES | {pa.float32(), pa.float64()},
    JSON: _TEXTS | {pa.binary(), pa.large_binary()},
}
"""Kind of values -> Arrow types that they may have."""


def fits(column: Column, kind: pa.DataType) -> bool:
    """Whether the Arrow type `kind` is accepted for a column."""
    if types.is_null(kind):
        return True
    if column.is_list:
        if not (types.is_list(kind) or types.is_large_list(kind)):
            return False
        kind = kind.value_type
    return (kind.value_type if column.content == TEXT and types.is_dictionary(kind) else kind) in _ACCEPTED[column.content]
