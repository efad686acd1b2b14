"""`equirank methods`: list and choose the methods that solve a pool."""

import re
import time
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer
from rich.console import Console
from rich.text import Text

from ratings_core.errors import InputError
from ratings_core.options import Value
from services.cli.fitted import FittedTable, folded, whole
from services.cli.installation import settings_of
from services.cli.logs import opened
from services.cli.top import Format
from services.control.records import ControlState
from services.solve.registry.choice import MethodChoice, choices, chosen_for, plan_of
from services.solve.registry.methods import defaults
from services.wire.pools import Kind, check_pool_name

_PART: Final = re.compile(r'(?:\[(?:"(?:[^"\\]|\\.)*"|[^]"])*\]|[^,])+')
"""Matches a part between commas. Commas inside a JSON list do not separate parts."""


def methods(
    pool: Annotated[str, typer.Option(help="Name of the pool.")],
    add: Annotated[list[str] | None, typer.Option(help="Add a method: NAME or NAME:parameter=value,... Repeatable.")] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Remove a method. Repeatable.")] = None,
    of_slices: Annotated[
        list[str] | None,
        typer.Option("--slices", help="Solve each slice of a tag, too: TAG=METHOD,METHOD. TAG= solves them no more. Repeatable."),
    ] = None,
    default: Annotated[bool, typer.Option("--default", help="First reset the choice to the defaults for the pool's kind.")] = False,
    data: Annotated[Path | None, typer.Option(help="Data folder of `equirank up` (EQUIRANK_DATA).")] = None,
    format: Annotated[Format, typer.Option(help="table, or json for programs.")] = "table",  # noqa: A002 - the option's name
) -> None:
    """List all solved methods and the pool's choice; change the choice with --add and --drop. Online methods: `equirank pools settings`."""
    with opened(settings_of(data)) as (_, control):
        state = control.refresh()
        if check_pool_name(pool) not in state.pools:
            raise InputError("--pool", pool, f"must be a pool (there are: {', '.join(sorted(state.pools)) or 'none yet'})")
        if add or drop or default or of_slices:
            wanted = _wanted(state, pool, add or [], drop or [], default=default)
            slices = _slices(state, pool, of_slices, wanted) if of_slices else None
            control.append(plan_of(state, pool, wanted, time.time(), slices))
            state = control.refresh()
        rows = choices(state, pool)
    if format == "json":
        typer.echo(msgspec.json.encode(rows).decode())
    else:
        reasons = list(dict.fromkeys(row.why_not for row in rows if row.why_not is not None))
        Console().print(_table(pool, rows, reasons))
        for i, reason in enumerate(reasons, 1):
            Console().print(Text(f"({i}) {reason}"), soft_wrap=True)


def _wanted(state: ControlState, pool: str, add: list[str], drop: list[str], *, default: bool) -> dict[str, dict[str, Value]]:
    kind = Kind(state.pools[pool].kind)
    start = defaults(kind) if default else chosen_for(state.plans.get(pool), kind)
    wanted = {name: dict(parameters) for name, parameters in start.items()}
    for name in drop:
        if wanted.pop(name, None) is None:
            raise InputError("--drop", name, f"must be one of those chosen: {', '.join(wanted) or 'none'}")
    return wanted | dict(map(_parsed, add))


def _slices(state: ControlState, pool: str, given: list[str], wanted: Collection[str]) -> dict[str, list[str]]:
    """The methods of the pool's slices by tag, with the given changes. Raises `InputError` for another form.

    wanted: Methods that will solve the pool. Slices are no longer solved by others.
    """
    plan = state.plans.get(pool)
    slices = {} if plan is None else {tag: [name for name in methods if name in wanted] for tag, methods in plan.slices.items()}
    for text in given:
        tag, equals, names = text.partition("=")
        if not tag or not equals:
            raise InputError("--slices", text, "must be TAG=METHOD,METHOD, such as language=bradley_terry")
        slices[tag] = names.split(",") if names else []
    return {tag: methods for tag, methods in slices.items() if methods}


def _parsed(text: str) -> tuple[str, dict[str, Value]]:
    """Parse NAME or NAME:parameter=value,... Raises `InputError` for another form, and for a repeated parameter."""
    name, _, given = text.partition(":")
    values: dict[str, Value] = {}
    parts = _PART.findall(given)
    for part in parts:
        parameter, equals, value = part.partition("=")
        if not equals or not parameter or parameter in values or ",".join(parts) != given:
            raise InputError("--add", text, "must be NAME or NAME:parameter=value,parameter=value with each parameter once")
        values[parameter] = value
    return name, values


def _table(pool: str, rows: list[MethodChoice], reasons: list[str]) -> FittedTable:
    """A table of all methods. reasons: Why methods do not apply; rows refer to them by number, from 1."""
    sliced = any(row.slices for row in rows)
    columns = whole("method"), whole("solved"), folded("parameters"), *([folded("slices")] if sliced else [])
    table = FittedTable(*columns, title=pool)
    for row in rows:
        given = ", ".join(f"{name}={value}" for name, value in (row.chosen or {}).items())
        lacking = None if row.why_not is None else f"does not apply ({reasons.index(row.why_not) + 1})"
        tags = [", ".join(row.slices)] if sliced else []
        table.add_row(row.method, "" if row.chosen is None else "yes", lacking or given, *tags)
    return table
