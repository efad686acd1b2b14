"""Each method as a function: ``maximal_lottery(games, **options)``."""

from collections.abc import Callable
from functools import cache
from typing import Any

from ratings_core.front.rate import rate
from ratings_core.front.rating import Rating
from ratings_core.methods.registry import METHODS
from ratings_core.online import RATERS


@cache
def method_function(method: str) -> Callable[..., Rating]:
    """The function of a method. method: Name of a solved or an online method."""

    def rated(games: Any, **options: Any) -> Rating:
        return rate(games, method, **options)

    rated.__name__ = rated.__qualname__ = method
    rated.__doc__ = f"""`rate` with the method {method}. Its options: {", ".join(_options(method))}."""
    return rated


def _options(method: str) -> list[str]:
    if method in METHODS:
        return [parameter.name for parameter in METHODS[method].parameters] or ["none"]
    from dataclasses import fields  # noqa: PLC0415 - one use

    return [one.name for one in fields(RATERS[method])]  # type: ignore[arg-type]  # raters are dataclasses by their protocol
