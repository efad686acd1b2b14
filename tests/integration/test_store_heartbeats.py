"""Heartbeats of shards in the store, on real servers: who may write them, how old they are, and the shard that writes them."""

import time
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
import redis

from services.boards.folding import Heartbeat, freshness
from services.boards.store.redis import RedisStore
from services.log.sqlite.log import open_sqlite_log
from services.runtime.settings import Settings
from services.shard.heartbeat import beating
from tests.support.redis import Server, redis_url
from tests.support.stores import KEYS, LOG, other, raw, store
from tests.support.waiting import PATIENCE
from tests.support.worker import HOME, PARTITIONS, SETTINGS, play, published, until, working

__all__ = ["other", "raw", "redis_url", "store"]


def beat(partition: int = 0, epoch: int = 1, position: int = 10) -> Heartbeat:
    return Heartbeat(
        partition=partition, epoch=epoch, shard="shard-0/9", position=position, lag=2, lag_seconds=0.25, idle_seconds=0.5, stopped=False
    )


def positions(store: RedisStore) -> dict[int, int]:
    return {number: heard.heartbeat.position for number, heard in store.heartbeats.read().items()}


def test_the_newest_heartbeat_of_each_partition_is_read(store: RedisStore) -> None:
    assert store.heartbeats.read() == {}
    store.heartbeats.write([beat(0), beat(1), beat(11)])
    store.heartbeats.write([beat(1, position=12)])
    store.heartbeats.write([])
    found = store.heartbeats.read()
    assert {number: heard.heartbeat for number, heard in found.items()} == {0: beat(0), 1: beat(1, position=12), 11: beat(11)}
    assert all(0.0 <= heard.age < PATIENCE for heard in found.values())


def test_a_superseded_shard_does_not_speak_for_its_partition(store: RedisStore, other: RedisStore) -> None:
    store.heartbeats.write([beat(0, epoch=5, position=20), beat(1, epoch=3)])
    other.heartbeats.write([beat(0, epoch=4, position=11), beat(1, epoch=4, position=21)])
    assert positions(store) == {0: 20, 1: 21}


def test_a_lower_epoch_takes_over_once_the_higher_one_is_long_silent(store: RedisStore, raw: redis.Redis) -> None:
    """Such as after the control log was made anew: its epochs begin at 0 again."""
    store.heartbeats.write([beat(0, epoch=5, position=20)])
    name = KEYS.folding
    epoch, at, body = str(raw.hget(name, "0")).split(" ", 2)
    raw.hset(name, "0", f"{epoch} {float(at) - 61:.6f} {body}")
    assert 60.0 < store.heartbeats.read()[0].age < 60.0 + PATIENCE
    store.heartbeats.write([beat(0, epoch=2, position=30)])
    assert positions(store) == {0: 30}


def test_each_log_has_its_own(store: RedisStore, redis_url: str) -> None:
    store.heartbeats.write([beat(0)])
    with closing(RedisStore(redis_url, "kafka:a:b")) as elsewhere:
        assert elsewhere.heartbeats.read() == {}
        elsewhere.heartbeats.write([beat(1)])
        assert positions(elsewhere) == {1: 10}
    assert positions(store) == {0: 10}


@pytest.mark.parametrize("garbage", ["", "x", "1 2", "1 2 {}", "1 now {}", '1 2 {"partition":"x"}'])
def test_what_is_no_heartbeat_is_left_out_and_written_anew(store: RedisStore, raw: redis.Redis, garbage: str) -> None:
    store.heartbeats.write([beat(0), beat(1)])
    raw.hset(KEYS.folding, "0", garbage)
    assert positions(store) == {1: 10}
    store.heartbeats.write([beat(0)])
    assert positions(store) == {0: 10, 1: 10}


def test_a_heartbeat_from_before_the_clock_was_put_back_is_old(store: RedisStore, raw: redis.Redis) -> None:
    store.heartbeats.write([beat(0)])
    epoch, at, body = str(raw.hget(KEYS.folding, "0")).split(" ", 2)
    raw.hset(KEYS.folding, "0", f"{epoch} {float(at) + 3600:.6f} {body}")
    assert store.heartbeats.read()[0].age > 3500


class Stuck:
    """A report whose thread has hung for an hour."""

    def __init__(self) -> None:
        self.at = time.monotonic() - 3600.0

    def __call__(self) -> list[Heartbeat]:
        return [msgspec.structs.replace(beat(0), idle_seconds=time.monotonic() - self.at)]


def test_heartbeats_go_on_through_a_store_that_was_away(tmp_path: Path) -> None:
    with Server(tmp_path) as server, closing(RedisStore(server.url, LOG)) as store, beating(store.heartbeats, Stuck()):
        until(lambda: 0 in store.heartbeats.read(), "a heartbeat is there")
        server.kill()
        server.start()
        until(lambda: 0 in store.heartbeats.read(), "the empty store has one again")


def test_a_folding_thread_that_hangs_is_seen_though_heartbeats_go_on(tmp_path: Path) -> None:
    with Server(tmp_path) as server, closing(RedisStore(server.url, LOG)) as store, beating(store.heartbeats, Stuck()):
        until(lambda: not freshness([0], store.heartbeats.read(), 3500.0).fresh and bool(store.heartbeats.read()), "it is seen")
        assert store.heartbeats.read()[0].age < PATIENCE, "the report itself is young"


def test_a_worker_reports_every_partition_and_how_far_it_is(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    with (
        Server(tmp_path) as server,
        closing(open_sqlite_log(data / "log.sqlite", PARTITIONS)) as log,
        closing(RedisStore(server.url, log.outcomes.identity)) as store,
    ):
        settings = Settings(data=data, redis=server.url, **SETTINGS)
        play(log, 0, 200)
        with working(settings, log) as worker, beating(store.heartbeats, worker.heartbeats):
            until(lambda: positions(store) == {number: 20 if number == HOME else 0 for number in range(PARTITIONS)}, "folded and reported")
            assert freshness(range(PARTITIONS), store.heartbeats.read(), PATIENCE).fresh
            until(lambda: published(settings) == 200, "published")
