"""A shard's worker on a real SQLite log and a real Redis, in this process: restart, fencing, a lost store, another log."""

import threading
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from services.checkpoints.checkpoint import CheckpointStore
from services.control import generations
from services.control.log import ControlLog
from services.control.records import FoldSettings, Generation, PoolCreated, Serve
from services.demo import simulated
from services.log.protocol import Log, LogError, Reader, Records
from services.log.sqlite.log import open_sqlite_log
from services.runtime.settings import Settings
from services.shard import worker as shard_worker
from services.shard.fencing import Fenced
from services.shard.worker import ShardWorker
from services.state.tallies import Tallies
from services.wire.pools import Kind
from tests.support.forgetting import forget
from tests.support.redis import flush
from tests.support.waiting import PATIENCE
from tests.support.worker import HOME, PARTITIONS, differences, newest_digest, play, published, store_of, until, working


def test_outcomes_reach_store_and_checkpoint_and_verify_agrees(settings: Settings, log: Log) -> None:
    play(log, 0, 500)
    with working(settings, log):
        until(lambda: published(settings) == 500, "500 outcomes published")
        play(log, 500, 700)
        until(lambda: published(settings) == 700, "700 outcomes published")
    assert differences(settings, log) == []


def test_a_restart_goes_on_where_it_ended(settings: Settings, log: Log) -> None:
    play(log, 0, 300)
    with working(settings, log):
        until(lambda: published(settings) == 300, "300 outcomes published")
    play(log, 300, 500)
    with working(settings, log) as worker:
        until(lambda: published(settings) == 500, "500 outcomes published")
        assert worker.health().counters["records"] == 20, "the restart folds the tail only"
    assert differences(settings, log) == []


def test_a_damaged_checkpoint_is_passed_over_and_changes_no_digest(settings: Settings, log: Log) -> None:
    play(log, 0, 300)
    with working(settings, log):
        until(lambda: published(settings) == 300, "300 outcomes published")
    whole = newest_digest(settings)
    objects = sorted((settings.data / "state" / "objects" / f"p{HOME:05d}").iterdir())
    body = bytearray(objects[-1].read_bytes())
    body[-70] ^= 1
    objects[-1].write_bytes(bytes(body))
    with working(settings, log) as worker:
        play(log, 300, 310)
        until(lambda: published(settings) == 310, "310 outcomes published")
        assert worker.health().counters["checkpoints_skipped"] >= 1
    assert newest_digest(settings) != whole
    assert differences(settings, log) == []


def test_a_damaged_checkpoint_does_not_stay_the_newest_of_a_partition_without_new_records(settings: Settings, log: Log) -> None:
    play(log, 0, 300)
    with working(settings, log):
        until(lambda: published(settings) == 300, "300 outcomes published")
    store = CheckpointStore(settings.checkpoint_url)
    newest = store.manifests(HOME)[0]
    damaged = newest.removesuffix(".json") + "-000001.json"
    (settings.data / "state" / damaged).write_bytes((settings.data / "state" / newest).read_bytes()[:-1])
    assert store.manifests(HOME)[0] == damaged
    assert any(damaged in (difference or "") for difference in differences(settings, log))
    with working(settings, log):
        until(lambda: store.manifests(HOME)[0] not in (newest, damaged), "a new checkpoint is written")
    assert differences(settings, log) == []


def test_verify_reads_the_newest_checkpoint_whole(settings: Settings, log: Log) -> None:
    play(log, 0, 300)
    with working(settings, log):
        until(lambda: published(settings) == 300, "300 outcomes published")
    manifest = CheckpointStore(settings.checkpoint_url).newest(HOME)
    assert manifest is not None
    path = settings.data / "state" / manifest.pools[0].object
    body = bytearray(path.read_bytes())
    body[-70] ^= 1
    path.write_bytes(bytes(body))
    assert any("checksum differs" in (difference or "") for difference in differences(settings, log))


def test_verify_misses_a_pool_that_the_store_lacks(settings: Settings, log: Log) -> None:
    play(log, 0, 300)
    with working(settings, log):
        until(lambda: published(settings) == 300, "300 outcomes published")
    assert settings.redis is not None
    flush(settings.redis)
    assert differences(settings, log) == ["the store lacks this pool"]


def test_a_lost_store_is_filled_again(settings: Settings, log: Log) -> None:
    play(log, 0, 300)
    with working(settings, log):
        until(lambda: published(settings) == 300, "300 outcomes published")
        assert settings.redis is not None
        flush(settings.redis)
        until(lambda: published(settings) == 300, "published again")
        until(lambda: differences(settings, log) == [], "every board is whole again")


def noted(worker: ShardWorker) -> threading.Event:
    """An event that is set when the worker ends. Closing the control log is the last thing that it does."""
    ended, close = threading.Event(), worker._control.close

    def closed() -> None:
        close()
        ended.set()

    worker._control.close = closed  # type: ignore[method-assign]
    return ended


def two_owners(settings: Settings, log: Log) -> None:
    with working(settings, log) as first:
        until(lambda: published(settings) == 100, "100 outcomes published")
        ended = noted(first)
        with working(settings, log) as second:
            until(lambda: len(second.health().partitions) == PARTITIONS, "taken over")  # else the first might checkpoint what follows
            play(log, 100, 200)
            until(lambda: published(settings) == 200, "200 outcomes published by the second")
            until(lambda: second.health().counters.get("checkpoints", 0) > 0, "a checkpoint of the second")
        play(log, 200, 300)
        until(ended.is_set, "the first learned of the second")
        assert published(settings) == 200, "the first writes no more"


def test_a_second_owner_ends_the_first(settings: Settings, log: Log) -> None:
    play(log, 0, 100)
    with pytest.raises(Fenced):
        two_owners(settings, log)


def sleeping(settings: Settings, log: Log) -> None:
    """A shard with a record in its hand sleeps through a takeover, and through the creation of the pool that the record names."""
    asleep, awake, over = threading.Event(), threading.Event(), threading.Event()
    with working(settings, log) as first, closing(ControlLog(log.control)) as control:
        until(lambda: len(first.health().partitions) == PARTITIONS, "taken over")
        fold = first._folding.fold

        def late(owned: Any, records: Any) -> None:
            asleep.set()
            awake.wait(PATIENCE)
            try:
                fold(owned, records)
            finally:
                over.set()

        first._folding.fold = late  # type: ignore[method-assign]
        play(log, 0, 10)
        until(asleep.is_set, "it holds the record")
        with working(settings, log) as second:
            until(lambda: second.health().dead_letters == {"unknown_pool": 10}, "the second refused it: there is no such pool")
            control.create_pool(PoolCreated(pool=simulated.POOL, kind=Kind.GAMES, time=0.0))
            awake.set()
            until(over.is_set, "the first went on")
            play(log, 10, 20)
            until(lambda: published(settings) == 10, "what came after the pool counts")
            until(lambda: second.health().partitions[HOME].checkpoint == 2, "checkpointed")
        assert control.refresh().generations[simulated.POOL][1].start == 1
    assert differences(settings, log) == []


def test_a_shard_that_slept_begins_no_pool_in_the_past(settings: Settings, log: Log) -> None:
    with pytest.raises(Fenced):
        sleeping(settings.model_copy(update={"create_pools": False}), log)


def test_a_checkpoint_of_another_log_stops_the_partition(settings: Settings, log: Log, tmp_path: Path) -> None:
    play(log, 0, 100)
    with working(settings, log):
        until(lambda: published(settings) == 100, "100 outcomes published")
    other = open_sqlite_log(tmp_path / "other.sqlite", PARTITIONS)
    play(other, 0, 100)
    with working(settings, other) as worker:
        until(lambda: bool(worker.health().partitions), "recovered")
        until(lambda: any(one.stopped for one in worker.health().partitions if one.partition == HOME), "stopped")
        told = {one.partition: one.stopped for one in worker.health().partitions}
        assert "log" in (told[HOME] or "")
    other.close()


def test_a_pool_whose_retractions_the_log_lost_stops_its_partition_and_no_other(settings: Settings, log: Log) -> None:
    play(log, 0, 100)
    control = ControlLog(log.control)
    control.create_pool(PoolCreated(pool=simulated.POOL, kind=Kind.GAMES, time=0.0))
    for number, horizon in ((1, 0), (2, 5)):
        fields: dict[str, Any] = {"start": 0, "time": 0.0, "fold": FoldSettings(), "retraction_horizon": horizon}
        control.create_generation(Generation(pool=simulated.POOL, number=number, **fields))
    control.append(Serve(pool=simulated.POOL, number=2, time=0.0))
    control.close()
    forget(settings, 3)
    with working(settings, log) as worker:
        until(lambda: len(worker.health().partitions) == PARTITIONS, "every partition is taken over")
        told = {one.partition: one.stopped for one in worker.health().partitions}
        assert "the log holds 3 to" in (told.pop(HOME) or "")
        assert set(told.values()) == {None}


def test_readers_are_told_of_a_pool_that_breaks_at_once_after_a_restart(
    settings: Settings, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(log, 0, 100)
    with working(settings, log):
        until(lambda: published(settings) == 100, "100 outcomes published")

    def breaks(*_: object) -> None:
        msg = "boom"
        raise ValueError(msg)

    monkeypatch.setattr(Tallies, "add_games", breaks)
    play(log, 100, 110)
    with store_of(settings) as store, working(settings, log):
        until(lambda: (head := store.live.head(simulated.POOL)) is not None and "boom" in (head.stopped or ""), "readers are told")
    assert published(settings) == 100, "what was published stays"


class Damaged:
    """A reader that cannot read what stands in one partition from some offset on, as after a disk failed under a broker."""

    def __init__(self, reader: Reader, begin: int = 10) -> None:
        self._reader, self._begin, self.position, self.close = reader, begin, reader.position, reader.close

    def poll(self, timeout: float, max_records: int) -> Mapping[int, Records]:
        found = self._reader.poll(timeout, max_records)
        if any(record.offset >= self._begin for record in found.get(HOME, [])):
            raise LogError("a batch failed its crc check", retriable=False)
        return found


def test_a_partition_with_a_damaged_batch_stops_alone(settings: Settings, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    reader, away = log.outcomes.reader, (HOME + 1) % PARTITIONS
    monkeypatch.setattr(log.outcomes, "reader", lambda positions: Damaged(reader(positions)))
    play(log, 0, 100)
    with working(settings, log) as worker:
        until(lambda: published(settings) == 100, "what is sound is published")
        play(log, 100, 200)
        log.outcomes.append(away, [(None, b"no json")])
        until(lambda: worker.health().partitions[away].position == 1, "the others go on")
        until(lambda: worker.health().partitions[HOME].stopped is not None, "stopped")
        assert "crc check" in (worker.health().partitions[HOME].stopped or "")
        assert worker.health().partitions[HOME].position == 10


def test_so_does_one_that_is_damaged_where_its_checkpoint_ends(settings: Settings, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the last record of a checkpoint a shard knows the log again, before it reads on."""
    play(log, 0, 100)
    with working(settings, log):
        until(lambda: published(settings) == 100, "published")
    reader, away = log.outcomes.reader, (HOME + 1) % PARTITIONS
    monkeypatch.setattr(log.outcomes, "reader", lambda positions: Damaged(reader(positions), begin=9))
    log.outcomes.append(away, [(None, b"no json")])
    with working(settings, log) as worker:
        until(lambda: [one.position for one in worker.health().partitions if one.partition == away] == [1], "the others go on")
        assert "crc check" in (worker.health().partitions[HOME].stopped or "")
        with store_of(settings) as store:
            until(lambda: (head := store.live.head(simulated.POOL)) is not None and "crc check" in (head.stopped or ""), "readers are told")
    assert published(settings) == 100, "what was published stays"


def test_a_generation_that_comes_by_a_damaged_batch_fails_alone(settings: Settings, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """What serves was folded before the damage, and goes on."""
    play(log, 0, 100)
    reader = log.outcomes.reader

    def damaged_from_the_start(positions: dict[int, int]) -> Reader:
        return Damaged(reader(positions), begin=0) if positions == {HOME: 0} else reader(positions)

    with working(settings, log) as worker:
        until(lambda: published(settings) == 100, "published")
        monkeypatch.setattr(log.outcomes, "reader", damaged_from_the_start)
        control = ControlLog(log.control)
        newest = control.refresh().newest(simulated.POOL)
        assert newest is not None
        control.append(generations.wish(newest, time=0.0))
        control.close()
        until(lambda: worker.health().counters["generation_failures"] == 1, "it fails")
        play(log, 100, 200)
        until(lambda: published(settings) == 200, "the pool goes on")
        with store_of(settings) as store:
            until(lambda: (head := store.live.head(simulated.POOL)) is not None and "crc check" in str(head.building), "readers see why")


def test_a_log_that_is_away_while_damage_is_looked_for_is_waited_for(settings: Settings, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    reader, away = log.outcomes.reader, [2]

    def flaky(positions: dict[int, int]) -> Reader:
        if len(positions) == 1 and away[0]:
            away[0] -= 1
            raise LogError("no broker answers", retriable=True)
        return Damaged(reader(positions))

    play(log, 0, 200)
    monkeypatch.setattr(log.outcomes, "reader", flaky)
    monkeypatch.setattr(shard_worker, "BATCH_RECORDS", 10)
    with working(settings, log) as worker:
        until(lambda: any(one.stopped for one in worker.health().partitions), "stopped")
        assert "crc check" in (worker.health().partitions[HOME].stopped or "")
        assert (worker.health().partitions[HOME].position, away) == (10, [0])


def test_a_partition_that_is_offline_at_the_start_holds_no_other_up(settings: Settings, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    end, offline, other = log.outcomes.end, [HOME], (HOME + 1) % PARTITIONS

    def answering(partition: int) -> int:
        if partition in offline:
            raise LogError("no broker leads it", retriable=True)
        return end(partition)

    play(log, 0, 100)
    with working(settings, log):
        until(lambda: published(settings) == 100, "all is folded")
    play(log, 100, 200)
    log.outcomes.append(other, [(None, b"no json")])
    monkeypatch.setattr(log.outcomes, "end", answering)
    with working(settings, log) as worker, store_of(settings) as store:
        until(lambda: next((one.position for one in worker.health().partitions if one.partition == other), 0) == 1, "the others go on")
        assert [one.status for one in worker.health().partitions if one.partition == HOME] == ["offline"]
        until(lambda: (head := store.live.head(simulated.POOL)) is not None and "no broker leads it" in (head.stopped or ""), "told")
        assert published(settings) == 100, "boards stay"
        offline.clear()
        until(lambda: published(settings) == 200, "it goes on")
        until(lambda: (head := store.live.head(simulated.POOL)) is not None and head.stopped is None, "readers are told")
    assert differences(settings, log) == []


def test_a_shard_that_is_stopped_while_it_starts_asks_no_further_partition(
    settings: Settings, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each one that is offline takes half a minute."""
    asked, stopped = list[int](), threading.Event()

    def waiting(partition: int) -> int:
        asked.append(partition)
        assert stopped.wait(PATIENCE)
        raise LogError("no broker leads it", retriable=True)

    monkeypatch.setattr(log.outcomes, "end", waiting)
    with working(settings, log) as worker:
        until(lambda: bool(asked), "the first one is asked")
        worker.stop()
        stopped.set()
    assert asked == [0]


def test_a_broken_generation_record_is_refused_with_words(settings: Settings, log: Log) -> None:
    log.control.append(0, [(b"x", msgspec.json.encode({"type": "pool", "surprise": 1}))])
    for _ in range(2):  # as often as Ray starts it again
        with pytest.raises(Exception, match="not of this version"), working(settings, log):
            pass
    assert log.control.end(0) == 1, "a shard that cannot read the control log takes nothing over"
