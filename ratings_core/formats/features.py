"""Covariates of a game from the columns of its row, such as the difference in length of two answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from ratings_core.errors import InputError
from ratings_core.records.names import FIRST_SIDE

Form: TypeAlias = Literal["column", "difference", "relative", "first"]
_FORMS: Final[Mapping[str, Form]] = {"~": "relative", ":": "difference"}
"""Sign between two columns -> form of the feature. The relative sign is tried first, so columns of that form may contain a colon."""


@dataclass(frozen=True, slots=True)
class Feature:
    """One covariate: its value for the first side minus that for the second side.

    Attributes:
        text: The feature as the caller wrote it.
        form: ``column``: a column with the difference; ``difference``: column a minus column b; ``relative``: (a - b) / (a + b), or 0 if
            both are 0 (style control of Li et al. 2024); ``first``: 1 in every game.
        columns: The columns that the value is computed from.
    """

    text: str
    form: Form
    columns: tuple[str, ...]

    @classmethod
    def parsed(cls, text: str) -> "Feature":
        """Parse ``COLUMN``, ``A:B``, ``A~B`` or ``first-side``. Raises `InputError` for an empty column."""
        if text == FIRST_SIDE:
            return cls(text, "first", ())
        for sign, form in _FORMS.items():
            first, separator, second = text.partition(sign)
            if separator:
                return cls._checked(text, form, (first, second))
        return cls._checked(text, "column", (text,))

    @classmethod
    def _checked(cls, text: str, form: Form, columns: tuple[str, ...]) -> "Feature":
        if not all(columns):
            raise InputError("feature", text, f"must be COLUMN, A:B (a less b), A~B ((a - b) / (a + b)) or {FIRST_SIDE}")
        return cls(text, form, columns)
