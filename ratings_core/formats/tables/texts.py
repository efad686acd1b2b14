"""Texts of cells that hold no value, and texts that are numbers, in every kind of table."""

from typing import Final

import numpy as np

MISSING: Final = frozenset({"", "NA", "N/A", "NaN", "nan", "null", "None", "-"})
"""Texts of a cell that holds no value."""


def is_missing(text: str) -> bool:
    """Whether a text marks a missing value."""
    return text.strip() in MISSING


def is_number(text: str) -> bool:
    """Whether a text is a finite number."""
    return bool(np.isfinite(number_of(text)))


def number_of(text: str) -> float:
    """The finite number that a text is; NaN for another text."""
    try:
        value = float(text)
    except ValueError:
        return np.nan
    return value if np.isfinite(value) and "_" not in text else np.nan
