"""Records of options: each field has a default, bounds and a meaning, and is checked when a record is created."""

import math
from collections.abc import Collection, Mapping
from dataclasses import field, fields, replace
from typing import Any, Final

from ratings_core.errors import InputError
from ratings_core.options.parameter import Parameter, Value

_KEY: Final = "parameter"


def option(
    default: Value, meaning: str, low: float = -math.inf, high: float = math.inf, *, choices: tuple[str, ...] = (), free: bool = False
) -> Any:
    """Define a field of a record of options.

    Args:
        default: Default value. Its type is the type of the field: bool, int, float or str.
        meaning: Effect of the option, with its unit, as a sentence fragment.
        low: Smallest number.
        high: Largest number.
        choices: Accepted words.
        free: Whether any text is accepted.

    """
    return field(default=default, metadata={_KEY: Parameter("", default, meaning, low, high, choices, free)})


class Options:
    """Base of records of options: frozen dataclasses with keyword-only fields made by `option`.

    Raises `InputError` with the field's name, the value and the rule for a value that the field does not accept.
    """

    __slots__ = ()

    def __post_init__(self) -> None:
        for parameter in parameters_of(type(self)):
            object.__setattr__(self, parameter.name, parameter.check(getattr(self, parameter.name)))

    @classmethod
    def require(cls, value: object) -> None:
        """Raises `InputError` for a value that is not a record of this class."""
        if not isinstance(value, cls):
            raise InputError("options", value, f"must be a record of {cls.__name__}")


def _all(record: type[Options]) -> tuple[Parameter, ...]:
    return tuple(replace(each.metadata[_KEY], name=each.name) for each in fields(record) if _KEY in each.metadata)  # type: ignore[arg-type]


def parameters_of(
    record: type[Options],
    *,
    defaults: Mapping[str, Value] | None = None,
    choices: Mapping[str, tuple[str, ...]] | None = None,
    leave_out: Collection[str] = (),
) -> tuple[Parameter, ...]:
    """The fields of a record as parameters, in their order.

    Args:
        record: Class of the record.
        defaults: New defaults, by field name.
        choices: Accepted words, a subset of those of the record, by field name.
        leave_out: Names of fields to omit.

    Raises:
        InputError: A name is not a field of the record, or a default or a word is not accepted.

    """
    own, defaults, choices = _all(record), defaults or {}, choices or {}
    names = {parameter.name for parameter in own}
    if unknown := sorted({*defaults, *choices, *leave_out} - names):
        raise InputError("option", unknown[0], f"must be one of {', '.join(sorted(names))}")
    return tuple(_changed(parameter, defaults, choices) for parameter in own if parameter.name not in leave_out)


def _changed(parameter: Parameter, defaults: Mapping[str, Value], choices: Mapping[str, tuple[str, ...]]) -> Parameter:
    default = parameter.check(defaults.get(parameter.name, parameter.default))
    words = tuple(str(parameter.check(word)) for word in choices.get(parameter.name, parameter.choices))
    return replace(parameter, default=default, choices=words)
