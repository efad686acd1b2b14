"""Every rule of the wire schema: a case at its boundary that is taken, and one beyond it that is refused with its exact path."""

import json
from typing import Any

import pytest

from services.wire import events, rules
from services.wire.refusals import Reason

GAME: dict[str, Any] = {
    "v": 1,
    "id": "01J9",
    "pool": "blitz",
    "time": 1764547200.25,
    "sides": [{"agents": ["alice"], "place": 1}, {"agents": ["bob"], "place": 2}],
}
SCORES: dict[str, Any] = {"v": 1, "id": "01JA", "pool": "atari", "time": 0, "task": "pong", "scores": {"rainbow": 20.9}}
RETRACT: dict[str, Any] = {"v": 1, "id": "01JB", "pool": "blitz", "time": 0, "retracts": "01J9"}


def sides(*teams: list[str]) -> list[dict[str, Any]]:
    return [{"agents": team, "place": i} for i, team in enumerate(teams)]


def many(n: int, each: int = 1) -> list[dict[str, Any]]:
    return sides(*([f"a{i}-{k}" for k in range(each)] for i in range(n)))


def nested(depth: int) -> Any:
    return json.loads("[" * depth + "]" * depth)


def game(**fields: Any) -> dict[str, Any]:
    return {**GAME, **fields}


def scores(**fields: Any) -> dict[str, Any]:
    return {**SCORES, **fields}


def without(item: dict[str, Any], field: str) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key != field}


ACCEPTED = {
    "a game": GAME,
    "scores": SCORES,
    "a retraction": RETRACT,
    "64 sides": game(sides=many(64)),
    "4,096 agents": game(sides=many(64, 64)),
    "equal places": game(sides=[{"agents": ["a"], "place": 1}, {"agents": ["b"], "place": 1}]),
    "lowest and highest place": game(sides=[{"agents": ["a"], "place": -(2**31)}, {"agents": ["b"], "place": 2**31 - 1}]),
    "id of 256 bytes": game(id="é" * 128),
    "name of 256 bytes": game(sides=sides(["x" * 256], ["b"])),
    "name with inner space": game(sides=sides(["Côte d'Ivoire U 21"], ["b"])),
    "least weight": game(weight=0.001),
    "largest weight": scores(weight=1000),
    "no task": game(task=None),
    "a task": game(task="map-7"),
    "earliest time": game(time=-1e11),
    "latest time": game(time=1e11),
    "largest score": scores(scores={"a": 1e15, "b": -1e15}),
    "tenant": game(pool="acme.blitz_2-x"),
    "longest pool": game(pool="a" * 63 + "." + "b" * 63),
    "meta of 4 KiB": game(meta="x" * 4094),
    "meta null": game(meta=None),
    "deepest meta": game(meta=nested(32)),
    "tags": game(tags={"language": "English", "a-1_b": "Κύπρος"}),
    "no tags": scores(tags={}),
    "8 tags": scores(tags={f"k{i}": "v" for i in range(8)}),
    "longest key of a tag": game(tags={"k" * 32: "v"}),
    "tag of 64 bytes": game(tags={"k": "é" * 32}),
}

REFUSED = {
    "no object": (7, "$", "object"),
    "no version": (without(GAME, "v"), "$.v", "required"),
    "version 2": (game(v=2), "$.v", "version 2"),
    "version as text": (game(v="1"), "$.v", "whole number 1"),
    "version true": (game(v=True), "$.v", "whole number 1"),
    "no id": (without(GAME, "id"), "$.id", "required"),
    "no pool": (without(GAME, "pool"), "$.pool", "required"),
    "no time": (without(GAME, "time"), "$.time", "required"),
    "no body": (without(GAME, "sides"), "$", "exactly one of"),
    "two bodies": (game(scores={"a": 1}), "$", "sides and scores"),
    "unknown field": (game(wieght=1), "$.wieght", "is not a field"),
    "odd unknown field": (game(**{"a b": 1}), '$["a b"]', "is not a field"),
    "weight of a retraction": ({**RETRACT, "weight": 1}, "$.weight", "is not a field"),
    "scores without task": (without(SCORES, "task"), "$.task", "required"),
    "scores with null task": (scores(task=None), "$.task", "text"),
    "one side": (game(sides=many(1)), "$.sides", "2 to 64"),
    "65 sides": (game(sides=many(65)), "$.sides", "2 to 64"),
    "sides no array": (game(sides={}), "$.sides", "2 to 64"),
    "a side no object": (game(sides=[1, 2]), "$.sides[0]", "object"),
    "unknown field of a side": (
        game(sides=[{"agents": ["a"], "place": 1, "rank": 1}, *many(1)]),
        "$.sides[0].rank",
        "not a field of a side",
    ),
    "side without place": (game(sides=[*many(1), {"agents": ["a"]}]), "$.sides[1].place", "required"),
    "empty side": (game(sides=sides(["a"], [])), "$.sides[1].agents", "one or more"),
    "4,097 agents": (game(sides=[*many(63, 65), *sides(["last", "one more"])]), "$.sides[63].agents[1]", "4096th"),
    "agent twice": (game(sides=sides(["a"], ["b"], ["c", "a"])), "$.sides[2].agents[1]", "second time"),
    "agent against itself": (game(sides=sides(["a"], ["a"])), "$.sides[1].agents[0]", "second time"),
    "place as text": (game(sides=[{"agents": ["a"], "place": "1"}, *many(1)]), "$.sides[0].place", "whole number"),
    "place with fraction": (game(sides=[{"agents": ["a"], "place": 1.0}, *many(1)]), "$.sides[0].place", "without fraction"),
    "place too high": (game(sides=[{"agents": ["a"], "place": 2**31}, *many(1)]), "$.sides[0].place", "2147483647"),
    "place too low": (game(sides=[{"agents": ["a"], "place": -(2**31) - 1}, *many(1)]), "$.sides[0].place", "-2147483648"),
    "empty id": (game(id=""), "$.id", "1 to 256 bytes"),
    "id of 257 bytes": (game(id="é" * 128 + "x"), "$.id", "1 to 256 bytes"),
    "id not text": (game(id=5), "$.id", "text"),
    "name of 257 bytes": (game(sides=sides(["x" * 257], ["b"])), "$.sides[0].agents[0]", "1 to 256 bytes"),
    "name not NFC": (game(sides=sides(["e\u0301"], ["b"])), "$.sides[0].agents[0]", "NFC"),
    "leading space": (game(sides=sides([" a"], ["b"])), "$.sides[0].agents[0]", "white space"),
    "trailing odd space": (game(sides=sides(["a"], ["b\u3000"])), "$.sides[1].agents[0]", "white space"),
    "line feed inside": (game(sides=sides(["a\nb"], ["c"])), "$.sides[0].agents[0]", "control"),
    "delete character": (game(sides=sides(["a\x7fb"], ["c"])), "$.sides[0].agents[0]", "control"),
    "C1 control": (game(task="a\x9fb"), "$.task", "control"),
    "bidi override": (game(sides=sides(["a\u202eb"], ["c"])), "$.sides[0].agents[0]", "direction"),
    "bidi isolate": ({**RETRACT, "retracts": "a\u2066b"}, "$.retracts", "direction"),
    "lone surrogate": (game(task="a\ud800b"), "$.task", "UTF-8"),
    "empty task": (game(task=""), "$.task", "1 to 256 bytes"),
    "pool in capitals": (game(pool="Blitz"), "$.pool", "[tenant.]name"),
    "pool not text": (game(pool=None), "$.pool", "text"),
    "pool with line feed": (game(pool="blitz\n"), "$.pool", "[tenant.]name"),
    "weight too low": (game(weight=0.00099), "$.weight", "0.001 to 1000"),
    "weight too high": (game(weight=1000.1), "$.weight", "0.001 to 1000"),
    "weight null": (game(weight=None), "$.weight", "number"),
    "weight true": (game(weight=True), "$.weight", "number"),
    "time in milliseconds": (game(time=1764547200250), "$.time", "100000000000"),
    "time as text": (game(time="2026-01-01"), "$.time", "number"),
    "no scores": (scores(scores={}), "$.scores", "one or more"),
    "scores an array": (scores(scores=[1]), "$.scores", "object"),
    "score null": (scores(scores={"a": 1, "b": None}), '$.scores["b"]', "number"),
    "score too high": (scores(scores={"a": 1.1e15}), '$.scores["a"]', "1e+15"),
    "scored agent with space": (scores(scores={"a ": 1}), '$.scores["a "]', "white space"),
    "tags null": (game(tags=None), "$.tags", "object"),
    "tags an array": (game(tags=["a"]), "$.tags", "object"),
    "9 tags": (game(tags={f"k{i}": "v" for i in range(9)}), "$.tags", "at most 8"),
    "tag not text": (game(tags={"a": 1}), "$.tags.a", "text"),
    "empty tag": (game(tags={"a": ""}), "$.tags.a", "1 to 64 bytes"),
    "tag of 65 bytes": (scores(tags={"a": "é" * 32 + "x"}), "$.tags.a", "1 to 64 bytes"),
    "tag of 257 bytes": (game(tags={"a": "x" * 257}), "$.tags.a", "1 to 64 bytes"),
    "tag not NFC": (game(tags={"a": "e\u0301"}), "$.tags.a", "NFC"),
    "tag with space": (game(tags={"a": "b "}), "$.tags.a", "white space"),
    "tag that is half a surrogate pair": (game(tags={"a": "\ud800"}), "$.tags.a", "UTF-8"),
    "key of a tag in capitals": (game(tags={"Language": "English"}), "$.tags.Language", "lowercase"),
    "empty key of a tag": (game(tags={"": "English"}), '$.tags[""]', "lowercase"),
    "key of a tag of 33 characters": (game(tags={"k" * 33: "v"}), "$.tags." + "k" * 33, "1 to 32"),
    "key of a tag with line feed": (game(tags={"k\n": "v"}), '$.tags["k\\n"]', "lowercase"),
    "tags of a retraction": ({**RETRACT, "tags": {"a": "b"}}, "$.tags", "is not a field"),
    "meta over 4 KiB": (game(meta="x" * 4095), "$.meta", "4096 bytes"),
    "meta too deep": (game(meta=nested(33)), "$.meta", "32"),
}


def as_json(item: Any) -> bytes:
    return json.dumps(item, ensure_ascii="\ud800" in repr(item) or "\\ud800" in repr(item), separators=(",", ":")).encode()


@pytest.mark.parametrize("name", ACCEPTED)
def test_boundary_cases_are_taken(name: str) -> None:
    found = events.decode([as_json(ACCEPTED[name])])
    assert found.refusals == []
    assert (found.record, found.item) == ([0], [0])


@pytest.mark.parametrize("name", REFUSED)
def test_what_breaks_a_rule_is_refused_with_its_path(name: str) -> None:
    item, path, words = REFUSED[name]
    found = events.decode([as_json(item)])
    assert found.events == []
    (refusal,) = found.refusals
    assert (refusal.record, refusal.item, refusal.reason, refusal.path) == (0, 0, Reason.BAD_FIELD, path)
    assert words in refusal.rule


@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_item_of_an_array_fails_alone(name: str) -> None:
    item, path, _ = REFUSED[name]
    found = events.decode([b"[%b,%b,%b]" % (as_json(GAME), as_json(item), as_json(GAME))])
    assert (found.record, found.item) == ([0, 0], [0, 2])
    (refusal,) = found.refusals
    assert (refusal.item, refusal.path) == (1, "$[1]" + path[1:])


@pytest.mark.parametrize("name", ACCEPTED)
def test_the_explainer_finds_nothing_in_what_is_taken(name: str) -> None:
    raw = as_json(ACCEPTED[name])
    assert rules.broken_rule(rules.parse(raw), events.Raw(raw)) is None


HALVES = {
    "a key after it": b'{"a":"\\ud800","b":1}',
    "a number that no double holds": b'{"a":"\\ud800","b":1e999}',
    "a whole number of 500 digits": b'{"a":"\\ud800","b":' + b"9" * 500 + b"}",
    "another half": b'"\\ud800\\ud800"',
}


@pytest.mark.parametrize("name", HALVES)
def test_half_a_surrogate_pair_in_meta_is_refused_alone(name: str) -> None:
    bad = as_json(GAME)[:-1] + b',"meta":' + HALVES[name] + b"}"
    texts = [as_json(GAME), b'{"x" : 1e999}', bad, b"[]", as_json(GAME)]
    array = b" [ " + b" ,\n".join(texts) + b"\t]\r"
    found = events.decode([bad, array])
    assert (found.record, found.item) == ([1, 1], [0, 4])
    refused = [(0, 0, "$.meta"), (1, 1, "$[1].v"), (1, 2, "$[2].meta"), (1, 3, "$[3]")]
    assert [(refusal.record, refusal.item, refusal.path) for refusal in found.refusals] == refused
    assert events.item_texts(array) == texts  # as they were sent, so that a record that is made of them again is refused alike


def test_an_infinite_number_names_its_field() -> None:
    found = events.decode([as_json(GAME).replace(b"1764547200.25", b"1e999"), as_json(GAME).replace(b"1764547200.25", b"9" * 5000)])
    assert [(refusal.record, refusal.path) for refusal in found.refusals] == [(0, "$.time"), (1, "$.time")]
