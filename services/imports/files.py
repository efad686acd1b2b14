"""Files of outcomes as events of the wire schema, which `equirank replay` sends and `equirank solve` counts.

The id of an outcome is a hash of the file's kind, the complete row, and the number of equal rows before it, because real tables hold
equal rows. The same file therefore always gives the same ids, and its rows have different ids. Files are read row by row. Memory grows
only with the counts of rows (`services.imports.row_counter`) and, for score tables, with the names of tasks.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec

from ratings_core.errors import InputError
from ratings_core.formats import (
    Battle,
    ChessGame,
    Contest,
    FileKind,
    FormatError,
    Result,
    ResultColumns,
    RowRules,
    Skipped,
    TaskScores,
    iter_battles,
    iter_contests,
    iter_games,
    iter_results,
    iter_scores,
)
from ratings_core.formats.features import Feature
from ratings_core.formats.parquet import MAGIC
from ratings_core.formats.results import NO_RESULT, Unplayed
from ratings_core.formats.rows import NO_EXTRAS, Extras
from ratings_core.formats.rows import PLAIN as PLAIN_ROWS
from ratings_core.formats.stream import head, text_lines
from services.imports.exported import csv_texts, is_exported_csv, outcome_texts
from services.imports.row_counter import RowCounter, key_of
from services.imports.sources import Source
from services.wire import events
from services.wire.events import Event, GameEvent, Reason, ScoreEvent, Side
from services.wire.new_names import hidden_names
from services.wire.pools import Kind

_ID_BYTES: Final = 16
_BATCH: Final = 5_000
_VALUE_CHARACTERS: Final = 40
_SHOWN: Final = 100
"""Number of refused rows that are kept with their broken rule. All refused rows are counted."""
_OF_ANOTHER: Final = "of another pool"
_FOREVER: Final = float("inf")
_quoted: Final = json.encoder.encode_basestring_ascii


class Row(NamedTuple):
    """An outcome from a file.

    Attributes:
        line: Line of the file, or number of the item.
        event: The outcome.
        extras: Values from further columns: slice and features.
    """

    line: int
    event: Event
    extras: Extras = NO_EXTRAS


@dataclass(frozen=True, slots=True)
class FileOptions:
    """How a file is read.

    Attributes:
        kind: Kind of the file; None to guess it.
        unplayed: `skip` leaves out games without a result, `refuse` refuses the file.
        columns: Columns of a file of results; None for the usual names.
        delimiter: Separator of a table's cells.
        time: Time of all outcomes in seconds since 1970, instead of the times of rows; None for the times of rows.
        rules: How single rows of results and battles are read.
    """

    kind: FileKind | None = None
    unplayed: Unplayed = "skip"
    columns: ResultColumns | None = None
    delimiter: str = ","
    time: float | None = None
    rules: RowRules = PLAIN_ROWS


@dataclass(frozen=True, slots=True)
class Refused:
    """A row that was refused because it broke a rule. line: Line of the file, from 1. path, rule: as in `events.Refusal`."""

    line: int
    reason: Reason
    path: str
    rule: str


@dataclass(slots=True)
class Account:
    """Counts of the rows in one reading of a file.

    Attributes:
        rows: Number of data rows.
        skipped: Reason -> number of rows left out.
        refused: Reason -> number of rows that broke a rule.
        first: The first hundred refused rows.
        kinds: Kinds of pools that the outcomes belong to.
    """

    rows: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    refused: Counter[Reason] = field(default_factory=Counter)
    first: list[Refused] = field(default_factory=list)
    kinds: set[Kind] = field(default_factory=set)

    def refuse(self, refused: Iterable[Refused]) -> None:
        """Count rows that broke a rule."""
        for one in refused:
            self.refused[one.reason] += 1
            if len(self.first) < _SHOWN:
                self.first.append(one)

    @property
    def pool_kind(self) -> Kind | None:
        """Kind of pool of the outcomes; None if all are retractions. Raises `InputError` if there are both games and scores."""
        if len(self.kinds) > 1:
            raise InputError("file", sorted(self.kinds), "must hold outcomes of one kind, with sides or with scores")
        return next(iter(self.kinds), None)


def check_rules(kind: FileKind, rules: RowRules) -> None:
    """Raise `InputError` for rules of rows that do not apply to files of this kind."""
    if kind in (FileKind.RESULTS, FileKind.BATTLES):
        return
    asked = {"trim": rules.trim, "where": rules.where, "slice-by": rules.slice_by, "feature": rules.features, "column": rules.task}
    if (name := next((name for name, value in asked.items() if value), None)) is not None:
        hint = " (of a pool: `equirank solve --pool POOL`)" if kind is FileKind.OUTCOMES and name in ("where", "slice-by") else ""
        raise InputError(name, asked[name], f"must be left out for {kind}: only rows of results and battles have columns{hint}")


class OutcomeFile:
    """The outcomes in a file, for one pool.

    Args:
        source: The file.
        pool: Name of the pool.
        now: Time of outcomes that have no time, in seconds since 1970.
        options: How the file is read; None for the defaults.
        one_pool: Whether outcomes of other pools are refused; otherwise they are left out.

    Raises:
        InputError: The kind of the file cannot be guessed, or it holds no outcomes.
    """

    def __init__(self, source: Source, pool: str, *, now: float, options: FileOptions | None = None, one_pool: bool = True) -> None:
        self._source, self._now, self._options, self._one_pool = source, now, options or FileOptions(), one_pool
        self.pool, self.kind = pool, source.kind(self._options.kind, self._options.delimiter)
        if self.kind in (FileKind.MARGINS, FileKind.PROFILE):
            raise InputError("file", str(source.path), f"must hold outcomes; {self.kind} are solved offline (equirank solve)")

    def batches(self, account: Account) -> Iterator[list[Row]]:
        """Yield all outcomes in the order of the file, a few thousand at a time, and count rows in `account`.

        Each call reads the file from its beginning, and the same file gives the same outcomes. Outcomes of the wire schema that break a
        rule are refused one by one.
        Raises `InputError` (or its subclass `FormatError`) if the file is not of its kind.
        """
        rows = self._rows(account)
        while batch := list(islice(rows, _BATCH)):
            account.kinds.update(event.kind for _, event, _ in batch if event.kind is not None)
            yield batch

    def accepted(self, account: Account) -> Iterator[list[Event]]:
        """As `batches`, but only outcomes that readers of the log accept, as their decoder decides, and only with visible names."""
        for batch in self.batches(account):
            found = events.decode([events.encode([row.event]) for row in batch])
            hidden = {found.record[number]: broken for number, broken in hidden_names(found.events).items()}
            refused = [Refused(batch[one.record].line, one.reason, one.path, one.rule) for one in found.refusals]
            refused += [Refused(batch[record].line, Reason.BAD_FIELD, *broken) for record, broken in hidden.items()]
            account.refuse(sorted(refused, key=lambda one: one.line))
            yield [event for record, event in zip(found.record, found.events, strict=True) if record not in hidden]

    def _rows(self, account: Account) -> Iterator[Row]:
        build = _Builder(self.kind, self.pool, self._now, self._options.time)
        if self.kind is FileKind.OUTCOMES:
            yield from _outcomes(self._source, build, account, one_pool=self._one_pool)
            return
        rows, make = _reading(self._source, self.kind, self._options, build)
        for one in rows:
            row = one if isinstance(one, Skipped | FormatError) else make(one)
            account.rows += 1
            if isinstance(row, Skipped):
                account.skipped[row.why] += 1
            elif isinstance(row, FormatError):
                account.refuse([Refused(row.row, Reason.BAD_FIELD, _place(row), row.rule)])
            else:
                yield _with_meta(row, self._options.rules.features) if self._options.rules.features else row


def _with_meta(row: Row, features: Sequence[Feature]) -> Row:
    """The row with its features in the event's `meta`, by their texts. `first-side` is left out, because every game has it."""
    values = {feature.text: value for feature, value in zip(features, row.extras.features, strict=True) if feature.columns}
    if not values:
        return row
    return row._replace(event=msgspec.structs.replace(row.event, meta=msgspec.Raw(msgspec.json.encode(values))))


class _Builder:
    """Makes the events of one file.

    An id follows from the row and the number of equal rows before it. A time is that of the options, of the row, or `now`, in this order.
    """

    def __init__(self, kind: FileKind, pool: str, now: float, time: float | None) -> None:
        self.kind, self.pool = kind, pool
        self._now, self._time = now, time
        self._seen = RowCounter()

    def id(self, row: str) -> str:
        """An id of 128 bits as hexadecimal digits. Each repeat of the same row gets another id."""
        return self.ids(row)()

    def ids(self, row: str) -> Callable[[], str]:
        """A function that returns the next id of a row at each call. The row is hashed only once."""
        seen, key = self._seen, key_of(row)
        begun = hashlib.blake2b(f'["{self.kind}", {_quoted(row)}, '.encode(), digest_size=_ID_BYTES)  # as json.dumps writes it

        def next_id() -> str:
            whole = begun.copy()
            whole.update(b"%d]" % seen.number_of(key))
            return whole.hexdigest()

        return next_id

    def time(self, of_row: float | None) -> float:
        if self._time is not None:
            return self._time
        return self._now if of_row is None else of_row

    def game(
        self, row: str, agents: Sequence[str], places: Sequence[int], time: float | None, weight: float = 1.0, task: str | None = None
    ) -> GameEvent:
        sides = [Side([agent], place) for agent, place in zip(agents, places, strict=True)]
        return GameEvent(v=1, id=self.id(row), pool=self.pool, time=self.time(time), sides=sides, weight=weight, task=task)

    def scores(self, row: str, task: str, scores: dict[str, float]) -> ScoreEvent:
        return ScoreEvent(v=1, id=self.id(row), pool=self.pool, time=self.time(None), task=task, scores=scores)


def _place(error: FormatError) -> str:
    """Column and value of a bad row."""
    value = str(error.value)[:_VALUE_CHARACTERS]
    return f"{value!r}" if error.column is None else f"{error.column} {value!r}"


def _reading(source: Source, kind: FileKind, options: FileOptions, build: _Builder) -> tuple[Iterator[Any], Callable[[Any], Row | Skipped]]:
    """The rows of a file, and a function that makes an outcome from each valid row."""
    reader = source.reader()
    match kind:
        case FileKind.RESULTS:
            return iter_results(reader, options.columns, options.unplayed, options.delimiter, options.rules), partial(_of_result, build)
        case FileKind.BATTLES:
            return iter_battles(reader, options.delimiter, options.rules), partial(_of_battle, build)
        case FileKind.PGN:
            return iter_games(reader, options.unplayed), partial(_of_game, build)
        case FileKind.CONTESTS:
            return iter_contests(reader), partial(_of_contest, build)
        case _:
            return iter_scores(reader, options.delimiter), partial(_of_task, build)


def _of_result(build: _Builder, game: Result) -> Row:
    row = f"[{', '.join(map(_quoted, game.cells))}]"
    return Row(game.line, build.game(row, (game.first, game.second), game.places, game.time, task=game.task), game.extras)


def _of_battle(build: _Builder, battle: Battle) -> Row:
    event = build.game(battle.content, (battle.model_a, battle.model_b), battle.places, battle.time, task=battle.task)
    return Row(battle.row, event, battle.extras)


def _of_game(build: _Builder, game: ChessGame) -> Row:
    return Row(game.line, build.game(game.content, (game.white, game.black), game.places, game.time))


def _of_contest(build: _Builder, one: Contest) -> Row:
    return Row(one.row, build.game(one.content, one.handles, one.places, one.time, one.weight))


def _of_task(build: _Builder, row: TaskScores) -> Row | Skipped:
    if not row.scores:
        return Skipped(row.line, NO_RESULT)
    return Row(row.line, build.scores(json.dumps([row.task, row.scores]), row.task, row.scores))


def _outcomes(source: Source, build: _Builder, account: Account, *, one_pool: bool) -> Iterator[Row]:
    """The outcomes of JSON texts, each of which is an outcome or an array. Outcomes without an id or a time get one."""
    for line, content in _outcome_texts(source):
        found = events.decode_request(content.encode(), now=build.time(None), new_id=_ids_of(content, build), future_seconds=_FOREVER)
        account.rows += len(found.events) + len(found.refusals)
        account.refuse(Refused(line, one.reason, one.path, one.rule) for one in found.refusals)
        for event in found.events:
            if event.pool == build.pool:
                yield Row(line, event)
            elif not one_pool:
                account.skipped[_OF_ANOTHER] += 1
            else:
                account.refuse([Refused(line, Reason.MIXED_POOLS, "$.pool", f"must be the pool asked for ({build.pool})")])


def _outcome_texts(source: Source) -> Iterator[tuple[int, str]]:
    """Line and text of each line of JSON or row of an exported CSV file, or number and text of each row of an exported Parquet file."""
    stream = source.reader()
    if head(stream).startswith(MAGIC):
        return outcome_texts(stream)
    if is_exported_csv(head(stream)):
        return csv_texts(stream)
    return ((line, content) for line, content in text_lines(stream) if content.strip())


def _ids_of(content: str, build: _Builder) -> Callable[[], str]:
    """A function that returns ids for the items of a line that have none. The line is hashed at the first call only."""
    ids = cache(partial(build.ids, content))

    def new_id() -> str:
        return ids()()

    return new_id


def decoded_lines(source: Source) -> Iterator[Event]:
    """The outcomes of all pools in a file of outcomes, in order, without those that break a rule; `OutcomeFile` reports these."""
    for _, content in _outcome_texts(source):
        yield from events.decode_request(content.encode(), now=0.0, new_id=lambda: "-", future_seconds=_FOREVER).events
