"""One Redis and two logs, each with pools of the same names: neither fences the other, and no reader sees the other's boards."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
import redis
from rich.console import Console

from services.boards.history import kept
from services.boards.insight import insight
from services.boards.result import SolvedBoard
from services.boards.store import keys
from services.boards.store.live import STALE_SECONDS, LiveBoards
from services.boards.store.protocol import INSIGHT, Fence, OtherLog, PoolHead, StoreError, StoreLost
from services.boards.store.redis import RedisStore
from services.cli import replay
from services.cli.pools import _heads, _reached
from services.runtime.settings import Settings
from tests.support.boards import head_of, solved_of
from tests.support.redis import content, redis_url
from tests.support.stores import live, names, raw, store

__all__ = ["raw", "redis_url", "store"]
"""store: of a program that knows no log."""
OLD, NEW, METHOD = "old log", "new log", "maximal_lottery"


@pytest.fixture
def old(redis_url: str, raw: redis.Redis) -> Iterator[RedisStore]:
    store = RedisStore(redis_url, OLD)
    yield store
    store.close()


@pytest.fixture
def new(redis_url: str, raw: redis.Redis) -> Iterator[RedisStore]:
    store = RedisStore(redis_url, NEW)
    yield store
    store.close()


def board_of(log: str, position: int, method: str = METHOD) -> SolvedBoard:
    return msgspec.structs.replace(solved_of(position=position, method=method), log=log)


def solve(store: RedisStore, log: str, position: int) -> None:
    """A board with its history, and insight."""
    assert store.solved.publish(board_of(log, position))
    store.solved.publish_history("blitz", METHOD, [kept(board_of(log, at)) for at in (position - 1, position)])
    assert store.solved.publish(board_of(log, position, INSIGHT))


def nothing_is_seen(store: RedisStore) -> None:
    """Of what another log's writers left on the pool."""
    assert store.solved.page("blitz", METHOD, 0, 10) is None
    assert store.solved.around("blitz", METHOD, "rock", 3) is None
    assert store.solved.methods("blitz") == []
    assert store.solved.history("blitz", METHOD) == []
    assert store.solved.past("blitz", METHOD, 0) is None
    assert not (store.agent("blitz", "rock") or {}).keys() & {METHOD, INSIGHT}
    assert insight(store.solved, "blitz", now=0.0).position is None


def test_a_pool_that_another_log_writes_is_refused_with_words(redis_url: str, store: RedisStore, raw: redis.Redis) -> None:
    assert store.live.publish(head_of(position=99), 50, live(a=1.0))
    new = RedisStore(redis_url, "another log")
    assert new.live.published("blitz") is None
    before = content(raw)
    with pytest.raises(StoreError, match="written from another log") as raised:
        new.live.publish(head_of(position=1), 2, live(b=2.0))
    assert raised.value.retriable
    assert content(raw) == before
    new.close()


def test_a_pool_that_another_log_left_is_taken_whole(redis_url: str, store: RedisStore, raw: redis.Redis) -> None:
    assert store.live.publish(head_of(position=99, generation=3), 50, live(a=1.0))
    assert store.solved.publish(solved_of(position=99, generation=3))
    raw.hset(keys.fence("blitz"), "seen", 0)
    new = RedisStore(redis_url, "another log")
    with pytest.raises(StoreLost):
        new.live.publish(head_of(position=1), 2, live(b=2.0))
    assert [key for key in content(raw) if "rows" not in key and "index" not in key] == [keys.POOLS]
    assert new.live.publish(head_of(position=1), 2, live(b=2.0, c=1.0))
    assert new.live.published("blitz") == Fence(2, 1, 1)
    assert names(new) == [("b", 2.0, 1), ("c", 1.0, 2)]
    assert new.solved.methods("blitz") == []
    assert not raw.exists(keys.live("blitz", 3, "elo"))
    new.close()


def test_pools_of_a_log_that_is_gone_leave_the_lists(redis_url: str, store: RedisStore, raw: redis.Redis) -> None:
    for pool in ("dead", "living", "shared"):
        assert store.live.publish(head_of(pool), 50, live(a=1.0))
        raw.hset(keys.fence(pool), "seen", 0)
    raw.hset(keys.fence("living"), "seen", raw.time()[0])
    assert store.forget_others(["dead", "shared"]) == [], "a log's own pools stay, and those of which it may not know yet"
    new = RedisStore(redis_url, "another log")
    assert new.forget_others(["shared"]) == [], "and those of a log whose engine was just here, though nobody writes them"
    raw.hset(keys.LOGS, "", 0)
    assert new.forget_others(["shared"]) == ["dead"]
    assert set(raw.hgetall(keys.LOGS)) == {"another log"}
    assert [head.pool for head in store.live.pools()] == ["living", "shared"]
    assert new.live.pools() == []
    assert not raw.keys("equirank:{dead}:*")
    assert new.forget_others(["shared"]) == []
    new.close()


def test_a_solved_board_of_another_log_is_older_than_any(store: RedisStore) -> None:
    assert store.solved.publish(solved_of(position=99, generation=3))
    assert store.solved.publish(msgspec.structs.replace(solved_of(position=1), log="another log"))
    assert [one.board.log for one in store.solved.complete(["blitz"])["blitz"].values()] == ["another log"]


def test_a_new_log_sees_nothing_of_a_pool_that_another_one_writes(old: RedisStore, new: RedisStore) -> None:
    assert old.live.publish(head_of(position=99), 50, live(rock=1.0))
    solve(old, OLD, 99)
    assert new.live.head("blitz") is None
    assert new.live.pools() == []
    assert new.live.page("blitz", "elo", 0, 10) is None
    assert new.agent("blitz", "rock") is None
    nothing_is_seen(new)
    assert old.solved.methods("blitz") == [METHOD]
    assert [one.position for one in old.solved.history("blitz", METHOD)] == [99, 98]


def test_what_is_solved_from_another_log_does_not_replace_what_stands(old: RedisStore, new: RedisStore, raw: redis.Redis) -> None:
    """An engine on a data folder of its own looks every two seconds whether its boards stand."""
    assert old.live.publish(head_of(position=5), 50, live(rock=1.0))
    solve(old, OLD, 5)
    before = content(raw)
    with pytest.raises(OtherLog, match="written from another log"):
        new.solved.publish(board_of(NEW, 900))
    assert content(raw) == before, "nor are its rows left behind"


def test_nothing_is_sent_for_a_board_that_the_holders_of_its_pool_do_not_let_in(
    old: RedisStore, new: RedisStore, raw: redis.Redis
) -> None:
    """It is tried again at every step of an engine, for as long as both logs are written."""
    assert old.live.publish(head_of(position=9), 5, live(rock=1.0))
    raw.config_resetstat()
    with pytest.raises(OtherLog):
        new.solved.publish(board_of(NEW, 5))
    assert "cmdstat_rpush" not in raw.info("commandstats")


def test_a_board_that_another_log_solved_is_not_taken_away_with_ones_own(old: RedisStore, new: RedisStore) -> None:
    assert old.live.publish(head_of(position=9), 5, live(rock=1.0))
    solve(old, OLD, 9)
    new.solved.remove("blitz", METHOD)
    assert old.solved.methods("blitz") == [METHOD]
    assert len(old.solved.history("blitz", METHOD)) == 2
    old.solved.remove("blitz", METHOD)
    assert old.solved.methods("blitz") == []


def test_the_rows_of_a_board_that_was_taken_away_expire(old: RedisStore, raw: redis.Redis) -> None:
    """Readers that are on it see it to the end of their page; it does not take memory for good."""
    assert old.live.publish(head_of(position=9), 5, live(rock=1.0))
    assert old.solved.publish(board_of(OLD, 9))
    version = raw.hget(keys.solved("blitz", METHOD), "version")
    assert isinstance(version, str)
    old.solved.remove("blitz", METHOD)
    rows = keys.rows("blitz", METHOD, version)
    assert raw.exists(rows)
    assert 0 < raw.ttl(rows) <= STALE_SECONDS


def test_boards_that_stood_before_their_pool_had_a_writer_are_not_taken_for_the_new_ones(
    old: RedisStore, new: RedisStore, store: RedisStore, raw: redis.Redis
) -> None:
    """A store that was flushed gets solved boards of both logs before any shard has claimed the pool."""
    solve(old, OLD, 99)
    assert new.live.publish(head_of(position=1), 2, live(rock=2.0))
    for reader in (new, store):
        nothing_is_seen(reader)
        assert [head.position for head in reader.live.pools()] == [1]
    with pytest.raises(OtherLog):
        old.solved.publish(board_of(OLD, 100))
    assert new.solved.publish(board_of(NEW, 1))
    for reader in (new, store):
        found = reader.solved.page("blitz", METHOD, 0, 10)
        assert found is not None
        assert (found[0].log, found[0].position) == (NEW, 1)
        assert reader.solved.history("blitz", METHOD) == [], "the other's history went with its board"
    assert sorted(raw.smembers(keys.methods("blitz"))) == [INSIGHT, METHOD]
    assert new.forget_others(["blitz"]) == []
    assert raw.smembers(keys.methods("blitz")) == {METHOD}, "what nobody will solve again is swept away"
    assert new.solved.methods("blitz") == [METHOD]


def test_sweeping_leaves_alone_what_belongs_to_the_writers_of_a_pool(old: RedisStore, new: RedisStore, raw: redis.Redis) -> None:
    assert old.live.publish(head_of(position=99), 50, live(rock=1.0))
    solve(old, OLD, 99)
    before = content(raw)
    assert new.forget_others(["blitz"]) == []
    assert {**content(raw), keys.LOGS: None} == {**before, keys.LOGS: None}


def test_pools_that_a_log_lost_leave_the_lists(store: RedisStore, raw: redis.Redis) -> None:
    for pool in ("kept", "lost"):
        assert store.live.publish(head_of(pool), 50, live(a=1.0))
        raw.hset(keys.fence(pool), "seen", 0)
    assert store.forget_others(["kept"]) == ["lost"]
    assert [head.pool for head in store.live.pools()] == ["kept"]


def test_a_pool_that_is_forgotten_may_be_written_under_an_older_epoch(store: RedisStore, raw: redis.Redis) -> None:
    assert store.live.publish(head_of(position=99, generation=3), 50, live(a=1.0))
    assert store.solved.publish(solved_of(position=99, generation=3))
    store.live.forget("blitz")
    assert [key for key in content(raw) if "rows" not in key and "index" not in key] == [keys.POOLS]
    assert store.live.publish(head_of(position=1), 2, live(b=2.0))
    assert names(store) == [("b", 2.0, 1)]


def test_commands_that_know_their_log_do_not_take_the_heads_of_another_for_its_own(
    redis_url: str, old: RedisStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a replay into a new log would end at once, with the numbers of the old one."""
    settings = Settings(data=tmp_path, redis=redis_url)
    assert old.live.publish(head_of(position=99), 5, live(rock=1.0))
    assert list(_heads(settings, OLD)) == ["blitz"]
    assert _heads(settings, NEW) == {}
    with closing(_reached(settings, NEW) or old) as reached:
        assert reached.live.head("blitz") is None
    waited: list[PoolHead | None] = []

    def seen(boards: LiveBoards, pool: str, _: int) -> PoolHead:
        waited.append(boards.head(pool))
        return head_of()

    monkeypatch.setattr(replay, "await_position", seen)
    done = replay.Replayed(path=tmp_path, rows=1, sent=1, before=0, skipped={}, refused={}, first=[], partition=0, position=7)
    replay._wait(settings, NEW, "blitz", done, Console())
    replay._wait(settings, OLD, "blitz", done, Console())
    assert [head and head.position for head in waited] == [None, 99]
