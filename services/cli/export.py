"""`equirank export`: a pool's outcomes as a file."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from services.admin.export import COLUMNS, Wanted, tables
from services.admin.export_formats import encoded, format_of
from services.admin.pool_range import pool_range
from services.cli.installation import Data, settings_of
from services.cli.logs import opened
from services.cli.positions import position_option
from services.log.partition import partition_of


def export(
    output: Annotated[
        Path, typer.Argument(help="File to write: .parquet, .csv, or .jsonl (outcomes of the wire schema, for `equirank replay`).")
    ],
    pool: Annotated[str, typer.Option(help="Pool whose outcomes and retractions are exported.")],
    begin: Annotated[int, position_option("--from", time="--since", help="First log position.")] = 0,
    end: Annotated[int | None, position_option("--to", time="--until", help="Log position to stop before.")] = None,
    since: Annotated[str | None, typer.Option(help="Only outcomes since this time: a date, an ISO time or seconds since 1970.")] = None,
    until: Annotated[str | None, typer.Option(help="Only outcomes before this time.")] = None,
    agent: Annotated[list[str] | None, typer.Option(help="Only outcomes with this agent. Repeatable.")] = None,
    column: Annotated[list[str] | None, typer.Option(help=f"Column of CSV or Parquet: {', '.join(COLUMNS)}. Repeatable.")] = None,
    data: Data = None,
) -> None:
    """Write a pool's outcomes and retractions to a file, in log order. They come from the archive, and newer ones from the log."""
    form = format_of(output)
    wanted = Wanted(pool_range(pool, (begin, end), since, until, "--"), tuple(agent or ()), tuple(column or COLUMNS))
    settings = settings_of(data)
    console = Console(soft_wrap=True)
    with opened(settings) as (log, control):
        ends = log.outcomes.end(partition_of(pool, log.outcomes.partitions))
        columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
        with _complete_file(output) as file, Progress(*columns, console=console) as bar:
            task = bar.add_task("rows 0", total=max(1, (ends if end is None else min(end, ends)) - begin))
            for part in encoded(tables(log, control.refresh(), wanted), form, wanted.columns):
                file.write(part.data)
                bar.update(task, description=f"rows {part.rows:,}", completed=part.position - begin)
    console.print(f"{output}: {part.rows:,} rows, {output.stat().st_size:,} bytes", highlight=False)


@contextmanager
def _complete_file(output: Path) -> Iterator[BinaryIO]:
    """A file that gets the name `output` when it is complete. After an error, an earlier file of this name is unchanged.

    If `output` is not a regular file, such as /dev/stdout, it is written directly.
    """
    if output.exists() and not output.is_file():
        with output.open("wb") as file:
            yield file
        return
    part = output.with_name(f"{output.name}.part")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(output)
    finally:
        part.unlink(missing_ok=True)
