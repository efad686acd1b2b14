"""Games and scores in the form in which a caller has them, as columns."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ratings_core.arrays.arena import pack
from ratings_core.arrays.coded import Coded
from ratings_core.columns import Games, TaskScores
from ratings_core.columns.duels import duels
from ratings_core.errors import InputError
from ratings_core.formats.errors import FormatError
from ratings_core.formats.kinds import FileKind
from ratings_core.formats.options import PLAIN, ReadOptions
from ratings_core.formats.parts import FilePart, RowCounts
from ratings_core.front.counted import nothing_counts
from ratings_core.front.names import name_of
from ratings_core.records.names import check_name

if TYPE_CHECKING:
    from ratings_core.formats.reading import FileReading

_RESULTS: Final = {1.0: 1, 0.5: 0, 0.0: -1}
"""Result of the first agent -> who won, as in `won_by`."""
_FORMS: Final = (
    "must be a data frame, an Arrow table, the path of a file, a mapping of columns, or tuples (or rows of an array) (winner, loser) or "
    "(a, b, result of a: 1, 0.5 or 0)"
)
_IN_PYTHON: Final = {
    "--value": "reading=ReadOptions(values={WORD: MEANING})",
    "--time-format": "reading=ReadOptions(time_format=FORMAT)",
    "--decimal": "reading=ReadOptions(decimal=MARK)",
    "--column": "columns={ROLE: HEADER}",
    "--input": "reading=ReadOptions(kind=KIND)",
    "--delimiter": "reading=ReadOptions(delimiter=MARK)",
}
"""Option of a command that a rule can name -> the argument of `rate` that does the same."""
ONE_ANSWER: Final = (
    "must be left out for one answer: group the rows of a frame (polars: frame.partition_by), or choose those of one slice by "
    "reading=ReadOptions(where=((column, value),))"
)
"""The rule about an option that would give an answer for each slice."""


def part_of(source: Any, options: ReadOptions = PLAIN, counts: RowCounts | None = None) -> FilePart:
    """The outcomes of a source.

    Args:
        source: `Games` or `TaskScores`; a data frame or a table that exports Arrow data (pandas, polars, pyarrow, DuckDB); a mapping from
            names to columns; the path of a CSV, JSON lines, Parquet or PGN file; or tuples, or rows of an array, (winner, loser) or
            (a, b, result), where the result of a is 1, 1/2 or 0. An agent is a text or an integer (`name_of`).
        options: How rows are read.
        counts: Counts the rows of a table in memory.

    Raises:
        InputError: A value breaks a rule. The error names the first one.
    """
    if isinstance(source, str | PathLike):
        from ratings_core.formats.reading import FileReading  # noqa: PLC0415 - loads Arrow
        from ratings_core.formats.source import FileSource  # noqa: PLC0415 - as above

        with FileSource(Path(source)) as file:
            return part_of_file(FileReading(file, options))
    if not isinstance(source, Games | TaskScores) and (frame := frame_of(source)) is not None:
        return _of_frame(frame, options, RowCounts() if counts is None else counts)
    if options != PLAIN:
        raise InputError("reading", options, "must be left out for games without columns of a table")
    if isinstance(source, Games | TaskScores):
        timed = isinstance(source, Games) and bool(source.time.any())  # games without times have time 0
        return FilePart(source, np.arange(1, len(source) + 1), timed=np.full(len(source), timed))
    if isinstance(source, bytes) or not isinstance(source, Iterable) or getattr(source, "ndim", 1) == 0:
        raise InputError("games", source, _FORMS)
    games = _of_tuples([row.tolist() if isinstance(row, np.ndarray) else row for row in source])
    return FilePart(games, np.arange(1, len(games) + 1))


def frame_of(source: Any) -> Any | None:
    """A data frame or a mapping of columns as an Arrow table; None for other sources. Raises `InputError`."""
    is_pandas = type(source).__module__.split(".")[0] == "pandas" and hasattr(source, "columns")
    if not (is_pandas or hasattr(source, "__arrow_c_stream__") or isinstance(source, Mapping)):
        return None
    import pyarrow as pa  # noqa: PLC0415 - takes time to load, and tuples need no Arrow

    if isinstance(source, Mapping):
        _check_columns(source)
    try:
        return pa.Table.from_pandas(source, preserve_index=False) if is_pandas else pa.table(source)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        pass  # perhaps one column has cells of different types
    try:
        if is_pandas:
            return pa.table([_column(source.iloc[:, i]) for i in range(source.shape[1])], names=list(map(str, source.columns)))
        return pa.table({name: _column(source[name]) for name in source})
    except (pa.ArrowException, TypeError, ValueError, LookupError) as error:
        reason = f" ({error})" if isinstance(source, Mapping) or is_pandas else ""  # of a single column, the reason is of another attempt
        raise InputError("games", type(source).__name__, f"must be a table of columns{reason}") from error


def _check_columns(source: Mapping[Any, Any]) -> None:
    """Raise `InputError` for a name that is no text, and for a text or a single value in place of a column."""
    for name, cells in source.items():
        if not isinstance(name, str):
            raise InputError("games", name, "must have texts as names of its columns")
        if isinstance(cells, str | bytes) or not (isinstance(cells, Iterable) or hasattr(cells, "__arrow_c_array__")):
            raise InputError(f"games[{name!r}]", cells, "must be a column: a list or an array of its cells")


def _column(cells: Any) -> Any:
    """A column as an Arrow array; texts of its cells if they have different types."""
    import pyarrow as pa  # noqa: PLC0415 - as above

    from ratings_core.formats.tables.mixed import mixed_texts  # noqa: PLC0415 - as above

    try:
        return pa.array(cells, from_pandas=True)
    except (pa.ArrowException, OverflowError):
        return mixed_texts(cells)


def _of_frame(frame: Any, options: ReadOptions, counts: RowCounts) -> FilePart:
    from ratings_core.formats.reading import joined, read_table  # noqa: PLC0415 - loads Arrow
    from ratings_core.formats.tables.block import FrameTable  # noqa: PLC0415 - as above

    for name, value in (("kind", options.kind), ("delimiter", options.delimiter)):
        if value not in (None, FileKind.GAMES):
            raise InputError(name, value, "must be left out for a table in memory, which is read as games")
    _refuse_slices(options)
    with rules_in_python():
        try:
            table = FrameTable(frame)
            part = joined(list(read_table(table, options, counts, again=lambda: table)))
        except FormatError as error:  # of the header, which is no row of a frame
            raise InputError(f"the table: column {error.column!r}", error.value, error.rule) from None
    return _checked(part, counts, "the table")


def part_of_file(reading: "FileReading") -> FilePart:
    """The outcomes of a file. Raises `InputError` for the first bad row."""
    from ratings_core.formats.reading import joined  # noqa: PLC0415 - loads Arrow

    _refuse_slices(reading.options)
    with rules_in_python():
        part = joined(list(reading.parts()))
    return _checked(part, reading.counts, reading.source.path.name)


@contextmanager
def rules_in_python() -> Iterator[None]:
    """Raise an `InputError` whose rule names options of commands with what these are called in Python."""
    try:
        yield
    except InputError as error:
        if (rule := in_python(error.rule)) == error.rule:
            raise
        raise InputError(error.argument, error.value, rule) from None


def in_python(rule: str) -> str:
    """A rule, with what the options of commands that it names are called in Python."""
    named = [python for option, python in _IN_PYTHON.items() if option in rule]
    return f"{rule} (in Python: {', '.join(named)})" if named else rule


def _refuse_slices(options: ReadOptions) -> None:
    if options.slice_by is not None:
        raise InputError("slice_by", options.slice_by, ONE_ANSWER)


def _checked(part: FilePart | None, counts: RowCounts, name: str) -> FilePart:
    """The part, if all rows are valid and there is one. Raises `InputError`."""
    if counts.bad:
        bad = counts.first[0]
        rows = f"{counts.bad} bad row{'s' * (counts.bad > 1)} of {counts.rows}"
        raise InputError(f"{name}: {bad.argument}", bad.value, f"{in_python(bad.rule)}; mend or drop such rows ({rows})")
    if part is None or not len(part):
        raise InputError(name, counts.rows, nothing_counts(counts.left_out))
    return part


def _of_tuples(rows: Sequence[Any]) -> Games:
    for i, row in enumerate(rows):
        if not isinstance(row, Sequence) or isinstance(row, str) or len(row) not in (2, 3):
            raise InputError(f"games[{i}]", row, _FORMS)
    first, second = (_names(rows, side) for side in (0, 1))
    won = np.array([1 if len(row) == 2 else won_by(row[2], f"games[{i}][2]") for i, row in enumerate(rows)], np.int8)
    try:
        return duels(Coded.of(pack(first)), Coded.of(pack(second)), won)
    except InputError as error:
        raise InputError(error.argument.replace("second[", "games["), error.value, error.rule) from None


def _names(rows: Sequence[Any], side: int) -> list[str]:
    given = (row[side] for row in rows)
    names = [name if isinstance(name, str) else name_of(name, f"games[{i}][{side}]") for i, name in enumerate(given)]
    for name in dict.fromkeys(names):
        check_name(name, f"games[{names.index(name)}][{side}]")
    return names


def won_by(result: Any, argument: str) -> int:
    """Who won by a result of the first agent: 1 the first agent, -1 the second, 0 for a tie. Raises `InputError`."""
    if isinstance(result, bool) or not isinstance(result, int | float | np.integer | np.floating) or result not in _RESULTS:
        raise InputError(argument, result, "must be the result of the first agent: 1, 0.5 or 0")
    return _RESULTS[float(result)]
