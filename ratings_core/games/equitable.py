"""Classes of strategies that stay equivalent under all mixes that treat them alike: the coarsest equitable partition.

Let the strategies of each class have equal probability. In an equitable partition, members of a class then always have equal worth to their
player (minus the player's expected payoff). So the logit map keeps them equal, and so does every path that starts with equal probabilities.
Worths are polynomials in the probabilities of the classes, so worths that are equal at random points are equal everywhere (Schwartz 1980):
one draw refines a partition as much as a comparison of all payoffs. Classes may span players: interchangeable players share classes.
"""

from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ratings_core.games.normal_form import Game
from ratings_core.solution import Floats

Labels: TypeAlias = tuple[NDArray[np.int64], ...]

CLOSE: Final = 1e-9
"""Worths that differ by at most this, in the player's unit of payoffs, are equal."""
QUIET: Final = 2
"""Number of successive draws without a split after which the partition is final."""


def equitable_classes(game: Game, start: Sequence[Floats], unit: float | Floats, seed: int = 0) -> Labels:
    """Class of each player's strategies, numbered from 0 over all players; -1 where `start` is 0, because these stay 0.

    start: a distribution per player; strategies with different probabilities are in different classes. unit: unit of payoffs, of all
    players or of each player; players with different units share no class.
    """
    rng = np.random.default_rng(seed)
    sizes = np.cumsum(game.shape)[:-1]
    flat = np.concatenate(list(start))
    units = np.broadcast_to(np.asarray(unit, np.float64), len(game.shape))
    labels, quiet = _ordered(_near(flat, CLOSE), np.repeat(_near(np.log(units), CLOSE), game.shape)), 0
    while quiet < QUIET:
        weights = rng.uniform(0.5, 1.5, int(labels.max()) + 1)[labels] * (flat > 0)
        mixes = [own / own.sum() for own in np.split(weights, sizes)]
        worths = [own - mix @ own for own, mix in zip(game.payoffs_against(mixes), mixes, strict=True)]
        finer = _ordered(labels, _near(np.concatenate(worths) / np.repeat(units, game.shape), CLOSE))
        quiet = quiet + 1 if finer.max() == labels.max() else 0
        labels = finer
    labels = _first_seen(np.where(flat > 0, labels, -1))
    return tuple(np.split(labels, sizes))


def _near(values: Floats, close: float) -> NDArray[np.int64]:
    """The group of each value: in sorted order, a gap above `close` starts a new group."""
    order = np.argsort(values, kind="stable")
    groups = np.empty(len(values), np.int64)
    groups[order] = np.concatenate([[0], np.cumsum(np.diff(values[order]) > close)])
    return groups


def _ordered(*keys: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.unique(np.column_stack(keys), axis=0, return_inverse=True)[1].ravel().astype(np.int64)


def _first_seen(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same classes, numbered in order of appearance; -1 stays -1."""
    names: dict[int, int] = {-1: -1}
    return np.array([names.setdefault(label, len(names) - 1) for label in labels.tolist()], np.int64)
