"""Faults planted in publisher and builder that the state at the end may not show: readers who look during the run find each of them.

Every test runs twice, with the fault and without it. Each publication waits until readers have looked at it.
"""

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from services.admin import backup
from services.boards.store.protocol import PoolHead
from services.boards.store.redis import RedisStore
from services.control import generations
from services.control.log import ControlLog
from services.control.records import FoldSettings
from services.demo import simulated
from services.log.partition import partition_of
from services.log.protocol import Log
from services.log.sqlite.log import open_sqlite_log
from services.runtime.settings import Settings
from services.shard import worker
from services.shard.generations.build import Build
from services.shard.publishing import selection, updates
from services.shard.publishing.writing import BoardWriter, Provenance
from services.state.pool import PoolState
from services.wire import events
from tests.chaos.readers import Readers
from tests.support.guards import careless, without_comparison
from tests.support.waiting import PATIENCE
from tests.support.worker import HOME, PARTITIONS, play, published, store_of, until, working

planted = pytest.mark.parametrize("planted", [False, True], ids=["sound", "planted"])


class Timer:
    """A timer that a test sets forward."""

    def __init__(self) -> None:
        self.jumped = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.jumped


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "BATCH_RECORDS", 1)


def looked(readers: Readers) -> None:
    """Wait until readers have made one round after now; at once where they have ended."""
    after = readers.rounds + 2
    deadline = time.monotonic() + PATIENCE
    while readers.is_alive() and readers.rounds < after and time.monotonic() < deadline:
        threading.Event().wait(0.005)


@contextmanager
def watched(
    settings: Settings, log: Log, monkeypatch: pytest.MonkeyPatch, timer: Callable[[], float] = time.monotonic
) -> Iterator[Readers]:
    """Readers who see every publication of the shards that run in the block."""

    @contextmanager
    def opened() -> Iterator[RedisStore]:
        with store_of(settings) as store:
            yield store

    readers = Readers(opened, lambda: {number: log.outcomes.end(number) for number in range(PARTITIONS)}, timer)
    write = BoardWriter.write

    def write_and_wait(self: BoardWriter, updates: Any) -> Any:
        ends = write(self, updates)
        if updates:
            looked(readers)
        return ends

    with monkeypatch.context() as patch:
        patch.setattr(BoardWriter, "write", write_and_wait)
        readers.start()
        try:
            yield readers
        finally:
            readers.stop()


def promises(readers: Readers) -> set[int]:
    """Numbers of the promises that readers saw broken."""
    return {int(complaint.split("promise ")[1].split(")")[0]) for complaint in readers.complaints}


@pytest.mark.smoke
@pytest.mark.parametrize("shard", [True, False], ids=["waits", "careless"])
@pytest.mark.parametrize("store", [True, False], ids=["compares", "takes anything"])
def test_a_restarted_shard_that_publishes_below_what_readers_see(
    settings: Settings, log: Log, monkeypatch: pytest.MonkeyPatch, shard: bool, store: bool
) -> None:
    """Each of two guards is enough: the shard waits, and the store compares."""
    planted = not shard and not store
    play(log, 0, 300)
    with watched(settings, log, monkeypatch) as readers:
        with working(settings, log):
            until(lambda: published(settings) == 300, "300 games are published")
        for checkpoint in (settings.data / "state" / "checkpoints").rglob("*.json"):
            checkpoint.unlink()
        if not shard:
            monkeypatch.setattr(BoardWriter, "_ask", careless)
        if not store:
            without_comparison(monkeypatch)
        play(log, 300, 310)
        with working(settings, log):
            until(lambda: published(settings) == 310, "310 games are published")
            looked(readers)
    assert (1 in promises(readers)) == planted, readers.complaints
    assert planted or not readers.complaints


@planted
def test_a_new_generation_shown_before_its_rows(settings: Settings, log: Log, monkeypatch: pytest.MonkeyPatch, planted: bool) -> None:
    update = updates.update_of
    halved: set[str] = set()

    def early(state: PoolState, *more: Any) -> Any:
        made = update(state, *more)
        if state.generation.number == 1 or state.generation.pool in halved:
            return made
        halved.add(state.generation.pool)
        state.changes.mark(made.ids[len(made.ids) // 2 :])
        boards = {name: _first_half(board) for name, board in made.boards.items()}
        return updates.Update(state, made.track, made.epoch, made.head, made.ids, boards)

    if planted:
        monkeypatch.setattr(updates, "update_of", early)
    with watched(settings, log, monkeypatch) as readers:
        after_other_settings(settings, log)
        looked(readers)
    assert promises(readers) == ({2} if planted else set()), readers.complaints


def _first_half(board: Any) -> Any:
    half = len(board.names) // 2
    parts = {name: getattr(board, name)[:half] for name in ("names", "values", "beliefs", "provisional")}
    return board._replace(**parts, total=0)


def after_other_settings(settings: Settings, log: Log) -> None:
    """300 games, then generation 2 with another K."""
    play(log, 0, 300)
    with working(settings, log), closing_control(log) as control:
        until(lambda: published(settings) == 300, "300 games are published")
        newest = control.refresh().newest(simulated.POOL)
        assert newest is not None
        control.append(generations.wish(newest, time=0.0, fold=FoldSettings(online={"elo": {"k": 8.0}})))
        until(lambda: shown(settings).generation == 2, "generation 2 is shown")
        play(log, 300, 310)
        until(lambda: shown(settings).position == 31, "what follows is published")


@contextmanager
def closing_control(log: Log) -> Iterator[ControlLog]:
    control = ControlLog(log.control)
    try:
        yield control
    finally:
        control.close()


def shown(settings: Settings, pool: str = simulated.POOL) -> PoolHead:
    with store_of(settings) as store:
        head = store.live.head(pool)
    assert head is not None
    return head


@planted
def test_a_generation_that_serves_before_it_has_caught_up(
    settings: Settings, log: Log, monkeypatch: pytest.MonkeyPatch, planted: bool
) -> None:
    if planted:
        monkeypatch.setattr(Build, "behind", lambda self, position: False)
    with watched(settings, log, monkeypatch) as readers:
        after_other_settings(settings, log)
        looked(readers)
    assert (4 in promises(readers)) == planted, readers.complaints
    assert planted or not readers.complaints


@planted
def test_boards_of_records_that_the_log_lost(settings: Settings, log: Log, monkeypatch: pytest.MonkeyPatch, planted: bool) -> None:
    play(log, 0, 200)
    with working(settings, log) as worker:
        until(lambda: published(settings) == 200, "200 games are published")
        until(lambda: worker.health().partitions[HOME].checkpoint == 20, "they are in a checkpoint")
    backup.back_up(settings.data, settings.data.parent / "saved")
    play(log, 200, 300)
    with working(settings, log):
        until(lambda: published(settings) == 300, "300 games are published")
    restored = settings.model_copy(update={"data": settings.data.parent / "restored"})
    backup.restore(settings.data.parent / "saved", restored.data)
    cut = open_sqlite_log(restored.data / "log.sqlite", PARTITIONS)
    if planted:
        monkeypatch.setattr(Provenance, "was_folded_from_the_log", lambda self, head: True)
    try:
        with working(restored, cut) as worker:
            until(lambda: [one.position for one in worker.health().partitions if one.partition == HOME] == [20], "the log is folded")
            until(lambda: published(restored) == (300 if planted else 200), "readers see what the publisher leaves them")
            with watched(restored, cut, monkeypatch) as readers:
                looked(readers)
    finally:
        cut.close()
    assert promises(readers) == ({5} if planted else set()), readers.complaints


def neighbor() -> str:
    """Another pool of the same partition."""
    names = (f"pool-{i}" for i in itertools.count())
    return next(name for name in names if partition_of(name, PARTITIONS) == HOME)


@planted
def test_a_stopped_pool_that_does_not_say_so(settings: Settings, log: Log, monkeypatch: pytest.MonkeyPatch, planted: bool) -> None:
    fold, broken, timer = PoolState.fold, neighbor(), Timer()

    def folded(self: PoolState, outcomes: Any) -> Any:
        before = self.content.counts["outcomes"]
        refused = fold(self, outcomes)
        if self.generation.pool == broken and before >= 2:
            raise ValueError("planted: this pool breaks")
        return refused

    monkeypatch.setattr(PoolState, "fold", folded)
    if planted:
        monkeypatch.setattr(selection, "_why", lambda *_: None)
    with watched(settings, log, monkeypatch, timer) as readers, working(settings, log):
        play_one(log, broken, 1)
        play(log, 0, 10)
        until(lambda: published(settings) == 10, "both pools are published")
        play_one(log, broken, 2)
        play_one(log, broken, 3)
        play(log, 10, 300)
        until(lambda: published(settings) == 300, "the other pool goes on")
        if not planted:
            until(lambda: "planted" in (shown(settings, broken).stopped or ""), "the pool says that it stopped")
        looked(readers)
        timer.jumped = 3600.0
        looked(readers)
    assert promises(readers) == ({6} if planted else set()), readers.complaints


def play_one(log: Log, pool: str, number: int) -> None:
    sides = [events.Side(["a"], 1), events.Side(["b"], 2)]
    game = events.GameEvent(v=1, id=f"{pool} {number}", pool=pool, time=0.0, sides=sides)
    log.outcomes.append(HOME, [(pool.encode(), events.encode([game]))])
