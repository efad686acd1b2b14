"""A record that ends every shard isolates its partition, the others go on, and an operator decides."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing

import pytest

from ratings_core.errors import InputError
from services.admin import partition_decisions
from services.checkpoints.checkpoint import CheckpointStore
from services.control import generations
from services.control.lifecycles import PartitionStatus
from services.control.log import ControlLog, control_state
from services.control.records import MOST_RESTARTS, Restarts, Skipped, Why
from services.demo import simulated
from services.log.protocol import Log
from services.runtime.settings import Settings
from services.shard import worker as worker_module
from services.shard.maintenance import Maintenance
from services.shard.partition_runtime import PartitionRuntime
from services.wire.events import GameEvent, Side, encode
from tests.support.damaged import damage
from tests.support.waiting import PATIENCE
from tests.support.worker import HOME, PARTITIONS, differences, play, published, store_of, until, working

AWAY = (HOME + 1) % PARTITIONS
DEADLY = 30
"""Offset of the record that ends shards, after 300 outcomes in records of ten."""


@pytest.fixture
def control(log: Log) -> Iterator[ControlLog]:
    with closing(ControlLog(log.control)) as control:
        yield control


def play_with_a_deadly_record(log: Log) -> None:
    play(log, 0, 300)
    sides = [Side(["x"], 1), Side(["y"], 2)]
    deadly = GameEvent(v=1, id="deadly", pool=simulated.POOL, time=0.0, sides=sides)
    assert log.outcomes.append(HOME, [(simulated.POOL.encode(), encode([deadly]))]) == [DEADLY]
    play(log, 300, 400)
    log.outcomes.append(AWAY, [(None, b"no json")])


def shards(settings: Settings, lives: int) -> tuple[list[dict[str, int]], list[int]]:
    """Lives of a shard, each to its death or until all is folded that is to be: what those that do not die isolate, and all exit codes."""
    positions = json.dumps({HOME: DEADLY + 11, AWAY: 1})
    command = [sys.executable, "-m", "tests.support.deadly", str(settings.data), str(settings.redis), "deadly", positions, str(lives)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    *isolated, codes = map(json.loads, done.stdout.splitlines())
    return isolated, codes


def skip(settings: Settings, log: Log, control: ControlLog, offset: int) -> Skipped:
    return partition_decisions.skip(HOME, offset, log, control, CheckpointStore(settings.checkpoint_url), 0.0)


def test_a_record_that_ends_every_shard_isolates_its_partition_until_an_operator_skips_it(
    settings: Settings, log: Log, control: ControlLog
) -> None:
    play_with_a_deadly_record(log)
    isolated, codes = shards(settings, 6)
    assert codes == [-signal.SIGKILL] * 4 + [0, 0]
    assert isolated == [{str(HOME): DEADLY}] * 2, "another restart does not try again"
    assert published(settings) == 300

    for wrong in (DEADLY - 1, DEADLY + 1, 0):
        with pytest.raises(InputError, match="must be in a damaged batch, or be the record at which the partition is isolated"):
            skip(settings, log, control, wrong)
    skipped = skip(settings, log, control, DEADLY)
    assert (skipped.partition, skipped.begin, skipped.end, skipped.why) == (HOME, DEADLY, DEADLY + 1, Why.DEADLY)
    with pytest.raises(InputError, match="skipped already"):
        skip(settings, log, control, DEADLY)
    assert shards(settings, 1) == ([{}], [0])
    assert published(settings) == 400
    assert differences(settings, log) == []


def isolated(log: Log, control: ControlLog) -> None:
    """As after the deaths of all shards that may begin at the record."""
    play_with_a_deadly_record(log)
    control.append(Restarts(partition=HOME, epoch=0, position=DEADLY, count=MOST_RESTARTS + 1, time=0.0))


@pytest.mark.parametrize(("decision", "outcomes"), [("skip", 400), ("retry", 401)])
def test_a_running_shard_takes_an_operators_word(settings: Settings, log: Log, control: ControlLog, decision: str, outcomes: int) -> None:
    isolated(log, control)
    with working(settings, log) as worker:
        until(lambda: [one.isolated_offset for one in worker.health().partitions if one.stopped] == [DEADLY], "isolated")
        assert [one.position for one in worker.health().partitions if one.partition == HOME] == [DEADLY]
        until(lambda: [one.position for one in worker.health().partitions if one.partition == AWAY] == [1], "the others go on")
        told = f"2 shards died while they folded the record at offset {DEADLY}"
        with store_of(settings) as store:
            until(lambda: (head := store.live.head(simulated.POOL)) is not None and told in (head.stopped or ""), "readers are told")
        if decision == "skip":
            skip(settings, log, control, DEADLY)
        else:
            assert partition_decisions.retry(HOME, log, control, 0.0) == DEADLY
        until(lambda: published(settings) == outcomes, "it goes on")
        assert [one.stopped for one in worker.health().partitions] == [None] * PARTITIONS
        newest = control.refresh().newest(simulated.POOL)
        assert newest is not None
        control.append(generations.wish(newest, time=0.0))
        until(lambda: control.refresh().served(simulated.POOL) == 2, "a new generation serves")
        until(lambda: worker.health().partitions[HOME].building == 0, "built")
        until(lambda: published(settings) == outcomes, "published")
    assert differences(settings, log) == []
    with working(settings, log) as worker:
        until(lambda: [one.lag for one in worker.health().partitions] == [0] * PARTITIONS, "all folded")
        assert [one.stopped for one in worker.health().partitions] == [None] * PARTITIONS
    with pytest.raises(InputError, match="must be isolated"):
        partition_decisions.retry(HOME, log, control, 0.0)


def test_a_shard_that_folded_everything_leaves_the_counter_at_zero(settings: Settings, log: Log, control: ControlLog) -> None:
    for games in (100, 200):
        play(log, games - 100, games)
        with working(settings, log):
            until(lambda games=games: published(settings) == games, "published")
            until(lambda games=games: counter(control) == (games // 10, 0), "nothing is left to fold")
    assert differences(settings, log) == []


def counter(control: ControlLog) -> tuple[int, int]:
    found = control.refresh().partitions.restarts[HOME]
    return found.position, found.count


@pytest.mark.parametrize("count", range(1, MOST_RESTARTS))
def test_shards_that_died_for_another_reason_cost_nothing_but_time(settings: Settings, log: Log, control: ControlLog, count: int) -> None:
    """What they were folding is folded with care, and the partition goes on."""
    play(log, 0, 300)
    control.append(Restarts(partition=HOME, epoch=0, position=10, count=count, time=0.0))
    with working(settings, log):
        until(lambda: published(settings) == 300, "published")
        until(lambda: counter(control) == (30, 0), "nothing is left to fold")
    assert differences(settings, log) == []


@pytest.mark.parametrize("count", range(1, MOST_RESTARTS))
def test_a_death_in_a_build_or_a_publication_is_counted_for_no_record(
    settings: Settings, log: Log, control: ControlLog, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(log, 0, 300)
    control.append(Restarts(partition=HOME, epoch=0, position=10, count=count, time=0.0))
    step, blamed, steps = Maintenance.step, list[Restarts](), 0

    def watched(self: Maintenance, patience: float, *, behind: bool) -> None:
        nonlocal steps
        steps += 1
        known = control_state(log.control).partitions
        if known.restarts[HOME].epoch == known.epochs[HOME] and known.restarts[HOME].count > 1:
            blamed.append(known.restarts[HOME])
        step(self, patience, behind=behind)

    monkeypatch.setattr(Maintenance, "step", watched)
    with working(settings, log):
        until(lambda: published(settings) == 300, "published")
    assert steps
    assert blamed == []


@pytest.mark.parametrize("count", range(1, MOST_RESTARTS))
def test_a_generation_is_built_after_deaths_only_when_everything_is_folded(
    settings: Settings, log: Log, control: ControlLog, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "BATCH_RECORDS", 5)
    play(log, 0, 100)
    with working(settings, log):
        until(lambda: published(settings) == 100, "published")
    newest = control.refresh().newest(simulated.POOL)
    assert newest is not None
    control.append(generations.wish(newest, time=0.0))
    play(log, 100, 400)
    epoch = control.refresh().partitions.epochs[HOME]
    control.append(Restarts(partition=HOME, epoch=epoch, position=10, count=count, time=0.0))
    build, positions = Maintenance._build, list[int]()

    def watched(self: Maintenance, runtime: PartitionRuntime, patience: float) -> None:
        positions.append(runtime.reached)
        build(self, runtime, patience)

    monkeypatch.setattr(Maintenance, "_build", watched)
    with working(settings, log):
        until(lambda: control.refresh().served(simulated.POOL) == 2, "a new generation serves")
        until(lambda: published(settings) == 400, "published")
    assert set(positions) == {40}
    assert differences(settings, log) == []


@pytest.mark.parametrize("begin", [12, 14], ids=["the whole batch", "its second half"])
def test_a_damaged_batch_is_skipped_by_an_operators_word_and_nothing_else(
    settings: Settings, log: Log, control: ControlLog, begin: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    damage(log.outcomes, monkeypatch, (HOME, 12, begin, 17))
    play(log, 0, 300)
    left = 300 - 10 * (17 - begin)
    with working(settings, log) as worker:
        until(lambda: [one.partition for one in worker.health().partitions if one.stopped] == [HOME], "stopped")
        told = worker.health().partitions[HOME].stopped or ""
        assert f"has a damaged batch at offsets {begin} to 16: its checksum does not match" in told
        assert f"`equirank partitions skip {HOME} --offset {begin}`" in told
        assert [(one.status, one.reason) for one in worker.heartbeats() if one.stopped] == [(PartitionStatus.DAMAGED, told)]
        for wrong in (11, 17, *range(12, begin)):
            with pytest.raises(InputError, match="must be"):
                skip(settings, log, control, wrong)
        skipped = skip(settings, log, control, 15)
        assert (skipped.begin, skipped.end, skipped.why) == (begin, 17, Why.DAMAGED)
        until(lambda: published(settings) == left, "it goes on")
    with working(settings, log) as worker:
        play(log, 300, 310)
        until(lambda: published(settings) == left + 10, "it goes on after a restart")
    assert differences(settings, log) == []
