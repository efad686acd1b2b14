"""Verification against a store that is behind the checkpoint: it is given a while, and told on when it stays there."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import numpy as np
import pytest

from services.admin import verify
from services.admin.verify import verify_partition
from services.archive.history import ArchiveFails
from services.boards.result import AgentRow
from services.boards.store.protocol import ACTIVITY, BoardPage, LiveBoard, PoolHead
from services.checkpoints.checkpoint import CheckpointStore
from services.control.directory import LiveDirectory
from services.control.log import ControlLog
from services.control.records import FoldSettings
from services.demo import simulated
from services.log.protocol import Log, LogError, Reader, Records
from services.log.sqlite.log import open_sqlite_log
from services.shard.checkpointing.checkpointer import Checkpointer
from services.shard.partition import Partition
from services.shard.publishing.updates import update_of
from services.wire import events

EPOCH = 1


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    log = open_sqlite_log(tmp_path / "log.sqlite", 1)
    games = [simulated.game(i, float(i)) for i in range(200)]
    log.outcomes.append(0, [(b"", record) for record in events.encode_records(games, 10)])
    yield log
    log.close()


class Clock:
    """Stands in for the time module of `verify`: sleeping takes no time, and does what `asleep` says."""

    def __init__(self) -> None:
        self.now, self.wakes_after = 0.0, float("inf")
        self.store: Store | None = None

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        if self.now >= self.wakes_after and self.store is not None:
            self.store.shown = len(self.store.states) - 1


class Store:
    """Shows one of several states of the pool, as `shown` says."""

    def __init__(self) -> None:
        self.states: list[tuple[PoolHead, dict[str, LiveBoard]]] = []
        self.shown = 0

    def take(self, partition: Partition) -> None:
        """Publish the partition's one pool as it stands, whole."""
        [state] = partition.pools.values()
        state.changes.mark_all()
        update = update_of(state, None, EPOCH, partition, 0.0)  # type: ignore[arg-type]
        self.states.append((update.head, dict(update.boards)))

    def pools(self) -> list[PoolHead]:
        return [self.states[self.shown][0]]

    def head(self, _pool: str) -> PoolHead:
        return self.states[self.shown][0]

    def page(self, _pool: str, method: str, start: int, count: int) -> BoardPage:
        head, boards = self.states[self.shown]
        board = boards[method]
        order = np.argsort(-np.array(board.values), kind="stable").tolist()[start : start + count]
        marks = board.provisional or [False] * len(board.names)
        rows = [AgentRow(agent=board.names[i], rating=board.values[i], rank=None if marks[i] else 1, provisional=marks[i]) for i in order]
        return BoardPage(head, method, len(board.names), len(board.names), rows, "")


@pytest.fixture
def behind(log: Log, tmp_path: Path) -> tuple[CheckpointStore, Store]:
    """A checkpoint at the log's end, and a store that shows the half of it first."""
    control = ControlLog(log.control)
    fold = FoldSettings(online={"elo": {}, "sco": {}})  # `Store` shows no deviations
    directory = LiveDirectory(control, fold, 10, lambda: 0.0, create=True)
    partition, store = Partition(0, 1), Store()
    reader = log.outcomes.reader({0: 0})
    records = reader.poll(5.0, 1000)[0]
    reader.close()
    for part in (records[:10], records[10:]):
        assert partition.fold(part, directory) == []
        store.take(partition)
    control.close()
    checkpoints = CheckpointStore((tmp_path / "state").as_uri())
    Checkpointer(checkpoints, log.outcomes.identity, EPOCH, 3, None).drain(partition)
    return checkpoints, store


def differences(log: Log, checkpoints: CheckpointStore, store: Store) -> dict[str, str | None]:
    return {finding.what: finding.difference for finding in verify_partition(0, log, checkpoints, store)}  # type: ignore[arg-type]


def test_a_store_behind_the_checkpoint_is_given_a_while(
    log: Log, behind: tuple[CheckpointStore, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    clock.wakes_after, clock.store = verify._CATCH_UP_SECONDS / 2, behind[1]
    monkeypatch.setattr(verify, "time", clock)
    assert differences(log, *behind) == {"checkpoint": None, "live boards": None}
    assert verify._CATCH_UP_SECONDS / 2 <= clock.now < verify._CATCH_UP_SECONDS


def test_a_store_that_stays_behind_differs(log: Log, behind: tuple[CheckpointStore, Store], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(verify, "time", clock)
    found = differences(log, *behind)
    assert found["checkpoint"] is None
    assert "agents differ" in (found["live boards"] or "")
    assert clock.now >= verify._CATCH_UP_SECONDS


def test_a_store_that_shows_another_value_differs_after_it_was_read_again(
    log: Log, behind: tuple[CheckpointStore, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints, store = behind
    store.shown = 1
    board = store.states[1][1]["elo"]
    store.states[1][1]["elo"] = board._replace(values=[*board.values[:-1], board.values[-1] + 1.0])
    clock = Clock()
    monkeypatch.setattr(verify, "time", clock)
    assert "1 agents differ on elo" in (differences(log, checkpoints, store)["live boards"] or "")
    assert clock.now == verify.WRITING_SECONDS


@pytest.mark.parametrize("limit", [10, 100, None], ids=["the setting", "another one", "an earlier release"])
def test_agents_on_the_wrong_part_of_a_board_differ(
    log: Log, behind: tuple[CheckpointStore, Store], monkeypatch: pytest.MonkeyPatch, limit: int | None
) -> None:
    """The head says by which number of outcomes its boards were separated."""
    checkpoints, store = behind
    store.shown = 1
    head, boards = store.states[1]
    played = dict(zip(boards[ACTIVITY].names, boards[ACTIVITY].values, strict=True))
    assert 10 < min(played.values()) < max(played.values()) < 100
    marks = {method: [played[name] < (limit or 0) for name in board.names] for method, board in boards.items() if method != ACTIVITY}
    right = {method: board._replace(provisional=marks.get(method, ())) for method, board in boards.items()}
    monkeypatch.setattr(verify, "time", Clock())
    store.states[1] = msgspec.structs.replace(head, provisional_outcomes=limit), right
    assert differences(log, checkpoints, store)["live boards"] is None
    wrong = [not marks["elo"][0], *marks["elo"][1:]]
    store.states[1] = store.states[1][0], {**right, "elo": right["elo"]._replace(provisional=wrong)}
    assert "1 agents differ on elo" in (differences(log, checkpoints, store)["live boards"] or "")
    assert "provisional" in (differences(log, checkpoints, store)["live boards"] or "")


def test_rows_whose_head_is_written_later_are_no_difference(
    log: Log, behind: tuple[CheckpointStore, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A publication of a large board takes longer than the tries do."""
    checkpoints, store = behind
    head, boards = store.states[1]
    later = boards["elo"]._replace(values=[value + 1.0 for value in boards["elo"].values])
    store.states.insert(1, (head, {**boards, "elo": later}))
    store.shown = 1
    clock = Clock()
    clock.wakes_after, clock.store = verify.WRITING_SECONDS, store
    monkeypatch.setattr(verify, "time", clock)
    assert differences(log, checkpoints, store) == {"checkpoint": None, "live boards": None}
    assert clock.now == verify.WRITING_SECONDS


@pytest.mark.parametrize("meanwhile", ["written", "removed", "damaged"])
def test_a_checkpoint_is_reported_as_damaged_only_if_it_stays_damaged(
    log: Log, behind: tuple[CheckpointStore, Store], monkeypatch: pytest.MonkeyPatch, meanwhile: str
) -> None:
    """On a local disk the name of a manifest is there before its content."""
    checkpoints, store = behind
    store.shown = 1
    [name] = checkpoints.manifests(0)
    content = checkpoints.blobs.read(name)
    later = name.replace(".json", "-000001.json")
    checkpoints.blobs.write(later, [content[:100]])

    class Pause(Clock):
        def sleep(self, seconds: float) -> None:
            super().sleep(seconds)
            if meanwhile == "written":
                checkpoints.blobs.write(later, [content])
            if meanwhile == "removed":
                checkpoints.blobs.remove(later)

    monkeypatch.setattr(verify, "time", Pause())
    found = [(one.what, one.difference) for one in verify_partition(0, log, checkpoints, store)]  # type: ignore[arg-type]
    damaged = [("checkpoint", f"{later}: checksum differs")] if meanwhile == "damaged" else []
    assert found == [*damaged, ("checkpoint", None), ("live boards", None)]


class Stumbling:
    """A reader that gives nothing at first, as one whose broker is away: for `polls` polls."""

    def __init__(self, reader: Reader, polls: float) -> None:
        self._reader, self._left = reader, polls
        self.position, self.close = reader.position, reader.close

    def poll(self, timeout: float, max_records: int) -> Mapping[int, Records]:
        self._left -= 1
        return self._reader.poll(timeout, max_records) if self._left < 0 else {}


@pytest.mark.parametrize("polls", [3, float("inf")])
def test_a_log_that_gives_nothing_is_waited_for_and_no_difference(
    log: Log, behind: tuple[CheckpointStore, Store], monkeypatch: pytest.MonkeyPatch, polls: float
) -> None:
    checkpoints, store = behind
    store.shown = 1
    reader = log.outcomes.reader
    monkeypatch.setattr(log.outcomes, "reader", lambda positions: Stumbling(reader(positions), 0 if positions[0] else polls))
    if polls == 3:
        assert set(differences(log, checkpoints, store).values()) == {None}
        return
    with pytest.raises(LogError, match=r"gave no record from offset 0") as raised:
        differences(log, checkpoints, store)
    assert raised.value.retriable


@pytest.mark.parametrize(("failures", "reported"), [(1, False), (2, True)])
def test_an_archive_whose_files_were_replaced_meanwhile_is_read_once_more(
    log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failures: int, reported: bool
) -> None:
    """An erasure replaces files. A second failure is no accident."""
    left = list(range(failures))

    def verified(*_: object) -> Iterator[verify.Finding]:
        yield verify.Finding(partition=0, pool=None, what="checkpoint", position=1, difference=None)
        if left:
            left.pop()
            raise ArchiveFails(0, "a file is gone", retriable=True)

    monkeypatch.setattr(verify, "time", Clock())
    monkeypatch.setattr(verify, "_verified", verified)
    [finding] = verify_partition(0, log, CheckpointStore(str(tmp_path / "checkpoints")), None)
    assert (finding.what, finding.made) == (("archive", False) if reported else ("checkpoint", True))
