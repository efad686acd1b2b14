"""Columns of texts as numbers. In some tables a comma can be the decimal point; this is decided for each column as a whole."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from ratings_core.arrays.arena import Arena
from ratings_core.arrays.arrow import arrow_texts, numbers
from ratings_core.formats.tables.choice import UNCLEAR, Choice
from ratings_core.formats.tables.texts import number_of
from ratings_core.solution import Floats

POINT: Final = "."
COMMA: Final = ","
RULE: Final = "must show whether a comma is the decimal point or divides thousands: say it with --decimal , or --decimal ."
_NUMERIC: Final = re.compile(r"[+-]?[\d.,]+([eE][+-]?\d+)?", re.ASCII)
_UNCLEAR: Final = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}", re.ASCII)
_GROUPED: Final = {
    POINT: re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?", re.ASCII),
    COMMA: re.compile(r"[+-]?\d{1,3}(\.\d{3})+(,\d*)?", re.ASCII),
}
"""Decimal mark -> numbers whose thousands are divided by the other mark."""


class Numbers:
    """Reads the columns of numbers of one table.

    Args:
        mark: The decimal mark of all columns; the other mark can divide thousands. None to find it out, if `texts_of` is given.
        texts_of: Reads the texts of a complete column. None for a table in which a comma is no part of a number.
        has_one_mark: Whether all columns have the same mark. `texts_of` then reads all of them.
    """

    def __init__(
        self, mark: str | None = None, texts_of: Callable[[str], Iterable[Sequence[str]]] | None = None, *, has_one_mark: bool = False
    ) -> None:
        self._mark, self._texts_of, self._has_one_mark = mark, texts_of, has_one_mark
        self._choices: dict[str, Choice] = {}

    def read(self, column: str, texts: Arena) -> Floats:
        """The number that each text is, float64 (n,); NaN for others.

        Raises:
            InputError: The column has a number such as 1,234, and no text of it shows whether the comma is the decimal point.
        """
        commas, points = (bool((texts.bytes == ord(mark)).any()) for mark in (COMMA, POINT))
        mark = self._mark
        if mark is None and self._texts_of is not None and (commas or points):
            choice = self._choice(column, self._texts_of)
            mark = choice.made if choice.made == POINT and not commas else choice.of(texts.names())
        if not commas and not (points and mark == COMMA):
            try:
                floats = numbers(arrow_texts(texts).cast(pa.float64()))
                return np.where(np.isfinite(floats), floats, np.nan)
            except pa.ArrowInvalid:  # a text that Arrow does not read: white space, or no number
                pass
        return np.array([number_of(text) if mark is None else _number(text.strip(), mark) for text in texts.names()], np.float64)

    def _choice(self, column: str, texts_of: Callable[[str], Iterable[Sequence[str]]]) -> Choice:
        key = "" if self._has_one_mark else column
        if key not in self._choices:
            self._choices[key] = Choice(column, _mark_of, lambda: texts_of(column), RULE)
        return self._choices[key]


def _mark_of(text: str) -> str | None:
    """The decimal mark that a number shows."""
    text = text.strip()
    commas, points = text.count(COMMA), text.count(POINT)
    if not commas + points or _NUMERIC.fullmatch(text) is None:
        return None
    if commas and points:  # the last one
        return max(COMMA, POINT, key=text.rfind)
    if commas + points > 1:  # the other one
        return POINT if commas else COMMA
    if points:
        return POINT
    return UNCLEAR if _UNCLEAR.fullmatch(text) else COMMA


def _number(text: str, mark: str) -> float:
    other = POINT if mark == COMMA else COMMA
    if other in text:
        return number_of(text.replace(other, "").replace(mark, POINT)) if _GROUPED[mark].fullmatch(text) else np.nan
    return number_of(text.replace(mark, POINT))
