"""Problems from files, for `equirank solve`.

Games are counted while the file is read, so a file of games may be larger than memory. Tables and ballots are loaded completely.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ratings_core.batch.comparisons import Comparisons
from ratings_core.errors import InputError
from ratings_core.formats import Contest, FileKind, contests_profile, iter_contests, read_margins, read_profile, read_scores
from ratings_core.records.roster import Roster
from ratings_core.solution import Floats
from ratings_core.voting.profile import Unlisted
from services.control.records import FoldSettings
from services.imports.files import Account, FileOptions, OutcomeFile, Row, check_rules, decoded_lines
from services.imports.sources import Source
from services.solve.problems.checkpointed import games_of
from services.solve.problems.history import History
from services.solve.problems.inputs import FeaturesInput, MarginsInput, Problem, ProfileInput, ScoresInput
from services.solve.problems.slices import PartT, Slices
from services.state.dedupe import MAX_CAPACITY, NEW, DedupeWindow
from services.state.tallies import Tallies
from services.wire.columns import GameColumns, ScoreColumns, retracted_hash
from services.wire.events import Event, GameEvent, RetractEvent, ScoreEvent

BadRows: TypeAlias = Literal["refuse", "skip"]
_SHOWN_BAD: Final = 20
"""Largest number of bad rows that an error lists. The error also gives the number of all bad rows."""


class Counting(NamedTuple):
    """How games are counted.

    Attributes:
        per_task: Whether games are also counted separately for each task.
        clustered: Whether complete games are also counted in random groups, for intervals.
        bucket_seconds: Width of a time bucket in seconds; None puts all games into one bucket.
    """

    per_task: bool = False
    clustered: bool = False
    bucket_seconds: float | None = None


COUNTED_ONCE: Final = Counting()


@dataclass(frozen=True, slots=True)
class Loaded:
    """The problem of a file or a slice.

    Attributes:
        kind: Kind of the file.
        problem: The problem.
        left_out: Reason -> number of rows that are not outcomes.
    """

    kind: FileKind
    problem: Problem
    left_out: dict[str, int] = field(default_factory=dict)


def load_slices(
    path: Path,
    options: FileOptions,
    *,
    pool: str | None = None,
    counting: Counting = COUNTED_ONCE,
    unlisted: Unlisted | None = None,
    bad_rows: BadRows = "refuse",
) -> dict[str, Loaded]:
    """Load the problem of a file, or one problem for each value of the column `options.rules.slice_by`. The file is read once.

    Args:
        path: The file. Only files of results or battles can have slices.
        options: How the file is read.
        pool: Pool whose outcomes are read, if a file of outcomes names several pools.
        counting: How games are counted.
        unlisted: Meaning of agents that a ballot does not list. None for the default: `last` for ballots, `unknown` for contests.
        bad_rows: `refuse` a file with bad rows, or `skip` and count them.

    Returns:
        Value of the column -> its problem, in order of the values; the value is empty for a file without slices. `left_out` counts rows
        of the complete file.

    Raises:
        InputError: A row is bad, an option does not fit the kind of the file, or the slice column has more than 1,000 values.
    """
    with Source(path) as source:
        kind = source.kind(options.kind, options.delimiter)
        check_rules(kind, options.rules)
        _check_buckets(kind, counting)
        match kind:
            case FileKind.SCORES:
                table = read_scores(source.reader(), options.delimiter)
                loaded = Loaded(kind, ScoresInput(table.agents, table.tasks, table.scores))
            case FileKind.MARGINS:
                margins = read_margins(source.reader(), options.delimiter)
                loaded = Loaded(kind, MarginsInput(margins.names, margins.margins))
            case FileKind.PROFILE:
                loaded = Loaded(kind, ProfileInput(read_profile(source.reader()), unlisted or "last"))
            case FileKind.CONTESTS:
                loaded = _contests(source, kind, unlisted or "unknown")
            case FileKind.OUTCOMES | FileKind.RESULTS | FileKind.BATTLES | FileKind.PGN:
                return _outcomes(source, kind, options, pool, counting, bad_rows)
        return {"": loaded}


def _check_buckets(kind: FileKind, counting: Counting) -> None:
    """Raise `InputError` if time buckets are given for a file that does not hold games."""
    if counting.bucket_seconds is not None and kind in (FileKind.SCORES, FileKind.MARGINS, FileKind.PROFILE, FileKind.CONTESTS):
        raise InputError("bucket-seconds", counting.bucket_seconds, f"must be left out for {kind}: only games are counted by time")


def _contests(source: Source, kind: FileKind, unlisted: Unlisted) -> Loaded:
    rows = list(iter_contests(source.reader()))
    profile = contests_profile(row for row in rows if isinstance(row, Contest))
    return Loaded(kind, ProfileInput(profile, unlisted), dict(Counter(row.why for row in rows if not isinstance(row, Contest))))


def _outcomes(
    source: Source, kind: FileKind, options: FileOptions, pool: str | None, counting: Counting, bad_rows: BadRows
) -> dict[str, Loaded]:
    named = named_pool(source, pool) if kind is FileKind.OUTCOMES else OFFLINE
    slices = Slices(lambda: _collector(named.retractions, options, counting))
    if options.rules.slice_by is None:
        slices.part("")  # for a file without outcomes too: its error then states what the file must hold
    left_out = read_rows(source, replace(options, kind=kind), named, bad_rows, slices, lambda part, rows: part.add_rows(rows))
    return {value: Loaded(kind, collector.problem(), left_out) for value, collector in slices.sorted()}


def read_rows(
    source: Source, options: FileOptions, named: "NamedPool", bad_rows: BadRows, slices: Slices[PartT],
    add: Callable[[PartT, Sequence[Row]], None],
) -> dict[str, int]:  # fmt: skip
    """Add the outcomes of a file to their slices, in order.

    Args:
        source: The file.
        options: How the file is read; `kind` must be set.
        named: The pool whose outcomes are read.
        bad_rows: `refuse` a file with bad rows, or `skip` and count them.
        slices: The parts of the slices. A new value of the slice column makes a new part.
        add: Adds rows to a part.

    Returns:
        Reason -> number of rows that are not outcomes.

    Raises:
        InputError: A row is bad, or there are too many slices.
    """
    account = Account()
    file = OutcomeFile(source, named.pool, now=0.0, options=options, one_pool=False)
    for batch in file.batches(account):
        for part, rows in slices.parts(batch):
            add(part, rows)
    _judge_bad_rows(source.path, file.kind, account, bad_rows)
    return dict(account.skipped)


def _judge_bad_rows(path: Path, kind: FileKind, account: Account, bad_rows: BadRows) -> None:
    """Raise `InputError` for a file with bad rows, with the first 20 of them; or, with `skip`, count them as left out."""
    total = account.refused.total()
    if not total:
        return
    if bad_rows == "skip":
        account.skipped["bad rows"] += total
        return
    place = "line" if kind is FileKind.OUTCOMES else "row"
    lines = [f"{place} {one.line}: {one.path} {one.rule}" for one in account.first[:_SHOWN_BAD]]
    found = "1 bad row" if total == 1 else f"{total} bad rows"
    raise InputError(path.name, found, f"must have only valid rows (--bad-rows skip leaves out the others): {'; '.join(lines)}")


class Counted:
    """Tallies of outcomes, counted as a fold does: once for each id, without retracted outcomes.

    A game counts in the time bucket of its `time`, independent of the order of rows. Memory grows with agents, pairs and tasks, and by
    28 bytes for the id of each outcome.

    Args:
        retractions: All retractions of the file.
        counting: How games are counted.
    """

    def __init__(self, retractions: Sequence[RetractEvent], counting: Counting = COUNTED_ONCE) -> None:
        self._retracted = _keys(retracted_hash(retractions))
        self._seen = DedupeWindow(MAX_CAPACITY)
        self._agents, self._tasks = Roster(), Roster()
        self._tallies = Tallies(FoldSettings(per_task=counting.per_task, clustered=counting.clustered))
        self._bucket_seconds = counting.bucket_seconds
        self._games = self._measured = 0

    def add(self, events: Sequence[Event]) -> None:
        """Count outcomes, in order."""
        games = [event for event in events if isinstance(event, GameEvent)]
        scores = [event for event in events if isinstance(event, ScoreEvent)]
        if games:
            self.add_columns((columns := GameColumns.of(games)).take(self._counts(columns)))
        if scores:
            self.add_columns((measured := ScoreColumns.of(scores)).take(self._counts(measured)))

    def add_columns(self, columns: GameColumns | ScoreColumns) -> None:
        """Count outcomes without duplicates and retracted outcomes: the caller has removed these."""
        agents, tasks = self._agents.intern_coded(columns.names), self._tasks.intern_packed(columns.tasks)
        if isinstance(columns, GameColumns):
            self._games += len(columns)
            self._tallies.add_games(columns.batch(agents, tasks), self._buckets(columns.time), columns.meta)
        else:
            self._measured += len(columns)
            self._tallies.add_scores(columns.batch(agents, tasks), np.zeros(len(columns), np.int64))

    def add_rows(self, rows: Sequence[Row]) -> None:
        """Count the outcomes of rows, in order."""
        self.add([row.event for row in rows])

    def problem(self) -> Problem:
        """The problem of the counted outcomes. Raises `InputError` if there are none, or if there are both games and scores."""
        if bool(self._games) == bool(self._measured):
            raise InputError("file", self._games + self._measured, "must contain outcomes of one kind, with sides or with scores")
        agents, tasks, tallies = tuple(self._agents.names()), tuple(self._tasks.names()), self._tallies
        if self._games:
            return games_of(agents, History(tasks, tallies.pairs, tallies.places, tallies.clusters))
        return ScoresInput(agents, tasks, tallies.scores.means(len(agents), len(tasks)))

    def _buckets(self, times: Floats) -> NDArray[np.int64]:
        """The time bucket of each game."""
        return np.floor(times / self._bucket_seconds).astype(np.int64) if self._bucket_seconds else np.zeros(len(times), np.int64)

    def _counts(self, columns: GameColumns | ScoreColumns) -> NDArray[np.bool_]:
        """Mask of the outcomes that count: the first outcome of each id, unless it is retracted."""
        first = self._seen.admit(columns.id_hash, columns.body_hash) == NEW
        return np.asarray(first & ~np.isin(_keys(columns.id_hash), self._retracted))


def _collector(retractions: Sequence[RetractEvent], options: FileOptions, counting: Counting) -> "Counted | FeatureRows":
    """The collector of a slice's rows: tallies, or a list of games if the options name features."""
    if options.rules.features:
        return FeatureRows([feature.text for feature in options.rules.features])
    return Counted(retractions, counting)


def _keys(hashes: NDArray[np.uint64]) -> NDArray[np.void]:
    return np.ascontiguousarray(hashes).view(np.dtype((np.void, 16))).ravel()


@dataclass(frozen=True, slots=True)
class NamedPool:
    """The pool whose outcomes are counted, and its retractions."""

    pool: str
    retractions: list[RetractEvent]


OFFLINE: Final = NamedPool("offline", [])
"""The pool of files whose rows name no pool."""


def named_pool(source: Source, pool: str | None) -> NamedPool:
    """`pool`, or the only pool that the file names, with its retractions. Raises `InputError` with the names of the file's pools.

    A file whose rows are all bad names no pool, and is not refused here: the reading of its rows reports what they break.
    """
    named: set[str] = set()
    retractions: list[RetractEvent] = []
    for event in decoded_lines(source):
        named.add(event.pool)
        if isinstance(event, RetractEvent):
            retractions.append(event)
    if pool is None and len(named) == 1:
        pool = next(iter(named))
    if named and pool not in named:
        raise InputError("pool", pool, f"must be one of the file's pools: {', '.join(sorted(named))}")
    return NamedPool(pool or OFFLINE.pool, [event for event in retractions if event.pool == pool])


class FeatureRows:
    """Rows of results or battles as games with features. A game takes 40 bytes of memory, and 8 bytes for each feature.

    Args:
        names: Names of the features.
    """

    def __init__(self, names: Sequence[str]) -> None:
        if len(set(names)) != len(names):
            raise InputError("feature", list(names), "must name each feature once")
        self._names = tuple(names)
        self._agents = Roster()
        self._columns: list[np.ndarray] = []
        self._features: list[np.ndarray] = []

    def add_rows(self, rows: Sequence[Row]) -> None:
        """Add rows, in order."""
        games = [(row.event, row.extras.features) for row in rows if isinstance(row.event, GameEvent)]
        sides = [(game.sides[0], game.sides[1], game.weight) for game, _ in games]
        names = [name for first, second, _ in sides for name in (first.agents[0], second.agents[0])]
        ids = np.asarray(self._agents.intern(names), np.float64).reshape(-1, 2)
        result = [0.5 + 0.5 * ((first.place < second.place) - (first.place > second.place)) for first, second, _ in sides]
        self._columns.append(np.column_stack([ids, result, [weight for *_, weight in sides]]))
        self._features.append(np.array([values for _, values in games], np.float64).reshape(-1, len(self._names)))

    def problem(self) -> FeaturesInput:
        """The problem of all rows so far. Raises `InputError` if there is no game."""
        table = np.concatenate([np.zeros((0, 4)), *self._columns])
        if not len(table):
            raise InputError("file", 0, "must contain at least one game that the options do not exclude")
        first, second = (np.ascontiguousarray(table[:, side]).astype(np.int64) for side in (0, 1))
        names = tuple(self._agents.names())
        games = Comparisons(len(names), first, second, table[:, 2].copy(), np.arange(len(table)), table[:, 3].copy())
        return FeaturesInput(names, games, np.concatenate(self._features), self._names)
