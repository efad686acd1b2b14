"""What a fit of ratings in a box is asked for, checked in one place."""

from typing import Any, NamedTuple

from ratings_core import checks
from ratings_core.batch.pair_counts import PairCounts, pair_counts
from ratings_core.batch.sigmoid_loss import Box


class BoxFit(NamedTuple):
    """Votes, the box, and how the fit is done. scale: temperature or noise, in the ratings' unit, > 0; prior: >= 0; tolerance: > 0."""

    counts: PairCounts
    box: Box
    scale: float
    prior: float
    tolerance: float
    max_iterations: int


def box_fit(
    wins: Any, ties: Any, scale: tuple[str, float], low: float, high: float, *, prior: float, tolerance: float, max_iterations: int
) -> BoxFit:
    """The arguments of `soft_condorcet` and `fenchel_young`, accepted. scale: its name there, and its value. Raises `InputError`."""
    return BoxFit(
        pair_counts(wins, ties),
        box_of(low, high),
        checks.number(*scale, above=0.0),
        checks.number("prior", prior, low=0.0),
        checks.number("tolerance", tolerance, above=0.0),
        checks.count("max_iterations", max_iterations, low=1),
    )


def box_of(low: float, high: float) -> Box:
    """The box, checked. Raises `InputError` where low is not below high."""
    least = checks.number("low", low)
    return Box(least, checks.number("high", high, above=least))
