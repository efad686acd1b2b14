"""`equirank agent`: the profile of one agent, its record against opponents, or a change of its details."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from ratings_core.errors import InputError
from ratings_core.records.names import check_name
from services.backends import open_store
from services.boards.agent_index import NoIndex
from services.boards.agents import AgentProfile, KnownAgents, OpponentList, opponent_list, profile
from services.boards.store.protocol import PoolHead
from services.boards.store.redis import RedisStore
from services.cli import agent_details
from services.cli.installation import Data, head_of, settings_of
from services.cli.top import Format
from services.runtime.settings import Settings


def agent(
    pool: Annotated[str, typer.Argument(help="Name of the pool.")],
    name: Annotated[str, typer.Argument(help="Name of the agent.")],
    opponents: Annotated[
        bool, typer.Option("--opponents", help="Show the record against each opponent instead, most games first.")
    ] = False,
    count: Annotated[int, typer.Option(min=1, max=200, help="With --opponents: largest number of opponents.")] = 20,
    cursor: Annotated[str | None, typer.Option(help="With --opponents: `next` of the answer before, to continue after it.")] = None,
    method: Annotated[str | None, typer.Option(help="With --opponents: online method of the expected scores.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Change a detail: display_name, country, organisation, licence, url, hidden or tags.NAME, such as country=DE. An empty "
            "value removes it. Repeatable.",
        ),
    ] = None,
    data: Data = None,
    format: Annotated[Format, typer.Option(help="table, or json for programs.")] = "table",  # noqa: A002 - the option's name
) -> None:
    """Print the profile of an agent: rating and rank by each method, its record and details; change details with --set."""
    if set_:
        _change(settings_of(data), pool, name, set_)
        return
    if not opponents and (cursor is not None or method is not None):
        raise InputError("--cursor, --method", cursor or method, "must be used with --opponents")
    check_name(name, "NAME")
    settings = settings_of(data)
    with closing(open_store(settings)) as store:
        head = head_of(settings, store.live, pool, "POOL")
        answer = _opponents(settings, store, head, name, cursor, count, method) if opponents else _profile(settings, store, head, name)
    if answer is None:
        raise InputError("NAME", name, f"must be an agent of pool {pool}: `equirank agents {pool} QUERY` finds agents")
    if format == "json":
        typer.echo(msgspec.json.encode(answer).decode())
        return
    console = Console()
    if isinstance(answer, AgentProfile):
        for line in profile_lines(answer):
            console.print(Text(line), highlight=False, soft_wrap=True)
        console.print(profile_table(answer))
    else:
        console.print(Text(f"{answer.pool} · {answer.agent} · {answer.total} opponents · position {answer.position}"), soft_wrap=True)
        console.print(opponents_table(answer))
        if answer.next is not None:
            console.print(Text(f"more: --cursor {answer.next}"), highlight=False, soft_wrap=True)


def _change(settings: Settings, pool: str, name: str, texts: Sequence[str]) -> None:
    changed = agent_details.write(settings, pool, {name: agent_details.change_of(texts)}, time.time())
    typer.echo(f"{name} of {pool}: {'changed' if changed else 'nothing to change'}")


def _profile(settings: Settings, store: RedisStore, head: PoolHead, name: str) -> AgentProfile | None:
    known = KnownAgents(agent_details.readable(settings, head.pool), hidden=True)
    index = agent_details.index_of(settings, head)
    return profile(store, head, index, name, now=time.time(), provisional=settings.provisional, known=known)


def _opponents(
    settings: Settings, store: RedisStore, head: PoolHead, name: str, cursor: str | None, count: int, method: str | None
) -> OpponentList | None:
    index = agent_details.index_of(settings, head)
    if isinstance(index, NoIndex):
        raise index
    return opponent_list(store, head, index, name, now=time.time(), cursor=cursor, count=count, method=method)


def profile_lines(shown: AgentProfile) -> Iterator[str]:
    """Lines with the agent's number of outcomes, its record, each with its position, and its details."""
    yield f"{shown.pool} · {shown.agent} · {shown.outcomes} outcomes · position {shown.position}"
    if (games := shown.games) is not None:
        won, drawn, lost = map(_games, (games.wins, games.draws, games.losses))
        yield f"{_games(games.games)} games: {won} won, {drawn} drawn, {lost} lost (position {games.position})"
    if (scores := shown.scores) is not None:
        yield f"{_games(scores.measurements)} scores on {scores.tasks} tasks (position {scores.position})"
    if shown.no_record is not None:
        yield f"no record: {shown.no_record}"
    yield from agent_details.lines_of(shown.details)


def profile_table(shown: AgentProfile) -> Table:
    """A table with a row for each method. A question mark is at a provisional rank."""
    names = ("rating", "rank", "interval", "ranks", "deviation", "position")
    rows = Table("method", *(Column(name, justify="right") for name in names))
    for method, rated in shown.methods.items():
        rank = f"{rated.rank}{'?' if rated.provisional else ''} of {rated.total}"
        ends, ranks = _range(rated.low, rated.high), _range(rated.rank_low, rated.rank_high)
        rows.add_row(method, _number(rated.rating), rank, ends, ranks, _number(rated.deviation), str(rated.position))
    return rows


def opponents_table(shown: OpponentList) -> Table:
    """A table with a row for each opponent, with the expected score of the next game."""
    names = ("games", "won", "drawn", "lost", f"expected ({shown.method})" if shown.method else "expected")
    rows = Table(Column("opponent", overflow="fold"), *(Column(name, justify="right") for name in names))
    for row in shown.opponents:
        numbers = (row.games, row.wins, row.draws, row.losses)
        rows.add_row(Text(row.agent), *map(_games, numbers), _number(row.expected_score))
    return rows


def _games(weight: float) -> str:
    """A weight of games or scores, in full: a million games are not 1e+06."""
    return f"{weight:.15g}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"


def _range(low: float | None, high: float | None) -> str:
    return "-" if low is None or high is None else f"{low:.6g} to {high:.6g}"
