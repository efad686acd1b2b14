"""Parameters of solved methods: their types, defaults and bounds, and how values given as text or JSON become them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
        if isinstance(self.default, bool):
            return self._switch(value)
        if isinstance(self.default, str):
            return self._word(value)
        return self._number(value)

    def _switch(self, value: Value) -> bool:
        words: dict[Value, bool] = {"true": True, "false": False}
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value in words:
            return words[value]
        raise InputError(self.name, value, "must be true or false")

    def _word(self, value: Value) -> str:
        if isinstance(value, str) and (self.free or value in self.choices):
            return value
        raise InputError(self.name, value, "must be text" if self.free else f"must be one of {', '.join(self.choices)}")

    def _number(self, value: Value) -> float | int:
        whole = isinstance(self.default, int)
        try:
            number = math.nan if isinstance(value, bool) else float(value)
        except ValueError:
            number = math.nan
        if not self.low <= number <= self.high or (whole and number != int(number)):
            raise InputError(self.name, value, f"must be a {'whole ' if whole else ''}number from {self.low:g} to {self.high:g}")
        return int(number) if whole else number


def accepted(parameters: Sequence[Parameter], given: Mapping[str, Value]) -> dict[str, Value]:
    """Every parameter's value, given or default. Raises `InputError` for an unknown name."""
    known = {parameter.name: parameter for parameter in parameters}
    for name in given:
        if name not in known:
            raise InputError("parameter", name, f"must be one of {', '.join(known) or 'none (the method has no parameters)'}")
    return {name: parameter.accept(given[name]) if name in given else parameter.default for name, parameter in known.items()}
