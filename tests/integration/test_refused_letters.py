"""Dead letters that may not be written stop their partition, and no other. No record is blamed, and after the repair nothing is lost."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec
import pytest

from services.checkpoints.checkpoint import CheckpointStore
from services.control.lifecycles import PartitionStatus
from services.control.log import ControlLog
from services.demo import simulated
from services.log import dead_letters
from services.log.dead_letters import DeadLetter
from services.log.partition import partition_of
from services.log.protocol import Log, LogError, RecordTooLarge, Topic
from services.runtime.settings import Settings
from services.shard import watch
from services.shard.restarts import isolated_at
from services.shard.worker import ShardWorker
from services.wire import events
from tests.support.waiting import PATIENCE
from tests.support.worker import HOME, PARTITIONS, embedded, installed, play, published, retract, store_of, until, working

OTHER = next(name for name in map("pool-{}".format, range(100)) if partition_of(name, PARTITIONS) != HOME)
_WRITE = dead_letters.write


@contextmanager
def refusing(patch: pytest.MonkeyPatch, error: LogError | None = None) -> Iterator[threading.Event]:
    """Refuse the dead letters of partition HOME. Yields an event that is set at the first refusal."""
    refused = threading.Event()
    error = error or LogError("the topic of dead letters may not be written", retriable=False)

    def write(topic: Topic, letters: Sequence[DeadLetter]) -> None:
        if any(letter.partition == HOME for letter in letters):
            refused.set()
            raise error
        _WRITE(topic, letters)

    with patch.context() as patched:
        patched.setattr(dead_letters, "write", write)
        yield refused


def play_other(log: Log, start: int, stop: int) -> None:
    """Append games of a pool in another partition."""
    games = [msgspec.structs.replace(simulated.game(i, float(i)), pool=OTHER) for i in range(start, stop)]
    log.outcomes.append(partition_of(OTHER, PARTITIONS), [(OTHER.encode(), record) for record in events.encode_records(games, 10)])


def others(settings: Settings, log: Log) -> int:
    """Number of outcomes on the published board of the other pool."""
    with store_of(settings, log) as store:
        head = store.live.head(OTHER)
    return -1 if head is None else head.outcomes


def stopped(worker: ShardWorker, status: PartitionStatus = PartitionStatus.LETTERS_REFUSED) -> Callable[[], bool]:
    """Whether partition HOME stopped because its dead letters are refused."""

    def condition() -> bool:
        one = next((one for one in worker.health().partitions if one.partition == HOME), None)
        return one is not None and one.status is status and "dead letters" in str(one.stopped)

    return condition


def written(log: Log) -> list[DeadLetter]:
    """The dead letters in the log."""
    with closing(log.dead_letters.reader({0: 0})) as reader:
        return [dead_letters.decode(record) for record in reader.poll(0.0, 100).get(0, ())]


def checkpointed(settings: Settings) -> int | None:
    manifest = CheckpointStore(settings.checkpoint_url).newest(HOME)
    return None if manifest is None else manifest.position


def test_refused_letters_stop_their_partition_without_a_checkpoint_and_other_partitions_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with installed(tmp_path) as settings, embedded(settings) as log:
        play(log, 0, 20)
        with working(settings, log):
            until(lambda: published(settings, log) == 20, "the first outcomes are shown")
        before, others_expected = checkpointed(settings), 0
        log.outcomes.append(HOME, [(b"x", b"no outcome")])
        play(log, 20, 40)
        for _ in range(6):
            with refusing(monkeypatch), working(settings, log) as worker:
                until(stopped(worker), "the partition stopped")
                play_other(log, others_expected, others_expected + 10)
                others_expected += 10
                until(lambda expected=others_expected: others(settings, log) == expected, "another partition goes on")
            assert checkpointed(settings) == before, "a checkpoint would lose the letter"
        with closing(ControlLog(log.control)) as control:
            assert isolated_at(HOME, control.refresh()) is None
        with working(settings, log) as worker:
            until(lambda: worker.health().dead_letters == {"unparsable": 1}, "the letter is written")
            until(lambda: checkpointed(settings) not in (None, before), "the partition writes checkpoints again")
        assert ({letter.key for letter in written(log)}, published(settings, log)) == ({f"0/{HOME}/2/-1"}, 40)


def test_the_partition_goes_on_when_the_log_takes_its_letters_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_LETTERS_SECONDS", 0.2)
    with installed(tmp_path) as settings, embedded(settings) as log:
        play(log, 0, 20)
        log.outcomes.append(HOME, [(b"x", b"no outcome"), (b"x", b"another one")])
        with working(settings, log) as worker:
            with refusing(monkeypatch) as refused:
                until(stopped(worker), "the partition stopped")
                play(log, 20, 40)
                refused.clear()
                assert refused.wait(PATIENCE), "the letters are tried again"
                assert (stopped(worker)(), worker.health().dead_letters) == (True, {})
            until(lambda: published(settings, log) == 40, "the partition goes on by itself")
            assert worker.health().dead_letters == {"unparsable": 2}
            assert [one.stopped for one in worker.health().partitions] == [None] * PARTITIONS
            until(lambda: checkpointed(settings) is not None, "it writes checkpoints")
        assert {(letter.offset, letter.item) for letter in written(log)} == {(2, -1), (3, -1)}


def test_letters_before_the_first_outcome_of_a_partition_are_written_by_the_next_shard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with installed(tmp_path) as settings, embedded(settings) as log:
        log.outcomes.append(HOME, [(b"x", b"no outcome")])
        play(log, 0, 20)
        with refusing(monkeypatch), working(settings, log) as worker:
            until(stopped(worker), "the partition stopped")
        assert checkpointed(settings) is None
        play(log, 20, 40)
        with working(settings, log) as worker:
            until(lambda: published(settings, log) == 40, "all outcomes are shown")
            assert worker.health().dead_letters == {"unparsable": 1}
        assert [letter.key for letter in written(log)] == [f"0/{HOME}/0/-1"]


def test_letters_that_are_too_large_stop_their_partition_until_a_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with installed(tmp_path) as settings, embedded(settings) as log:
        play(log, 0, 20)
        log.outcomes.append(HOME, [(b"x", b"no outcome")])
        too_large = RecordTooLarge("append to dead-letters[0]: the message is too large; raise the topic's max.message.bytes")
        with refusing(monkeypatch, too_large), working(settings, log) as worker:
            until(stopped(worker, PartitionStatus.UNREADABLE), "the partition stopped")
            why = next(str(one.stopped) for one in worker.health().partitions if one.partition == HOME)
            assert why.endswith("raise the topic's max.message.bytes; then restart the shard, which folds these records again")
        with working(settings, log) as worker:
            until(lambda: worker.health().dead_letters == {"unparsable": 1}, "the letter is written")
        assert (len(written(log)), published(settings, log)) == (1, 20)


def test_a_stop_for_letters_leaves_the_restart_counter_as_the_shard_found_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with installed(tmp_path) as settings, embedded(settings) as log:
        log.outcomes.append(HOME, [(b"x", b"no outcome")])
        play(log, 0, 20)
        with refusing(monkeypatch), working(settings, log) as worker:
            until(stopped(worker), "the partition stopped")
            assert worker.health().dead_letters == {}, "only written letters are counted"
        with closing(ControlLog(log.control)) as control:
            restarts = control.refresh().partitions.restarts
        assert HOME in restarts
        assert restarts[HOME].count == 0


def test_letters_of_a_build_that_are_refused_stop_their_partition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with installed(tmp_path) as settings, embedded(settings) as log:
        play(log, 0, 20)
        scores = events.encode(
            [events.ScoreEvent(v=1, id="s", pool=simulated.POOL, time=0.0, task="t", scores={"a": 1.0})]
        )  # of the wrong kind
        log.outcomes.append(HOME, [(simulated.POOL.encode(), scores)])
        with working(settings, log):
            until(lambda: published(settings, log) == 20, "all outcomes are shown")
            until(lambda: log.dead_letters.end(0) == 1, "the letter is written")
        retract(log, [3])
        with refusing(monkeypatch), working(settings, log) as worker:
            until(stopped(worker), "the partition stopped")
        with working(settings, log):
            until(lambda: published(settings, log) == 19, "the build without the retracted outcome serves")
        assert log.dead_letters.end(0) >= 2, "the build wrote its letter"


def test_a_shard_that_must_end_does_not_stop_a_partition_whose_letters_find_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with installed(tmp_path) as settings, embedded(settings) as log:
        log.outcomes.append(HOME, [(b"x", b"no outcome")])
        with refusing(monkeypatch, LogError("may not be written", retriable=True)) as refused:
            with pytest.raises(LogError, match="may not be written"), working(settings, log) as worker:
                assert refused.wait(PATIENCE)
            assert all(one.stopped is None for one in worker.health().partitions)
