"""Ratings as tables for people show them; programs read JSON, which leaves nothing out."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

_NOUGHT: Final = 1e-6
"""Of a column's largest rating; what is smaller is left over from a solver, and would only look like news."""


def shower(ratings: Iterable[float | None], digits: int = 6, tied: float = 0.0) -> Callable[[float | None], str]:
    """How to write each rating of a column, to so many significant digits; `-` for none. tied: ratings this close are equal, so what
    is this close to nought is nought, even where all of the column is.
    """
    nought = max(tied, _NOUGHT * max((abs(rating) for rating in ratings if rating is not None), default=0.0))

    def shown(rating: float | None) -> str:
        if rating is None:
            return "-"
        return "0" if abs(rating) < nought else f"{rating:.{digits}g}"

    return shown


def tied_within(extra: Mapping[str, object]) -> float:
    """How close ratings of a solved board share a rank, in their own numbers; 0 where it is not by differences, as on live boards."""
    found = extra.get("tie_tolerance")
    return float(found) if isinstance(found, int | float) else 0.0
