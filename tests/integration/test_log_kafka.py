"""What only Kafka has: producers that are not ours, compression, transactions, retention, recreated topics."""

import gc
import os
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial

import pytest
from kafka import KafkaProducer
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient
from kafka.codec import has_snappy
from kafka.record import default_records
from kafka.structs import TopicPartition

from services.log.kafka.batches import MAX_BATCH_BYTES
from services.log.kafka.client import OPTIONS, Connection
from services.log.kafka.log import KafkaTopic, open_kafka_log
from services.log.partition import partition_of
from services.log.protocol import (
    BatchDamaged,
    CommitsPositions,
    Forgets,
    Grows,
    LogError,
    OffsetLost,
    Reader,
    Retention,
    Topic,
    TopicReplaced,
)
from services.log.records import MAX_RECORD_BYTES
from services.runtime.deadlines import start
from services.shard.slices import slices
from tests.support.bombs import compressed, peak_memory, record_bytes
from tests.support.kafka import RUN, kafka, leased_broker  # noqa: F401 - a fixture
from tests.support.log_laws import PARTITIONS, PATIENCE, KafkaBackend, read, values
from tests.support.worker import until

# kafka-python leaves a socket whose connecting failed to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
SNAPPY = pytest.mark.skipif(not has_snappy(), reason="python-snappy of the lock is not installed: run scripts/bootstrap")
POOLS = ["blitz", "atari", "football", "acme.blitz", "demo-games", "x", "y", "z_1"]


@pytest.fixture(autouse=True)
def _collected() -> Iterator[None]:
    yield
    gc.collect()


@pytest.fixture
def backend(kafka: str) -> Iterator[KafkaBackend]:  # noqa: F811
    backend = KafkaBackend(kafka)
    yield backend
    backend.close()


@pytest.fixture
def admin(kafka: str) -> Iterator[KafkaAdminClient]:  # noqa: F811
    admin = KafkaAdminClient(bootstrap_servers=kafka)
    yield admin
    admin.close()


def produce(bootstrap: str, topic: str, records: list[tuple[str, bytes]], **settings: object) -> list[tuple[int, int]]:
    """What somebody else's producer does: key = pool, the default partitioner; (partition, offset) of each."""
    producer = KafkaProducer(bootstrap_servers=bootstrap, **settings)
    try:
        futures = [producer.send(topic, key=pool.encode(), value=value) for pool, value in records]
        producer.flush(PATIENCE)
        return [(sent.partition, sent.offset) for sent in (future.get(PATIENCE) for future in futures)]
    finally:
        producer.close()


def everything(topic: KafkaTopic, count: int) -> dict[int, list[bytes]]:
    found = read(topic, dict.fromkeys(range(topic.partitions), 0), count)
    return {partition: values(records) for partition, records in found.items()}


def test_a_foreign_producer_lands_where_the_pool_lives(backend: KafkaBackend) -> None:
    topic = backend.open().outcomes
    places = produce(backend.bootstrap, topic.name, [(pool, pool.encode()) for pool in POOLS])
    assert [partition for partition, _ in places] == [partition_of(pool, PARTITIONS) for pool in POOLS]
    found = everything(topic, len(POOLS))
    assert {value: partition for partition, here in found.items() for value in here} == {
        pool.encode(): partition_of(pool, PARTITIONS) for pool in POOLS
    }


@pytest.mark.parametrize("codec", ["gzip", "lz4", "zstd", pytest.param("snappy", marks=SNAPPY)])
def test_compressed_batches_are_read(backend: KafkaBackend, codec: str) -> None:
    topic = backend.open().outcomes
    wanted = [b'{"v":1,"n":%d}' % index * 30 for index in range(300)] + [b"{}" * 500_000]
    produce(backend.bootstrap, topic.name, [("blitz", value) for value in wanted], compression_type=codec, linger_ms=20)
    partition = partition_of("blitz", PARTITIONS)
    assert values(read(topic, {partition: 0}, len(wanted))[partition]) == wanted


@pytest.mark.parametrize("codec", ["gzip", "lz4", "zstd"])
def test_a_batch_that_would_fill_the_memory_is_refused_with_its_offsets(
    backend: KafkaBackend, codec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Snappy is not among them: the topic takes no batch of it that is as large when unpacked."""
    topic = backend.open().outcomes
    topic.append(1, [(None, b"before")] * 3)
    size = MAX_BATCH_BYTES if codec == "lz4" else 5 * MAX_BATCH_BYTES
    bomb = compressed(codec, record_bytes(size))
    with monkeypatch.context() as patch:
        patch.setattr(default_records, f"{codec}_encode", lambda data: bomb)
        producer = KafkaProducer(bootstrap_servers=backend.bootstrap, compression_type=codec, max_request_size=1 << 21)
        sent = producer.send(topic.name, value=b" " * (len(bomb) + 1000), partition=1).get(PATIENCE)
        producer.close()
    assert sent.offset == 3
    topic.append(1, [(None, b"after")])
    reader = topic.reader({0: 0, 1: 0})
    with peak_memory() as peak, pytest.raises(BatchDamaged, match="holds more than 67108864 bytes after decompression") as caught:
        _poll_for_ten_seconds(reader)
    reader.close()
    assert (caught.value.partition, caught.value.begin, caught.value.end, caught.value.retriable) == (1, 3, 4, False)
    assert peak() < 3 * MAX_BATCH_BYTES
    assert values(read(topic, {1: 4}, 1)[1]) == [b"after"]


def test_one_poll_brings_a_slice_of_the_largest_records(backend: KafkaBackend) -> None:
    topic = backend.open().outcomes
    wanted = [bytes([number]) * MAX_RECORD_BYTES for number in range(10)]
    for value in wanted:
        topic.append(0, [(None, value)])
    with closing(topic.reader({0: 0})) as reader:
        [records] = reader.poll(PATIENCE, 100).values()
    assert values(records) == wanted[:4]
    assert [len(part) for part in slices(records)] == [4]


def test_a_null_value_reads_as_empty(backend: KafkaBackend) -> None:
    topic = backend.open().outcomes
    producer = KafkaProducer(bootstrap_servers=backend.bootstrap)
    producer.send(topic.name, key=b"k", value=None, partition=0).get(PATIENCE)
    producer.close()
    (record,) = read(topic, {0: 0}, 1)[0]
    assert (record.key, record.value) == (b"k", b"")


def test_open_transactions_hide_and_aborted_ones_never_show(backend: KafkaBackend) -> None:
    topic = backend.open().outcomes
    producer = KafkaProducer(bootstrap_servers=backend.bootstrap, transactional_id=f"{backend.prefix}tx")
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(topic.name, value=b"aborted", partition=0)
    producer.flush(PATIENCE)
    (after,) = topic.append(0, [(None, b"plain")])
    assert after == 1
    assert topic.end(0) == 0, "the last stable offset is before the open transaction"
    producer.abort_transaction()
    producer.begin_transaction()
    producer.send(topic.name, value=b"committed", partition=0)
    producer.commit_transaction()
    producer.close()
    found = read(topic, {0: 0}, 2)[0]
    assert values(found) == [b"plain", b"committed"]
    assert found[0].offset == 1
    assert found[1].offset < topic.end(0)


def test_a_position_that_retention_overran_is_lost_also_in_the_middle(backend: KafkaBackend, admin: KafkaAdminClient) -> None:
    topic = backend.open().outcomes
    topic.append(0, [(None, b"%d" % index) for index in range(20)])
    reader = topic.reader({0: 5})
    admin.delete_records({TopicPartition(topic.name, 0): 12})
    with pytest.raises(OffsetLost) as caught:
        _poll_for_ten_seconds(reader)
    reader.close()
    error = caught.value
    assert (error.topic, error.partition, error.offset, error.begin, error.end) == (topic.name, 0, 5, 12, 20)
    assert topic.begin(0) == 12
    assert values(read(topic, {0: 12}, 8)[0]) == [b"%d" % index for index in range(12, 20)]


def test_a_recreated_topic_is_another_log(backend: KafkaBackend, admin: KafkaAdminClient) -> None:
    topic = backend.open().outcomes
    topic.append(0, [(None, b"old")])
    reader = topic.reader({0: 0})
    assert values(reader.poll(PATIENCE, 1)[0]) == [b"old"]
    admin.delete_topics([topic.name])
    _until_gone(admin, topic.name)
    other = backend.open().outcomes
    assert other.name == topic.name
    assert other.identity != topic.identity
    assert other.identity.rpartition(":")[0] == topic.identity.rpartition(":")[0]
    other.append(0, [(None, b"new"), (None, b"newer")])
    # kafka-python fetches by name and holds the topic's id for a while: records may slip through until it looks again.
    with pytest.raises(LogError) as caught:
        _poll_for_ten_seconds(reader)
    assert not caught.value.retriable
    reader.close()


def test_partitions_that_are_added_are_known_to_those_who_read_and_write(backend: KafkaBackend, admin: KafkaAdminClient) -> None:
    reading, writing = (backend.open().outcomes for _ in range(2))
    assert isinstance(reading, Grows)
    assert isinstance(writing, Grows)
    assert (reading.unread, writing.unread) == (0, 0)
    admin.create_partitions({reading.name: PARTITIONS + 2})
    deadline = time.monotonic() + PATIENCE
    reader = reading.reader({0: 0})
    try:
        while (reading.unread, writing.unread) != (2, 2):
            assert time.monotonic() < deadline
            writing.append(0, [(None, b"x")])
            reader.poll(0.1, 10)
    finally:
        reader.close()
    with pytest.raises(LogError, match=f"has {PARTITIONS + 2} partitions, not {PARTITIONS}"):
        backend.open()


def test_nothing_is_acknowledged_for_long_that_a_recreated_topic_took(backend: KafkaBackend, admin: KafkaAdminClient) -> None:
    topic = backend.open().outcomes
    topic.append(0, [(None, b"old")])
    admin.delete_topics([topic.name])
    _until_gone(admin, topic.name)
    other = backend.open().outcomes
    with pytest.raises(TopicReplaced, match="was replaced") as caught:
        _append_for_ten_seconds(topic)
    assert (caught.value.opened, caught.value.found, caught.value.retriable) == (topic.identity, other.identity, False)


def _append_for_ten_seconds(topic: Topic) -> None:
    for _ in range(100):
        topic.append(0, [(None, b"for the old one")])
        time.sleep(0.1)


def _poll_for_ten_seconds(reader: Reader) -> None:
    for _ in range(20):
        reader.poll(0.5, 100)


def _until_gone(admin: KafkaAdminClient, name: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while admin.describe_topics([name])[0]["error_code"] == 0:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_topics_are_made_as_the_log_needs_them(backend: KafkaBackend, admin: KafkaAdminClient) -> None:
    log = backend.open()
    names = [topic.name for topic in (log.outcomes, log.control, log.dead_letters)]
    described = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, name) for name in names], config_filter="all")["topic"]
    for name in names:
        config = {key: entry["value"] for key, entry in described[name].items()}
        assert config["cleanup.policy"] == ("compact" if name.endswith("control") else "delete")
        assert (config["retention.ms"], config["retention.bytes"], config["message.timestamp.type"]) == ("-1", "-1", "LogAppendTime")


def test_missing_topics_are_named_where_none_may_be_made(backend: KafkaBackend) -> None:
    with pytest.raises(LogError, match=f"no topics {backend.prefix}outcomes.*make them first") as caught:
        backend.open(create=False)
    assert not caught.value.retriable
    backend.open()
    assert backend.open(create=False).outcomes.partitions == PARTITIONS


def test_a_compacted_outcomes_topic_is_refused(backend: KafkaBackend, admin: KafkaAdminClient) -> None:
    admin.create_topics({f"{backend.prefix}outcomes": {"num_partitions": PARTITIONS, "configs": {"cleanup.policy": "compact"}}})
    with pytest.raises(LogError, match="compacted, which drops records") as caught:
        backend.open()
    assert not caught.value.retriable


def test_what_a_topic_forgets_is_known(backend: KafkaBackend, admin: KafkaAdminClient, caplog: pytest.LogCaptureFixture) -> None:
    configs = {"retention.ms": "86400000", "retention.bytes": "1000000"}
    admin.create_topics({f"{backend.prefix}outcomes": {"num_partitions": PARTITIONS, "configs": configs}}, wait_for_metadata=True)
    with caplog.at_level("WARNING", logger="services.log.kafka.topics"):
        log = backend.open()
    assert isinstance(log.outcomes, Forgets)
    assert isinstance(log.dead_letters, Forgets)
    assert (log.outcomes.retention, log.dead_letters.retention) == (Retention(86400.0, 1_000_000), None)
    assert "forgets" not in caplog.text, "that depends on the archive: the engine says it at its start"
    assert [record.message for record in caplog.records if "producers' clocks" in record.message]


def test_a_control_topic_that_forgets_is_refused(backend: KafkaBackend, admin: KafkaAdminClient) -> None:
    configs = {"cleanup.policy": "compact,delete", "retention.ms": "86400000"}
    admin.create_topics({f"{backend.prefix}control": {"num_partitions": 1, "configs": configs}}, wait_for_metadata=True)
    with pytest.raises(LogError, match="needed for ever; set its") as caught:
        backend.open()
    assert not caught.value.retriable


def test_impossible_replication_is_said_plainly(backend: KafkaBackend) -> None:
    with pytest.raises(LogError, match="InvalidReplicationFactor") as caught:
        backend.open(replication=3)
    assert not caught.value.retriable


def test_committed_positions_are_there_for_lag_tools(backend: KafkaBackend, admin: KafkaAdminClient) -> None:
    group = f"{backend.prefix}group"
    topic = backend.open(group=group).outcomes
    assert isinstance(topic, CommitsPositions)
    topic.append(0, [(None, b"x")] * 5)
    topic.commit({0: 3, 1: 0})
    offsets = admin.list_group_offsets({group: [TopicPartition(topic.name, 0), TopicPartition(topic.name, 1)]})[group]
    assert {where.partition: offset.offset for where, offset in offsets.items()} == {0: 3, 1: 0}
    assert [record.offset for record in read(topic, {0: 1}, 4)[0]] == [1, 2, 3, 4], "reading does not care"


def test_options_are_checked(backend: KafkaBackend) -> None:
    with pytest.raises(LogError, match="unknown Kafka options sasl_pasword") as caught:
        backend.open(options={"sasl_pasword": "x"})
    assert not caught.value.retriable
    with pytest.raises(LogError, match="refused") as caught:
        backend.open(options={"security_protocol": "SSL", "ssl_cafile": "/nowhere/ca.pem"})
    assert not caught.value.retriable
    with pytest.raises(LogError, match="timeout"):
        backend.open(timeout=0.1)
    with pytest.raises(LogError, match="no address"):
        open_kafka_log(Connection(""), 1)
    backend.open(options={"client_id": "mine"})
    assert not {"acks", "enable_auto_commit", "auto_offset_reset", "isolation_level", "allow_auto_create_topics"} & OPTIONS


def test_a_fork_has_its_own_clients(backend: KafkaBackend) -> None:
    topic = backend.open().outcomes
    assert topic.append(0, [(None, b"parent")]) == [0]
    child = os.fork()
    if child == 0:
        # Only the exit code leaves the child.
        os._exit(0 if topic.append(0, [(None, b"child")]) == [1] and topic.end(0) == 2 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert topic.append(0, [(None, b"parent")]) == [2]


def test_a_question_without_an_answer_delays_nothing_else_and_ends_with_the_log(
    backend: KafkaBackend, caplog: pytest.LogCaptureFixture
) -> None:
    log = backend.open()
    log.outcomes.partitions += 1  # the broker has no such partition, so no broker leads it
    with caplog.at_level("DEBUG", logger="kafka.consumer.fetcher"):
        question = start(partial(log.outcomes.end, PARTITIONS), "question")
        until(lambda: "is unknown for fetching offset" in caplog.text, "the client looks for a leader")
    assert isinstance(log.outcomes, CommitsPositions)
    for topic in (log.outcomes, log.control, log.dead_letters):
        assert topic.append(0, [(b"k", b"x")]) == [0]
        assert (topic.begin(0), topic.end(0)) == (0, 1)
        assert values(read(topic, {0: 0}, 1)[0]) == [b"x"]
    log.outcomes.commit({0: 1})
    assert not question.done()
    log.close()
    with pytest.raises(LogError, match=r"closed|Event loop stopped"):
        question.result(PATIENCE)
    with pytest.raises(LogError, match="this log is closed"):
        log.outcomes.end(0)


def test_nobody_there_is_retriable() -> None:
    with pytest.raises(LogError, match="no connection to Kafka") as caught:
        open_kafka_log(Connection("127.0.0.1:1", timeout=1.0), 1)
    assert caught.value.retriable
