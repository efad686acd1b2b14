"""Splits records into slices that fold in a short time, so that other work between slices is not delayed."""

from collections.abc import Iterator
from typing import Final

from services.log.protocol import Records
from services.log.records import MAX_RECORD_BYTES

BATCH_RECORDS: Final = 2000
"""Largest number of log records folded in a batch, so of a slice."""
_SLICE_BYTES: Final = 1 << 22
MOST_BYTES: Final = _SLICE_BYTES + MAX_RECORD_BYTES
"""Most bytes of a slice: it ends with the record that fills it. The log on Kafka fetches as many for a partition."""


def slices(records: Records) -> Iterator[Records]:
    """Split records into slices of `_SLICE_BYTES` to `MOST_BYTES`, so that publication is not delayed. A call has fixed costs, so what one
    fetch of Kafka brings stays one slice. Archived records stay one slice as well, because their reader limits their size.
    """
    if records.archived or (len(records) and records.nbytes <= MOST_BYTES):
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
