"""An operator skips records that a shard folded and published before: readers do not go back, and boards become equal to the fold."""

from collections.abc import Callable
from contextlib import closing
from itertools import count

import msgspec
import pytest

from services.control import generations
from services.control.log import ControlLog
from services.control.records import FoldSettings, Skipped
from services.demo import simulated
from services.log.partition import partition_of
from services.log.protocol import Log
from services.runtime.settings import Settings
from services.shard.publishing.writing import Provenance
from services.wire import events
from tests.support.damaged import damage
from tests.support.worker import HOME, PARTITIONS, differences, head_of, play, published, store_of, until, working

SKIPPED = next(name for name in (f"skipped{i}" for i in count()) if partition_of(name, PARTITIONS) == HOME)


def play_an_extra(log: Log) -> None:
    """A game of an agent that no other game has."""
    sides = [events.Side(["only in a skipped record"], 1), events.Side([simulated.game(0, 0.0).sides[0].agents[0]], 2)]
    game = events.GameEvent(v=1, id="extra", pool=simulated.POOL, time=0.0, sides=sides)
    log.outcomes.append(HOME, [(simulated.POOL.encode(), events.encode([game]))])


def without_checkpoints(settings: Settings) -> None:
    for checkpoint in (settings.data / "state" / "checkpoints").rglob("*.json"):
        checkpoint.unlink()


@pytest.mark.parametrize("generation", [1, 2])
@pytest.mark.parametrize("more", [False, True], ids=["last", "followed"])
def test_skipped_records_that_were_published_leave_the_boards(settings: Settings, log: Log, more: bool, generation: int) -> None:
    """If they are the last records, the partition continues behind them: no record comes that would take it there."""
    play(log, 0, 200)
    with working(settings, log) as worker:
        until(lambda: published(settings) == 200, "200 games are published")
        until(lambda: worker.health().partitions[HOME].checkpoint == 20, "they are in a checkpoint")
    kept = {path: path.read_bytes() for path in (settings.data / "state").rglob("*") if path.is_file()}
    play_an_extra(log)
    if more:
        play(log, 200, 210)
    end = 22 if more else 21
    with working(settings, log):
        until(lambda: head_of(settings).position == end, "the extra game is published")
    without_checkpoints(settings)
    for path, content in kept.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    with closing(ControlLog(log.control)) as control:
        control.append(Skipped(partition=HOME, begin=20, end=21, time=0.0))
        newest = control.refresh().newest(simulated.POOL)
        assert newest is not None
        if generation == 2:
            control.append(generations.wish(newest, time=0.0, fold=FoldSettings(online={"elo": {"k": 8.0}})))
    outcomes = 210 if more else 200
    with working(settings, log) as worker:
        until(lambda: published(settings) == outcomes, "the boards are without the extra game")
        until(lambda: head_of(settings).generation == generation, "the generation is shown")
        until(lambda: worker.health().partitions[HOME].checkpoint == end, "the position is in a checkpoint")
    assert head_of(settings).position == end
    assert differences(settings, log) == []


def test_a_partition_whose_last_records_were_skipped_goes_on_behind_them(settings: Settings, log: Log) -> None:
    """There is no checkpoint, so the partition is at a lower position when it has folded all that is left."""
    play(log, 0, 200)
    play_an_extra(log)
    with working(settings, log):
        until(lambda: published(settings) == 201, "all are published")
    without_checkpoints(settings)
    with closing(ControlLog(log.control)) as control:
        control.append(Skipped(partition=HOME, begin=20, end=21, time=0.0))
        newest = control.refresh().newest(simulated.POOL)
        assert newest is not None
        control.append(generations.wish(newest, time=0.0, fold=FoldSettings(online={"elo": {"k": 8.0}})))
    with working(settings, log) as worker:
        until(lambda: (head_of(settings).generation, published(settings)) == (2, 200), "generation 2 is shown")
        until(lambda: worker.health().partitions[HOME].checkpoint == 21, "the position is in a checkpoint")
    assert head_of(settings).position == 21
    assert differences(settings, log) == []


def test_left_out_records_concern_later_positions_of_their_partition(log: Log) -> None:
    with closing(ControlLog(log.control)) as control:
        control.append(Skipped(partition=HOME, begin=20, end=21, time=0.0))
        control.refresh()
        judge: Callable[[int, int], bool] = Provenance(log.outcomes, control, list).has_skips
        assert [judge(HOME, 20), judge(HOME, 21), judge(HOME + 1, 21)] == [False, True, False]


def skip_record(log: Log, offset: int) -> None:
    with closing(ControlLog(log.control)) as control:
        control.append(Skipped(partition=HOME, begin=offset, end=offset + 1, time=0.0))


def outcomes_of(pool: str, settings: Settings, log: Log) -> int | None:
    """Number of outcomes in the published head of a pool; None without a head."""
    with store_of(settings, log) as store:
        head = store.live.head(pool)
    return None if head is None else head.outcomes


@pytest.mark.parametrize("decided", ["before the takeover", "by an operator of a stopped partition"])
def test_a_pool_all_of_whose_records_are_skipped_is_published_empty(
    settings: Settings, log: Log, monkeypatch: pytest.MonkeyPatch, decided: str
) -> None:
    """It is in no checkpoint, so no record and no checkpoint begins it again."""
    play(log, 0, 200)
    with working(settings, log) as worker:
        until(lambda: published(settings) == 200, "200 games are published")
        until(lambda: worker.health().partitions[HOME].checkpoint == 20, "they are in a checkpoint")
    kept = {path: path.read_bytes() for path in (settings.data / "state").rglob("*") if path.is_file()}
    log.outcomes.append(HOME, [(SKIPPED.encode(), events.encode([msgspec.structs.replace(simulated.game(0, 0.0), pool=SKIPPED)]))])
    play(log, 200, 210)
    with working(settings, log):
        until(lambda: head_of(settings).position == 22, "all are published")
        until(lambda: outcomes_of(SKIPPED, settings, log) == 1, "the other pool is published")
    without_checkpoints(settings)
    for path, content in kept.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    if decided == "before the takeover":
        skip_record(log, 20)
        with working(settings, log):
            until(lambda: outcomes_of(SKIPPED, settings, log) == 0, "the skipped pool is empty")
    else:
        damage(log.outcomes, monkeypatch, (HOME, 20, 20, 21))
        with working(settings, log):
            until(lambda: head_of(settings).stopped is not None, "the partition stops at the damaged record")
            skip_record(log, 20)
            until(lambda: outcomes_of(SKIPPED, settings, log) == 0, "the skipped pool is empty")
            until(lambda: head_of(settings).stopped is None, "the partition goes on")
    with store_of(settings, log) as store:
        head = store.live.head(SKIPPED)
    assert head is not None
    assert (head.position, head.stopped) == (22, None)
    assert differences(settings, log) == []
