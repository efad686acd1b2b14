"""`rate`: ratings of agents by any method, from games in any form. `predict`: the expected score of one agent against another one."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any, Final

import numpy as np

from ratings_core import checks
from ratings_core.columns import Games
from ratings_core.errors import InputError
from ratings_core.formats.features import Feature
from ratings_core.formats.kinds import FileKind
from ratings_core.formats.options import PLAIN, ReadOptions
from ratings_core.formats.parts import FilePart, RowCounts
from ratings_core.formats.roles import Roles
from ratings_core.front.counted import Counted, CountedFeatures, Counting, batch_of
from ratings_core.front.raters import rater_of
from ratings_core.front.rating import Rating
from ratings_core.front.remarks import few_games_lead
from ratings_core.front.solved import solved
from ratings_core.front.sources import ONE_ANSWER, in_python, part_of, part_of_file, rules_in_python
from ratings_core.methods.method import Takes
from ratings_core.methods.registry import METHODS, find
from ratings_core.methods.separate import separate_groups
from ratings_core.online import RATERS, Prequential
from ratings_core.options import Value
from ratings_core.problems.inputs import MarginsInput, Problem, ProfileInput, ScoresInput
from ratings_core.ranking import Ranking
from ratings_core.records.roster import Roster
from ratings_core.tallies import PairTally

_ARGUMENTS: Final = ("columns", "features", "reading", "bucket_seconds", "intervals", "interval_seconds", "sort")
_KINDS: Final[Mapping[type, str]] = {ScoresInput: "scores", MarginsInput: "margins", ProfileInput: "ballots"}
INTERVAL_SECONDS: Final = 60.0
"""Default time limit of draws or refits for intervals, in seconds."""
NO_HALF_LIFE: Final = "must be left out without half_life, the number of time buckets after which a result has half its weight"


def rate(
    games: Any,
    method: str = "bradley_terry",
    *,
    columns: Mapping[str, str] | None = None,
    features: Sequence[str] = (),
    reading: ReadOptions = PLAIN,
    bucket_seconds: float | None = None,
    intervals: bool = False,
    interval_seconds: float = INTERVAL_SECONDS,
    sort: bool = False,
    **options: Value,
) -> Rating:
    """Rate the agents of games by a method.

    Args:
        games: A data frame or a table that exports Arrow data (pandas, polars, pyarrow, DuckDB); a mapping from names to columns; the path
            of a file, as `equirank solve` reads it; tuples, or rows of an array, (winner, loser) or (a, b, result), where the result of a
            is 1, 1/2 or 0; or `Games` or `TaskScores`. An agent is a text or an integer: 0 is the agent "0", so 0 and "0" are one agent.
            In a tuple, a bool or a float is no agent. The cells of a table are texts, as in a CSV file: 0 and 0.0 are "0" there.
        method: Name of a solved method (`METHODS`) or of an online method (`RATERS`), which folds the games in their order. A remark below
            the printed result says if that is not the order of their times.
        columns: Role -> column, for columns of a table without a usual header: first, second, winner, loser, result, time and others
            (`Roles`).
        features: Covariates for `contextual_bradley_terry`, first side minus second: ``COLUMN``, ``A:B`` or ``A~B`` (`Feature`).
        reading: Further options for reading a table or a file.
        bucket_seconds: Width of the time buckets in seconds, in which the option `half_life` of solved methods counts; None for no
            buckets. It is refused without `half_life`, because it would have no effect.
        intervals: Whether ratings and ranks get 95 % intervals: normal ones of `bradley_terry` and `davidson` for up to 1,000 agents and
            of `contextual_bradley_terry`, from draws of the margins for methods on posterior margins with up to 500 agents, and from refits
            to resampled data otherwise. `Rating.extra["intervals"]` says which. Online methods have none.
        interval_seconds: Time limit of draws or refits in seconds.
        sort: Whether an online method takes games in the order of their times, instead of that of the rows. Answers of solved methods do
            not depend on the order.
        options: Options of the method by name.

    Raises:
        InputError: The method or an option is unknown, a value breaks a rule, an argument would have no effect, or the method does not
            apply to the games.
        SolverError: The method did not reach its accuracy.
    """
    checked_method(method)
    _check_names(options)
    seconds = seconds_of(intervals, interval_seconds)
    source = sorted_if(sort, read(games, with_columns(reading, columns, features)))
    return source.rated(method, options, bucket_seconds, seconds)


def _check_names(options: Mapping[str, Value]) -> None:
    """Raise `InputError` for an option whose name is almost that of an argument of `rate`, such as `interval`."""
    from difflib import get_close_matches  # noqa: PLC0415 - as in `checks.similar`, but only for names that are almost equal

    for name, value in options.items():
        if name not in _ARGUMENTS and (near := get_close_matches(name, _ARGUMENTS, 1, 0.85)):
            raise InputError(name, value, f"must be an option of the method, or an argument of rate such as {near[0]}")


def seconds_of(intervals: object, interval_seconds: float) -> float | None:
    """Time limit of draws or refits; None for no intervals. Raises `InputError`, also for a time limit without intervals."""
    if not isinstance(intervals, bool | np.bool_):
        rule = "must be True or False: intervals hold with 95 %, and another level cannot be chosen"
        raise InputError("intervals", intervals, f"{rule}; interval_seconds=S is the time limit of draws or refits in seconds")
    seconds = checks.number("interval_seconds", interval_seconds, above=0.0)
    if not intervals and seconds != INTERVAL_SECONDS:
        raise InputError("interval_seconds", interval_seconds, "must be left out without intervals=True, because it is their time limit")
    return seconds if intervals else None


def predict(games: Any, first: str | int, second: str | int, method: str = "bradley_terry", **options: Any) -> float:
    """Expected score of one agent against another one, from 0 to 1, by a method on these games; a tie counts 1/2.

    Args:
        games: Games in one of the forms that `rate` takes.
        first: The agent whose score is expected.
        second: Its opponent.
        method: Method that predicts results.
        options: As in `rate`.

    Raises:
        InputError: As `rate` and `Rating.predict`.
        SolverError: The method did not reach its accuracy.
    """
    return rate(games, method, **options).predict(first, second)


def checked_method(method: str) -> str:
    """The name of a method. Raises `InputError`, with the most similar names, for an unknown one."""
    known = [*METHODS, *RATERS]
    if method not in known:
        raise InputError("method", method, f"must be one of {', '.join(known)}{checks.similar(method, known)}")
    return method


def with_columns(reading: ReadOptions, columns: Mapping[str, str] | None, features: Sequence[str]) -> ReadOptions:
    """Reading options with named columns and features. Raises `InputError` for an unknown role."""
    if isinstance(features, str):
        raise InputError("features", features, "must be a sequence of features, not one text")
    named = reading if not features else replace(reading, features=tuple(Feature.parsed(text) for text in features))
    if not columns:
        return named
    known = [one.name for one in fields(Roles)]
    for role in columns:
        if role not in known:
            raise InputError("columns", role, f"must be one of the roles {', '.join(known)}{checks.similar(role, known)}")
    return replace(named, roles=Roles(**columns))


def read(source: Any, reading: ReadOptions = PLAIN) -> "Read":
    """Read a source once, for one or more methods. See `rate` for its forms. Raises `InputError`."""
    if isinstance(source, str | PathLike):
        from ratings_core.formats.reading import FileReading  # noqa: PLC0415 - loads Arrow, which tuples do not need
        from ratings_core.formats.source import FileSource  # noqa: PLC0415 - as above
        from ratings_core.front.load import load  # noqa: PLC0415 - as above

        with FileSource(Path(source)) as file:
            with rules_in_python():
                opened = FileReading(file, reading)
            if opened.kind is FileKind.OUTCOMES:
                raise InputError("games", str(source), "must be no file of outcomes of the wire schema: `equirank solve` reads these")
            if opened.kind not in (FileKind.GAMES, FileKind.PGN):
                with rules_in_python():
                    loaded = load(opened)[""]
                return Read(None, loaded.problem, reading, loaded.left_out)
            return Read(part_of_file(opened), None, reading, opened.counts.left_out, opened.counts.remarks)
    counts = RowCounts()
    return Read(part_of(source, reading, counts), None, reading, counts.left_out, counts.remarks)


def sorted_if(sort: object, source: "Read") -> "Read":
    """The source, with games in the order of their times if that is wanted. Raises `InputError` as `Read.sorted_by_time`."""
    return source.sorted_by_time() if checks.switch("sort", sort) else source


@dataclass(frozen=True, slots=True)
class Read:
    """A source that was read: a part with outcomes, or a problem without single outcomes.

    Attributes:
        part: The outcomes; None for files of ballots, margins and scores.
        problem: The problem of such a file; None otherwise.
        reading: How it was read.
        left_out: Reason -> number of rows that are not outcomes.
        remarks: Column -> how it was used, where that differs from what its header says.
    """

    part: FilePart | None
    problem: Problem | None
    reading: ReadOptions
    left_out: Mapping[str, int]
    remarks: Mapping[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """What it holds, in a word for errors."""
        if self.part is not None:
            return "games" if isinstance(self.part.columns, Games) else "scores"
        return _KINDS.get(type(self.problem), "games")

    def sorted_by_time(self) -> "Read":
        """The same with games in the order of their times. Raises `InputError` if not every row has a time, or if there are no games."""
        from ratings_core.formats.reading import in_order_of_time  # noqa: PLC0415 - loads Arrow, which tuples do not need

        if self.part is None:
            raise InputError("sort", True, "must be left out: only games have an order")
        return replace(self, part=in_order_of_time([self.part])[0]) if len(self.part) else self

    def rated(
        self, method: str, options: Mapping[str, Value], bucket_seconds: float | None = None, interval_seconds: float | None = None
    ) -> Rating:
        """Rate by a method. Arguments and errors as of `rate`; interval_seconds: None for no intervals."""
        if "slice_by" in options:
            raise InputError("slice_by", options["slice_by"], ONE_ANSWER)
        check_buckets(method, options, bucket_seconds)
        if method in RATERS:
            rating, uncounted = _folded(self, method, options, interval_seconds), dict[str, int]()
        else:
            problem, uncounted = self.problem_of(method, bucket_seconds, clustered=interval_seconds is not None)
            rating = solved(method, problem, options, interval_seconds)
        of_rows: dict[str, object] = {"left_out": {**self.left_out, **uncounted}, "notes": [*self.notes(method), *self._few(rating)]}
        return replace(rating, extra={**rating.extra, **{name: value for name, value in of_rows.items() if value}})

    def _few(self, rating: Rating) -> list[str]:
        """What a user should know about a leader of few games."""
        if self.part is None or not isinstance(self.part.columns, Games):
            return []
        return few_games_lead(rating.names, rating.ratings, rating.ranking.rank, rating.games, by_age="recency" in rating.extra)

    def notes(self, method: str) -> list[str]:
        """What a user should know about how the rows were used."""
        notes = [f"column {column}: {in_python(use)}" for column, use in self.remarks.items()]
        if method not in RATERS or self.part is None or self.part.timed is None or not self.part.timed.any():
            return notes
        from ratings_core.formats.reading import order_note  # noqa: PLC0415 - loads Arrow, which tuples do not need

        return notes + ([note] if (note := order_note(self.part, "sort=True")) else [])

    def games(self, method: str) -> Games:
        """The single games, for an online method. Raises `InputError` if there are none."""
        if self.part is None or not isinstance(self.part.columns, Games):
            raise InputError("games", self.kind, f"must be games for {method}: online methods rate games, not scores, margins or ballots")
        if self.part.features is not None:
            raise InputError("features", [one.text for one in self.reading.features], f"must be left out for {method}, an online method")
        return self.part.columns

    def _check_features(self, method: str) -> None:
        if find(method).takes is not Takes.FEATURES:
            rule = f"must be left out for {method}, which does not use them; contextual_bradley_terry does"
            raise InputError("features", [one.text for one in self.reading.features], rule)

    def problem_of(self, method: str, bucket_seconds: float | None, *, clustered: bool) -> tuple[Problem, dict[str, int]]:
        """The problem that a solved method takes, and reason -> number of games that it does not count."""
        if bucket_seconds is not None and (self.part is None or self.part.features is not None):
            raise InputError("bucket_seconds", bucket_seconds, "must be left out: only games without features are counted by time")
        if self.part is None and self.problem is not None:
            return self.problem, {}
        part = self.part
        if part is None:
            raise InputError("games", None, "must be games")
        if part.features is not None:
            self._check_features(method)
            featured = CountedFeatures([feature.text for feature in self.reading.features])
            featured.add_part(part)
            return featured.problem(), {}
        if bucket_seconds is not None and not (part.timed is not None and part.timed.all()):
            raise InputError("bucket_seconds", bucket_seconds, "must be left out: not every row has a time")
        counted = Counted(Counting(find(method).takes is Takes.TASK_PAIRS, clustered, bucket_seconds))
        counted.add(part.columns)
        return counted.problem(), counted.left_out


def check_buckets(method: str, options: Mapping[str, Value], bucket_seconds: float | None) -> None:
    """Raise `InputError` for time buckets that nothing counts in."""
    if bucket_seconds is None:
        return
    if method in RATERS:
        rule = f"must be left out for {method}: half_life counts in time buckets, and only solved methods, such as bradley_terry, have it"
        raise InputError("bucket_seconds", bucket_seconds, rule)
    if "half_life" not in options:
        raise InputError("bucket_seconds", bucket_seconds, NO_HALF_LIFE)


def _folded(source: Read, method: str, options: Mapping[str, Value], interval_seconds: float | None) -> Rating:
    if interval_seconds is not None:
        raise InputError("intervals", True, f"must be False for {method}: online methods fold games once, in their order")
    begun, games = time.perf_counter(), source.games(method)
    rater = rater_of(method, options)
    if not len(games):
        raise InputError("games", 0, "must contain at least one game")
    agents, tasks = Roster(), Roster()
    state = rater.init(0)
    score = Prequential()
    batch, met = batch_of(games, agents, tasks), PairTally()
    rater.fold(state, batch, score)
    met.add(batch, np.zeros(len(batch), np.int64))
    names = agents.names()
    order = sorted(range(len(names)), key=names.__getitem__)
    shown = rater.read(state, np.array(order, np.int32))
    return Rating(
        method=method,
        names=tuple(names[i] for i in order),
        ratings=shown.rating,
        ranking=Ranking.from_scores(shown.rating),
        games=shown.outcomes.astype(np.float64),
        certificate=None,
        status="folded",
        seconds=time.perf_counter() - begun,
        extra={"forecasts": score.figures(), **separate_groups(met.counts(), len(names))},
        expects=lambda first, second: score.forecast(rater.log_odds(state, order[first], order[second])),
    )
