"""The exported JSON Schema says what the decoder does, but for the differences that it lists itself."""

import json
import math
import re
import unicodedata
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratings_core.records.names import hidden_character, is_name
from services.wire import events, schema

ROOT = Path(__file__).parents[3]
VALIDATOR = jsonschema.Draft202012Validator(schema.record_schema())
REQUESTS = jsonschema.Draft202012Validator(schema.outcome_schema())
EXAMPLE = re.compile(r"""\{"v":.*?\}(?=[`'\],\s]*$|`)""", re.MULTILINE)
"""An outcome as JSON in a page: it ends before a backquote, or with its line."""

GAME = {"v": 1, "id": "g", "pool": "blitz", "time": 0, "sides": [{"agents": ["a"], "place": 1}, {"agents": ["b"], "place": 2}]}
SCORES = {"v": 1, "id": "s", "pool": "blitz", "time": 0, "task": "t", "scores": {"a": 1}}
RETRACT = {"v": 1, "id": "r", "pool": "blitz", "time": 0, "retracts": "g"}

ODD = st.sampled_from(
    ["", " a", "a ", "a\n", "a\u2003", "a\u202eb", "\x1f", "\x7f", "é", "a b", "x" * 256, "x" * 257, None, True, 0, 1, 2, -1, 65, 1e15,
     1.1e15, 0.001, 0.0005, 1000, 1001, 1e11, 1.1e11, [], {}, [1], ["a"], {"a": 1}, {"a ": 1}, {"": 1}, "A.b", "a.b", ".a",
     {"a": "b"}, {"A": "b"}, {"a": "b "}, {"a": "x" * 65}]
)  # fmt: skip
FIELDS = st.sampled_from(["v", "id", "pool", "time", "sides", "task", "scores", "retracts", "weight", "meta", "tags", "x"])


@pytest.mark.parametrize(("name", "exported"), [("outcome-v1", schema.outcome_schema()), ("record-v1", schema.record_schema())])
def test_the_written_schemas_are_the_exported_ones(name: str, exported: schema.Schema) -> None:
    assert json.loads((ROOT / f"docs/schema/{name}.json").read_text(encoding="utf-8")) == exported, "run `make docs`"
    VALIDATOR.check_schema(exported)


@given(st.sampled_from([GAME, SCORES, RETRACT]), st.dictionaries(FIELDS, ODD, max_size=2), st.sets(FIELDS, max_size=2))
def test_the_schema_of_requests_accepts_what_the_service_accepts(
    base: dict[str, object], changed: dict[str, object], removed: set[str]
) -> None:
    item = {key: value for key, value in {**base, **changed}.items() if key not in removed}
    decoded = events.decode_request(json.dumps(item).encode(), now=0.0, new_id=lambda: "new", future_seconds=math.inf)
    assert REQUESTS.is_valid(item) == (not decoded.refusals), (item, decoded.refusals)


def test_every_outcome_in_the_documentation_is_one() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    examples = [(page.name, found) for page in pages for found in EXAMPLE.findall(page.read_text(encoding="utf-8"))]
    assert len(examples) >= 9
    for page, text in examples:
        errors = [error.message for error in REQUESTS.iter_errors(json.loads(text))]
        assert not errors, (page, text, errors)


def test_the_file_that_a_reader_takes_accepts_the_example_of_the_readme() -> None:
    """`outcome-v1.json` is the file that README names beside its example, and the one that is called as what is sent."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "docs/schema/outcome-v1.json" in readme
    taken = jsonschema.Draft202012Validator(json.loads((ROOT / "docs/schema/outcome-v1.json").read_text(encoding="utf-8")))
    (sent,) = re.findall(r"v1/outcomes [^\n]*-d '\n(.*?)'", readme, re.DOTALL)
    assert len(json.loads(sent)) > 1
    taken.validate(json.loads(sent))
    taken.validate(json.loads(sent)[0])
    assert not VALIDATOR.is_valid(json.loads(sent)), "records of the log have a time"


@given(st.sampled_from([GAME, SCORES, RETRACT]), st.dictionaries(FIELDS, ODD, max_size=2), st.sets(FIELDS, max_size=1))
def test_schema_and_decoder_agree(base: dict[str, object], changed: dict[str, object], removed: set[str]) -> None:
    item = {key: value for key, value in {**base, **changed}.items() if key not in removed}
    taken = bool(events.decode([json.dumps(item).encode()]).events)
    assert VALIDATOR.is_valid(item) == taken, item


@pytest.mark.parametrize("place", [1, -(2**31), 2**31, "1", True, None, 1.5])
@pytest.mark.parametrize("agents", [["a"], [], "a", ["a", "a"], ["a "], [1]])
def test_schema_and_decoder_agree_on_sides(place: object, agents: object) -> None:
    item = {**GAME, "sides": [{"agents": agents, "place": place}, {"agents": ["z"], "place": 0}]}
    assert VALIDATOR.is_valid(item) == bool(events.decode([json.dumps(item).encode()]).events)


def test_arrays_hold_outcomes() -> None:
    for record, valid in (([GAME, SCORES], True), ([], False), ([[GAME]], False), (3, False)):
        assert VALIDATOR.is_valid(record) is valid
        assert (not events.decode([json.dumps(record).encode()]).refusals) is valid


@pytest.mark.parametrize(
    "hidden", ["\u200b", "\u00ad", "\u061c", "\u115f", "\u180f", "\u2028", "\u206f", "\ufe00", "\ufffb", "\U0001d173", "\U000e0041"]
)
def test_new_names_hold_only_characters_that_are_displayed(hidden: str) -> None:
    name = f"a{hidden}b"
    sides = [{"agents": [name], "place": 1}, {"agents": ["b"], "place": 2}]
    for item in ({**GAME, "id": name}, {**GAME, "sides": sides}, {**GAME, "task": name}, {**SCORES, "scores": {name: 1}}):
        assert not VALIDATOR.is_valid(item)
        assert events.decode([json.dumps(item).encode()]).events, "logs may hold it"
    assert VALIDATOR.is_valid({**RETRACT, "retracts": name}), "an outcome that a log holds may have it"


@given(st.characters(exclude_categories=["Cs"]))
def test_the_pattern_of_new_names_is_their_rule(character: str) -> None:
    name = f"a{character}b"
    if unicodedata.is_normalized("NFC", name):
        assert VALIDATOR.is_valid({**GAME, "id": name}) == (is_name(name) and hidden_character(name) is None)


def test_the_differences_are_named() -> None:
    said = schema.record_schema()["description"]
    for difference in ("NFC", "one pool", "once", "meta", "1048576 bytes", "without fraction", "last value", "not displayed"):
        assert difference in said
