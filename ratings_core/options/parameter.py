"""A parameter of a method: its type, default and bounds, and the conversion and check of a given value."""

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TypeAlias

from ratings_core.errors import InputError

Value: TypeAlias = float | int | str | bool


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter. The type of `default` is the type of the parameter.

    low, high: bounds of a number; choices: accepted words; free: whether any text is accepted.
    """

    name: str
    default: Value
    meaning: str
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()
    free: bool = False

    def accept(self, value: Value) -> Value:
        """Check `value`, after converting a text to a number or bool if the parameter has this type. Raises `InputError`."""
        return self.check(self._read(value) if isinstance(value, str) and not isinstance(self.default, str) else value)

    def check(self, value: object) -> Value:
        """`value` as the parameter's type. Raises `InputError` for another type, and for values outside the bounds or choices."""
        if isinstance(self.default, bool):
            return self._switch(value)
        if isinstance(self.default, str):
            return self._word(value)
        return self._number(value)

    def _read(self, text: str) -> Value:
        if isinstance(self.default, bool):
            return {"true": True, "false": False}.get(text, text)
        try:
            return float(text)
        except ValueError:
            return text

    def _switch(self, value: object) -> bool:
        if isinstance(value, bool):
            return value
        raise InputError(self.name, value, "must be true or false")

    def _word(self, value: object) -> str:
        if isinstance(value, str) and (self.free or value in self.choices):
            return value
        raise InputError(self.name, value, f"must be text ({self.meaning})" if self.free else f"must be one of {', '.join(self.choices)}")

    def _number(self, value: object) -> float | int:
        is_integer = isinstance(self.default, int)
        number = _double(value)
        if not self.low <= number <= self.high or (is_integer and not number.is_integer()):
            raise InputError(self.name, value, f"must be a {'whole ' if is_integer else ''}number from {self.low:g} to {self.high:g}")
        if not is_integer:
            return number
        return int(value) if isinstance(value, Integral) else int(number)


def _double(value: object) -> float:
    """`value` as a float; NaN if it is not a number or does not fit."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except (OverflowError, TypeError):  # TypeError: NumPy registers time differences as integers
        return math.nan
