"""Recent form: the weight of results in time buckets halves with every half-life, which is chosen by held-out log loss."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from ratings_core import checks
from ratings_core.batch.pair_counts import MetPairs
from ratings_core.errors import InputError
from ratings_core.margins.posterior import PRIOR, posterior_margins
from ratings_core.solution import Floats

_LEAST_SHARE: Final = 1e-6
"""Smallest probability in a log loss, so that one certain but wrong prediction does not make the loss infinite."""


@dataclass(frozen=True, slots=True)
class HalfLife:
    """The chosen half-life, and the losses of all candidates.

    half_life: in buckets, may be infinite. losses: of each candidate, nats per game, mean over the held-out games, in the order given.
    games: weight of the held-out games.
    """

    half_life: float
    losses: tuple[float, ...]
    games: float


def decayed(buckets: Sequence[MetPairs], half_life: float) -> MetPairs:
    """Add up all buckets. The last bucket has weight 1, and a bucket that is b buckets older has weight 2 ** (-b / half_life).

    Args:
        buckets: Tallies of the same agents, oldest first.
        half_life: In buckets, > 0, may be infinite.

    Raises:
        InputError: There is no bucket, or the buckets differ in agents.
    """
    _checked(buckets)
    half_life = checks.positive("half_life", half_life, "must be above 0 buckets, or infinite")
    weights = [2.0 ** (-(len(buckets) - 1 - b) / half_life) for b in range(len(buckets))]
    m = buckets[0].m
    keys, index = np.unique(np.concatenate([one.first * m + one.second for one in buckets]), return_inverse=True)

    def total(columns: list[Floats]) -> Floats:
        weighted = np.concatenate([weight * column for weight, column in zip(weights, columns, strict=True)])
        return np.asarray(np.bincount(index, weighted, len(keys)), np.float64)

    won, lost, tied = (total([getattr(one, name) for one in buckets]) for name in ("won", "lost", "tied"))
    return MetPairs(m, keys // m, keys % m, won, lost, tied)


def choose_half_life(
    buckets: Sequence[MetPairs],
    half_lives: Sequence[float],
    *,
    first: int,
    kappa: float | None = None,
    prior: float = PRIOR,
) -> HalfLife:
    """Choose the half-life whose margins predict the next bucket best. Each bucket from `first` on is predicted from all earlier buckets.

    Args:
        buckets: Tallies of the same agents, oldest first.
        half_lives: Candidates, in buckets.
        first: Index of the first bucket that is held out, at least 1.
        kappa: As for `posterior_margins`.
        prior: As for `posterior_margins`.

    Returns:
        The candidate of least mean log loss of the expected score (a tie is half), the longest among equals.

    Raises:
        InputError: No candidate, no held-out game, or buckets of different agents.
    """
    _checked(buckets)
    if not len(checks.sequence("half_lives", half_lives)):
        raise InputError("half_lives", 0, "must name at least one half-life")
    if not 1 <= checks.count("first", first) < len(buckets):
        raise InputError("first", first, f"must be from 1 to {len(buckets) - 1}, because earlier buckets are the training data")
    losses, games = np.zeros(len(half_lives)), 0.0
    for b in range(first, len(buckets)):
        held = buckets[b]
        games += float(held.games.sum())
        for i, half_life in enumerate(half_lives):
            learnt = posterior_margins(decayed(buckets[:b], half_life), kappa=kappa, prior=prior)
            losses[i] += log_loss((1 + learnt.win_less_loss(held.first, held.second)) / 2, held).sum()
    if not games:
        raise InputError("buckets", 0, "must contain games in bucket `first` or later")
    mean = losses / games
    best = max(half_life for half_life, loss in zip(half_lives, mean.tolist(), strict=True) if loss == mean.min())
    return HalfLife(best, tuple(mean.tolist()), games)


def log_loss(expected: Floats, held: MetPairs) -> Floats:
    """Log loss of expected scores, nats, summed over the games of each pair (pairs,); a tie is half a win and half a loss."""
    p = np.clip(expected, _LEAST_SHARE, 1 - _LEAST_SHARE)
    return np.asarray(-(held.points * np.log(p) + (held.games - held.points) * np.log1p(-p)), np.float64)


def _checked(buckets: Sequence[MetPairs]) -> None:
    if not len(checks.sequence("buckets", buckets)):
        raise InputError("buckets", 0, "must hold at least one tally")
    for i, one in enumerate(buckets):
        if checks.instance(f"buckets[{i}]", one, MetPairs).m != buckets[0].m:
            raise InputError(f"buckets[{i}]", one.m, f"must be for the same {buckets[0].m} agents as the first tally")
