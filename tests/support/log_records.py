"""Records of an outcome log, made from plain values."""

import json
from collections.abc import Sequence

from services.log.protocol import Record
from services.log.records import TopicRecords


def records(values: Sequence[object], offset: int = 0) -> TopicRecords:
    """Records with consecutive offsets.

    Args:
        values: JSON value of each record.
        offset: Offset of the first record.

    Returns:
        A record for each value, in the order of `values`, with log time 0.
    """
    return TopicRecords([Record(offset + i, json.dumps(value).encode(), 0.0) for i, value in enumerate(values)])
