"""Call methods whose options are fields of a record, with the options as plain arguments."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ratings_core.errors import InputError
from ratings_core.options import Options, parameters_of


def record_of(method: Callable[..., Any]) -> type[Options] | None:
    """Class of the record that `method` takes as `options`; None for a method without such a record."""
    parameter = inspect.signature(method).parameters.get("options")
    return type(parameter.default) if parameter is not None and isinstance(parameter.default, Options) else None


def arguments_of(method: Callable[..., Any]) -> list[str]:
    """Names of the arguments of `method`, with the fields of its record instead of `options`."""
    record = record_of(method)
    fields = [field.name for field in parameters_of(record)] if record else []
    own = [name for name in inspect.signature(method).parameters if record is None or name != "options"]
    return [*own, *(name for name in fields if name not in own)]


def with_options(record: type[Options], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a method: fields of `record` are moved from `arguments` into a record, the new argument `options`."""
    own = {parameter.name for parameter in parameters_of(record)} & arguments.keys()
    others = {name: value for name, value in arguments.items() if name not in own}
    return {**others, "options": record(**{name: arguments[name] for name in own})}


def called(method: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """Call `method` with `arguments`, which include its options by name, and return the result."""
    record = record_of(method)
    own = set(method.keywords) if isinstance(method, partial) else set()
    return method(**(with_options(record, arguments) if record and not own & {"options"} else arguments))


def assert_refused(call: Callable[[], object], what: str) -> None:
    """Require that `call` raises `InputError` with an argument and a rule. what: description of the bad value, for the failure."""
    try:
        found: object = call()
    except Exception as error:  # noqa: BLE001 - an error of any other type is a failure
        found = error
    assert isinstance(found, InputError), what
    assert (bool(found.argument), bool(found.rule)) == (True, True), what
