"""The ratings topic: what a consumer folds equals the boards, whatever happens to brokers and owners."""

import json
import threading
from collections.abc import Sequence
from concurrent.futures import wait
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from jsonschema import Draft202012Validator

from services.boards.rating_records import NewestRows, RatingsHead, decode_key, decode_record, keyed, removal
from services.boards.result import SolvedBoard
from services.boards.store.protocol import PoolVersion, StoreError
from services.control.records import ControlState, FoldSettings, Skipped
from services.demo import simulated
from services.log.protocol import LogError
from services.shard.fencing import Fenced
from services.shard.figures import ShardFigures
from services.shard.partition import Partition
from services.shard.publishing.updates import Track, update_of
from services.shard.ratings_topic.publisher import RatingsPublisher
from services.shard.ratings_topic.solved import SolvedCopies
from services.shard.ratings_topic.writer import TRANSACTION_RECORDS, PartitionPart, TopicWriter, WriteEnd
from services.state.pool import PoolState
from tests.support.boards import solved_of
from tests.support.folds import fold_events
from tests.support.pools import control_of, pool_of, state_of
from tests.support.ratings_topic import MemoryTopic, MemoryWriter, head, online, solved
from tests.support.waiting import PATIENCE

POOL = "p"
SCHEMA = Path(__file__).resolve().parents[3] / "docs/schema/rating-v1.json"


class Control:
    """A control log with one pool, of which a test sets the newest epoch."""

    def __init__(self) -> None:
        self.state = control_of(pool_of(POOL))

    def refresh(self) -> ControlState:
        return self.state

    known = refresh

    def close(self) -> None:
        return


class Store:
    """Solved boards by method, and the sequences of removed ones."""

    def __init__(self) -> None:
        self.boards: dict[str, tuple[str, SolvedBoard]] = {}
        self.removed: dict[str, int] = {}
        self.fails: StoreError | None = None
        self.versions = self.solved = self

    def read(self, pools: Sequence[str]) -> dict[str, PoolVersion]:
        if self.fails is not None:
            raise self.fails
        return {pool: PoolVersion("head", {method: version for method, (version, _) in self.boards.items()}, True) for pool in pools}

    def complete_board(self, _pool: str, method: str) -> tuple[str, SolvedBoard] | None:
        return self.boards.get(method)

    def sequence(self, _pool: str, method: str) -> int:
        return self.removed.get(method, 0)


class Shard:
    """An owner of one partition with one pool. Its rounds run one after the other, on a simulated timer."""

    def __init__(self, topic: MemoryTopic, state: PoolState | None = None, *, epoch: int = 1, position: int = 0) -> None:
        self.control, self.store, self.epoch, self.now = Control(), Store(), epoch, 0.0
        self.partition = Partition(0, 1, position)
        self.partition.pools[POOL] = state or state_of(POOL)
        self.figures = ShardFigures()
        outcomes = SimpleNamespace(begin=lambda _: 1 << 60)  # no record can be compared any more
        solved_copies = SolvedCopies(cast("Any", self.store), lambda: self.now)
        self.writer = TopicWriter(topic, cast("Any", outcomes), cast("Any", self.control), solved_copies)
        self.publisher = RatingsPublisher(self.writer, 0.2, self.figures, lambda: self.now)

    @property
    def state(self) -> PoolState:
        return self.partition.pools[POOL]

    def play(self, start: int, stop: int) -> None:
        """Fold games, and write the boards."""
        self.play_without_board(start, stop)
        self.board()

    def play_without_board(self, start: int, stop: int) -> None:
        """Fold games whose boards are still being written."""
        fold_events(self.state, [simulated.game(i, float(i)) for i in range(start, stop)])
        self.partition.position += stop - start

    def board(self) -> None:
        track = Track(self.state.generation.number, self.state.recovered_at)
        update = update_of(self.state, track, self.epoch, self.partition, 0.0)
        assert update is not None
        self.publisher.note(update)

    def begin(self) -> None:
        self.publisher.step(self.now, {0: self.partition}, {0: self.epoch})

    def begin_and_wait(self) -> None:
        self.begin()
        if (job := self.publisher._job) is not None:
            wait([job], PATIENCE)

    def round(self) -> None:
        for _ in range(2):
            self.begin_and_wait()
            self.now += 10.0

    def rounds(self, count: int = 3) -> None:
        for _ in range(count):
            self.round()

    def ratings(self) -> dict[str, float]:
        content = self.state.content
        return dict(zip(content.agents.names(), content.ratings.online["elo"].rating[: len(content.agents)].tolist(), strict=True))

    def restarted(self, topic: MemoryTopic, *, epoch: int = 2) -> "Shard":
        """The next owner, which starts from a checkpoint of the present state."""
        state = self.state
        restored = PoolState.restore(state.created, state.generation, state.arrays(), self.partition.position)
        return Shard(topic, restored, epoch=epoch, position=self.partition.position)


def raised(error: Exception) -> None:
    raise error


@pytest.fixture
def topic() -> MemoryTopic:
    return MemoryTopic()


def test_a_folded_view_equals_the_board_and_names_its_state(topic: MemoryTopic) -> None:
    shard = Shard(topic)
    for start in range(0, 60, 20):
        shard.play(start, start + 20)
        shard.rounds()
        assert online(topic.table(), POOL, "elo") == shard.ratings()
    shown = head(topic.table(), POOL)
    assert (shown["generation"], shown["position"], shown["epoch"], shown["outcomes"]) == (1, 60, 1, 60)
    assert shown["agents"] == len(shard.ratings())
    rows = [row for row in topic.table().values() if row["type"] == "ratings"]
    assert sum(row["outcomes"] for row in rows) == 2 * 60
    assert shard.figures.counts["ratings_records"] == len(topic.records[0])


def test_a_method_is_absent_from_the_row_of_an_agent_that_it_has_not_rated(topic: MemoryTopic) -> None:
    fold = FoldSettings(online={"elo": {}, "weng_lin": {}})
    shard = Shard(topic, state_of(POOL, fold=fold, initial={"elo": {"known": 1700.0, "rock": 1600.0}}))
    shard.play(0, 20)
    shard.rounds()
    rows = {row["agent"]: row["ratings"] for row in topic.table().values() if row["type"] == "ratings"}
    assert rows.pop("known") == {"elo": {"rating": 1700.0}}
    content = shard.state.content
    for method in ("elo", "weng_lin"):
        reading = content.ratings.read(method, content.agents.lookup(list(rows)))
        assert {agent: row[method]["rating"] for agent, row in rows.items()} == dict(zip(rows, reading.rating.tolist(), strict=True))


def test_only_changed_agents_are_written(topic: MemoryTopic) -> None:
    shard = Shard(topic)
    shard.play(0, 100)
    shard.rounds()
    before = len(topic.records[0])
    shard.play(100, 101)
    shard.rounds()
    assert len(topic.records[0]) == before + 3, "two agents and the head"
    shard.board()
    shard.rounds()
    assert len(topic.records[0]) == before + 3, "an unchanged pool writes nothing"


def test_nothing_is_written_before_the_boards(topic: MemoryTopic) -> None:
    shard = Shard(topic)
    fold_events(shard.state, [simulated.game(0, 0.0)])
    shard.rounds()
    assert topic.records[0] == []
    shard.board()
    shard.rounds()
    assert len(online(topic.table(), POOL, "elo")) == 2


def test_the_next_owner_writes_only_what_changed_since_its_checkpoint(topic: MemoryTopic) -> None:
    first = Shard(topic)
    first.play(0, 100)
    first.rounds()
    second, before = first.restarted(topic), len(topic.records[0])
    second.board()
    second.rounds()
    assert len(topic.records[0]) == before
    second.play(100, 101)
    second.rounds()
    assert len(topic.records[0]) == before + 3
    assert online(topic.table(), POOL, "elo") == second.ratings()


def test_what_was_on_the_board_and_not_in_the_topic_is_written_by_the_next_owner(topic: MemoryTopic) -> None:
    first = Shard(topic)
    first.play(0, 50)
    first.rounds()
    first.play(50, 80)  # and it ends before the topic is written
    second = first.restarted(topic)
    second.board()
    second.rounds()
    assert online(topic.table(), POOL, "elo") == second.ratings()
    assert head(topic.table(), POOL)["outcomes"] == 80


def test_a_head_includes_no_outcome_whose_rows_wait_for_the_board(topic: MemoryTopic) -> None:
    """The next owner compares the head with its checkpoint, which can be ahead of the boards."""
    first = Shard(topic)
    first.play(0, 50)
    first.play_without_board(50, 80)
    first.rounds()
    assert (head(topic.table(), POOL)["outcomes"], head(topic.table(), POOL)["position"]) == (50, 50)
    assert {row["position"] for row in topic.table().values() if row["type"] == "ratings"} == {80}
    second = first.restarted(topic)  # the first one ends after it wrote these boards
    second.board()
    second.rounds()
    assert online(topic.table(), POOL, "elo") == second.ratings()


def test_rows_that_are_newer_than_their_head_are_not_taken_back(topic: MemoryTopic) -> None:
    first = Shard(topic)
    first.play(0, 50)
    second = first.restarted(topic)
    first.play_without_board(50, 80)
    first.rounds()
    before = list(topic.records[0])
    second.play(50, 79)
    second.rounds()
    assert topic.records[0] == before
    second.play(79, 90)
    second.rounds()
    assert online(topic.table(), POOL, "elo") == second.ratings()


def test_rows_that_are_newer_than_their_head_are_replaced_if_their_records_were_skipped(topic: MemoryTopic) -> None:
    first = Shard(topic)
    first.play(0, 50)
    second = first.restarted(topic)
    first.play_without_board(50, 80)
    first.rounds()
    second.control.state.apply(9, Skipped(partition=0, begin=60, end=61, time=0.0))
    second.board()
    second.rounds()
    assert online(topic.table(), POOL, "elo") == second.ratings()


def test_rows_of_records_that_are_skipped_while_the_owner_runs_are_replaced(topic: MemoryTopic) -> None:
    """The owner read the topic before an operator decided."""
    first = Shard(topic)
    first.play(0, 50)
    second = first.restarted(topic)
    first.play(50, 80)
    first.rounds()
    second.round()
    second.partition.position = 80
    second.play(80, 81)
    second.rounds()
    assert online(topic.table(), POOL, "elo") == second.ratings()
    assert head(topic.table(), POOL)["outcomes"] == 51


def test_an_owner_that_starts_behind_the_topic_waits_until_it_has_folded_as_much(topic: MemoryTopic) -> None:
    first = Shard(topic)
    first.play(0, 50)
    second = first.restarted(topic)
    first.play(50, 80)
    first.rounds()
    before = list(topic.records[0])
    second.play(50, 60)
    second.rounds()
    assert topic.records[0] == before
    second.play(60, 90)
    second.rounds()
    assert online(topic.table(), POOL, "elo") == second.ratings()


def test_a_paused_owner_never_overwrites_what_the_next_one_wrote(topic: MemoryTopic) -> None:
    first = Shard(topic)
    first.play(0, 50)
    first.rounds()
    second = first.restarted(topic)
    first.play(50, 60)  # copied, and paused before the write
    paused, go = threading.Event(), threading.Event()
    topic.fails = lambda: (paused.set(), go.wait(PATIENCE))[0]
    first.begin()
    assert paused.wait(PATIENCE)
    topic.fails = lambda: None
    second.play(50, 80)
    second.rounds()
    expected = topic.table()
    first.control.state.partitions.epochs[0] = second.epoch
    go.set()
    with pytest.raises(Fenced, match="taken over by a newer shard than epoch 1"):
        first.rounds()
    assert topic.table() == expected
    assert online(topic.table(), POOL, "elo") == second.ratings()


def test_an_owner_that_claims_late_sees_the_takeover_and_writes_nothing(topic: MemoryTopic) -> None:
    """Its claim fences the present owner, which claims again and goes on."""
    first = Shard(topic)
    first.play(0, 50)
    second = first.restarted(topic)
    second.play(50, 80)
    second.rounds()
    first.control.state.partitions.epochs[0] = second.epoch
    with pytest.raises(Fenced):
        first.rounds()
    second.play(80, 90)
    second.rounds()
    assert second.figures.counts["ratings_failures"] == 1
    assert online(topic.table(), POOL, "elo") == second.ratings()


def test_agents_that_a_new_generation_does_not_have_are_removed(topic: MemoryTopic) -> None:
    shard = Shard(topic)
    shard.play(0, 100)
    shard.rounds()
    gone = set(shard.ratings())
    shard.partition.pools[POOL] = state_of(POOL, number=2)
    shard.state.changes.mark_all()
    shard.play(0, 3)
    shard.rounds()
    gone -= set(shard.ratings())
    assert gone
    assert online(topic.table(), POOL, "elo") == shard.ratings()
    assert {decode_key(key).agent for key, value in topic.records[0] if value is None} == gone  # type: ignore[union-attr]
    assert head(topic.table(), POOL)["generation"] == 2


def test_a_new_generation_is_written_whole_by_an_owner_that_ended_in_it(topic: MemoryTopic) -> None:
    first = Shard(topic)
    first.play(0, 100)
    first.rounds()
    second = Shard(topic, state_of(POOL, number=2), epoch=2)
    second.control.state = control_of(pool_of(POOL))
    second.play(0, 3)
    second.rounds()
    assert online(topic.table(), POOL, "elo") == second.ratings()
    assert len(topic.table()) == len(second.ratings()) + 1


def test_rows_after_the_last_head_are_written_again(topic: MemoryTopic) -> None:
    """The owner ended within a write of several steps."""
    first = Shard(topic)
    first.play(0, 50)
    first.rounds()
    row = next(value for _, value in topic.records[0] if value is not None and b'"type":"ratings"' in value)
    topic.records[0].append((b'["p","nobody"]', row))
    second = first.restarted(topic)
    second.board()
    second.rounds()
    assert b'["p","nobody"]' not in topic.table()
    assert online(topic.table(), POOL, "elo") == second.ratings()


def test_a_solved_board_of_which_rows_follow_the_head_is_copied_again(topic: MemoryTopic) -> None:
    first = Shard(topic)
    first.play(0, 5)
    first.store.boards["copeland"] = "v1", solved_of(POOL, method="copeland", ratings=(("a", 3.0), ("b", 2.0)))
    first.rounds()
    topic.records[0].append((b'["p","nobody","copeland"]', b'{"type":"solved"}'))
    second = first.restarted(topic)
    second.store.boards = first.store.boards
    second.board()
    second.rounds()
    assert b'["p","nobody","copeland"]' not in topic.table()


@pytest.mark.parametrize("why", ["lost", "skipped"])
def test_a_state_that_the_log_does_not_have_is_replaced(topic: MemoryTopic, why: str) -> None:
    first = Shard(topic)
    first.play(0, 80)
    first.rounds()
    second = Shard(topic, epoch=2)
    if why == "lost":
        del second.control.state.generations[POOL]
    else:
        second.control.state.apply(9, Skipped(partition=0, begin=10, end=11, time=0.0))
    second.play(0, 3)
    second.rounds()
    assert online(topic.table(), POOL, "elo") == second.ratings()
    assert len(second.ratings()) < len(first.ratings())


def test_a_broker_that_is_down_holds_nothing_back_and_changes_wait(topic: MemoryTopic) -> None:
    shard = Shard(topic)

    def down() -> None:
        raise LogError("no broker answers", retriable=True)

    topic.fails = down
    shard.play(0, 50)
    shard.rounds(2)
    shard.play(50, 60)
    shard.rounds(2)
    assert shard.figures.counts["ratings_failures"] > 0
    assert shard.figures.ratings_lag_seconds(0, shard.now) == shard.now, "since the start"
    topic.fails = lambda: None
    shard.rounds()
    shard.play(60, 70)
    topic.fails = down
    at = shard.now
    shard.rounds(2)
    assert shard.figures.ratings_lag_seconds(0, shard.now) == shard.now - at
    topic.fails = lambda: None
    shard.rounds()
    assert shard.figures.ratings_lag_seconds(0, shard.now) == 0.0
    assert online(topic.table(), POOL, "elo") == shard.ratings()


def test_a_partition_that_stays_offline_does_not_keep_others_from_being_written(caplog: pytest.LogCaptureFixture) -> None:
    class Offline(MemoryTopic):
        def fenced_writer(self, partition: int) -> MemoryWriter:
            if partition == 0:
                raise LogError("the partition has no leader", retriable=True)
            return super().fenced_writer(partition)

    shard = Shard(topic := Offline(3))
    shard.writer.topic = topic
    parts = [PartitionPart(number, 1, None) for number in range(3)]
    ends = [{result.part.partition: result.end for result in shard.writer.write(parts)} for _ in range(3)]
    assert ends[0] == dict.fromkeys(range(3), WriteEnd.FAILED), "after a failure, no other timeout is waited for"
    assert ends[1:] == [{0: WriteEnd.FAILED, 1: WriteEnd.WRITTEN, 2: WriteEnd.WRITTEN}] * 2
    assert caplog.text.count("the partition has no leader") == 1, "a warning is not repeated because other partitions are written"


def test_an_unexpected_failure_is_not_that_of_the_fold(topic: MemoryTopic, caplog: pytest.LogCaptureFixture) -> None:
    shard = Shard(topic)

    def broken() -> None:
        raise RuntimeError("a fault of a client")

    topic.fails = broken
    shard.play(0, 5)
    shard.rounds()
    assert "a fault of a client" in caplog.text
    topic.fails = lambda: None
    shard.rounds()
    assert online(topic.table(), POOL, "elo") == shard.ratings()


@pytest.mark.parametrize("noticed", ["by a write", "by a claim"])
def test_a_topic_that_was_made_anew_gets_all_rows(topic: MemoryTopic, noticed: str) -> None:
    shard = Shard(topic)
    shard.play(0, 50)
    shard.rounds()
    if noticed == "by a claim":
        topic.fails = lambda: raised(LogError("the topic is gone", retriable=True))
        shard.play(50, 51)
        shard.rounds()
        topic.fails = lambda: None
    topic.replace()
    shard.play(51, 52)
    shard.rounds()
    assert online(topic.table(), POOL, "elo") == shard.ratings()


def test_the_lag_begins_when_the_topic_was_made_anew(topic: MemoryTopic) -> None:
    shard = Shard(topic)
    shard.play(0, 50)
    shard.rounds()
    topic.replace()
    shard.store.boards["copeland"] = "v1", solved_of(POOL, method="copeland", ratings=(("a", 3.0),))
    shard.begin_and_wait()  # notices the other topic
    topic.fails = lambda: raised(LogError("no broker answers", retriable=True))
    shard.round()
    at = shard.now
    shard.rounds()
    assert shard.figures.ratings_lag_seconds(0, shard.now) >= shard.now - at


def test_the_pause_after_a_round_that_failed_is_as_long_as_the_round(topic: MemoryTopic) -> None:
    """A round of failures costs time of the fold, too: it makes connections."""
    shard = Shard(topic)
    shard.play(0, 50)
    topic.fails = lambda: raised(LogError("not authorized", retriable=False))
    shard.begin_and_wait()
    shard.now += 4.0
    shard.begin()
    shard.now += 3.0
    shard.begin()
    assert shard.publisher._job is None
    shard.now += 1.0
    shard.begin_and_wait()
    assert shard.publisher._job is not None


def test_the_fold_pauses_for_a_copy_only_and_the_pause_is_counted(topic: MemoryTopic) -> None:
    shard = Shard(topic)
    shard.rounds()
    assert sum(shard.figures.copies.counts) == 0
    shard.play(0, 50)
    shard.round()
    assert sum(shard.figures.copies.counts) == 1


def test_pools_without_changes_are_not_asked_again_at_every_step(topic: MemoryTopic) -> None:
    class Pools(dict[str, PoolState]):
        reads = 0

        def items(self) -> Any:
            self.reads += 1
            return super().items()

    shard = Shard(topic)
    shard.play(0, 50)
    shard.rounds()
    shard.partition.pools = pools = Pools(shard.partition.pools)
    shard.begin_and_wait()  # solved boards are compared, and not again for a second
    for _ in range(2):
        shard.now += 0.4
        shard.begin()
    before = pools.reads
    for _ in range(10):
        shard.begin()
    assert pools.reads == before
    shard.play(50, 60)
    shard.rounds()
    assert online(topic.table(), POOL, "elo") == shard.ratings()


def test_a_pool_of_many_agents_is_written_in_several_steps_and_its_head_last(topic: MemoryTopic, monkeypatch: pytest.MonkeyPatch) -> None:
    assert TRANSACTION_RECORDS > 100
    monkeypatch.setattr("services.shard.ratings_topic.writer.TRANSACTION_RECORDS", 7)
    shard = Shard(topic)
    shard.play(0, 200)
    shard.rounds()
    assert online(topic.table(), POOL, "elo") == shard.ratings()
    last = topic.records[0][-1][1]
    assert last is not None
    assert isinstance(decode_record(last), RatingsHead)


def test_a_broken_pool_writes_nothing_more(topic: MemoryTopic) -> None:
    shard = Shard(topic)
    shard.play(0, 50)
    shard.rounds()
    before = len(topic.records[0])
    shard.play(50, 60)
    shard.state.stop("it failed halfway", 55, broken=True)
    shard.rounds()
    assert len(topic.records[0]) == before
    assert shard.figures.ratings_lag_seconds(0, shard.now) == 0.0, "its boards stay as they are"


def test_a_deviation_is_that_of_the_belief(topic: MemoryTopic) -> None:
    shard = Shard(topic, state_of(POOL, fold=FoldSettings(online={"elo": {}, "glicko2": {}})))
    shard.play(0, 20)
    shard.rounds()
    ids = shard.state.content.agents.lookup(names := shard.state.content.agents.names())
    beliefs = shard.state.content.ratings.read("glicko2", ids).beliefs
    assert beliefs is not None
    rows = {row["agent"]: row["ratings"] for row in topic.table().values() if row["type"] == "ratings"}
    assert {name: rows[name]["glicko2"]["deviation"] for name in names} == {
        name: belief.deviation for name, belief in zip(names, beliefs.each(), strict=True)
    }
    assert all("deviation" not in row["elo"] for row in rows.values())


def test_a_solved_board_is_copied_and_replaced_and_removed(topic: MemoryTopic) -> None:
    shard = Shard(topic)
    shard.play(0, 5)
    shard.store.boards["copeland"] = "v1", solved_of(POOL, method="copeland", ratings=(("a", 3.0), ("b", 2.0), ("c", None)))
    shard.rounds()
    assert solved(topic.table(), POOL, "copeland") == {"a": 3.0, "b": 2.0, "c": None}
    shard.store.boards["copeland"] = "v2", solved_of(POOL, method="copeland", ratings=(("a", 1.0), ("d", 2.0)))
    shard.rounds()
    assert solved(topic.table(), POOL, "copeland") == {"a": 1.0, "d": 2.0}
    before = len(topic.records[0])
    shard.rounds()
    assert len(topic.records[0]) == before
    del shard.store.boards["copeland"]
    shard.rounds()
    assert solved(topic.table(), POOL, "copeland") == {"a": 1.0, "d": 2.0}, "the store only lost it"
    shard.store.removed["copeland"] = 7
    shard.rounds()
    assert solved(topic.table(), POOL, "copeland") == {}
    assert {row["type"] for row in topic.table().values()} == {"ratings", "ratings_head"}
    before = len(topic.records[0])
    shard.rounds()
    assert len(topic.records[0]) == before


def test_the_next_owner_does_not_copy_a_solved_board_again_and_removes_its_former_rows(topic: MemoryTopic) -> None:
    first = Shard(topic)
    first.play(0, 5)
    first.store.boards["copeland"] = "v1", solved_of(POOL, method="copeland", ratings=(("a", 3.0), ("b", 2.0)))
    first.rounds()
    second, before = first.restarted(topic), len(topic.records[0])
    second.store.boards = dict(first.store.boards)
    second.board()
    second.rounds()
    assert len(topic.records[0]) == before
    second.store.boards["copeland"] = "v2", solved_of(POOL, method="copeland", ratings=(("b", 2.0),))
    second.rounds()
    assert solved(topic.table(), POOL, "copeland") == {"b": 2.0}


def fails_at_write(topic: MemoryTopic, number: int) -> None:
    """Make one of the next writes fail. Writes before it are in the topic. number: from 1; claims are not counted."""
    done = 0

    def write() -> None:
        nonlocal done
        done += 1
        if done == number:
            raise LogError("the broker went away", retriable=True)

    topic.fails_to_write = write


def test_rows_of_a_solved_board_whose_write_was_cut_off_are_removed(topic: MemoryTopic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.shard.ratings_topic.writer.TRANSACTION_RECORDS", 2)
    shard = Shard(topic)
    shard.play(0, 5)
    shard.rounds()
    shard.store.boards["copeland"] = "v1", solved_of(POOL, method="copeland", ratings=(("a", 3.0), ("b", 2.0), ("c", 1.0)))
    fails_at_write(topic, 2)
    shard.begin_and_wait()
    assert solved(topic.table(), POOL, "copeland") == {"a": 3.0, "b": 2.0}
    shard.store.boards["copeland"] = "v2", solved_of(POOL, method="copeland", ratings=(("c", 1.0),))
    shard.rounds()
    assert solved(topic.table(), POOL, "copeland") == {"c": 1.0}


def test_rows_of_a_solved_board_that_was_removed_after_a_cut_off_write_are_removed(
    topic: MemoryTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.shard.ratings_topic.writer.TRANSACTION_RECORDS", 2)
    shard = Shard(topic)
    shard.play(0, 5)
    shard.rounds()
    shard.store.boards["copeland"] = "v1", solved_of(POOL, method="copeland", ratings=(("a", 3.0), ("b", 2.0), ("c", 1.0)))
    fails_at_write(topic, 2)
    shard.begin_and_wait()
    del shard.store.boards["copeland"]
    shard.store.removed["copeland"] = 7
    shard.rounds()
    assert solved(topic.table(), POOL, "copeland") == {}


def test_rows_of_a_generation_whose_write_was_cut_off_are_removed(topic: MemoryTopic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.shard.ratings_topic.writer.TRANSACTION_RECORDS", 2)
    shard = Shard(topic)
    shard.play(0, 3)
    shard.rounds()
    before = set(online(topic.table(), POOL, "elo"))
    shard.partition.pools[POOL] = state_of(POOL, number=2)
    shard.play(3, 40)
    fails_at_write(topic, 4)
    shard.begin_and_wait()
    assert set(online(topic.table(), POOL, "elo")) > before
    shard.partition.pools[POOL] = state_of(POOL, number=3)
    shard.play(0, 3)
    shard.rounds()
    assert online(topic.table(), POOL, "elo") == shard.ratings()


def test_a_store_that_does_not_answer_delays_solved_boards_only(topic: MemoryTopic) -> None:
    shard = Shard(topic)
    shard.store.fails = StoreError("no answer", retriable=True)
    shard.play(0, 5)
    shard.rounds()
    assert online(topic.table(), POOL, "elo") == shard.ratings()
    assert shard.figures.counts["ratings_failures"] == 0


def test_keys_of_other_forms_are_ignored(topic: MemoryTopic) -> None:
    for key in (b"", b"x", b"[]", b'[""]', b'["p",""]', b"[null]", b'["p","a","m","n"]', b"{}", b"\xff"):
        assert decode_key(key) is None
        topic.records[0].append((key, b"1"))
    topic.records[0].append((b'["p"]', b'{"type":"of another version"}'))
    shard = Shard(topic)
    shard.play(0, 5)
    shard.rounds()
    assert online({key: row for key, row in topic.table().items() if decode_key(key)}, POOL, "elo") == shard.ratings()


@pytest.mark.parametrize("agent", ["ann", 'a "b"', "ä,]", "\\"])
def test_a_key_names_pool_agent_and_method(agent: str) -> None:
    assert decode_key(removal("p", agent)[0]) == ("p", agent, None)
    assert decode_key(removal("p", agent, "copeland")[0]) == ("p", agent, "copeland")
    assert decode_key(removal("p", None, "copeland")[0]) == ("p", None, "copeland")
    assert decode_key(removal("p", None)[0]) == ("p", None, None)


def test_records_are_read_as_they_were_written() -> None:
    made = RatingsHead(
        pool="p", methods=["elo"], agents=2, outcomes=3, pool_time=None, generation=1, position=5, partition=0, epoch=1,
        newest=NewestRows(outcomes=4, position=6, record="ab"),
    )  # fmt: skip
    key, value = keyed(made)
    assert (key, decode_record(value or b"")) == (b'["p"]', made)


def test_values_are_those_of_the_schema(topic: MemoryTopic) -> None:
    shard = Shard(topic, state_of(POOL, fold=FoldSettings(online={"elo": {}, "glicko2": {}})))
    shard.play(0, 5)
    shard.store.boards["copeland"] = "v1", solved_of(POOL, method="copeland", ratings=(("a", 3.0), ("b", None)))
    shard.rounds()
    validator = Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    values = topic.table().values()
    assert {value["type"] for value in values} == {"ratings", "ratings_head", "solved", "solved_head"}
    for value in values:
        validator.validate(value)
    assert not validator.is_valid({**next(iter(values)), "type": "another"})
