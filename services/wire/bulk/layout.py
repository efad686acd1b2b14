"""Columns of schema v1c: their names, the Arrow types that each may have, and the limits of a stream."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

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
    "meta": Column(JSON, False, "must be JSON text: string, large_string, binary or large_binary"),
}
"""Columns that a stream may have; the archive has columns of the same names. An absent column means null in every row."""
TEXT_COLUMNS: Final = tuple(name for name, column in COLUMNS.items() if column.content in (TEXT, JSON))


def fits(column: Column, kind: pa.DataType) -> bool:
    """Whether the Arrow type `kind` is accepted for a column."""
    if types.is_null(kind):
        return True
    if column.is_list:
        return (types.is_list(kind) or types.is_large_list(kind)) and _VALUES[column.content](kind.value_type)
    return bool(_VALUES[column.content](kind))


def _is_text(kind: pa.DataType) -> bool:
    return _is_plain_text(kind.value_type if types.is_dictionary(kind) else kind)


def _is_plain_text(kind: pa.DataType) -> bool:
    return bool(types.is_string(kind) or types.is_large_string(kind))


def _is_whole(kind: pa.DataType) -> bool:
    return bool(types.is_integer(kind) and not types.is_uint64(kind))


def _is_number(kind: pa.DataType) -> bool:
    return _is_whole(kind) or types.is_float32(kind) or types.is_float64(kind)


def _is_json(kind: pa.DataType) -> bool:
    return _is_plain_text(kind) or types.is_binary(kind) or types.is_large_binary(kind)


_VALUES: Final[Mapping[pa.DataType, Callable[[Any], bool]]] = {
    TEXT: _is_text,
    WHOLE: _is_whole,
    NUMBER: _is_number,
    JSON: _is_json,
}
