"""Rate slices of a pool offline: `equirank solve --pool`, from the archive up to its end, then from the topic.

The settings of the serving generation apply to the pool before it is divided into slices: its start, aliases, bans, erased names and
dedupe window. So a repeated id counts once in the pool, not once in each slice. All retractions in the log are applied, also those above
the generation's retraction horizon. Limits on the number of agents and tasks do not apply.
"""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from ratings_core.columns.outcomes import Games, TaskScores
from ratings_core.errors import InputError
from ratings_core.formats.kinds import FileKind
from ratings_core.formats.options import NOT_CHOSEN
from ratings_core.front.counted import Counted
from ratings_core.front.load import Loaded
from ratings_core.front.slices import Slices
from ratings_core.online import RATERS
from ratings_core.records.roster import Roster
from ratings_core.records.tags import tag_of, tags_of
from services.admin.export import Wanted, tables
from services.admin.pool_range import PoolRange
from services.control.generations import erasing, make_raters
from services.control.records import ControlState, Generation, PoolCreated
from services.log.partition import partition_of
from services.log.protocol import Log
from services.solve.file_solve import Answer, Asked, answer_of, answers_of, check_online, counting_of
from services.solve.fold_file import folded_result, offline_fold
from services.solve.outcome_columns import COLUMNS, META, TAGS, cell_text, check_tags, field_text, tag_key
from services.state.dedupe import DUPLICATE, NEW, DedupeWindow
from services.state.edits import LEFT_OUT, Edits, Retracted
from services.state.opening import rated_initial
from services.state.pool import PoolState
from services.wire.pools import Kind

_NOT_IN_RANGE: Final = "not in the range of positions and times"

Columns: TypeAlias = Games | TaskScores


@dataclass(frozen=True, slots=True)
class PoolSlice:
    """Selection of outcomes to rate.

    Attributes:
        range: The pool, positions and times.
        where: (column, value) pairs. An outcome is selected if it has all of them.
        slice_by: Column whose values divide the outcomes into slices; None for a single slice.
    """

    range: PoolRange
    where: Sequence[tuple[str, str]] = ()
    slice_by: str | None = None

    @property
    def columns(self) -> list[str]:
        """Columns of `where` and `slice_by`."""
        return [*(column for column, _ in self.where), *([] if self.slice_by is None else [self.slice_by])]


class _Pool(NamedTuple):
    """A pool and its serving generation, with all erasures of the pool, because exported rows already have the tokens."""

    created: PoolCreated
    made: Generation


def pool_answers(asked: Asked, log: Log, control: ControlState, wanted: PoolSlice, bucket_seconds: float | None) -> Iterator[Answer]:
    """Rate a selection of a pool's outcomes, or each of its slices, by any method.

    Args:
        asked: Method and options.
        log: The log, with its archive.
        control: State of the control log.
        wanted: Outcomes to rate, and how to slice them.
        bucket_seconds: Width of a time bucket in seconds; None puts all outcomes into one bucket. Online methods refuse it.

    Returns:
        One answer for each slice, in the order of the slices' values.

    Raises:
        InputError: The pool has no outcomes, its beginning is lost, an option does not fit the method, or no outcome is left to rate.
        SolverError: Without `slice_by`: the method did not reach its accuracy.
        MissingExtraError: The extra `archive` is not installed.
        LogError: The log or the archive cannot be read.
    """
    pool = _pool(log, control, wanted.range.pool)
    return (_folded if asked.method in RATERS else _solved)(asked, log, control, wanted, pool, bucket_seconds)


def _pool(log: Log, control: ControlState, name: str) -> _Pool:
    made = control.serving(name)
    if made is None:
        known = ", ".join(sorted(pool for pool in control.pools if control.serving(pool) is not None))
        raise InputError("pool", name, f"must be a pool that has outcomes: {known or 'there is none'}")
    if made.start < (begin := log.history.begin(partition_of(name, log.outcomes.partitions))):
        rule = f"must be in log and archive (EQUIRANK_ARCHIVE) from its start at position {made.start}, but they begin at {begin}"
        raise InputError("pool", name, rule)
    return _Pool(control.pools[name], erasing(control, made))


def _solved(
    asked: Asked, log: Log, control: ControlState, wanted: PoolSlice, pool: _Pool, bucket_seconds: float | None
) -> Iterator[Answer]:
    counting = counting_of(asked, bucket_seconds)
    slices, left_out = Slices(lambda: Counted(counting)), Counter[str]()
    for value, part in counted_outcomes(log, control, wanted, pool.made, left_out):
        slices.part(value).add(part)
    loaded = {
        value: Loaded(FileKind.OUTCOMES, counted.problem(left_out), {**left_out, **counted.left_out})
        for value, counted in slices.sorted(left_out)
    }
    yield from answers_of(asked, loaded, wanted.slice_by)


def _folded(
    asked: Asked, log: Log, control: ControlState, wanted: PoolSlice, pool: _Pool, bucket_seconds: float | None
) -> Iterator[Answer]:
    """Rate by an online method. Agents start with the initial ratings of the pool's generation."""
    check_online(asked, bucket_seconds)
    if pool.created.kind is not Kind.GAMES:
        raise InputError("method", asked.method, f"must be a solved method for a pool of {pool.created.kind}: online methods rate games")
    begun, fold, left_out = time.perf_counter(), offline_fold(asked.method, asked.parameters), Counter[str]()
    rater = make_raters(Kind.GAMES, fold)[asked.method]
    initial = {method: ratings for method, ratings in rated_initial(pool.made).items() if method == asked.method}
    made = Generation(pool=wanted.range.pool, number=1, start=0, time=0.0, fold=fold, initial=initial)
    slices = Slices(lambda: PoolState(pool.created, made))
    for value, part in counted_outcomes(log, control, wanted, pool.made, left_out):
        if isinstance(part, Games):
            slices.part(value).fold(part)
    for value, state in slices.sorted():
        result = folded_result(state, asked.method, rater, time.perf_counter() - begun, left_out)
        yield answer_of(value, result, FileKind.OUTCOMES, dict(left_out), wanted.slice_by)


def counted_outcomes(
    log: Log, control: ControlState, wanted: PoolSlice, made: Generation, left_out: Counter[str]
) -> Iterator[tuple[str, Columns]]:
    """Yield (slice value, selected outcomes that count), in the order of the log.

    Args:
        log: The log, with its archive.
        control: State of the control log.
        wanted: Outcomes to select, and how to slice them.
        made: The generation of the pool whose start and edits decide what counts.
        left_out: Gets the number of other outcomes, by reason.

    Raises:
        InputError: A column is no key of any outcome's tags, or the pool's beginning is lost.
        MissingExtraError: The extra `archive` is not installed.
        LogError: The log or the archive cannot be read.
    """
    from services.archive import decode  # noqa: PLC0415 - needs the extra `archive`
    from services.archive.schema import GAME, RETRACTION, SCORES  # noqa: PLC0415 - as above

    created = control.pools[made.pool]
    retractions = tables(log, control, Wanted(PoolRange(made.pool, made.start), kind=RETRACTION))
    edits = Edits(made, Retracted.of([decode.retractions(table).id_hash for table, _ in retractions]))
    seen, known, keys = DedupeWindow(made.fold.dedupe_window), Roster(), set[str]()
    uses_tags = any(tag_key(column) is not None for column in wanted.columns)
    kind, columns_of = (GAME, decode.games) if created.kind is Kind.GAMES else (SCORES, decode.scores)
    for table, _ in tables(log, control, Wanted(PoolRange(made.pool, made.start, wanted.range.end), kind=kind)):
        columns, kept = edits.apply(columns_of(table), known)
        known.intern_coded(columns.names)
        verdict = seen.admit(columns.id_hash, columns.body_hash)
        rows, columns = table.take(np.flatnonzero(kept)[verdict == NEW]), columns.take(verdict == NEW)
        if uses_tags:
            keys.update(*(tags_of(text) for text in set(rows["tags"].to_pylist()) if text))
        chosen = _chosen(rows, wanted, left_out)
        left_out["duplicates"] += int(np.count_nonzero(verdict == DUPLICATE))
        left_out["conflicts"] += int(np.count_nonzero(verdict != NEW) - np.count_nonzero(verdict == DUPLICATE))
        columns, values = columns.take(chosen), _values(rows, wanted.slice_by)[chosen]
        for value in sorted(set(values.tolist())):
            yield value, columns.take(values == value)
    check_tags(wanted.columns, keys)
    left_out.update(dict(zip(LEFT_OUT, edits.left_out.tolist(), strict=True)))
    for reason in [reason for reason, count in left_out.items() if not count]:
        del left_out[reason]


def _chosen(rows: Any, wanted: PoolSlice, left_out: Counter[str]) -> NDArray[np.bool_]:
    """Select rows within the range and with all values of `where`: bool (n,). Adds the number of other rows to `left_out`."""
    offset, moment = rows["offset"].to_numpy(), rows["time"].to_numpy()
    within = (offset >= wanted.range.begin) & wanted.range.in_time(moment)
    chosen = within.copy()
    for column, value in wanted.where:
        chosen &= _values(rows, column) == value
    left_out[_NOT_IN_RANGE] += int(np.count_nonzero(~within))
    left_out[NOT_CHOSEN] += int(np.count_nonzero(within & ~chosen))
    return np.asarray(chosen)


def _values(rows: Any, column: str | None) -> NDArray[np.object_]:
    """Text of each row's value of a column, `meta` field or tag: object (n,); "" without a value, and in all rows without `column`."""
    values = np.full(len(rows), "", object)
    if column is None:
        return values
    if column in COLUMNS:
        values[:] = [cell_text(value) for value in rows[column].to_pylist()]
    elif column.startswith(META):
        metas = [None if text is None else msgspec.json.decode(text) for text in rows["meta"].to_pylist()]
        values[:] = [field_text(meta, column) for meta in metas]
    else:
        key = column.removeprefix(TAGS)
        texts = rows["tags"].to_pylist()
        of_text = {text: "" if text is None else tag_of(text, key) or "" for text in set(texts)}
        values[:] = [of_text[text] for text in texts]
    return values
