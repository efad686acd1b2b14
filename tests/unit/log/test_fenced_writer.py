"""A write to a fenced partition whose broker stops to answer before the commit."""

import threading
from types import SimpleNamespace
from typing import Any, cast

import pytest
from kafka.producer.transaction_manager import TransactionalRequestResult

from services.log.kafka.fenced import KafkaFencedWriter
from services.log.protocol import LogError


class Producer:
    """A producer whose records are acknowledged, and whose commit is not answered."""

    def __init__(self) -> None:
        self.result, self.closed = TransactionalRequestResult(), False
        self._metadata = None
        self._transaction_manager = SimpleNamespace(begin_commit=lambda: self.result)
        self._sender = SimpleNamespace(wakeup=lambda: None, force_close=lambda: None, join=lambda _: None)

    def init_transactions(self) -> None:
        return

    def begin_transaction(self) -> None:
        return

    def partitions_for(self, _topic: str) -> None:
        return

    def send(self, *_: object, **__: object) -> Any:
        return SimpleNamespace(get=lambda timeout: timeout)

    def commit_transaction(self) -> None:
        self.result.wait()

    def close(self, timeout: float) -> None:
        self.closed = timeout == 0


def test_a_commit_that_is_not_answered_fails_in_time_and_leaves_no_thread_behind() -> None:
    producer = Producer()
    connection = SimpleNamespace(timeout=0.05, timeout_ms=50, producer=lambda _: producer)
    writer = KafkaFencedWriter(cast("Any", connection), "ratings", 0, lambda _: None, lambda _: None)
    writer.claim()
    before = set(threading.enumerate())
    with pytest.raises(LogError, match=r"no answer within 0\.05 s") as caught:
        writer.write([(b"k", b"1")])
    assert caught.value.retriable
    assert producer.closed
    assert set(threading.enumerate()) <= before
