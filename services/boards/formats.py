"""Encode the rows of a board as CSV, JSON lines, an Arrow stream or Parquet."""

import csv
import io
from collections.abc import Callable
from enum import StrEnum
from typing import Any, Final

import msgspec

from ratings_core import extras
from services.boards.reading import Board

COLUMNS: Final = (
    "rank", "agent", "rating", "low", "high", "deviation", "rank_before", "rank_low", "rank_high", "provisional", "outcomes",
    "opponents", "display_name", "country", "organisation", "licence", "tags", "games", "wins", "draws", "losses", "last_played",
    "filter_place",
)  # fmt: skip
"""Columns of a table, in their order. They are the fields of a row, without those of an earlier time."""
_WHOLE: Final = frozenset({"rank", "rank_before", "rank_low", "rank_high", "outcomes", "opponents", "filter_place"})
_TEXTS: Final = frozenset({"agent", "display_name", "country", "organisation", "licence"})
_PURPOSE: Final = "downloading boards as Arrow or Parquet"


class BoardFormat(StrEnum):
    """Formats of a board. `json` has the board with its rows; the others have rows alone."""

    JSON = "json"
    CSV = "csv"
    JSONL = "jsonl"
    ARROW = "arrow"
    PARQUET = "parquet"


def encoded_rows(board: Board, form: BoardFormat) -> bytes:
    """Encode the rows of a board; the complete board for `json`.

    Raises `MissingExtraError` for Arrow and Parquet if the extra `archive` is not installed.
    """
    return _ENCODERS[form](board)


def _csv(board: Board) -> bytes:
    """RFC 4180: a header, cells quoted where necessary, lines end with CR LF. Names stay as they are, also those that begin with `=`."""
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(COLUMNS)
    writer.writerows([_cell(getattr(row, name)) for name in COLUMNS] for row in board.rows)
    return file.getvalue().encode()


def _cell(value: object) -> object:
    if isinstance(value, dict):  # tags: a JSON object, or nothing
        return msgspec.json.encode(value).decode() if value else None
    return str(value).lower() if isinstance(value, bool) else value


def _json_lines(board: Board) -> bytes:
    return b"".join(msgspec.json.encode(row) + b"\n" for row in board.rows)


def _arrow(board: Board) -> bytes:
    arrow = extras.load("pyarrow", "archive", _PURPOSE)
    table, sink = _table(arrow, board), io.BytesIO()
    with arrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _parquet(board: Board) -> bytes:
    table, sink = _table(extras.load("pyarrow", "archive", _PURPOSE), board), io.BytesIO()
    extras.load("pyarrow.parquet", "archive", _PURPOSE).write_table(table, sink, compression="zstd")
    return sink.getvalue()


def _table(arrow: Any, board: Board) -> Any:
    columns = [arrow.array([_value(getattr(row, name)) for row in board.rows], _kind(arrow, name)) for name in COLUMNS]
    about = {name: str(getattr(board, name)) for name in ("pool", "method", "source", "generation", "position", "total", "ranked")}
    fields = [arrow.field(name, column.type) for name, column in zip(COLUMNS, columns, strict=True)]
    return arrow.Table.from_arrays(columns, schema=arrow.schema(fields, metadata=about))


def _value(value: object) -> object:
    return list(value.items()) if isinstance(value, dict) else value


def _kind(arrow: Any, name: str) -> Any:
    if name in _WHOLE:
        return arrow.int64()
    if name in _TEXTS:
        return arrow.string()
    return {"provisional": arrow.bool_(), "tags": arrow.map_(arrow.string(), arrow.string())}.get(name, arrow.float64())


_ENCODERS: Final[dict[BoardFormat, Callable[[Board], bytes]]] = {
    BoardFormat.JSON: msgspec.json.encode,
    BoardFormat.CSV: _csv,
    BoardFormat.JSONL: _json_lines,
    BoardFormat.ARROW: _arrow,
    BoardFormat.PARQUET: _parquet,
}
