"""From a pool's settings to its online raters: the one place that says which settings can run."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ratings_core.errors import InputError
from ratings_core.online import RATERS, Rater
from services.control.records import FoldSettings
from services.wire.pools import Kind


def make_raters(kind: Kind, fold: FoldSettings) -> dict[str, Rater[Any]]:
    """The raters of a pool by name. Raises `InputError` for methods, parameters or values that cannot run."""
    methods = fold.methods(kind)
    if kind is Kind.SCORES and methods:
        raise InputError("fold.online", sorted(methods), "must be empty for a pool of scores: online raters fold games")
    return {name: _make(name, parameters) for name, parameters in methods.items()}


def _make(name: str, parameters: Mapping[str, float]) -> Rater[Any]:
    if name not in RATERS:
        raise InputError("fold.online", name, f"must be among {', '.join(RATERS)}")
    known = [field.name for field in fields(RATERS[name])]  # type: ignore[arg-type]  # raters are dataclasses by their protocol
    if unknown := sorted(set(parameters) - set(known)):
        raise InputError(f"fold.online.{name}", unknown[0], f"must be among {', '.join(known)}")
    return RATERS[name](**parameters)
