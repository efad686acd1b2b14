"""What the log must have become: read in plain Python, one outcome after the other, with none of the code under test."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

Record = tuple[int, int, bytes]
"""Partition, offset, value."""
Letter = tuple[int, int, int]
"""Partition, offset, item."""


def mark(value: bytes) -> bytes:
    """Sixteen bytes that stand for a record's value."""
    return hashlib.blake2b(value, digest_size=16).digest()


@dataclass
class Pool:
    """One pool: how often each agent counted, Elo as the textbook has it, and what was dropped.

    k: of Elo; retracted: ids of outcomes that do not count, wherever they stand.
    """

    k: float = 32.0
    retracted: frozenset[str] = frozenset()
    outcomes: int = 0
    duplicates: int = 0
    conflicts: int = 0
    activity: Counter[str] = field(default_factory=Counter)
    elo: defaultdict[str, float] = field(default_factory=lambda: defaultdict(lambda: 1500.0))
    bodies: dict[str, Any] = field(default_factory=dict)

    def take(self, outcome: Mapping[str, Any]) -> None:
        if outcome["id"] in self.retracted or "retracts" in outcome:
            return
        body = outcome.get("sides") or (outcome["task"], outcome["scores"])
        if (standing := self.bodies.setdefault(outcome["id"], body)) is not body:
            self.duplicates += standing == body
            self.conflicts += standing != body
            return
        self.outcomes += 1
        if sides := outcome.get("sides"):
            self._play(sides)
        else:
            self.activity.update(outcome["scores"].keys())

    def _play(self, sides: list[dict[str, Any]]) -> None:
        (a,), (b,) = (side["agents"] for side in sides)
        self.activity.update((a, b))
        score = {-1: 1.0, 0: 0.5, 1: 0.0}[(sides[0]["place"] > sides[1]["place"]) - (sides[0]["place"] < sides[1]["place"])]
        gain = self.k * (score - 1 / (1 + 10 ** ((self.elo[b] - self.elo[a]) / 400)))
        self.elo[a] += gain
        self.elo[b] -= gain


@dataclass
class Expected:
    """What `records` must give. letters: reason by place; seen: marks of all values that the log holds."""

    pools: defaultdict[str, Pool] = field(default_factory=lambda: defaultdict(Pool))
    letters: dict[Letter, str] = field(default_factory=dict)
    seen: set[bytes] = field(default_factory=set)


def expected(records: Iterable[Record], refused: Mapping[bytes, Mapping[int, str]], k: Mapping[str, float]) -> Expected:
    """records: of each partition in order; refused: by the mark of a value, item (-1 for the record) -> reason; k: of Elo, by pool, where
    it was changed: all counts as if it had always been that.
    """
    found = Expected()
    sound = list(_sound(records, refused, found))
    for pool, retracted in _retracted(sound).items():
        found.pools[pool].retracted = frozenset(retracted)
    for pool, value in k.items():
        found.pools[pool].k = value
    for outcome in sound:
        found.pools[outcome["pool"]].take(outcome)
    return found


def _sound(records: Iterable[Record], refused: Mapping[bytes, Mapping[int, str]], found: Expected) -> Iterator[dict[str, Any]]:
    """Outcomes and retractions in order; the rest is noted."""
    for partition, offset, value in records:
        name = mark(value)
        found.seen.add(name)
        reasons = refused.get(name, {})
        found.letters |= {(partition, offset, item): reason for item, reason in reasons.items()}
        if -1 in reasons:
            continue
        outcomes = msgspec.json.decode(value)
        items = enumerate(outcomes if isinstance(outcomes, list) else [outcomes])
        yield from (outcome for item, outcome in items if item not in reasons)


def _retracted(sound: Iterable[Mapping[str, Any]]) -> dict[str, set[str]]:
    found = defaultdict(set)
    for outcome in sound:
        if "retracts" in outcome:
            found[outcome["pool"]].add(outcome["retracts"])
    return found
