"""Records as a topic holds them: parts of them are records too, and what may hold a pool is found in the bytes."""

import json

import numpy as np

from services.log.protocol import Record
from services.log.records import NO_RECORDS, TopicRecords, count_below

RECORDS = TopicRecords(Record(3 * i, json.dumps({"pool": f"p{i % 3}", "n": i}).encode(), 100.0 + i) for i in range(9))


def test_parts_keep_offsets_and_times() -> None:
    part = RECORDS[2:5]
    assert isinstance(part, TopicRecords)
    assert part.offset.tolist() == [6, 9, 12]
    assert part.time.tolist() == [102.0, 103.0, 104.0]
    assert part.nbytes == sum(len(record.value) for record in part)
    assert RECORDS[2] == Record(6, RECORDS[2].value, 102.0)
    assert (len(NO_RECORDS), NO_RECORDS.offset.tolist(), NO_RECORDS.nbytes) == (0, [], 0)


def test_records_below_an_offset_are_counted() -> None:
    assert [count_below(RECORDS, offset) for offset in (0, 1, 3, 24, 25)] == [0, 1, 1, 8, 9]


def test_ranges_are_left_out() -> None:
    assert RECORDS.without([(3, 9), (24, 90)]).offset.tolist() == [0, 9, 12, 15, 18, 21]
    assert RECORDS.without([]) == RECORDS


def test_records_that_may_hold_a_pool_have_its_name() -> None:
    assert RECORDS.that_may_hold("p1").offset.tolist() == [3, 12, 21]
    assert len(RECORDS.that_may_hold("p1", b"retracts")) == 0
    assert len(RECORDS.that_may_hold("other")) == 0


def test_an_escaped_name_may_be_any() -> None:
    escaped = TopicRecords([*RECORDS, Record(99, b'{"pool": "\\u0070" "1"}', 0.0)])
    np.testing.assert_array_equal(escaped.that_may_hold("p1").offset, [3, 12, 21, 99])
