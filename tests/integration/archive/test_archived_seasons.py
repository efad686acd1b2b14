"""Seasons whose outcomes only the archive has: they begin, are verified, and are folded again from it."""

import shutil
from contextlib import closing

from ratings_core.records.roster import Roster
from services.admin.erasure import erase_kept
from services.boards.season_files import SeasonFiles
from services.checkpoints.checkpoint import CheckpointStore
from services.control.erasures import ErasureRequest, erased_name
from services.control.log import ControlLog
from services.demo import simulated
from services.log.protocol import Log
from services.runtime.settings import Settings
from services.state.parts import part
from tests.support.archiving import archive, fold, newest_is
from tests.support.command_line import Run
from tests.support.forgetting import forget
from tests.support.worker import HOME, differences, head_of, newest_digest, play, published, retract, until, working


def digest_of(files: SeasonFiles, season: str) -> str:
    end = files.end(simulated.POOL, season)
    assert end is not None
    return end.entry.digest


def test_seasons_are_folded_again_from_the_archive(settings: Settings, log: Log, run: Run) -> None:
    quick = settings.model_copy(update={"retraction_seconds": 0.0})
    fold(quick, log, 0, 300)
    forget(quick, archive(quick))
    with working(quick, log):
        assert "generation 2 serves" in run("seasons", "start", simulated.POOL, "autumn", "--keep", "0.5")
        play(log, 300, 400)
        until(lambda: published(quick) == 100, "the season counts")
        retract(log, [350])
        until(lambda: published(quick) == 99, "it is folded again")
    assert differences(quick, log) == []
    with working(quick, log):
        assert "generation 4 serves" in run("seasons", "start", simulated.POOL, "winter", "--keep", "0.2")
        play(log, 400, 450)
        until(lambda: published(quick) == 50, "the next one counts")
    forget(quick, archive(quick))
    before, ends = newest_digest(quick), SeasonFiles(CheckpointStore(quick.checkpoint_url), log.outcomes.identity)
    digests = [digest_of(ends, season) for season in ("first", "autumn")]
    assert differences(quick, log) == []
    shutil.rmtree(quick.data / "state")
    with working(quick, log):
        until(lambda: newest_is(quick, before), "the same content")
    assert head_of(quick).season == "winter"
    assert [digest_of(ends, season) for season in ("first", "autumn")] == digests
    assert differences(quick, log) == []
    shown = run("seasons", "list", simulated.POOL)
    assert "winter" in shown
    assert "elo" in run("top", "--pool", simulated.POOL, "--season", "first")


def test_an_erasure_reaches_seasons_that_only_the_archive_has(settings: Settings, log: Log, run: Run) -> None:
    quick = settings.model_copy(update={"retraction_seconds": 0.0})
    fold(quick, log, 0, 300)
    forget(quick, archive(quick))
    ends = SeasonFiles(CheckpointStore(quick.checkpoint_url), log.outcomes.identity)
    with closing(ControlLog(log.control)) as control:
        with working(quick, log):
            run("seasons", "start", simulated.POOL, "autumn", "--keep", "0.5")
            play(log, 300, 400)
            until(lambda: published(quick) == 100, "the season counts")
            erased = erased_name("pebble", ())
            control.append(ErasureRequest(pool=simulated.POOL, name=erased, by="ann", time=1.0))
            until(lambda: head_of(quick).generation == 3, "a generation without the name")
        forget(quick, archive(quick))
        erase_kept(quick, HOME, control.refresh().erasures.requests, {simulated.POOL: 3}, 0)
    files = [path for path in (quick.data / "state").rglob("*") if path.is_file()]
    assert [path for path in files if b"pebble" in path.read_bytes()] == []
    assert differences(quick, log) == []
    before = newest_digest(quick)
    shutil.rmtree(quick.data / "state")
    with working(quick, log):
        until(lambda: newest_is(quick, before), "the same content")
        end = ends.end(simulated.POOL, "first")
        assert end is not None
        assert erased.token in Roster.from_arrays(part(ends.arrays(end), "agents")).names()
        play(log, 290, 410)
        until(lambda: published(quick) == 110, "what was counted before does not count again")
    assert differences(quick, log) == []
