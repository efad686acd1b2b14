"""`equirank agent`: an agent's profile, its record against opponents, its rating over time, its outcomes, or a change of its details."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from typing import Annotated, Final, TypeAlias

import msgspec
import typer
from rich.console import Console
from rich.text import Text

from ratings_core.errors import InputError
from ratings_core.records.names import check_name
from ratings_core.records.times import seconds
from ratings_core.words import counted
from services.admin.outcome_ids import with_ids
from services.backends import open_store
from services.boards.agent_history import (
    LEAST_POINTS,
    MOST_POINTS,
    AgentHistory,
    AgentOutcome,
    AgentOutcomes,
    agent_history,
    agent_outcomes,
)
from services.boards.agent_index import AgentIndex, NoIndex
from services.boards.agent_opponents import OpponentList, opponent_list
from services.boards.agent_profile import AgentProfile, profile
from services.boards.known_agents import KnownAgents
from services.boards.slice_boards import SliceName
from services.boards.store.protocol import PoolHead
from services.boards.store.redis import RedisStore
from services.cli import agent_details
from services.cli.fitted import FittedTable, folded, whole
from services.cli.installation import Data, head_of, settings_of, slice_in
from services.cli.logs import opened
from services.cli.top import Format
from services.runtime.settings import Settings

Answer: TypeAlias = AgentProfile | OpponentList | AgentHistory | AgentOutcomes
_OPTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "--opponents": ("--count", "--cursor", "--method"),
    "--outcomes": ("--count", "--cursor", "--method", "--ids"),
    "--history": ("--method", "--since", "--until", "--points"),
}
"""Options by the one that selects the answer."""


def agent(
    pool: Annotated[str, typer.Argument(help="Name of the pool.")],
    name: Annotated[str, typer.Argument(help="Name of the agent.")],
    opponents: Annotated[
        bool, typer.Option("--opponents", help="Show the record against each opponent instead, most games first.")
    ] = False,
    outcomes: Annotated[bool, typer.Option("--outcomes", help="Show its outcomes instead, newest first.")] = False,
    history: Annotated[bool, typer.Option("--history", help="Show its rating over time instead.")] = False,
    count: Annotated[int | None, typer.Option(min=1, max=1000, help="Largest number of opponents or outcomes. Default: 20.")] = None,
    cursor: Annotated[str | None, typer.Option(help="`next` of the answer before, to continue after it.")] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="Method of ratings or expected scores. Default: the pool's first online one; of --opponents, the best forecaster."
        ),
    ] = None,
    ids: Annotated[
        bool, typer.Option("--ids", help="With --outcomes: find the ids by which they were sent, in archive and log. Can take seconds.")
    ] = False,
    since: Annotated[
        str | None,
        typer.Option(help="With --history: only points at or after this time: a date, an ISO time or seconds since 1970."),
    ] = None,
    until: Annotated[str | None, typer.Option(help="With --history: only points before this time.")] = None,
    points: Annotated[
        int | None, typer.Option(min=LEAST_POINTS, max=MOST_POINTS, help="With --history: largest number of points. Default: 500.")
    ] = None,
    part: Annotated[str | None, typer.Option("--slice", help="Count the outcomes of a slice of the pool alone: language:English.")] = None,
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
    """Print an agent: rating and rank by each method, record, rating over time, or outcomes; change details with --set."""
    if set_:
        _change(settings_of(data), pool, name, set_)
        return
    given = {"--count": count, "--cursor": cursor, "--method": method, "--since": since, "--until": until, "--points": points}
    given |= {"--ids": ids or None}
    asked = _asked({"--opponents": opponents, "--outcomes": outcomes, "--history": history}, given)
    check_name(name, "NAME")
    settings, now = settings_of(data), time.time()
    low, high = (None if text is None else seconds(text, option) for option, text in (("--since", since), ("--until", until)))
    with closing(open_store(settings)) as store:
        head = head_of(settings, store.live, pool, "POOL")
        text = slice_in(head, part)
        traced = outcomes or (history and (method is None or method in head.online))
        index = (agent_details.traced_index_of if traced else agent_details.index_of)(settings, head, text)
        known = KnownAgents(agent_details.readable(settings, head.pool), hidden=True)
        answer: Answer | None
        if asked is None:
            of_slice = SliceName.parsed(text) if text else None
            answer = profile(store, head, index, name, now=now, known=known, part=of_slice)
        elif asked == "--history":
            found = agent_history(store, head, index, name, now=now, method=method, since=low, until=high, points=points or 500, part=text)
            answer = found and agent_details.with_known_events(settings, found, low, high)
        else:
            answer = _page(asked, store, head, index, name, now=now, count=count or 20, cursor=cursor, method=method)
            if ids and isinstance(answer, AgentOutcomes):
                with opened(settings) as (log, control):
                    answer = with_ids(log, control.refresh(), answer)
    if answer is None:
        raise InputError(
            "NAME",
            name,
            f"must be an agent of {f'slice {text} of ' if text else ''}pool {pool}: `equirank agents {pool} QUERY` finds agents",
        )
    _print(answer, format)


def _asked(choices: Mapping[str, bool], given: Mapping[str, object]) -> str | None:
    """The option that selects the answer; None for the profile. Raises `InputError` for options that do not go together."""
    chosen = [option for option, wanted in choices.items() if wanted]
    if len(chosen) > 1:
        raise InputError(", ".join(chosen), "given", "must not be used together")
    allowed = _OPTIONS[chosen[0]] if chosen else ()
    for option, value in given.items():
        if value is not None and option not in allowed:
            where = " or ".join(choice for choice, options in _OPTIONS.items() if option in options)
            raise InputError(option, value, f"must be used with {where}")
    return chosen[0] if chosen else None


def _page(
    asked: str, store: RedisStore, head: PoolHead, index: AgentIndex | NoIndex, name: str, *, now: float, count: int, cursor: str | None,
    method: str | None,
) -> OpponentList | AgentOutcomes | None:  # fmt: skip
    if asked == "--outcomes":
        return agent_outcomes(store, head, index, name, now=now, cursor=cursor, count=count, method=method)
    if isinstance(index, NoIndex):
        raise index
    return opponent_list(store, head, index, name, now=now, cursor=cursor, count=count, method=method)


def _print(answer: Answer, form: Format) -> None:
    """Print an answer as a table, or as JSON."""
    if form == "json":
        typer.echo(msgspec.json.encode(answer).decode())
        return
    console = Console()
    for line in lines_of(answer):
        console.print(Text(line), highlight=False, soft_wrap=True)
    console.print(_table(answer))
    if isinstance(answer, OpponentList | AgentOutcomes) and answer.next is not None:
        console.print(Text(f"more: --cursor {answer.next}"), highlight=False, soft_wrap=True)


def _change(settings: Settings, pool: str, name: str, texts: Sequence[str]) -> None:
    changed = agent_details.write(settings, pool, {name: agent_details.change_of(texts)}, time.time())
    typer.echo(f"{name} of {pool}: {'changed' if changed else 'nothing to change'}")


def lines_of(answer: Answer) -> Iterator[str]:
    """Lines above the table of an answer."""
    match answer:
        case AgentProfile():
            yield from profile_lines(answer)
        case OpponentList():
            yield f"{answer.pool} · {answer.agent}{_slice(answer)} · {counted(answer.total, 'opponent')} · position {answer.position}"
            if answer.team_games:
                yield f"{counted(answer.team_games, 'game')} in teams, which count for no opponent"
        case AgentHistory() | AgentOutcomes():
            total = (
                counted(answer.total, "outcome")
                if isinstance(answer, AgentOutcomes)
                else f"{counted(answer.total, 'point')} by {answer.method}"
            )
            yield f"{answer.pool} · {answer.agent}{_slice(answer)} · {total} · position {answer.position}"
            if answer.missing:
                yield f"the history of {answer.missing} outcomes of the pool is missing"


def _slice(answer: Answer) -> str:
    """What a line says of the slice of an answer."""
    return f" · {answer.slice}" if answer.slice else ""


def _table(answer: Answer) -> FittedTable:
    match answer:
        case AgentProfile():
            return profile_table(answer)
        case OpponentList():
            return opponents_table(answer)
        case AgentHistory():
            return history_table(answer)
        case AgentOutcomes():
            return outcomes_table(answer)


def profile_lines(shown: AgentProfile) -> Iterator[str]:
    """Lines with the agent's number of outcomes, its record, each with its position, and its details."""
    yield f"{shown.pool} · {shown.agent}{_slice(shown)} · {counted(shown.outcomes, 'outcome')} · position {shown.position}"
    if (games := shown.games) is not None:
        won, drawn, lost = map(_games, (games.wins, games.draws, games.losses))
        in_teams = f", {_games(games.team_games)} of them in teams" if games.team_games else ""
        yield f"{counted(games.games, 'game')}: {won} won, {drawn} drawn, {lost} lost{in_teams} (position {games.position})"
    if (scores := shown.scores) is not None:
        yield f"{counted(scores.measurements, 'score')} on {counted(scores.tasks, 'task')} (position {scores.position})"
    if shown.last_played is not None:
        first = "" if shown.first_played is None else f"first played {_day(shown.first_played)}, "
        yield f"{first}last played {_day(shown.last_played)}"
    if (streak := shown.streak) is not None:
        yield f"streak: {streak.length} {streak.result}"
    if shown.no_record is not None:
        yield f"no record: {shown.no_record}"
    yield from agent_details.lines_of(shown.details)


def profile_table(shown: AgentProfile) -> FittedTable:
    """A table with a row for each method. A provisional agent has a question mark in place of a rank."""
    names = ("rating", "rank", "interval", "ranks", "deviation", "position")
    rows = FittedTable(folded("method", least=20), *(whole(name, right=True) for name in names), least=("position", "deviation", "ranks"))
    for method, rated in shown.methods.items():
        rank = "?" if rated.rank is None else f"{rated.rank} of {rated.ranked}"
        ends, ranks = _range(rated.low, rated.high), _range(rated.rank_low, rated.rank_high)
        rows.add_row(method, _number(rated.rating), rank, ends, ranks, _number(rated.deviation), str(rated.position))
    return rows


def opponents_table(shown: OpponentList) -> FittedTable:
    """A table with a row for each opponent, with the expected score of the next game."""
    names = ("games", "won", "drawn", "lost", f"expected ({shown.method})" if shown.method else "expected")
    rows = FittedTable(folded("opponent"), *(whole(name, right=True) for name in names))
    for row in shown.opponents:
        numbers = (row.games, row.wins, row.draws, row.losses)
        rows.add_row(Text(row.agent), *map(_games, numbers), _number(row.expected_score))
    return rows


def history_table(shown: AgentHistory) -> FittedTable:
    """A table with a row for each point."""
    solved = shown.source == "solved"
    rows = FittedTable(whole("time (UTC)"), *(whole(name, right=True) for name in (shown.method, "rank" if solved else "outcome")))
    for point in shown.points:
        rows.add_row(_moment(point.time), _number(point.rating), str((point.rank or "?") if solved else point.outcome))
    return rows


def outcomes_table(shown: AgentOutcomes) -> FittedTable:
    """A table with a row for each outcome."""
    names = ("before", "after", "change", "expected", "p(win)", "gain")
    first = whole("time (UTC)"), whole("result"), whole("place"), folded("opponents")
    ids = [] if all(row.ids is msgspec.UNSET for row in shown.outcomes) else [folded("id")]
    numbered = (whole(name, right=True) for name in names)
    rows = FittedTable(*first, *numbered, *ids, least=("gain", "p(win)", "before", "place", "expected"))
    for row in shown.outcomes:
        terms = (
            _number(row.expected_score),
            "-" if row.p_win is None else f"{row.p_win:.3f}",
            "-" if row.gain is None else f"{row.gain:.4g}",
        )
        numbers = (_number(row.before), _number(row.after), f"{row.change:+.4g}", *terms)
        rows.add_row(_moment(row.time), row.result, str(row.place), Text(_opponents(row)), *numbers, *_ids(row))
    return rows


def _ids(row: AgentOutcome) -> list[Text]:
    """The cell of the ids; none if they were not looked for."""
    return [] if row.ids is msgspec.UNSET else [Text(", ".join(row.ids) or "-")]


def _opponents(row: AgentOutcome) -> str:
    return ", ".join(" + ".join(side.agents) for side in row.opponents)


def _moment(time_: float) -> str:
    """A time as people read it, in UTC; seconds if the calendar does not have it."""
    try:
        return datetime.fromtimestamp(time_, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return f"{time_:g}"


def _day(time_: float) -> str:
    return _moment(time_).partition(" ")[0]


def _games(weight: float) -> str:
    """A weight of games or scores, in full: a million games are not 1e+06."""
    return f"{weight:.15g}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"


def _range(low: float | None, high: float | None) -> str:
    return "-" if low is None or high is None else f"{low:.6g} to {high:.6g}"
