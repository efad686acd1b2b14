"""A solve from plan to store on a real Redis, with its task in this process: the engine publishes only what the store lacks."""

from pathlib import Path

import msgspec
import pytest
import redis

from ratings_core.methods import registry
from ratings_core.methods.refits import sample
from ratings_core.methods.resampling import resampling
from services.boards.result import Intervals, SolvedBoard
from services.boards.store.protocol import INSIGHT
from services.boards.store.redis import RedisStore
from services.boards.store.solved import SolvedBoards
from services.solve.intervals.replicates import Facts, Replication, measured, seed_of, with_ends
from services.solve.intervals.tasks import add_and_publish
from services.solve.problems.checkpointed import problem
from services.solve.worker.tasks import Delivery, Destination
from services.wire.pools import Kind
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


def in_slices(world: World, board: SolvedBoard) -> SolvedBoard:
    """The board with intervals from slices of up to 5 replicates, as earlier releases computed them between solves."""
    result, position = msgspec.structs.replace(board.result, intervals=msgspec.UNSET), board.position
    bare = [msgspec.structs.replace(row, low=None, high=None, rank_low=None, rank_high=None) for row in result.agents]
    whole = registry.taken(result.method, problem(Kind.GAMES, world.state.arrays()), board.parameters)
    source = resampling(whole.problem, whole.method, whole.values)
    found = Replication(Facts.of(whole, source), result, 3600.0)
    while not found.done:
        first, most = found.next
        found.add(sample(whole, source, seed_of(POOL, position, result.method), first, min(most, 5), 3600.0))
    told, ends = measured(found)
    told = msgspec.structs.replace(told, position=position, seconds=0.0)
    return msgspec.structs.replace(board, result=msgspec.structs.replace(result, agents=with_ends(bare, ends), intervals=told))


def test_intervals_come_as_jobs_and_equal_those_of_the_same_replicates_in_slices(tmp_path: Path, store: RedisStore, redis_url: str) -> None:
    world = World(tmp_path, store, InlineTaskPool(), interval_seconds=3600.0)
    position = world.play(200)
    for method in (GOOD, BAD):
        world.until(lambda method=method: (one := world.board(method)) is not None and isinstance(one.result.intervals, Intervals), method)
        board = world.board(method)
        assert board is not None
        told = board.result.intervals
        assert isinstance(told, Intervals)
        assert (told.position, told.why_not, told.failed) == (position, None, 0)
        assert board.result.agents[0].rank_low is not None
        untimed = msgspec.structs.replace(board.result, intervals=msgspec.structs.replace(told, seconds=0.0))
        assert msgspec.structs.replace(board, result=untimed) == in_slices(world, board)
        world.until(lambda method=method: world.runner.health(0.0).replicates.get(method, 0) > 0, "they are counted")
        assert world.runner.health(0.0).replicates[method] == told.replicates
    before = world.board(GOOD)
    flush(redis_url)
    world.until(lambda: world.board(GOOD) is not None, "published again")
    assert world.board(GOOD) == before, "intervals are in the result's file"
    with_intervals = sorted(path.name.endswith("-intervals.json") for path in tmp_path.rglob(f"results/{POOL}/{GOOD}/*"))
    assert with_intervals == [False, True]


def test_intervals_of_a_solve_that_a_newer_one_replaced_change_nothing(tmp_path: Path, store: RedisStore) -> None:
    world = World(tmp_path, store, InlineTaskPool())
    solved(world)
    file = next(tmp_path.rglob(f"results/{POOL}/{GOOD}/*.json"))
    name = str(file.relative_to(tmp_path / "checkpoints"))
    entry, to = world.manifests[0].pools[0], Destination(store.url, store.log, 10, 3600.0)
    position = solved(world)
    answer = add_and_publish(world.checkpoints.url, msgspec.json.encode(entry), GOOD, {}, 1 << 30, name, msgspec.json.encode(to))
    assert msgspec.json.decode(answer, type=Delivery).superseded
    shown = world.board(GOOD)
    assert shown is not None
    assert (shown.position, shown.result.intervals) == (position, msgspec.UNSET)
    assert file.exists()
    assert len([path for path in file.parent.iterdir() if not path.name.endswith("-intervals.json")]) == 2


def test_intervals_that_fail_say_why_and_the_board_stays(tmp_path: Path, store: RedisStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ratings_core.methods.refits._MOST_CELLS", 4)
    world = World(tmp_path, store, InlineTaskPool(), interval_seconds=3600.0)
    world.play(50)
    world.until(lambda: (one := world.board(BAD)) is not None and isinstance(one.result.intervals, Intervals), "the reason is told")
    board = world.board(BAD)
    assert board is not None
    assert isinstance(board.result.intervals, Intervals)
    assert "on boards with intervals" in str(board.result.intervals.why_not)
    assert board.result.agents[0].low is None
    assert board.error is None
