"""The wire schema as JSON Schema (2020-12), for producers in other languages; docs/schema/outcome-v1.json is what this prints.

`python -m services.wire.schema` writes it to standard output.
"""

import json
import sys
from typing import Any, Final

from ratings_core.records.names import MAX_NAME_BYTES
from ratings_core.records.outcomes import MAX_AGENTS, MAX_SCORE, MAX_SIDES, MAX_WEIGHT, MIN_WEIGHT
from services.wire import rules

Schema = dict[str, Any]

_SPACE: Final = r"\u0020\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_REFUSED: Final = r"\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069"
# (?!\n)$ is the end of the text in every dialect: in some, $ alone also matches before a last line feed
_NAME_PATTERN: Final = rf"^(?![{_SPACE}])[^{_REFUSED}]+(?<![{_SPACE}])(?!\n)$"
_POOL_PATTERN: Final = r"^([a-z0-9][a-z0-9_-]{0,62}\.)?[a-z0-9][a-z0-9_-]{0,62}(?!\n)$"

_NOT_SAID: Final = (
    f"names and ids are at most {MAX_NAME_BYTES} bytes of UTF-8, not only characters, in NFC, without lone surrogates",
    f"an agent is named once in an outcome, and its sides hold at most {MAX_AGENTS} agents in all",
    "an array holds outcomes of one pool",
    f"meta is at most {rules.MAX_META_BYTES} bytes and nests at most {rules.MAX_META_DEPTH} deep",
    f"a record is at most {rules.MAX_RECORD_BYTES} bytes after decompression, and nests at most {rules.MAX_DEPTH} deep",
    "whole numbers are written without fraction or exponent (1, not 1.0)",
    "every number fits a double",
    "of a key given twice in one object the last value counts",
)


def schema() -> Schema:
    """A record: one outcome, or an array of them."""
    outcome: Schema = {"oneOf": [{"$ref": f"#/$defs/{name}"} for name in ("game", "scores", "retraction")]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Equirank outcome record, version 1",
        "description": f"A record of the outcome log. JSON Schema cannot say, yet the decoder holds to: {'; '.join(_NOT_SAID)}.",
        "oneOf": [{"$ref": "#/$defs/outcome"}, {"type": "array", "items": {"$ref": "#/$defs/outcome"}, "minItems": 1}],
        "$defs": {"outcome": outcome, "name": _name(), "side": _side(), "game": _game(), "scores": _scores(), "retraction": _retraction()},
    }


def text() -> str:
    """The schema as it stands in docs."""
    return json.dumps(schema(), indent=2) + "\n"


def _name() -> Schema:
    return {"type": "string", "minLength": 1, "maxLength": MAX_NAME_BYTES, "pattern": _NAME_PATTERN}


def _head() -> Schema:
    return {
        "v": {"const": 1, "description": "Version of the wire schema."},
        "id": {"$ref": "#/$defs/name", "description": "Names the outcome within its pool: sent twice, it counts once."},
        "pool": {"type": "string", "pattern": _POOL_PATTERN},
        "time": {"type": "number", "minimum": -rules.MAX_TIME, "maximum": rules.MAX_TIME, "description": "Seconds since 1970."},
        "meta": {"description": "Carried. A pool may keep numbers in it as features of its games."},
    }


def _weight() -> Schema:
    return {"type": "number", "minimum": MIN_WEIGHT, "maximum": MAX_WEIGHT, "default": 1.0}


def _side() -> Schema:
    return _closed(
        {
            "agents": {"type": "array", "items": {"$ref": "#/$defs/name"}, "minItems": 1, "maxItems": MAX_AGENTS, "uniqueItems": True},
            "place": {
                "type": "integer",
                "minimum": rules.MIN_PLACE,
                "maximum": rules.MAX_PLACE,
                "description": "Only compared: less is better, equal places tie.",
            },
        },
        ["agents", "place"],
    )


def _game() -> Schema:
    sides = {"type": "array", "items": {"$ref": "#/$defs/side"}, "minItems": 2, "maxItems": MAX_SIDES}
    task = {"anyOf": [{"$ref": "#/$defs/name"}, {"type": "null"}]}
    return _outcome({"sides": sides, "task": task, "weight": _weight()}, ["sides"])


def _scores() -> Schema:
    score = {"type": "number", "minimum": -MAX_SCORE, "maximum": MAX_SCORE}
    scores = {"type": "object", "propertyNames": {"$ref": "#/$defs/name"}, "additionalProperties": score, "minProperties": 1}
    return _outcome({"task": {"$ref": "#/$defs/name"}, "scores": scores, "weight": _weight()}, ["task", "scores"])


def _retraction() -> Schema:
    return _outcome({"retracts": {"$ref": "#/$defs/name", "description": "Id of the outcome that is not to count."}}, ["retracts"])


def _outcome(body: Schema, required: list[str]) -> Schema:
    return _closed({**_head(), **body}, ["v", "id", "pool", "time", *required])


def _closed(properties: Schema, required: list[str]) -> Schema:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


if __name__ == "__main__":
    sys.stdout.write(text())
