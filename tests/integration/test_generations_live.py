"""New generations on a real log and Redis, under a shard's worker: retractions, wishes, crashes, what readers see meanwhile."""

import shutil
import threading
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from ratings_core.arrays.digest import digest
from ratings_core.tallies import PairTally
from services.admin import dead_letter_replay
from services.checkpoints.checkpoint import CheckpointStore, Manifest
from services.control import generations
from services.control.log import ControlLog
from services.control.records import FoldSettings, Generation, PoolCreated
from services.demo import simulated
from services.log.protocol import Log
from services.runtime.settings import Settings
from services.shard import slices
from services.shard.generations import builder, due, past
from services.shard.generations.build import Build
from services.shard.maintenance import Maintenance
from services.state.pool import PoolState, Refused
from services.wire import events
from services.wire.pools import Kind
from tests.support.worker import HOME, board, counted, differences, folded_without, head_of, play, retract, store_of, until, working

POOL = simulated.POOL


def checkpoint(settings: Settings) -> Manifest:
    manifest = CheckpointStore(settings.checkpoint_url).newest(HOME)
    assert manifest is not None
    return manifest


def published_to(settings: Settings, position: int) -> bool:
    with store_of(settings) as store:
        head = store.live.head(POOL)
    return head is not None and head.position == position


def wish(log: Log, **asked: object) -> int:
    control = ControlLog(log.control)
    newest = control.refresh().newest(POOL)
    assert newest is not None
    offset = control.append(generations.wish(newest, time=0.0, **asked))  # type: ignore[arg-type]
    control.close()
    return offset


def test_retracted_outcomes_leave_the_boards(quick: Settings, log: Log) -> None:
    play(log, 0, 500)
    gone = [3, 77, 499]
    with working(quick, log) as worker:
        until(lambda: counted(quick, 500), "500 outcomes published")
        retract(log, gone)
        until(lambda: counted(quick, 497, 2), "a generation without them serves")
        assert board(quick) == folded_without(gone, 500)
        assert (head_of(quick).left_out, head_of(quick).pending, head_of(quick).building) == (3, 0, None)
        assert worker.health().counters["generation_builds"] == 1
        play(log, 500, 600)
        until(lambda: counted(quick, 597, 2), "the stream goes on in it")
        assert differences(quick, log) == []
        retract(log, [550])
        until(lambda: counted(quick, 596, 3), "another one after another retraction")
    assert board(quick) == folded_without([*gone, 550], 600)
    assert differences(quick, log) == []
    assert [(entry.generation, entry.outcomes) for entry in checkpoint(quick).pools] == [(3, 596)]


def test_a_raised_limit_counts_what_the_old_one_refused_and_no_limit_stops_a_pool(quick: Settings, log: Log) -> None:
    play(log, 0, 100)
    narrow = quick.model_copy(update={"max_agents": 4})
    with working(narrow, log):
        until(lambda: published_to(narrow, 10), "published")
        assert head_of(narrow).dead_letters > 0
        assert (head_of(narrow).agents, head_of(narrow).stopped) == (4, None)
        wish(log, fold=FoldSettings(max_agents=1000))
        until(lambda: counted(narrow, 100, 2), "all are counted, without a replay")
        assert (head_of(narrow).dead_letters, head_of(narrow).agents > 4) == (0, True)
    assert differences(narrow, log) == []


def test_every_generation_counts_the_letter_of_a_conflict_that_an_earlier_one_wrote(quick: Settings, log: Log) -> None:
    play(log, 0, 100)
    with working(quick, log):
        until(lambda: counted(quick, 100), "published")
        changed = msgspec.structs.replace(simulated.game(7, 7.0), weight=2.0)
        log.outcomes.append(HOME, [(POOL.encode(), record) for record in events.encode_records([changed])])
        until(lambda: published_to(quick, 11), "the conflict is folded")
        for generation in (1, 2):
            if generation == 2:
                wish(log, fold=FoldSettings(dedupe_window=5000))
            until(lambda generation=generation: counted(quick, 100, generation), "it serves")  # type: ignore[misc]
            head = head_of(quick)
            assert (head.conflicts, head.dead_letters, head.refused) == (1, 1, 0)
            assert [letter.reason for letter in dead_letter_replay.read(log.dead_letters, pool=POOL)] == ["conflicting_id"]


def test_records_that_are_read_in_many_slices_are_each_folded_once(quick: Settings, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "_SLICE_BYTES", 3_000)
    play(log, 0, 1000)
    gone = [3, 77, 900]
    with working(quick, log):
        until(lambda: counted(quick, 1000), "published")
        retract(log, gone)
        until(lambda: counted(quick, 997, 2), "corrected")
    assert board(quick) == folded_without(gone, 1000)
    assert differences(quick, log) == []


def test_retractions_gather_before_a_generation_is_made(settings: Settings, log: Log) -> None:
    play(log, 0, 100)
    patient = settings.model_copy(update={"retraction_seconds": 3.0})
    with working(patient, log):
        until(lambda: counted(patient, 100), "100 outcomes published")
        for number in range(5):
            retract(log, [number])
        until(lambda: head_of(patient).pending == 5, "readers are told that five wait")
        assert head_of(patient).generation == 1
        until(lambda: counted(patient, 95, 2), "one generation for all five")
    control = ControlLog(log.control)
    assert sorted(control.refresh().generations[POOL]) == [1, 2]
    control.close()


def test_a_wish_for_a_position_to_come_waits_and_nothing_stops_counting(quick: Settings, log: Log) -> None:
    play(log, 0, 100)
    with working(quick, log):
        until(lambda: counted(quick, 100), "published")
        begins = log.outcomes.end(HOME) + 3
        wish(log, start=begins)
        retract(log, [7])
        until(lambda: counted(quick, 99, 2), "a retraction does not wait for it")
        play(log, 100, 101)
        until(lambda: counted(quick, 100, 2), "the season before goes on")
        play(log, 101, 102)
        until(lambda: counted(quick, 0, 3), "the season begins there")
        play(log, 102, 110)
        until(lambda: counted(quick, 8, 3), "what comes next counts in it")
    assert differences(quick, log) == []


def test_a_wish_changes_k_aliases_bans_and_where_ratings_begin(quick: Settings, log: Log) -> None:
    play(log, 0, 400)
    fold = FoldSettings(online={"elo": {"k": 10.0}})
    with working(quick, log):
        until(lambda: counted(quick, 400), "400 outcomes published")
        wish(log, fold=fold)
        until(lambda: counted(quick, 400, 2), "the new K serves")
        assert board(quick) == folded_without([], 400, fold)
        first = min(board(quick))
        wish(log, bans=[first])
        until(lambda: head_of(quick).generation == 3, "the ban serves")
        assert first not in board(quick)
        assert head_of(quick).left_out > 0
        wish(log, bans=[], start="now", initial={"elo": {first: 2000.0}})
        until(lambda: counted(quick, 0, 4), "a season begins")
        assert board(quick) == {first: 2000.0}
        play(log, 400, 450)
        until(lambda: counted(quick, 50, 4), "and goes on")
        assert differences(quick, log) == []
    assert differences(quick, log) == []


def test_a_generation_that_cannot_run_leaves_the_pool_as_it_is_until_another_wish(quick: Settings, log: Log) -> None:
    play(log, 0, 100)
    with working(quick, log) as worker:
        until(lambda: counted(quick, 100), "100 outcomes published")
        wish(log, fold=FoldSettings(online={"glicko9": {}}))
        until(lambda: worker.health().counters.get("generation_failures", 0) == 1, "it failed")
        play(log, 100, 150)
        until(lambda: counted(quick, 150), "the pool goes on")
        until(lambda: head_of(quick).building is not None, "readers are told")
        assert "glicko9" in (head_of(quick).building.failed or "")  # type: ignore[union-attr]
        wish(log, fold=FoldSettings())
        until(lambda: counted(quick, 150, 3), "the next wish is taken")


def test_a_generation_that_failed_is_tried_again(quick: Settings, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two builds of the same generation the first finds no memory, and a checkpoint of what is left; the next one goes well."""
    fold, failures = Build.fold, 0

    def short(build: Build, wanted: Sequence[events.Event]) -> list[Refused]:
        nonlocal failures
        if build.state is None or failures == 2:
            return fold(build, wanted)
        failures += 1
        build.fail("MemoryError: no memory")
        return []

    monkeypatch.setattr(due, "_AGAIN_SECONDS", (0.5, 1.0))
    monkeypatch.setattr(Build, "fold", short)
    play(log, 0, 100)
    with working(quick, log) as worker:
        until(lambda: counted(quick, 100), "100 outcomes published")
        retract(log, [3])
        until(lambda: worker.health().counters["generation_failures"] >= 1, "it failed")
        until(lambda: counted(quick, 99, 2), "it serves after all")
        assert worker.health().counters["generation_failures"] == 2
    assert head_of(quick).building is None
    assert board(quick) == folded_without([3], 100)
    assert differences(quick, log) == []


def test_retracted_ids_that_no_outcome_has_are_told(quick: Settings, log: Log) -> None:
    play(log, 0, 100)
    with working(quick, log):
        until(lambda: counted(quick, 100), "100 outcomes published")
        retract(log, [3, 5000, 6000])
        until(lambda: counted(quick, 99, 2), "a generation without it serves")
        assert (head_of(quick).left_out, head_of(quick).unmatched) == (1, 2)


def test_a_pool_that_an_older_release_folded_is_folded_anew_by_itself(quick: Settings, log: Log) -> None:
    control = ControlLog(log.control)
    made = control.create_pool(PoolCreated(pool=POOL, kind=Kind.GAMES, time=0.0))
    control.create_generation(Generation(pool=POOL, number=1, start=0, time=0.0, fold=made.fold, fold_version=0))
    control.close()
    play(log, 0, 100)
    with working(quick, log):
        until(lambda: counted(quick, 100, 2), "folded by this release")
    assert board(quick) == folded_without([], 100)
    assert differences(quick, log) == []


def test_boards_are_of_one_generation_at_any_moment(quick: Settings, log: Log) -> None:
    play(log, 0, 3000)
    gone = list(range(0, 3000, 3))
    wrong: list[str] = []
    with working(quick, log):
        until(lambda: counted(quick, 3000), "all published")
        old, new = board(quick), folded_without(gone, 3000)
        ended = threading.Event()

        def watch() -> None:
            while not ended.is_set():
                if board(quick) not in (old, new):
                    wrong.append("a mix")

        reader = threading.Thread(target=watch)
        reader.start()
        retract(log, gone)
        until(lambda: counted(quick, 2000, 2), "corrected")
        ended.set()
        reader.join()
    assert not wrong
    assert board(quick) == new


class CrashError(Exception):
    """Stands for a SIGKILL: the worker ends without drain."""


@pytest.mark.parametrize("where", ["scanning", "folding", "caught up", "serve told"])
def test_a_worker_that_dies_while_it_builds_is_followed_by_one_that_ends_it(
    quick: Settings, log: Log, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.setattr(past, "_RECORDS", 20)
    monkeypatch.setattr(Maintenance, "drain", lambda _: None)
    if where == "scanning":  # as after a checkpoint of an older release: the log is asked what was retracted
        monkeypatch.setattr(PoolState, "retracted_for", lambda *_: None)
    play(log, 0, 1000)
    gone = [5, 500, 999]
    steps = 0
    step, switch, append = builder.Builder.step, builder.Builder.switch, ControlLog.append

    def dying_step(self: builder.Builder, timeout: float) -> object:
        nonlocal steps
        steps += 1
        if where in {"scanning", "folding"} and steps == 3:
            raise CrashError
        return step(self, timeout)

    def dying_switch(self: builder.Builder, *checkpoints: Any) -> None:
        caught = any(not build.behind(self._partition.position) for build in self._partition.builds.values())
        if where == "caught up" and caught:
            raise CrashError
        switch(self, *checkpoints)

    def dying_append(self: ControlLog, record: object) -> int:
        offset = append(self, record)  # type: ignore[arg-type]
        if where == "serve told" and type(record).__name__ == "Serve":
            raise CrashError
        return offset

    def killed() -> None:
        with working(quick, log):
            until(lambda: counted(quick, 1000), "1000 outcomes published")
            retract(log, gone)
            until(lambda: not any(thread.name.endswith("(run)") and thread.is_alive() for thread in threading.enumerate()), "it dies")

    with monkeypatch.context() as dying:
        dying.setattr(builder.Builder, "step", dying_step)
        dying.setattr(builder.Builder, "switch", dying_switch)
        dying.setattr(ControlLog, "append", dying_append)
        with pytest.raises(CrashError):
            killed()
    assert counted(quick, 1000), "readers still see the old generation"
    play(log, 1000, 1010)
    with working(quick, log):
        until(lambda: counted(quick, 1007, 2), "the next worker ends what was begun")
        assert board(quick) == folded_without(gone, 1010)
        until(lambda: [entry.generation for entry in checkpoint(quick).pools] == [2], "checkpointed")
    assert differences(quick, log) == []


def test_a_lost_checkpoint_folder_gives_the_generation_that_serves(quick: Settings, log: Log) -> None:
    play(log, 0, 300)
    with working(quick, log):
        until(lambda: counted(quick, 300), "published")
        retract(log, [7])
        until(lambda: counted(quick, 299, 2), "corrected")
    before = checkpoint(quick).pools[0].digest
    shutil.rmtree(quick.data / "state")
    with working(quick, log):
        until(lambda: (quick.data / "state").exists() and CheckpointStore(quick.checkpoint_url).newest(HOME) is not None, "again")
        until(lambda: checkpoint(quick).pools and checkpoint(quick).pools[0].outcomes == 299, "folded again")
    assert checkpoint(quick).pools[0].digest == before
    assert differences(quick, log) == []


def test_an_older_checkpoint_shows_no_older_generation(quick: Settings, log: Log) -> None:
    play(log, 0, 300)
    with working(quick, log):
        until(lambda: counted(quick, 300), "published")
    kept = {path: path.read_bytes() for path in sorted((quick.data / "state").rglob("*")) if path.is_file()}
    with working(quick, log):
        retract(log, [7])
        until(lambda: counted(quick, 299, 2), "corrected")
    shutil.rmtree(quick.data / "state")
    for path, content in kept.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    seen: set[int] = set()
    with working(quick, log):
        play(log, 300, 310)
        until(lambda: seen.add(head_of(quick).generation) or counted(quick, 309, 2), "built again")
    assert seen == {2}
    assert differences(quick, log) == []


def test_a_pool_that_broke_resumes_by_a_wish(quick: Settings, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    play(log, 0, 100)
    add = PairTally.add
    with working(quick, log) as worker:
        until(lambda: counted(quick, 100), "published")
        until(lambda: worker.health().partitions[HOME].checkpoint == 10, "checkpointed")
        before = board(quick)
        with monkeypatch.context() as breaking:
            breaking.setattr(PairTally, "add", lambda *_: 1 / 0)
            play(log, 100, 120)
            until(lambda: head_of(quick).stopped is not None, "stopped")
        assert PairTally.add is add
        assert "equirank pools resume" in (head_of(quick).stopped or "")
        assert (head_of(quick).outcomes, board(quick)) == (100, before), "nothing half-applied is shown"
        until(lambda: checkpoint(quick).pools[0].stopped is not None, "checkpointed as stopped")
        arrays, _ = CheckpointStore(quick.checkpoint_url).read_object(checkpoint(quick).pools[0].object)
        content = {name: array for name, array in arrays.items() if not name.startswith("history.")}
        assert digest(content) == checkpoint(quick).pools[0].digest
        assert checkpoint(quick).pools[0].outcomes == 100, "nothing half-applied is kept"
        assert worker.health().partitions[HOME].pools_stopped == 1
        play(log, 120, 130)
        wish(log)
        until(lambda: counted(quick, 130, 2), "resumed")
    assert head_of(quick).stopped is None
    assert differences(quick, log) == []
