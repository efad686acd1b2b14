"""Where a solve may start: what the answer for a like game knew, kept by the names of strategies, so that a grown roster can use it.

A start saves work and decides nothing: every answer is certified on the game at hand, and where a start leads nowhere the solve starts
afresh. It is names and arrays only, so it can be stored as such.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.errors import InputError
from ratings_core.games.normal_form import Game, Names
from ratings_core.solution import Floats

UNKNOWN: Final = -1


@dataclass(frozen=True, slots=True)
class Start:
    """What a solve may start from. method: whose answer it was; strategies: names, by player, that the arrays' entries and axes stand for;
    arrays: by name, as each method says.
    """

    method: str
    strategies: tuple[Names, ...]
    arrays: Mapping[str, NDArray[Any]]


def accepted(start: Start | None, method: str, game: Game) -> Start | None:
    """`start` where it is of this method and of a game of as many players. Raises `InputError`."""
    if start is None:
        return None
    if getattr(start, "method", None) != method:
        raise InputError("start", getattr(start, "method", type(start).__name__), f"must be the start of an answer of {method}")
    if len(start.strategies) != len(game.shape):
        raise InputError("start", len(start.strategies), f"must be of a game of {len(game.shape)} players")
    return start


def array(start: Start, name: str, shape: tuple[int | None, ...]) -> NDArray[Any]:
    """One of its arrays, of this shape (None: any length), finite. Raises `InputError`."""
    found = start.arrays.get(name)
    if found is None:
        raise InputError("start", sorted(start.arrays), f"must have the array {name}")
    given = np.asarray(found)
    if given.ndim != len(shape) or any(want not in (None, have) for want, have in zip(shape, given.shape, strict=True)):
        raise InputError(f"start.{name}", given.shape, f"must have the shape {shape}")
    if not np.isfinite(given).all():
        raise InputError(f"start.{name}", "not finite", "must be finite")
    return given


def places(start: Start, game: Game) -> tuple[NDArray[np.int64], ...]:
    """For each player where the start's strategies stand among the game's, `UNKNOWN` where they are gone."""
    found = []
    for before, now in zip(start.strategies, game.strategies, strict=True):
        at = {name: place for place, name in enumerate(now)}
        found.append(np.array([at.get(name, UNKNOWN) for name in before], np.int64))
    return tuple(found)


def moved(values: Floats, place: NDArray[np.int64], n: int, missing: float) -> Floats:
    """Values of a start's strategies, the last axis, for the n of the game; `missing` for new ones."""
    found = np.full((*values.shape[:-1], n), missing)
    found[..., place[place >= 0]] = values[..., place >= 0]
    return found
