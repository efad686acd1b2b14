"""Outcomes of an exported Parquet file, as the wire schema writes them.

A row becomes the JSON object that was sent, so the decoder checks it by the rules that hold for every outcome, and refuses it alone.
"""

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, Final

import msgspec

from ratings_core.formats.errors import FormatError
from ratings_core.formats.parquet import parquet_types, python_rows

EXPORTED: Final = frozenset({"kind", "pool", "id"})
"""Columns that distinguish an export from a Parquet file of battles."""
_SHOWN: Final = 200


def outcome_texts(stream: BinaryIO) -> Iterator[tuple[int, str]]:
    """Number, from 1, and JSON text of each row of an exported file.

    Args:
        stream: The file; seekable.

    Raises:
        FormatError: A column that outcomes are made of is missing: the file was exported without it, and would lose what it says. Or it is
            there twice, or of a type that it does not have in the wire schema: bytes, dates and decimals would become other texts.
        InputError: The file is damaged.
        MissingExtraError: The extra `arrow` is not installed.
    """
    from services.wire.bulk.layout import COLUMNS  # noqa: PLC0415 - loads pyarrow, which other files do not need
    from services.wire.bulk.texts import outcome  # noqa: PLC0415 - as above

    _check_types(parquet_types(stream))
    for number, row in python_rows(stream, COLUMNS, list(COLUMNS)):
        yield number, msgspec.json.encode(outcome(row)).decode()


def _check_types(types: Sequence[tuple[str, Any]]) -> None:
    """types: name and Arrow type of each column."""
    from services.wire.bulk.layout import COLUMNS, fits  # noqa: PLC0415 - see above

    names = [name for name, _ in types]
    for name, kind in types:
        if name in COLUMNS and names.count(name) > 1:
            raise FormatError(1, name, names.count(name), "must be one column, not several of one name")
        if name in COLUMNS and not fits(COLUMNS[name], kind):
            raise FormatError(1, name, str(kind)[:_SHOWN], COLUMNS[name].rule)
