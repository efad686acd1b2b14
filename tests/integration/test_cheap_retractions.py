"""Retractions that cost their sender nothing cost a shard little: those that change nothing make no generation, others are spread."""

from collections import Counter

import pytest

from services.control.log import ControlLog
from services.control.records import FoldSettings, PoolCreated
from services.demo import simulated
from services.log.protocol import Log
from services.runtime.settings import Settings
from services.shard.generations import pace
from services.wire.pools import Kind
from tests.support.worker import board, counted, differences, folded_without, head_of, play, retract, until, working


def test_a_retraction_that_names_nothing_makes_no_generation_until_an_outcome_comes(quick: Settings, log: Log) -> None:
    play(log, 0, 100)
    with working(quick, log) as worker:
        until(lambda: counted(quick, 100), "published")
        retract(log, [110, 5_000])
        until(lambda: head_of(quick).unmatched == 2, "both were looked up")
        play(log, 100, 109)
        until(lambda: counted(quick, 109), "the stream goes on")
        assert (head_of(quick).retractions, head_of(quick).pending, head_of(quick).generation) == (2, 0, 1)
        assert worker.health().counters["generation_builds"] == 0
        play(log, 109, 111)
        until(lambda: counted(quick, 110, 2), "its outcome came, and is left out")
        assert (head_of(quick).left_out, head_of(quick).unmatched) == (1, 1)
    assert board(quick) == folded_without([110], 111)
    assert differences(quick, log) == []


def test_an_outcome_that_is_left_out_already_is_not_left_out_again(quick: Settings, log: Log) -> None:
    play(log, 0, 100)
    with working(quick, log) as worker:
        until(lambda: counted(quick, 100), "published")
        retract(log, [7])
        until(lambda: counted(quick, 99, 2), "left out")
        retract(log, [7])
        play(log, 100, 110)
        until(lambda: (head := head_of(quick)).outcomes == 109 and head.retractions == 2 and head.pending == 0, "folded and looked up")
        assert worker.health().counters["generation_builds"] == 1
    assert differences(quick, log) == []


def test_a_pool_whose_window_forgets_takes_no_retraction_for_idle(quick: Settings, log: Log) -> None:
    control = ControlLog(log.control)
    control.create_pool(PoolCreated(pool=simulated.POOL, kind=Kind.GAMES, time=0.0, fold=FoldSettings(dedupe_window=50)))
    control.close()
    play(log, 0, 100)
    with working(quick, log):
        until(lambda: counted(quick, 100), "published")
        retract(log, [3])
        until(lambda: counted(quick, 99, 2), "an outcome older than the window is left out")
    assert differences(quick, log) == []


def test_generations_for_retractions_are_spread_over_time(quick: Settings, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a timer that stands still: after a generation the next one waits, and then applies all retractions that came meanwhile."""
    spend, ready, now, asked = pace.BuildPace.spend, pace.BuildPace.ready, [0.0], Counter[bool]()

    def answer(self: pace.BuildPace, _: float) -> bool:
        found = ready(self, now[0])
        asked[found] += 1
        return found

    monkeypatch.setattr(pace.BuildPace, "ready", answer)
    monkeypatch.setattr(pace.BuildPace, "spend", lambda self, *_: spend(self, 2.0, now[0]))
    half = quick.model_copy(update={"retraction_share": 0.5})
    play(log, 0, 300)
    with working(half, log) as worker:
        until(lambda: counted(half, 300), "published")
        retract(log, [0])
        until(lambda: counted(half, 299, 2), "the first is left out at once")
        retract(log, range(1, 5))
        until(lambda: head_of(half).pending == 4, "the others wait")
        refused = asked[False]
        until(lambda: asked[False] > refused + 1, "the shard asked whether a generation is due, and none was")
        assert worker.health().counters["generation_builds"] == 1
        now[0] = 1e6
        until(lambda: counted(half, 295, 3), "all are left out by one generation")
        assert worker.health().counters["generation_builds"] == 2
    assert board(half) == folded_without(range(5), 300)
