"""Appends to a slow broker: what waits in the producer is bounded, and the time limit counts for each part."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.errors import KafkaTimeoutError

from services.log.kafka import log as kafka_log
from services.log.kafka.log import KafkaTopic
from services.log.protocol import LogError

MIB = 1 << 20
SECONDS = 30.0


class Broker:
    """A producer of a broker that takes `rate` bytes a second. Records fail that waited in the producer for longer than `SECONDS`."""

    def __init__(self, rate: float) -> None:
        self.rate, self.now, self.free_at = rate, 0.0, 0.0
        self.written: list[bytes] = []
        self.most_waiting = self._waiting = 0
        self._metadata = None

    def send(self, _: str, *, value: bytes, key: bytes | None, partition: int) -> Any:
        assert (key, partition) == (b"pool", 3)
        began, self._waiting = self.now, self._waiting + len(value)
        self.most_waiting = max(self.most_waiting, self._waiting)
        self.free_at = taken_at = max(self.free_at, self.now) + len(value) / self.rate

        def get(timeout: float) -> Any:
            self.now = min(max(self.now, taken_at), self.now + timeout)
            if self.now < taken_at or taken_at > began + SECONDS:
                raise KafkaTimeoutError("batch expired")
            self.written.append(value)
            self._waiting -= len(value)
            return SimpleNamespace(offset=len(self.written) - 1)

        return SimpleNamespace(get=get)


@pytest.fixture
def appending(monkeypatch: pytest.MonkeyPatch) -> Callable[[Broker], KafkaTopic]:
    def make(broker: Broker) -> KafkaTopic:
        monkeypatch.setattr(kafka_log, "monotonic", lambda: broker.now)
        clients = SimpleNamespace(
            connection=SimpleNamespace(timeout=SECONDS), producer=SimpleNamespace(get=lambda: broker), consumer=SimpleNamespace()
        )
        plan, existing = (
            SimpleNamespace(name="outcomes", partitions=4, compact=False),
            SimpleNamespace(identity="kafka:c:t", retention=None),
        )
        return KafkaTopic(clients, plan, existing, bound=False)  # type: ignore[arg-type]  # no cluster

    return make


def test_a_slow_broker_gets_a_long_append_in_parts(appending: Callable[[Broker], KafkaTopic]) -> None:
    """8 MiB take 80 s here. All at once, those that wait for more than 30 s would fail, and the next try would begin anew."""
    broker = Broker(MIB / 10)
    values = [bytes([i]) * (MIB // 2) for i in range(16)]
    assert appending(broker).append(3, [(b"pool", value) for value in values]) == list(range(16))
    assert broker.written == values
    assert broker.most_waiting == 2 * MIB
    assert broker.now == pytest.approx(80.0)


def test_a_broker_that_does_not_take_a_part_in_time_is_a_retriable_error(appending: Callable[[Broker], KafkaTopic]) -> None:
    broker = Broker(MIB / 20)
    with pytest.raises(LogError, match="append to outcomes") as caught:
        appending(broker).append(3, [(b"pool", b"x" * MIB)] * 4)
    assert caught.value.retriable
    assert broker.now <= SECONDS


@pytest.mark.parametrize("sizes", [[], [1], [2 * MIB], [MIB, MIB], [3 * MIB, 1, 1], [1] * 5])
def test_parts_are_all_records_in_order(sizes: list[int]) -> None:
    records = [(None, b"x" * size) for size in sizes]
    parts = list(kafka_log._in_parts(records))
    assert [record for part in parts for record in part] == records
    assert all(part for part in parts)
