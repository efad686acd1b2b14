"""The rules of the wire schema as text: which field of an outcome breaks which rule.

The typed decoder of `services.wire.events` gives only a verdict. This module reads a refused outcome again, field by field in the sender's
order, and names the first broken rule and the path of its field. Tests check that both give the same verdict.
"""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, NoReturn

import msgspec
import numpy as np

from ratings_core.errors import InputError
from ratings_core.records.names import check_name
from ratings_core.records.outcomes import MAX_AGENTS, MAX_SCORE, MAX_SIDES, MAX_TIME, MAX_WEIGHT, MIN_WEIGHT
from ratings_core.records.tags import broken_tag
from services.wire.pools import check_pool_name

MAX_RECORD_BYTES: Final = 1 << 20
MAX_ITEMS: Final = 32_768
"""Maximal number of items in an array. 1 MiB of JSON cannot hold that many valid outcomes; the limit only avoids half a million dead
letters for an array of as many zeros."""
MAX_META_BYTES: Final = 4096
MAX_DEPTH: Final = 64
MAX_META_DEPTH: Final = 32
MIN_PLACE: Final = -(2**31)
MAX_PLACE: Final = 2**31 - 1

_HEAD: Final = ("v", "id", "pool", "time")
_NEEDED: Final = {"sides": (*_HEAD, "sides"), "scores": (*_HEAD, "task", "scores"), "retracts": (*_HEAD, "retracts")}
_FIELDS: Final = {
    "sides": (*_HEAD, "sides", "task", "weight", "tags", "meta"),
    "scores": (*_HEAD, "task", "scores", "weight", "tags", "meta"),
    "retracts": (*_HEAD, "retracts", "meta"),
}
_SIDE: Final = ("agents", "place")
_LISTS: Final = dict.fromkeys(
    ("agents", "places"),
    "must match the other lists: agents and scores have equal lengths, and each agent is named once; agents, sides and places have "
    "equal lengths, sides count up from 0, and the agents of one side share its place",
)
"""Rule for the fields `agents` and `places`, which only columns have (`services.wire.bulk`). The JSON of a row has these fields if the
lists of the row do not form an outcome."""
_META_JSON_RULE: Final = "must be JSON with whole Unicode characters and numbers that a double can hold"
_LONG_NUMBER: Final = 400
_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
"""A JSON string, or the rest of the text after an unclosed quote. So the match never fails after a quote and reads every byte only once."""
_STEPS: Final = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
"""Translates each bracket to its change of the depth as int8: 1 or -1."""
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))
_SPACE: Final = re.compile(r"[ \t\n\r]*+")
_SHOWN_KEY: Final = 64
_any_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder()


class Broken(NamedTuple):
    """The first rule that an outcome breaks, and the path of the field in the sender's JSON."""

    path: str
    rule: str


class UnparsableError(ValueError):
    """The record is not valid JSON. The message is the rule that it breaks."""


class _BrokenError(Exception):
    def __init__(self, path: str, rule: str) -> None:
        self.broken = Broken(path, rule)
        super().__init__(f"{path} {rule}")


def parse(value: bytes) -> Any:
    """Parse the JSON text `value`. Numbers beyond the range of a double become infinite. Raises `UnparsableError` for invalid JSON."""
    try:
        return json.loads(value.decode(), parse_int=_parse_integer, parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise UnparsableError(f"must be UTF-8 (byte {error.start} is not)") from error
    except json.JSONDecodeError as error:
        raise UnparsableError(f"must be JSON ({error.msg.lower()} at character {error.pos})") from error


def item_texts(array: str) -> list[str]:
    """The unchanged text of each item of a JSON array. array: a text that `parse` accepts, with one or more items."""
    texts: list[str] = []
    at = array.index("[")
    while array[at] != "]":
        begin = _after_space(array, at + 1)
        _, end = _scanner.raw_decode(array, begin)
        texts.append(array[begin:end])
        at = _after_space(array, end)
    return texts


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return at if match is None else match.end()


def too_deep(value: bytes, limit: int = MAX_DEPTH) -> bool:
    """Whether the brackets of `value`, outside of its strings, nest deeper than `limit`. The time is linear in the length."""
    if value.count(b"[") + value.count(b"{") <= limit:
        return False
    steps = np.frombuffer(_STRING.sub(b"", value).translate(_STEPS, _NO_BRACKETS), np.int8)
    return int(steps.cumsum(dtype=np.int64).max(initial=0)) > limit


def items_rule(parsed: object) -> str | None:
    """The rule on the number of items that a parsed record breaks; None if it breaks none or is not an array."""
    return count_rule(len(parsed)) if isinstance(parsed, list) else None


def count_rule(outcomes: int) -> str | None:
    """The rule that a record with this number of outcomes breaks; None if the number is valid."""
    if 1 <= outcomes <= MAX_ITEMS:
        return None
    return f"must hold at most {MAX_ITEMS} outcomes, not {outcomes}" if outcomes else "must hold at least one outcome"


def meta_rule(raw: msgspec.Raw) -> str | None:
    """The rule that `meta` breaks; None if it is valid. raw: the unchanged JSON text of `meta` in the record."""
    data = bytes(raw)
    if len(data) > MAX_META_BYTES:
        return f"must be at most {MAX_META_BYTES} bytes"
    if too_deep(data, MAX_META_DEPTH):
        return f"must not nest deeper than {MAX_META_DEPTH}"
    try:
        _any_decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _META_JSON_RULE
    return None


def broken_rule(item: Any, raw: msgspec.Raw, path: str = "$") -> Broken | None:
    """The first rule that an outcome breaks; None if it is valid.

    Args:
        item: The outcome, parsed by `parse`.
        raw: The JSON text of the outcome.
        path: Path of the outcome in the record.
    """
    try:
        _check_outcome(item, path)
        if "meta" in item and (rule := _rule_of_meta(raw)) is not None:
            _break(f"{path}.meta", rule)
    except _BrokenError as error:
        return error.broken
    return None


def _rule_of_meta(raw: msgspec.Raw) -> str | None:
    try:
        return meta_rule(msgspec.json.decode(raw, type=_Meta).meta)
    except msgspec.DecodeError:  # `meta` has half a surrogate pair; the other fields were checked
        return _META_JSON_RULE


class _Meta(msgspec.Struct):
    meta: msgspec.Raw


def _check_outcome(item: Any, path: str) -> None:
    if not isinstance(item, dict):
        _break(path, "must be an object, one outcome")
    if "v" not in item:
        _break(f"{path}.v", "is required, the version of the wire schema (1)")
    _check_version(item["v"], f"{path}.v")
    body = _body_of(item, path)
    _check_fields(item, path, f"an outcome with {body}", _FIELDS[body], _NEEDED[body], _LISTS)
    for key, value in item.items():
        is_no_task = key == "task" and value is None and body == "sides"  # a game may have `"task": null`
        if key in _CHECKS and not is_no_task:
            _CHECKS[key](value, f"{path}.{key}")


def _check_fields(
    item: Mapping[str, Any], path: str, what: str, fields: Sequence[str], needed: Sequence[str], rules: Mapping[str, str]
) -> None:
    """Check that `item` has only `fields`, and all of `needed`. rules: the broken rules of other fields that have a rule of their own."""
    for key in item:
        if key not in fields:
            _break(member_path(path, key), rules.get(key, f"is not a field of {what}; its fields are {', '.join(fields)}"))
    for key in needed:
        if key not in item:
            _break(f"{path}.{key}", "is required")


def _body_of(item: Mapping[str, Any], path: str) -> str:
    bodies = [key for key in _NEEDED if key in item]
    if len(bodies) != 1:
        _break(path, f"must have exactly one of sides, scores and retracts, not {' and '.join(bodies) or 'none'}")
    return bodies[0]


def _check_version(value: Any, path: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        _break(path, "must be the whole number 1, the version of the wire schema")
    if value != 1:
        _break(path, f"must be 1: version {str(value)[:20]} of the wire schema is unknown")


def _check_text(value: Any, path: str, check: Callable[[str], object] = check_name) -> None:
    """Check that `value` is a text that keeps the rules of `check`. check: raises `InputError` for a text that breaks a rule."""
    if not isinstance(value, str):
        _break(path, "must be text")
    try:
        check(value)
    except InputError as error:
        raise _BrokenError(path, error.rule) from error


def _check_number(value: Any, path: str, low: float, high: float, *, integer: bool = False) -> None:
    if isinstance(value, bool) or not isinstance(value, int if integer else int | float):
        _break(path, "must be a whole number, written without fraction or exponent" if integer else "must be a number")
    if not low <= value <= high:
        _break(path, f"must be from {low:.15g} to {high:.15g}")


def _check_sides(value: Any, path: str) -> None:
    if not isinstance(value, list) or not 2 <= len(value) <= MAX_SIDES:
        _break(path, f"must be an array of 2 to {MAX_SIDES} sides")
    met: set[str] = set()
    for i, side in enumerate(value):
        _check_side(side, f"{path}[{i}]", met)


def _check_side(side: Any, path: str, met: set[str]) -> None:
    if not isinstance(side, dict):
        _break(path, "must be an object with agents and place")
    _check_fields(side, path, "a side", _SIDE, _SIDE, {})
    _check_number(side["place"], f"{path}.place", MIN_PLACE, MAX_PLACE, integer=True)
    _check_agents(side["agents"], f"{path}.agents", met)


def _check_agents(value: Any, path: str, met: set[str]) -> None:
    if not isinstance(value, list) or not value:
        _break(path, "must be an array of one or more agents")
    for i, agent in enumerate(value):
        _check_text(agent, f"{path}[{i}]")
        if agent in met:
            _break(f"{path}[{i}]", "must not name an agent a second time in one outcome")
        if len(met) >= MAX_AGENTS:
            _break(f"{path}[{i}]", f"must be at most the {MAX_AGENTS}th agent of the outcome")
        met.add(agent)


def _check_scores(value: Any, path: str) -> None:
    if not isinstance(value, dict) or not value:
        _break(path, "must be an object with one or more agents and their scores")
    for agent, score in value.items():
        where = member_path(path, agent, quoted=True)
        try:
            check_name(agent)
        except InputError as error:
            raise _BrokenError(where, f"is named by an agent that {error.rule}") from error
        _check_number(score, where, -MAX_SCORE, MAX_SCORE)


def _check_tags(value: Any, path: str) -> None:
    if (broken := broken_tag(value)) is not None:
        _break(path if broken.key is None else member_path(path, broken.key), broken.rule)


_CHECKS: Final[Mapping[str, Callable[[Any, str], None]]] = {
    "id": _check_text,
    "pool": partial(_check_text, check=check_pool_name),
    "time": partial(_check_number, low=-MAX_TIME, high=MAX_TIME),
    "sides": _check_sides,
    "task": _check_text,
    "scores": _check_scores,
    "retracts": _check_text,
    "tags": _check_tags,
    "weight": partial(_check_number, low=MIN_WEIGHT, high=MAX_WEIGHT),
}


def member_path(path: str, key: str, *, quoted: bool = False) -> str:
    """Path of the member `key` of the object at `path`. quoted: write the key always as quoted text, for keys with arbitrary characters."""
    if not quoted and re.fullmatch("[A-Za-z_][A-Za-z0-9_]{0,63}", key):
        return f"{path}.{key}"
    shown = key if len(key) <= _SHOWN_KEY else key[:_SHOWN_KEY] + "…"
    return f"{path}[{json.dumps(shown, ensure_ascii=not shown.isprintable())}]"


def _break(path: str, rule: str) -> NoReturn:
    raise _BrokenError(path, rule)


def _parse_integer(digits: str) -> int | float:
    return int(digits) if len(digits) < _LONG_NUMBER else math.copysign(math.inf, float(digits[0] + "1"))


def _refuse_constant(name: str) -> NoReturn:
    raise UnparsableError(f"must be JSON ({name} is no JSON number)")


_scanner: Final = json.JSONDecoder(parse_int=_parse_integer, parse_constant=_refuse_constant)
