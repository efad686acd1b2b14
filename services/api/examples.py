"""Examples of answers in the OpenAPI document, made from their schemas: a route cannot lack one, and none can be outdated.

Values follow the names of fields, so an example shows the form of an answer. Its numbers do not belong together.
"""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

Schema: TypeAlias = Mapping[str, Any]
_TEXTS: Final[Mapping[str, str]] = {
    "pool": "blitz", "agent": "ann", "method": "elo", "kind": "games", "label": "Blitz chess", "source": "live", "status": "optimal",
    "task": "essay", "methods": "elo", "live": "elo", "solved": "bradley_terry", "agents": "ann", "ids": "game-1", "sides": "ann",
}  # fmt: skip
"""Texts by the name of the field. Lists take the text of their items."""
_NUMBERS: Final[Mapping[str, float]] = {
    "rating": 1512.5, "time": 1_790_000_000.0, "published_at": 1_790_000_000.0, "age_seconds": 0.4, "seconds": 0.02, "rank": 1,
    "position": 1042, "outcomes": 1000, "total": 128, "generation": 1, "number": 1, "start": 0,
}  # fmt: skip
_KEYS: Final[Mapping[str, str]] = {"positions": "blitz", "scores": "ann", "initial": "elo"}
"""Keys of tables by the name of the field."""
_DEPTH: Final = 8
"""Objects inside each other, after which lists and tables are left empty."""


def with_examples(document: Schema) -> dict[str, Any]:
    """Return a copy of an OpenAPI document in which each JSON answer without an example has one."""
    components = document["components"]["schemas"]
    paths = {
        path: {
            verb: {**route, "responses": {status: _response(one, components) for status, one in route["responses"].items()}}
            for verb, route in verbs.items()
        }
        for path, verbs in document["paths"].items()
    }
    return {**document, "paths": paths}


def _response(response: Schema, components: Schema) -> Schema:
    """Return a JSON response with an example. Problems have their own media type and are left as they are."""
    content = response.get("content", {}).get("application/json")
    if content is None or "example" in content or "examples" in content:
        return response
    found = {**content, "example": example(content.get("schema", {}), components)}
    return {**response, "content": {**response["content"], "application/json": found}}


def example(schema: Schema, components: Schema, name: str = "", depth: int = 0) -> Any:
    """Return a value that `schema` allows. components: schemas by name. name: field that holds the value. depth: objects around it."""
    schema = resolved(schema, components)
    given = schema.get("examples") or ([schema["const"]] if "const" in schema else schema.get("enum"))
    if given:
        return given[0]
    match schema.get("type"):
        case "object":
            return _object(schema, components, name, depth)
        case "array":
            return _array(schema, components, name, depth)
        case "string":
            return _TEXTS.get(name, "text")
        case "integer":
            return max(int(_NUMBERS.get(name, 1)), schema.get("minimum", 0))
        case "number":
            return _NUMBERS.get(name, 0.5)
        case "boolean":
            return False
    return schema.get("default")


def resolved(schema: Schema, components: Schema) -> Schema:
    """Return the schema behind references and the first alternative that is not null."""
    while True:
        if "$ref" in schema:
            schema = components[schema["$ref"].rpartition("/")[2]]
        elif wrapped := next((schema[key] for key in ("oneOf", "anyOf", "allOf") if key in schema), None):
            schema = next((one for one in wrapped if one.get("type") != "null"), wrapped[0])
        else:
            return schema


def _object(schema: Schema, components: Schema, name: str, depth: int) -> dict[str, Any]:
    if "properties" in schema:
        required = schema.get("required", ())
        return {field: example(one, components, field, depth + 1) for field, one in schema["properties"].items() if field in required}
    values = schema.get("additionalProperties")
    return {_KEYS.get(name, "elo"): example(values, components, "", depth + 1)} if isinstance(values, Mapping) and depth < _DEPTH else {}


def _array(schema: Schema, components: Schema, name: str, depth: int) -> list[Any]:
    if "prefixItems" in schema:
        return [example(one, components, name, depth + 1) for one in schema["prefixItems"]]
    if "items" not in schema or depth >= _DEPTH:
        return []
    return [example(schema["items"], components, name, depth + 1)] * max(1, schema.get("minItems", 1))
