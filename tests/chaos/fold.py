"""What outcomes add to ratings and tallies, in plain Python: one outcome at a time, from docs/reference/methods.md and the wire schema.

Ratings are exact: the operations of law 1 in their documented order. Tallies are whole numbers, units of 2**-20.
"""

import hashlib
import struct
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Final

from tests.chaos.arithmetic import exp, log, sigmoid

ONE: Final = 1 << 20
"""Weight 1 in units."""
ELO_START: Final = 1500.0
SCO_START: Final = 50.0
_ELO_SLOPE: Final = log(10.0) / 400.0
_SCO_ALPHA: Final = 0.5

Pairs = dict[tuple[str, str], tuple[int, int, int]]
"""Two agents in order of their names -> units of wins of the first, wins of the second, ties."""
Places = dict[tuple[str, int, int, int], int]
"""Agent, sides of the game, sides placed better, sides placed equal (itself among them) -> units."""
Rows = dict[tuple[str, str], tuple[int, float, float]]
"""Agent, task -> units, weighted sum of its scores, weighted sum of their squares; both sums in units."""


def units(outcome: Mapping[str, Any]) -> int:
    """An outcome's weight in units of 2**-20."""
    return round(outcome.get("weight", 1.0) * ONE)


@dataclass
class Tallies:
    """What solves and records read of a pool. teams: places of members of teams. rows: of a pool of scores."""

    pairs: Pairs = field(default_factory=dict)
    places: Places = field(default_factory=dict)
    teams: Places = field(default_factory=dict)
    rows: Rows = field(default_factory=dict)

    def play(self, sides: Sequence[Mapping[str, Any]], weight: int) -> None:
        """Count a game. Teams are in no pair, but stand before, behind or level with others in their places."""
        places = [side["place"] for side in sides]
        single = [(side["agents"][0], side["place"]) for side in sides if len(side["agents"]) == 1]
        for side in sides:
            tally, place = self.places if len(side["agents"]) == 1 else self.teams, side["place"]
            for agent in side["agents"]:
                key = agent, len(sides), sum(other < place for other in places), places.count(place)
                tally[key] = tally.get(key, 0) + weight
        for (a, place), (b, other) in combinations(sorted(single), 2):
            wins, losses, ties = self.pairs.get((a, b), (0, 0, 0))
            self.pairs[a, b] = (wins + weight * (place < other), losses + weight * (place > other), ties + weight * (place == other))

    def measure(self, task: str, scores: Mapping[str, float], weight: int) -> None:
        """Count a measurement."""
        for agent, score in scores.items():
            total, sums, squares = self.rows.get((agent, task), (0, 0.0, 0.0))
            weighted = float(weight) * score
            self.rows[agent, task] = (total + weight, sums + weighted, squares + weighted * score)


def outcome_mark(moves: Iterable[tuple[int, str, float, float, float, float]]) -> int:
    """A number for what an outcome did: side, agent, Elo before and after it, SCO before and after it, of each member in any order."""
    parts = [struct.pack("<i4d", side, *ratings) + agent.encode() for side, agent, *ratings in sorted(moves)]
    return int.from_bytes(hashlib.blake2b(b"".join(parts), digest_size=8).digest())


@dataclass
class Ratings:
    """Elo and SCO with their default settings, apart from Elo's K.

    activity: outcomes of each agent. marks: `outcome_mark` of each outcome.
    """

    k: float = 32.0
    elo: defaultdict[str, float] = field(default_factory=lambda: defaultdict(lambda: ELO_START))
    sco: defaultdict[str, float] = field(default_factory=lambda: defaultdict(lambda: SCO_START))
    activity: Counter[str] = field(default_factory=Counter)
    marks: list[int] = field(default_factory=list)

    def play(self, sides: Sequence[Mapping[str, Any]], weight: int) -> None:
        """A game is its pairs of sides, all from the ratings before it; a team plays at the mean of its members."""
        size, n = weight / ONE, len(sides)
        elo, sco = self._pushes(sides)
        moves = []
        for at, side in enumerate(sides):
            members = len(side["agents"])
            for agent in side["agents"]:
                before = self.elo[agent], self.sco[agent]
                self.elo[agent] = self.elo[agent] + self.k * size / (n - 1) * elo[at]
                self.sco[agent] = min(max(self.sco[agent] + _SCO_ALPHA * size / members * sco[at], 0.0), 100.0)
                self.activity[agent] += 1
                moves.append((at, agent, before[0], self.elo[agent], before[1], self.sco[agent]))
        self.marks.append(outcome_mark(moves))

    def _pushes(self, sides: Sequence[Mapping[str, Any]]) -> tuple[list[float], list[float]]:
        """What its pairs give each side: of Elo S - E, of SCO the derivative of the sigmoid, signed by the result."""
        elo, sco = [0.0] * len(sides), [0.0] * len(sides)
        elo_of = [_mean([self.elo[agent] for agent in side["agents"]]) for side in sides]
        sco_of = [_mean([self.sco[agent] for agent in side["agents"]]) for side in sides]
        for a, b in combinations(range(len(sides)), 2):
            place, other = sides[a]["place"], sides[b]["place"]
            result = 1.0 if place < other else 0.0 if place > other else 0.5
            up = result - sigmoid(_ELO_SLOPE * (elo_of[a] - elo_of[b]))
            small = exp(-abs(sco_of[a] - sco_of[b]))
            steep = (2.0 * result - 1.0) * (small / ((1.0 + small) * (1.0 + small)))
            elo[a], elo[b] = elo[a] + up, elo[b] - up
            sco[a], sco[b] = sco[a] + steep, sco[b] - steep
        return elo, sco


def _mean(ratings: Sequence[float]) -> float:
    total = ratings[0]
    for rating in ratings[1:]:
        total += rating
    return total / len(ratings)
