"""Files and tables as parts of outcomes: the kind is recognized, columns get their roles, and rows become columns."""

import csv
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, TypeAlias

import numpy as np

from ratings_core.arrays.coded import Coded
from ratings_core.columns import Games, TaskScores
from ratings_core.errors import InputError
from ratings_core.formats.contests import iter_contests
from ratings_core.formats.json_items import json_values
from ratings_core.formats.kinds import TABLES, FileKind, Guess, check_encoding, guess_by_name, guess_json, guess_table, suffix_of
from ratings_core.formats.options import PLAIN, ReadOptions
from ratings_core.formats.pair_games import PairGames
from ratings_core.formats.parquet import MAGIC
from ratings_core.formats.parsed_games import chess_games, contest_games, parts_of
from ratings_core.formats.parts import FilePart, RowCounts
from ratings_core.formats.pgn import iter_games
from ratings_core.formats.place_games import PlaceGames
from ratings_core.formats.roles import NEEDED, Roles, guess_roles
from ratings_core.formats.score_tables import ScoreFile, ScoreRows, read_score_table
from ratings_core.formats.source import FileSource
from ratings_core.formats.table_reader import Again
from ratings_core.formats.tables.block import Table
from ratings_core.formats.tables.csv_table import CsvTable
from ratings_core.formats.tables.json_table import json_table
from ratings_core.formats.tables.parquet_table import ParquetTable

EXPORTED: Final = frozenset({"kind", "pool", "id"})
"""Columns that distinguish an export of outcomes from other tables."""
_JSON: Final = (".json", ".jsonl", ".ndjson")
_SAMPLE: Final = 50
"""Rows that a guess looks at."""
Reader: TypeAlias = PairGames | PlaceGames | ScoreRows


class FileReading:
    """The reading of one file.

    Args:
        source: The file.
        options: How it is read.

    Attributes:
        kind: Kind of the file.
        note: What a guessed kind rests on, if it is not sure; else empty.
        counts: Counts of the rows that were read so far.

    Raises:
        InputError: The kind cannot be guessed, or an option does not apply to files of this kind.
    """

    def __init__(self, source: FileSource, options: ReadOptions = PLAIN) -> None:
        self.source, self.options, self.counts = source, options, RowCounts()
        self._times = _OrderOfTimes()
        first = source.head()
        check_encoding(first)
        self._is_parquet = first.startswith(MAGIC)
        text = first.decode(errors="replace").removeprefix("\ufeff")
        self._is_json = not self._is_parquet and (suffix_of(source.path.name) in _JSON or text.lstrip()[:1] in ("{", "["))
        self.kind, self.note = (options.kind, "") if options.kind is not None else self._guessed(text)
        check_options(self.kind, options)

    def table(self) -> Table:
        """The file as a table, from its beginning."""
        stream = self.source.reader()
        if self._is_parquet:
            return ParquetTable(stream)
        return json_table(stream) if self._is_json else CsvTable(stream, self.options.delimiter)

    def parts(self, *, hashed: bool = False) -> Iterator[FilePart]:
        """Yield the outcomes in order, in parts, and count the rows in `counts`.

        Args:
            hashed: Whether the hash of each complete row is wanted.

        Raises:
            InputError: The file is not of its kind, is damaged, or no row matches `where`. Bad rows are counted.
        """
        self.counts, self._times = RowCounts(), _OrderOfTimes()
        for part in self._parts(hashed=hashed):
            self._times.add(part)
            yield part

    def score_table(self, counts: RowCounts) -> ScoreFile:
        """A complete wide table of scores, also agents and tasks without a score. Raises `InputError`; bad rows are counted."""
        table = self.table()
        return read_score_table(score_rows(table, self.options, self.table), table, counts)

    @property
    def order(self) -> str:
        """What is said of the rows that were read if they are not in the order of their times; else empty."""
        if self.options.slice_by is not None and not self._times.is_falling:
            return ""  # slices are folded separately, and those that stand one after the other can each be in order
        return self._times.order

    @property
    def order_note(self) -> str:
        """A warning if the rows that were read are not in the order of their times; else empty."""
        return _order_note(self.order, "--sort")

    def _parts(self, *, hashed: bool) -> Iterator[FilePart]:
        if self.kind is FileKind.PGN:
            yield from parts_of(chess_games(iter_games(self.source.reader(), self.options.unplayed)), self.counts, hashed=hashed)
        elif self.kind is FileKind.CONTESTS:
            yield from parts_of(contest_games(iter_contests(self.source.reader())), self.counts, hashed=hashed)
        elif self.kind in (FileKind.GAMES, FileKind.SCORES):
            yield from read_table(self.table(), self.options, self.counts, self.kind, again=self.table, hashed=hashed)
        else:
            raise InputError("file", str(self.source.path), f"must hold games or scores, row by row; it is a file of {self.kind}")

    def _fields(self) -> list[str]:
        """Names of the fields of a JSON file; those of its first object if objects span lines."""
        if header := json_table(self.source.reader()).header:
            return header
        _, first = next(json_values(self.source.reader()), (0, None))
        return list(first) if isinstance(first, dict) else []

    def _guessed(self, text: str) -> Guess:
        name, roles = self.source.path.name, self.options.roles
        if self._is_parquet:
            table = ParquetTable(self.source.reader())
            if set(table.header) >= EXPORTED:
                return Guess(FileKind.OUTCOMES)
            if roles.name_games or guess_roles(table.header) is not None:
                return Guess(FileKind.GAMES)
            return guess_table(name, table.header, _sample(table), roles)
        if (kind := guess_by_name(name, text)) is not None:
            return Guess(kind)
        if self._is_json:
            return guess_json(name, self._fields(), roles)
        table_ = CsvTable(self.source.reader(), self.options.delimiter)
        if set(table_.header) >= EXPORTED:
            return Guess(FileKind.OUTCOMES)
        return guess_table(name, table_.header, _first_rows(text, table_), roles)


class _OrderOfTimes:
    """Whether the games of a table, part by part, are in the order of their times."""

    def __init__(self) -> None:
        self._last: float | None = None
        self._never_falls = self._never_rises = True

    def add(self, part: FilePart) -> None:
        """Take the next part into account. Parts in which an outcome has no time say nothing."""
        if not isinstance(part.columns, Games) or part.timed is None or not part.timed.all() or not len(part):
            return
        times = part.columns.time
        steps = np.diff(times, prepend=times[0] if self._last is None else self._last)
        self._never_falls &= bool((steps >= 0).all())
        self._never_rises &= bool((steps <= 0).all())
        self._last = float(times[-1])

    @property
    def is_falling(self) -> bool:
        """Whether the games run from new to old."""
        return self._never_rises and not self._never_falls

    @property
    def order(self) -> str:
        """What is said of the rows; empty if they are in the order of their times."""
        if self._never_falls:
            return ""
        return f"the rows {'run from new to old' if self.is_falling else 'are not in the order of their times'}"


def order_note(part: FilePart, sort: str) -> str:
    """A warning if the games of a part are not in the order of their times, else empty. sort: What sorts them, in the caller's words."""
    times = _OrderOfTimes()
    times.add(part)
    return _order_note(times.order, sort)


def _order_note(order: str, sort: str) -> str:
    return f"{order}, and an online method folds them in their order: {sort} folds them by time" if order else ""


def read_table(
    table: Table,
    options: ReadOptions,
    counts: RowCounts,
    kind: FileKind = FileKind.GAMES,
    *,
    again: Again | None = None,
    hashed: bool = False,
) -> Iterator[FilePart]:
    """Yield the outcomes of a table in order, in parts, and count its rows.

    Args:
        table: The table, at its beginning.
        options: How rows are read.
        counts: Receives the counts.
        kind: `games` or `scores`.
        again: Opens the table once more; None for a table that is read once.
        hashed: Whether hashes of complete rows are wanted.

    Raises:
        InputError: The columns do not determine outcomes, the table is damaged, or no row matches `where`. Bad rows are counted.
    """
    reader = reader_of(table, options, kind, again)
    counts.remarks, total = reader.remarks, 0
    for block in table.blocks(reader.columns, hashed=hashed):
        if (part := reader.read(block, counts)) is not None:
            total += len(part)
            yield part
    if (part := reader.rest(counts)) is not None:
        total += len(part)
        yield part
    reader.check()
    if options.where and not total and not counts.bad and not isinstance(reader, ScoreRows):
        rule = f"must match a row with a result: {reader.values_of_where()}"
        raise InputError("where", ", ".join(f"{column}={value}" for column, value in options.where), rule)


def reader_of(table: Table, options: ReadOptions, kind: FileKind, again: Again | None = None) -> Reader:
    """The reader of a table's rows. Raises `InputError` if the columns do not determine outcomes."""
    if kind is FileKind.SCORES:
        return score_rows(table, options, again)
    roles, comma = roles_of_table(table.header, options.roles), _can_have_decimal_commas(table)
    if roles.is_long:
        if options.features:
            rule = "must be left out for tables of places: games of two sides have features"
            raise InputError("feature", [one.text for one in options.features], rule)
        return PlaceGames(roles, options, again=again, decimal_comma=comma)
    if options.unplayed == "last":
        raise InputError("unplayed", "last", "must be skip or refuse: last is for tables of places")
    return PairGames(roles, options, again=again, decimal_comma=comma)


def score_rows(table: Table, options: ReadOptions, again: Again | None = None) -> ScoreRows:
    """The reader of the rows of a wide table of scores. Raises `InputError` if its header names no agents."""
    return ScoreRows(table, options, again=again, decimal_comma=_can_have_decimal_commas(table))


def _can_have_decimal_commas(table: Table) -> bool:
    return isinstance(table, CsvTable) and table.delimiter != ","


def roles_of_table(header: Sequence[str], given: Roles) -> Roles:
    """The roles of a table of games. Raises `InputError` if its columns do not determine games."""
    roles = guess_roles(header, given)
    if roles is None:
        given.check(header)
        raise InputError("columns", ", ".join(header), NEEDED)
    roles.check(header)
    return roles


def check_options(kind: FileKind, options: ReadOptions) -> None:
    """Raise `InputError` for an option that does not apply to files of this kind."""
    if options.delimiter not in (None, ",") and kind not in TABLES:
        raise InputError("delimiter", options.delimiter, f"must be left out for {kind}, which is no table")
    if kind is FileKind.GAMES:
        return
    asked = {
        "where": options.where if kind is not FileKind.OUTCOMES else (),
        "slice-by": options.slice_by if kind is not FileKind.OUTCOMES else None,
        "feature": options.features,
        "tag": options.tags,
        "column": list(options.roles.named.items()),
        "value": dict(options.values),
        "time-format": options.time_format,
        "decimal": options.decimal if kind is not FileKind.SCORES else None,
        "trim": options.trim and kind is not FileKind.SCORES,
    }
    if (name := next((name for name, value in asked.items() if value), None)) is not None:
        raise InputError(name, asked[name], f"must be left out for {kind}: only rows of games have columns")


def _first_rows(text: str, table: CsvTable) -> list[list[str]]:
    """The first rows after the header, as cells."""
    try:
        rows = [row for row in csv.reader(text.splitlines()[: 2 * _SAMPLE], delimiter=table.delimiter) if row]
    except csv.Error:
        return []
    at = rows.index(table.header) if table.header in rows else 0
    return rows[at + 1 : at + 1 + _SAMPLE]


def _sample(table: Table) -> list[list[str]]:
    """The first rows of a table, as texts."""
    block = next(iter(islice(table.blocks(table.header), 1)), None)
    if block is None:
        return []
    columns = [[str(cell) if cell is not None else "" for cell in column.slice(0, _SAMPLE).to_pylist()] for column in block.rows.columns]
    return [list(row) for row in zip(*columns, strict=True)]


def joined(parts: Sequence[FilePart]) -> FilePart | None:
    """The outcomes of all parts in order; None for no part. All parts must be of one table."""
    if len(parts) < 2:
        return parts[0] if parts else None
    games = [part.columns for part in parts if isinstance(part.columns, Games)]
    scores = [part.columns for part in parts if isinstance(part.columns, TaskScores)]
    slices = [part.slices for part in parts if part.slices is not None]
    features = [part.features for part in parts if part.features is not None]
    hashes = [part.hashes for part in parts if part.hashes is not None]
    return FilePart(
        columns=Games.joined(games) if games else TaskScores.joined(scores),
        rows=np.concatenate([part.rows for part in parts]),
        hashes=np.concatenate(hashes) if hashes else None,
        slices=Coded.joined(slices) if slices else None,
        features=np.concatenate(features) if features else None,
        timed=np.concatenate([part.timed for part in parts if part.timed is not None]),
    )


def in_order_of_time(parts: Sequence[FilePart]) -> list[FilePart]:
    """All games as one part, in the order of their times. Raises `InputError` if a game has none, or for scores."""
    games = joined(parts)
    if games is None or not len(games):
        return []
    if games.timed is None or not games.timed.all():
        raise InputError("sort", True, "must be left out: not every row has a time")
    return [games.reordered(np.argsort(games.columns.time, kind="stable"))]
