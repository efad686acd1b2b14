"""Battles of an arena: two models and a verdict, as JSON array, JSON lines or CSV."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ratings_core.errors import InputError
from ratings_core.formats.table import FormatError, name, number, read_table, text_lines

_RESULT: Final = {"model_a": (1, 2), "model_b": (2, 1), "tie": (1, 1), "tie (bothbad)": (1, 1), "both_bad": (1, 1)}
_TIMES: Final = ("tstamp", "timestamp")


@dataclass(frozen=True, slots=True)
class Battle:
    """One verdict. row: line of a CSV or JSON lines file, or number in a JSON array, from 1; places: of a and b; time: seconds or None."""

    row: int
    model_a: str
    model_b: str
    places: tuple[int, int]
    time: float | None
    content: str


@dataclass(frozen=True, slots=True)
class Battles:
    """All battles of a file, in its order. content of each: the whole row as text, for ids."""

    battles: tuple[Battle, ...]


def read_battles(text: str) -> Battles:
    """The battles in `text`. winner: model_a, model_b, tie, tie (bothbad) or both_bad; anything else is refused, never a draw.

    Raises `FormatError` naming row and field.
    """
    stripped = text.removeprefix("\ufeff").lstrip()
    if stripped.startswith("["):
        return Battles(tuple(_battle(row, item) for row, item in enumerate(_array(stripped), 1)))
    if stripped.startswith("{"):
        return Battles(tuple(_battle(row, _object(row, line)) for row, line in enumerate(text_lines(text), 1) if line.strip()))
    table = read_table(text)
    for column in ("model_a", "model_b", "winner"):
        table.column(column)
    rows = zip(table.lines, table.rows, strict=True)
    return Battles(tuple(_battle(line, dict(zip(table.header, row, strict=True))) for line, row in rows))


def _array(text: str) -> list[Any]:
    try:
        items = json.loads(text)
    except ValueError as error:
        raise InputError("battles", str(error), "must be a JSON array of battles") from error
    return list(items)


def _object(row: int, line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise FormatError(row, None, line, f"must be a JSON object ({error})") from error


def _battle(row: int, item: Any) -> Battle:
    if not isinstance(item, dict):
        raise FormatError(row, None, item, "must be an object")
    a, b = _model(item, row, "model_a"), _model(item, row, "model_b")
    if a == b:
        raise FormatError(row, "model_b", b, "must differ from model_a")
    winner = item.get("winner")
    if not isinstance(winner, str) or winner not in _RESULT:
        raise FormatError(row, "winner", winner, f"must be one of {', '.join(_RESULT)}")
    return Battle(row, a, b, _RESULT[winner], _time(item, row), json.dumps(item, sort_keys=True, ensure_ascii=False))


def _model(item: Mapping[str, Any], row: int, field: str) -> str:
    value = item.get(field)
    if not isinstance(value, str):
        raise FormatError(row, field, value, "must be the name of a model")
    return name(value, row, field)


def _time(item: Mapping[str, Any], row: int) -> float | None:
    for field in _TIMES:
        if item.get(field) not in (None, ""):
            return number(str(item[field]), row, field)
    return None
