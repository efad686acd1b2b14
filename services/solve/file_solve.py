"""One solve of a file, as `equirank solve` asks for it: of the whole file, or of each slice of it."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import msgspec

from ratings_core.errors import InputError
from ratings_core.formats import FileKind
from ratings_core.online import RATERS
from ratings_core.voting.profile import Unlisted
from services.boards.result import SolveResult
from services.imports.files import Account, FileOptions, OutcomeFile
from services.imports.sources import Source
from services.solve.check import Check, check
from services.solve.fold_file import fold_file
from services.solve.intervals.replicates import add_intervals
from services.solve.problems.inputs import Problem, ScoresInput
from services.solve.problems.load import BadRows, judge_bad_rows, load
from services.solve.registry import methods
from services.solve.registry.method import Takes
from services.solve.registry.methods import Ties

MOST_SLICES: Final = 1_000
"""Most values of a column that a file is sliced by. Each takes one reading of the file and one solve."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How a file is read.

    Attributes:
        options: Its kind, columns and rules of rows.
        pool: Pool of the outcomes, where the file names several.
        unlisted: What a ballot says of alternatives it does not list; None for the default of the kind.
        bad_rows: Refuse a file with bad rows, or skip and count them.
    """

    options: FileOptions = field(default_factory=FileOptions)
    pool: str | None = None
    unlisted: Unlisted | None = None
    bad_rows: BadRows = "refuse"


@dataclass(frozen=True, slots=True)
class Asked:
    """What is computed.

    Attributes:
        method: Name of a solved or an online method.
        parameters: Its parameters as text.
        players: Players of the game that is solved, where the method has a choice; None for the method's own.
        ties: Whether equal ratings share a rank or are ordered by name; None for the default.
        tie_tolerance: Ratings this close are equal; None for the method's own.
        interval_seconds: Most seconds for intervals by refits; None for none.
        check: Whether to compare with the paper's program.
    """

    method: str
    parameters: dict[str, str]
    players: int | None = None
    ties: Ties = "keep"
    tie_tolerance: float | None = None
    interval_seconds: float | None = None
    check: bool = False


@dataclass(frozen=True, slots=True)
class Solved:
    """The result as it is printed. left_out: rows that are no outcome, by why; check: the comparison, if it was asked for."""

    result: SolveResult
    left_out: dict[str, int]
    check: Check | None = None


def solve_file(file: Path, reading: Reading, asked: Asked) -> Solved:
    """Solve a file. Raises `InputError` for a file or options that do not fit the method, and `SolverError`."""
    if asked.method in RATERS:
        return _folded(file, reading, asked)
    method, parameters = asked.method, asked.parameters
    loaded = load(
        file, reading.options, pool=reading.pool, per_task=methods.find(method).takes is Takes.TASK_PAIRS,
        clustered=asked.interval_seconds is not None, unlisted=reading.unlisted, bad_rows=reading.bad_rows,
    )  # fmt: skip
    parameters = _with_players(asked, loaded.problem)
    result = methods.solve(method, loaded.problem, parameters, asked.tie_tolerance, asked.ties)
    if asked.interval_seconds is not None:
        result = add_intervals(method, loaded.problem, parameters, result, asked.interval_seconds)
    checked = check(method, loaded.problem, parameters, result) if asked.check else None
    return Solved(_told(result, loaded.kind, loaded.left_out, checked), loaded.left_out, checked)


def _folded(file: Path, reading: Reading, asked: Asked) -> Solved:
    """Fold the file in its order by an online method. Raises `InputError` for options of solved methods."""
    given = {
        "players": asked.players,
        "tie-tolerance": asked.tie_tolerance,
        "intervals": asked.interval_seconds,
        "check": asked.check or None,
    }
    if (name := next((name for name, value in given.items() if value is not None), None)) is not None:
        raise InputError(name, given[name], f"must be left out for {asked.method}, an online method: it folds the file in its order")
    folded = fold_file(file, asked.method, asked.parameters, reading.options, reading.pool, reading.bad_rows)
    return Solved(_told(folded.result, folded.kind, folded.left_out, None), folded.left_out)


def _told(result: SolveResult, kind: FileKind, left_out: dict[str, int], checked: Check | None) -> SolveResult:
    """The result with what is known of the file."""
    added: dict[str, object] = {"rows_left_out": left_out} if left_out else {}
    if checked is not None:
        added["check"] = msgspec.to_builtins(checked)
    return msgspec.structs.replace(result, input=kind.value, extra={**result.extra, **added})


def _with_players(asked: Asked, problem: Problem) -> dict[str, str]:
    """`players` becomes the parameter of methods that have a choice; others solve the game of two: agents, or agents and tasks."""
    method, players, parameters = asked.method, asked.players, asked.parameters
    choice = any(parameter.name == "players" for parameter in methods.find(method).parameters)
    if players is None or (players == 2 and not choice):
        return parameters
    if not choice:
        what = "agents and tasks" if isinstance(problem, ScoresInput) else "two agents"
        raise InputError("players", players, f"must be 2 for {method}, which solves a game between {what}")
    if "players" in parameters:
        raise InputError("players", players, "must be given once, as --players or as --param players=")
    return {**parameters, "players": str(players)}


def slices(file: Path, reading: Reading, column: str) -> list[str]:
    """The values of a column in the rows that are read, in order; the empty text for rows without one.

    The column is read as the column of tasks is, so that the rules of rows are the same.

    Raises:
        InputError: The file has no such column, is neither results nor battles, has bad rows, or more than `MOST_SLICES` values.
    """
    options = replace(reading.options, rules=replace(reading.options.rules, task=column, keep_bad=True))
    with Source(file) as source:
        kind = source.kind(options.kind, options.delimiter)
        if kind not in (FileKind.RESULTS, FileKind.BATTLES):
            raise InputError("slice-by", column, f"must be left out for {kind}: only rows of results and battles have columns")
        rows = OutcomeFile(source, "slices", now=0.0, options=replace(options, kind=kind), one_pool=False)
        account, values = Account(), set[str]()
        for batch in rows.batches(account):
            values.update(getattr(event, "task", None) or "" for _, event in batch)
            if len(values) > MOST_SLICES:
                raise InputError("slice-by", column, f"must have at most {MOST_SLICES} values: each is a solve of its own")
        judge_bad_rows(file, kind, account, reading.bad_rows)
    return sorted(values)


def solve_slice(file: Path, reading: Reading, asked: Asked, column: str, value: str) -> Solved:
    """Solve the rows that have the value in the column. Raises what `solve_file` raises."""
    rules = reading.options.rules
    chosen = replace(rules, where=(*rules.where, (column, value)))
    solved = solve_file(file, replace(reading, options=replace(reading.options, rules=chosen)), asked)
    extra = {**solved.result.extra, "slice": {"column": column, "value": value}}
    return replace(solved, result=msgspec.structs.replace(solved.result, extra=extra))
