"""Online methods with the options of a caller of the library."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.methods.recency import RECENCY
from ratings_core.methods.rosters import ROSTER
from ratings_core.online import RATERS, Rater
from ratings_core.options import Value

_OF_SOLVED: Final = frozenset(one.name for one in (*RECENCY, *ROSTER))
"""Options that every solved method has, and no online method."""


def rater_of(method: str, options: Mapping[str, Value]) -> Rater[Any]:
    """The online method `method`, one of `RATERS`, with options by name. Raises `InputError` for an unknown option or an invalid value."""
    known = [one.name for one in fields(RATERS[method])]  # type: ignore[arg-type]  # raters are dataclasses by their protocol
    for name, value in options.items():
        if name in _OF_SOLVED:
            rule = f"must be left out for {method}: only solved methods, such as bradley_terry, have it"
            recent = ", while an online method moves on with each game, so recent games count more by themselves"
            raise InputError(name, value, f"{rule}{recent if name == 'half_life' else ''}; {method} has {', '.join(known)}")
        if name not in known:
            raise InputError(name, value, f"must be an option of {method}: {', '.join(known)}{checks.similar(name, known)}")
    return RATERS[method](**options)
