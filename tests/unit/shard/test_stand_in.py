"""A state of another generation that stands in for what the log forgot: going on from it is the fold of the whole log, digest and all."""

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from ratings_core.arrays.digest import digest
from services.checkpoints.checkpoint import CheckpointStore
from services.control.directory import FixedDirectory
from services.control.log import ControlLog
from services.control.records import ControlState, FoldSettings, Generation, PoolCreated
from services.log.protocol import Record, Topic
from services.log.sqlite.log import open_sqlite_log
from services.shard.checkpointing.checkpointer import Checkpointer
from services.shard.generations.build import Build, retracted_below
from services.shard.generations.builder import open_builder
from services.shard.generations.stand_in import StandIn, StandIns
from services.shard.partition import Partition
from services.state.dedupe import DedupeWindow
from services.state.edits import NONE, Retracted
from services.state.pool import PoolState
from services.wire.events import RetractEvent
from services.wire.pools import Kind

NAMES = {"games": Kind.GAMES, "scores": Kind.SCORES}
LENGTH = 400
EARLY = ("o20", "o60")
"""Retracted before every state that stands in, and left out of it by the generation that folded it."""
LATE = ("o250", "o251", "o390", "never")
EDITS = {"aliases": {"b": "a"}, "bans": ("c",)}


def outcome(pool: str, number: int, draw: random.Random) -> dict[str, object]:
    agents = draw.sample("abcdefgh", 3)
    told = {"v": 1, "id": f"o{number}", "pool": pool, "time": float(number)}
    if NAMES[pool] is Kind.SCORES:
        return {**told, "task": f"t{number % 5}", "scores": {agent: draw.random() for agent in agents}}
    return {**told, "sides": [{"agents": [agent], "place": draw.choice([1, 2])} for agent in agents[:2]]}


def retraction(pool: str, what: str) -> dict[str, object]:
    return {"v": 1, "id": f"r-{what}", "pool": pool, "time": 0.0, "retracts": what}


def stream() -> list[Record]:
    """Outcomes of two pools, repeats among them; retractions, one of them before its outcome."""
    draw, values = random.Random(5), list[object]()
    for number in range(LENGTH):
        pair = [outcome(pool, number, draw) for pool in NAMES]
        values += pair if draw.random() < 0.9 else [*pair, *pair]
        if number == 100:
            values += [retraction(pool, what) for what in (*EARLY, "o390") for pool in NAMES]
    values += [retraction(pool, what) for pool in NAMES for what in LATE if what != "o390"]
    return [Record(i, json.dumps(value).encode(), 0.0) for i, value in enumerate(values)]


RECORDS = stream()
END = len(RECORDS)
ANCHORS = [next(i for i, record in enumerate(RECORDS) if f'"o{number}"'.encode() in record.value) for number in (110, 180, 240)]


def made(pool: str, number: int, horizon: int, edits: Mapping[str, object]) -> Generation:
    asked = {"pool": pool, "number": number, "start": 0, "time": 0.0, "fold": FoldSettings(), "retraction_horizon": horizon, **edits}
    return Generation(**asked)  # type: ignore[arg-type]


def retracted(pool: str, horizon: int) -> Retracted:
    return Retracted.of(retracted_below(horizon, pool, RECORDS))


def state_at(position: int, generation: Generation) -> PoolState:
    """Of a pool by a generation when the log was read up to `position`."""
    created = PoolCreated(pool=generation.pool, kind=NAMES[generation.pool], time=0.0)
    partition = Partition(0, 1)
    partition.pools[generation.pool] = PoolState(created, generation, retracted(generation.pool, generation.retraction_horizon))
    partition.fold(RECORDS[:position], FixedDirectory(ControlState()))
    return partition.pools[generation.pool]


def anchored(position: int, generation: Generation) -> PoolState:
    """The same as a checkpoint gives it back."""
    state = state_at(position, generation)
    return PoolState.restore(state.created, generation, {**state.arrays(), **state.retractions.pending.arrays()}, position)


def caught_up(build: Build, records: Sequence[Record], cut: int) -> PoolState:
    partition = Partition(0, 1, END)
    partition.begin(build)
    while build.behind(END):
        assert build.failed is None
        start = build.position
        partition.catch_up([record for record in records if record.offset >= start][:cut], start)
    assert build.state is not None
    return build.state


@pytest.mark.parametrize("pool", NAMES)
@pytest.mark.parametrize("position", ANCHORS)
@pytest.mark.parametrize("edits", [{}, EDITS], ids=["plain", "edited"])
@pytest.mark.parametrize("known", [True, False], ids=["known", "looked for"])
def test_going_on_from_it_is_the_fold_of_the_whole_log(pool: str, position: int, edits: Mapping[str, object], known: bool) -> None:
    early = next(i for i, record in enumerate(RECORDS) if b"retracts" in record.value) + 4  # heeds those of EARLY
    base, target = anchored(position, made(pool, 2, early, edits)), made(pool, 3, END, edits)
    assert base.retractions.folded(retracted(pool, END)) == 0
    stand_in = StandIn(position, base, base.retracted_for(target) or NONE)
    build = Build(base.created, target, retracted(pool, END) if known else None, stand_in)
    state = caught_up(build, RECORDS[position:], 37)
    expected = state_at(END, target)
    assert digest(state.arrays()) == digest(expected.arrays())
    assert state.retractions.count == expected.retractions.count == 0
    assert len(state.retractions.pending) == 0


def test_what_it_has_folded_already_ends_the_build_in_words() -> None:
    position, target = ANCHORS[-1], made("games", 2, END, {})
    base = anchored(position, made("games", 1, 0, {}))
    assert base.retractions.folded(retracted("games", END)) == 2
    build = Build(base.created, target, None, StandIn(position, base, base.retracted_for(target) or NONE))
    partition = Partition(0, 1, END)
    partition.begin(build)
    partition.catch_up(RECORDS[position:], position)
    assert build.failed is not None
    assert f"2 of the outcomes that are retracted were folded before {position}" in build.failed


def test_the_window_tells_exactly_what_it_remembers() -> None:
    ids = Retracted.of([RetractEvent(v=1, id="r", pool="p", time=0.0, retracts=str(i)) for i in range(50)]).ids
    window = DedupeWindow(20)
    window.admit(ids[:40], ids[:40, 0])
    assert window.holds(ids).tolist() == [20 <= i < 40 for i in range(50)]
    assert window.holds(ids[:0]).tolist() == []
    near = ids[30:31].copy()
    near[0, 1] ^= 1
    assert window.holds(near).tolist() == [False], "both halves count"


@pytest.fixture
def topic(tmp_path: Path) -> Topic:
    log = open_sqlite_log(tmp_path / "log.sqlite", 1)
    log.outcomes.append(0, [(None, record.value) for record in RECORDS])
    return log.outcomes


def checkpointed(folder: Path, topic: Topic, *held: tuple[int, Generation], identity: str | None = None) -> CheckpointStore:
    """Checkpoints of a partition that holds the pool by a generation at each of some positions."""
    store = CheckpointStore(folder.as_uri())
    for epoch, (position, generation) in enumerate(held):
        partition = Partition(0, 1, position)
        partition.pools[generation.pool] = state_at(position, generation)
        Checkpointer(store, identity or topic.identity, epoch, len(held), None).drain(0.0, partition)
    return store


def test_the_oldest_of_use_is_found_and_none_that_is_not(tmp_path: Path, topic: Topic, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two, three = (made("games", number, horizon, {}) for number, horizon in ((1, 0), (2, 300), (3, END)))
    created = PoolCreated(pool="games", kind=Kind.GAMES, time=0.0)
    at = (10, 60, 240, 320, 360)
    store = checkpointed(tmp_path / "a", topic, *((p, one) for p in at[:3]), (at[3], two), (at[4], made("games", 4, 0, EDITS)))
    monkeypatch.setattr(topic, "begin", lambda _: 30)
    found = StandIns(store, topic, 0).find(created, three, {1: one, 2: two}, NONE)
    assert isinstance(found, StandIn)
    assert (found.position, found.state.generation.number) == (60, 1), "the oldest that the log goes on from"
    found = StandIns(store, topic, 0).find(created, three, {1: one, 2: two}, retracted("games", 300))
    assert isinstance(found, StandIn)
    assert (found.position, found.state.generation.number) == (320, 2), "the one that has not folded what is retracted"
    found = StandIns(store, topic, 0).find(created, three, {1: one}, retracted("games", 300))
    assert isinstance(found, str)
    assert "begins at 30, after 0, and 1 of the outcomes that are retracted were folded before 60" in found
    found = StandIns(store, topic, 0).find(created, three, {}, NONE)
    assert isinstance(found, str)
    assert "no checkpoint from there on holds the pool by the same settings" in found
    other = checkpointed(tmp_path / "b", topic, (60, one), identity="another")
    assert isinstance(StandIns(other, topic, 0).find(created, three, {1: one}, NONE), str), "of another log"


def test_what_was_not_asked_of_a_stand_in_is_looked_for(tmp_path: Path, topic: Topic, monkeypatch: pytest.MonkeyPatch) -> None:
    """The state that serves when one is found may know more retractions than the one that served when it was looked for."""
    one, target = made("games", 1, 0, {}), made("games", 2, END, {})
    known, control = ControlState(), ControlLog(topic)
    for record in (PoolCreated(pool="games", kind=Kind.GAMES, time=0.0), one, target):
        known.apply(known.position, record)
    monkeypatch.setattr(topic, "begin", lambda _: 30)
    partition = Partition(0, 1, END)
    checkpoints = checkpointed(tmp_path, topic, (ANCHORS[-1], one))
    builder = open_builder(partition, topic, control, clock=lambda: 0.0, checkpoints=checkpoints)
    partition.pools["games"] = stopped = state_at(END, one)
    stopped.stop("cannot tell", END)
    builder.look(0.0, known)
    _, asked = builder._starts._searches["games", 2]
    asked.result(60.0)
    partition.pools["games"] = state_at(END, one)
    builder.look(1.0, known)
    while partition.builds["games", 2].behind(END):
        builder.step(0.0)
    assert "2 of the outcomes that are retracted were folded" in (partition.builds["games", 2].failed or "")
    builder.close()
