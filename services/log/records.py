"""Records as a topic holds them, and checks before an append or a read. They are the same on every backend."""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, SupportsIndex, overload

import numpy as np
from numpy.typing import NDArray

from services.log.protocol import LogError, Ranges, Record, Records, RecordTooLarge

if TYPE_CHECKING:
    from services.wire.reading import Reading

MAX_RECORD_BYTES = 1_048_576 + 32_768
"""Maximal bytes of key and value together: the wire schema's 1 MiB, and 32 KiB for the key."""

NAMES = ("outcomes", "control", "dead-letters")
_ESCAPE: Final = b"\\u00"
_ESCAPED: Final = re.compile(rb"\\u00[2-7]")
"""An escaped ASCII character. In JSON, the characters of names may be escaped."""


class TopicRecords(list[Record]):
    """Records with the bytes that the topic holds. See `Records`. They must not be changed."""

    archived = False

    @cached_property
    def offset(self) -> NDArray[np.int64]:
        """See `Records`."""
        return np.array([record.offset for record in self], np.int64)

    @cached_property
    def time(self) -> NDArray[np.float64]:
        """See `Records`."""
        return np.array([record.time for record in self], np.float64)

    @cached_property
    def nbytes(self) -> int:
        """See `Records`."""
        return sum([len(record.value) for record in self])

    def outcomes(self) -> "Reading":
        """See `Records`."""
        from services.wire.reading import read  # noqa: PLC0415 - loads the kernels, which only a fold needs

        return read([record.value for record in self])

    def that_may_hold(self, pool: str, field: bytes = b"") -> Records:
        """See `Records`. Pool and field are searched in the bytes, literally or escaped in JSON.

        All records are first searched at once, because every old record passes here and most belong to other pools.
        """
        name = pool.encode()
        together = b"\n".join([record.value for record in self])
        if _ESCAPE not in together:
            if name not in together or field not in together:
                return TopicRecords()
            return TopicRecords([record for record in self if name in record.value and field in record.value])
        return TopicRecords(
            [
                record
                for record in self
                if (name in (value := record.value) and field in value) or (_ESCAPE in value and _ESCAPED.search(value) is not None)
            ]
        )

    def without(self, ranges: Ranges) -> Records:
        """See `Records`."""
        return TopicRecords([record for record in self if not any(begin <= record.offset < end for begin, end in ranges)])

    @overload
    def __getitem__(self, index: SupportsIndex, /) -> Record: ...
    @overload
    def __getitem__(self, index: slice, /) -> "TopicRecords": ...
    def __getitem__(self, index: SupportsIndex | slice, /) -> "Record | TopicRecords":
        if not isinstance(index, slice):
            return super().__getitem__(index)
        return self if index.indices(len(self)) == (0, len(self), 1) else TopicRecords(super().__getitem__(index))


NO_RECORDS: Final[Records] = TopicRecords()


def count_below(records: Records, offset: int) -> int:
    """Count the records below `offset`."""
    return int(np.searchsorted(records.offset, offset))


def check_partitions(partitions: int) -> None:
    """Raise `LogError` for a number of partitions outside of 1 to 10,000."""
    if isinstance(partitions, bool) or not 1 <= partitions <= 10_000:
        raise LogError(f"a log has 1 to 10000 partitions, not {partitions!r}", retriable=False)


def check_partition(topic: str, partition: int, partitions: int) -> None:
    """Raise `LogError` for a partition that the topic does not have."""
    if not 0 <= partition < partitions:
        raise LogError(f"{topic} has no partition {partition}: it has {partitions}, counted from 0", retriable=False)


def check_positions(topic: str, positions: Mapping[int, int], partitions: int) -> None:
    """Raise `LogError` for positions of partitions that the topic does not have, and for empty `positions`."""
    if not positions:
        raise LogError(f"a reader of {topic} needs at least one partition and its position", retriable=False)
    for partition in positions:
        check_partition(topic, partition, partitions)


def check_records(topic: str, records: Sequence[tuple[bytes | None, bytes]], *, keyed: bool) -> None:
    """Raise `LogError` for records that a backend could not store unchanged. keyed: whether the topic needs a key in each record."""
    for index, (key, value) in enumerate(records):
        if not all(type(part) is bytes for part in (value, key) if part is not None) or value is None:
            raise LogError(f"record {index} for {topic}: key and value are bytes (the key may be None)", retriable=False)
        if keyed and not key:
            raise LogError(f"record {index} for {topic} has no key: that topic is compacted by key", retriable=False)
        size = len(value) + len(key or b"")
        if size > MAX_RECORD_BYTES:
            raise RecordTooLarge(f"record {index} for {topic} has {size} bytes, more than {MAX_RECORD_BYTES}")
