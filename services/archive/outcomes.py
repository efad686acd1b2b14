"""Splits archived records into parts, one or more for each pool, each of one kind."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.arrow import are_equal
from services.archive import decode
from services.archive.schema import GAME, SCORES, UNREAD
from services.wire.columns import Outcomes
from services.wire.reading import PoolOutcomes, Reading, decode_chosen


class _Coded(NamedTuple):
    """A column of n texts. texts: the distinct texts; code: int64 (n,), index into `texts` for each row, -1 for null."""

    texts: list[str]
    code: NDArray[np.int64]


def read(rows: Any, record: NDArray[np.int64], value: Callable[[int], bytes]) -> Reading:
    """Decode archived records. Items that broke a rule of the wire schema are decoded again, for the rule.

    Args:
        rows: Arrow table with n rows, those of a record side by side.
        record: int64 (n,), the record of each row.
        value: Returns the bytes of a record.
    """
    kinds = _coded(rows["kind"])
    unread_code = kinds.texts.index(UNREAD) if UNREAD in kinds.texts else -1
    chosen = np.unique(record[kinds.code == unread_code]).tolist()
    return Reading(list(_parts(rows, record, kinds)), decode_chosen({i: value(i) for i in chosen}, chosen).refusals)


def _parts(rows: Any, record: NDArray[np.int64], kinds: _Coded) -> Iterator[PoolOutcomes]:
    pools = _coded(rows["pool"])
    group = len(kinds.texts) * pools.code + kinds.code
    order = np.flatnonzero(pools.code >= 0)  # items that break a rule of the wire schema have no pool
    if len(order) < len(rows) or (group != group[0]).any():
        order = order[np.argsort(group[order], kind="stable")]
        rows = rows.combine_chunks().take(order)
    item, cuts = rows["item"].to_numpy(), [*np.flatnonzero(np.diff(group[order], prepend=-1)).tolist(), len(order)]
    for first, last in pairwise(cuts):
        pool, kind = divmod(int(group[order[first]]), len(kinds.texts))
        outcomes = _outcomes(kinds.texts[kind], rows.slice(first, last - first))
        yield PoolOutcomes(pools.texts[pool], outcomes, record[order[first:last]], item[first:last])


def _outcomes(kind: str, rows: Any) -> Outcomes:
    if kind == GAME:
        return decode.games(rows)
    return decode.scores(rows) if kind == SCORES else decode.retractions(rows)


def _coded(column: Any) -> _Coded:
    texts = column.combine_chunks()
    if len(texts) and are_equal(texts):  # the usual case; many times as fast as the encoding below
        return _Coded([texts[0].as_py()], np.zeros(len(texts), np.int64))
    coded = texts.dictionary_encode()
    return _Coded(coded.dictionary.to_pylist(), coded.indices.fill_null(-1).to_numpy().astype(np.int64))
