"""The wire schema as JSON Schema (2020-12), for producers in other languages. `scripts/reference` writes it to docs/schema.

The schema of records is stricter than their decoder in one rule: all characters of new names must be displayed.
"""

from typing import Any, Final

from ratings_core.records.names import INVISIBLE, MAX_NAME_BYTES
from ratings_core.records.outcomes import MAX_AGENTS, MAX_SCORE, MAX_SIDES, MAX_TIME, MAX_WEIGHT, MIN_WEIGHT
from ratings_core.records.tag_keys import MAX_TAG_BYTES, TAG_KEY
from ratings_core.records.tags import MAX_TAGS
from services.wire import rules

Schema = dict[str, Any]

_FILLED_IN: Final = ("id", "time")
"""Fields that the outcomes of a request may omit; the API fills them in."""

_SPACE: Final = r"\u0020\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_CONTROL: Final = r"\u0000-\u001f\u007f-\u009f"
_BIDI: Final = r"\u202a-\u202e\u2066-\u2069"
_HIDDEN: Final = "".join(char if char == "-" or char > "\uffff" else f"\\u{ord(char):04x}" for char in INVISIBLE)


def _pattern(refused: str) -> str:
    """Pattern of a text without the characters `refused` and without white space at both ends."""
    # (?!\n)$ means the end of the text in every dialect; $ alone also matches before a final line feed in some dialects
    return rf"^(?![{_SPACE}])[^{refused}]+(?<![{_SPACE}])(?!\n)$"


_NAME_PATTERN: Final = _pattern(_CONTROL + _HIDDEN)
_KNOWN_PATTERN: Final = _pattern(_CONTROL + _BIDI)
_POOL_PATTERN: Final = r"^([a-z0-9][a-z0-9_-]{0,62}\.)?[a-z0-9][a-z0-9_-]{0,62}(?!\n)$"

_HIDDEN_IN_LOGS: Final = "the decoder also accepts names and tags with characters that are not displayed, because logs can contain them"
_NOT_SAID: Final = (
    f"names and ids are at most {MAX_NAME_BYTES} bytes of UTF-8, not only characters, in NFC, without unpaired surrogates",
    f"values of tags follow the same rules and are at most {MAX_TAG_BYTES} bytes",
    f"an agent is named once in an outcome, and its sides hold at most {MAX_AGENTS} agents in all",
    _HIDDEN_IN_LOGS,
    "an array contains outcomes of one pool",
    f"meta is at most {rules.MAX_META_BYTES} bytes and nests at most {rules.MAX_META_DEPTH} deep",
    f"a record is at most {rules.MAX_RECORD_BYTES} bytes after decompression, and nests at most {rules.MAX_DEPTH} deep",
    "whole numbers are written without fraction or exponent (1, not 1.0)",
    "every number fits a double",
    "if a key is repeated in an object, the last value counts",
)


def record_schema() -> Schema:
    """Schema of a record: one outcome, or an array of outcomes."""
    outcome: Schema = {"oneOf": [{"$ref": f"#/$defs/{name}"} for name in ("game", "scores", "retraction")]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Equirank record of the outcome log, version 1",
        "description": "A record of the outcome log (the topic of Kafka): `id` and `time` are required. What POST /v1/outcomes takes is "
        f"outcome-v1.json, where the service fills them in. The decoder checks more than JSON Schema can express: {'; '.join(_NOT_SAID)}.",
        "oneOf": [{"$ref": "#/$defs/outcome"}, {"type": "array", "items": {"$ref": "#/$defs/outcome"}, "minItems": 1}],
        "$defs": {
            "outcome": outcome,
            "name": new_name(),
            "known_name": known_name(),
            "side": _side(),
            "game": _game(),
            "scores": _scores(),
            "retraction": _retraction(),
        },
    }


def outcome_schema() -> Schema:
    """Schema of outcomes as they are sent: the body of POST /v1/outcomes. It is `record_schema` with optional `id` and `time`."""
    document = record_schema()
    for kind in ("game", "scores", "retraction"):
        part = document["$defs"][kind]
        part["required"] = [name for name in part["required"] if name not in _FILLED_IN]
    document["title"] = "Equirank outcomes as they are sent, version 1"
    also = "; ".join(rule for rule in _NOT_SAID if rule != _HIDDEN_IN_LOGS)
    document["description"] = (
        "Body of POST /v1/outcomes. The service fills in an `id` and a `time` that are absent, and refuses a `time` too far in the future. "
        f"It checks more than JSON Schema can express: {also}."
    )
    return document


def new_name() -> Schema:
    """Schema of a name in a new outcome."""
    return {"type": "string", "minLength": 1, "maxLength": MAX_NAME_BYTES, "pattern": _NAME_PATTERN}


def known_name() -> Schema:
    """Schema of a name that a log may already hold, such as the id that a retraction names."""
    return {"type": "string", "minLength": 1, "maxLength": MAX_NAME_BYTES, "pattern": _KNOWN_PATTERN}


def _head() -> Schema:
    return {
        "v": {"const": 1, "description": "Version of the wire schema."},
        "id": {"$ref": "#/$defs/name", "description": "Identifies the outcome in its pool. An id that is sent twice counts once."},
        "pool": {"type": "string", "pattern": _POOL_PATTERN},
        "time": {"type": "number", "minimum": -MAX_TIME, "maximum": MAX_TIME, "description": "Seconds since 1970."},
        "meta": {"description": "Any JSON. Kept with the outcome; a pool can use numbers in it as features of its games."},
    }


def _weight() -> Schema:
    return {"type": "number", "minimum": MIN_WEIGHT, "maximum": MAX_WEIGHT, "default": 1.0}


def tags() -> Schema:
    """Schema of the tags of a new outcome."""
    value = {"type": "string", "minLength": 1, "maxLength": MAX_TAG_BYTES, "pattern": _NAME_PATTERN}
    return {
        "type": "object",
        "propertyNames": {"pattern": rf"^{TAG_KEY}(?!\n)$"},
        "additionalProperties": value,
        "maxProperties": MAX_TAGS,
        "description": "Texts by key that divide a pool's outcomes into slices, such as the language.",
    }


def _side() -> Schema:
    return _closed(
        {
            "agents": {"type": "array", "items": {"$ref": "#/$defs/name"}, "minItems": 1, "maxItems": MAX_AGENTS, "uniqueItems": True},
            "place": {
                "type": "integer",
                "minimum": rules.MIN_PLACE,
                "maximum": rules.MAX_PLACE,
                "description": "Place of the side: lower is better, equal places tie. Only the order counts.",
            },
        },
        ["agents", "place"],
    )


def _game() -> Schema:
    sides = {"type": "array", "items": {"$ref": "#/$defs/side"}, "minItems": 2, "maxItems": MAX_SIDES}
    task = {"anyOf": [{"$ref": "#/$defs/name"}, {"type": "null"}]}
    return _outcome({"sides": sides, "task": task, "weight": _weight(), "tags": tags()}, ["sides"])


def _scores() -> Schema:
    score = {"type": "number", "minimum": -MAX_SCORE, "maximum": MAX_SCORE}
    scores = {"type": "object", "propertyNames": {"$ref": "#/$defs/name"}, "additionalProperties": score, "minProperties": 1}
    return _outcome({"task": {"$ref": "#/$defs/name"}, "scores": scores, "weight": _weight(), "tags": tags()}, ["task", "scores"])


def _retraction() -> Schema:
    return _outcome({"retracts": {"$ref": "#/$defs/known_name", "description": "Id of the outcome to take back."}}, ["retracts"])


def _outcome(body: Schema, required: list[str]) -> Schema:
    return _closed({**_head(), **body}, ["v", "id", "pool", "time", *required])


def _closed(properties: Schema, required: list[str]) -> Schema:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
