"""One parameter of a method: its type, default and bounds, and how a value that is given becomes one that the method takes."""

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TypeAlias

from ratings_core.errors import InputError

Value: TypeAlias = float | int | str | bool


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter. default: its type is the parameter's; low, high: bounds of numbers; choices: of words; free: any text."""

    name: str
    default: Value
    meaning: str
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()
    free: bool = False

    def accept(self, value: Value) -> Value:
        """`value`, a number or bool also when written as text. Raises `InputError` for what the parameter cannot be."""
        return self.check(self._read(value) if isinstance(value, str) and not isinstance(self.default, str) else value)

    def check(self, value: object) -> Value:
        """`value` as the parameter's type. Raises `InputError` for another type and for what its bounds or choices exclude."""
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
        raise InputError(self.name, value, "must be text" if self.free else f"must be one of {', '.join(self.choices)}")

    def _number(self, value: object) -> float | int:
        whole = isinstance(self.default, int)
        number = _double(value)
        if not self.low <= number <= self.high or (whole and not number.is_integer()):
            raise InputError(self.name, value, f"must be a {'whole ' if whole else ''}number from {self.low:g} to {self.high:g}")
        if not whole:
            return number
        return int(value) if isinstance(value, Integral) else int(number)


def _double(value: object) -> float:
    """`value` as a double; NaN for what is no number or lies beyond doubles."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except (OverflowError, TypeError):  # TypeError: NumPy registers spans of time as integers
        return math.nan
