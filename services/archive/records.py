"""Rows of the archive as records of the log, in parts that fold in a moment.

A part is a sequence of records, so whatever reads the log takes it. A fold takes its columns. Bytes are encoded only for the records that
are taken out, and may differ from those that the log took.

Imports what the extra `archive` installs only where rows are read.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, overload

import msgspec
import numpy as np
from numpy.typing import NDArray

from services.log.protocol import Record
from services.log.skipping import Ranges
from services.runtime.deadlines import ahead
from services.wire.events import Kept
from services.wire.rules import MAX_RECORD_BYTES

if TYPE_CHECKING:
    from services.archive.reader import ArchiveReader

_COLUMNS: Final = (
    "offset", "item", "logged", "kind", "pool", "id", "time", "weight", "task", "agents", "sides", "places", "scores", "retracts", "meta",
    "raw",
)  # fmt: skip
_ROWS: Final = 1 << 15
"""Rows of a part, about: they fold in some twenty milliseconds."""
_BYTES: Final = 1 << 23
"""Bytes of a part, about; outcomes may have thousands of agents."""
_SHORTER: Final = 16
"""A part may end early, with a chunk of the table, once it has `rows // _SHORTER` rows."""


class ArchivedRecords(Sequence[Record]):
    """Records as rows of the archive.

    rows: an Arrow table of whole records. start: int64 (n+1,), record i has rows start[i] to start[i+1]; offset: int64 (n,), of each.
    """

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

    @property
    def time(self) -> NDArray[np.float64]:
        """When the log took each record, seconds since 1970: float64 (n,)."""
        taken: NDArray[np.float64] = self.rows["logged"].to_numpy()[self.start[:-1]].astype(np.int64) / 1e6
        return taken

    def of(self, pool: str) -> "ArchivedRecords":
        """What they hold of a pool."""
        import pyarrow.compute as pc  # noqa: PLC0415 - needs the extra `archive`

        return ArchivedRecords(self.rows.filter(pc.equal(self.rows["pool"], pool)))

    def without(self, ranges: Ranges) -> "ArchivedRecords":
        """The records whose offsets are in none of `ranges`."""
        kept = np.ones(len(self), np.bool_)
        for begin, end in ranges:
            kept &= (self.offset < begin) | (self.offset >= end)
        return self if kept.all() else ArchivedRecords(self.rows.take(np.flatnonzero(np.repeat(kept, np.diff(self.start)))))

    def _of(self, first: int, last: int) -> Any:
        return self.rows.slice(self.start[first], self.start[last] - self.start[first])


def parts(archive: "ArchiveReader", begin: int, *, pool: str | None = None, kind: str | None = None) -> Iterator[ArchivedRecords]:
    """The archived records from offset `begin` on, or what they hold of a pool and of a kind. Raises `ArchiveDamagedError`.

    The rows of a record may lie in two segments. The next segment is read while one is used, so memory holds two.
    """
    import pyarrow as pa  # noqa: PLC0415 - needs the extra `archive`

    rest: Any = None
    for segment in ahead(archive.read(begin, pool=pool, kind=kind, columns=_COLUMNS, coded=True), "archive"):
        table = segment if rest is None else pa.concat_tables([rest, segment])
        offset = table["offset"].to_numpy()
        whole = int(np.searchsorted(offset, offset[-1]))
        yield from _cut(table.slice(0, whole))
        rest = table.slice(whole)
    if rest is not None:
        yield ArchivedRecords(rest)


def _cut(table: Any) -> Iterator[ArchivedRecords]:
    """Parts of a table that divide no record.

    A part ends at the end of a chunk where it can: each chunk has its own dictionary of names, and joining two dictionaries is slow.
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
    """One record of its rows."""
    from services.archive import decode  # noqa: PLC0415 - needs the extra `archive`
    from services.archive.schema import UNREAD  # noqa: PLC0415 - as above

    texts = [row["raw"] if row["kind"] == UNREAD else msgspec.json.encode(decode.event(row)) for row in rows]
    first = rows[0]
    alone = len(rows) == 1 and (first["item"] < 0 or first["kind"] != UNREAD)
    value = texts[0] if alone else b"[" + b",".join(texts) + b"]"
    if first["item"] >= 0 and len(value) > MAX_RECORD_BYTES:  # the log took it as a stream
        value = Kept(value)
    return Record(first["offset"], value, first["logged"].timestamp(), None)
