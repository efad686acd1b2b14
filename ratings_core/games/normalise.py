"""Normalisers: they map the scores of a task to a scale that is comparable across tasks.

``none`` keeps the scores, which share a unit. ``minmax`` maps a task's scores to 0..1. ``z`` subtracts their mean and divides by their
standard deviation. ``rank`` is the position among the distinct scores, 0 the lowest and 1 the highest. ``winrate`` is the share of the
other agents that score lower, with ties as half. All except ``none`` depend on which other agents were measured. Only ``z`` and ``winrate``
depend on exact duplicates, so duplicates are merged before.
"""

from collections.abc import Callable
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.solution import Floats

Normalise: TypeAlias = Literal["none", "minmax", "z", "rank", "winrate"]
Mask: TypeAlias = NDArray[np.bool_]


def normalised(scores: Floats, normalise: str) -> tuple[Floats, Mask]:
    """Normalised scores of the tasks on which `normalise` is defined, and the mask of these tasks.

    scores: (agents, tasks), NaN where not measured. ``minmax``, ``z`` and ``rank`` are undefined on a task if all agents agree on it.
    Raises `InputError` if no task is left, or if `normalise` is unknown.
    """
    checks.choice("normalise", normalise, tuple(_NORMALISERS))
    if normalise in ("none", "winrate"):
        defined = np.ones(scores.shape[1], bool)
    else:
        defined = np.asarray(np.nanmax(scores, axis=0) > np.nanmin(scores, axis=0), bool)
    if not defined.any():
        raise InputError("normalise", normalise, "needs at least one task on which agents differ, or pass 'none'")
    return _NORMALISERS[normalise](scores[:, defined]), defined


def _min_max(scores: Floats) -> Floats:
    low, high = np.nanmin(scores, axis=0), np.nanmax(scores, axis=0)
    return np.asarray((scores - low) / (high - low), np.float64)


def _z(scores: Floats) -> Floats:
    above = scores - np.nanmin(scores, axis=0)  # the mean of scores far from 0 would lose digits
    return np.asarray((above - np.nanmean(above, axis=0)) / np.nanstd(above, axis=0), np.float64)


def _rank(scores: Floats) -> Floats:
    return _by_task(scores, lambda own: np.unique(own, return_inverse=True)[1] / (len(np.unique(own)) - 1))


def _winrate(scores: Floats) -> Floats:
    return _by_task(scores, _share_below)


def _share_below(own: Floats) -> Floats:
    _, level, count = np.unique(own, return_inverse=True, return_counts=True)
    below = np.cumsum(count) - count
    return np.asarray((below + (count - 1) / 2)[level] / (len(own) - 1) if len(own) > 1 else [0.5], np.float64)


def _by_task(scores: Floats, rule: Callable[[Floats], Floats]) -> Floats:
    rescaled = np.full(scores.shape, np.nan)
    for own, column in zip(scores.T, rescaled.T, strict=True):
        measured = ~np.isnan(own)
        column[measured] = rule(own[measured])
    return rescaled


_NORMALISERS: Final[dict[str, Callable[[Floats], Floats]]] = {
    "none": lambda scores: scores,
    "minmax": _min_max,
    "z": _z,
    "rank": _rank,
    "winrate": _winrate,
}
