"""Arguments of a method, its options among them, as the method takes them."""

from collections.abc import Mapping
from typing import Any

from ratings_core.options import Options, parameters_of


def with_options(record: type[Options], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """`arguments` with those that are fields of `record` put into one of it, as `options`."""
    own = {parameter.name for parameter in parameters_of(record)} & arguments.keys()
    others = {name: value for name, value in arguments.items() if name not in own}
    return {**others, "options": record(**{name: arguments[name] for name in own})}
