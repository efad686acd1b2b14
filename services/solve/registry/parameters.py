"""Values of a solved method's parameters: those given, as text or JSON, and the defaults of the others."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from ratings_core.errors import InputError
from ratings_core.options import Options, Parameter, Value, parameters_of

Chosen = TypeVar("Chosen", bound=Options)


def chosen_options(record: type[Chosen], parameters: Mapping[str, Any]) -> Chosen:
    """The options of a method among accepted parameters; those that a service does not offer keep the record's defaults."""
    names = [parameter.name for parameter in parameters_of(record)]
    return record(**{name: parameters[name] for name in names if name in parameters})


def accepted(parameters: Sequence[Parameter], given: Mapping[str, Value]) -> dict[str, Value]:
    """Every parameter's value, given or default. Raises `InputError` for an unknown name."""
    known = {parameter.name: parameter for parameter in parameters}
    for name in given:
        if name not in known:
            raise InputError("parameter", name, f"must be one of {', '.join(known) or 'none (the method has no parameters)'}")
    return {name: parameter.accept(given[name]) if name in given else parameter.default for name, parameter in known.items()}
