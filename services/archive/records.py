"""Rows of the archive as records of the log again."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa

from services.archive import decode
from services.archive.reader import ArchiveReader
from services.archive.schema import UNREAD
from services.log.protocol import Record
from services.wire.events import Kept
from services.wire.rules import MAX_RECORD_BYTES

_RECORDS: Final = 2_000
"""Records of one part, at most."""
_ROWS: Final = 50_000
"""Rows of one part, about: one more record may exceed them."""


def records(archive: ArchiveReader, position: int) -> Iterator[list[Record]]:
    """The archived records from `position` on, in parts of bounded size. The rows of a record may lie in two segments."""
    rest: pa.Table | None = None
    for segment in archive.read(position):
        table = segment if rest is None else pa.concat_tables([rest, segment])
        offset = table["offset"].to_numpy()
        whole = int(np.searchsorted(offset, offset[-1]))
        if whole:
            yield from _parts(table.slice(0, whole))
        rest = table.slice(whole)
    if rest is not None:
        yield from _parts(rest)


def _parts(table: pa.Table) -> Iterator[list[Record]]:
    offset = table["offset"].to_numpy()
    starts = np.flatnonzero(np.append(True, offset[1:] != offset[:-1]))
    ends = np.append(starts[1:], len(table))
    last = 0
    while (first := last) < len(starts):
        last = min(first + _RECORDS, max(first + 1, int(np.searchsorted(ends, starts[first] + _ROWS, side="right"))))
        rows = table.slice(starts[first], ends[last - 1] - starts[first]).to_pylist()
        cuts = (starts[first:last] - starts[first]).tolist()
        yield [_record(rows[begin:end]) for begin, end in zip(cuts, [*cuts[1:], len(rows)], strict=True)]


def _record(rows: list[dict[str, Any]]) -> Record:
    """One record of its rows."""
    texts = [row["raw"] if row["kind"] == UNREAD else msgspec.json.encode(decode.event(row)) for row in rows]
    first = rows[0]
    alone = len(rows) == 1 and (first["item"] < 0 or first["kind"] != UNREAD)
    value = texts[0] if alone else b"[" + b",".join(texts) + b"]"
    if first["item"] >= 0 and len(value) > MAX_RECORD_BYTES:  # the log took it as a stream
        value = Kept(value)
    return Record(first["offset"], value, first["logged"].timestamp(), None)
