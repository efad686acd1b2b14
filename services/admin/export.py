"""Export: a pool's outcomes and retractions as a table, from the archive and, beyond it, from the topic."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol

import numpy as np

from ratings_core import extras
from ratings_core.errors import InputError
from services.archive.history import History
from services.control.records import ControlState
from services.log.partition import partition_of
from services.log.protocol import Log, LogError
from services.log.skipping import open_reader

COLUMNS: Final = (
    "offset", "item", "logged", "kind", "pool", "id", "time", "weight", "task", "agents", "sides", "places", "scores", "retracts", "meta",
)  # fmt: skip
"""Columns that an export may have; docs/guides/archive.md describes them."""
_RECORDS: Final = 20_000
_POLL_SECONDS: Final = 5.0


class Format(StrEnum):
    """Formats of an export. `jsonl`: outcomes of the wire schema, which `replay` takes."""

    PARQUET = "parquet"
    CSV = "csv"
    JSONL = "jsonl"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to export.

    Attributes:
        pool: Name of the pool.
        begin: First offset of the log.
        end: Offset to end before; None for all there is.
        since: Outcomes of this time or later, seconds since 1970; None for all.
        until: Outcomes of before this time; None for all.
        agents: Outcomes that one of these agents took part in; empty for all.
        columns: Columns, in this order.
    """

    pool: str
    begin: int = 0
    end: int | None = None
    since: float | None = None
    until: float | None = None
    agents: Sequence[str] = ()
    columns: Sequence[str] = COLUMNS

    def __post_init__(self) -> None:
        if unknown := [name for name in self.columns if name not in COLUMNS]:
            raise InputError("column", unknown[0], f"must be one of {', '.join(COLUMNS)}")
        if self.end is not None and self.end < self.begin:
            raise InputError("to", self.end, f"must be {self.begin} or more, where the range begins")


def tables(log: Log, control: ControlState, wanted: Wanted) -> Iterator[tuple[Any, int]]:
    """Arrow tables of what is wanted, in the order of the log, each with the offset up to which the log was read.

    Raises:
        InputError: There is no such pool.
        MissingExtraError: The extra `archive` is not installed.
        LogError: The log or the archive cannot be read.
    """
    if wanted.pool not in control.pools:
        raise InputError("pool", wanted.pool, f"must be one of {', '.join(sorted(control.pools)) or 'none: there is no pool yet'}")
    extras.load("deltalake", "archive", "exporting outcomes")
    number = partition_of(wanted.pool, log.outcomes.partitions)
    end = log.outcomes.end(number) if wanted.end is None else min(wanted.end, log.outcomes.end(number))
    archive = log.archived.archive(number, wanted.begin) if isinstance(log.archived, History) else None
    begin = wanted.begin
    if archive is not None:
        for table in archive.read(begin, end, pool=wanted.pool, columns=COLUMNS):
            yield _filtered(table, wanted), table["offset"][-1].as_py() + 1
        begin = min(archive.position, end)
    yield from _of_topic(log, control, wanted, begin, end)


def write(tables: Iterator[tuple[Any, int]], file: BinaryIO, form: Format, columns: Sequence[str], told: Callable[[int, int], None]) -> int:
    """Write tables to a file; how many rows it has.

    Args:
        tables: What `tables` gives.
        file: Where to.
        form: Its format.
        columns: Columns of Parquet and CSV files.
        told: Called after each table with the rows so far and the offset up to which the log was read.
    """
    total = 0
    writer = _WRITERS[form](file, columns)
    try:
        for table, position in tables:
            writer.write(table)
            total += len(table)
            told(total, position)
    finally:
        writer.close()
    return total


def _of_topic(log: Log, control: ControlState, wanted: Wanted, begin: int, end: int) -> Iterator[tuple[Any, int]]:
    from services.archive.encode import rows  # noqa: PLC0415 - needs the extra `archive`

    number = partition_of(wanted.pool, log.outcomes.partitions)
    if begin >= end:
        return
    with closing(open_reader(log.history, {number: begin}, control.partitions.skipped)) as reader:
        while reader.position(number) < end:
            records = [record for record in reader.poll(_POLL_SECONDS, _RECORDS).get(number, ()) if record.offset < end]
            if not records and reader.position(number) == begin:
                raise LogError(f"{log.outcomes.name}[{number}] gave no record from offset {begin} in {_POLL_SECONDS:g} s", retriable=True)
            begin = reader.position(number)
            if not records:
                continue
            table = rows(records)
            own = np.array([name == wanted.pool for name in table["pool"].to_pylist()], np.bool_)
            yield _filtered(table.filter(own).select(COLUMNS), wanted), records[-1].offset + 1


def _filtered(table: Any, wanted: Wanted) -> Any:
    """The rows within the times and of the agents that are wanted."""
    keep = np.ones(len(table), np.bool_)
    times = np.asarray(table["time"].to_numpy(zero_copy_only=False), np.float64)
    if wanted.since is not None:
        keep &= times >= wanted.since
    if wanted.until is not None:
        keep &= times < wanted.until
    if wanted.agents:
        named = set(wanted.agents)
        keep &= np.array([not named.isdisjoint(agents or ()) for agents in table["agents"].to_pylist()], np.bool_)
    return table if keep.all() else table.filter(keep)


class _Writer(Protocol):
    """Writes tables to one file."""

    def __init__(self, file: BinaryIO, columns: Sequence[str]) -> None: ...

    def write(self, table: Any) -> None: ...

    def close(self) -> None: ...


class _Parquet:
    def __init__(self, file: BinaryIO, columns: Sequence[str]) -> None:
        from services.archive.schema import fields  # noqa: PLC0415 - needs the extra `archive`

        self._columns, self._schema = list(columns), fields(columns)
        self._writer = extras.load("pyarrow.parquet", "archive", "exporting outcomes").ParquetWriter(file, self._schema, compression="zstd")

    def write(self, table: Any) -> None:
        self._writer.write_table(table.select(self._columns).cast(self._schema))

    def close(self) -> None:
        self._writer.close()


class _Csv:
    """Lists are JSON; a cell without a value is empty."""

    def __init__(self, file: BinaryIO, columns: Sequence[str]) -> None:
        self._columns, self._file = list(columns), file
        self._csv = extras.load("pyarrow.csv", "archive", "exporting outcomes")
        self._header = True

    def write(self, table: Any) -> None:
        cells = table.select(self._columns)
        for at, name in enumerate(self._columns):
            cells = cells.set_column(at, name, [_as_text(name, cells[name])])
        self._csv.write_csv(cells, self._file, self._csv.WriteOptions(include_header=self._header))
        self._header = False

    def close(self) -> None:
        self._file.flush()


class _JsonLines:
    def __init__(self, file: BinaryIO, columns: Sequence[str]) -> None:
        if tuple(columns) != COLUMNS:
            raise InputError("column", list(columns), "must be left out for jsonl: its lines are outcomes of the wire schema")
        self._file = file

    def write(self, table: Any) -> None:
        from services.archive import decode  # noqa: PLC0415 - needs the extra `archive`
        from services.wire.events import encode  # noqa: PLC0415 - as above

        for event in decode.events(table):
            self._file.write(encode([event]) + b"\n")

    def close(self) -> None:
        self._file.flush()


def _as_text(name: str, column: Any) -> Any:
    """A column as CSV holds it."""
    arrow = extras.load("pyarrow", "archive", "exporting outcomes")
    if name in ("agents", "sides", "places", "scores"):
        return arrow.array([None if cell is None else json.dumps(cell, ensure_ascii=False) for cell in column.to_pylist()], arrow.string())
    if name == "meta":
        return arrow.array([None if cell is None else cell.decode() for cell in column.to_pylist()], arrow.string())
    return column.combine_chunks()


_WRITERS: Final[dict[Format, type[_Writer]]] = {Format.PARQUET: _Parquet, Format.CSV: _Csv, Format.JSONL: _JsonLines}


def format_of(path: Path) -> Format:
    """The format that a file's name says. Raises `InputError` for another ending."""
    ending = path.suffix.removeprefix(".")
    if ending not in set(Format):
        raise InputError("output", path.name, f"must end with one of {', '.join(f'.{form}' for form in Format)}")
    return Format(ending)
