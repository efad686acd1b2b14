"""What the log has to give: folded in plain Python, one outcome after the other, with none of the code under test."""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from tests.chaos.fold import Ratings, Tallies, units
from tests.chaos.traffic import SLICES

ACTIVITY = "outcomes"
"""Name of the live board that counts each agent's outcomes."""
Record = tuple[int, int, bytes]
"""Partition, offset, value."""
Letter = tuple[int, int, int]
"""Partition, offset, item."""


def mark(value: bytes) -> bytes:
    """Sixteen bytes that stand for a record's value."""
    return hashlib.blake2b(value, digest_size=16).digest()


@dataclass
class Pool:
    """One pool: its ratings and tallies, and how many outcomes were dropped.

    retracted: ids of outcomes that do not count, wherever they stand in the log. most_slices: how many maps have slices. slices: ratings
    by map.
    """

    retracted: frozenset[str] = frozenset()
    outcomes: int = 0
    duplicates: int = 0
    conflicts: int = 0
    ratings: Ratings = field(default_factory=Ratings)
    tallies: Tallies = field(default_factory=Tallies)
    most_slices: int = SLICES["slice_values"]
    slices: dict[str, Ratings] = field(default_factory=dict)
    bodies: dict[str, Any] = field(default_factory=dict)

    def take(self, outcome: Mapping[str, Any]) -> None:
        """Count one outcome, unless it is retracted or its id was seen before."""
        if outcome["id"] in self.retracted or "retracts" in outcome:
            return
        body = outcome.get("task"), outcome.get("sides"), outcome.get("scores"), units(outcome), outcome.get("tags")
        if (first := self.bodies.setdefault(outcome["id"], body)) is not body:
            self.duplicates += first == body
            self.conflicts += first != body
            return
        self.outcomes += 1
        if sides := outcome.get("sides"):
            self.ratings.play(sides, units(outcome))
            self._play_on_map(outcome)
            self.tallies.play(sides, units(outcome))
        else:
            self.ratings.activity.update(outcome["scores"].keys())
            self.tallies.measure(outcome["task"], outcome["scores"], units(outcome))

    def _play_on_map(self, outcome: Mapping[str, Any]) -> None:
        """Count a game in the slice of its map. The first maps of the log have slices."""
        value = outcome.get("tags", {}).get("map")
        if value is None or (value not in self.slices and len(self.slices) >= self.most_slices):
            return
        slice_ratings = self.slices.setdefault(value, Ratings(k=self.ratings.k))
        slice_ratings.play(outcome["sides"], units(outcome))

    def boards(self) -> dict[str, dict[str, float]]:
        """What the live boards have to show, by name: those of the pool, and those of its slices."""
        boards = _boards(self.ratings)
        for value, ratings in self.slices.items():
            end = f"~map~{hashlib.blake2b(value.encode(), digest_size=8).hexdigest()}"
            boards |= {f"{method}{end}": rows for method, rows in _boards(ratings).items()}
        return boards


def _boards(ratings: Ratings) -> dict[str, dict[str, float]]:
    counted: dict[str, dict[str, float]] = {ACTIVITY: dict(ratings.activity)}
    return counted | ({"elo": dict(ratings.elo), "sco": dict(ratings.sco)} if ratings.elo else {})


@dataclass
class Expected:
    """What `records` must give. letters: reason by place; seen: marks of all values that the log holds."""

    pools: defaultdict[str, Pool] = field(default_factory=lambda: defaultdict(Pool))
    letters: dict[Letter, str] = field(default_factory=dict)
    seen: set[bytes] = field(default_factory=set)


def expected(
    records: Iterable[Record],
    refused: Mapping[bytes, Mapping[int, str]],
    k: Mapping[str, float],
    skipped: Collection[tuple[int, int]] = (),
) -> Expected:
    """Fold the log.

    Args:
        records: Those of each partition in order.
        refused: Mark of a record's value -> item (-1 for the record) -> reason of its dead letter.
        k: Elo's K of pools whose settings were changed. Their newest generation folds everything by it.
        skipped: Partition and offset of records that an operator skipped.

    """
    wanted = Expected()
    sound = list(_sound(records, refused, skipped, wanted))
    for pool, retracted in _retracted(sound).items():
        wanted.pools[pool].retracted = frozenset(retracted)
    for pool, value in k.items():
        wanted.pools[pool].ratings.k = value
    for outcome in sound:
        wanted.pools[outcome["pool"]].take(outcome)
    return wanted


def _sound(
    records: Iterable[Record], refused: Mapping[bytes, Mapping[int, str]], skipped: Collection[tuple[int, int]], wanted: Expected
) -> Iterator[dict[str, Any]]:
    """Outcomes and retractions in order; refused ones are noted."""
    for partition, offset, value in records:
        name = mark(value)
        wanted.seen.add(name)
        if (partition, offset) in skipped:
            continue
        reasons = refused.get(name, {})
        wanted.letters |= {(partition, offset, item): reason for item, reason in reasons.items()}
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
