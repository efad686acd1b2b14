"""Seasons on a real log and Redis, under a shard's worker: soft reset, final boards, crashes, and equality with a fold of the log."""

import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ratings_core.errors import InputError
from services.admin.log_coverage import check_wish, placed_wish
from services.boards.season_boards import NoSeason, SeasonBoards
from services.boards.season_files import SeasonFiles
from services.checkpoints.checkpoint import CheckpointStore
from services.control import generations, seasons
from services.control.erasures import ErasureRequest, erased_name
from services.control.log import ControlLog
from services.control.records import FoldSettings, SeasonStart
from services.control.seasons import SeasonStatus
from services.demo import simulated
from services.engine.season_closer import SeasonCloser
from services.log.protocol import Log
from services.runtime.settings import PROVISIONAL, Settings
from services.shard.generations import builder
from services.shard.generations.season_end import SeasonEnds
from services.shard.maintenance import Maintenance
from tests.support.task_pool import InlineTaskPool
from tests.support.worker import HOME, board, counted, differences, folded_without, head_of, newest_digest, play, retract, until, working

POOL = simulated.POOL


@contextmanager
def control_of(log: Log) -> Iterator[ControlLog]:
    control = ControlLog(log.control)
    try:
        yield control
    finally:
        control.close()


def start(log: Log, name: str, keep: float = 0.5, position: int | None = None) -> None:
    with control_of(log) as control:
        wanted = seasons.season_request(control.refresh(), control.standing(POOL), SeasonStart(name=name, keep=keep), position, time.time())
        control.want(placed_wish(wanted, control.refresh(), log.history), begins_season=True)


def want(log: Log, **changes: object) -> None:
    with control_of(log) as control:
        control.want(generations.wish(control.standing(POOL), time=0.0, **changes))  # type: ignore[arg-type]


def of_seasons(settings: Settings, log: Log) -> SeasonBoards:
    control = ControlLog(log.control)
    return SeasonBoards(SeasonFiles(CheckpointStore(settings.checkpoint_url), log.outcomes.identity), control.refresh)


def final(settings: Settings, log: Log, season: str, method: str = "elo") -> dict[str, float | None]:
    page = of_seasons(settings, log).board(POOL, season, method, start=0, count=1000, now=0.0, provisional=PROVISIONAL)
    assert (page.season, page.source) == (season, "season")
    return {row.agent: row.rating for row in page.rows}


def halved(ratings: dict[str, float], keep: float = 0.5) -> dict[str, float]:
    mean = sum(ratings.values()) / len(ratings)
    return {agent: pytest.approx(keep * rating + (1 - keep) * mean, abs=1e-9) for agent, rating in ratings.items()}


def ends(settings: Settings, season: str) -> list[str]:
    folder = settings.data / "state" / "seasons" / POOL / season
    return sorted(path.name for path in folder.glob("final-*")) if folder.exists() else []


def test_a_season_begins_with_shrunk_ratings_and_the_one_before_keeps_its_final_board(quick: Settings, log: Log) -> None:
    play(log, 0, 300)
    with working(quick, log):
        until(lambda: counted(quick, 300), "published")
        start(log, "autumn")
        until(lambda: counted(quick, 0, 2), "the season serves")
        assert (head_of(quick).season, head_of(quick).season_generation) == ("autumn", 2)
        assert board(quick) == halved(folded_without([], 300))
        play(log, 300, 400)
        until(lambda: counted(quick, 100, 2), "its outcomes count")
        assert final(quick, log, "first") == folded_without([], 300)
        assert differences(quick, log) == []
    assert final(quick, log, "first") == folded_without([], 300)
    first, autumn = of_seasons(quick, log).seasons(POOL, None)
    assert (first.name, first.status, first.start, first.end, first.outcomes, first.keep) == ("first", SeasonStatus.ENDED, 0, 30, 300, None)
    assert (autumn.name, autumn.status, autumn.start, autumn.end, autumn.keep) == ("autumn", SeasonStatus.RUNNING, 30, None, 0.5)
    with pytest.raises(NoSeason):
        final(quick, log, "autumn")


def test_a_season_that_keeps_nothing_begins_empty_and_counts_no_outcome_of_the_one_before_again(quick: Settings, log: Log) -> None:
    play(log, 0, 100)
    with working(quick, log):
        until(lambda: counted(quick, 100), "published")
        start(log, "autumn", keep=0.0)
        until(lambda: counted(quick, 0, 2), "the season serves")
        play(log, 90, 120)  # ten of them are repeats
        until(lambda: counted(quick, 20, 2), "only new outcomes count")
        assert head_of(quick).duplicates == 10
    assert differences(quick, log) == []


def test_what_was_accepted_before_the_request_counts_in_the_season_before_although_it_was_not_folded(quick: Settings, log: Log) -> None:
    play(log, 0, 100)
    with working(quick, log):
        until(lambda: counted(quick, 100), "published")
    play(log, 100, 150)
    start(log, "autumn")
    play(log, 150, 170)
    with working(quick, log):
        until(lambda: counted(quick, 20, 2), "the season serves, with what came after the request")
    assert final(quick, log, "first") == folded_without([], 150)
    assert differences(quick, log) == []


def test_a_withdrawn_season_does_not_begin(quick: Settings, log: Log) -> None:
    play(log, 0, 100)
    with working(quick, log):
        until(lambda: counted(quick, 100), "published")
        start(log, "autumn", position=12)
        with control_of(log) as control:
            control.withdraw_season(POOL, "autumn", 0.0)
        play(log, 100, 150)
        until(lambda: counted(quick, 150, 1), "the present season goes on")
    assert [season.name for season in of_seasons(quick, log).seasons(POOL, None)] == ["first"]


def test_a_season_begins_at_the_position_that_was_asked_for(quick: Settings, log: Log) -> None:
    play(log, 0, 100)
    with working(quick, log):
        until(lambda: counted(quick, 100), "published")
        start(log, "autumn", keep=1.0, position=12)
        with control_of(log) as control:
            assert control.refresh().wishes[POOL][1].start == 12
        play(log, 100, 150)  # records 10 to 14; the season begins at record 12
        until(lambda: counted(quick, 30, 2), "what comes after it counts in the season")
        assert final(quick, log, "first") == folded_without([], 120)
    assert differences(quick, log) == []


def test_retractions_that_wait_are_applied_before_the_season_ends(settings: Settings, log: Log) -> None:
    patient = settings.model_copy(update={"retraction_seconds": 600.0})
    play(log, 0, 100)
    with working(patient, log):
        until(lambda: counted(patient, 100), "published")
        retract(log, [3, 50])
        until(lambda: head_of(patient).pending == 2, "they wait")
        start(log, "autumn")
        until(lambda: head_of(patient).season == "autumn", "the season serves")
        assert final(patient, log, "first") == folded_without([3, 50], 100)
        assert board(patient) == halved(folded_without([3, 50], 100))
        retract(log, [7])
        until(lambda: head_of(patient).pending + head_of(patient).retractions >= 1, "a retraction of the season before")
    assert final(patient, log, "first") == folded_without([3, 50], 100), "a season that ended stays as it is"
    assert differences(patient, log) == []


def test_later_generations_of_a_season_begin_as_its_first_did(quick: Settings, log: Log) -> None:
    play(log, 0, 200)
    with working(quick, log):
        until(lambda: counted(quick, 200), "published")
        start(log, "autumn")
        until(lambda: counted(quick, 0, 2), "the season serves")
        play(log, 200, 300)
        until(lambda: counted(quick, 100, 2), "its outcomes count")
        before = board(quick)
        retract(log, [250])
        until(lambda: counted(quick, 99, 3), "a retraction in the season")
        assert head_of(quick).season == "autumn"
        assert board(quick).keys() == before.keys()
        assert board(quick) != before
        banned = min(before)
        want(log, bans=[banned])
        until(lambda: head_of(quick).generation == 4, "an agent that was carried over can be banned")
        assert banned not in board(quick)
        assert (head_of(quick).season, head_of(quick).season_generation) == ("autumn", 2)
        assert differences(quick, log) == []
        want(log, bans=[], fold=FoldSettings(online={"elo": {"k": 8.0}, "glicko2": {}}))
        until(lambda: head_of(quick).generation == 5, "a method that the season before did not have begins anew")
        assert banned in board(quick)
    assert differences(quick, log) == []
    assert len(of_seasons(quick, log).seasons(POOL, None)) == 2


def test_initial_ratings_of_agents_that_are_banned_or_aliased_later_do_not_count(quick: Settings, log: Log) -> None:
    play(log, 0, 50)
    with working(quick, log):
        until(lambda: counted(quick, 50), "published")
        one, two, three = sorted(board(quick))[:3]
        want(log, start="now", initial={"elo": {one: 1800.0, two: 1700.0, three: 1600.0}})
        until(lambda: counted(quick, 0, 2), "serves")
        want(log, bans=[one], aliases={two: "newcomer"})
        until(lambda: head_of(quick).generation == 3, "serves")
        assert board(quick) == {"newcomer": 1700.0, three: 1600.0}
        want(log, bans=[], aliases={})
        until(lambda: head_of(quick).generation == 4, "serves")
        assert board(quick) == {one: 1800.0, two: 1700.0, three: 1600.0}, "the end of a ban gives the initial rating back"
    assert differences(quick, log) == []


def test_two_seasons_are_folded_again_from_the_log_alone(quick: Settings, log: Log) -> None:
    play(log, 0, 200)
    with working(quick, log):
        until(lambda: counted(quick, 200), "published")
        start(log, "autumn", keep=0.7)
        until(lambda: counted(quick, 0, 2), "autumn serves")
        play(log, 200, 300)
        until(lambda: counted(quick, 100, 2), "counts")
        start(log, "winter", keep=0.3)
        until(lambda: counted(quick, 0, 3), "winter serves")
        play(log, 300, 350)
        until(lambda: counted(quick, 50, 3), "counts")
    with control_of(log) as control:
        of_log = SeasonEnds(log, state := control.refresh(), None)
        for ended in seasons.ended(state, POOL):
            of_log.before(ended.by, HOME)
        assert len(of_log._known) == 1, "only the newest of a chain stays in memory"
    digest, boards = newest_digest(quick), [final(quick, log, season) for season in ("first", "autumn")]
    assert differences(quick, log) == []
    shutil.rmtree(quick.data / "state")
    with working(quick, log):
        until(lambda: CheckpointStore(quick.checkpoint_url).newest(HOME) is not None, "folded again")
        until(lambda: newest_digest(quick) == digest, "with the same bits")
        assert [final(quick, log, season) for season in ("first", "autumn")] == boards
    assert differences(quick, log) == []


def test_a_season_begins_although_the_log_forgot_the_begin_of_the_one_before(quick: Settings, log: Log) -> None:
    play(log, 0, 300)
    with working(quick, log):
        until(lambda: counted(quick, 300), "published")
        until(lambda: (newest := CheckpointStore(quick.checkpoint_url).newest(HOME)) is not None and newest.position == 30, "checkpointed")
        log.outcomes.drop(HOME, 29, 5.0)  # type: ignore[attr-defined]
        with control_of(log) as control:
            wanted = seasons.season_request(control.refresh(), control.standing(POOL), SeasonStart(name="autumn"), 12, 0.0)
            with pytest.raises(InputError, match="must be now, or at least 30"):
                check_wish(wanted, control.refresh(), log.history)
        start(log, "autumn")
        until(lambda: counted(quick, 0, 2), "the season serves")
        assert board(quick) == halved(folded_without([], 300))


class CrashError(Exception):
    """Stands for a SIGKILL: the worker ends without drain."""


def die_at(where: str, dying: pytest.MonkeyPatch) -> None:
    """Let workers die at a step of the start of a season."""
    create, write, append = ControlLog.create_generation, SeasonFiles.write_end, ControlLog.append
    begin, crashed = builder.Builder._begin, threading.Event()

    def dying_create(self: ControlLog, wanted: object) -> object:
        made = create(self, wanted)  # type: ignore[arg-type]
        if where == "generation made" and made.opening is not None:
            raise CrashError
        return made

    def dying_write(self: SeasonFiles, *arguments: object) -> object:
        if where == "final state folded":
            crashed.set()
            raise OSError("killed")
        written = write(self, *arguments)  # type: ignore[arg-type]
        if where == "final state written":
            crashed.set()
        return written

    def dying_begin(self: builder.Builder, *arguments: object) -> None:
        if crashed.is_set():
            raise CrashError
        begin(self, *arguments)  # type: ignore[arg-type]

    def dying_append(self: ControlLog, record: object) -> int:
        offset = append(self, record)  # type: ignore[arg-type]
        if where == "serve told" and type(record).__name__ == "Serve":
            raise CrashError
        return offset

    dying.setattr(ControlLog, "create_generation", dying_create)
    dying.setattr(SeasonFiles, "write_end", dying_write)
    dying.setattr(builder.Builder, "_begin", dying_begin)
    dying.setattr(ControlLog, "append", dying_append)


@pytest.mark.parametrize("where", ["generation made", "final state folded", "final state written", "serve told"])
def test_a_worker_that_dies_while_a_season_begins_is_followed_by_one_that_begins_it(
    quick: Settings, log: Log, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.setattr(Maintenance, "drain", lambda _: None)
    play(log, 0, 300)

    def killed() -> None:
        with working(quick, log):
            until(lambda: counted(quick, 300), "published")
            start(log, "autumn")
            until(lambda: not any(thread.name.endswith("(run)") and thread.is_alive() for thread in threading.enumerate()), "it dies")

    with monkeypatch.context() as dying:
        die_at(where, dying)
        with pytest.raises(CrashError):
            killed()
    assert counted(quick, 300), "readers still see the season before"
    play(log, 300, 350)
    with working(quick, log):
        until(lambda: counted(quick, 50, 2), "the next worker begins the season where the first one did")
    assert final(quick, log, "first") == folded_without([], 300)
    assert differences(quick, log) == []


def test_a_damaged_file_of_the_final_state_is_folded_again(quick: Settings, log: Log) -> None:
    play(log, 0, 300)
    with working(quick, log):
        until(lambda: counted(quick, 300), "published")
        start(log, "autumn")
        until(lambda: counted(quick, 0, 2), "the season serves")
        play(log, 300, 350)
        until(lambda: counted(quick, 50, 2), "counts")
        [path] = (quick.data / "state" / "seasons" / POOL / "first").glob("final-*.eqr")
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        assert any("the file has a damaged final state" in (difference or "") for difference in differences(quick, log))
        retract(log, [320])
        until(lambda: counted(quick, 49, 3), "the next generation needs it")
        assert len(ends(quick, "first")) == 4
        assert final(quick, log, "first") == folded_without([], 300)
    assert differences(quick, log) == []


def test_final_solved_boards_are_solved_at_the_end_of_the_season_and_kept(quick: Settings, log: Log) -> None:
    play(log, 0, 300)
    with working(quick, log):
        until(lambda: counted(quick, 300), "published")
        start(log, "autumn")
        until(lambda: counted(quick, 0, 2), "the season serves")
        play(log, 300, 350)
        until(lambda: counted(quick, 50, 2), "counts")
    closer = SeasonCloser(quick, InlineTaskPool(), CheckpointStore(quick.checkpoint_url), log.outcomes.identity)
    with control_of(log) as control:
        until(lambda: closer.step(time.monotonic(), control.refresh()) or closed(quick, log, "first"), "closed")
        [first, _] = of_seasons(quick, log).seasons(POOL, None)
        solved = ["bradley_terry", "copeland", "iterated_maximal_lotteries", "maximal_lottery"]
        assert first.boards == ["elo", "sco", "glicko2", *solved]
        page = of_seasons(quick, log).board(POOL, "first", "bradley_terry", start=0, count=3, now=0.0, provisional=PROVISIONAL)
        assert (page.generation, page.position, page.outcomes, len(page.rows), page.status) == (1, 30, 300, 3, "optimal")
        later = of_seasons(quick, log).board(POOL, "first", "bradley_terry", start=1, count=1, now=0.0, provisional=PROVISIONAL)
        assert later.rows == page.rows[1:2]
        assert isinstance(later.next, str)
        again = SeasonCloser(quick, pool := InlineTaskPool(), CheckpointStore(quick.checkpoint_url), log.outcomes.identity)
        again.step(0.0, control.refresh())
        assert pool.tasks == [], "after a restart nothing is solved again"


def closed(settings: Settings, log: Log, season: str) -> bool:
    return any((view.name, view.status) == (season, SeasonStatus.CLOSED) for view in of_seasons(settings, log).seasons(POOL, None))


def test_an_erased_name_leaves_the_files_of_seasons(quick: Settings, log: Log) -> None:
    play(log, 0, 300)
    with working(quick, log):
        until(lambda: counted(quick, 300), "published")
        start(log, "autumn")
        until(lambda: counted(quick, 0, 2), "the season serves")
        closer = SeasonCloser(quick, InlineTaskPool(), CheckpointStore(quick.checkpoint_url), log.outcomes.identity)
        name = "pebble"
        assert name in final(quick, log, "first")
        with control_of(log) as control:
            until(lambda: closer.step(time.monotonic(), control.refresh()) or closed(quick, log, "first"), "closed")
            erased = erased_name(name, ())
            control.append(ErasureRequest(pool=POOL, name=erased, by="ann", time=1.0))
            until(lambda: head_of(quick).generation == 3, "a generation without the name")
            assert erased.token in board(quick)
            checkpoints = CheckpointStore(quick.checkpoint_url)
            until(
                lambda: (newest := checkpoints.newest(HOME)) is not None and [one.generation for one in newest.pools] == [3],
                "the newest checkpoint has no generation with the name, as `erase_kept` requires",
            )
            files = SeasonFiles(CheckpointStore(quick.checkpoint_url), log.outcomes.identity)
            files.erase(POOL, generations.NameMatcher(control.refresh().erasures.names(POOL)))
        folder = quick.data / "state" / "seasons"
        assert [path for path in folder.rglob("*") if path.is_file() and name.encode() in path.read_bytes()] == []
        assert final(quick, log, "first")[erased.token] == folded_without([], 300)[name]
        assert final(quick, log, "first", "bradley_terry").keys() == final(quick, log, "first").keys()
        assert differences(quick, log) == []


def test_what_season_ends_reads_does_not_depend_on_its_source(quick: Settings, log: Log) -> None:
    """The files, a checkpoint with the records after it, and the log alone give the same final state."""
    play(log, 0, 100)
    with working(quick, log):
        until(lambda: counted(quick, 100), "published")
        start(log, "autumn")
        until(lambda: counted(quick, 0, 2), "the season serves")
    with control_of(log) as control:
        state = control.refresh()
        made = state.generations[POOL][2]
        of_log = SeasonEnds(log, state, None).before(made, HOME)
        checkpoints = CheckpointStore(quick.checkpoint_url)
        of_files = SeasonEnds(log, state, checkpoints).before(made, HOME)
        files = SeasonFiles(checkpoints, log.outcomes.identity)
        end = files.end(POOL, "first")
        assert end is not None
        other_form = {name: array for name, array in files.arrays(end).items() if not name.startswith("online.")}
        files.write_end(end, other_form)
        again = SeasonEnds(log, state, checkpoints).before(made, HOME)
    assert of_log is not None
    assert of_files is not None
    assert of_log.names == of_files.names
    assert of_log.online["elo"].rating.tolist() == of_files.online["elo"].rating.tolist()
    assert again is not None
    assert again.online["elo"].rating.tolist() == of_log.online["elo"].rating.tolist(), "a state of another form is folded again"
