"""Streams of any Arrow types and values that a sender may choose: each is taken or refused, never raises, and both readings agree."""

import random
import struct
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import pyarrow as pa

from services.wire import events
from services.wire.plain import plain_games
from tests.support.plain import assert_the_decoder_agrees
from tests.support.streams import stream

STREAMS: Final = 700
ODD: Final = [None, "", "a", "p", "game", "scores", "é", "e\u0301", " x", "x" * 257, "\x00", "\u202e", "retraction", "P"]
FEW: Final = ["a", "b", "c", "p", "game"]
SIGNED: Final = [pa.int8(), pa.int16(), pa.int32(), pa.int64()]
NARROW: Final = [*SIGNED, pa.uint8(), pa.uint16(), pa.uint32()]
Make: TypeAlias = Callable[[int], pa.Array]


class Sender:
    """Columns of `rows` rows, sound for the most part."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.rows = rng, rng.randint(1, 4)

    def columns(self) -> dict[str, pa.Array]:
        """A table's columns by name."""
        sound = {
            "id": pa.array([f"id-{i}" for i in range(self.rows)]),
            "pool": pa.array(["p"] * self.rows),
            "time": pa.array([1.0] * self.rows),
            "kind": pa.array(["game"] * self.rows).dictionary_encode(),
            "agents": self._list(lambda n: pa.array(["ab"[i % 2] for i in range(n)]).dictionary_encode(), [2] * self.rows),
            "sides": self._list(lambda n: pa.array([i % 2 for i in range(n)], pa.int8()), [2] * self.rows),
            "places": self._list(self._whole, [2] * self.rows),
        }
        odd = {
            **dict.fromkeys(("id", "pool", "kind", "task", "retracts"), self._texts),
            **dict.fromkeys(("time", "weight"), self._numbers),
            **{name: lambda n, make=make: self._list(make, self._sizes(n)) for name, make in self._lists().items()},
        }
        chosen = self.rng.sample(list(odd), self.rng.randint(0, 3))
        made = sound | {name: odd[name](self.rows) for name in chosen}
        return {name: pa.nulls(self.rows) if self._seldom() else column for name, column in made.items() if not self._seldom()}

    def _lists(self) -> dict[str, Make]:
        return {"agents": self._texts, "sides": self._whole, "places": self._whole, "scores": self._numbers}

    def _seldom(self) -> bool:
        return self.rng.random() < 0.03

    def _sizes(self, n: int) -> list[int]:
        return [self.rng.randint(0, 3) for _ in range(n)] if self.rng.random() < 0.3 else [2] * n

    def _list(self, make: Make, sizes: Sequence[int]) -> pa.Array:
        starts = [sum(sizes[:i]) for i in range(len(sizes) + 1)]
        wide = self.rng.random() < 0.3
        kind = pa.LargeListArray if wide else pa.ListArray
        return kind.from_arrays(pa.array(starts, pa.int64() if wide else pa.int32()), make(starts[-1]))

    def _texts(self, n: int) -> pa.Array:
        kind, given = self.rng.choice([pa.string(), pa.large_string()]), self.rng.choice([ODD, FEW])
        if self.rng.random() < 0.4:
            return pa.array([self.rng.choice(given) for _ in range(n)], kind)
        held = pa.array([self.rng.choice(given) for _ in range(self.rng.randint(1, 4))], kind)
        numbers: list[int | None] = [self.rng.randrange(len(held)) for _ in range(n)]
        if self._seldom():
            numbers = [None, *numbers[1:]]
        return pa.DictionaryArray.from_arrays(pa.array(numbers[:n], self.rng.choice(NARROW)), held)

    def _whole(self, n: int) -> pa.Array:
        return pa.array([None if self._seldom() else self.rng.randint(0, 2) for _ in range(n)], self.rng.choice(NARROW))

    def _numbers(self, n: int) -> pa.Array:
        kind = self.rng.choice([*NARROW, pa.float32(), pa.float64()])
        values: list[Any] = [1, None] if kind in NARROW else [2.5, float("nan"), 1e30]
        return pa.array([self.rng.choice(values) for _ in range(n)], kind)


def test_any_stream_is_taken_or_refused_and_the_two_readings_agree() -> None:
    rng, columns, decoded = random.Random(7), 0, 0
    for _ in range(STREAMS):
        value = stream(pa.table(Sender(rng).columns()), rng.choice([None, 1, 2]))
        read = plain_games([value])
        assert_the_decoder_agrees([value], read)
        columns += not read.rest
        decoded += bool(events.decode([value]).events)
    assert columns > STREAMS // 20
    assert decoded > columns


def test_a_buffer_of_offsets_may_end_in_the_middle_of_a_number() -> None:
    sound = stream(pa.table({"id": ["g"], "agents": [["a", "b"]]}))
    whole, odd = (struct.pack("<4q", 0, 0, 0, size) for size in (8, 9))  # no validity, then the offsets of one text
    assert sound.count(whole) == 1
    first, second = (events.decode([value]).refusals for value in (sound, sound.replace(whole, odd)))
    assert [refusal.path for refusal in first] == ["$[0]"]
    assert second == first
