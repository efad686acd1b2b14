"""Results of `equirank solve`: one for a file, or one for each slice of it."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ratings_core.errors import InputError, SolverError
from ratings_core.formats.kinds import FileKind
from ratings_core.formats.options import ReadOptions
from ratings_core.formats.parts import RowCounts
from ratings_core.formats.reading import FileReading
from ratings_core.formats.source import FileSource
from ratings_core.front.counted import Counting
from ratings_core.front.load import BadRows, Loaded, collect, judged
from ratings_core.front.slices import Slices
from ratings_core.methods import registry
from ratings_core.methods.method import Takes
from ratings_core.methods.recency import chosen_half_life
from ratings_core.problems.inputs import Problem, ScoresInput
from ratings_core.voting.profile import Unlisted
from services.boards.result import SolveResult
from services.control.generations import make_raters
from services.control.records import FoldSettings
from services.solve.fold_file import FoldedRows, fold_lines, folded_result, offline_fold, state_of
from services.solve.problems.chosen import Chosen
from services.solve.problems.load import OFFLINE, load_slices, named_pool, pool_lines
from services.solve.registry import methods
from services.solve.registry.methods import Ties
from services.state.pool import PoolState, without_conflicts
from services.wire.pools import Kind

if TYPE_CHECKING:
    from services.solve.check import Check


@dataclass(frozen=True, slots=True)
class Asked:
    """The method and the options with which a file is solved.

    Attributes:
        method: Name of a solved method or an online method.
        parameters: Parameters of the method, as text.
        players: Number of players of the game, for methods with this choice; None for the method's default.
        ties: `keep`: equal ratings share a rank; `order`: they are ordered by name.
        tie_tolerance: Ratings that differ by at most this are equal; None for the method's default.
        interval_seconds: Time limit for intervals, in seconds; None for no intervals.
        check: Whether to compare the result with the paper's reference program.
        choose_half_life: Whether to choose the half-life of results by held-out log loss.
        why: Name of an agent whose rating is explained; None for no explanation.
    """

    method: str
    parameters: dict[str, str]
    players: int | None = None
    ties: Ties = "keep"
    tie_tolerance: float | None = None
    interval_seconds: float | None = None
    check: bool = False
    choose_half_life: bool = False
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """A file and how it is read.

    Attributes:
        file: Path of the file.
        options: How rows become outcomes.
        pool: Pool whose outcomes are read, if the file names several pools.
        bad_rows: `refuse` a file with bad rows, or `skip` and count them.
        unlisted: Meaning of agents that a ballot does not list; None for the default of the file's kind.
        bucket_seconds: Width of a time bucket in seconds; None puts all games into one bucket.
        by_time: Whether online methods fold games in the order of their times, instead of that of the rows.
    """

    file: Path
    options: ReadOptions
    pool: str | None = None
    bad_rows: BadRows = "refuse"
    unlisted: Unlisted | None = None
    bucket_seconds: float | None = None
    by_time: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer for a file or for one slice of it.

    Attributes:
        slice: Value of the slice column; empty for a file without slices.
        result: The result; None if the slice could not be solved.
        error: Why the slice could not be solved; None if it has a result.
        left_out: Reason -> number of rows in all slices that are not outcomes.
        checked: Comparison with the paper's reference program; None without a check.
        note: What the user should know about the file; empty for nothing.
    """

    slice: str
    result: SolveResult | None = None
    error: InputError | SolverError | None = None
    left_out: dict[str, int] = field(default_factory=dict)
    checked: "Check | None" = None
    note: str = ""


def folded_answers(asked: Asked, reading: Reading) -> Iterator[Answer]:
    """Fold each slice of a file of games separately with an online method, in the order of its rows. The file is read once.

    Raises:
        InputError: An option of solved methods was given, the file holds no games, a row is bad, or the method does not have one of the
            parameters.
    """
    options, begun = reading.options, time.perf_counter()
    check_online(asked, reading.bucket_seconds, feature=[feature.text for feature in options.features] or None)
    with FileSource(reading.file) as source:
        read = FileReading(source, options)
        kind = read.kind
        if kind in (FileKind.SCORES, FileKind.MARGINS, FileKind.PROFILE):
            rule = f"must be a solved method: {reading.file.name} is read as {kind}, and online methods rate games"
            if options.kind is None:
                rule += ". The kind was guessed; if the file holds games, say so: --column first=HEADER (second, winner, ...)"
            raise InputError("method", asked.method, rule)
        fold = offline_fold(asked.method, asked.parameters)
        rater = make_raters(Kind.GAMES, fold)[asked.method]
        if kind is FileKind.OUTCOMES:
            folded, left_out = _folded_outcomes(source, reading, fold)
        else:
            slices = Slices(lambda: FoldedRows(state_of(OFFLINE, fold)))
            left_out = collect(read, slices, FoldedRows.add, reading.bad_rows, by_time=reading.by_time)
            folded = [(value, own.state) for value, own in slices.sorted(left_out)]
    seconds = time.perf_counter() - begun
    notes = [f"column {column}: {use}" for column, use in read.counts.remarks.items()]
    note = "; ".join([*notes, *([read.order_note] if read.order_note and not reading.by_time else [])])
    for value, state in folded:
        result = folded_result(state, asked.method, rater, seconds, left_out)
        yield replace(answer_of(value, result, kind, left_out, options.slice_by), note=note)


def _folded_outcomes(source: FileSource, reading: Reading, fold: FoldSettings) -> tuple[list[tuple[str, PoolState]], dict[str, int]]:
    """Value and state of each slice of a file of outcomes, and the counts of rows that are left out. Raises `InputError`."""
    named, counts, options, name = named_pool(source, reading.pool), RowCounts(), reading.options, reading.file.name
    if not options.where and options.slice_by is None:
        state = state_of(named, fold)
        for lines in pool_lines(source, named, counts):
            fold_lines(name, state, lines)
        return [("", state)], judged(counts, name, reading.bad_rows)
    chosen, slices = Chosen(options, named.retractions), Slices(lambda: state_of(named, fold))
    for lines in pool_lines(source, named, counts):
        for value, columns in chosen.slices([line.event for line in lines]):
            if refused := without_conflicts(slices.part(value).fold(columns)):
                raise InputError(f"{name}: {refused[0].path}", f"{len(refused)} refused", refused[0].rule)
    chosen.check()
    left_out = judged(counts, name, reading.bad_rows) | dict(+chosen.left_out)
    return slices.sorted(left_out), left_out


def check_online(asked: Asked, bucket_seconds: float | None, **others: object) -> None:
    """Raise `InputError` if an option that only solved methods support was given.

    others: Further options by name; None if not given.
    """
    given: dict[str, object] = {"players": asked.players, "tie-tolerance": asked.tie_tolerance, "intervals": asked.interval_seconds}
    given |= {
        "why": asked.why,
        "check": asked.check or None,
        "choose-half-life": asked.choose_half_life or None,
        "bucket-seconds": bucket_seconds,
        **others,
    }
    if (name := next((name for name, value in given.items() if value is not None), None)) is not None:
        raise InputError(name, given[name], f"must be left out for {asked.method}, an online method: it folds outcomes in their order")


def solved_answers(asked: Asked, reading: Reading) -> Iterator[Answer]:
    """Solve each slice of the file separately with a solved method. If a slice cannot be solved, its answer contains the error.

    Raises:
        InputError: The file cannot be read, or a file without slices cannot be solved.
        SolverError: On a file without slices: the method did not reach its accuracy.
    """
    options, takes = reading.options, registry.find(asked.method).takes
    if options.features and takes is not Takes.FEATURES:
        rule = f"must be left out for {asked.method}: only contextual_bradley_terry has features"
        raise InputError("feature", [feature.text for feature in options.features], rule)
    counting = counting_of(asked, reading.bucket_seconds)
    loaded = load_slices(
        reading.file, reading.options, pool=reading.pool, counting=counting, unlisted=reading.unlisted, bad_rows=reading.bad_rows
    )
    yield from answers_of(asked, loaded, options.slice_by)


def counting_of(asked: Asked, bucket_seconds: float | None) -> Counting:
    """How games must be counted for the method and the options of `asked`."""
    return Counting(registry.find(asked.method).takes is Takes.TASK_PAIRS, asked.interval_seconds is not None, bucket_seconds)


def answers_of(asked: Asked, loaded_slices: Mapping[str, Loaded], slice_by: str | None) -> Iterator[Answer]:
    """Solve each slice and yield its answer.

    slice_by: Name of the slice column; None if the file has no slices.
    Raises `InputError` and `SolverError` as `solved_answers` does.
    """
    for value, loaded in loaded_slices.items():
        try:
            result, checked = _solve(asked, loaded.problem)
        except (InputError, SolverError) as error:
            if slice_by is None:
                raise
            yield Answer(value, error=error, left_out=loaded.left_out)
            continue
        yield answer_of(value, result, loaded.kind, loaded.left_out, slice_by, checked)


def _solve(asked: Asked, problem: Problem) -> "tuple[SolveResult, Check | None]":
    parameters = _with_players(asked, problem)
    choice = chosen_half_life(problem, parameters) if asked.choose_half_life else None
    if choice is not None:
        parameters = {**parameters, "half_life": repr(choice.half_life)}
    result = methods.solve(asked.method, problem, parameters, asked.tie_tolerance, asked.ties)
    if asked.interval_seconds is not None:
        from services.solve.intervals.replicates import add_intervals  # noqa: PLC0415 - loads the analyses

        result = add_intervals(asked.method, problem, parameters, result, asked.interval_seconds)
    if choice is not None:
        result = msgspec.structs.replace(result, extra={**result.extra, "half_life": msgspec.to_builtins(choice)})
    if asked.why is not None:
        from services.solve import why  # noqa: PLC0415 - loads the explanations of all methods

        said = why.why_in_problem(asked.method, problem, parameters, why.Asked(asked.why), asked.tie_tolerance)
        rank = next(row.rank for row in result.agents if row.agent == asked.why)  # `ties` can order agents of equal rank
        said = msgspec.structs.replace(said, rank=rank)
        result = msgspec.structs.replace(result, extra={**result.extra, "why": msgspec.to_builtins(said)})
    if not asked.check:
        return result, None
    from services.solve.check import check  # noqa: PLC0415 - loads the reference programs

    return result, check(asked.method, problem, parameters, result)


def answer_of(
    value: str, result: SolveResult, kind: FileKind, left_out: dict[str, int], slice_by: str | None, checked: "Check | None" = None
) -> Answer:
    """The answer for a slice. The input kind, the slice, the rows left out and the check are added to its result.

    value: Value of the slice column.
    """
    extra = {
        **result.extra,
        **({"rows_left_out": left_out} if left_out else {}),
        **({} if slice_by is None else {"slice": {"column": slice_by, "value": value}}),
        **({} if checked is None else {"check": msgspec.to_builtins(checked)}),
    }
    return Answer(value, msgspec.structs.replace(result, input=kind.value, extra=extra), left_out=left_out, checked=checked)


def _with_players(asked: Asked, problem: Problem) -> dict[str, str]:
    """The method's parameters, with `--players` added for methods that have this parameter. All other methods accept only 2 players.

    Raises `InputError` for another number, or if `players` is given twice.
    """
    method, players, parameters = asked.method, asked.players, asked.parameters
    choice = any(parameter.name == "players" for parameter in registry.find(method).parameters)
    if players is None or (players == 2 and not choice):
        return parameters
    if not choice:
        what = "agents and tasks" if isinstance(problem, ScoresInput) else "two agents"
        raise InputError("players", players, f"must be 2 for {method}, which solves a game between {what}")
    if "players" in parameters:
        raise InputError("players", players, "must be given once, as --players or as --param players=")
    return {**parameters, "players": str(players)}
