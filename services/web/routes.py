"""The API's description as a web page, made from the OpenAPI object: every route with its parameters, body and answer."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, Final, TypeAlias

Described: TypeAlias = Mapping[str, Any]

_HEAD: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Equirank: API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="{style}">
</head>
<body>
<header><a class="brand" href="/">Equirank</a><nav aria-label="Pages"><ul><li><a href="/">Pools</a></li>
<li><a href="/openapi.json">openapi.json</a></li></ul></nav></header>
<main>
<h1>API</h1>
<p>{about}</p>
"""
_FOOT: Final = "</main>\n</body>\n</html>\n"


def routes_page(api: Described, style: str) -> str:
    """The page as HTML. api: OpenAPI object. style: Address of the style sheet."""
    routes = [_route(path, verb, operation) for path, verbs in api["paths"].items() for verb, operation in verbs.items()]
    objects = [_object(name, schema) for name, schema in sorted(api["components"]["schemas"].items())]
    head = _HEAD.format(style=escape(style), about=escape(api["info"]["description"]))
    return "".join([head, *routes, "<h1>Objects</h1>\n", *objects, _FOOT])


def _route(path: str, verb: str, operation: Described) -> str:
    title = f'<section class="card route"><h2><code>{verb.upper()} {escape(path)}</code></h2>\n'
    parts = [title, _paragraphs(operation.get("description", ""))]
    query = [parameter for parameter in operation.get("parameters", ()) if parameter["in"] == "query"]
    rows = [(parameter["name"], parameter["schema"], False, parameter.get("description", "")) for parameter in query]
    good: Described = next((answer for status, answer in operation["responses"].items() if status.startswith("2")), {})
    bodies = _content(operation.get("requestBody", {}))
    parts += [_table("parameter", rows), *(f"<p>Body: {_description_or_type(schema)}</p>\n" for schema in bodies)]
    parts += [f"<p>Answer: {_description_or_type(schema)}</p>\n" for schema in _content(good)]
    return "".join([*parts, "</section>\n"])


def _content(body: Described) -> Iterator[Described]:
    """The schemas of a JSON body or answer."""
    schema = body.get("content", {}).get("application/json", {}).get("schema")
    if schema:
        yield from schema.get("oneOf", [schema])


def _description_or_type(schema: Described) -> str:
    return escape(schema["description"]) if "description" in schema else _type(schema)


def _object(name: str, schema: Described) -> str:
    required = schema.get("required", ())
    properties = schema.get("properties", {}).items()
    rows = [(field, kind, field in required, kind.get("description", "")) for field, kind in properties]
    head = f'<section class="card route" id="{escape(name)}"><h2>{escape(name)}</h2>\n'
    return f"{head}{_paragraphs(schema.get('description', ''))}{_table('field', rows)}</section>\n"


def _table(what: str, rows: Sequence[tuple[str, Described, bool, str]]) -> str:
    """A table as HTML; empty without rows. The column of meanings is left out if all are empty.

    rows: Name, schema, whether it is required, and meaning.
    """
    if not rows:
        return ""
    said = any(about for *_, about in rows)
    head = f"<tr><th>{what}</th><th>type</th>{'<th>meaning</th>' if said else ''}</tr>"
    return f"<table><thead>{head}</thead><tbody>\n{''.join(_row(*row, said=said) for row in rows)}</tbody></table>\n"


def _row(name: str, schema: Described, required: bool, about: str, *, said: bool) -> str:
    last = f"<td>{escape(about)}</td>" if said else ""
    return f"<tr><td><code>{escape(name)}</code>{' (required)' if required else ''}</td><td>{_kind(schema)}</td>{last}</tr>\n"


def _kind(schema: Described) -> str:
    """A schema's type in a few words, with its default, as HTML."""
    default = schema.get("default")
    return _type(schema) + ("" if default in (None, "", [], {}) else f", default {escape(str(default))}")


def _type(schema: Described) -> str:
    if "$ref" in schema:
        name = escape(str(schema["$ref"]).rpartition("/")[2])
        return f'<a href="#{name}">{name}</a>'
    if "oneOf" in schema:
        return " or ".join(_type(choice) for choice in schema["oneOf"])
    if "allOf" in schema:
        return _type(schema["allOf"][0])  # a reference beside a description
    if "enum" in schema:
        return escape(" or ".join(map(str, schema["enum"])))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items') or {})}"
    return escape(str(schema.get("type", "any")))


def _paragraphs(text: str) -> str:
    return "".join(f"<p>{escape(part)}</p>\n" for part in text.split("\n\n") if part.strip())
