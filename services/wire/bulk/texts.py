"""Conversion of a stream to JSON: an array with one outcome for each row, in the spelling of `events.encode`.

A field with a null value is omitted. Columns can have values that no outcome can have: lists that do not fit together, a `kind` other than
the row's, or `tags` or `meta` that is not JSON. Such a value is written as a field that no outcome has, so the decoder refuses only this
row.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

import msgspec
import pyarrow as pa
from msgspec import Raw

from services.wire import rules
from services.wire.bulk.layout import COLUMNS
from services.wire.rules import UnparsableError

_KINDS: Final = {"sides": "game", "scores": "scores", "retracts": "retraction"}
_NO_JSON: Final = ", which is no JSON text"
_DEPTH: Final = rules.MAX_DEPTH - 2
"""Levels of nesting that remain for a field inside of an outcome inside of an array."""
_ABSENT: Final = dict.fromkeys(COLUMNS)
_encoder: Final = msgspec.json.Encoder()


def array(table: pa.Table) -> bytes:
    """JSON array of all rows. table: result of `stream.read`."""
    return b"[" + b",".join([_encoder.encode(outcome(row)) for row in table.to_pylist()]) + b"]"


def outcome(row: Mapping[str, Any]) -> dict[str, Any]:
    """JSON object of one row, as a dictionary. row: value by column."""
    cells = _ABSENT | dict(row)
    body, task = _body(cells) | _given(cells, "retracts"), _given(cells, "task")
    made = {"v": 1, **_given(cells, "id", "pool", "time"), **(task | body if "scores" in body else body | task)}
    if cells["weight"] is not None and cells["weight"] != 1.0:
        made["weight"] = cells["weight"]
    if cells["kind"] is not None and [cells["kind"]] != [kind for field, kind in _KINDS.items() if field in made]:
        made["kind"] = cells["kind"]
    for name, text in _given(cells, "tags", "meta").items():
        made |= _json(name, text)
    return made


def _given(cells: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: cells[name] for name in names if cells[name] is not None}


def _body(cells: Mapping[str, Any]) -> dict[str, Any]:
    """The field `sides` or `scores` of an outcome; the unchanged lists if they do not fit together."""
    lists = _given(cells, "agents", "sides", "places", "scores")
    if len({len(values) for values in lists.values()}) == 1:
        if lists.keys() == {"agents", "sides", "places"} and _is_game(cells["sides"], cells["places"]):
            return {"sides": _sides(cells["agents"], cells["sides"], cells["places"])}
        if lists.keys() == {"agents", "scores"} and None not in cells["agents"] and len(set(cells["agents"])) == len(cells["agents"]):
            return {"scores": dict(zip(cells["agents"], cells["scores"], strict=True))}
    return lists


def _is_game(sides: list[int | None], places: list[int | None]) -> bool:
    """Whether sides count up from 0 and the agents of one side share its place."""
    if not sides or sides[0] != 0 or None in sides:
        return False
    rises = [later - former for former, later in pairwise(sides)]  # type: ignore[operator]  # holds no None
    return set(rises) <= {0, 1} and all(rise or here == before for rise, (before, here) in zip(rises, pairwise(places), strict=True))


def _sides(agents: list[str | None], sides: list[int], places: list[int | None]) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for agent, side, place in zip(agents, sides, places, strict=True):
        if side == len(made):
            made.append({"agents": [], "place": place})
        made[side]["agents"].append(agent)
    return made


def _json(name: str, text: str | bytes) -> dict[str, Any]:
    """The unchanged JSON of a field. The decoder checks its content. A text that is not JSON becomes an invalid field."""
    data = text.encode() if isinstance(text, str) else text
    try:
        if not rules.too_deep(data, _DEPTH):
            rules.parse(data)
            return {name: Raw(data)}
    except UnparsableError:
        pass
    return {f"{name}{_NO_JSON}": data.decode(errors="replace")}
