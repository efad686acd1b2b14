"""A solve from plan to store on a real Redis, with its task in this process: the engine publishes only what the store lacks."""

from pathlib import Path

import pytest
import redis

from services.boards.store.protocol import INSIGHT
from services.boards.store.redis import RedisStore
from services.boards.store.solved import SolvedBoards
from tests.support.redis import flush, redis_url
from tests.support.solves import BAD, GOOD, POOL, World
from tests.support.stores import raw, store
from tests.support.task_pool import InlineTaskPool

__all__ = ["raw", "redis_url", "store"]
METHODS = (GOOD, BAD, INSIGHT)


@pytest.fixture
def world(tmp_path: Path, store: RedisStore) -> World:
    return World(tmp_path, store, InlineTaskPool())


def solved(world: World, games: int = 50) -> int:
    """Play, and solve all methods. Returns the position."""
    position = world.play(games)
    for method in METHODS:
        world.until(world.solved(method, position), f"{method} is solved")
    world.until(lambda: world.runner.health(0.0).jobs["solved"] == len(METHODS), "the engine has read the reports")
    return position


def test_tasks_publish_boards_and_histories_without_the_engine(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[SolvedBoards] = []
    publish = SolvedBoards.publish
    monkeypatch.setattr(SolvedBoards, "publish", lambda self, board: written.append(self) or publish(self, board))
    positions = [solved(world) for _ in range(3)]
    assert len(written) >= 3 * len(METHODS)
    assert world.store.solved not in written
    for method in (GOOD, BAD):
        assert [one.position for one in world.store.solved.history(POOL, method)] == positions[::-1]
    assert world.runner.health(0.0).unpublished == {}


def test_a_store_that_lost_all_gets_boards_and_histories_from_the_files(world: World, redis_url: str, raw: redis.Redis) -> None:
    positions = [solved(world) for _ in range(2)]
    before = {method: world.board(method) for method in METHODS}
    ended = world.runner.health(0.0).ended
    flush(redis_url)
    for method in METHODS:
        world.until(world.solved(method, positions[-1]), f"{method} is published again")
    assert {method: world.board(method) for method in METHODS} == before
    world.until(lambda: len(world.store.solved.history(POOL, GOOD)) == 2, "with its history")
    assert world.runner.health(0.0).ended == ended, "nothing is solved twice"


def test_what_a_task_cannot_publish_the_engine_publishes(world: World, raw: redis.Redis) -> None:
    solved(world)
    raw.config_set("maxmemory", 1)
    try:
        position = world.play(50)
        world.until(lambda: world.ended(GOOD, "optimal") == world.ended(BAD, "optimal") == 2, "solves go on")
        assert world.runner.health(0.0).unpublished[GOOD] == 1
    finally:
        raw.config_set("maxmemory", 0)
    for method in METHODS:
        world.until(world.solved(method, position), f"{method} is published")
    assert world.runner.health(0.0).unpublished == {}


def test_the_next_engine_publishes_from_the_files(world: World, tmp_path: Path, store: RedisStore, redis_url: str) -> None:
    position = solved(world)
    flush(redis_url)
    again = World(tmp_path, store, InlineTaskPool())
    again.manifests = world.manifests
    for method in METHODS:
        again.until(again.solved(method, position), f"{method} is published")
    assert again.runner.health(0.0).ended == {}
