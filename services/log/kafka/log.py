"""The log on Kafka: producers and consumers of kafka-python, with manual assignment.

Delivery: an append returns when all in-sync replicas have the records (acks=all, idempotent producer). A retried append can write records
twice; ids make that harmless. A reader starts at the positions that the caller gives; it does not use a consumer group.
Durability: topics created with three or more replicas have min.insync.replicas=2, so records survive the loss of a broker. Existing topics
may have weaker settings.
Unit of parallelism: the partition.
Not guaranteed: order between partitions, and dense offsets. Kafka compacts the control topic by key and removes superseded records.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from time import monotonic, sleep

from kafka import KafkaConsumer, TopicPartition
from kafka.cluster import ClusterMetadata
from kafka.consumer.fetcher import ConsumerRecord
from kafka.errors import LogTruncationError, OffsetOutOfRangeError
from kafka.structs import OffsetAndMetadata

from services.log.kafka.client import Clients, Connection, Shared, kafka_errors
from services.log.kafka.fenced import KafkaFencedWriter
from services.log.kafka.topics import TopicFound, TopicPlan, ensure_topics, identity, plans, ratings_plan
from services.log.protocol import Log, LogError, OffsetLost, Record, Retention, TopicReplaced
from services.log.records import TopicRecords, check_partition, check_partitions, check_positions, check_records
from services.runtime.settings import TOPIC_PREFIX

_ASK_AGAIN_SECONDS = 0.1
_AT_ONCE_BYTES = 2 << 20
_COMMIT_MS = 5000
"""Deadline of a commit in milliseconds."""


def open_kafka_log(
    connection: Connection,
    partitions: int,
    *,
    group: str = "equirank",
    create: bool = True,
    replication: int = -1,
    topic_prefix: str = TOPIC_PREFIX,
    ratings: bool = False,
) -> Log:
    """Open the log on a cluster.

    Args:
        connection: Address and options of the cluster.
        partitions: Number of partitions of the outcomes topic.
        group: Consumer group under which positions are committed, for tools that monitor lag.
        create: Whether missing topics are created.
        replication: Number of replicas of created topics; -1 for the cluster's default.
        topic_prefix: Prefix of the topics' names.
        ratings: Whether there is a topic of ratings.

    Raises:
        LogError: Retriable if no broker answers; not retriable if a topic has other partitions or unsuitable settings.

    """
    check_partitions(partitions)
    topics = plans(topic_prefix, partitions) | ({"ratings": ratings_plan(topic_prefix, partitions)} if ratings else {})
    existing = _find_or_create_topics(connection, list(topics.values()), create=create, replication=replication)
    clients = Clients(connection, group)
    made = {
        name: KafkaTopic(
            clients, plan, existing[plan.name], bound=name != "dead-letters", consumer=clients.control if name == "control" else None
        )
        for name, plan in topics.items()
    }
    return Log(
        outcomes=made["outcomes"],
        control=made["control"],
        dead_letters=made["dead-letters"],
        close=clients.close,
        weaknesses=[weakness for topic in existing.values() for weakness in topic.weaknesses],
        ratings=made.get("ratings"),
    )


def _find_or_create_topics(connection: Connection, topics: Sequence[TopicPlan], *, create: bool, replication: int) -> dict[str, TopicFound]:
    until = monotonic() + connection.timeout
    with closing(connection.admin()) as admin:
        while True:
            try:
                return ensure_topics(admin, topics, create=create, replication=replication)
            except LogError as error:
                # kafka-python sends the request to any known broker, even a dead one or one without the new topics, and tries no other.
                if not error.retriable or monotonic() >= until:
                    raise
                sleep(_ASK_AGAIN_SECONDS)


class KafkaTopic:
    """One topic. Threads can share it, and processes after a fork (each makes its own clients).

    Args:
        clients: Clients of the log, for appends, questions and commits.
        plan: Name and shape of the topic.
        existing: Identity and retention of the topic.
        bound: Whether an append raises an error if the topic was replaced by another one. False for dead letters.
        consumer: For questions; None for the one that topics share.
    """

    def __init__(
        self,
        clients: Clients,
        plan: TopicPlan,
        existing: TopicFound,
        *,
        bound: bool = True,
        consumer: Shared[KafkaConsumer] | None = None,
    ) -> None:
        self._clients, self._keyed, self._bound = clients, plan.compact, bound
        self._consumer = consumer or clients.consumer
        self.name, self.partitions, self.identity = plan.name, plan.partitions, existing.identity
        self.retention: Retention | None = existing.retention
        """See `Forgets`."""
        self.unread = 0
        """See `Grows`."""

    def append(self, partition: int, records: Sequence[tuple[bytes | None, bytes]]) -> list[int]:
        """See `Topic.append`. The error after a timeout is retriable; the records may have been written nevertheless.

        Records wait in the producer from when they are sent, and its time limit counts from then. So more than `_AT_ONCE_BYTES` are sent in
        parts, each with the time limit of a call: a slow broker that makes progress gets all of them. The append of one request of the API
        is one part.

        Raises `TopicReplaced` if the records were written to another topic that replaced this one.
        """
        check_partition(self.name, partition, self.partitions)
        check_records(self.name, records, keyed=self._keyed)
        producer, offsets = self._clients.producer.get(), list[int]()
        with kafka_errors(f"append to {self.name}[{partition}]"):
            for part in _in_parts(records):
                deadline = monotonic() + self._clients.connection.timeout
                sent = [producer.send(self.name, value=value, key=key, partition=partition) for key, value in part]
                offsets += [future.get(timeout=max(0.0, deadline - monotonic())).offset for future in sent]
        if self._bound:
            self.check_identity(producer._metadata)  # noqa: SLF001 - there is no public access to the metadata
        return offsets

    def reader(self, positions: Mapping[int, int]) -> "KafkaReader":
        """See `Topic.reader`."""
        check_positions(self.name, positions, self.partitions)
        return KafkaReader(self, self._clients.connection.consumer(None), positions)

    def fenced_writer(self, partition: int) -> KafkaFencedWriter:
        """See `FencedTopic.fenced_writer`."""
        check_partition(self.name, partition, self.partitions)
        return KafkaFencedWriter(self._clients.connection, self.name, partition, self.bind, self.check_identity)

    def begin(self, partition: int) -> int:
        """See `Topic.begin`."""
        where = self._topic_partition(partition)
        with self._consumer_for(f"begin of {self.name}[{partition}]") as consumer:
            return int(consumer.beginning_offsets([where], timeout_ms=self._clients.connection.timeout_ms)[where])

    def end(self, partition: int) -> int:
        """See `Topic.end`. It is the last stable offset, so records of open transactions and all later records are excluded."""
        where = self._topic_partition(partition)
        with self._consumer_for(f"end of {self.name}[{partition}]") as consumer:
            return int(consumer.end_offsets([where], timeout_ms=self._clients.connection.timeout_ms)[where])

    def commit(self, positions: Mapping[int, int]) -> None:
        """Commit the positions as offsets of the consumer group. See `CommitsPositions`."""
        offsets = {self._topic_partition(partition): OffsetAndMetadata(position, "", -1) for partition, position in positions.items()}
        with self._consumer_for(f"commit of positions in {self.name}") as consumer:
            consumer.commit(offsets, timeout_ms=min(_COMMIT_MS, self._clients.connection.timeout_ms))

    def make_offset_error(self, partition: int, offset: int) -> LogError:
        """Error for an offset that is not in the log: `TopicReplaced` if the topic was replaced, else `OffsetLost`."""
        with closing(self._clients.connection.admin()) as admin:
            present = identity(admin, self.name)
        if present is not None and present != self.identity:
            return TopicReplaced(self.name, self.identity, present)
        return OffsetLost(self.name, partition, offset, self.begin(partition), self.end(partition))

    def bind(self, cluster: ClusterMetadata) -> None:
        """Continue on the topic that has this name in a client's metadata, whether or not it replaced the one that was opened."""
        if (topic_id := cluster.topic_id(self.name)) is not None:
            self.identity = f"{self.identity.rpartition(':')[0]}:{topic_id}"

    def check_identity(self, cluster: ClusterMetadata) -> None:
        """Raise `TopicReplaced` if a client's metadata, at most `METADATA_SECONDS` old, has another topic of this name.

        Otherwise update `unread` from the topic's number of partitions.

        The check is needed because clients fetch and send by name: they would continue on the new topic at the offsets of the old one.
        """
        topic_id = cluster.topic_id(self.name)
        if topic_id is not None and not self.identity.endswith(f":{topic_id}"):
            raise TopicReplaced(self.name, self.identity, f"{self.identity.rpartition(':')[0]}:{topic_id}")
        if (partitions := cluster.partitions_for_topic(self.name)) is not None:
            self.unread = max(0, len(partitions) - self.partitions)

    @contextmanager
    def _consumer_for(self, doing: str) -> Iterator[KafkaConsumer]:
        """The consumer for a question. Raises `LogError`. doing: the operation, for the message."""
        with kafka_errors(doing):
            try:
                yield self._consumer.get()
            except RuntimeError as error:  # kafka-python's error for a client that is closed meanwhile
                raise LogError(f"{doing}: {error}", retriable=False) from error

    def _topic_partition(self, partition: int) -> TopicPartition:
        check_partition(self.name, partition, self.partitions)
        return TopicPartition(self.name, partition)


class KafkaReader:
    """Reads partitions of one topic with its own consumer. While no broker answers, polls return no records."""

    def __init__(self, topic: KafkaTopic, consumer: KafkaConsumer, positions: Mapping[int, int]) -> None:
        self._topic, self._consumer, self._closed = topic, consumer, False
        self._positions = dict(positions)
        try:
            self._seek()
        except BaseException:
            self.close()
            raise

    def poll(self, timeout: float, max_records: int) -> dict[int, TopicRecords]:
        """See `Reader.poll`."""
        if max_records < 1:
            raise LogError(f"max_records must be at least 1, not {max_records}", retriable=False)
        if self._closed:
            raise LogError(f"this reader of {self._topic.name} is closed", retriable=False)
        with self._reading():
            batches = self._consumer.poll(timeout_ms=max(0, int(timeout * 1000)), max_records=max_records)
        self._topic.check_identity(self._consumer._cluster)  # noqa: SLF001 - there is no public access to the metadata
        for where, records in batches.items():
            self._positions[where.partition] = records[-1].offset + 1
        return {where.partition: TopicRecords(map(_record, records)) for where, records in batches.items()}

    def position(self, partition: int) -> int:
        """See `Reader.position`."""
        with self._reading():
            next_offset = self._consumer.position(TopicPartition(self._topic.name, partition), timeout_ms=0)
        return self._positions[partition] if next_offset is None else max(self._positions[partition], int(next_offset))

    def close(self) -> None:
        """Close the consumer."""
        self._closed = True
        self._consumer.close(autocommit=False)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with kafka_errors(f"reading {self._topic.name}"):
            try:
                yield
            except OffsetOutOfRangeError as error:
                where, offset = next(iter(error.args[0].items()))  # of several lost offsets, one is reported
                raise self._topic.make_offset_error(where.partition, offset) from error
            except LogTruncationError as error:
                where = next(iter(error.divergent_offsets))
                raise self._topic.make_offset_error(where.partition, self._positions[where.partition]) from error

    def _seek(self) -> None:
        places = {TopicPartition(self._topic.name, partition): position for partition, position in self._positions.items()}
        self._consumer.assign(list(places))
        for where, position in places.items():
            if position < 0:
                raise self._topic.make_offset_error(where.partition, position)
            self._consumer.seek(where, position)


def _in_parts(records: Sequence[tuple[bytes | None, bytes]]) -> Iterator[Sequence[tuple[bytes | None, bytes]]]:
    """The records in order, in parts that end as soon as their values have `_AT_ONCE_BYTES`."""
    first = size = 0
    for end, (_, value) in enumerate(records, 1):
        size += len(value)
        if size >= _AT_ONCE_BYTES or end == len(records):
            yield records[first:end]
            first, size = end, 0


def _record(record: ConsumerRecord) -> Record:
    # A null value (a tombstone of another producer) becomes an empty value, so that the decoder refuses the record.
    return Record(record.offset, record.value or b"", record.timestamp / 1000, record.key)
