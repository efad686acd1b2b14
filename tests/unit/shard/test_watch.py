"""A shard's look at its log, which nothing of the log holds up."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from services.control.directory import LiveDirectory
from services.control.generations import default_fold
from services.control.lifecycles import PartitionStatus
from services.control.log import ControlLog
from services.control.records import Restarts, Skipped, Takeover
from services.log.protocol import BatchDamaged, Log, LogError
from services.log.sqlite.log import open_sqlite_log
from services.runtime.settings import Settings
from services.shard.fencing import Fenced
from services.shard.figures import ShardFigures
from services.shard.folding import Folding
from services.shard.generations.builder import Builder
from services.shard.owned import OwnedPartitions
from services.shard.takeover import Takeovers
from services.shard.watch import LogWatch
from tests.support.waiting import PATIENCE, until


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    with closing(open_sqlite_log(tmp_path / "log.sqlite", 2)) as log:
        yield log


@contextmanager
def watching(log: Log, folder: Path) -> Iterator[tuple[Callable[[], None], OwnedPartitions, ShardFigures]]:
    """A step of the watch, two seconds after the one before; the partitions that it looks at, and what it measures."""
    owned, figures, now = OwnedPartitions(), ShardFigures(), [1.0]
    with closing(ControlLog(log.control)) as control:
        timer = lambda: now[0]  # noqa: E731 - as short as it is
        takeovers = Takeovers(Settings(data=folder), "test", log, control, figures, timer, timer)
        owned.runtimes.update({number: takeovers.take_over(number) for number in range(2)})
        directory = LiveDirectory(control, default_fold(Settings()), 10, timer, create=True)
        folding = Folding(directory, log.dead_letters, threading.Event(), figures)
        watch = LogWatch(log, control, owned, takeovers, folding, timer, figures)

        def step() -> None:
            now[0] += 2.0
            watch.step(now[0])

        yield step, owned, figures
        watch.close()
        for runtime in owned.all():
            runtime.builder.close()


def test_a_log_that_takes_no_positions_holds_nothing_up(log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    committed = list[dict[int, int]]()

    def commit(positions: Mapping[int, int]) -> None:
        committed.append(dict(positions))
        raise LogError("the group has no coordinator", retriable=True)

    monkeypatch.setattr(log.outcomes, "commit", commit, raising=False)
    log.outcomes.append(1, [(None, b"x")])
    with watching(log, tmp_path) as (step, owned, _):
        step()
        until(lambda: step() is None and owned.runtimes[1].end == 1, "measured")
        assert owned.runtimes[1].measured_at > 1.0
    assert committed[0] == {0: 0, 1: 0}


def test_a_commit_without_an_answer_holds_no_measurement_up(log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commits, answer = list[Mapping[int, int]](), threading.Event()

    def commit(positions: Mapping[int, int]) -> None:
        commits.append(positions)
        assert answer.wait(PATIENCE)

    monkeypatch.setattr(log.outcomes, "commit", commit, raising=False)
    with watching(log, tmp_path) as (step, owned, _):
        for end in (1, 2):
            log.outcomes.append(1, [(None, b"x")])
            until(lambda end=end: step() is None and owned.runtimes[1].end == end, "measured")
        until(lambda: commits, "a commit began")
        assert len(commits) == 1, "the next one begins when it has ended"
        answer.set()
        until(lambda: step() is None and len(commits) == 2, "the next one")


def test_a_partition_that_does_not_answer_holds_no_other_up(log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    end, answer = log.outcomes.end, threading.Event()

    def waiting(partition: int) -> int:
        assert partition == 1 or answer.wait(PATIENCE)
        return end(partition)

    with watching(log, tmp_path) as (step, owned, _):
        monkeypatch.setattr(log.outcomes, "end", waiting)
        before = owned.runtimes[0].measured_at
        for number in (0, 1):
            log.outcomes.append(number, [(None, b"x")])
        until(lambda: step() is None and owned.runtimes[1].end == 1, "the other is measured")
        log.outcomes.append(1, [(None, b"x")])
        until(lambda: step() is None and owned.runtimes[1].end == 2, "the other is measured again")
        assert (owned.runtimes[0].end, owned.runtimes[0].measured_at) == (0, before)
        answer.set()
        until(lambda: step() is None and owned.runtimes[0].end == 1, "measured")
        with closing(ControlLog(log.control)) as control:
            control.append(Takeover(partition=0, owner="another", time=0.0))
        with pytest.raises(Fenced, match="partition 0 was taken over"):
            step()


def test_a_partition_without_an_answer_at_the_start_is_offline_until_it_answers(
    log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shard took over none of its partitions before."""
    end, offline, asked = log.outcomes.end, [0], list[int]()

    def answering(partition: int) -> int:
        asked.append(partition)
        if partition in offline:
            raise LogError("no broker leads it", retriable=True)
        return end(partition)

    monkeypatch.setattr(log.outcomes, "end", answering)
    log.outcomes.append(0, [(None, b"x")])
    log.outcomes.append(1, [(None, b"x")])
    with watching(log, tmp_path) as (step, owned, _):
        assert (list(owned.running()), owned.runtimes[0].status) == ([1], PartitionStatus.OFFLINE)
        assert "no broker leads it; it is tried again until it answers" in (owned.runtimes[0].stopped or "")
        until(lambda: step() is None and owned.runtimes[1].end == 1, "the others are measured")
        until(lambda: step() is None and asked.count(0) >= 3, "it is tried again")
        assert (owned.runtimes[0].status, owned.runtimes[0].end) == (PartitionStatus.OFFLINE, 0)
        epoch = owned.runtimes[0].epoch
        owned.take_change()
        offline.clear()
        until(lambda: step() is None and owned.runtimes[0].end == 1, "it runs")
        assert (list(owned.running()), owned.runtimes[0].epoch, owned.take_change()) == ([0, 1], epoch, True)


def test_a_partition_that_goes_offline_again_while_it_is_recovered_is_tried_again(
    log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    end, answers = log.outcomes.end, iter([False, True, False, True])

    def answering(partition: int) -> int:
        if partition == 0 and not next(answers, True):
            raise LogError("no broker leads it", retriable=True)
        return end(partition)

    monkeypatch.setattr(log.outcomes, "end", answering)
    with watching(log, tmp_path) as (step, owned, _):
        until(lambda: step() is None and owned.runtimes[0].stopped is None, "it runs")
        assert next(answers, None) is None


def test_no_generation_is_created_in_a_partition_that_catches_up_after_a_death(
    log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build can be what ended the shard before: the stream is folded first."""
    created = list[int]()
    monkeypatch.setattr(Builder, "create_due", lambda builder, *_: created.append(builder._partition.number))
    log.outcomes.append(1, [(None, b"x")] * 3)
    with closing(ControlLog(log.control)) as control:
        epoch = control.append(Takeover(partition=1, owner="before", time=0.0))
        control.append(Restarts(partition=1, epoch=epoch, position=0, count=1, time=0.0))
    with watching(log, tmp_path) as (step, owned, _):
        step()
        assert created == [0]
        owned.runtimes[1].passed = 2
        step()
        assert created == [0, 0]
        owned.runtimes[1].passed = 3
        step()
        assert created == [0, 0, 0, 1]


def test_partitions_that_are_added_are_told_once(
    log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with watching(log, tmp_path) as (step, _, figures):
        for unread in (0, 3):
            monkeypatch.setattr(log.outcomes, "unread", unread, raising=False)
            for _ in range(3):
                step()
            assert figures.unread_partitions == unread
    assert caplog.text.count("3 partitions were added to topic equirank.outcomes: no shard reads them") == 1


def test_a_decision_on_a_partition_that_does_not_answer_takes_effect_without_a_question_to_it(
    log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A question would take as long as the log's deadline, each second, and the fold of all partitions would wait for it."""
    end, offline, threads = log.outcomes.end, list[int](), list[str]()

    def answering(partition: int) -> int:
        threads.append(threading.current_thread().name)
        if partition in offline:
            raise LogError("no broker leads it", retriable=True)
        return end(partition)

    log.outcomes.append(1, [(None, b"x")] * 3)
    with watching(log, tmp_path) as (step, owned, _), closing(ControlLog(log.control)) as control:
        monkeypatch.setattr(log.outcomes, "end", answering)
        until(lambda: step() is None and owned.runtimes[1].end == 3, "measured")
        owned.stop(1, BatchDamaged(log.outcomes.name, 1, 0, 2, "bad checksum"))
        offline.append(1)
        control.append(Skipped(partition=1, begin=0, end=2, time=0.0))
        step()
        assert owned.runtimes[1].status is PartitionStatus.RUNNING
    assert set(threads) == {"measure"}


def test_a_control_log_without_an_answer_takes_nothing_over(log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(partition: int) -> int:
        raise LogError("no broker answers", retriable=True)

    monkeypatch.setattr(log.control, "end", away)
    with pytest.raises(LogError, match="no broker answers"), watching(log, tmp_path):
        pass
