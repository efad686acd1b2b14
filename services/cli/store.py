"""`equirank store`: the logs whose boards are in the store, and the removal of those that nobody needs any more."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Annotated

import typer

from services.backends import LOG_FILE, open_log, store_url
from services.boards.store import logs as store_logs
from services.boards.store.connection import Connection
from services.cli.installation import Data, settings_of
from services.runtime.settings import Settings

store = typer.Typer(
    help="List the logs whose boards are in the store, and remove those of a log that is not used any more.",
    no_args_is_help=True,
    add_completion=False,
)


@store.command()
def logs(data: Data = None) -> None:
    """List the logs in the store: when the log's engine was last there (it registers every minute), and how many pools and keys it has."""
    with _opened(settings_of(data)) as connection:
        held = store_logs.held_logs(connection)
    for held_log in held:
        typer.echo(f"{held_log.log}: engine was there {_ago(held_log.seen_ago)}; pools: {held_log.pools:,}, keys: {held_log.keys:,}")
    if not held:
        typer.echo("the store holds no boards")


@store.command()
def forget(
    log: Annotated[str, typer.Argument(help="Identity of the log, as `equirank store logs` shows it.")],
    engine_is_gone: Annotated[
        bool, typer.Option("--engine-is-gone", help="Confirm that the log's engine is stopped. A full store cannot know it.")
    ] = False,
    data: Data = None,
) -> None:
    """Remove all boards of a log from the store.

    A log is refused if its engine was there in the last five minutes, or if it is the log of this installation. After an interruption,
    run the command again. If the log's engine is started later, it writes all of its boards again.
    """
    settings = settings_of(data)
    with _opened(settings) as connection:
        removed = store_logs.forget(connection, log, _own(settings), engine_is_gone=engine_is_gone)
    typer.echo(f"{log} was forgotten; removed pools: {removed.pools:,}, removed keys: {removed.keys:,}")


def _own(settings: Settings) -> str | None:
    """Identity of this installation's log; None if the data folder holds no log and Kafka is not set. Raises `LogError`."""
    if settings.kafka is None and not (settings.data / LOG_FILE).exists():
        return None
    with closing(open_log(settings, create=False)) as log:
        return log.outcomes.identity


@contextmanager
def _opened(settings: Settings) -> Iterator[Connection]:
    with closing(Connection(store_url(settings))) as connection:
        yield connection


def _ago(seconds: int | None) -> str:
    """An age in the largest unit that it fills."""
    if seconds is None:
        return "never"
    unit, size = next(((unit, size) for unit, size in (("days", 86_400), ("h", 3600), ("min", 60)) if seconds >= 2 * size), ("s", 1))
    return f"{max(0, seconds) // size} {unit} ago"
