"""Starting points of solves: data from the answer for a similar game, stored by names of strategies, so that a larger roster can use it.

A start saves work and does not change the answer: every answer is certified on the given game, and a solve restarts without the start
if it does not converge from it. A start has only names and arrays, so it can be stored directly.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ratings_core.errors import InputError
from ratings_core.games.normal_form import Game
from ratings_core.solution import Floats, Start

UNKNOWN: Final = -1


def accepted(start: Start | None, method: str, game: Game) -> Start | None:
    """Return `start` if it is of this method and of a game with as many players. Raises `InputError`."""
    if start is None:
        return None
    if getattr(start, "method", None) != method:
        raise InputError("start", getattr(start, "method", type(start).__name__), f"must be the start of a result of {method}")
    if len(start.strategies) != len(game.shape):
        raise InputError("start", len(start.strategies), f"must be for a game of {len(game.shape)} players")
    return start


def array(start: Start, name: str, shape: tuple[int | None, ...]) -> NDArray[Any]:
    """An array of a start, of this shape (None: any length), finite. Raises `InputError`."""
    stored = start.arrays.get(name)
    if stored is None:
        raise InputError("start", sorted(start.arrays), f"must have the array {name}")
    given = np.asarray(stored)
    if given.ndim != len(shape) or any(want not in (None, have) for want, have in zip(shape, given.shape, strict=True)):
        raise InputError(f"start.{name}", given.shape, f"must have the shape {shape}")
    if not np.isfinite(given).all():
        raise InputError(f"start.{name}", "not finite", "must be finite")
    return given


def places(start: Start, game: Game) -> tuple[NDArray[np.int64], ...]:
    """For each player, the index in the game of each of the start's strategies, `UNKNOWN` if the game does not have it."""
    by_player = []
    for before, now in zip(start.strategies, game.strategies, strict=True):
        at = {name: place for place, name in enumerate(now)}
        by_player.append(np.array([at.get(name, UNKNOWN) for name in before], np.int64))
    return tuple(by_player)


def moved(values: Floats, place: NDArray[np.int64], n: int, missing: float) -> Floats:
    """Map values of a start's strategies, on the last axis, to the n strategies of the game; new ones get `missing`."""
    mapped = np.full((*values.shape[:-1], n), missing)
    mapped[..., place[place >= 0]] = values[..., place >= 0]
    return mapped
