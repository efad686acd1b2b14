"""Rows of the archive as records of the log, in parts that a fold handles within some 20 milliseconds.

A part is used like records of the topic (`Records`). A fold uses its columns directly. A record's bytes are encoded only when the record is
accessed, and can differ from the bytes in the log.

pyarrow and the kernels are imported only when rows are read.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, overload

import msgspec
import numpy as np
from numpy.typing import NDArray

from services.log.protocol import Ranges, Record
from services.runtime.deadlines import ahead
from services.wire.events import ArchivedText
from services.wire.rules import MAX_RECORD_BYTES

if TYPE_CHECKING:
    from services.archive.reader import ArchiveReader
    from services.wire.reading import Reading

_COLUMNS: Final = (
    "offset", "item", "logged", "kind", "pool", "id", "time", "weight", "task", "agents", "sides", "places", "scores", "retracts", "meta",
    "tags", "raw",
)  # fmt: skip
_ROWS: Final = 1 << 15
"""Approximate maximal rows of a part. Their fold takes some 20 milliseconds."""
_BYTES: Final = 1 << 23
"""Approximate maximal bytes of a part. The limit matters for outcomes with many agents; an outcome can have thousands."""
_SHORTER: Final = 16
"""A part ends at the end of a chunk of the table if it then has more than a 16th of the rows of a full part."""


class ArchivedRecords(Sequence[Record]):
    """n records as rows of the archive.

    Attributes:
        rows: Arrow table with all rows of each record.
        start: int64 (n+1,); record i has the rows from start[i] up to start[i+1].
        offset: int64 (n,), offset of each record.
        archived: See `Records`.
    """

    archived = True

    def __init__(self, rows: Any) -> None:
        offset = rows["offset"].to_numpy()
        first = np.flatnonzero(np.append(True, offset[1:] != offset[:-1])) if len(offset) else np.zeros(0, np.int64)
        self.rows, self.offset = rows, offset[first]
        self.start = np.append(first, len(offset))

    def __len__(self) -> int:
        return len(self.offset)

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> "ArchivedRecords": ...
    def __getitem__(self, index: int | slice) -> "Record | ArchivedRecords":
        if isinstance(index, int):
            number = range(len(self))[index]
            return _record(self._of(number, number + 1).to_pylist())
        first, last, _ = index.indices(len(self))
        if (first, last) == (0, len(self)):
            return self
        return ArchivedRecords(self._of(first, max(first, last)))

    @cached_property
    def time(self) -> NDArray[np.float64]:
        """Time at which the log took each record, in seconds since 1970: float64 (n,)."""
        taken: NDArray[np.float64] = self.rows["logged"].to_numpy()[self.start[:-1]].astype(np.int64) / 1e6
        return taken

    @property
    def nbytes(self) -> int:
        """Bytes of the rows."""
        return int(self.rows.nbytes)

    def outcomes(self) -> "Reading":
        """See `Records`."""
        from services.archive.outcomes import read  # noqa: PLC0415 - loads the kernels and pyarrow

        return read(self.rows, np.repeat(np.arange(len(self)), np.diff(self.start)), lambda i: self[i].value)

    def that_may_hold(self, pool: str, field: bytes = b"") -> "ArchivedRecords":  # noqa: ARG002 - the rows of a pool are few enough
        """The records with only the rows of one pool."""
        import pyarrow.compute as pc  # noqa: PLC0415 - takes time to load

        return ArchivedRecords(self.rows.filter(pc.equal(self.rows["pool"], pool)))

    def without(self, ranges: Ranges) -> "ArchivedRecords":
        """The records whose offsets are outside of all `ranges`."""
        kept = np.ones(len(self), np.bool_)
        for begin, end in ranges:
            kept &= (self.offset < begin) | (self.offset >= end)
        return self if kept.all() else ArchivedRecords(self.rows.take(np.flatnonzero(np.repeat(kept, np.diff(self.start)))))

    def _of(self, first: int, last: int) -> Any:
        return self.rows.slice(self.start[first], self.start[last] - self.start[first])


def parts(archive: "ArchiveReader", begin: int, *, pool: str | None = None, kind: str | None = None) -> Iterator[ArchivedRecords]:
    """Yield the archived records from offset `begin` on, in parts.

    The rows of a record can be in two pieces of the archive; the parts join them. The next piece is read while the present one is used,
    so two pieces are in memory.

    Args:
        archive: Reader of the partition's table.
        begin: First offset to read.
        pool: Read only the rows of this pool.
        kind: Read only the rows of this kind.

    Raises:
        ArchiveDamagedError: Rows are missing or duplicated.
    """
    import pyarrow as pa  # noqa: PLC0415 - takes time to load

    rest: Any = None
    for piece in ahead(archive.read(begin, pool=pool, kind=kind, columns=_COLUMNS, coded=True), "archive"):
        table = piece if rest is None else pa.concat_tables([rest, piece])
        offset = table["offset"].to_numpy()
        complete = int(np.searchsorted(offset, offset[-1]))
        yield from _cut(table.slice(0, complete))
        rest = table.slice(complete)
    if rest is not None:
        yield ArchivedRecords(rest)


def _cut(table: Any) -> Iterator[ArchivedRecords]:
    """Divide a table into parts. A part has all rows of each of its records.

    If possible, a part ends at the end of a chunk: each chunk has its own dictionary of names, and joining dictionaries is slow.
    """
    offset, first = table["offset"].to_numpy(), 0
    rows = min(_ROWS, max(1, _BYTES * len(table) // max(1, table.nbytes)))
    chunks = np.cumsum([len(chunk) for chunk in table["agents"].chunks])
    while first < len(offset):
        end = min(first + rows, len(offset))
        end = int(chunks[(chunks > first + rows // _SHORTER) & (chunks <= end)].max(initial=0)) or end
        last = int(np.searchsorted(offset, offset[end - 1], side="right"))
        yield ArchivedRecords(table.slice(first, last - first))
        first = last


def _record(rows: list[dict[str, Any]]) -> Record:
    """Make a record of its rows. rows: value by column."""
    from services.archive import decode  # noqa: PLC0415 - loads the kernels
    from services.archive.schema import UNREAD  # noqa: PLC0415 - as above

    texts = [row["raw"] if row["kind"] == UNREAD else msgspec.json.encode(decode.event(row)) for row in rows]
    first = rows[0]
    alone = len(rows) == 1 and (first["item"] < 0 or first["kind"] != UNREAD)
    value = texts[0] if alone else b"[" + b",".join(texts) + b"]"
    if first["item"] >= 0 and len(value) > MAX_RECORD_BYTES:  # the record in the log is a shorter stream
        value = ArchivedText(value)
    return Record(first["offset"], value, first["logged"].timestamp(), None)
