"""Archived records as what each pool has of them: outcomes of one kind that follow each other stay columns."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from services.archive.records import ArchivedRecords
from services.shard.share import Share
from services.state.pool import Outcomes


def shares_of(records: ArchivedRecords) -> Iterator[Share]:
    """What each pool has, pools by their first outcomes."""
    rows = records.rows
    record = np.repeat(np.arange(len(records)), np.diff(records.start))
    pools, pool = _codes(rows["pool"])
    present = np.flatnonzero(pool >= 0)  # what is no outcome names no pool
    order = present[np.argsort(pool[present], kind="stable")]
    if len(pools) > 1 or len(present) < len(rows):
        rows = rows.combine_chunks().take(order)
    cuts = np.searchsorted(pool[order], np.arange(len(pools) + 1)).tolist()
    for name, first, last in zip(pools, cuts, cuts[1:], strict=False):
        at = order[first:last]
        yield from _runs(name, records, record[at], rows.slice(first, last - first))


def unread_in(records: ArchivedRecords) -> list[int]:
    """Numbers of the records that hold something that is no outcome."""
    from services.archive.schema import UNREAD  # noqa: PLC0415 - needs the extra `archive`

    kinds, kind = _codes(records.rows["kind"])
    if UNREAD not in kinds:
        return []
    at = np.flatnonzero(kind == kinds.index(UNREAD))
    chosen: list[int] = np.unique(np.searchsorted(records.start, at, side="right") - 1).tolist()
    return chosen


def _runs(pool: str, records: ArchivedRecords, record: NDArray[np.int64], rows: Any) -> Iterator[Share]:
    """Runs of rows of one kind."""
    kinds, kind = _codes(rows["kind"])
    item = rows["item"].to_numpy()
    starts = np.flatnonzero(np.append(True, kind[1:] != kind[:-1])).tolist()
    for first, last in zip(starts, [*starts[1:], len(kind)], strict=True):
        run = rows.slice(first, last - first)
        yield Share(pool, records, record[first:last], item[first:last], _outcomes(kinds[kind[first]], run))


def _outcomes(kind: str, rows: Any) -> Outcomes:
    from services.archive import decode  # noqa: PLC0415 - needs the extra `archive`
    from services.archive.schema import GAME, SCORES  # noqa: PLC0415 - as above

    if kind == GAME:
        return decode.games(rows)
    return decode.scores(rows) if kind == SCORES else decode.events(rows)


def _codes(column: Any) -> tuple[list[str], NDArray[np.int64]]:
    """Distinct texts of a column by first appearance, and the number of each row's; -1 for null."""
    coded = column.combine_chunks().dictionary_encode()
    return coded.dictionary.to_pylist(), coded.indices.fill_null(-1).to_numpy().astype(np.int64)
