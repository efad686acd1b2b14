"""`equirank scoreboard`: which rating predicts the games of a file best."""

import sys
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console

from ratings_core.errors import InputError
from ratings_core.formats.kinds import FileKind
from ratings_core.formats.parts import FilePart
from ratings_core.front.load import BadRows, collect
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


def scoreboard(
    file: Annotated[Path, typer.Argument(help="File of games, of chess games or of outcomes.")],
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
    """Show which method predicts the games of a file best. Each game is predicted from earlier games only."""
    options = read_options(
        input_kind, unplayed=unplayed, columns=column, values=value, delimiter=delimiter, trim=trim, where=where,
        time_format=time_format, decimal=decimal,
    )  # fmt: skip
    part = _read(file, options, bad_rows)
    shown = scoreboard_of(part, method or (*ONLINE, *SOLVED), refits=refits, choose=not defaults, progress=_progress)
    if output == "json":
        for one in shown.scores:
            sys.stdout.write(msgspec.json.encode(one).decode() + "\n")
    else:
        Console(soft_wrap=True).print(str(shown), highlight=False, markup=False)


def _progress(method: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"equirank: {method}\n")


def _read(file: Path, options: Any, bad_rows: BadRows) -> FilePart:
    """All games of a file in the order of its rows. Raises `InputError` for a bad row that is not skipped, and without games."""
    from ratings_core.formats.reading import FileReading, joined  # noqa: PLC0415 - loads Arrow
    from ratings_core.formats.source import FileSource  # noqa: PLC0415 - as above

    with FileSource(file) as source:
        slices: Slices[list[FilePart]] = Slices(list)
        parts = slices.part("")
        left_out = collect(FileReading(source, options), slices, list.append, bad_rows)
    for reason, count in sorted(left_out.items()):
        sys.stderr.write(f"equirank: {count} rows left out: {reason}\n")
    if (part := joined(parts)) is None:
        raise InputError(file.name, 0, "must contain games")
    return part
