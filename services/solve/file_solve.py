"""What `equirank solve` answers: one result for a file, or one for each of its slices."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from ratings_core.errors import InputError, SolverError
from ratings_core.formats import FileKind
from ratings_core.voting.profile import Unlisted
from services.boards.result import SolveResult
from services.imports.files import FileOptions
from services.solve.check import Check
from services.solve.check import check as compare
from services.solve.fold_file import fold_slices
from services.solve.intervals.replicates import add_intervals
from services.solve.problems.inputs import Problem, ScoresInput
from services.solve.problems.load import BadRows, Counting, Loaded, load_slices
from services.solve.registry import methods
from services.solve.registry.method import Takes
from services.solve.registry.methods import Ties
from services.solve.registry.recency import chosen_half_life


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of a file.

    Attributes:
        method: A solved or an online method.
        parameters: Of the method, as text.
        players: Of the game, where the method has a choice.
        ties: Whether equal ratings share a rank.
        tie_tolerance: Ratings this close are equal; None for the method's own.
        interval_seconds: Most seconds for intervals; None for no intervals.
        check: Compare with the paper's program.
        choose_half_life: Find how much old results should count by held-out log loss.
    """

    method: str
    parameters: dict[str, str]
    players: int | None = None
    ties: Ties = "keep"
    tie_tolerance: float | None = None
    interval_seconds: float | None = None
    check: bool = False
    choose_half_life: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """A file and how it is read.

    Attributes:
        file: The file.
        options: How its rows become outcomes.
        pool: Whose outcomes, where it names several.
        bad_rows: Refuse a file with bad rows, or skip and count them.
        unlisted: What a ballot says of unlisted alternatives.
        bucket_seconds: Width of a time bucket; None: all games in one.
    """

    file: Path
    options: FileOptions
    pool: str | None = None
    bad_rows: BadRows = "refuse"
    unlisted: Unlisted | None = None
    bucket_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer for a file or a slice of it.

    Attributes:
        slice: Value of the column of slices; empty for a whole file.
        result: The result; None where the slice could not be solved.
        error: Why not.
        left_out: Rows of the whole file that are no outcome, by reason.
        checked: Comparison with the paper's program, where asked for.
    """

    slice: str
    result: SolveResult | None = None
    error: InputError | SolverError | None = None
    left_out: dict[str, int] = field(default_factory=dict)
    checked: Check | None = None


def folded_answers(asked: Asked, reading: Reading) -> Iterator[Answer]:
    """Fold the file by an online method, each slice by itself.

    Raises:
        InputError: An option of solved methods was given, or the file cannot be folded.
    """
    rules = reading.options.rules
    check_online(asked, reading.bucket_seconds, feature=[feature.text for feature in rules.features] or None)
    folded = fold_slices(reading.file, asked.method, asked.parameters, reading.options, reading.pool, reading.bad_rows)
    for value, one in folded.items():
        yield answer_of(value, one.result, one.kind, one.left_out, rules.slice_by)


def check_online(asked: Asked, bucket_seconds: float | None, **others: object) -> None:
    """Raise `InputError` for an option of solved methods. others: further options by name, None where not given."""
    given: dict[str, object] = {"players": asked.players, "tie-tolerance": asked.tie_tolerance, "intervals": asked.interval_seconds}
    given |= {"check": asked.check or None, "choose-half-life": asked.choose_half_life or None, "bucket-seconds": bucket_seconds, **others}
    if (name := next((name for name, value in given.items() if value is not None), None)) is not None:
        raise InputError(name, given[name], f"must be left out for {asked.method}, an online method: it folds outcomes in their order")


def solved_answers(asked: Asked, reading: Reading) -> Iterator[Answer]:
    """Solve the file by a solved method, each slice by itself. A slice that cannot be solved gives an answer with its error.

    Raises:
        InputError: The file cannot be read, or, without slices, cannot be solved.
        SolverError: Without slices: the method did not reach its accuracy.
    """
    rules, takes = reading.options.rules, methods.find(asked.method).takes
    if rules.features and takes is not Takes.FEATURES:
        rule = f"must be left out for {asked.method}: only contextual_bradley_terry has features"
        raise InputError("feature", [feature.text for feature in rules.features], rule)
    counting = counting_of(asked, reading.bucket_seconds)
    loaded = load_slices(
        reading.file, reading.options, pool=reading.pool, counting=counting, unlisted=reading.unlisted, bad_rows=reading.bad_rows
    )
    yield from answers_of(asked, loaded, rules.slice_by)


def counting_of(asked: Asked, bucket_seconds: float | None) -> Counting:
    """How games are counted for what is asked."""
    return Counting(methods.find(asked.method).takes is Takes.TASK_PAIRS, asked.interval_seconds is not None, bucket_seconds)


def answers_of(asked: Asked, loaded_slices: Mapping[str, Loaded], slice_by: str | None) -> Iterator[Answer]:
    """One answer for each slice. slice_by: column of the slices. Raises as `solved_answers` does."""
    for value, loaded in loaded_slices.items():
        try:
            result, checked = _solved(asked, loaded.problem)
        except (InputError, SolverError) as error:
            if slice_by is None:
                raise
            yield Answer(value, error=error, left_out=loaded.left_out)
            continue
        yield answer_of(value, result, loaded.kind, loaded.left_out, slice_by, checked)


def _solved(asked: Asked, problem: Problem) -> tuple[SolveResult, Check | None]:
    parameters = _with_players(asked, problem)
    choice = chosen_half_life(problem, parameters) if asked.choose_half_life else None
    if choice is not None:
        parameters = {**parameters, "half_life": repr(choice.half_life)}
    result = methods.solve(asked.method, problem, parameters, asked.tie_tolerance, asked.ties)
    if asked.interval_seconds is not None:
        result = add_intervals(asked.method, problem, parameters, result, asked.interval_seconds)
    if choice is not None:
        result = msgspec.structs.replace(result, extra={**result.extra, "half_life": msgspec.to_builtins(choice)})
    return result, compare(asked.method, problem, parameters, result) if asked.check else None


def answer_of(
    value: str, result: SolveResult, kind: FileKind, left_out: dict[str, int], slice_by: str | None, checked: Check | None = None
) -> Answer:
    """The answer for a slice, whose result says what kind of input it is of, which rows were left out, and how it was checked."""
    extra = {
        **result.extra,
        **({"rows_left_out": left_out} if left_out else {}),
        **({} if slice_by is None else {"slice": {"column": slice_by, "value": value}}),
        **({} if checked is None else {"check": msgspec.to_builtins(checked)}),
    }
    return Answer(value, msgspec.structs.replace(result, input=kind.value, extra=extra), left_out=left_out, checked=checked)


def _with_players(asked: Asked, problem: Problem) -> dict[str, str]:
    """`--players` becomes the parameter of methods that have a choice; others solve the game of two: agents, or agents and tasks."""
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
