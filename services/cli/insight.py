"""`equirank insight`: the insight report of a pool."""

import time
from contextlib import closing
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.text import Text

from ratings_core.findings.words import lines
from services.backends import open_store
from services.boards.insight import Insight
from services.boards.insight import insight as newest
from services.boards.store.redis import RedisStore
from services.checkpoints.checkpoint import CheckpointStore
from services.cli.fitted import FittedTable, folded, whole
from services.cli.installation import head_of, settings_of, slice_in
from services.cli.top import Format
from services.runtime.settings import Settings


def insight(
    pool: Annotated[str, typer.Option(help="Name of the pool.")],
    part: Annotated[
        str | None, typer.Option("--slice", help="Of the outcomes of a slice of the pool alone, computed now: language:English.")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Data folder of `equirank up` (EQUIRANK_DATA).")] = None,
    format: Annotated[Format, typer.Option(help="table, or json for programs.")] = "table",  # noqa: A002 - the option's name
) -> None:
    """Report cycles, clones, weakly connected agents, disagreements between methods, and prediction accuracy."""
    settings = settings_of(data)
    with closing(open_store(settings)) as store:
        report = find(store, pool, settings, part)
    if format == "json":
        typer.echo(msgspec.json.encode(report).decode())
    elif report.findings is None:
        Console().print(Text(none_yet(report)), soft_wrap=True)
    else:
        Console().print(table(report))


def find(store: RedisStore, pool: str, settings: Settings, part: str | None = None) -> Insight:
    """The newest insight into a pool, or into its slice `part`. Raises `InputError` if there is no such pool or slice."""
    head = head_of(settings, store.live, pool)
    if (text := slice_in(head, part)) == "":
        return newest(store.solved, pool, now=time.time())
    from services.cli.logs import control_state  # noqa: PLC0415 - imports kernels, which takes time and only slices need
    from services.solve.insight.on_request import Insights, slice_insight  # noqa: PLC0415

    files = CheckpointStore(settings.checkpoint_url)
    return slice_insight(files, store.solved, control_state(settings), head, text, Insights(1), time.time(), settings.provisional)


def none_yet(report: Insight) -> str:
    """A line with the reason why there are no findings."""
    return f"{report.pool} · no insight yet: {report.error}"


def table(report: Insight) -> FittedTable:
    """A table with all parts of the report, one row for each part."""
    found = report.findings
    without = f" without the {found.left_out:,} least active ones" if found is not None and found.left_out else ""
    about = "none" if found is None else f"{found.agents} agents{without}, position {report.position}"
    of_slice = f" · {report.slice}" if report.slice else ""
    title = f"{report.pool}{of_slice} · {about}" + (f" · newest computation failed: {report.error}" if report.error else "")
    rows = FittedTable(whole("about"), folded("finding"), title=title)
    for about, line in lines(found) if found is not None else ():
        rows.add_row(about, line)
    return rows
