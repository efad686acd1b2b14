"""Solves that go wrong, on a real Ray and a real Redis: the last good result stays, the others go on, readers are told why."""

import ctypes
import os
import signal
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import numpy as np
import pytest
import redis

from ratings_core.errors import InputError
from services.boards.reading import board, changes
from services.boards.store.protocol import StoreError
from services.boards.store.redis import RedisStore
from services.control.records import SolvePlan
from services.solve.planning.jobs import Job
from services.solve.registry import methods
from services.solve.results import ResultFiles
from services.solve.worker.tasks import solve_and_publish
from tests.support.redis import Server, flush
from tests.support.solves import BAD, DEADLINE, GOOD, POOL, OtherSolve, World
from tests.support.stores import LOG

pytestmark = [
    pytest.mark.usefixtures("one_node"),
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]


@pytest.fixture
def harm(tmp_path: Path) -> Path:
    """A file; while it is there, the solve of the bad method does what it says."""
    return tmp_path / "harm"


def treacherous(file: Path) -> Callable[..., bytes]:
    """`solve_and_publish`, but for one method what the file says. A closure, so that Ray ships it by value."""

    raised = {
        "raise": ValueError("no such luck"),
        "gaps": InputError("missing", "refuse", "must be prior or zero: 3 pairs were not compared"),
    }

    def solve(url: str, entry: bytes, method: str, *others: Any) -> bytes:
        what = file.read_text() if method == BAD and file.exists() else ""
        if what == "wait":
            while file.exists():
                time.sleep(0.02)
        if what in raised:
            raise raised[what]
        if what == "hang":
            signal.pause()
        if what == "hang inside a native solver":
            ctypes.PyDLL(None).pause()  # holds the interpreter: no Python code of this process runs again
        if what == "crash":
            ctypes.string_at(0)
        if what == "killed once":
            file.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        if what == "devour":
            with mock.patch.object(methods, "solve_from", lambda *_: [np.ones(1 << 23) for _ in range(1 << 20)]):
                return solve_and_publish(url, entry, method, *others)
        return solve_and_publish(url, entry, method, *others)

    return solve


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("raise", "ValueError: no such luck"),
        ("hang", "the solve did not end within 100 s and was cancelled"),
        ("hang inside a native solver", "the solve did not end within 100 s and was cancelled"),
        ("crash", "WorkerCrashedError"),
        ("devour", "OutOfMemory: the solve needs more than 512 MiB"),
    ],
)
def test_a_method_that_fails_keeps_its_last_good_board_and_stops_nobody(
    what: str, why: str, harm: Path, tmp_path: Path, store: RedisStore
) -> None:
    world = World(tmp_path, store, OtherSolve(treacherous(harm)))
    first = world.play(50)
    world.until(world.solved(BAD, first), "a first good solve")
    good = world.board(BAD)
    assert good is not None
    harm.write_text(what)
    second = world.play(50)
    world.until(world.solved(GOOD, second), "the other method goes on")
    if what.startswith("hang"):
        world.ahead = 2 * DEADLINE
    world.until(lambda: (board := world.board(BAD)) is not None and board.error is not None, "the failure is told")
    told = world.board(BAD)
    assert told is not None
    assert why in (told.error or "")
    assert (told.position, told.result, told.solved_at) == (first, good.result, good.solved_at), "the last good one stands"
    assert world.ended(BAD, "failed") >= 1
    world.wall = 1000.0
    later = world.clock()
    shown = board(store, POOL, BAD, start=0, count=1, now=later)
    assert shown is not None
    assert shown.age_seconds == pytest.approx(later - good.solved_at, abs=0.01), "its age grows"
    now = world.timer()
    late = world.runner.health(now).outdated[BAD]
    assert late > 0.0
    world.wall = -1e6
    assert world.runner.health(now + 500.0).outdated[BAD] == pytest.approx(late + 500.0), "by the timer, which the clock does not change"
    harm.unlink()
    third = world.play(50)
    world.until(world.solved(BAD, third), "it recovers with the next outcomes")


def test_data_that_a_method_cannot_take_are_no_failure(harm: Path, tmp_path: Path, store: RedisStore) -> None:
    """Across processes, too, it is told as what it is, and from the next outcomes on it may apply."""
    world = World(tmp_path, store, OtherSolve(treacherous(harm)))
    harm.write_text("gaps")
    first = world.play(50)
    world.until(world.solved(GOOD, first), "the other method is solved")
    world.until(lambda: world.board(BAD) is not None, "it is told")
    told = world.board(BAD)
    assert told is not None
    assert (told.result.status, told.error) == ("not_applicable", "missing must be prior or zero: 3 pairs were not compared")
    assert (world.ended(BAD, "not_applicable"), world.ended(BAD, "failed")) == (1, 0)
    harm.unlink()
    second = world.play(50)
    world.until(world.solved(BAD, second), "it applies")


def test_a_worker_killed_in_the_middle_is_tried_again(harm: Path, tmp_path: Path, store: RedisStore) -> None:
    world = World(tmp_path, store, OtherSolve(treacherous(harm)))
    harm.write_text("killed once")
    position = world.play(50)
    world.until(world.solved(BAD, position), "solved by the second try")
    assert not harm.exists()
    assert world.ended(BAD, "failed") == 0


def test_a_crash_is_tried_again_on_the_same_outcomes(harm: Path, tmp_path: Path, store: RedisStore) -> None:
    world = World(tmp_path, store, OtherSolve(treacherous(harm)))
    harm.write_text("crash")
    position = world.play(50)
    world.until(lambda: world.ended(BAD, "failed") >= 1, "the crash is seen")
    harm.unlink()
    world.until(world.solved(BAD, position), "solved though nothing new was played")


def test_a_store_that_was_lost_gets_every_board_again(tmp_path: Path, store: RedisStore, redis_url: str) -> None:
    world = World(tmp_path, store)
    position = world.play(50)
    for method in (GOOD, BAD):
        world.until(world.solved(method, position), f"{method} solved")
    flush(redis_url)
    assert world.board(GOOD) is None
    for method in (GOOD, BAD):
        world.until(world.solved(method, position), f"{method} published again")
    assert (world.ended(GOOD, "optimal"), world.ended(BAD, "optimal")) == (1, 1), "from the results' files, not solved again"


def test_redis_killed_while_solves_run_gets_every_board_when_it_is_started_again(harm: Path, tmp_path: Path) -> None:
    """It dies by SIGKILL with a solve under way: results go to files, the metrics say what waits, and nothing is solved twice."""
    with (
        TemporaryDirectory(prefix="eqr-") as folder,
        Server(Path(folder)) as server,
        closing(RedisStore(server.url, LOG)) as store,
    ):
        _killed_and_started_again(World(tmp_path, store, OtherSolve(treacherous(harm))), server, harm)


def _killed_and_started_again(world: World, server: Server, harm: Path) -> None:
    first = world.play(50)
    for method in (GOOD, BAD):
        world.until(world.solved(method, first), f"{method} solved")
    good = world.board(BAD)
    assert good is not None
    with redis.Redis.from_url(server.url) as client:
        client.save()  # what a server that persists would come back with: the boards of before
    harm.write_text("wait")
    second = world.play(50)
    world.until(lambda: world.runner.health(0.0).running > 0 and world.ended(GOOD, "optimal") == 2, "a round is under way")
    os.kill(server.pid, signal.SIGKILL)
    server.kill()  # waits for its end
    harm.unlink()
    world.until(lambda: world.ended(BAD, "optimal") == 2, "the solve ends all the same")
    with pytest.raises(StoreError) as told:
        world.board(BAD)
    assert told.value.retriable, "the API answers 503 with Retry-After"
    files = ResultFiles(world.checkpoints.blobs, 10)
    assert [board.position for board in files.newest(Job(POOL, BAD))] == [second, first], "the last good one, and the new one"
    world.wall = 1000.0
    now = world.clock()
    found = world.runner.health(0.0)
    assert found.unpublished[BAD] == 1
    timer = world.timer()
    late = world.runner.health(timer).outdated[BAD]
    assert late > 0.0
    assert world.runner.health(timer + 500.0).outdated[BAD] == pytest.approx(late + 500.0), "until the store has the new board"
    server.start()
    shown = board(world.store, POOL, BAD, start=0, count=1, now=now)
    assert shown is not None
    assert (shown.position, shown.age_seconds) == (first, pytest.approx(now - good.solved_at, abs=0.01)), "the last good one stays"
    for method in (GOOD, BAD):
        world.until(world.solved(method, second), f"{method} is published by itself")
        assert [one.position for one in world.store.solved.history(POOL, method)] == [second, first]
    assert {world.ended(method, "optimal") for method in (GOOD, BAD)} == {2}, "from what was solved"
    assert world.ended(BAD, "failed") == world.ended(GOOD, "failed") == 0
    left = world.runner.health(0.0)
    assert not {GOOD, BAD} & (left.unpublished.keys() | left.outdated.keys())


def test_results_are_read_from_their_files_after_a_restart(tmp_path: Path, store: RedisStore, redis_url: str) -> None:
    world = World(tmp_path, store)
    position = world.play(50)
    for method in (GOOD, BAD):
        world.until(world.solved(method, position), f"{method} solved")
    flush(redis_url)
    again = World(tmp_path, store)
    again.manifests = world.manifests
    for method in (GOOD, BAD):
        again.until(again.solved(method, position), f"{method} published by the next engine")
    assert again.runner.health(0.0).ended == {}


def test_the_board_of_a_method_that_is_no_longer_chosen_goes(tmp_path: Path, store: RedisStore) -> None:
    world = World(tmp_path, store)
    position = world.play(50)
    for method in (GOOD, BAD):
        world.until(world.solved(method, position), f"{method} solved")
    world.control.apply(3, SolvePlan(pool=POOL, methods={GOOD: {}, "borda": {}}, time=1.0))
    world.until(world.solved("borda", position), "the new one is solved")
    world.until(lambda: world.store.solved.methods(POOL) == ["borda", GOOD], "the old one is gone")
    assert world.board(BAD) is None
    assert list((tmp_path / "checkpoints" / "results" / POOL).rglob(f"{BAD}/*.json")) == []


def test_a_board_says_where_its_agents_stood_before_and_what_changed_since(tmp_path: Path, store: RedisStore) -> None:
    world = World(tmp_path, store)
    first = world.play(5)
    world.until(world.solved(GOOD, first), "a first solve")
    before = world.board(GOOD)
    second = world.play(200)
    world.until(world.solved(GOOD, second), "a second solve")
    after = world.board(GOOD)
    assert before is not None
    assert after is not None
    assert [row.rank_before for row in before.result.agents] == [None] * len(before.result.agents)
    ranks = {row.agent: row.rank for row in before.result.agents}
    assert [row.rank_before for row in after.result.agents] == [ranks.get(row.agent) for row in after.result.agents]
    world.until(lambda: len(store.solved.history(POOL, GOOD)) == 2, "the history is published")
    found = changes(store.solved, POOL, GOOD, None, 100)
    assert found is not None
    assert (found.outcomes, found.before.position, found.after.position) == (200, first, second)
    assert found.because[0] == "outcomes"
    assert {row.agent for row in found.joined} == {row.agent for row in after.result.agents} - ranks.keys()
    assert {row.agent: (row.rank_before, row.rank) for row in found.moved} == {
        row.agent: (ranks[row.agent], row.rank)
        for row, old in ((row, old) for row in after.result.agents for old in before.result.agents if old.agent == row.agent)
        if (row.rank, row.rating) != (old.rank, old.rating)
    }


def test_a_store_that_takes_nothing_shows_the_last_good_boards_and_gets_the_new_ones_later(tmp_path: Path, store: RedisStore) -> None:
    world = World(tmp_path, store)
    first = world.play(50)
    for method in (GOOD, BAD):
        world.until(world.solved(method, first), f"{method} solved")
    good = world.board(GOOD)
    assert good is not None
    store.connection.client.config_set("maxmemory", 1)
    second = world.play(50)
    world.until(lambda: world.ended(GOOD, "optimal") == world.ended(BAD, "optimal") == 2, "solves go on")
    assert world.board(GOOD) == good
    shown = board(store, POOL, GOOD, start=0, count=1, now=good.solved_at + 500.0)
    assert shown is not None
    assert shown.age_seconds == 500.0
    waiting = world.runner.health(0.0).unpublished
    assert (waiting[GOOD], waiting[BAD]) == (1, 1)
    store.connection.client.config_set("maxmemory", 0)
    for method in (GOOD, BAD):
        world.until(world.solved(method, second), f"{method} published")
    assert not {GOOD, BAD} & world.runner.health(0.0).unpublished.keys()
