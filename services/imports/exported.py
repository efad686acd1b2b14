"""Outcomes of an exported Parquet file, as the wire schema writes them.

A row becomes the JSON object that was sent, so the decoder checks it by the rules that hold for every outcome, and refuses it alone.
"""

from collections.abc import Iterator
from typing import BinaryIO, Final

import msgspec

from ratings_core.formats.parquet import python_rows

EXPORTED: Final = frozenset({"kind", "pool", "id"})
"""Columns that distinguish an export from a Parquet file of battles."""


def outcome_texts(stream: BinaryIO) -> Iterator[tuple[int, str]]:
    """Number, from 1, and JSON text of each row of an exported file.

    Args:
        stream: The file; seekable.

    Raises:
        FormatError: A column that outcomes are made of is missing: the file was exported without it, and would lose what it says.
        InputError: The file is damaged.
        MissingExtraError: The extra `arrow` is not installed.
    """
    from services.wire.bulk.layout import COLUMNS  # noqa: PLC0415 - loads pyarrow, which other files do not need
    from services.wire.bulk.texts import outcome  # noqa: PLC0415 - as above

    for number, row in python_rows(stream, COLUMNS, list(COLUMNS)):
        yield number, msgspec.json.encode(outcome(row)).decode()
