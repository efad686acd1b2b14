"""Records cut into parts that fold in a moment."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from services.archive.records import ArchivedRecords
from services.log.protocol import Record

_SLICE_BYTES: Final = 1 << 22


def size(records: Iterable[Record]) -> int:
    """Bytes of their values."""
    return records.rows.nbytes if isinstance(records, ArchivedRecords) else sum([len(record.value) for record in records])


def slices(records: Sequence[Record]) -> Iterator[Sequence[Record]]:
    """Runs of records of about _SLICE_BYTES, so that large ones do not hold publication up. The archive's are cut so already."""
    if isinstance(records, ArchivedRecords) or (records and size(records) < _SLICE_BYTES):
        yield records
        return
    start = total = 0
    for i, record in enumerate(records):
        total += len(record.value)
        if total >= _SLICE_BYTES:
            yield records[start : i + 1]
            start, total = i + 1, 0
    if start < len(records):
        yield records[start:]
