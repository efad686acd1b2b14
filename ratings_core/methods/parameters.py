"""Values of a solved method's parameters: given values, as text or JSON, and defaults."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.options import Options, Parameter, Value, parameters_of

Chosen = TypeVar("Chosen", bound=Options)


def chosen_options(record: type[Chosen], parameters: Mapping[str, Any]) -> Chosen:
    """Make a method's option record from accepted parameters. Options that are not among them keep the record's defaults."""
    names = [parameter.name for parameter in parameters_of(record)]
    return record(**{name: parameters[name] for name in names if name in parameters})


def accepted(parameters: Sequence[Parameter], given: Mapping[str, Value]) -> dict[str, Value]:
    """The value of every parameter, given or default. Raises `InputError` for an unknown name or an invalid value."""
    known = {parameter.name: parameter for parameter in parameters}
    for name in given:
        if name not in known:
            names = ", ".join(known) or "none (the method has no parameters)"
            raise InputError("parameter", name, f"must be one of {names}{checks.similar(name, list(known))}")
    return {name: parameter.accept(given[name]) if name in given else parameter.default for name, parameter in known.items()}
