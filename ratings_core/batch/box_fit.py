"""Options and checked arguments of the fits that keep ratings in a box."""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from ratings_core import checks
from ratings_core.batch.pair_counts import MetPairs, pair_counts
from ratings_core.batch.sigmoid_loss import Box
from ratings_core.errors import InputError
from ratings_core.options import Options, option

LARGEST: Final = 1e100
"""Largest bound, temperature, and width of the box in temperatures. Squares of larger numbers could overflow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxOptions(Options):
    """Options of every fit in a box."""

    low: float = option(0.0, "least rating", -LARGEST, LARGEST)
    high: float = option(100.0, "largest rating", -LARGEST, LARGEST)
    prior: float = option(0.0, "pull of each rating to the middle of the box", 0.0, checks.LARGEST_WEIGHT)
    tolerance: float = option(1e-8, "largest projected gradient", 1e-14, 1.0)
    max_iterations: int = option(1_000, "of Newton's method", 1, 1_000_000)
    accept_approximate: bool = option(False, "a point above the tolerance")


class BoxFit(NamedTuple):
    """Checked arguments of a fit: votes, box, and scale (temperature or noise, > 0, in the unit of the ratings)."""

    counts: MetPairs
    box: Box
    scale: float


def box_fit(wins: Any, ties: Any, options: BoxOptions, scale: str) -> BoxFit:
    """Check the arguments of `soft_condorcet` and `fenchel_young`. scale: name of the option with the scale. Raises `InputError`."""
    box = box_of(options.low, options.high)
    return BoxFit(pair_counts(wins, ties), box, scale_of(scale, getattr(options, scale), box))


def box_of(low: float, high: float) -> Box:
    """Make a box of these bounds. Raises `InputError` unless low is below high and the squares of the bounds are finite."""
    least = checks.number("low", low, low=-LARGEST, high=LARGEST)
    box = Box(least, checks.number("high", high, above=least, high=LARGEST))
    if box.width < 1 / LARGEST:
        raise InputError("high", high, f"must exceed low ({least:g}) by at least {1 / LARGEST:g}")
    return box


def scale_of(argument: str, scale: float, box: Box) -> float:
    """Check a temperature or noise scale. Raises `InputError` if squared differences in the box, in this unit, could overflow."""
    return checks.number(argument, scale, low=max(1 / LARGEST, box.width / LARGEST), high=LARGEST)
