"""A worker on a topic that forgets, without an archive: what was folded goes on, what is gone is refused, an operator accepts losses."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ratings_core.errors import InputError
from services.admin.log_coverage import accept_loss, coverage
from services.admin.verify import Finding, verify_partition
from services.checkpoints.checkpoint import CheckpointStore
from services.control.log import ControlLog
from services.control.records import FoldSettings, Generation, PoolCreated, Serve
from services.demo import simulated
from services.log import reading
from services.log.protocol import Log
from services.log.sqlite.file import table_of
from services.log.sqlite.log import open_sqlite_log
from services.runtime.settings import Settings
from services.shard import recovery
from services.shard.health import PartitionHealth
from services.shard.worker import ShardWorker
from services.wire import events
from services.wire.pools import Kind
from tests.support.command_line import Run
from tests.support.forgetting import forget, forgetful
from tests.support.worker import HOME, PARTITIONS, play, published, store_of, until, working


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"checkpoints_kept": 1})


@pytest.fixture
def log(settings: Settings) -> Iterator[Log]:
    with forgetful(settings) as log:
        yield log


def cut(settings: Settings, offset: int) -> None:
    """As an unclean election does, or an older copy of the log: what stands from `offset` on is gone."""
    with sqlite3.connect(settings.data / "log.sqlite") as file:
        file.execute(f'DELETE FROM {table_of("outcomes", HOME)} WHERE "offset" >= ?', (offset,))  # noqa: S608
        file.execute('UPDATE heads SET "end" = ? WHERE topic = \'outcomes\' AND "partition" = ?', (offset, HOME))
    file.close()


def fold(settings: Settings, log: Log, start: int, stop: int) -> None:
    """Play games, each tenth of them followed by a checkpoint and an end of the worker."""
    for first in range(start, stop, 100):
        play(log, first, first + 100)
        with working(settings, log):
            until(lambda first=first: published(settings) == first + 100, "all published")


def verified(settings: Settings, log: Log) -> list[Finding]:
    with store_of(settings) as store:
        return list(verify_partition(HOME, log, CheckpointStore(settings.checkpoint_url), store.live))


def told(worker: ShardWorker) -> PartitionHealth | None:
    return next((one for one in worker.health().partitions if one.partition == HOME), None)


def refused(found: list[Finding], begin: int) -> bool:
    """Whether a verification says that it cannot start, and what to do."""
    [one] = found
    told = one.difference or ""
    return (
        one.what == "log"
        and f"begins at {begin}, after 0" in told
        and "--set start=now" in told
        and "set EQUIRANK_ARCHIVE to the archive" in told
    )


def test_what_was_forgotten_is_refused_and_what_was_folded_goes_on(settings: Settings, log: Log, run: Run, tmp_path: Path) -> None:
    fold(settings, log, 0, 200)
    forget(settings, 15)
    assert refused(verified(settings, log), 15)
    assert "15 to 20" in run("partitions", "list")
    (bans := tmp_path / "bans.csv").write_text("agent\nrock\n", encoding="utf-8")
    for words in (("--set", "online.elo.k=20"), ("--set", "start=10"), ("--set", f"bans=@{bans}")):
        with pytest.raises(InputError, match=r"must be now, or at least 15: the log of demo-rps begins there"):
            run("pools", "settings", simulated.POOL, *words)
    fold(settings, log, 200, 300)
    run("pools", "settings", simulated.POOL, "--set", "start=now", "--set", "online.elo.k=20", "--no-wait")
    with working(settings, log):
        until(lambda: (generation(settings), published(settings)) == (2, 0), "a season may begin")
        play(log, 300, 400)
        until(lambda: published(settings) == 100, "and is folded")
    assert [one.difference for one in verified(settings, log)] == [None, None]


def generation(settings: Settings) -> int:
    """The one that readers see."""
    with store_of(settings) as store:
        head = store.live.head(simulated.POOL)
    return 0 if head is None else head.generation


def test_a_retraction_of_what_was_forgotten_fails_and_says_what_to_do(settings: Settings, log: Log) -> None:
    fold(settings, log, 0, 200)
    forget(settings, 15)
    with working(settings, log):
        taken_back = events.RetractEvent(v=1, id="r", pool=simulated.POOL, time=0.0, retracts=simulated.game(0, 0.0).id)
        log.outcomes.append(HOME, [(simulated.POOL.encode(), record) for record in events.encode_records([taken_back], 1)])
        until(lambda: "begins at 15, after 0, and no archive has the records between" in building(settings), "readers are told")
        play(log, 200, 300)
        until(lambda: published(settings) == 300, "the pool goes on as it was")


def building(settings: Settings) -> str:
    """Why the generation that is built failed, as readers see it."""
    with store_of(settings) as store:
        head = store.live.head(simulated.POOL)
    return (head.building.failed if head is not None and head.building is not None else None) or ""


def test_a_generation_whose_beginning_is_gone_says_so_and_the_pool_goes_on(settings: Settings, log: Log, run: Run) -> None:
    fold(settings, log, 0, 200)
    run("pools", "settings", simulated.POOL, "--set", "online.elo.k=20", "--no-wait")
    forget(settings, 15)

    with working(settings, log):
        until(lambda: bool(building(settings)), "the generation failed")
        assert "begins at 15, after 0" in building(settings)
        assert "--set start=now" in building(settings)
        play(log, 200, 300)
        until(lambda: published(settings) == 300, "the pool goes on as it was")


def test_a_loss_is_skipped_only_when_an_operator_accepts_it(settings: Settings, log: Log, run: Run) -> None:
    fold(settings, log, 0, 200)
    play(log, 200, 400)
    forget(settings, 30)
    with working(settings, log) as worker:
        until(lambda: (one := told(worker)) is not None and one.stopped is not None, "it stopped")
        stopped = told(worker)
        assert stopped is not None
        assert (stopped.position, f"partitions accept-loss {HOME}" in (stopped.stopped or "")) == (20, True)
        assert f"partition {HOME} stops: its log lost offsets 20 to 30" in run("partitions", "list")
        assert "continues at 30" in run("partitions", "accept-loss", str(HOME))
        assert "stops" not in run("partitions", "list")
        until(lambda: published(settings) == 300, "the 100 games that the log still holds are folded")
        play(log, 400, 450)
        until(lambda: published(settings) == 350, "and what follows")
    assert refused(verified(settings, log), 30)
    with working(settings, log) as worker:
        until(lambda: told(worker) is not None, "taken over")
        after = told(worker)
        assert after is not None
        assert after.stopped is None


def test_what_a_partition_without_checkpoints_lost_is_accepted_as_well_and_nothing_where_nothing_is_lost(
    settings: Settings, log: Log
) -> None:
    checkpoints, control = CheckpointStore(settings.checkpoint_url), ControlLog(log.control)
    with pytest.raises(InputError, match="the log starts at 0"):
        accept_loss(HOME, log, control, checkpoints, 0.0)
    fold(settings, log, 0, 200)
    with pytest.raises(InputError, match="its checkpoint is at offset 20"):
        accept_loss(HOME, log, control, checkpoints, 0.0)
    forget(settings, 15)
    for name in checkpoints.manifests(HOME):
        checkpoints.blobs.remove(name)
    assert {one.partition: one.lost for one in coverage(log, control.refresh(), checkpoints)}[HOME] == 0
    lost = accept_loss(HOME, log, control, checkpoints, 0.0)
    assert (lost.begin, lost.end, control.refresh().partitions.beyond(HOME, 3)) == (0, 15, 15)
    assert [control.refresh().partitions.beyond(*at) for at in ((HOME, 15), (HOME, 99), (HOME + 1, 3))] == [15, 99, 3]
    found = {one.partition: one for one in coverage(log, control.refresh(), checkpoints)}
    assert (found[HOME].begin, found[HOME].checkpoint, found[HOME].archived) == (15, None, None)
    assert {one.lost for one in found.values()} == {None}, "accepted"
    control.close()


def retracting(log: Log, horizon: int) -> None:
    """Let a generation serve that leaves out what records below `horizon` retract, as no checkpoint holds it."""
    control = ControlLog(log.control)
    control.create_pool(PoolCreated(pool=simulated.POOL, kind=Kind.GAMES, time=0.0))
    for number, below in ((1, 0), (2, horizon)):
        fields: dict[str, Any] = {"start": 0, "time": 0.0, "fold": FoldSettings(), "retraction_horizon": below}
        control.create_generation(Generation(pool=simulated.POOL, number=number, **fields))
    control.append(Serve(pool=simulated.POOL, number=2, time=0.0))
    control.close()


def test_a_loss_that_stops_recovery_is_accepted_without_a_restart(settings: Settings, log: Log, run: Run) -> None:
    play(log, 0, 100)
    retraction = events.RetractEvent(v=1, id="r", pool=simulated.POOL, time=0.0, retracts=simulated.game(70, 70.0).id)
    log.outcomes.append(HOME, [(simulated.POOL.encode(), record) for record in events.encode_records([retraction], 1)])
    retracting(log, 11)
    forget(settings, 3)
    with working(settings, log) as worker:
        until(lambda: (one := told(worker)) is not None and one.stopped is not None, "it stopped")
        assert (one := told(worker)) is not None
        assert f"partitions accept-loss {HOME}" in (one.stopped or "")
        assert f"partition {HOME} stops: its log lost offsets 0 to 3" in run("partitions", "list")
        run("partitions", "accept-loss", str(HOME))
        until(lambda: published(settings) == 69, "70 games are left, and one of them is retracted")
        play(log, 100, 150)
        until(lambda: published(settings) == 119, "and what follows")
        assert (one := told(worker)) is not None
        assert (one.stopped, one.lag) == (None, 0)
    with working(settings, log) as worker:
        play(log, 150, 160)
        until(lambda: published(settings) == 129, "nothing stops after a restart")
    assert [one.difference for one in verified(settings, log)] == [None, None]


def test_readers_are_told_of_a_partition_that_is_not_recovered(settings: Settings, log: Log, run: Run) -> None:
    play(log, 0, 100)
    retracting(log, 10)
    with working(settings, log):
        until(lambda: published(settings) == 100, "100 games published")
    for name in (checkpoints := CheckpointStore(settings.checkpoint_url)).manifests(HOME):
        checkpoints.blobs.remove(name)
    forget(settings, 3)
    with working(settings, log):
        until(lambda: "no offset 0: the log holds 3 to 10" in head_of(settings), "readers are told")
        assert f"partitions accept-loss {HOME}" in " ".join(run("pools", "list").replace("│", " ").split())
        run("partitions", "accept-loss", str(HOME))
        until(lambda: published(settings) == 70 and not head_of(settings), "and told again when it goes on")
    assert [one.difference for one in verified(settings, log)] == [None, None]


def head_of(settings: Settings) -> str:
    """Why readers see the pool stopped."""
    with store_of(settings) as store:
        head = store.live.head(simulated.POOL)
    return (head.stopped if head is not None else None) or ""


def test_a_head_that_moves_on_while_recovery_reads_is_a_loss_as_well(
    settings: Settings, log: Log, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(log, 0, 200)
    retracting(log, 20)
    read = recovery.retracted_below

    def overrun(*given: Any) -> Any:
        forget(settings, 15)
        return read(*given)

    monkeypatch.setattr(reading, "_RECORDS", 5)
    monkeypatch.setattr(recovery, "retracted_below", overrun)
    with working(settings, log) as worker:
        until(lambda: (one := told(worker)) is not None and one.stopped is not None, "it stopped")
        assert (one := told(worker)) is not None
        assert "no offset 5: the log holds 15 to 20" in (one.stopped or "")
        run("partitions", "accept-loss", str(HOME))
        until(lambda: published(settings) == 50, "what the log holds counts")


def test_no_loss_is_accepted_where_the_log_is_another_or_lost_its_end(settings: Settings, log: Log, run: Run, tmp_path: Path) -> None:
    fold(settings, log, 0, 200)
    checkpoints, control = CheckpointStore(settings.checkpoint_url), ControlLog(log.control)
    cut(settings, 15)
    with working(settings, log) as worker:
        until(lambda: (one := told(worker)) is not None and one.stopped is not None, "it stopped")
        assert (one := told(worker)) is not None
        assert "offset 19 is gone, as the log ends at 15: records that were folded are gone from its end" in (one.stopped or "")
        assert "accept-loss" not in (one.stopped or "")
    assert "the log ends at 15" in run("partitions", "list")
    with pytest.raises(InputError, match=r"only the beginning of its own log: .* the log ends at 15"):
        accept_loss(HOME, log, control, checkpoints, 0.0)
    [found] = verified(settings, log)
    assert (found.what, "the log ends at 15" in (found.difference or "")) == ("log", True)
    control.close()
    other = open_sqlite_log(tmp_path / "other.sqlite", PARTITIONS)
    control = ControlLog(other.control)
    play(other, 0, 300)
    told_of = {one.partition: one.wrong for one in coverage(other, control.refresh(), checkpoints)}
    assert f"was folded from log {log.outcomes.identity}, this is {other.outcomes.identity}" in (told_of[HOME] or "")
    with pytest.raises(InputError, match="was folded from log"):
        accept_loss(HOME, other, control, checkpoints, 0.0)
    assert ["was folded from log" in (one.difference or "") for one in verified(settings, other)] == [True]
    control.close()
    other.close()


def test_a_log_that_loses_its_end_while_it_is_folded_stops_its_partition_alone(settings: Settings, log: Log) -> None:
    play(log, 0, 200)
    with working(settings, log) as worker:
        until(lambda: published(settings) == 200, "200 games published")
        cut(settings, 15)
        until(lambda: (one := told(worker)) is not None and one.stopped is not None, "it stopped")
        stops = {one.partition: one.stopped for one in worker.health().partitions}
        why = stops.pop(HOME) or ""
        assert "no offset 20: the log holds 0 to 15; records that were folded are gone" in why
        assert "accept-loss" not in why
        assert set(stops.values()) == {None}
        until(lambda: "no offset 20" in head_of(settings), "readers are told")
