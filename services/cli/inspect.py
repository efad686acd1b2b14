"""`equirank inspect`: what a file is taken for, what it holds, and the commands to go on with."""

import re
import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from ratings_core.errors import InputError
from ratings_core.formats.kinds import FileKind
from ratings_core.formats.options import ReadOptions
from ratings_core.formats.parts import RowCounts
from ratings_core.formats.source import FileSource
from ratings_core.front.inspection import Directions, Inspection, add_outcomes, inspection_of
from ratings_core.front.load import described
from ratings_core.records.tag_keys import TAG_KEY
from services.cli.options import Columns, DecimalOption, Delimiter, Features, TimeFormat, Trim, UnplayedOption, Values, Where, read_options

_GROUPS_SHOWN: Final = 5
_METHOD: Final = {
    FileKind.GAMES: "bradley_terry",
    FileKind.PGN: "bradley_terry",
    FileKind.OUTCOMES: "maximal_lottery",
    FileKind.CONTESTS: "borda",
    FileKind.SCORES: "maximal_lottery",
    FileKind.MARGINS: "maximal_lottery",
    FileKind.PROFILE: "maximal_lottery",
}
"""Kind -> a method to begin with."""
_COUNTED: Final = {FileKind.SCORES: "tasks", FileKind.PROFILE: "ballots"}
"""Kind -> what a file of it holds, where that is not games."""
_COUNTS_ONLY: Final = (FileKind.MARGINS, FileKind.PROFILE)
"""Kinds whose files hold counts and no outcomes, so that no pool can count them."""
_FEATURES: Final = "without a prior, the method refuses games whose features and wins leave a coefficient or a rating infinite"


def inspect(
    file: Annotated[Path, typer.Argument(help="File of games, chess games, contests, scores, margins or outcomes, or a PrefLib profile.")],
    pool: Annotated[str | None, typer.Option(help="Of a file of outcomes: the pool in the file, if it names several.")] = None,
    input_kind: Annotated[FileKind | None, typer.Option("--input", help="Kind of the file. By default it is detected.")] = None,
    unplayed: UnplayedOption = "skip",
    column: Columns = None,
    value: Values = None,
    delimiter: Delimiter = None,
    trim: Trim = False,
    where: Where = None,
    time_format: TimeFormat = None,
    decimal: DecimalOption = None,
    feature: Features = None,
) -> None:
    """Show what a file is taken for: its kind, the roles of its columns, agents, groups that never met, and bad rows."""
    options = read_options(
        input_kind, unplayed=unplayed, columns=column, values=value, delimiter=delimiter, trim=trim, where=where, features=feature,
        time_format=time_format, decimal=decimal,
    )  # fmt: skip
    inspection, console = _inspected(file, options, pool), Console(soft_wrap=True)
    for line in report(file, inspection, options):
        console.print(line, highlight=False, markup=False)


def _inspected(file: Path, options: ReadOptions, pool: str | None) -> Inspection:
    inspection = inspection_of(file, options)
    if inspection.kind is FileKind.OUTCOMES:
        from services.solve.problems.outcome_parts import outcome_parts  # noqa: PLC0415 - loads the fold, which other files do not need

        inspection.counts = RowCounts()
        with FileSource(file) as source:
            add_outcomes(inspection, outcome_parts(source, options, pool, inspection.counts, inspection.counts.left_out))
    elif pool is not None:
        raise InputError("pool", pool, f"must be left out: {file.name} is no file of outcomes, and names no pools")
    return inspection


def report(file: Path, inspection: Inspection, options: ReadOptions) -> list[str]:
    """Lines for people about a file."""
    lines = [f"{file.name}: {inspection.kind}{f' ({inspection.note})' if inspection.note else ''}"]
    unused = list[str]()
    if inspection.kind is FileKind.GAMES:
        uses = _uses(inspection, options)
        objects = {column for column in inspection.columns if any(other.startswith(f"{column}.") for other in inspection.columns)}
        unused = [column for column in inspection.columns if column not in uses and column not in objects]
        uses = dict.fromkeys(objects, "an object, whose fields follow") | uses
        lines += [f"  column {column}: {uses.get(column, 'not used')}" for column in inspection.columns]
    elif inspection.columns:
        lines.append(f"  tasks in {inspection.columns[0]!r}, {len(inspection.columns) - 1} columns of agents")
    lines += _numbers(inspection)
    lines += [f"  bad rows: {inspection.counts.bad}"] if inspection.counts is not None and inspection.counts.bad else []
    lines += [f"    {described(error)}" for error in inspection.bad_rows]
    method, reasons = _method(inspection, options)
    lines.append(f"go on with: {shlex.join(['equirank', 'solve', _argument(file), *method, *_options(inspection, options)])}")
    lines += [f"  {reason}" for reason in reasons]
    if inspection.kind not in _COUNTS_ONLY:
        lines.append(f"or in a pool: {_sending(file, inspection, options)}")
    return lines + _ways_to_use(unused)


def _uses(inspection: Inspection, options: ReadOptions) -> dict[str, str]:
    """Column -> its use, for the columns of a table of games that are used, or that the rows showed to be useless."""
    uses = {column: f"feature {feature.text}" for feature in options.features for column in feature.columns}
    uses |= {column: f"only rows with {value}" for column, value in options.where}
    uses |= {column: role for role, column in inspection.roles.items()}
    return uses | (inspection.counts.remarks if inspection.counts is not None else {})


def _ways_to_use(unused: list[str]) -> list[str]:
    """Lines with the options that use the first of these columns; empty without one."""
    if not unused:
        return []
    column = unused[0]
    key = column if re.fullmatch(TAG_KEY, column) else "KEY"
    ways = {
        ("--tag", f"{key}={column}"): "slices of a pool by it (replay)",
        ("--feature", column): "a covariate, if it holds numbers",
        ("--column", f"task={column}"): "the task of a game",
        ("--where", f"{column}=VALUE"): "only the rows with this value",
    }
    given = {shlex.join(words): meaning for words, meaning in ways.items()}
    width = max(map(len, given))
    return ["options for a column that is not used:", *(f"  {words:{width}}  {meaning}" for words, meaning in given.items())]


def _numbers(inspection: Inspection) -> list[str]:
    lines = [] if inspection.counts is None else [f"  rows: {inspection.counts.rows}"]
    if inspection.kind is not FileKind.MARGINS:
        lines.append(f"  {_COUNTED.get(inspection.kind, 'games')}: {inspection.outcomes:.15g}")
    lines.append(f"  agents: {inspection.agents}")
    if inspection.teams:
        lines.append(f"  games of teams: {inspection.teams}, which methods of pairs do not count; online methods do")
    lines += [f"  rows left out: {count}, {why}" for why, count in sorted(inspection.left_out.items())]
    if inspection.tasks and inspection.kind is not FileKind.SCORES:
        lines.append(f"  tasks: {inspection.tasks}")
    if inspection.kind not in _COUNTED and inspection.scores is None and inspection.outcomes:
        lines.append(f"  ties: {100 * inspection.ties:.3g} %")
    for name, ends in (("scores", inspection.scores), ("weights", inspection.weights)):
        if ends is not None:
            lines.append(f"  {name}: {ends[0]:.6g} to {ends[1]:.6g}")
    if inspection.times is not None:
        first, last = (_day(time) for time in inspection.times)
        order = f"; {inspection.order} (online methods: --sort)" if inspection.order else ""
        lines.append(f"  times: {first} to {last}{order}")
    if len(inspection.groups) > 1:
        sizes = ", ".join(map(str, inspection.groups[:_GROUPS_SHOWN])) + (", ..." if len(inspection.groups) > _GROUPS_SHOWN else "")
        lines.append(f"  {len(inspection.groups)} groups that never met, of {sizes} agents: ratings compare only within a group")
    return lines


def _day(time: float) -> str:
    try:
        return datetime.fromtimestamp(time, UTC).isoformat(timespec="seconds").removesuffix("+00:00") + "Z"
    except (OverflowError, ValueError, OSError):
        return f"{time:g}"


def _method(inspection: Inspection, options: ReadOptions) -> tuple[list[str], list[str]]:
    """The words that name a method to begin with, and lines that say why these."""
    if 2 * inspection.teams > inspection.outcomes:
        sort = ["--sort"] if inspection.order else []
        return ["--method", "weng_lin", *sort], ["weng_lin: most games are of teams, which methods of pairs do not count"]
    method = "contextual_bradley_terry" if options.features else _METHOD[inspection.kind]
    why = _FEATURES if options.features else _prior_because(inspection.directions) if method == "bradley_terry" else None
    return ["--method", method, *([] if why is None else ["--param", "prior=1"])], [] if why is None else [f"prior=1: {why}"]


def _prior_because(linked: Directions | None) -> str | None:
    """Why a fit of strengths needs a prior to rate all agents that games link; None if it needs none."""
    if linked is None or linked.both_ways == linked.groups:
        return None
    match linked.one_sided:
        case 0:
            return "chains of wins do not link all agents in both directions; without a prior, ratings compare only within a group"
        case 1:
            return "1 agent won or lost all its games; without a prior, it has no rating"
        case agents:
            return f"{agents} agents won or lost all their games; without a prior, they have no rating"


def _sending(file: Path, inspection: Inspection, options: ReadOptions) -> str:
    """The command that sends the file to a pool, which the user has to name, with the options of this one."""
    kind = ["--input", inspection.kind] if options.kind is None and inspection.note else []  # a guess is not enough to send outcomes
    sort = ["--sort"] if inspection.order else []
    return shlex.join(["equirank", "replay", _argument(file), "--pool", "POOL", *kind, *_options(inspection, options), *sort])


def _argument(file: Path) -> str:
    return f"./{file}" if str(file).startswith("-") else str(file)


def _options(inspection: Inspection, options: ReadOptions) -> list[str]:
    """The words that make another command read the file as this one did."""
    words = [] if options.kind is None else ["--input", options.kind]
    for role, column in options.roles.named.items():
        words += ["--column", f"{role}={column}"]
    words += ["--column", "time="] if options.roles.time == "" else []
    for feature in options.features:
        words += ["--feature", feature.text]
    for word, meaning in options.values.items():
        words += ["--value", f"{meaning}={word}"]
    for column, value in options.where:
        words += ["--where", f"{column}={value}"]
    words += [] if options.delimiter is None else ["--delimiter", options.delimiter]
    words += [] if options.unplayed == "skip" else ["--unplayed", options.unplayed]
    words += [] if options.time_format is None else ["--time-format", options.time_format]
    words += [] if options.decimal is None else ["--decimal", options.decimal]
    words += ["--trim"] if options.trim else []
    words += ["--bad-rows", "skip"] if inspection.counts is not None and inspection.counts.bad else []
    return words
