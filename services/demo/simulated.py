"""A simulated games pool with a cycle and clones: rock, paper and scissors, two copies of rock, and a weak fourth hand.

Games are played in rounds in which each pair meets once. In a round, the copies have the results of rock, and they tie with it and with
each other, so after each round they are exact copies. Another pool has the same games without those of the copies.

Game i is a function of i only, so a restarted demo continues with the same games and ids.
"""

import random
from collections.abc import Sequence
from itertools import combinations
from typing import Final

from services.wire.events import GameEvent, Side

POOL: Final = "demo-rps"
POOL_BEFORE: Final = "demo-rps-before"
"""The pool without copies."""
WIN: Final = 0.9
_COPIES: Final = {"rock-copy-1": "rock", "rock-copy-2": "rock"}
_CYCLE: Final = {("paper", "rock"), ("rock", "scissors"), ("scissors", "paper")}
_HANDS: Final = {hand: hand for hand in ("rock", "paper", "scissors", "pebble")} | _COPIES
_BEATS: Final = _CYCLE | {(hand, "pebble") for hand, _ in _CYCLE}
_PAIRS: Final = tuple(combinations(sorted(_HANDS), 2))
ROUND: Final = len(_PAIRS)
"""Games of a round."""
GAMES: Final = 6_666 * ROUND
ROUNDS_PER_SECOND: Final = 1.0


def game(index: int, time: float) -> GameEvent:
    """Game `index` of the pool. time: Seconds since 1970."""
    number, slot = divmod(index, ROUND)
    pairs = list(_PAIRS)
    if number:  # in the first round, agents join one after another
        random.Random(f"equirank demo {number}").shuffle(pairs)  # noqa: S311 - a simulation, not a secret
    first, second = pairs[slot]
    places = _places(number, _HANDS[first], _HANDS[second])
    sides = [Side(agents=[name], place=place) for name, place in zip((first, second), places, strict=True)]
    return GameEvent(v=1, id=f"demo-{index}", pool=POOL, time=time, sides=sides)


def _places(number: int, first: str, second: str) -> tuple[int, int]:
    """Places of two hands in a round. Copies of one hand tie."""
    if first == second:
        return 1, 1
    low, high = sorted((first, second))
    low_won = random.Random(f"equirank demo {number} {low} {high}").random() < chance(low, high)  # noqa: S311 - a simulation, not a secret
    return (1, 2) if low_won == (first == low) else (2, 1)


def before(games: Sequence[GameEvent]) -> list[GameEvent]:
    """Those of the games in which no copy plays, for the pool without copies."""
    return [
        GameEvent(v=1, id=one.id, pool=POOL_BEFORE, time=one.time, sides=one.sides)
        for one in games
        if not any(agent in _COPIES for side in one.sides for agent in side.agents)
    ]


def chance(first: str, second: str) -> float:
    """Probability that `first` beats `second`: 0.9 along the cycle and against the pebble, 0.5 between copies of a hand, which tie."""
    hands = _HANDS[first], _HANDS[second]
    if hands in _BEATS:
        return WIN
    return 1 - WIN if hands[::-1] in _BEATS else 0.5
