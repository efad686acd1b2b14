"""Exact edges of limits, horizons, fences and orders, which mutants of the code crossed unseen (`scripts/mutants`)."""

import hashlib
import uuid
from pathlib import Path

import numpy as np
import pytest

from ratings_core.arrays.arena import pack
from ratings_core.arrays.digest import digest
from ratings_core.arrays.hashing import hash128
from ratings_core.errors import InputError
from services.boards.store.protocol import Fence
from services.checkpoints.checkpoint import FORMAT, CheckpointStore, Manifest
from services.control.directory import FixedDirectory
from services.control.records import ControlState, FoldSettings, Generation, PoolCreated
from services.log.protocol import OffsetLost, Record
from services.log.records import TopicRecords
from services.log.sqlite.log import open_sqlite_log
from services.shard.generations.build import retracted_below
from services.shard.partition import Partition
from services.shard.recovery import WrongLog, retracted, sha256_at
from services.state.edits import Edits, Retracted
from services.state.pool import PoolState, Refused
from services.state.retractions import PoolRetractions
from services.wire.columns import columns_of
from services.wire.events import GameEvent, RetractEvent, ScoreEvent, Side, encode
from services.wire.pools import Kind
from services.wire.refusals import Reason
from tests.support import pools
from tests.support.boards import head_of
from tests.support.folds import fold_events
from tests.support.outcomes import game_event
from tests.support.publishing import EPOCH, Driver, FakeStore


def state_of(kind: Kind, **fold: int) -> PoolState:
    return pools.state_of(kind=kind, fold=FoldSettings(**fold))  # type: ignore[arg-type]


def game(number: int, *agents: str) -> GameEvent:
    return game_event(f"g{number}", *agents, time=float(number))


def score(number: int, task: str, *agents: str) -> ScoreEvent:
    return ScoreEvent(v=1, id=f"s{number}", pool="p", time=float(number), task=task, scores=dict.fromkeys(agents, 1.0))


class TestEdits:
    def test_arrays_that_are_no_edits_are_refused(self) -> None:
        generation = Generation(pool="p", number=2, start=0, time=0.0, fold=FoldSettings())
        arrays = Edits(generation, Retracted(np.zeros((3, 2), np.uint64), 3)).arrays()
        assert Edits.from_arrays(arrays, generation).arrays().keys() == arrays.keys()
        wrong = [
            {"retracted": None}, {"retractions": None}, {"left_out": None}, {"left_out": np.zeros(2, np.int64)},
            {"retracted": np.zeros((3, 3), np.uint64)},
        ]  # fmt: skip
        for change in wrong:
            with pytest.raises(InputError, match="must be the edits of a generation"):
                Edits.from_arrays({name: array for name, array in {**arrays, **change}.items() if array is not None}, generation)

    def test_nothing_is_pending_at_first(self) -> None:
        retractions = state_of(Kind.GAMES).retractions
        assert (len(retractions), retractions.idle, retractions.unmatched) == (0, 0, 0)


class TestLimits:
    def test_a_full_pool_takes_games_of_agents_that_it_knows(self) -> None:
        state = state_of(Kind.GAMES, max_agents=3)
        assert fold_events(state, [game(1, "a", "b"), game(2, "b", "c")]) == []
        assert fold_events(state, [game(3, "a", "c"), game(4, "c", "b"), game(5, "a", "b", "c")]) == []
        [refused] = fold_events(state, [game(6, "a", "d")])
        assert (refused.at, refused.reason, refused.path) == (0, Reason.TOO_MANY_AGENTS, "sides")
        assert state.content.counts["outcomes"] == 5

    def test_a_pool_with_all_its_tasks_takes_scores_of_those(self) -> None:
        state = state_of(Kind.SCORES, max_tasks=1, max_agents=2)
        assert fold_events(state, [score(1, "t", "a", "b")]) == []
        assert fold_events(state, [score(2, "t", "b", "a")]) == []
        refused: list[Refused] = fold_events(state, [score(3, "u", "a"), score(4, "t", "c"), score(5, "t", "a")])
        assert [(one.at, one.reason, one.path) for one in sorted(refused)] == [
            (0, Reason.TOO_MANY_TASKS, "task"), (1, Reason.TOO_MANY_AGENTS, "scores")]  # fmt: skip
        assert state.content.counts["outcomes"] == 3


@pytest.mark.parametrize("sides", [2, 63, 64])
def test_a_pool_with_games_of_up_to_64_sides_is_restored(sides: int) -> None:
    state = state_of(Kind.GAMES)
    assert fold_events(state, [game(1, *(f"a{i:02}" for i in range(sides)))]) == []
    arrays = state.content.arrays()
    restored = PoolState.restore(state.created, state.generation, arrays, 1)
    assert digest(restored.content.arrays()) == digest(arrays)
    assert fold_events(restored, [game(2, "a00", "a01")]) == []
    assert restored.content.counts["outcomes"] == 2


def id_of(text: str) -> list[int]:
    packed = pack([text])
    return hash128(packed.bytes, packed.start)[0].tolist()


class TestHorizon:
    """A generation with retraction horizon R leaves out what records below R retract, and nothing that the record at R does."""

    @staticmethod
    def retraction(number: int) -> RetractEvent:
        return RetractEvent(v=1, id=f"r{number}", pool="p", time=0.0, retracts=f"g{number}")

    def test_pending_retractions_are_cut_at_it(self) -> None:
        state = state_of(Kind.GAMES)
        retractions = columns_of([self.retraction(offset) for offset in (8, 9, 10, 11)])
        state.fold(retractions)
        state.note(retractions, np.array([8, 9, 10, 11]))
        ids = [id_of(f"g{n}") for n in (8, 9)]
        known = state.retractions.below(10)
        assert known is not None
        assert known.ids.tolist() == sorted(ids)
        assert PoolRetractions(state.content).below(10) is None, "what an older checkpoint did not keep is unknown"

    def test_records_of_the_log_are_cut_at_it(self) -> None:
        records = TopicRecords([Record(offset, encode([self.retraction(offset)]), 0.0) for offset in (8, 9, 10)])
        found = retracted_below(10, "p", records)
        assert np.concatenate(found).tolist() == [id_of("g8"), id_of("g9")]

    def test_retractions_of_a_pool_whose_name_holds_its_name_are_not_its_own(self) -> None:
        other = RetractEvent(v=1, id="other", pool="p-two", time=0.0, retracts="g7")
        records = TopicRecords([Record(8, encode([other]), 0.0), Record(9, encode([self.retraction(9)]), 0.0)])
        assert np.concatenate(retracted_below(10, "p", records)).tolist() == [id_of("g9")]

    @pytest.mark.parametrize("end", [9, 10, 11])
    def test_a_log_that_ends_before_it_is_another_log(self, tmp_path: Path, end: int) -> None:
        log = open_sqlite_log(tmp_path / "log.sqlite", 1)
        log.outcomes.append(0, [(None, encode([self.retraction(number)])) for number in range(end)])
        made = Generation(pool="p", number=2, start=0, time=0.0, fold=FoldSettings(), retraction_horizon=10)
        try:
            if end < 10:
                with pytest.raises(WrongLog, match="was made at 10, and the log ends at 9"):
                    retracted(made, log, 0, ControlState())
            else:
                assert retracted(made, log, 0, ControlState()).events == 10
        finally:
            log.close()

    def test_an_offset_that_the_log_forgot_has_no_hash(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        log = open_sqlite_log(tmp_path / "log.sqlite", 1)
        log.outcomes.append(0, [(None, b"a"), (None, b"b")])
        assert sha256_at(log.outcomes, 0, 1) == hashlib.sha256(b"b").hexdigest()
        assert sha256_at(log.outcomes, 0, 2) is None

        def forgotten(_: object) -> None:
            raise OffsetLost("outcomes", 0, 0, 1, 2)

        monkeypatch.setattr(type(log.outcomes), "reader", lambda _, start: forgotten(start))
        assert sha256_at(log.outcomes, 0, 0) is None
        log.close()

    @pytest.mark.parametrize(("horizon", "pending"), [(2, 0), (1, 1)])
    def test_a_state_counts_the_retraction_at_it_as_pending(self, horizon: int, pending: int) -> None:
        """The retraction is the record at offset 1."""
        control = ControlState()
        control.apply(0, PoolCreated(pool="p", kind=Kind.GAMES, time=0.0))
        partition = Partition(0, 1)
        made = Generation(pool="p", number=1, start=0, time=0.0, fold=FoldSettings(), retraction_horizon=horizon)
        partition.pools["p"] = PoolState(PoolCreated(pool="p", kind=Kind.GAMES, time=0.0), made)
        records = TopicRecords([Record(0, encode([game(1, "a", "b")]), 0.0), Record(1, encode([self.retraction(1)]), 0.0)])
        partition.fold(records, FixedDirectory(control))
        assert len(partition.pools["p"].retractions) == pending


class TestOrderOfManifests:
    """Newest: the highest position, then the highest epoch, then the highest sequence."""

    @pytest.fixture
    def store(self) -> CheckpointStore:
        return CheckpointStore(f"memory://{uuid.uuid4().hex}")

    @staticmethod
    def manifest(position: int, epoch: int, sequence: int = 0) -> Manifest:
        return Manifest(
            format=FORMAT, partition=3, position=position, epoch=epoch, log_identity="log", last_offset=None, last_sha256=None,
            fold_version=1, written_at=0.0, pools=[], sequence=sequence,
        )  # fmt: skip

    @pytest.mark.parametrize("backwards", [False, True])
    def test_the_newest_is_found_whatever_was_written_last(self, store: CheckpointStore, backwards: bool) -> None:
        order = [(9, 7, 0), (10, 2, 0), (10, 2, 1), (10, 2, 2), (10, 12, 0)]
        for one in reversed(order) if backwards else order:
            store.write_manifest(self.manifest(*one))
        names = store.manifests(3)
        found = [store.read_manifest(name) for name in names]
        assert [(one.position, one.epoch, one.sequence) for one in found] == order[::-1]
        assert all(name.startswith("checkpoints/p00003/") for name in names)
        newest = store.newest(3)
        assert newest is not None
        assert (newest.position, newest.epoch, newest.sequence) == (10, 12, 0)


def folded_to(position: int) -> Partition:
    """A partition that holds pool `pool0` and has folded that many records of one game each."""
    partition = Partition(0, 1)
    partition.pools["pool0"] = pools.state_of("pool0", fold=FoldSettings(online={"elo": {}}))
    more(partition, position)
    return partition


def more(partition: Partition, position: int) -> None:
    games = [GameEvent(v=1, id=f"g{i}", pool="pool0", time=float(i), sides=[Side(["a"], 1), Side(["b"], 2)])
             for i in range(partition.position, position)]  # fmt: skip
    partition.fold(TopicRecords([Record(int(one.id[1:]), encode([one]), 0.0) for one in games]), FixedDirectory(ControlState()))


class TestFence:
    """What a new shard does with what the store shows already."""

    @pytest.fixture
    def store(self) -> FakeStore:
        return FakeStore()

    @staticmethod
    def shows(store: FakeStore, position: int, generation: int = 1) -> None:
        store.stands["pool0"] = Fence(EPOCH - 1, generation, position)
        store.heads["pool0"] = head_of("pool0", position=position, generation=generation, online=["elo"])

    def test_a_fence_ahead_of_the_shard_is_waited_for(self, store: FakeStore) -> None:
        self.shows(store, 10)
        driver = Driver(store, folded_to(5))
        driver.round()
        assert store.written["pool0"] == 0
        more(driver.partition, 9)
        driver.round()
        assert store.written["pool0"] == 0
        more(driver.partition, 10)
        driver.round()
        assert store.written["pool0"] == 1
        assert store.heads["pool0"].position == 10
        assert sorted(store.boards["pool0"]["elo"].names) == ["a", "b"], "what changed meanwhile is written, too"

    @pytest.mark.parametrize("position", [3, 5])
    def test_a_fence_at_or_behind_the_shard_is_passed_at_once(self, store: FakeStore, position: int) -> None:
        self.shows(store, position)
        driver = Driver(store, folded_to(5))
        driver.round()
        assert store.written["pool0"] == 1
        assert store.heads["pool0"].position == 5

    @pytest.mark.parametrize(("position", "whole"), [(3, True), (4, False)])
    def test_a_fence_behind_the_checkpoint_means_that_the_store_lacks_changes(self, store: FakeStore, position: int, whole: bool) -> None:
        """The shard starts from a checkpoint at 4, and has seen one game since: of agents c and d."""
        self.shows(store, position)
        partition = folded_to(4)
        state = partition.pools["pool0"]
        partition.pools["pool0"] = PoolState.restore(state.created, state.generation, state.content.arrays(), 4)
        new = GameEvent(v=1, id="new", pool="pool0", time=9.0, sides=[Side(["c"], 1), Side(["d"], 2)])
        partition.fold(TopicRecords([Record(4, encode([new]), 0.0)]), FixedDirectory(ControlState()))
        driver = Driver(store, partition)
        driver.round()
        driver.round()
        assert store.written["pool0"] == 1
        assert sorted(store.boards["pool0"]["elo"].names) == (["a", "b", "c", "d"] if whole else ["c", "d"])

    def test_nothing_is_written_below_a_newer_generation(self, store: FakeStore) -> None:
        self.shows(store, 1, generation=2)
        driver = Driver(store, folded_to(5))
        driver.round()
        driver.round()
        assert store.written["pool0"] == 0

    def test_a_head_names_the_record_before_its_position(self, store: FakeStore) -> None:
        driver = Driver(store, folded_to(5))
        driver.round()
        last = GameEvent(v=1, id="g4", pool="pool0", time=4.0, sides=[Side(["a"], 1), Side(["b"], 2)])
        assert store.heads["pool0"].record == hashlib.sha256(encode([last])).hexdigest()

    def test_a_head_behind_its_partition_names_no_record(self, store: FakeStore) -> None:
        partition = folded_to(5)
        partition.pools["pool0"].stop("for a test", 3)
        driver = Driver(store, partition)
        driver.round()
        assert (store.heads["pool0"].position, store.heads["pool0"].record) == (3, None)
