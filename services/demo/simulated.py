"""A simulated games pool with a cycle and clones: rock, paper and scissors, two copies of rock, and a weak fourth hand.

Game i is a function of i only, so a restarted demo continues with the same games and ids.
"""

import random
from typing import Final

from services.wire.events import GameEvent, Side

POOL: Final = "demo-rps"
GAMES: Final = 100_000
PER_SECOND: Final = 5.0
WIN: Final = 0.9
_COPIES: Final = {"rock-copy-1": "rock", "rock-copy-2": "rock"}
_CYCLE: Final = {("paper", "rock"), ("rock", "scissors"), ("scissors", "paper")}
_HANDS: Final = {hand: hand for hand in ("rock", "paper", "scissors", "pebble")} | _COPIES
_BEATS: Final = _CYCLE | {(hand, "pebble") for hand, _ in _CYCLE}


def game(index: int, time: float) -> GameEvent:
    """Game `index` of the pool, between two different agents that are drawn uniformly. time: Seconds since 1970."""
    draw = random.Random(f"equirank demo {index}")  # noqa: S311 - a simulation, not a secret
    first, second = draw.sample(sorted(_HANDS), 2)
    first_won = draw.random() < chance(first, second)
    return GameEvent(
        v=1,
        id=f"demo-{index}",
        pool=POOL,
        time=time,
        sides=[Side(agents=[first], place=1 if first_won else 2), Side(agents=[second], place=2 if first_won else 1)],
    )


def chance(first: str, second: str) -> float:
    """Probability that `first` beats `second`: 0.9 along the cycle and against the pebble, 0.5 between copies."""
    hands = _HANDS[first], _HANDS[second]
    if hands in _BEATS:
        return WIN
    return 1 - WIN if hands[::-1] in _BEATS else 0.5
