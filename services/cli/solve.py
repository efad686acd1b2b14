"""`equirank solve`: one method on a file, or on the outcomes of a pool. Other tools rely on the form of its JSON."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer
from rich.console import Console

from ratings_core.errors import InputError
from ratings_core.formats.kinds import FileKind
from ratings_core.formats.options import ReadOptions
from ratings_core.front.remarks import remarks
from ratings_core.methods.names import MODULES, ONLINE
from ratings_core.voting.profile import Unlisted
from services.boards.result import VERSION, Intervals, SolveResult
from services.cli.cells import interval_line, ranked_table, roster_line
from services.cli.options import (
    BadRowsOption,
    Columns,
    DecimalOption,
    Delimiter,
    Features,
    Format,
    Sort,
    TimeFormat,
    Trim,
    UnplayedOption,
    Values,
    name_and_value,
    read_options,
)
from services.cli.positions import position_option
from services.solve.file_solve import Answer, Asked, Reading, folded_answers, solved_answers
from services.solve.outcome_columns import COLUMNS
from services.solve.registry.methods import Ties

if TYPE_CHECKING:
    from services.admin.solve_pool import PoolSlice
    from services.solve.check import Check

_ROWS_SHOWN = 50


def solve(
    method: Annotated[
        str, typer.Option(help=f"Method: {', '.join(MODULES)}. Online methods, which fold rows in order: {', '.join(ONLINE)}.")
    ],
    file: Annotated[
        Path | None,
        typer.Argument(help="File of games, chess games, contests, scores, margins or outcomes, or a PrefLib profile."),
    ] = None,
    input_kind: Annotated[FileKind | None, typer.Option("--input", help="Kind of the file. By default it is detected.")] = None,
    players: Annotated[int | None, typer.Option(help="Number of players of the solved game, 2 or 3, for methods with this choice.")] = None,
    param: Annotated[list[str] | None, typer.Option(help="Parameter of the method, as name=value. Repeatable.")] = None,
    ties: Annotated[Ties, typer.Option(help="keep: equal ratings share a rank. order: equal ratings are ordered by name.")] = "keep",
    tie_tolerance: Annotated[
        float | None, typer.Option(min=0.0, help="Largest difference of equal ratings. By default the method's value.")
    ] = None,
    pool: Annotated[
        str | None, typer.Option(help="Without a file: a pool of this installation. With a file of outcomes: the pool in the file to rate.")
    ] = None,
    unplayed: UnplayedOption = "skip",
    unlisted: Annotated[
        Unlisted | None, typer.Option(help="Alternatives that a ballot does not list. Default: last for profiles, unknown for contests.")
    ] = None,
    column: Columns = None,
    value: Values = None,
    delimiter: Delimiter = None,
    bad_rows: BadRowsOption = "refuse",
    trim: Trim = False,
    where: Annotated[
        list[str] | None,
        typer.Option(
            help="Only rows of games with column=value. Repeatable. For a pool and for outcomes, column is the key of a tag or tags.KEY, "
            f"one of {', '.join(COLUMNS)}, or meta.FIELD."
        ),
    ] = None,
    time_format: TimeFormat = None,
    decimal: DecimalOption = None,
    sort: Sort = False,
    slice_by: Annotated[str | None, typer.Option(help="Compute a separate result for each value of this column.")] = None,
    begin: Annotated[int, position_option("--from", time="--since", help="For a pool: first log position.")] = 0,
    end: Annotated[int | None, position_option("--to", time="--until", help="For a pool: log position to stop before.")] = None,
    since: Annotated[
        str | None, typer.Option(help="For a pool: only outcomes since this time: a date, an ISO time or seconds since 1970.")
    ] = None,
    until: Annotated[str | None, typer.Option(help="For a pool: only outcomes before this time.")] = None,
    bucket_seconds: Annotated[
        float | None, typer.Option(min=1.0, help="Width of a time bucket in seconds (86400 for a day), the unit of --param half_life.")
    ] = None,
    choose_half_life: Annotated[
        bool, typer.Option("--choose-half-life", help="Choose the half-life by held-out log loss (needs --bucket-seconds).")
    ] = False,
    feature: Features = None,
    intervals: Annotated[
        bool,
        typer.Option(
            "--intervals",
            help="Compute 95 % intervals of ratings and ranks: from the fit for bradley_terry and davidson with up to 1,000 agents and for "
            "contextual_bradley_terry, by draws of the margins for methods on posterior margins with up to 500 agents, otherwise by refits "
            "to resampled data.",
        ),
    ] = False,
    interval_seconds: Annotated[float, typer.Option(min=0.1, help="Time limit of draws or refits in seconds.")] = 60.0,
    check: Annotated[
        bool, typer.Option("--check", help="Compare small inputs with the paper's program; exit status 1 if they differ.")
    ] = False,
    why: Annotated[str | None, typer.Option(help="Explain the rating of this agent: contributions by opponent and task.")] = None,
    output: Annotated[Format, typer.Option("--format", help="table, or json for programs: one object per line.")] = "table",
    data: Annotated[Path | None, typer.Option(help="For a pool: data folder (EQUIRANK_DATA).")] = None,
) -> None:
    """Rate the agents of a file or of a pool with one method. A certificate proves the quality of the result."""
    options = read_options(
        input_kind, unplayed=unplayed, columns=column, values=value, delimiter=delimiter, trim=trim, where=where, slice_by=slice_by,
        features=feature, time_format=time_format, decimal=decimal,
    )  # fmt: skip
    limit = interval_seconds if intervals else None
    asked = Asked(method, _parameters(param or []), players, ties, tie_tolerance, limit, check, choose_half_life, why)
    if file is None:
        of_files = {
            "input": input_kind,
            "column": column,
            "value": value,
            "trim": trim,
            "decimal": decimal,
            "feature": feature,
            "unlisted": unlisted,
            "sort": sort,
        }
        wanted = _pool_slice(pool, options, (begin, end), (since, until), of_files)
        answers = _pool_answers(asked, wanted, bucket_seconds, data)
    else:
        _refuse({"from": begin, "to": end, "since": since, "until": until, "data": data}, "with a file: it is for --pool only")
        reading = Reading(file, options, pool, bad_rows, unlisted, bucket_seconds, sort)
        answers = folded_answers(asked, reading) if method in ONLINE else solved_answers(asked, reading)
    failed, differ = _print(answers, slice_by, output)
    if failed or differ:
        raise typer.Exit(1)


def _pool_slice(
    pool: str | None,
    options: ReadOptions,
    positions: tuple[int, int | None],
    times: tuple[str | None, str | None],
    of_files: Mapping[str, object],
) -> "PoolSlice":
    """The part of a pool's outcomes that is rated. Raises `InputError` without a pool, and for an option of files."""
    from services.admin.pool_range import pool_range  # noqa: PLC0415 - loads the logs, which files do not need
    from services.admin.solve_pool import PoolSlice  # noqa: PLC0415 - as above

    if pool is None:
        raise InputError("pool", None, "must be given without a file: name a file, or a pool of this installation")
    _refuse(of_files, "for a pool: it is for files (`equirank export` writes one)")
    return PoolSlice(pool_range(pool, positions, *times, "--"), options.where, options.slice_by)


def _pool_answers(asked: Asked, wanted: "PoolSlice", bucket_seconds: float | None, data: Path | None) -> Iterator[Answer]:
    from services.admin.solve_pool import pool_answers  # noqa: PLC0415 - see `_pool_slice`
    from services.cli.installation import settings_of  # noqa: PLC0415 - as above
    from services.cli.logs import opened  # noqa: PLC0415 - as above

    with opened(settings_of(data)) as (log, control):
        yield from pool_answers(asked, log, control.refresh(), wanted, bucket_seconds)


def _refuse(given: Mapping[str, object], why: str) -> None:
    """Raise `InputError` for the first option in `given` that was given. why: End of the error's rule."""
    if (name := next((name for name, value in given.items() if value), None)) is not None:
        raise InputError(name, given[name], f"must be left out {why}")


def _print(answers: Iterator[Answer], slice_by: str | None, output: Format) -> tuple[bool, bool]:
    """Print each answer when it is ready. Returns whether a slice failed, and whether a check found a difference."""
    failed = differ = False
    for answer in answers:
        if answer.note:
            sys.stderr.write(f"equirank: {answer.note}\n")
        if answer.result is None:
            failed = True
            sys.stderr.write(f"equirank: {slice_by} = {answer.slice!r} has no result: {' '.join(str(answer.error).split())}\n")
        else:
            if output == "json":
                printed = {"version": VERSION, **msgspec.to_builtins(answer.result)}
                sys.stdout.write(msgspec.json.encode(printed).decode() + "\n")
            else:
                if slice_by is not None:
                    Console(soft_wrap=True).print(f"\n{slice_by} = {answer.slice!r}", highlight=False, markup=False)
                _show(answer.result, answer.left_out)
            differ |= answer.checked is not None and _differs(answer.checked, output)
    return failed, differ


def _differs(checked: "Check", output: Format) -> bool:
    """Print the result of the check. Returns whether the answers differ."""
    verdict = "agrees with" if checked.agrees else "DIFFERS from"
    line = f"the answer {verdict} {checked.source}: {checked.compared} within {checked.difference:.2g}, tolerance {checked.tolerance:.2g}"
    if output == "table":
        Console(soft_wrap=True).print(line, highlight=False, markup=False)
    if not checked.agrees:
        sys.stderr.write(f"equirank: {line}\n")
    return not checked.agrees


def _parameters(given: list[str]) -> dict[str, str]:
    """Name -> value of each text `name=value`. Raises `InputError` for another form, and for a repeated name."""
    parameters: dict[str, str] = {}
    for text in given:
        name, value = name_and_value(text, "param", "must be name=value")
        if name in parameters:
            raise InputError("param", text, "must give each parameter once")
        parameters[name] = value
    return parameters


def _show(result: SolveResult, left_out: dict[str, int]) -> None:
    console = Console(soft_wrap=True)
    proof = result.certificate
    proven = "" if proof.value is None else f"{proof.kind} {proof.value:.3g}, "
    title = f"{result.method} on {result.input}: {result.status}, {proven}{result.seconds:.3g} s"
    console.print(ranked_table(result.agents[:_ROWS_SHOWN], result.extra, title=title))
    unrated = sum(row.rating is None for row in result.agents)
    for said in (roster_line(result.extra), *remarks(result.extra, unrated)):
        if said is not None:
            console.print(said, highlight=False, markup=False)
    if isinstance(result.intervals, Intervals):
        console.print(interval_line(result.intervals), highlight=False, markup=False)
    if len(result.agents) > _ROWS_SHOWN:
        console.print(f"and {len(result.agents) - _ROWS_SHOWN} more agents: use --format json for all")
    if (half_life := result.extra.get("half_life")) is not None:
        console.print(_half_life_line(half_life), highlight=False, markup=False)
    features: Any = result.extra.get("features", [])
    for row in features:
        ends = f"{row['low']:.4g} to {row['high']:.4g}"
        console.print(
            f"feature {row['feature']}: {row['coefficient']:.4g} logits per unit, 95 % interval {ends}", highlight=False, markup=False
        )
    for reason, count in sorted(left_out.items()):
        console.print(f"left out: {count}, {reason}", highlight=False, markup=False)
    if "why" in result.extra:
        from services.cli.why import show  # noqa: PLC0415 - loads the store's client, which other solves do not need
        from services.solve.why_answers import Why  # noqa: PLC0415 - as above

        show(msgspec.convert(result.extra["why"], Why), console)


def _half_life_line(choice: Any) -> str:
    """A line about the chosen half-life and the losses of all candidates."""
    losses = "; ".join(f"{half_life:g}: {loss:.5f}" if half_life else f"none: {loss:.5f}" for half_life, loss in choice["losses"])
    chosen = f"{choice['half_life']:g} time buckets" if choice["half_life"] else "none: results of all ages have equal weight"
    return f"half-life {chosen}, chosen by log loss of {choice['games']:g} held-out games (nats per game; {losses})"
