"""`equirank seasons`: list the seasons of a pool, start the next one, and withdraw a requested one."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from ratings_core.errors import InputError
from services.boards.season_boards import SeasonBoards, SeasonView
from services.boards.season_files import SeasonFiles
from services.checkpoints.checkpoint import CheckpointStore
from services.cli.confirm import Yes, confirm
from services.cli.fitted import FittedTable, folded, whole
from services.cli.installation import Data, reached, settings_of
from services.cli.logs import opened
from services.cli.pools import ask
from services.cli.positions import position_option
from services.cli.top import Format
from services.control.records import SeasonStart
from services.control.seasons import SeasonStatus, season_request

seasons = typer.Typer(
    help="List the seasons of a pool, start the next one, and withdraw a requested one.", no_args_is_help=True, add_completion=False
)


@seasons.command("list")
def list_(
    pool: Annotated[str, typer.Argument(help="Name of the pool.")],
    data: Data = None,
    format: Annotated[Format, typer.Option(help="table, or json for programs.")] = "table",  # noqa: A002 - the option's name
) -> None:
    """List the seasons of a pool with their spans and final boards."""
    settings = settings_of(data)
    with opened(settings) as (log, control):
        control.standing(pool)  # raises `NoPool`
        files = SeasonFiles(CheckpointStore(settings.checkpoint_url), log.outcomes.identity)
        with reached(settings, log.outcomes.identity) as store:
            head = None if store is None else store.live.head(pool)
        listed = SeasonBoards(files, control.refresh).seasons(pool, head)
    if format == "json":
        typer.echo(msgspec.json.encode(listed).decode())
        return
    console = Console(soft_wrap=True)
    console.print(season_table(pool, listed))
    for season in listed:
        if season.boards:
            console.print(f"{season.name}: final boards {', '.join(season.boards)}", highlight=False, markup=False)
        if season.waits_for is not None:
            console.print(f"{season.name} waits for {season.waits_for}", highlight=False, markup=False)


@seasons.command("start")
def start(
    pool: Annotated[str, typer.Argument(help="Name of the pool.")],
    name: Annotated[str, typer.Argument(help="Name of the season.")],
    keep: Annotated[
        float, typer.Option(help="Share of each rating's distance to the mean that remains: 0 carries nothing over, 1 keeps all.")
    ] = 0.0,
    position: Annotated[
        int | None,
        position_option(
            "--position",
            time=None,
            help="Start at this log position, after the start of the present season. Default: the present end of the log.",
        ),
    ] = None,
    yes: Yes = False,
    wait: Annotated[bool, typer.Option(help="Wait until readers see the season.")] = True,
    data: Data = None,
) -> None:
    """End the present season, keep its final boards, and start the next one. A season that has begun cannot be withdrawn.

    On a terminal, the command asks first.
    """
    settings = settings_of(data)
    try:
        asked = msgspec.convert({"name": name, "keep": keep}, SeasonStart)
    except msgspec.ValidationError as error:
        raise InputError("season", {"name": name, "keep": keep}, f"must be a season ({error})") from error
    with opened(settings) as (log, control):
        with reached(settings, log.outcomes.identity) as store:
            head = None if store is None else store.live.head(pool)
        if head is not None and head.stopped is not None:
            rule = f"must be folded to its end, but it stopped ({head.stopped}): `equirank pools resume {pool}` first"
            raise InputError("pool", pool, rule)
        wanted = season_request(control.refresh(), control.standing(pool), asked, position, time.time())
        confirm(f"End the present season of {pool} and start season {name}? This cannot be undone.", yes=yes)
        ask(settings, log, control, wanted, wait=wait, begins_season=True)


@seasons.command("withdraw")
def withdraw(
    pool: Annotated[str, typer.Argument(help="Name of the pool.")],
    name: Annotated[str, typer.Argument(help="Name of a season that was requested and has not begun.")],
    data: Data = None,
) -> None:
    """Withdraw a requested season. Changed settings that the request holds stay requested."""
    with opened(settings_of(data)) as (_, control):
        control.withdraw_season(pool, name, time.time())
    typer.echo(f"season {name} of {pool} is withdrawn; the present season goes on")


def season_table(pool: str, listed: Sequence[SeasonView]) -> FittedTable:
    """A table with a row for each season."""
    words, numbers = ("status", "began (UTC)", "ended (UTC)"), ("outcomes", "generation", "keep", "positions")
    columns = *map(whole, words), *(whole(name, right=True) for name in numbers)
    table = FittedTable(folded("season"), *columns, title=pool, least=("positions", "keep", "generation"))
    for season in listed:
        runs = season.status is SeasonStatus.RUNNING
        span = f"{_text(season.start)} to {'now' if runs else _text(season.end)}"
        times = _date(season.began_at), "running" if runs else _date(season.ended_at)
        table.add_row(season.name, season.status.value, *times, *map(_text, (season.outcomes, season.generation, season.keep)), span)
    return table


def _text(value: object) -> str:
    return "-" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _date(time_: float | None) -> str:
    return "-" if time_ is None else datetime.fromtimestamp(time_, UTC).strftime("%Y-%m-%d %H:%M")
