"""The fold of streams is the fold of the same outcomes as JSON: states, counters and dead letters."""

import random
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest

from ratings_core.arrays.digest import digest
from ratings_core.columns.outcomes import Games
from services.archive import records as archived
from services.archive.encode import rows
from services.archive.records import parts
from services.control.directory import FixedDirectory
from services.control.records import FoldSettings, PoolCreated
from services.log.partition import partition_of
from services.log.protocol import Record
from services.log.records import TopicRecords
from services.shard.batch import Batch
from services.shard.generations.build import retracted_below
from services.shard.partition import Partition
from services.wire.columns import columns_of
from services.wire.events import ArchivedText, Event, GameEvent, RetractEvent, ScoreEvent, Side
from services.wire.pools import Kind
from tests.support.pools import control_of
from tests.support.streams import row, stream, table

PARTITIONS = 4
GAMES, LIMITED, SCORES = [name for name in (f"pool{i}" for i in range(99)) if partition_of(name, PARTITIONS) == 1][:3]
BROKEN = (
    {"pool": GAMES},
    {"id": "x", "pool": GAMES, "time": 1e300, "retracts": "g1"},
    {"id": 'a"\\', "pool": "Blitz", "time": 1.0, "retracts": "g"},
)


def known() -> FixedDirectory:
    limited = FoldSettings(bucket_seconds=1000, buckets_kept=3, max_agents=20, per_task=True, max_tasks=2)
    pools = (
        PoolCreated(pool=GAMES, kind=Kind.GAMES, time=0.0, fold=FoldSettings(dedupe_window=64, clustered=True)),
        PoolCreated(pool=LIMITED, kind=Kind.GAMES, time=0.0, fold=limited),
        PoolCreated(pool=SCORES, kind=Kind.SCORES, time=0.0, fold=FoldSettings(max_tasks=3)),
    )
    return FixedDirectory(control_of(*pools))


def game(draw: random.Random, pool: str, number: int) -> GameEvent:
    agents = draw.sample([f"agent {i}" for i in range(24)], draw.choice([2, 2, 2, 5]))
    sides = [Side([agent], draw.choice([1, 2])) for agent in agents[:-1]]
    sides[-1] = Side([*sides[-1].agents, agents[-1]], 1) if len(agents) > 2 else sides[-1]
    sides += [Side([agents[-1]], 2)] if len(agents) == 2 else []
    given: dict[str, Any] = draw.choice([{}, {"weight": 0.5}])  # a default that is given would be written
    task = draw.choice([None, "t1", "t2", "t3"])
    return GameEvent(v=1, id=f"g{number}", pool=pool, time=draw.uniform(0, 9e3), sides=sides, task=task, **given)


def groups(seed: int, count: int) -> list[list[Event | dict[str, Any]]]:
    """What records hold: outcomes of one pool, with repeats, conflicts, retractions, broken rows and outcomes of other pools."""
    draw = random.Random(seed)
    made: list[list[Event | dict[str, Any]]] = []
    for number in range(count):
        pool = draw.choice([GAMES, GAMES, LIMITED])
        group: list[Event | dict[str, Any]] = [game(draw, pool, draw.randrange(40 * (number + 1))) for _ in range(draw.randrange(1, 30))]
        match draw.randrange(8):
            case 0:
                scores = {f"a{draw.randrange(9)}": draw.random(), "b": 0.5}
                group = [ScoreEvent(v=1, id=f"s{number}", pool=SCORES, time=0.0, task=f"t{number % 8}", scores=scores)]
            case 1:
                group.append(RetractEvent(v=1, id=f"r{number}", pool=pool, time=5.0, retracts=f"g{number}"))
            case 2:
                group.insert(draw.randrange(len(group)), dict(draw.choice(BROKEN)))
            case 3:
                group.append(game(draw, "pool-of-nobody", number))
        made.append(group)
    return made


def as_json(group: Sequence[Event | dict[str, Any]]) -> bytes:
    return msgspec.json.encode([{"v": 1} | item if isinstance(item, dict) else item for item in group])


def as_stream(group: Sequence[Event | dict[str, Any]]) -> bytes:
    return stream(table([item if isinstance(item, dict) else row(item) for item in group]))


def logged(values: Sequence[bytes]) -> TopicRecords:
    return TopicRecords([Record(2 * i, value, 1e3 + i) for i, value in enumerate(values)])


def folded(values: Sequence[bytes], cut: int) -> tuple[Partition, list[Any]]:
    sent = logged(values)
    return folded_in([sent[start : start + cut] for start in range(0, len(sent), cut)])


def folded_in(sent: Sequence[Sequence[Record]]) -> tuple[Partition, list[Any]]:
    partition, directory, letters = Partition(1, PARTITIONS), known(), []
    for part in sent:
        letters += partition.fold(part, directory)
    return partition, sorted(letters, key=lambda letter: (letter.offset, letter.item, letter.reason))


@pytest.mark.parametrize(("seed", "cut"), [(1, 1), (2, 7), (3, 1000), (4, 40)])
def test_streams_and_json_give_one_state_and_the_same_dead_letters(seed: int, cut: int) -> None:
    made = groups(seed, 80)
    choose = random.Random(seed)
    json_, letters = folded([as_json(group) for group in made], cut)
    for packs in (lambda: True, lambda: choose.random() < 0.5):
        streams, others = folded([as_stream(group) if packs() else as_json(group) for group in made], cut)
        assert {name: digest(state.arrays()) for name, state in streams.pools.items()} == {
            name: digest(state.arrays()) for name, state in json_.pools.items()
        }
        assert others == letters
        assert (streams.outcomes, streams.counters) == (json_.outcomes, json_.counters)
    assert {letter.reason for letter in letters} >= {"bad_field", "mixed_pools", "too_many_agents", "too_many_tasks"}
    assert json_.counters.outcomes["conflicts"]


def test_sound_games_of_both_forms_are_folded_as_columns() -> None:
    draw = random.Random(2)
    made = [[game(draw, GAMES, 10 * i + k) for k in range(10)] for i in range(9)]
    values = [as_stream(group) if i % 2 else as_json(group) for i, group in enumerate(made)]
    shares = Batch(1, logged(values)).shares
    assert {pool: (type(share.outcomes), len(share)) for pool, (share,) in shares.items()} == {GAMES: (Games, 90)}
    assert shares[GAMES][0].offset[::10].tolist() == list(range(0, 18, 2))


def test_retractions_in_streams_are_found() -> None:
    made = [[RetractEvent(v=1, id="r", pool=GAMES, time=0.0, retracts="g1")], [game(random.Random(1), GAMES, 1)]]
    (ids,) = retracted_below(9, GAMES, logged([as_stream(group) for group in made]))
    np.testing.assert_array_equal(ids, columns_of([made[0][0]]).id_hash)


def test_rows_of_the_archive_are_those_of_the_same_outcomes_in_json() -> None:
    made = groups(6, 60)
    json_, streams = (rows(logged([form(group) for group in made])) for form in (as_json, as_stream))
    assert streams.equals(json_)


@pytest.mark.parametrize(("seed", "most"), [(1, 10_000), (2, 1), (3, 50), (4, 333)])
def test_columns_of_the_archive_give_the_same_state_and_dead_letters(seed: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archived, "_ROWS", most)
    values = [as_json(group) for group in groups(seed, 80)]
    topic = logged(values)
    theirs, others = folded(values, 40)
    for cut in random.Random(seed).sample(range(80), 5):
        past = list(parts(_Archive(rows(topic[:cut])), 0)) if cut else []  # type: ignore[arg-type]
        ours, letters = folded_in([*past, topic[cut:]])
        assert {name: digest(state.arrays()) for name, state in ours.pools.items()} == {
            name: digest(state.arrays()) for name, state in theirs.pools.items()
        }
        assert without_text(letters) == without_text(others)
        assert (ours.outcomes, ours.counters, ours.last) == (theirs.outcomes, theirs.counters, theirs.last)


def without_text(letters: Sequence[Any]) -> list[Any]:
    """An archived outcome is encoded again, with the weight that it had by default."""
    return [msgspec.structs.replace(letter, excerpt="") for letter in letters]


def test_a_fold_of_columns_encodes_nothing_and_knows_no_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint that named the hash of bytes encoded again would not fit the log."""
    draw = random.Random(5)
    retraction = RetractEvent(v=1, id="r", pool=GAMES, time=0.0, retracts="g1")
    table_ = rows(logged([as_json([game(draw, GAMES, i), retraction]) for i in range(50)]))
    monkeypatch.setattr(archived, "_record", None)
    partition, letters = folded_in(list(parts(_Archive(table_), 0)))  # type: ignore[arg-type]
    assert (letters, partition.position, partition.outcomes, partition.last) == ([], 99, 100, None)


def test_a_stream_comes_back_from_the_archive_however_long_its_json_is() -> None:
    draw = random.Random(3)
    group: list[Event | dict[str, Any]] = [game(draw, GAMES, i) for i in range(7_500)]
    group[7] = dict(BROKEN[0])
    sent = [as_json(group[:50]), as_stream(group), as_json(group[:3])]
    table_ = rows(logged(sent))
    back = [record for part in parts(_Archive(table_), 0) for record in part]  # type: ignore[arg-type]
    assert [type(record.value) for record in back] == [bytes, ArchivedText, bytes]
    ours, letters = folded([record.value for record in back], 2)
    theirs, others = folded(sent, 3)
    assert digest(ours.pools[GAMES].arrays()) == digest(theirs.pools[GAMES].arrays())
    assert letters == others
    assert len(letters) == 2


class _Archive:
    """Rows in memory, as a reader of the archive gives them."""

    def __init__(self, table_: Any) -> None:
        self._table = table_

    def read(self, begin: int, **_: Any) -> Any:
        assert begin == 0
        return iter([self._table])
