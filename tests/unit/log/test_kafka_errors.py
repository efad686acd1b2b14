"""Errors of kafka-python as errors of the log."""

import pytest
from kafka.errors import (
    KafkaError,
    MessageSizeTooLargeError,
    NotLeaderForPartitionError,
    RecordListTooLargeError,
    TopicAuthorizationFailedError,
)

from services.log.kafka.client import kafka_errors
from services.log.protocol import LogError, RecordTooLarge


@pytest.mark.parametrize("error", [MessageSizeTooLargeError("2 MB"), RecordListTooLargeError("2 MB")])
def test_a_record_that_is_too_large_says_what_to_raise(error: KafkaError) -> None:
    with pytest.raises(RecordTooLarge, match=r"append: .*2 MB; raise the topic's max.message.bytes") as raised, kafka_errors("append"):
        raise error
    assert not raised.value.retriable


@pytest.mark.parametrize(("error", "retriable"), [(TopicAuthorizationFailedError("x"), False), (NotLeaderForPartitionError("x"), True)])
def test_other_errors_say_whether_the_call_can_be_repeated(error: KafkaError, retriable: bool) -> None:
    with pytest.raises(LogError) as raised, kafka_errors("append"):
        raise error
    assert (type(raised.value), raised.value.retriable) == (LogError, retriable)
