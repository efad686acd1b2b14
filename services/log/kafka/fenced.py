"""A writer of one partition whose earlier writers are fenced, by Kafka's transactions.

Each partition has one transactional id. A claim gives it a new epoch at the broker, which aborts the open transaction of the earlier writer
and refuses all its later requests. Readers with `isolation.level=read_committed` see complete transactions only.

kafka-python 3.0 does not fail a transaction of which one batch could not be delivered in time, so `write` checks each record before it
commits. After any failure the producer is given up, and the next claim makes a new one.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from time import monotonic

from kafka import KafkaProducer
from kafka.cluster import ClusterMetadata

from services.log.kafka.client import Connection, kafka_errors
from services.log.protocol import LogError

_END_SECONDS = 1.0
"""Seconds to wait for the thread of a producer that was given up."""


class KafkaFencedWriter:
    """See `FencedWriter`.

    bind: called by a claim with the metadata that has the present topic of this name. check: called after a write; raises `TopicReplaced`
    if the metadata has another topic than the bound one.
    """

    def __init__(
        self,
        connection: Connection,
        topic: str,
        partition: int,
        bind: Callable[[ClusterMetadata], None],
        check: Callable[[ClusterMetadata], None],
    ) -> None:
        self._connection, self._topic, self._partition = connection, topic, partition
        self._bind, self._check, self._where = bind, check, f"{topic}[{partition}]"
        self._producer: KafkaProducer | None = None

    def claim(self) -> None:
        """See `FencedWriter.claim`."""
        self.close()
        producer = self._connection.producer(f"{self._topic}-{self._partition}")
        try:
            with kafka_errors(f"claim of {self._where}"):
                producer.init_transactions()
                producer.partitions_for(self._topic)  # waits until the metadata has the topic
            self._bind(producer._metadata)  # noqa: SLF001 - there is no public access to the metadata
        except BaseException:
            _give_up(producer)
            raise
        self._producer = producer

    def write(self, records: Sequence[tuple[bytes, bytes | None]]) -> None:
        """See `FencedWriter.write`."""
        producer = self._producer
        if producer is None:
            raise LogError(f"{self._where} was not claimed, or the last write failed: claim it first", retriable=True)
        self._producer = None  # given up unless the write succeeds
        try:
            with kafka_errors(f"write to {self._where}"):
                self._write(producer, records)
            self._check(producer._metadata)  # noqa: SLF001
        except BaseException:
            _give_up(producer)
            raise
        self._producer = producer

    def close(self) -> None:
        """See `FencedWriter.close`."""
        producer, self._producer = self._producer, None
        if producer is not None:
            _give_up(producer)

    def _write(self, producer: KafkaProducer, records: Sequence[tuple[bytes, bytes | None]]) -> None:
        deadline = monotonic() + self._connection.timeout
        producer.begin_transaction()
        sent = [producer.send(self._topic, value=value, key=key, partition=self._partition) for key, value in records]
        for future in sent:
            future.get(timeout=max(0.0, deadline - monotonic()))
        # `commit_transaction` does the same without a time limit: it would wait for ever, even after the producer was closed.
        commit = producer._transaction_manager.begin_commit()  # noqa: SLF001
        producer._sender.wakeup()  # noqa: SLF001
        if not commit.wait(self._connection.timeout_ms):
            raise LogError(f"write to {self._where}: no answer within {self._connection.timeout:g} s", retriable=True)


def _give_up(producer: KafkaProducer) -> None:
    """End a producer at once, without sending what it holds."""
    sender = producer._sender  # noqa: SLF001 - `close` alone would wait for undelivered records, or leave its thread running
    sender.force_close()
    sender.join(_END_SECONDS)
    with suppress(Exception):  # it failed already, and nothing of it is used any more
        producer.close(timeout=0)
