"""Shapes of games, which are the sizes of their sides. Each shape has its own scale and record of forecasts.

Nothing here needs kernels, so that a reader of boards need not load them.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from ratings_core import checks
from ratings_core.errors import InputError

MOST_SHAPES: Final = 16
"""Number of shapes of a pool that have forecasts, the first ones. Games of all further shapes share one record and have none."""
LEAST_PAIRS: Final = 100.0
"""Predicted pairs, by weight, from which a record of forecasts is meaningful. With fewer, the 95 % interval of a share of 0.7 is wider than
0.61 to 0.79.
"""
SIZE_BITS: Final = 30
_MASK: Final = (1 << SIZE_BITS) - 1


class Shape(NamedTuple):
    """The shape of a game. Its number of sides does not count: forecasts of many sides are made of forecasts of pairs of sides.

    Attributes:
        smallest: Number of agents of the smallest side.
        largest: Number of agents of the largest side.
    """

    smallest: int
    largest: int

    @classmethod
    def of(cls, sizes: Sequence[int]) -> "Shape":
        """The shape of a game. sizes: numbers of agents of its sides, two or more; each is 1 or more. Raises `InputError`."""
        if len(sizes) < 2:
            raise InputError("sizes", sizes, "must be those of two sides or more")
        known = [checks.whole(f"sizes[{i}]", size, low=1) for i, size in enumerate(sizes)]
        if max(known) > _MASK:
            raise InputError("sizes", max(known), f"must be at most {_MASK}")
        return cls(min(known), max(known))

    @classmethod
    def from_key(cls, key: int) -> "Shape | None":
        """The shape with a `key`; None for `OTHERS`. Raises `InputError` if no shape has this key."""
        if key == OTHERS:
            return None
        shape = cls(key >> SIZE_BITS, key & _MASK)
        if not 1 <= shape.smallest <= shape.largest:
            raise InputError("key", key, "must be the key of a shape")
        return shape

    @property
    def key(self) -> int:
        """The shape as an integer above 0 and below 2**60."""
        return self.smallest << SIZE_BITS | self.largest

    def __str__(self) -> str:
        return f"{self.smallest}:{self.largest}"


OTHERS: Final = 0
"""Key of the record that all shapes after the first `MOST_SHAPES` share."""
OTHERS_NAME: Final = "others"
SINGLES: Final = Shape(1, 1)
"""Games whose sides are single agents, such as duels and races."""


def why_no_forecast(shape: str, pairs: Mapping[str, float]) -> str | None:
    """Why games of a shape have no forecast; None if they have one.

    A scale of forecasts is fitted to games of one shape and does not hold for others: where all games were 2:2, forecasts of duels by their
    scale are far from what happens. So each shape needs results. The shape of most results needs no least number: ratings follow
    these games, and a method's own log odds are a model of them.

    Args:
        shape: Text of the shape.
        pairs: Shape -> number of pairs of sides, by weight, that were predicted so far; `OTHERS_NAME` -> those of all further shapes.
    """
    if shape not in pairs and OTHERS_NAME in pairs:
        return f"the first {MOST_SHAPES} shapes of games of a pool have forecasts, and {shape} is none of them"
    known = pairs.get(shape, 0.0)
    if known >= LEAST_PAIRS or 2.0 * known > sum(pairs.values()):
        return None
    others = sorted((one for one in pairs if one not in (shape, OTHERS_NAME)), key=lambda one: -pairs[one])
    beside = f", beside games {', '.join(others[:3])}" if others else ""
    return f"forecasts of games {shape} need {LEAST_PAIRS:g} results of this shape, and there are {known:g}{beside}"
