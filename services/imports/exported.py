"""Outcomes of an exported Parquet or CSV file, in the JSON form of the wire schema.

A row becomes the JSON object of its outcome. The decoder then checks it by the usual rules, and refuses invalid rows one by one.
"""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from io import BufferedReader
from typing import Any, BinaryIO, Final

import msgspec

from ratings_core.formats.checked import number
from ratings_core.formats.errors import FormatError
from ratings_core.formats.parquet import parquet_types, python_rows
from ratings_core.formats.reading import EXPORTED
from ratings_core.formats.tables.block import each_row
from ratings_core.formats.tables.csv_table import CsvTable

_SHOWN: Final = 200
_LATER: Final = frozenset({"tags"})
"""Columns that exports of earlier releases lack."""


def outcome_texts(stream: BinaryIO) -> Iterator[tuple[int, str]]:
    """Number, from 1, and JSON text of each row of an exported file.

    Args:
        stream: The file; seekable.

    Raises:
        FormatError: A column of outcomes is missing, because the file was exported without it; or it occurs twice; or it has a type that
            the wire schema does not have, such as bytes, dates or decimals, whose text would differ.
        InputError: The file is damaged.
        MissingExtraError: pyarrow is not installed.
    """
    from services.wire.bulk.layout import COLUMNS  # noqa: PLC0415 - loads pyarrow, which other files do not need
    from services.wire.bulk.texts import outcome  # noqa: PLC0415 - as above

    _check_types(parquet_types(stream))
    for place, row in python_rows(stream, [name for name in COLUMNS if name not in _LATER], list(COLUMNS)):
        yield place, msgspec.json.encode(outcome(row)).decode()


def is_exported_csv(first: bytes) -> bool:
    """Whether a file is an export in CSV. first: First bytes of the file, with at least its first line."""
    header = first.partition(b"\n")[0].decode(errors="replace").removeprefix("\ufeff").rstrip("\r")
    try:
        return set(next(csv.reader([header]), [])) >= EXPORTED
    except csv.Error:
        return False


def csv_texts(stream: BufferedReader) -> Iterator[tuple[int, str]]:
    """Line and JSON text of each row of an export in CSV.

    Raises:
        FormatError: A column of outcomes is missing, or a cell is not a number or a list as its column requires.
    """
    from services.wire.bulk.texts import outcome  # noqa: PLC0415 - see above

    table, readers = CsvTable(stream, ","), _cell_readers()
    for name in readers:
        if name not in table.header and name not in _LATER:
            raise FormatError(1, name, table.header, "must be a column of the header")
    places = [(name, table.header.index(name), read) for name, read in readers.items() if name in table.header]
    for line, cells in each_row(table):
        yield line, msgspec.json.encode(outcome({name: read(cells[at], line, name) for name, at, read in places if cells[at]})).decode()


def _cell_readers() -> Mapping[str, Callable[[str, int, str], Any]]:
    """Column -> function that reads its cells: (cell, line, column) -> value. The functions raise `FormatError`."""
    from services.wire.bulk.layout import COLUMNS, NUMBER, TEXT, WHOLE  # noqa: PLC0415 - see above

    kinds: Mapping[Any, Any] = {TEXT: list[str], WHOLE: list[int], NUMBER: list[float]}
    lists = {content: partial(_list, msgspec.json.Decoder(kind)) for content, kind in kinds.items()}
    return {
        name: lists[column.content] if column.is_list else number if column.content == NUMBER else _text for name, column in COLUMNS.items()
    }


def _text(cell: str, _line: int, _column: str) -> str:
    return cell


def _list(decoder: msgspec.json.Decoder[list[Any]], cell: str, line: int, column: str) -> list[Any]:
    try:
        return decoder.decode(cell)
    except msgspec.DecodeError as error:
        raise FormatError(line, column, cell[:_SHOWN], f"must be a list in JSON ({error})") from error


def _check_types(types: Sequence[tuple[str, Any]]) -> None:
    """Raise `FormatError` for a repeated column or a wrong type. types: Name and Arrow type of each column."""
    from services.wire.bulk.layout import COLUMNS, fits  # noqa: PLC0415 - see above

    names = [name for name, _ in types]
    for name, kind in types:
        if name in COLUMNS and names.count(name) > 1:
            raise FormatError(1, name, names.count(name), "must be one column, not several of one name")
        if name in COLUMNS and not fits(COLUMNS[name], kind):
            raise FormatError(1, name, str(kind)[:_SHOWN], COLUMNS[name].rule)
