"""Starts of solves from arrays whose entries have names. A start comes from an answer and saves work in the next solve of the method."""

from collections.abc import Sequence

import numpy as np

from ratings_core.equilibria.starts import array
from ratings_core.solution import Floats, Start


def of_names(method: str, values: dict[str, tuple[Sequence[str], Floats]]) -> Start:
    """Make a start from named arrays. values: Name of an array -> (names of its entries, its numbers)."""
    return Start(method, tuple(tuple(names) for names, _ in values.values()), {name: numbers for name, (_, numbers) in values.items()})


def nonzero(names: Sequence[str], values: Floats) -> tuple[Sequence[str], Floats]:
    """The named entries other than 0, for `of_names`."""
    kept = np.flatnonzero(values)
    return [names[i] for i in kept.tolist()], values[kept]


def by_name(start: Start, side: int, name: str, names: Sequence[str], missing: float) -> Floats:
    """An array of a start, in the order of `names`.

    Args:
        start: The start.
        side: Index into `start.strategies` of the names of the array's entries.
        name: Name of the array.
        names: Names to look up.
        missing: Value for names that the start does not contain.
    """
    known = start.strategies[side]
    before = dict(zip(known, array(start, name, (len(known),)).tolist(), strict=True))
    return np.array([before.get(one, missing) for one in names], np.float64)
