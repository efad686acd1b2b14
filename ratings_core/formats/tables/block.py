"""Blocks of rows, and what a table of any file offers."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ratings_core.errors import InputError
from ratings_core.formats.errors import FormatError


class Block(NamedTuple):
    """Consecutive rows.

    Attributes:
        rows: The rows, as an Arrow record batch with the wanted columns.
        numbers: int64 (n,), number of each row: its line where each row is a line, else its number among the items, from 1.
        hashes: uint64 (n, 2), hash of each complete row; None if not wanted.
        bad: Errors of rows that have no cells. They are not in `rows`.
        reasons: Why each row is left out, empty for others; None if no row is left out.
    """

    rows: Any
    numbers: NDArray[np.int64]
    hashes: NDArray[np.uint64] | None = None
    bad: Sequence[FormatError] = ()
    reasons: Sequence[str] | None = None

    def take(self, mask: NDArray[np.bool_]) -> "Block":
        """The rows where `mask` (n,) is true, none of which is left out."""
        hashes = None if self.hashes is None else self.hashes[mask]
        return Block(self.rows.filter(mask), self.numbers[mask], hashes, self.bad)


class Table(Protocol):
    """A table that is read once, from its beginning."""

    @property
    def header(self) -> list[str]:
        """Names of the columns; a nested column is named by its path, with points. A JSON file can have more columns than it says here."""

    def blocks(self, columns: Sequence[str], *, hashed: bool = False) -> Iterator[Block]:
        """Yield all rows in order.

        Args:
            columns: Columns that are wanted.
            hashed: Whether the hashes of complete rows are wanted.

        Raises:
            FormatError: A column does not exist, or the file cannot be read on from a row.
            InputError: The file is damaged.
        """


def each_row(table: Table) -> Iterator[tuple[int, list[str]]]:
    """Number and texts of the cells of each row, for small tables. Raises `FormatError` for a row with another number of cells."""
    for block in table.blocks(table.header):
        columns = [
            ["" if cell is None else str(cell) for cell in column.to_pylist()] for column in select(block.rows, table.header).columns
        ]
        rows = zip(block.numbers.tolist(), map(list, zip(*columns, strict=True)), strict=True)
        bad = block.bad[0] if block.bad else None
        for number, row in rows:
            if bad is not None and bad.row < number:
                raise bad
            yield number, row
        if bad is not None:
            raise bad


@dataclass(frozen=True, slots=True)
class FrameTable:
    """A table in memory. frame: an Arrow table."""

    frame: Any
    header: list[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "header", flat_names(self.frame.schema))
        check_names(self.frame.schema.names)

    def blocks(self, columns: Sequence[str], *, hashed: bool = False) -> Iterator[Block]:
        """Yield all rows, in the chunks of the table."""
        if hashed:
            raise InputError("hashed", hashed, "must be False: rows of data frames have no ids")
        wanted, begin = select(self.frame, columns), 0
        for rows in wanted.to_batches():
            yield Block(rows, np.arange(begin + 1, begin + len(rows) + 1))
            begin += len(rows)


def check_names(names: Sequence[str]) -> None:
    """Raise `FormatError` for a name that several columns have."""
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise FormatError(1, twice, twice, "must be the header of only one column")


def flat_names(schema: Any) -> list[str]:
    """Names of all columns of an Arrow schema; a field of a nested column is named by its path, with points."""
    names: list[str] = []
    for one in schema:
        names.append(one.name)
        names += [f"{one.name}.{inner}" for inner in _inner(one.type)]
    return names


def _inner(kind: Any) -> list[str]:
    return flat_names([kind.field(i) for i in range(kind.num_fields)]) if is_struct(kind) else []


def is_struct(kind: Any) -> bool:
    """Whether an Arrow type has fields."""
    return str(kind).startswith("struct")


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is text, without a dictionary."""
    return str(kind) in ("string", "large_string", "string_view")


def select(table: Any, columns: Sequence[str]) -> Any:
    """The columns of an Arrow table or record batch, by name or by path. Raises `FormatError` for an unknown column."""
    known = {name: i for i, name in enumerate(table.schema.names)}
    arrays = {column: _resolved(table, known, column) for column in dict.fromkeys(columns)}
    return type(table).from_arrays(list(arrays.values()), names=list(arrays))


def _resolved(table: Any, known: dict[str, int], column: str) -> Any:
    import pyarrow.compute as pc  # noqa: PLC0415 - a base dependency that takes time to load

    if column in known:
        return table.column(known[column])
    for name, rest in split_path(column):
        if name in known and (path := _path(table.schema.field(name).type, rest)) is not None:
            return pc.struct_field(table.column(known[name]), path)
    raise FormatError(1, column, flat_names(table.schema), "must be a column of the header")


def _path(kind: Any, rest: str) -> list[int] | None:
    """Indices of the fields that lead to `rest` in a nested type; None if there is no such field. Names of fields can hold points."""
    if not is_struct(kind):
        return None
    if (index := kind.get_field_index(rest)) >= 0:
        return [index]
    for name, further in split_path(rest):
        if (index := kind.get_field_index(name)) >= 0 and (path := _path(kind.field(index).type, further)) is not None:
            return [index, *path]
    return None


def split_path(path: str) -> Iterator[tuple[str, str]]:
    """Each way to divide a path at a point: the name before it, and the rest. The longest name comes last."""
    at = path.find(".")
    while at >= 0:
        yield path[:at], path[at + 1 :]
        at = path.find(".", at + 1)
