"""A simulated arena: invented language models in battles of two, each in a language and a category.

Nimbrel 3 is the best of all, Corvane XL the best in English, and Bracken Coder the best in coding. Tesselby 70B and its chat version
are equally good, so their two ranks stay open. Dovetide 2 beats Bracken 4, which beats Sundrift 9, which beats Dovetide 2. Quellith Pro
gets worse a day before the demo begins. Yarrow 3 Preview is a newcomer of that day with few battles.

Battle i is a function of i, and its time one of i and of the demo's begin, so a restarted demo continues with the same battles and ids.
Battles after the history have the time at which they are sent.
"""

import random
from collections.abc import Mapping
from typing import Final, NamedTuple

from services.control.details import DetailsChange
from services.wire.events import GameEvent, Side

POOL: Final = "demo-arena"
SEASON: Final = "second"
"""Name of the season after the first one."""
KEEP: Final = 0.5
"""Share of each rating's distance to the mean that the second season begins with."""
SLICES: Final[Mapping[str, Mapping[str, float]]] = {
    "language": {"English": 0.4, "Chinese": 0.25, "German": 0.2, "Spanish": 0.15},
    "category": {"writing": 0.4, "coding": 0.35, "reasoning": 0.25},
}
"""Tag by which the pool has slices -> its values -> share of the battles that have the value."""
SEASON_BATTLES: Final = 2_400
"""Battles of the first season."""
DAY_BEGINS: Final = 10_400
"""Index of the first battle in the last day before the demo begins."""
HISTORY: Final = 12_000
"""Battles that are sent when the demo begins."""
BATTLES: Final = HISTORY + 14_400
PER_SECOND: Final = 2
"""Battles in a second after the history."""

_DAY: Final = 86_400.0
_SPANS: Final = ((0, SEASON_BATTLES, 20.0, 14.0), (SEASON_BATTLES, DAY_BEGINS, 14.0, 1.0), (DAY_BEGINS, HISTORY, 1.0, 0.0))
"""First battle, end, and the ages of both in days when the demo begins."""


class Model(NamedTuple):
    """A model. skill: On the scale of Elo."""

    display_name: str
    organisation: str
    country: str
    licence: str
    skill: float


MODELS: Final[Mapping[str, Model]] = {
    "nimbrel-3": Model("Nimbrel 3", "Nimbrel", "CH", "Closed", 600),
    "nimbrel-3-lite": Model("Nimbrel 3 Lite", "Nimbrel", "CH", "Closed", -200),
    "corvane-xl": Model("Corvane XL", "Corvane", "GB", "Closed", 200),
    "corvane-s": Model("Corvane S", "Corvane", "GB", "Closed", -300),
    "tesselby-70b": Model("Tesselby 70B", "Tesselby", "DE", "Apache-2.0", 190),
    "tesselby-70b-chat": Model("Tesselby 70B Chat", "Tesselby", "DE", "Apache-2.0", 190),
    "tesselby-8b": Model("Tesselby 8B", "Tesselby", "DE", "Apache-2.0", -290),
    "yarrow-2": Model("Yarrow 2", "Yarrow", "CA", "MIT", -220),
    "yarrow-2-mini": Model("Yarrow 2 Mini", "Yarrow", "CA", "MIT", -350),
    "yarrow-3-preview": Model("Yarrow 3 Preview", "Yarrow", "CA", "MIT", -350),
    "quellith-pro": Model("Quellith Pro", "Quellith", "JP", "Closed", 90),
    "quellith-flash": Model("Quellith Flash", "Quellith", "JP", "Closed", -240),
    "dovetide-2": Model("Dovetide 2", "Dovetide", "FR", "Apache-2.0", -100),
    "dovetide-1": Model("Dovetide 1", "Dovetide", "FR", "Apache-2.0", -260),
    "bracken-4": Model("Bracken 4", "Bracken", "NZ", "MIT", -100),
    "bracken-coder": Model("Bracken Coder", "Bracken", "NZ", "MIT", -260),
    "sundrift-9": Model("Sundrift 9", "Sundrift", "BR", "Apache-2.0", -100),
    "sundrift-9-nano": Model("Sundrift 9 Nano", "Sundrift", "BR", "Apache-2.0", -380),
}
NEWCOMER: Final = "yarrow-3-preview"
FALLEN: Final = "quellith-pro"
TWINS: Final = ("tesselby-70b", "tesselby-70b-chat")
CYCLE: Final = (("dovetide-2", "bracken-4"), ("bracken-4", "sundrift-9"), ("sundrift-9", "dovetide-2"))
"""Pairs in which the first one has an advantage that its skill does not give."""
_BETTER: Final = {("corvane-xl", "English"): 600.0, ("bracken-coder", "coding"): 1000.0}
"""(model, language or category) -> what is added to its skill there."""
_FALL: Final = 180.0
_ADVANTAGE: Final = 280.0
_CYCLE_SHARE: Final = 0.04
"""Share of battles that are drawn from the cycle alone, so that it is soon proven beyond chance."""
_TIES: Final = 0.1
_TIES_OF_TWINS: Final = 0.6
_NEWCOMER_EACH: Final = 180, 2_400
"""The newcomer is in one of so many battles of the last day, and of those after the history. It needs more than an hour to get a rank."""
_FIRST_RIVALS: Final = "yarrow-2-mini", "sundrift-9-nano"
"""Models that the newcomer meets: weak ones, so that its wide interval leaves the first ranks settled."""
_ESTABLISHED: Final = tuple(name for name in MODELS if name != NEWCOMER)


def battle(index: int, began: float, now: float) -> GameEvent:
    """Battle `index` of the pool. began: Time at which the demo began, seconds since 1970. now: Time of a battle after the history."""
    draw = random.Random(f"equirank arena {index}")  # noqa: S311 - a simulation, not a secret
    first, second = _pair(index, draw)
    tags = {tag: draw.choices(list(shares), list(shares.values()))[0] for tag, shares in SLICES.items()}
    gap = _skill(first, index, tags) - _skill(second, index, tags) + _advantage(first, second)
    tied = draw.random() < (_TIES_OF_TWINS if {first, second} == set(TWINS) else _TIES)
    won = draw.random() < 1 / (1 + 10 ** (-gap / 400))
    places = (1, 1) if tied else (1, 2) if won else (2, 1)
    sides = [Side(agents=[name], place=place) for name, place in zip((first, second), places, strict=True)]
    return GameEvent(v=1, id=f"battle-{index}", pool=POOL, time=_time(index, began, now), sides=sides, tags=tags)


def part_end(first: int) -> int:
    """Index after the battles that are sent together, of which `first` is the first one: a season's history, or those of a second."""
    if first < HISTORY:
        return SEASON_BATTLES if first < SEASON_BATTLES else HISTORY
    return min(BATTLES, first + PER_SECOND)


def details() -> dict[str, DetailsChange]:
    """Model -> its details."""
    return {
        name: DetailsChange(display_name=one.display_name, organisation=one.organisation, country=one.country, licence=one.licence)
        for name, one in MODELS.items()
    }


def _pair(index: int, draw: random.Random) -> tuple[str, str]:
    first, second = draw.choice(CYCLE) if draw.random() < _CYCLE_SHARE else draw.sample(_ESTABLISHED, 2)
    each = _NEWCOMER_EACH[index >= HISTORY]
    if index >= DAY_BEGINS and index % each == 0:
        return NEWCOMER, _FIRST_RIVALS[index // each % 2]
    return first, second


def _skill(model: str, index: int, tags: Mapping[str, str]) -> float:
    better = sum(_BETTER.get((model, value), 0.0) for value in tags.values())
    return MODELS[model].skill + better - (_FALL if model == FALLEN and index >= DAY_BEGINS else 0.0)


def _advantage(first: str, second: str) -> float:
    return _ADVANTAGE * (((first, second) in CYCLE) - ((second, first) in CYCLE))


def _time(index: int, began: float, now: float) -> float:
    for begin, end, oldest, newest in _SPANS:
        if begin <= index < end:
            return began - _DAY * (oldest - (oldest - newest) * (index - begin) / (end - begin))
    return now
