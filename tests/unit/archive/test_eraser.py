"""When the engine erases a name from what is kept: after boards and results, in the order of the control log, again after failures."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from services.control.erasures import ErasedName, ErasureDone, ErasureRequest, erased_name
from services.control.records import ControlState, Serve
from services.engine.eraser import TASK_SECONDS, Eraser
from services.log.partition import partition_of
from services.runtime.settings import Settings
from tests.support.pools import control_of, first_generation, pool_of
from tests.support.task_pool import FakeTaskPool

PARTITIONS = 3
CREATED = pool_of("p")
HOME = partition_of("p", PARTITIONS)
ANN, BEN = erased_name("ann", ()), erased_name("ben", ())


class Log:
    """A control log in memory."""

    def __init__(self, state: ControlState) -> None:
        self.state = state

    def known(self) -> ControlState:
        return self.state

    def append(self, record: Any) -> int:
        self.state.apply(self.state.position, record)
        return self.state.position


class Drive:
    """An eraser on a fake task pool. cleared: names that results hold no more."""

    def __init__(self, folder: Path, archive: str | None = None) -> None:
        self.control, self.tasks, self.cleared, self.now = control_of(CREATED), FakeTaskPool(), list[ErasedName](), 0.0
        self.log = Log(self.control)
        settings = Settings(data=folder, partitions=PARTITIONS, archive=archive or "off")
        self.eraser = Eraser(settings, self.tasks, self.log, lambda _: self.cleared, clock=lambda: 50.0)  # type: ignore[arg-type]

    def ask(self, name: ErasedName) -> None:
        self.log.append(ErasureRequest(pool="p", name=name, by="x", time=20.0))

    def serve(self, *names: ErasedName) -> None:
        number = max(self.control.generations["p"]) + 1
        self.log.append(first_generation(CREATED, number=number, erased=names))
        self.log.append(Serve(pool="p", number=number, time=0.0))

    def step(self, archiving: tuple[int, ...] = ()) -> int:
        """A step of the engine, seconds later; how many tasks were started so far."""
        self.now += 0.4
        self.eraser.step(self.now, self.control, archiving)
        return len(self.tasks.tasks)


def test_a_name_is_erased_once_boards_and_results_are_without_it(tmp_path: Path) -> None:
    one = Drive(tmp_path)
    one.ask(ANN)
    assert one.step() == 0, "generation 1 holds the name"
    one.serve(ANN)
    assert one.step() == 0, "results hold the name"
    one.cleared = [ANN]
    assert one.step((HOME,)) == 0, "the archive is being written"
    assert one.step() == 1
    assert one.eraser.tasks.busy == {HOME}
    assert one.tasks.newest.arguments[1:] == (HOME, one.control.erasures.requests, {"p": 2}, 0, [], 0)
    health = one.eraser.health()
    assert (health.pending, health.oldest_seconds) == (1, 30.0)
    one.tasks.newest.end(3)
    assert one.step() == 1
    assert one.control.erasures.done["p", ANN.token] == ErasureDone(pool="p", token=ANN.token, time=50.0)
    assert one.eraser.health().pending == 0
    assert not one.eraser.tasks.busy


def test_final_boards_wait_in_a_partition_while_a_generation_without_the_name_serves_and_the_erasure_is_not_complete(
    tmp_path: Path,
) -> None:
    one = Drive(tmp_path)
    one.ask(ANN)
    assert one.eraser.waiting(one.control) == set(), "no final board delays the generation without the name"
    one.serve(BEN)
    assert one.eraser.waiting(one.control) == set(), "the generation that serves holds the name"
    one.serve(ANN, BEN)
    assert one.eraser.waiting(one.control) == {HOME}, "results still hold the name, and the task did not start"
    one.cleared = [ANN]
    assert one.step() == 1
    assert one.eraser.waiting(one.control) == {HOME}
    one.tasks.newest.end(1)
    one.step()
    assert one.eraser.waiting(one.control) == set()


def test_a_name_is_erased_once_no_partition_of_the_archive_holds_it(tmp_path: Path) -> None:
    """A producer with another partitioner may have sent outcomes of the pool to any partition."""
    one = Drive(tmp_path, str(tmp_path / "archive"))
    one.ask(ANN)
    assert one.step() == 2, "no fold takes what the two other partitions hold of the pool: nothing is waited for"
    away = [task for task in one.tasks.tasks if task.arguments[1] != HOME]
    assert [task.arguments[2:] for task in away] == [([], {}, 0, one.control.erasures.requests, 0)] * 2
    one.serve(ANN)
    one.cleared = [ANN]
    assert one.step() == 3
    one.tasks.newest.end(3)
    away[0].end(1)
    assert one.step() == 3
    assert one.eraser.health().pending == 1
    away[1].end(0)
    one.step()
    assert one.eraser.health().pending == 0
    assert ("p", ANN.token) in one.control.erasures.done


def test_an_archive_that_is_erased_again_after_all_erasures_are_done_is_not_noted(tmp_path: Path) -> None:
    """As one from a backup, or one that an earlier release erased in the pools' own partitions only."""
    one = Drive(tmp_path, str(tmp_path / "archive"))
    one.log.append(first_generation(CREATED, number=2, erased=[ANN]))
    one.ask(ANN)
    one.log.append(done := ErasureDone(pool="p", token=ANN.token, time=1.0))
    assert one.step() == 3
    for task in one.tasks.tasks:
        task.end(1)
    position = one.control.position
    assert one.step() == 3
    assert one.control.position == position
    assert one.control.erasures.done == {("p", ANN.token): done}


def test_names_are_erased_in_the_order_of_the_requests(tmp_path: Path) -> None:
    one = Drive(tmp_path)
    one.ask(ANN)
    one.ask(BEN)
    one.serve(BEN)
    one.cleared = [BEN]
    assert one.step() == 0, "the archive counts erasures: the first one comes first"
    one.serve(ANN, BEN)
    one.cleared = [ANN, BEN]
    assert one.step() == 1
    assert one.tasks.newest.arguments[3] == {"p": 3}
    one.tasks.newest.end(0)
    one.step()
    assert len(one.control.erasures.done) == 2


def test_an_erasure_that_fails_is_tried_again_after_growing_pauses(tmp_path: Path) -> None:
    one = Drive(tmp_path)
    one.ask(ANN)
    one.serve(ANN)
    one.cleared = [ANN]
    started = []
    for _ in range(40):
        if one.step() > len(started):
            started.append(one.now)
            one.tasks.newest.end(OSError("the store is away"))
    pauses = [round(later - earlier, 1) for earlier, later in pairwise(started)]
    assert pauses == sorted(pauses)
    assert pauses[0] >= 1.0
    assert pauses[2] >= 4.0
    assert one.eraser.health().failures == len(started)
    assert not one.control.erasures.done


def test_an_erasure_that_hangs_is_cancelled_and_the_next_one_has_longer(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """As on an object store that never answers; or the archive is so large that the first deadline is too short."""
    one = Drive(tmp_path)
    one.ask(ANN)
    one.serve(ANN)
    one.cleared = [ANN]
    for tries, seconds in enumerate((1.0, 2.0, 4.0, 8.0, 16.0, 24.0, 24.0), 1):
        one.now += 60.0  # the pause after a failure
        assert one.step() == tries
        one.now += seconds * TASK_SECONDS - 1.0
        one.step()
        assert not one.tasks.newest.ended
        one.now += 2.0
        one.step()
        assert one.tasks.cancelled == one.tasks.tasks
        assert not one.eraser.tasks.busy
    assert "it did not end within 3600 s and was cancelled" in caplog.text
    one.now += 60.0
    one.step()
    one.tasks.newest.end(0)
    one.step()
    assert one.eraser.health().pending == 0


def test_a_pool_without_outcomes_and_erasures_of_an_earlier_engine(tmp_path: Path) -> None:
    one = Drive(tmp_path)
    del one.control.generations["p"]
    one.ask(ANN)
    assert one.step() == 1, "nothing was folded: nothing holds the name but what is archived"
    one.tasks.newest.end(0)
    one.step()
    other = Drive(tmp_path)
    other.control = other.log.state = one.control
    assert other.step() == 1
    assert other.tasks.newest.arguments[4], "done before: only an archive from a backup would be changed"
    other.tasks.newest.end(0)
    assert other.step() == 1
    other.eraser.tasks.cancel()
