"""Columns of times as seconds since 1970."""

import re
from datetime import UTC, datetime
from typing import Final

import numpy as np
import pyarrow as pa

from ratings_core.arrays.arena import Arena
from ratings_core.arrays.arrow import arrow_texts, numbers
from ratings_core.errors import InputError
from ratings_core.formats.tables.choice import UNCLEAR, Choice, Rest
from ratings_core.records.times import seconds
from ratings_core.solution import Floats

RULE: Final = "must be a date, a date and time, or seconds since 1970 (another format: --time-format)"
_SLASHES: Final = re.compile(r"(\d{1,2})[/.](\d{1,2})[/.](\d{4}|\d{2})(.*)", re.ASCII)
_WORDS: Final = (
    "%Y/%m/%d", "%Y.%m.%d", "%a %b %d %Y", "%a %d %b %Y", "%b %d %Y", "%b %d, %Y", "%B %d %Y", "%B %d, %Y", "%d %b %Y", "%d %B %Y",
    "%a, %d %b %Y", "%Y/%m/%d %H:%M:%S", "%Y/%m/%d %H:%M", "%a %b %d %H:%M:%S %Y",
)  # fmt: skip
_MONTHS: Final = 12
_DAY_FIRST: Final = "day first"
_MONTH_FIRST: Final = "month first"
_ORDER: Final = "must show whether the day or the month comes first: say it with --time-format %d/%m/%Y or %m/%d/%Y"
_SHORT_YEAR: Final = 2
_COMPACT: Final = len("20260131")
"""Eight digits are a date, not a number of seconds."""
_FIRST_COMPACT: Final = 10.0 ** (_COMPACT - 1)
"""The smallest number of eight digits."""


class Times:
    """Reads the texts of one column of times. Days written with slashes or points have one order in the whole column.

    Args:
        column: Name of the column, for errors.
        form: Format as in `strptime`; None to recognize it.
        rest: Reads the texts of the complete column.
    """

    def __init__(self, column: str, form: str | None = None, rest: Rest = tuple) -> None:
        self._column, self._form = column, form
        self._order = Choice(column, _order_of, rest, _ORDER)
        self._usual: str | None = None

    def read(self, packed: Arena) -> Floats:
        """Seconds since 1970 of distinct texts, float64 (n,); NaN for a text that is no time.

        Raises:
            InputError: Days such as 05/06/2026 occur, and no day of the column shows whether the day or the month comes first.
        """
        if self._form is None and (plain := _plain(packed)) is not None:
            return plain
        texts = packed.names()
        if self._form is None:
            self._order.of(text for text in texts if "/" in text)
        return np.array([self._seconds(text.strip()) for text in texts], np.float64)

    def of_numbers(self, values: Floats) -> Floats | None:
        """Seconds since 1970 of a column of numbers, float64 (n,), as `read` gives for their texts: NaN for one that is not finite.

        None if their texts must be read: with a format, or because a number of eight digits is a date.
        """
        if self._form is not None or ((values >= _FIRST_COMPACT) & (values < 10 * _FIRST_COMPACT)).any():
            return None
        return np.where(np.isfinite(values), values, np.nan)

    def _seconds(self, text: str) -> float:
        if self._form is not None:
            return _moment(text, self._form)
        if text.startswith("+"):  # a distance to another time, as in results of races
            return np.nan
        try:
            return seconds(text, self._column)
        except InputError:
            pass
        if (match := _SLASHES.fullmatch(text)) is not None:
            return self._of_slashes(match)
        for form in (self._usual, *_WORDS):
            if form is not None and (value := _moment(text, form)) == value:
                self._usual = form
                return value
        return np.nan

    def _of_slashes(self, match: re.Match[str]) -> float:
        first, second, year, rest = match.groups()
        day, month = (first, second) if self._order.made == _DAY_FIRST or "." in match[0][:6] else (second, first)
        form = "%y" if len(year) == _SHORT_YEAR else "%Y"
        clock = rest.strip()
        form_of_clock = {0: "", 1: " %H:%M", 2: " %H:%M:%S"}.get(clock.count(":"), "") if clock else ""
        return _moment(f"{day}/{month}/{year} {clock}".strip(), f"%d/%m/{form}{form_of_clock}")


def _plain(texts: Arena) -> Floats | None:
    """The times of ISO texts without a zone, or of numbers of seconds, all at once; None if there are other texts."""
    arrow = arrow_texts(texts)
    lengths = np.diff(texts.start)
    if len(texts) and (lengths != _COMPACT).all():
        try:
            seconds_ = numbers(arrow.cast(pa.float64()))
        except pa.ArrowInvalid:
            pass
        else:
            return seconds_ if np.isfinite(seconds_).all() else None
        try:
            return numbers(arrow.cast(pa.timestamp("us")).cast(pa.int64())) / 1e6
        except pa.ArrowInvalid:
            pass
    return None


def _order_of(text: str) -> str | None:
    """Whether the day or the month comes first in a text with slashes."""
    match = _SLASHES.fullmatch(text.strip())
    first, second = (0, 0) if match is None else (int(match[1]), int(match[2]))
    if first == second or min(first, second) > _MONTHS:
        return None
    if max(first, second) <= _MONTHS:
        return UNCLEAR
    return _DAY_FIRST if first > _MONTHS else _MONTH_FIRST


def _moment(text: str, form: str) -> float:
    try:
        moment = datetime.strptime(text, form)  # noqa: DTZ007 - the zone follows
    except ValueError:
        return np.nan
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
