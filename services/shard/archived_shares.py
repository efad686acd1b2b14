"""Splits archived records into shares, one or more for each pool. Consecutive outcomes of one kind stay columns."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from services.archive.records import ArchivedRecords
from services.shard.share import Share
from services.state.pool import Outcomes


class _Coded(NamedTuple):
    """A column of n texts. texts: the distinct texts; code: int64 (n,), index into `texts` for each row, -1 for null."""

    texts: list[str]
    code: NDArray[np.int64]


def read_shares(records: ArchivedRecords) -> tuple[list[Share], list[int]]:
    """Return the shares of all pools, and the indices of the records with an item that breaks a rule of the wire schema."""
    from services.archive.schema import UNREAD  # noqa: PLC0415 - needs the extra `archive`

    kinds = _coded(records.rows["kind"])
    unread = kinds.texts.index(UNREAD) if UNREAD in kinds.texts else -1
    record = np.repeat(np.arange(len(records)), np.diff(records.start))
    return list(_shares(records, record, kinds)), np.unique(record[kinds.code == unread]).tolist()


def _shares(records: ArchivedRecords, record: NDArray[np.int64], kinds: _Coded) -> Iterator[Share]:
    rows, pools = records.rows, _coded(records.rows["pool"])
    order = np.flatnonzero(pools.code >= 0)  # items that break a rule of the wire schema have no pool
    if len(pools.texts) > 1 or len(order) < len(rows):
        order = order[np.argsort(pools.code[order], kind="stable")]
        rows = rows.combine_chunks().take(order)
    cuts = np.searchsorted(pools.code[order], np.arange(len(pools.texts) + 1)).tolist()
    kind, item = kinds.code[order], rows["item"].to_numpy()
    for number, pool in enumerate(pools.texts):
        for first, last in _runs(kind, cuts[number], cuts[number + 1]):
            outcomes = _outcomes(kinds.texts[kind[first]], rows.slice(first, last - first))
            yield Share(pool, records, record[order[first:last]], item[first:last], outcomes)


def _runs(kind: NDArray[np.int64], begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Split the rows from `begin` up to but not including `end` into ranges of one kind: (first row, row after the last)."""
    changes = np.flatnonzero(kind[begin + 1 : end] != kind[begin : end - 1]) + begin + 1
    starts = [begin, *changes.tolist()]
    yield from zip(starts, [*starts[1:], end], strict=True)


def _outcomes(kind: str, rows: Any) -> Outcomes:
    from services.archive import decode  # noqa: PLC0415 - needs the extra `archive`
    from services.archive.schema import GAME, SCORES  # noqa: PLC0415 - as above

    if kind == GAME:
        return decode.games(rows)
    return decode.scores(rows) if kind == SCORES else decode.events(rows)


def _coded(column: Any) -> _Coded:
    from services.wire.bulk.arrays import are_equal  # noqa: PLC0415 - needs the extra `archive`

    texts = column.combine_chunks()
    if len(texts) and are_equal(texts):  # the usual case; many times as fast as the encoding below
        return _Coded([texts[0].as_py()], np.zeros(len(texts), np.int64))
    coded = texts.dictionary_encode()
    return _Coded(coded.dictionary.to_pylist(), coded.indices.fill_null(-1).to_numpy().astype(np.int64))
