"""Splits records into slices that fold in a short time, so that other work between slices is not delayed."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from services.archive.records import ArchivedRecords
from services.log.protocol import Record
from services.log.records import MAX_RECORD_BYTES

_SLICE_BYTES: Final = 1 << 22
MOST_BYTES: Final = _SLICE_BYTES + MAX_RECORD_BYTES
"""Most bytes of a slice: it ends with the record that fills it. The log on Kafka fetches as many for a partition."""


def size(records: Iterable[Record]) -> int:
    """Return the total bytes of the records' values; of archived records, the bytes of their rows."""
    return records.rows.nbytes if isinstance(records, ArchivedRecords) else sum([len(record.value) for record in records])


def slices(records: Sequence[Record]) -> Iterator[Sequence[Record]]:
    """Split records into slices of `_SLICE_BYTES` to `MOST_BYTES`, so that publication is not delayed. A call has fixed costs, so what one
    fetch of Kafka brings stays one slice. Archived records stay one slice as well, because their reader limits their size.
    """
    if isinstance(records, ArchivedRecords) or (records and size(records) <= MOST_BYTES):
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
