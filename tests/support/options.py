"""Methods and their options: as fields of a record, or as arguments beside the others."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ratings_core.options import Options, parameters_of


def record_of(method: Callable[..., Any]) -> type[Options] | None:
    """The class of the record that `method` takes as `options`; None for a method without."""
    parameter = inspect.signature(method).parameters.get("options")
    return type(parameter.default) if parameter is not None and isinstance(parameter.default, Options) else None


def arguments_of(method: Callable[..., Any]) -> list[str]:
    """Names of the arguments of `method`, the fields of its record of options in place of `options`."""
    record = record_of(method)
    fields = [field.name for field in parameters_of(record)] if record else []
    own = [name for name in inspect.signature(method).parameters if record is None or name != "options"]
    return [*own, *(name for name in fields if name not in own)]


def with_options(record: type[Options], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """`arguments` with those that are fields of `record` put into one of it, as `options`."""
    own = {parameter.name for parameter in parameters_of(record)} & arguments.keys()
    others = {name: value for name, value in arguments.items() if name not in own}
    return {**others, "options": record(**{name: arguments[name] for name in own})}


def called(method: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """What `method` returns for `arguments`, among which its options are given by name."""
    record = record_of(method)
    own = set(method.keywords) if isinstance(method, partial) else set()
    return method(**(with_options(record, arguments) if record and not own & {"options"} else arguments))
