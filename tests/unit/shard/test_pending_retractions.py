"""What a state knows of retractions is what the log holds: who asks the state folds what another folds that reads the log twice."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from ratings_core.arrays.digest import digest
from ratings_core.errors import InputError
from services.checkpoints.checkpoint import CheckpointStore
from services.checkpoints.objects import pack, unpack
from services.control.directory import LiveDirectory
from services.control.log import ControlLog
from services.control.records import FoldSettings, Generation
from services.log.partition import partition_of
from services.log.protocol import Log, Record
from services.log.records import TopicRecords
from services.log.sqlite.log import open_sqlite_log
from services.shard.checkpointing.checkpointer import Checkpointer
from services.shard.generations.build import Build
from services.shard.generations.builder import Builder
from services.shard.partition import Partition
from services.shard.recovery import recover
from services.state.pool import PoolState
from services.state.retractions import PoolRetractions

PARTITIONS = 2
NUMBER = 1
POOL, OTHER = [name for i in range(100) if partition_of(name := f"pool{i}", PARTITIONS) == NUMBER][:2]
GAMES = 300


def values() -> list[dict[str, object]]:
    """Games of two pools; retractions of both all along, some twice, some before what they name."""
    draw = random.Random(7)
    found: list[dict[str, object]] = []
    for number in range(GAMES):
        pool = POOL if number % 3 else OTHER
        sides = [{"agents": [agent], "place": place} for place, agent in enumerate(draw.sample("abcdefgh", 2), 1)]
        found.append({"v": 1, "id": f"g{number}", "pool": pool, "time": float(number), "sides": sides})
        if draw.random() < 0.15:
            found.append(retraction(draw.choice([POOL, OTHER]), f"g{draw.randrange(GAMES)}"))
    return found


def retraction(pool: str, what: str) -> dict[str, object]:
    return {"v": 1, "id": f"r-{what}", "pool": pool, "time": 0.0, "retracts": what}


VALUES = values()
END = len(VALUES)
RECORDS = TopicRecords([Record(i, json.dumps(value).encode(), 0.0) for i, value in enumerate(VALUES)])


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    log = open_sqlite_log(tmp_path / "log.sqlite", PARTITIONS)
    log.outcomes.append(NUMBER, [(None, record.value) for record in RECORDS])
    yield log
    log.close()


class Shard:
    """One partition with what goes with it, driven by hand. read: offsets that a build was given."""

    def __init__(self, log: Log, folder: Path, monkeypatch: pytest.MonkeyPatch, epoch: int = 1) -> None:
        self.log, self.control, self.read = log, ControlLog(log.control), list[int]()
        self.store = CheckpointStore(folder.as_uri())
        self.partition, manifest = recover(NUMBER, log, self.control.refresh(), self.store, [])
        self.checkpointer = Checkpointer(self.store, log.outcomes.identity, epoch, 3, manifest)
        self.builder = Builder(self.partition, log, self.control)
        self.directory = LiveDirectory(self.control, FoldSettings(), 10, lambda: 0.0, create=True)
        concerned = Build.concerned

        def noted(build: Build, records: list[Record]) -> list[Record]:
            self.read += [record.offset for record in records if record.offset >= build.position]
            return concerned(build, records)

        monkeypatch.setattr(Build, "concerned", noted)

    def fold(self, end: int) -> None:
        for at in range(self.partition.position, end, 11):
            self.partition.fold(RECORDS[at : min(end, at + 11)], self.directory)

    def look(self) -> None:
        self.builder.create_due(1.0, self.control.refresh())

    def catch_up(self, steps: int = 1000) -> None:
        for _ in range(steps):
            if not self.builder.busy:
                break
            self.builder.step(0.1)

    def end(self) -> None:
        self.checkpointer.drain(self.partition)
        self.builder.close()
        self.control.close()


def reading_twice(known: Partition, number: int = 2, pool: str = POOL) -> str:
    """Digest of the same generation by a build that was told nothing."""
    build = known.builds[pool, number]
    told_nothing = Partition(NUMBER, PARTITIONS, known.position)
    told_nothing.begin(again := Build(build.created, build.generation))
    assert again.state is None
    while again.behind(told_nothing.position):
        told_nothing.catch_up(RECORDS[again.position : min(END, again.position + 50)], again.position)
    assert again.state is not None
    return digest(again.state.arrays())


@pytest.mark.parametrize("end", [150, END])
def test_a_state_that_saw_them_spares_the_log_a_reading(log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: int) -> None:
    shard = Shard(log, tmp_path, monkeypatch)
    shard.fold(end)
    shard.look()
    shard.catch_up()
    state = shard.partition.builds[POOL, 2].state
    assert state is not None
    start = state.generation.start
    assert [offset for offset in shard.read if offset >= start].count(start) <= 2, "once for each pool"
    assert len(shard.read) <= 2 * end
    assert digest(state.arrays()) == reading_twice(shard.partition)
    assert state.retractions.count == len(state.retractions) == 0
    shard.end()


@pytest.mark.parametrize("restarted", [1, 149, 200, END])
@pytest.mark.parametrize("begun", [150, 260])
def test_a_restart_anywhere_changes_no_bit(log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begun: int, restarted: int) -> None:
    """The generation is made at `begun`; the checkpoint that is gone on from stands before, at or after that."""
    shard = Shard(log, tmp_path / "state", monkeypatch)
    shard.fold(min(begun, restarted))
    if restarted < begun:
        shard.end()  # as a crash leaves it: what follows is not in the checkpoint
        shard.control = ControlLog(log.control)
        shard.control.refresh()
        shard.builder = Builder(shard.partition, log, shard.control)
    shard.fold(begun)
    shard.look()
    if restarted >= begun:
        shard.fold(restarted)
        shard.catch_up(0 if restarted == END else 1)
        shard.end()
    again = Shard(log, tmp_path / "state", monkeypatch, epoch=2)
    assert again.partition.position == restarted
    again.look()
    again.fold(END)
    again.look()
    assert again.partition.builds[POOL, 2].state is not None, "known without a reading of the log"
    again.catch_up()
    state = again.partition.builds[POOL, 2].state
    assert state is not None
    assert state.generation.retraction_horizon == begun
    assert digest(state.arrays()) == reading_twice(again.partition)
    assert state.retractions.count == len(state.retractions) > 0
    again.end()


def test_the_next_generation_adds_what_came_since(log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shard = Shard(log, tmp_path, monkeypatch)
    shard.fold(150)
    shard.look()
    shard.fold(200)
    shard.catch_up()
    for pool in (POOL, OTHER):
        shard.partition.switch(shard.partition.builds[pool, 2])
    shard.fold(END)
    shard.look()
    shard.catch_up()
    for pool in (POOL, OTHER):
        state = shard.partition.builds[pool, 3].state
        assert state is not None
        assert digest(state.arrays()) == reading_twice(shard.partition, 3, pool)
    shard.end()


def later(state: PoolState, start: int = 0) -> Generation:
    own = state.generation
    return Generation(pool=POOL, number=2, start=own.start + start, time=0.0, retraction_horizon=END, fold=own.fold)


def test_a_checkpoint_of_another_release_leaves_it_to_the_log(log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shard = Shard(log, tmp_path, monkeypatch)
    shard.fold(END)
    state = shard.partition.pools[POOL]
    arrays = unpack(b"".join(pack({**state.arrays(), **state.retractions.arrays()}, {})))[0]
    made = later(state)
    restored = PoolState.restore(state.created, state.generation, arrays, END)
    told, known = state.retracted_for(made), restored.retracted_for(made)
    assert told is not None
    assert known is not None
    assert (known.ids.tolist(), known.events) == (told.ids.tolist(), told.events)
    assert PoolState.restore(state.created, state.generation, state.arrays(), END).retracted_for(made) is None
    with pytest.raises(InputError):
        PoolRetractions.from_arrays(state.content, {**arrays, "pending.id": arrays["pending.id"][1:]})
    shard.end()


def test_where_a_state_cannot_tell_it_says_so(log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shard = Shard(log, tmp_path, monkeypatch)
    shard.fold(END)
    state = shard.partition.pools[POOL]
    made = later(state)
    assert state.retracted_for(made) is not None
    assert state.retracted_for(later(state, start=1)) is None
    assert digest(state.arrays()) == digest(PoolState.restore(state.created, state.generation, state.arrays(), END).arrays())
    state.stop("broken", END)
    assert state.retracted_for(made) is None
    shard.end()
