"""`equirank agents`: find agents of a pool by name, or load and save the details of many."""

import time
from contextlib import closing
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.text import Text

from services.backends import open_store
from services.boards.agent_index import AgentIndex
from services.boards.agent_search import AgentList, agent_list
from services.boards.display_names import DisplayNames
from services.boards.known_agents import KnownAgents
from services.cli import agent_details
from services.cli.cells import shower
from services.cli.fitted import FittedTable, folded, whole
from services.cli.installation import Data, head_of, settings_of
from services.cli.top import Format
from services.runtime.settings import Settings


def agents(
    pool: Annotated[str, typer.Argument(help="Name of the pool.")],
    query: Annotated[str, typer.Argument(help="Text that a name equals, begins with or contains. Without it: all agents.")] = "",
    count: Annotated[int, typer.Option(min=1, max=200, help="Largest number of agents.")] = 20,
    cursor: Annotated[str | None, typer.Option(help="`next` of the answer before, to continue after it.")] = None,
    method: Annotated[
        str | None,
        typer.Option(help="Method of ratings and ranks. Default: the pool's first online method, or its first solved one without any."),
    ] = None,
    load: Annotated[
        Path | None,
        typer.Option(
            help="Change details of agents by a file: .csv with the column agent and any of display_name, country, organisation, licence, "
            "url, hidden and tags.NAME; or .jsonl. Empty cells and null remove a value."
        ),
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Write the details of all agents to a .csv or .jsonl file for --load.")] = None,
    data: Data = None,
    format: Annotated[Format, typer.Option(help="table, or json for programs.")] = "table",  # noqa: A002 - the option's name
) -> None:
    """Find agents of a pool by name, without regard to case: equal names first, then prefixes, then others, each by outcomes."""
    settings = settings_of(data)
    if load is not None or save is not None:
        _load_or_save(settings, pool, load, save)
        return
    with closing(open_store(settings)) as store:
        head = head_of(settings, store.live, pool, "POOL")
        index = agent_details.index_of(settings, head)
        details = agent_details.readable(settings, pool)
        known = KnownAgents(details, DisplayNames(details, index) if isinstance(index, AgentIndex) else None, hidden=True)
        found = agent_list(store, head, index, query=query, cursor=cursor, count=count, method=method, known=known)
    if format == "json":
        typer.echo(msgspec.json.encode(found).decode())
        return
    console = Console()
    console.print(Text(title(found)), highlight=False, soft_wrap=True)
    if found.agents:
        console.print(table(found))
    for line in hints(found):
        console.print(Text(line), highlight=False, soft_wrap=True)


def _load_or_save(settings: Settings, pool: str, load: Path | None, save: Path | None) -> None:
    if load is not None:
        changes = agent_details.read_file(load)
        changed = agent_details.write(settings, pool, changes, time.time())
        typer.echo(f"{load}: {len(changes)} agents, details of {changed} changed")
    if save is not None:
        details = agent_details.read(settings, pool)
        agent_details.save(save, details)
        typer.echo(f"{save}: details of {len(details)} agents")


def title(found: AgentList) -> str:
    """A line with the pool, the number of its agents, and the positions of the answer."""
    names = "no checkpoint yet" if found.names_position is None else f"names at {found.names_position}"
    return f"{found.pool} · {found.total} agents · position {found.position} ({names})"


def table(found: AgentList) -> FittedTable:
    """A table of the agents. A provisional agent has a question mark in place of a rank."""
    shown = shower(row.rating for row in found.agents)
    rows = FittedTable(folded("agent"), *(whole(name, right=True) for name in ("outcomes", found.method or "rating", "rank")))
    for row in found.agents:
        rank = "?" if row.provisional else "-" if row.rank is None else str(row.rank)
        name = row.agent if row.display_name is None else f"{row.agent} ({row.display_name})"
        rows.add_row(Text(name), str(row.outcomes), shown(row.rating), rank)
    return rows


def hints(found: AgentList) -> list[str]:
    """Lines about what is not in the table: further agents, the nearest names, and a missing checkpoint."""
    lines = [f"more: --cursor {found.next}"] if found.next is not None else []
    if not found.agents:
        nearest = f"; nearest names: {', '.join(found.suggestions)}" if found.suggestions else ""
        lines.append(f"no agent was found{nearest}")
    if found.names_position is None:
        lines.append("no checkpoint can be read here, so only exact names are found")
    return lines
