"""What a fit of ratings in a box is asked for, checked in one place."""

from typing import Any, Final, NamedTuple

from ratings_core import checks
from ratings_core.batch.pair_counts import PairCounts, pair_counts
from ratings_core.batch.sigmoid_loss import Box
from ratings_core.errors import InputError

LARGEST: Final = 1e100
"""Of bounds, of temperatures, and of the width of the box in temperatures: squares of larger numbers could overflow."""


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
    counts, box = pair_counts(wins, ties), box_of(low, high)
    return BoxFit(
        counts,
        box,
        scale_of(*scale, box),
        checks.number("prior", prior, low=0.0, high=checks.LARGEST_WEIGHT),
        checks.number("tolerance", tolerance, above=0.0),
        checks.count("max_iterations", max_iterations, low=1),
    )


def box_of(low: float, high: float) -> Box:
    """The box, checked. Raises `InputError` where low is not below high, or squares of its bounds would overflow."""
    least = checks.number("low", low, low=-LARGEST, high=LARGEST)
    box = Box(least, checks.number("high", high, above=least, high=LARGEST))
    if box.width < 1 / LARGEST:
        raise InputError("high", high, f"must be above low, {least:g}, by {1 / LARGEST:g} or more")
    return box


def scale_of(argument: str, scale: float, box: Box) -> float:
    """Temperature or noise, checked. Raises `InputError` where squares of differences in the box, in this unit, could overflow."""
    return checks.number(argument, scale, low=max(1 / LARGEST, box.width / LARGEST), high=LARGEST)
