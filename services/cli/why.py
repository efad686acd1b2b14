"""`equirank why`: explain an agent's rating."""

from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.text import Text

from ratings_core.errors import InputError
from services.backends import open_store
from services.boards.past_contents import when_of
from services.boards.slice_boards import board_name
from services.checkpoints.checkpoint import CheckpointStore
from services.cli.agent_details import traced_index_of
from services.cli.fitted import FittedTable, folded, whole
from services.cli.installation import head_of, settings_of, slice_in
from services.cli.logs import control_state, past_contents
from services.cli.positions import position_option
from services.cli.top import Format
from services.control.records import ControlState
from services.log.protocol import LogError
from services.runtime.settings import Settings
from services.solve.why import Asked
from services.solve.why import why as computed
from services.solve.why_answers import Why, WhyChange, WhyFlip, WhySum
from services.solve.why_live import why_live


def why(
    pool: Annotated[str, typer.Argument(help="Name of the pool.")],
    agent: Annotated[str, typer.Argument(help="Name of the agent.")],
    method: Annotated[str, typer.Option(help="Online or solved method whose rating is explained.")],
    flips: Annotated[
        bool,
        typer.Option(
            "--flips", help="Of a solved method: search for the few outcomes without which the rank would change. Takes up to 20 s."
        ),
    ] = False,
    since: Annotated[
        int | None, position_option("--from", time="--since", help="Log position of an earlier state to compare with.")
    ] = None,
    until: Annotated[
        int | None, position_option("--to", time="--until", help="Log position of the explained state. Default: the newest checkpoint.")
    ] = None,
    since_time: Annotated[
        str | None,
        typer.Option(
            "--since", help="Time of the earlier state, in place of --from: 2026-11-22T06:00:00Z (UTC by default), or seconds since 1970."
        ),
    ] = None,
    until_time: Annotated[str | None, typer.Option("--until", help="Time of the explained state, in place of --to.")] = None,
    count: Annotated[int, typer.Option(min=1, max=1000, help="Largest number of terms to list.")] = 20,
    part: Annotated[str | None, typer.Option("--slice", help="Explain the rating in a slice of the pool: language:English.")] = None,
    data: Annotated[Path | None, typer.Option(help="Data folder of `equirank up` (EQUIRANK_DATA).")] = None,
    format: Annotated[Format, typer.Option(help="table, or json for programs.")] = "table",  # noqa: A002 - the option's name
) -> None:
    """Explain an agent's rating: contributions by opponent and task, and the outcomes that decide its rank."""
    moments = when_of(since, since_time, ("--from", "--since")), when_of(until, until_time, ("--to", "--until"))
    settings, asked = settings_of(data), Asked(agent, flips, *moments, count)
    files = CheckpointStore(settings.checkpoint_url)
    past = nullcontext() if moments == (None, None) else past_contents(settings, files)
    with closing(open_store(settings)) as store, past as contents:
        head = head_of(settings, store.live, pool, "POOL")
        text = slice_in(head, part)
        page = store.solved.page(pool, board_name(method, text), 0, 1)
        control = _control(settings)
        if method in head.online:
            index = traced_index_of(settings, head, text)
            answer = why_live(files, store, head, index, method, asked, contents, control)
        elif page is None or not page[1]:
            what = f"slice {text} of pool {pool}" if text else f"pool {pool}"
            rule = f"must be a method with a board of {what} (`equirank methods --pool {pool}` lists the choice)"
            raise InputError("--method", method, rule)
        else:
            answer = computed(files, head, page[0], asked, contents=contents, control=control)
    if format == "json":
        typer.echo(msgspec.json.encode(answer).decode())
    else:
        show(answer, Console())


def _control(settings: Settings) -> ControlState | None:
    """The state of the control log; None if the log cannot be opened here: the answer then has no parameters."""
    try:
        return control_state(settings)
    except LogError:
        return None


def show(answer: Why, console: Console) -> None:
    """Print an explanation as tables and lines."""
    console.print(Text(title(answer)), soft_wrap=True)
    if line := method_line(answer):
        console.print(Text(line), soft_wrap=True)
    for one in answer.sums:
        console.print(sum_table(one))
        console.print(Text(sum_line(one)), soft_wrap=True)
    for line in (*flip_lines(answer.flips or ()), *change_lines(answer.change)):
        console.print(Text(line), soft_wrap=True)


def title(answer: Why) -> str:
    """A line with the agent, its rating and rank, and what they are based on."""
    rating = "no rating" if answer.rating is None else f"rating {answer.rating:.6g}"
    margins = "" if answer.margins is None else f", {answer.margins} margins"
    place = f"{answer.pool} · " if answer.pool else ""
    place += f"{answer.slice} · " if answer.slice else ""
    at = f" · position {answer.position}" if answer.pool else ""
    agents = f"{'all ' if answer.pool else ''}{answer.agents} agents"  # in a pool, boards rank settled agents alone
    rank = f"{answer.agents} agents" if answer.rank is None else f"rank {answer.rank} of {agents}"
    line = f"{place}{answer.agent} by {answer.method}{margins}: {rating}, {rank}{at}"
    return line if answer.not_applicable is None else f"{line} · no terms: {answer.not_applicable}"


def method_line(answer: Why) -> str:
    """A line with the method's parameters, and the agent's deviation; empty if neither is known."""
    named = {} if answer.parameters is msgspec.UNSET else answer.parameters
    shown = ", ".join(f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}" for name, value in named.items())
    parts = [f"parameters: {shown}"] if shown else []
    return " · ".join(parts if answer.deviation is None else [*parts, f"deviation now: {answer.deviation:.4g}"])


def sum_table(one: WhySum) -> FittedTable:
    """A table of the terms of one sum, with a row for those that are not listed."""
    details = list(one.terms[0].details) if one.terms else []
    numbers = [whole(name, right=True) for name in details]
    quantity = folded(one.quantity, right=True)  # several words, such as "points less expected points"
    rows = FittedTable(folded(one.by), *numbers, quantity, whole("share", right=True))
    for term in one.terms:
        cells = [f"{term.details[name]:.4g}" for name in details]
        rows.add_row(Text(term.name), *cells, f"{term.value:+.4g}", f"{term.share:+.1%}")
    for name, value in one.rest.items():
        rows.add_row(Text(f"({name})"), *([""] * len(details)), f"{value:+.4g}", "")
    if one.others:
        rows.add_row(f"({one.others} others)", *([""] * len(details)), f"{one.others_sum:+.4g}", "")
    return rows


def sum_line(one: WhySum) -> str:
    """A line with the meaning of a sum, and how exactly it holds."""
    if one.total is None:
        return one.meaning
    return f"{one.meaning}. The terms sum to {one.sum:.6g}; the solution has {one.total:.6g} (within {one.allowed:.1g})."


def flip_lines(flips: "list[WhyFlip] | tuple[()]") -> Iterator[str]:
    """Lines about the sets of outcomes without which the rank would change."""
    for flip in flips:
        way = "worse" if flip.direction == "down" else "better"
        if flip.not_applicable is not None:
            yield f"a {way} rank: {flip.not_applicable} (proven: every set has at least {flip.at_least:,})"
            continue
        proof = "no smaller set does this" if flip.smallest else f"a smaller set of at least {flip.at_least} is not excluded"
        proof += "; a limit ended the search" if flip.cut_short else ""
        unit = (
            flip.unit if flip.count != 1 else flip.unit.replace("outcomes", "outcome").replace("results", "result").replace("tasks", "task")
        )
        yield f"a {way} rank: without {flip.count} {unit}, rank {flip.rank_after} instead of {flip.rank} (verified by a solve; {proof})"
        for result in flip.results:
            yield f"  {result.count} x {result.agent} {result.result} against {result.opponent}"
        if flip.tasks:
            yield f"  {', '.join(flip.tasks)}"


def change_lines(change: WhyChange | None) -> Iterator[str]:
    """Lines about what changed since an earlier position."""
    if change is None:
        return
    old, new = change.before, change.after
    ranks = "" if old.rank is None and new.rank is None else f", rank {_number(old.rank)} to {_number(new.rank)} of all agents"
    yield f"since position {old.position}: {change.outcomes} outcomes; rating {_number(old.rating)} to {_number(new.rating)}{ranks}"
    for move in change.moves:
        fresh = move.wins or move.losses or move.ties
        results = f"{move.wins:g} won, {move.losses:g} lost, {move.ties:g} tied" if fresh else "earlier results, which count now"
        yield f"  {move.effect:+.4g}  {move.agent} against {move.opponent}: {results}"
    if change.other_moves:
        yield f"  {change.other_effect:+.4g}  {change.other_moves} other pairs"
    if change.joined_effect:
        yield f"  {change.joined_effect:+.4g}  agents that were not rated with this one before, or missing outcomes"
    if change.no_moves is not None:
        for term in change.moved_terms:
            yield f"  {term.after - term.before:+.4g}  {term.by} {term.name}: {term.before:.4g} to {term.after:.4g}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"
