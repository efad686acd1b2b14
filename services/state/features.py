"""Features of games: the numbers that a pool's settings name in the `meta` of its outcomes.

A producer sends a feature as the first side's value minus the second side's value, such as the difference in length of two answers. The
wire schema does not validate `meta`, so a game with a missing or non-numeric value is accepted. This game counts everywhere except in
fits with features.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import msgspec
import numpy as np

from ratings_core.arrays.arena import Arena
from ratings_core.records.names import FIRST_SIDE
from ratings_core.solution import Floats

MAX_FEATURE: Final = 1e15
"""Largest absolute value of a feature. A larger one counts as missing."""
_ABSENT: Final = float("nan")
_decoder: Final = msgspec.json.Decoder(dict[str, Any])


def values_of(meta: Arena, names: Sequence[str]) -> Floats:
    """Values of features in the `meta` of n games.

    Args:
        meta: JSON of each game; empty where it has none.
        names: k keys of `meta`. The feature `first-side` is 1 in every game.

    Returns:
        float64 (n, k); NaN for a missing value, a value that is not a number, and a number above 1e15 in absolute value.
    """
    texts, cuts = meta.bytes.tobytes(), meta.start.tolist()
    rows = [_row(texts[low:high], names) for low, high in pairwise(cuts)]
    return np.array(rows, np.float64).reshape(len(meta), len(names))


def numbers_of(meta: bytes) -> bytes | None:
    """JSON of the numbers in the `meta` of a game, the only values that features read; None if there are none."""
    numbers = {name: value for name, value in _object(meta).items() if not math.isnan(_number(value))}
    return msgspec.json.encode(numbers) if numbers else None


def _object(text: bytes) -> dict[str, Any]:
    try:
        return _decoder.decode(text) if text else {}
    except msgspec.DecodeError:  # not a JSON object
        return {}


def _row(text: bytes, names: Sequence[str]) -> list[float]:
    members = _object(text)
    return [1.0 if name == FIRST_SIDE else _number(members.get(name)) for name in names]


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= MAX_FEATURE:
        return _ABSENT
    return float(value)
