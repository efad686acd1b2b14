"""A clock that is put back or forward by an hour while a shard works: whatever the shard does goes on, as nothing is due by that clock."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from services.boards.store.protocol import Fence, LiveBoard, PoolHead, StoreError
from services.checkpoints.checkpoint import CheckpointStore
from services.control.log import ControlLog
from services.control.records import Takeover
from services.demo import simulated
from services.log.protocol import Log
from services.log.sqlite.log import open_sqlite_log
from services.runtime.settings import Settings
from services.shard.fencing import Fenced
from services.shard.health import PartitionHealth
from services.shard.worker import ShardWorker
from services.wire import events
from tests.support.waiting import PATIENCE

HOUR = 3600.0
START = 1.8e9
ROUNDS = 2000


class Shelf:
    """A store that keeps heads, and takes nothing while it is `away`."""

    def __init__(self) -> None:
        self.heads: dict[str, PoolHead] = {}
        self.away = False

    def head(self, pool: str) -> PoolHead | None:
        return self.heads.get(pool)

    def published(self, pool: str) -> Fence | None:
        return None

    def pools(self) -> list[PoolHead]:
        return list(self.heads.values())

    def forget(self, pool: str, epoch: int) -> bool:
        raise NotImplementedError

    def publish(self, head: PoolHead, epoch: int, boards: Mapping[str, LiveBoard]) -> bool:
        if self.away:
            raise StoreError("no answer", retriable=True)
        self.heads[head.pool] = head
        return True


class Driven:
    """A worker of one partition, driven round by round. Each round takes 50 ms by its timer; `wall` is what the clock says besides."""

    def __init__(self, folder: Path, log: Log) -> None:
        self.now, self.wall, self.log, self.store = 0.0, START, log, Shelf()
        settings = Settings(data=folder, partitions=1, retraction_seconds=1.0, checkpoint_seconds=0.5)
        self.files = CheckpointStore(settings.checkpoint_url)
        self.worker = ShardWorker(settings, [0], "driven", log, self.store, lambda: self.wall + self.now, lambda: self.now)
        self.worker._take_over()

    def rounds(self, what: str, done: Any) -> int:
        """Rounds until `done`."""
        for count in range(ROUNDS):
            if done():
                return count
            self.worker._round()
            self.now += 0.05
            self.finish()
        pytest.fail(f"did not happen in {ROUNDS} rounds: {what}")

    def finish(self) -> None:
        """Wait for what the round began beside itself, so that rounds are of one length."""
        maintenance = self.worker._maintenance
        questions = maintenance.watch._measurement.questions.values()
        jobs = (maintenance.publisher._job, self.worker._owned.runtimes[0].checkpointer._job, *questions)
        for job in jobs:
            if job is not None:
                job.exception(PATIENCE)

    @property
    def head(self) -> PoolHead:
        return self.store.heads[simulated.POOL]

    @property
    def told(self) -> PartitionHealth:
        return self.worker.health().partitions[0]

    def close(self) -> None:
        self.worker._feed.close()
        owned = self.worker._owned.runtimes[0]
        owned.builder.close()
        owned.checkpointer._executor.shutdown()
        self.worker._maintenance.publisher._executor.shutdown()
        self.worker._control.close()


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    log = open_sqlite_log(tmp_path / "log.sqlite", 1)
    yield log
    log.close()


@pytest.fixture
def driven(tmp_path: Path, log: Log) -> Iterator[Driven]:
    one = Driven(tmp_path, log)
    yield one
    one.close()


def play(log: Log, start: int, stop: int) -> None:
    games = [simulated.game(i, float(i)) for i in range(start, stop)]
    log.outcomes.append(0, [(simulated.POOL.encode(), record) for record in events.encode_records(games, 10)])


def shown(driven: Driven, outcomes: int) -> Any:
    return lambda: simulated.POOL in driven.store.heads and driven.head.outcomes == outcomes


@pytest.fixture(params=[-HOUR, HOUR], ids=["back", "forward"])
def stepped(request: pytest.FixtureRequest, driven: Driven) -> Driven:
    """One that has published and checkpointed, and whose clock was then put to another time."""
    play(driven.log, 0, 100)
    driven.rounds("a first checkpoint of what readers see", lambda: shown(driven, 100)() and driven.told.checkpoint == 10)
    driven.wall += request.param
    return driven


def test_publication_and_checkpoints_go_on_at_their_pace(stepped: Driven) -> None:
    play(stepped.log, 100, 200)
    assert stepped.rounds("published", shown(stepped, 200)) <= 10
    assert stepped.head.published_at == pytest.approx(stepped.wall + stepped.now, abs=0.2), "by the clock as it is now"
    stepped.rounds("a checkpoint", lambda: stepped.told.checkpoint == 20)
    newest = stepped.files.newest(0)
    assert newest is not None
    assert newest.written_at == pytest.approx(stepped.wall + stepped.now, abs=1.0)
    assert newest.written_at == stepped.told.checkpoint_at


def test_a_store_that_lost_a_pool_at_rest_has_it_again_in_seconds(stepped: Driven) -> None:
    stepped.store.heads.clear()
    assert stepped.rounds("looked after", shown(stepped, 100)) <= 60


def test_a_store_that_came_back_is_written_to_at_once(stepped: Driven) -> None:
    stepped.store.away = True
    play(stepped.log, 100, 200)
    stepped.rounds("it failed", lambda: stepped.worker.health().counters["store_failures"] > 0)
    stepped.store.away = False
    assert stepped.rounds("published", shown(stepped, 200)) <= 20


def test_another_owner_is_noticed_at_once(stepped: Driven) -> None:
    control = ControlLog(stepped.log.control)
    control.append(Takeover(partition=0, owner="another", time=START))
    control.close()
    began = stepped.now
    with pytest.raises(Fenced):
        stepped.rounds("fenced", lambda: False)
    assert stepped.now - began < 0.5


def test_a_retraction_is_heeded_as_soon_as_ever(stepped: Driven) -> None:
    retraction = {"v": 1, "id": "r", "pool": simulated.POOL, "time": 0.0, "retracts": simulated.game(5, 5.0).id}
    stepped.log.outcomes.append(0, [(simulated.POOL.encode(), msgspec.json.encode(retraction))])
    assert stepped.rounds("its outcome does not count", shown(stepped, 99)) <= 120
    assert stepped.head.generation == 2


def test_a_lag_is_told_by_the_timer_where_the_log_is_ahead_of_the_clock(stepped: Driven) -> None:
    owned = stepped.worker._owned.runtimes[0]
    stepped.rounds("a look", lambda: stepped.now - owned.even_at < 0.4)  # it is taken in a fifth of a second later
    owned.end, stepped.now, owned.folded_at = 99, stepped.now + 30.0, stepped.wall + stepped.now + HOUR
    assert 30.0 <= stepped.told.lag_seconds < 31.5
    owned.folded_at = stepped.wall + stepped.now - 10.0
    assert stepped.told.lag_seconds == pytest.approx(10.0)
    owned.folded_at = stepped.wall + stepped.now + 1.0
    assert stepped.told.lag_seconds == 0.0, "two clocks are never quite the same"
