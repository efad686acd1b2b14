"""The clients that the topics of a Kafka log share: no call waits for another's question, and a closed log makes no client."""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from kafka import TopicPartition
from kafka.errors import KafkaConnectionError

from services.log.kafka import client as kafka_client
from services.log.kafka.client import Clients, Connection, Shared
from services.log.kafka.log import KafkaTopic
from services.log.kafka.topics import TopicFound, plans
from services.log.protocol import LogError
from services.runtime.deadlines import start
from tests.support.waiting import PATIENCE


class Client:
    """A consumer and a producer. A question for the end of partition 0 waits until the client is closed."""

    def __init__(self, **_: Any) -> None:
        self.asked, self.closed = threading.Event(), threading.Event()

    def end_offsets(self, wheres: Sequence[TopicPartition], timeout_ms: int) -> dict[TopicPartition, int]:
        if wheres[0].partition == 0:
            self.asked.set()
            assert self.closed.wait(PATIENCE)
            raise KafkaConnectionError("Event loop stopped")
        return dict.fromkeys(wheres, 7)

    def commit(self, offsets: object, timeout_ms: int) -> None:
        return

    def send(self, *_: object, **__: object) -> Any:
        return SimpleNamespace(get=lambda timeout: SimpleNamespace(offset=7))

    def close(self, **_: object) -> None:
        self.closed.set()


@pytest.fixture
def clients(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clients]:
    for name in ("KafkaConsumer", "KafkaProducer"):
        monkeypatch.setattr(kafka_client, name, Client)
    made = Clients(Connection("broker:9092"), "lag")
    yield made
    made.close()


@pytest.fixture
def topic(clients: Clients) -> KafkaTopic:
    return KafkaTopic(clients, plans("", 2)["outcomes"], TopicFound("kafka:cluster:id", None), bound=False)


def test_a_question_without_an_answer_delays_nothing_else_and_ends_with_the_log(clients: Clients, topic: KafkaTopic) -> None:
    question = start(partial(topic.end, 0), "question")
    consumer: Any = clients.consumer.get()
    assert consumer.asked.wait(PATIENCE)
    other = start(lambda: (topic.end(1), topic.append(0, [(None, b"x")]), topic.commit({1: 7})), "other")
    assert other.result(PATIENCE) == (7, [7], None)
    assert not question.done()
    clients.close()
    with pytest.raises(LogError, match="Event loop stopped") as caught:
        question.result(PATIENCE)
    assert caught.value.retriable


def test_a_client_that_is_closed_under_a_question_is_an_error_of_the_log(topic: KafkaTopic, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(*_: object, **__: object) -> None:
        raise RuntimeError("NetworkSelector closed!")

    monkeypatch.setattr(Client, "end_offsets", closed)
    with pytest.raises(LogError, match=r"end of outcomes\[1\]: NetworkSelector closed!"):
        topic.end(1)


def test_a_closed_log_makes_no_client(clients: Clients, topic: KafkaTopic) -> None:
    clients.close()
    for call in (lambda: topic.end(1), lambda: topic.commit({1: 7}), lambda: topic.append(0, [(None, b"x")])):
        with pytest.raises(LogError, match="this log is closed"):
            call()


def test_threads_that_come_at_once_get_the_same_client() -> None:
    together, made = threading.Barrier(4), list[object]()
    shared = Shared(lambda: made.append(object()) or made[-1])  # type: ignore[func-returns-value]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: (together.wait(PATIENCE), shared.get())[1], range(4)))
    assert [id(one) for one in found] == [id(made[0])] * 4
    assert (shared.take(), shared.take()) == (made[0], None)
