"""Export a pool's outcomes and retractions as tables: from the archive up to its end, then from the topic."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ratings_core import extras
from ratings_core.errors import InputError
from services.admin.pool_range import PoolRange
from services.archive.history import ArchiveFails, next_archived
from services.control.erasures import NameMatcher
from services.control.records import ControlState
from services.log.partition import partition_of
from services.log.protocol import Log
from services.log.reading import read_parts

COLUMNS: Final = (
    "offset", "item", "logged", "kind", "pool", "id", "time", "weight", "task", "agents", "sides", "places", "scores", "retracts", "meta",
    "tags",
)  # fmt: skip
"""Columns that an export may have; docs/guides/archive.md describes them."""
_ROWS: Final = 1 << 17
"""Rows read from the archive at once, about 20 MB."""
_NO_ITEM: Final = -2
"""Number below those of all items of a record."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Selection of rows and columns to export.

    Attributes:
        range: The pool, positions and times.
        agents: Only outcomes with one of these agents; empty for all outcomes.
        columns: Names of columns, in the order of the export.
        kind: Only rows of this kind; None for all rows.
    """

    range: PoolRange
    agents: Sequence[str] = ()
    columns: Sequence[str] = COLUMNS
    kind: str | None = None

    def __post_init__(self) -> None:
        if unknown := [name for name in self.columns if name not in COLUMNS]:
            raise InputError("column", unknown[0], f"must be one of {', '.join(COLUMNS)}")
        if len(set(self.columns)) < len(self.columns):
            raise InputError("column", list(self.columns), "must name each column once")


def tables(log: Log, control: ControlState, wanted: Wanted) -> Iterator[tuple[Any, int]]:
    """Read the selected rows, in the order of the log.

    Args:
        log: The log, with its archive.
        control: State of the control log.
        wanted: Rows to read. Its columns have no effect: tables have all `COLUMNS`.

    Returns:
        Pairs of an Arrow table and the offset up to which the log was read.

    Raises:
        InputError: The pool does not exist, or neither log nor archive holds the beginning of the range.
        MissingExtraError: The extra `archive` is not installed.
        LogError: The log or the archive cannot be read.
    """
    pool, begin = wanted.range.pool, wanted.range.begin
    if pool not in control.pools:
        raise InputError("pool", pool, f"must be one of {', '.join(sorted(control.pools)) or 'none: there is no pool yet'}")
    extras.load("deltalake", "archive", "exporting outcomes")
    number = partition_of(pool, log.outcomes.partitions)
    if begin < (held := log.history.begin(number)):
        raise InputError("from", begin, f"must be at least {held}: neither the log nor an archive (EQUIRANK_ARCHIVE) has older records")
    end = log.outcomes.end(number) if wanted.range.end is None else min(wanted.range.end, log.outcomes.end(number))
    reached = yield from _of_archive(log, control, wanted, begin, end)
    yield from _of_topic(log, control, wanted, *reached, end)


def _of_archive(log: Log, control: ControlState, wanted: Wanted, begin: int, end: int) -> Generator[tuple[Any, int], None, tuple[int, int]]:
    """Read the rows of the archive. Returns the offset at which the topic continues, and the item of this record that was the last one."""
    position, item, number = begin, _NO_ITEM, partition_of(wanted.range.pool, log.outcomes.partitions)
    if log.archived is None:
        return position, item
    try:
        if (archive := log.archived.archive(number, begin)) is None:
            return position, item
        read = archive.read(begin, end, pool=wanted.range.pool, kind=wanted.kind, columns=COLUMNS, most=_ROWS)
        while (table := next_archived(number, read)) is not None:
            yield _filtered(table, wanted, control), table["offset"][-1].as_py() + 1
            position, item = table["offset"][-1].as_py(), table["item"][-1].as_py()
    except ArchiveFails as error:
        if not log.archived.passes_over(error, number, position):
            raise
        return position, item
    return min(archive.position, end), _NO_ITEM


def _of_topic(log: Log, control: ControlState, wanted: Wanted, begin: int, after: int, end: int) -> Iterator[tuple[Any, int]]:
    """Read the rows of the topic from offset `begin` on, of this record only the items after number `after`."""
    from services.archive.encode import rows  # noqa: PLC0415 - needs the extra `archive`

    pool, kind = wanted.range.pool, wanted.kind
    for part in read_parts(log.history, partition_of(pool, log.outcomes.partitions), begin, end, control.partitions.skipped):
        if records := [record for record in part if record.offset < end]:
            table = rows(records)
            own = np.array([name == pool for name in table["pool"].to_pylist()], np.bool_)
            own &= np.array([kind in {None, row_kind} for row_kind in table["kind"].to_pylist()], np.bool_)
            own &= (table["offset"].to_numpy() > begin) | (table["item"].to_numpy() > after)
            yield _filtered(table.filter(own).select(COLUMNS), wanted, control), records[-1].offset + 1


def _filtered(table: Any, wanted: Wanted, control: ControlState) -> Any:
    """Rows of the selected times and agents. Tokens replace erased names first, so rows are selected by token."""
    from services.archive.erased_rows import erased  # noqa: PLC0415 - needs the extra `archive`

    if names := control.erasures.names(wanted.range.pool):
        table, _ = erased(table, {wanted.range.pool: NameMatcher(names)})
    keep = wanted.range.in_time(np.asarray(table["time"].to_numpy(zero_copy_only=False), np.float64))
    table = table if keep.all() else table.filter(keep)
    if wanted.agents:
        named = set(wanted.agents)
        table = table.filter(np.array([not named.isdisjoint(agents or ()) for agents in table["agents"].to_pylist()], np.bool_))
    return table
