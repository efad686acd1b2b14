"""`equirank top`: the best of a board, for people or for programs."""

import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from ratings_core.errors import InputError
from services.boards import Board, board, methods_of
from services.connect import open_store
from services.settings import Settings
from services.store.protocol import StoreReader


class Format(StrEnum):
    """How a board is printed."""

    TABLE = "table"
    JSON = "json"


def top(
    pool: Annotated[str, typer.Option(help="The pool.")],
    method: Annotated[str, typer.Option(help="A live method (elo, sco, ...) or a solved one (maximal_lottery, ...).")] = "elo",
    count: Annotated[int, typer.Option(min=1, max=1000, help="Rows, best first.")] = 20,
    data: Annotated[Path | None, typer.Option(help="Data folder of `equirank up` (EQUIRANK_DATA).")] = None,
    format: Annotated[Format, typer.Option(help="table, or json for programs.")] = Format.TABLE,  # noqa: A002 - the option's name
) -> None:
    """Print the best agents of a board."""
    store = open_store(Settings(data=data) if data else Settings())
    try:
        found = find(store, pool, method, count)
    finally:
        store.close()
    if format is Format.JSON:
        typer.echo(msgspec.json.encode(found).decode())
    else:
        console = Console()
        console.print(_title(found), highlight=False, soft_wrap=True)
        console.print(_table(found))


def find(store: StoreReader, pool: str, method: str, count: int) -> Board:
    """The board's first rows. Raises `InputError` that lists what there is where it is not."""
    found = board(store, pool, method, start=0, count=count, now=time.time())
    if found is not None:
        return found
    methods = methods_of(store, pool)
    if methods is None:
        known = ", ".join(head.pool for head in store.pools()) or "none yet"
        raise InputError("--pool", pool, f"must be a pool that has outcomes (there are: {known})")
    raise InputError("--method", method, f"must be a board of this pool ({', '.join([*methods.live, *methods.solved])})")


def _table(found: Board) -> Table:
    table = Table()
    table.add_column("rank", justify="right")
    table.add_column("agent")
    table.add_column("rating", justify="right")
    for row in found.rows:
        table.add_row(str(row.rank), _plain(row.agent), "-" if row.rating is None else f"{row.rating:.6g}")
    return table


def _title(found: Board) -> str:
    parts = [f"{found.pool} · {found.method} ({found.source})", f"{found.total} agents", f"position {found.position}"]
    if found.certificate is not None and found.certificate.value is not None:
        parts.append(f"{found.certificate.kind} {found.certificate.value:.2g}, {found.status}")
    if found.error:
        parts.append(f"newest try failed: {found.error}")
    return _plain(" · ".join(parts))


def _plain(text: str) -> str:
    """`text` as itself: rich reads square brackets as markup."""
    return text.replace("[", r"\[")
