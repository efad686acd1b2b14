"""`equirank scoreboard`: which rating predicts the games of a file best."""

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from rich.console import Console

from ratings_core.errors import InputError
from ratings_core.formats.kinds import FileKind
from ratings_core.formats.options import ReadOptions
from ratings_core.formats.parts import FilePart, RowCounts
from ratings_core.front.load import BadRows, collect, judged
from ratings_core.front.release import release
from ratings_core.front.scoreboard import REFITS, SOLVED, scoreboard_of
from ratings_core.front.slices import Slices
from ratings_core.methods.names import ONLINE
from services.cli.options import (
    BadRowsOption,
    Columns,
    DecimalOption,
    Delimiter,
    Format,
    TimeFormat,
    Trim,
    UnplayedOption,
    Values,
    Where,
    read_options,
)

if TYPE_CHECKING:
    from ratings_core.formats.source import FileSource


def scoreboard(
    file: Annotated[Path, typer.Argument(help="File of games, of chess games or of outcomes.")],
    pool: Annotated[str | None, typer.Option(help="Of a file of outcomes: the pool in the file, if it names several.")] = None,
    method: Annotated[
        list[str] | None, typer.Option(help=f"Method: {', '.join((*ONLINE, *SOLVED))}. Repeatable. By default all of them.")
    ] = None,
    refits: Annotated[int, typer.Option(min=2, help="Number of times that solved methods are solved again.")] = REFITS,
    defaults: Annotated[bool, typer.Option("--defaults", help="Choose no settings on the first half of the games.")] = False,
    input_kind: Annotated[FileKind | None, typer.Option("--input", help="Kind of the file. By default it is detected.")] = None,
    unplayed: UnplayedOption = "skip",
    column: Columns = None,
    value: Values = None,
    delimiter: Delimiter = None,
    bad_rows: BadRowsOption = "refuse",
    trim: Trim = False,
    where: Where = None,
    time_format: TimeFormat = None,
    decimal: DecimalOption = None,
    output: Annotated[Format, typer.Option("--format", help="table, or json for programs: one object per line.")] = "table",
) -> None:
    """Show which method predicts the games of a file best. Each game is predicted from earlier games only.

    Nothing is drawn at random, so there is no seed. Each line of JSON has the version of Equirank, the number of refits, and how many
    games and agents the file has.
    """
    options = read_options(
        input_kind, unplayed=unplayed, columns=column, values=value, delimiter=delimiter, trim=trim, where=where,
        time_format=time_format, decimal=decimal,
    )  # fmt: skip
    part = _read(file, options, bad_rows, pool)
    shown = scoreboard_of(part, method or (*ONLINE, *SOLVED), refits=refits, choose=not defaults)
    if output == "json":
        made_by = {"version": release(), "refits": refits, "games": shown.games, "history": shown.history, "agents": shown.agents}
        for one in shown.scores:
            sys.stdout.write(msgspec.json.encode(msgspec.to_builtins(one) | made_by).decode() + "\n")
    else:
        Console(soft_wrap=True).print(str(shown), highlight=False, markup=False)


def _read(file: Path, options: ReadOptions, bad_rows: BadRows, pool: str | None) -> FilePart:
    """All games of a file in the order of its rows. Raises `InputError` for a bad row that is not skipped, and without games."""
    from ratings_core.formats.reading import FileReading, joined  # noqa: PLC0415 - loads Arrow
    from ratings_core.formats.source import FileSource  # noqa: PLC0415 - as above

    with FileSource(file) as source:
        reading = FileReading(source, options)
        if reading.kind is FileKind.OUTCOMES:
            parts, left_out = _outcomes(source, options, bad_rows, pool)
        else:
            if pool is not None:
                raise InputError("pool", pool, f"must be left out: {file.name} is no file of outcomes, and names no pools")
            slices: Slices[list[FilePart]] = Slices(list)
            parts = slices.part("")
            left_out = collect(reading, slices, list.append, bad_rows)
    for reason, count in sorted(left_out.items()):
        sys.stderr.write(f"equirank: left out: {count}, {reason}\n")
    if (part := joined(parts)) is None:
        raise InputError(file.name, 0, "must contain games")
    return part


def _outcomes(source: "FileSource", options: ReadOptions, bad_rows: BadRows, pool: str | None) -> tuple[list[FilePart], dict[str, int]]:
    """Games of a pool in a file of outcomes that count, in the order of the log, and the counts of rows that are left out."""
    from services.solve.problems.outcome_parts import outcome_parts  # noqa: PLC0415 - loads the fold, which other files do not need

    counts, left_out = RowCounts(), Counter[str]()
    parts = list(outcome_parts(source, options, pool, counts, left_out))
    return parts, judged(counts, source.path.name, bad_rows) | dict(left_out)
