"""Bytes of a poll become parts of columns: of one pool and one kind each, in the order of the log."""

import numpy as np

from ratings_core.columns.outcomes import Games, TaskScores
from services.wire.columns import Retractions, by_kind
from services.wire.events import GameEvent, RetractEvent, ScoreEvent, Side, encode
from services.wire.reading import read


def game(number: int, pool: str = "p") -> GameEvent:
    return GameEvent(v=1, id=f"g{number}", pool=pool, time=float(number), sides=[Side(["a"], 1), Side(["b"], 2)])


def retraction(number: int) -> RetractEvent:
    return RetractEvent(v=1, id=f"r{number}", pool="p", time=float(number), retracts=f"g{number}")


def scores(number: int) -> ScoreEvent:
    return ScoreEvent(v=1, id=f"s{number}", pool="p", time=float(number), task="t", scores={"a": 1.0})


def test_a_pool_has_a_part_of_each_kind() -> None:
    values = [encode([game(1), game(2)]), encode([retraction(1)]), encode([retraction(2), game(3)]), encode([scores(4)]), b"{}"]
    parts, refusals = read(values)
    assert [type(part.outcomes) for part in parts] == [Games, Retractions, TaskScores]
    assert [part.record.tolist() for part in parts] == [[0, 0, 2], [1, 2], [3]]
    assert [part.item.tolist() for part in parts] == [[0, 1, 1], [0, 0], [0]]
    assert [(refusal.record, refusal.item) for refusal in refusals] == [(4, 0)]
    np.testing.assert_array_equal(parts[1].outcomes.time, [1.0, 2.0])


def test_pools_have_parts_of_their_own_whatever_reads_them() -> None:
    plain = [encode([game(i, f"p{i % 2}")]) for i in range(6)]
    slow = [value.replace(b'"v":1', b'"v":1,"meta":{}') for value in plain]
    for values in (plain, slow):
        parts, refusals = read(values)
        assert not refusals
        assert {part.pool: part.record.tolist() for part in parts} == {"p0": [0, 2, 4], "p1": [1, 3, 5]}


def test_events_are_parted_by_kind_with_their_indices() -> None:
    parts = list(by_kind([game(1), retraction(1), retraction(2), game(2)]))
    assert [(at.tolist(), type(part)) for at, part in parts] == [([0, 3], Games), ([1, 2], Retractions)]
    assert len(parts[1][1].take(np.array([True, False]))) == 1


def test_many_changes_of_kind_are_few_parts() -> None:
    """Else a record of alternating kinds would be folded one by one."""
    parts, _ = read([encode([one for i in range(200) for one in (game(i), retraction(i))])])
    assert len(parts) == 2
