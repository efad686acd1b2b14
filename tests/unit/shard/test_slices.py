"""Records are folded in calls that are large, because each has fixed costs, and limited, because publication waits for its end."""

from itertools import chain

import pytest

from services.log.kafka.client import FETCH_PARTITION_BYTES
from services.log.protocol import Record
from services.log.records import MAX_RECORD_BYTES, TopicRecords
from services.shard.slices import MOST_BYTES, slices


def of(*sizes: int) -> TopicRecords:
    return TopicRecords([Record(offset, b"x" * size, 0.0) for offset, size in enumerate(sizes)])


def test_what_a_fetch_of_kafka_brings_is_one_slice() -> None:
    assert FETCH_PARTITION_BYTES == MOST_BYTES
    full = of(*[MOST_BYTES // 5] * 5)
    assert list(slices(full)) == [full]


@pytest.mark.parametrize("sizes", [[MAX_RECORD_BYTES] * 31, [1000] * 20_000, [MAX_RECORD_BYTES, 1] * 20, [1]])
def test_slices_are_all_records_in_order_and_none_is_larger_than_the_most(sizes: list[int]) -> None:
    records = of(*sizes)
    found = list(slices(records))
    assert list(chain.from_iterable(found)) == records
    assert max(part.nbytes for part in found) <= MOST_BYTES
    assert all(part.nbytes >= 1 << 22 for part in found[:-1])
