"""`equirank next`: recommend the next games or measurements of a pool."""

from contextlib import closing
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.text import Text

from services.backends import open_store
from services.checkpoints.checkpoint import CheckpointStore
from services.cli.fitted import FittedTable, folded, whole
from services.cli.installation import head_of, settings_of, slice_in
from services.cli.top import Format
from services.solve.next_matches import Next, plan


def next(  # noqa: A001 - the command's name
    pool: Annotated[str, typer.Option(help="Name of the pool.")],
    target: Annotated[
        str, typer.Option(help="Whose uncertainty to reduce: top:K, agent:NAME or all for games, deviation:NAME for scores.")
    ] = "all",
    games: Annotated[int, typer.Option(min=1, max=1_000_000, help="Number of games or measurements to plan.")] = 10,
    count: Annotated[int, typer.Option(min=1, max=1000, help="Largest number of pairs or cells to list.")] = 10,
    floor: Annotated[float, typer.Option(min=0, max=1, help="Share of the games or measurements that is drawn evenly.")] = 0.1,
    part: Annotated[str | None, typer.Option("--slice", help="Count the outcomes of a slice of the pool alone: language:English.")] = None,
    data: Annotated[Path | None, typer.Option(help="Data folder of `equirank up` (EQUIRANK_DATA).")] = None,
    format: Annotated[Format, typer.Option(help="table, or json for programs.")] = "table",  # noqa: A002 - the option's name
) -> None:
    """Recommend which games or measurements to run next to reduce the uncertainty of a target fastest."""
    settings = settings_of(data)
    with closing(open_store(settings)) as store:
        head = head_of(settings, store.live, pool)
    recommended = plan(CheckpointStore(settings.checkpoint_url), head, target, games, floor, count, part=slice_in(head, part))
    if format == "json":
        typer.echo(msgspec.json.encode(recommended).decode())
    else:
        console = Console()
        console.print(Text(title(recommended)), soft_wrap=True)
        if recommended.not_applicable is None:
            console.print(table(recommended))


def title(recommended: Next) -> str:
    """A line with the target, and with the uncertainty now and after the planned games."""
    of_slice = f" · {recommended.slice}" if recommended.slice else ""
    about = f"{recommended.pool}{of_slice} · {recommended.target} · position {recommended.position}"
    if recommended.not_applicable is not None or recommended.before is None:
        return f"{about} · not applicable: {recommended.not_applicable}"
    even = f"{recommended.uniform:.4g} if drawn evenly"
    gain = f"now {recommended.before:.4g}, after {recommended.games} more {recommended.after:.4g} ({even})"
    return f"{about} · {recommended.unit}: {gain}; assumes {recommended.assumes}"


def table(recommended: Next) -> FittedTable:
    """A table of the likeliest pairs or cells, and a row for all others."""
    rows = FittedTable(whole("rate"), folded("agents" if recommended.matches and recommended.matches[0].task is None else "agent on task"))
    for match in recommended.matches:
        rows.add_row(f"{match.rate:.4f}", " - ".join(match.agents) + (f" on {match.task}" if match.task is not None else ""))
    if recommended.others:
        rows.add_row(f"{recommended.other_rate:.2g}", f"each of the {recommended.others:,} others")
    return rows
