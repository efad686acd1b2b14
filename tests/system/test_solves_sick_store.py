"""Solved boards on a store that is sick: one that evicts single keys, and one that hangs."""

import os
import signal
from contextlib import closing
from pathlib import Path

import pytest
import redis

from services.boards.store.protocol import INSIGHT
from services.boards.store.redis import RedisStore
from tests.support.redis import content
from tests.support.solves import BAD, GOOD, POOL, World
from tests.support.stores import KEYS, LOG

pytestmark = [
    pytest.mark.usefixtures("one_node"),
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]


def shown(raw: redis.Redis) -> dict[str, object]:
    """What the keys of solved boards hold; versions are new names each time."""
    found = {key: held for key, held in content(raw).items() if raw.ttl(key) < 0}  # others are of versions that were switched away
    return {_name(key): {**held, "version": None} if isinstance(held, dict) and ":solved:" in key else held for key, held in found.items()}


def _name(key: str) -> str:
    """Without the version."""
    return ":".join(key.split(":")[:5])


def test_whichever_key_of_a_solved_board_is_evicted_comes_back(tmp_path: Path, store: RedisStore, redis_url: str) -> None:
    world = World(tmp_path, store)
    with redis.Redis.from_url(redis_url, decode_responses=True) as raw:
        for _ in range(2):
            position = world.play(50)
            for method in (GOOD, BAD, INSIGHT):
                world.until(world.solved(method, position), f"{method} solved")
        world.until(lambda: not world.runner.health(0.0).unpublished, "all is published")
        world.until(
            lambda: all(world.ended(method, "optimal") == 2 for method in (GOOD, BAD, INSIGHT)), "all tasks that published are counted"
        )
        whole = shown(raw)
        ended = world.runner.health(0.0).ended
        evicted = sorted(whole)
        assert KEYS.history(POOL, BAD) in evicted
        for name in evicted:
            [key] = [key for key in content(raw) if _name(key) == name and raw.ttl(key) < 0]
            assert raw.delete(key) == 1
            world.until(lambda: shown(raw) == whole, f"{name} is back, and all is as it was")
        assert world.runner.health(0.0).ended == ended, "from what was solved"


def test_solves_go_on_while_the_store_hangs_and_their_boards_reach_it_later(
    tmp_path: Path, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.boards.store.connection._TIMEOUT_SECONDS", 0.5)
    with redis.Redis.from_url(redis_url) as raw, closing(RedisStore(redis_url, LOG)) as store:
        world, pid = World(tmp_path, store), int(raw.info("server")["process_id"])
        position = world.play(50)
        world.until(world.solved(BAD, position), "a first solve")
        os.kill(pid, signal.SIGSTOP)
        try:
            for rounds in (2, 3, 4):
                position = world.play(50)
                world.until(lambda rounds=rounds: world.ended(BAD, "optimal") >= rounds, f"solve {rounds}")
            assert world.runner.health(0.0).unpublished[BAD] == 1
        finally:
            os.kill(pid, signal.SIGCONT)
        for method in (GOOD, BAD):
            world.until(world.solved(method, position), f"{method} is published")
        world.until(lambda: [one.position for one in store.solved.history(POOL, BAD)] == [200, 150, 100, 50], "and every solve is back")
