"""Query parameters: those that a route does not have are refused, and errors name the parameter as the client wrote it."""

import re
from functools import cache
from typing import Final
from urllib.parse import parse_qsl

from litestar import Request
from litestar.exceptions import ValidationException
from litestar.handlers import BaseRouteHandler
from litestar.params import QueryParameter
from litestar.typing import FieldDefinition

from services.api.problems import ApiError

_WRONG_TYPE: Final = re.compile(r"Expected `(int|float|bool)(?: \| null)?`, got `str`")
"""What msgspec says of a text in a query that is not of the parameter's type."""
_OUT_OF_BOUNDS: Final = re.compile(r"Expected `(int|float)(?: \| null)?` [<>]=? \S+")
"""What msgspec says of a number outside the parameter's bounds. It names one bound of two."""
_TOO_LONG: Final = re.compile(r"Expected `(str|array)(?: \| null)?` of length <= (\d+)")
_NAMED: Final = 5
"""Most values of a parameter that an error repeats."""
_KINDS: Final = {"int": "a whole number", "float": "a number", "bool": "true or false"}
_BY_TIME: Final = {"position": ("at", "until"), "against": ("since",), "from": ("since",), "to": ("until",)}
"""Parameter of a log position -> the parameters of a route that name the same moment by time."""


async def known_parameters(request: Request) -> None:  # type: ignore[type-arg]
    """Raise `ApiError` for a query parameter that the route does not have, or that it takes once and is sent twice.

    Otherwise a typo would silently give the default. Called before each request to a route.
    """
    query = request.scope["query_string"]
    if not query:
        return
    known = _parameters(request.route_handler)
    met: set[str] = set()
    for name, _ in parse_qsl(query.decode("latin-1"), keep_blank_values=True):
        if name not in known:
            there = f"it has: {', '.join(known)}" if known else "it has none"
            raise ApiError(422, "no such parameter", f"{name!r} is not a query parameter of {request.scope['path_template']} ({there})")
        if name in met and not known[name].is_non_string_sequence:
            raise ApiError(422, "parameter sent twice", f"{name!r} is a parameter with one value")
        met.add(name)


def parameter_error_text(request: Request, error: ValidationException) -> str:  # type: ignore[type-arg]
    """Return the text of an error of parameters: each parameter, and the rule that it breaks."""
    broken = [entry for entry in error.extra or () if isinstance(entry, dict)] if isinstance(error.extra, list) else []
    names = {field.name: name for name, field in _parameters(request.route_handler).items()}
    return "; ".join(_text(request, names.get(key := entry.get("key", "")) or key, entry["message"]) for entry in broken) or error.detail


def _text(request: Request, name: str, rule: str) -> str:  # type: ignore[type-arg]
    if name == "data":  # the framework's name for a body, whose other errors `Decoded` writes
        return "the body is empty: send what /openapi.json describes"
    parameters = _parameters(request.route_handler)
    if wrong := _WRONG_TYPE.fullmatch(rule):
        rule = f"must be {_KINDS[wrong[1]]}"
        by_time = [other for other in _BY_TIME.get(name, ()) if other in parameters]
        rule += "".join(f", a position of the log; send {other} for a time" for other in by_time)
    elif name in parameters and (beyond := _OUT_OF_BOUNDS.fullmatch(rule)):
        rule = f"must be {_KINDS[beyond[1]]} {_bounds(parameters[name])}"
    elif long := _TOO_LONG.fullmatch(rule):
        rule = f"must have at most {long[2]} {'characters' if long[1] == 'str' else 'values'}"
    sent = request.query_params.getall(name, [])
    more = f" and {len(sent) - _NAMED} more" if len(sent) > _NAMED else ""
    return f"{name} is {', '.join(map(repr, sent[:_NAMED]))}{more}: {rule}" if sent else f"{name or 'request'}: {rule}"


def _bounds(field: FieldDefinition) -> str:
    """The bounds of a number, as text."""
    kind = field.kwarg_definition
    least, most = getattr(kind, "ge", None), getattr(kind, "le", None)
    if least is None or most is None:
        return f"of at least {least}" if most is None else f"of at most {most}"
    return f"from {least} to {most}"


@cache
def _parameters(handler: BaseRouteHandler) -> dict[str, FieldDefinition]:
    """Return the query parameters of a route by their names in a query."""
    signatures = [handler.parsed_fn_signature, *(dependency.parsed_fn_signature for dependency in handler.resolve_dependencies().values())]
    fields = [field for signature in signatures for field in signature.parameters.values()]
    return {kind.name or field.name: field for field in fields if isinstance(kind := field.kwarg_definition, QueryParameter)}
