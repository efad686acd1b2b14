"""What `scripts/reference` writes from the OpenAPI document: docs/reference/api.md, and the types and methods of the client."""

import json
import keyword
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from urllib.parse import urlencode

from services.api.examples import resolved

Schema: TypeAlias = Mapping[str, Any]
_JSON: Final = "application/json"
_EVENTS: Final = "text/event-stream"
_SIMPLE: Final = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_WRITTEN: Final = "# Written by `make docs` from the OpenAPI document; a test compares.\n"


@dataclass(frozen=True)
class Route:
    """A route of the document. method, path: as in HTTP; about: its operation."""

    method: str
    path: str
    about: Schema

    @property
    def name(self) -> str:
        """The operation's id."""
        return str(self.about["operationId"])

    @property
    def tag(self) -> str:
        """The group of the route."""
        return str(self.about["tags"][0])

    def parameters(self, place: str) -> list[Schema]:
        """Its parameters in `path` or `query`, in the order of the document."""
        return [one for one in self.about.get("parameters", ()) if one["in"] == place]

    @property
    def body(self) -> Schema | None:
        """Schema of the JSON body; None without one."""
        found: Schema | None = self.about.get("requestBody", {}).get("content", {}).get(_JSON, {}).get("schema")
        return found

    @property
    def answers(self) -> Mapping[str, Schema]:
        """Media type -> its entry, of the first successful answer."""
        good = next(one for status, one in sorted(self.about["responses"].items()) if status.startswith("2"))
        found: Mapping[str, Schema] = good.get("content", {})
        return found

    @property
    def problems(self) -> dict[str, str]:
        """Status -> meaning, of the answers that report a problem."""
        return {status: one["description"] for status, one in sorted(self.about["responses"].items()) if status >= "300"}

    @property
    def repeatable(self) -> bool:
        """Whether the request may be sent again although it may have been processed: it reads, or it sets a state."""
        return self.method in {"GET", "HEAD", "PUT", "PATCH"} or not self.may_need_key

    @property
    def needs_key(self) -> bool:
        """Whether every request needs a key, where the installation has keys: hidden agents need one, and the others do not."""
        return self.may_need_key and all(one["name"] != "hidden" for one in self.parameters("query"))

    @property
    def may_need_key(self) -> bool:
        """Whether a request can be refused for its key."""
        return bool({"401", "403"} & self.about["responses"].keys())


def routes(document: Schema) -> list[Route]:
    """All routes, by tag and then in the order of their paths."""
    operations = [(path, verb, about) for path, verbs in document["paths"].items() for verb, about in verbs.items()]
    found = [Route(verb.upper(), path, about) for path, verb, about in operations if verb != "head"]
    return sorted(found, key=lambda one: (one.tag == "health", one.tag, one.path, one.method))


# types of Python


def python_type(schema: Schema) -> str:
    """The annotation of a value of this schema."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if wrapped := next((schema[key] for key in ("oneOf", "anyOf", "allOf") if key in schema), None):
        return " | ".join(dict.fromkeys(sorted(map(python_type, wrapped), key=lambda kind: kind == "None")))
    if "enum" in schema:
        return f"Literal[{', '.join(map(repr, schema['enum']))}]"
    match schema.get("type"):
        case "array" if "prefixItems" in schema:
            return f"tuple[{', '.join(map(python_type, schema['prefixItems']))}]"
        case "array":
            return f"list[{python_type(schema.get('items', {}))}]"
        case "object":
            values = schema.get("additionalProperties", {})
            return f"dict[str, {python_type(values) if isinstance(values, Mapping) else 'Any'}]"
        case str(simple):
            return _SIMPLE[simple]
    return "Any"


def _identifier(name: str) -> str:
    plain = re.sub(r"\W", "_", name)
    return f"{plain}_" if keyword.iskeyword(plain) or plain in {"self", "body"} else plain


def _default(schema: Schema) -> tuple[str, str]:
    """The annotation and the default of a field that may be absent."""
    kind, default = python_type(schema), schema.get("default")
    if isinstance(default, list | dict) and default:
        return kind, f"msgspec.field(default_factory=lambda: {default!r})"
    if default is not None:
        return kind, repr(default)
    if kind.startswith(("list[", "dict[")) and "|" not in kind.partition("[")[0] and "None" not in kind.rpartition("]")[2]:
        return kind, "[]" if kind.startswith("list[") else "{}"
    return (kind if kind == "Any" or kind.endswith("None") else f"{kind} | None"), "None"


def _field(name: str, schema: Schema, *, required: bool) -> str:
    kind, default = (python_type(schema), "") if required else _default(schema)
    field = _identifier(name)
    if field != name:
        given = f"default={default}, " if default else ""
        return f'    {field}: {kind} = msgspec.field({given}name="{name}")\n'
    return f"    {field}: {kind}{f' = {default}' if default else ''}\n"


def _struct(name: str, schema: Schema) -> str:
    if "enum" in schema:
        return f"{name}: TypeAlias = {python_type(schema)}\n"
    fields = schema.get("properties", {})
    fixed = [(field, one["const"]) for field, one in fields.items() if "const" in one]
    tag = "".join(f", tag_field={field!r}, tag={value!r}" for field, value in fixed[:1])
    shown = {field: one for field, one in fields.items() if "const" not in one}
    attributes = [f"        {_identifier(field)}: {one['description']}\n" for field, one in shown.items() if "description" in one]
    text = schema.get("description") or f"The object `{name}`."
    documented = f"{text}\n\n    Attributes:\n{''.join(attributes)}    " if attributes else text
    rows = [_field(field, one, required=field in schema.get("required", ())) for field, one in shown.items()]
    head = f"class {name}(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True{tag}):\n"
    return "".join([head, f'    r"""{documented}"""\n', "\n" if rows else "", *rows])


_STRUCTS_HEAD: Final = (
    '"""Types of the bodies and answers of the API. An optional field that an answer lacks has its default, in most cases None."""\n\n'
    + _WRITTEN
    + "\nfrom __future__ import annotations\n\nfrom typing import Any, Literal, TypeAlias\n\nimport msgspec\n"
)


def client_structs(document: Schema) -> str:
    """services/client/equirank_client/structs.py."""
    components = document["components"]["schemas"]
    words = sorted(name for name in components if "enum" in components[name])
    others = sorted(name for name in components if name not in words)
    return _STRUCTS_HEAD + "".join(f"\n\n{_struct(name, components[name])}" for name in [*words, *others])


# methods of the client

_CLIENT_HEAD: Final = (
    '"""The client and its asynchronous twin: one method for each operation of the API."""\n\n'
    + _WRITTEN
    + """
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from equirank_client.calls import Call, path, with_ids
from equirank_client.connection import AsyncConnection, AsyncDownload, AsyncEvents, Connection, Download, Events
from equirank_client.structs import *


"""
)


@dataclass(frozen=True)
class _Method:
    """A method of the client. kind: how the answer is read. formats: values of `format` to choose from, for a download beside JSON."""

    route: Route
    name: str
    kind: str
    answer: str
    formats: Sequence[str] = ()


def _methods(route: Route, components: Schema) -> Iterator[_Method]:
    """The methods of a route: one for its JSON, text or events, and one for downloads in its other formats."""
    answers = route.answers
    others = [kind for kind in answers if kind not in {_JSON, _EVENTS} and not kind.startswith("text/plain")]
    if _EVENTS in answers:
        yield _Method(route, route.name, "events", "Events")
    elif _JSON in answers:
        yield _Method(route, route.name, "value", python_type(answers[_JSON]["schema"]))
        if others:
            yield _Method(route, f"download_{re.sub('^(get|list)_', '', route.name)}", "download", "Download", _formats(route, components))
    elif others:
        yield _Method(route, route.name, "download", "Download")
    else:
        yield _Method(route, route.name, "value", "str")


def _formats(route: Route, components: Schema) -> list[str]:
    """The values of the parameter `format` besides JSON."""
    (schema,) = (one["schema"] for one in route.parameters("query") if one["name"] == "format")
    return [one for one in resolved(schema, components)["enum"] if one != "json"]


def _query(method: _Method) -> list[Schema]:
    """The query parameters of a method. A choice of the format is made by the method itself where JSON is one of them."""
    chosen = _JSON in method.route.answers and len(method.route.answers) > 1
    return [one for one in method.route.parameters("query") if not (chosen and one["name"] == "format")]


def _body_type(schema: Schema) -> str:
    """The annotation of a body. One value or a list of them is sent as a sequence, also of parsed JSON."""
    names = [python_type(one) for one in schema.get("oneOf", [schema]) if "$ref" in one]
    return f"Sequence[{' | '.join([*names, 'Mapping[str, Any]'])}]" if len(names) > 1 else python_type(schema)


def _signature(method: _Method) -> str:
    route, optional = method.route, []
    arguments = ["self", *(f"{_identifier(one['name'])}: str" for one in route.parameters("path"))]
    if route.body is not None:
        arguments.append(f"body: {_body_type(route.body)}")
    named = [f"{_identifier(one['name'])}: {_argument_type(one)}" for one in _query(method) if one.get("required")]
    for one in _query(method):
        if not one.get("required"):
            kind = _argument_type(one)
            optional.append(f"{_identifier(one['name'])}: {kind if kind.endswith('None') else f'{kind} | None'} = None")
    if method.formats:
        choice = f"format: Literal[{', '.join(map(repr, method.formats))}]"
        named.append(f"{choice} = {method.formats[0]!r}" if len(method.formats) == 1 else choice)
    named += optional
    return ", ".join([*arguments, *(["*", *named] if named else [])])


def _argument_type(parameter: Schema) -> str:
    return python_type(parameter["schema"]).replace("list[", "Sequence[")


def _call(method: _Method) -> str:
    route = method.route
    names = "".join(f", {one['name']}={_identifier(one['name'])}" for one in route.parameters("path"))
    given = [f'"{route.method}"', f'path("{route.path}"{names})']
    if query := [*(["format"] if method.formats else []), *(one["name"] for one in _query(method))]:
        pairs = ", ".join(f"{name!r}: {_identifier(name)}" for name in query)
        given.append(f"query={{{pairs}}}")
    has_ids = route.body is not None and len(route.body.get("oneOf", ())) > 1
    if route.body is not None:
        given.append("body=with_ids(body)" if has_ids else "body=body")
    media = "*/*" if method.kind == "download" else next(iter(route.answers), "*/*")
    given.append(f"accept={media!r}")
    given.append(f"repeatable={route.tag != 'health' and (has_ids or route.repeatable)}")
    return f"Call({', '.join(given)})"


def _method_source(method: _Method, *, wait: bool) -> str:
    """A method of the client, or of its asynchronous twin."""
    value = method.kind == "value"
    answer = method.answer if value or not wait else f"Async{method.answer}"
    run = {"value": f"self._value({_call(method)}, {method.answer})", "events": f"self._events({_call(method)})"}
    body = run.get(method.kind, f"self._download({_call(method)})")
    text = method.route.about.get("description", "").strip()
    indented = "\n".join(f"        {line}".rstrip() for line in text.splitlines()).strip()
    head = f"    {'async ' if wait and value else ''}def {method.name}({_signature(method)}) -> {answer}:\n"
    return f'{head}        r"""{indented}"""\n        return {"await " if wait and value else ""}{body}\n'


def client_methods(document: Schema) -> str:
    """services/client/equirank_client/client.py."""
    components = document["components"]["schemas"]
    found = [method for route in routes(document) for method in _methods(route, components)]
    classes = []
    for wait, name, text in ((False, "", "Reads and writes an installation"), (True, "Async", "The same for asyncio")):
        head = f'class {name}Client({name}Connection):\n    """{text}. Errors and arguments: `{name}Connection`."""\n\n'
        classes.append(head + "\n".join(_method_source(one, wait=wait) for one in found))
    return _CLIENT_HEAD + "\n\n".join(classes)


# the page

_PAGE_HEAD: Final = """# The API

Written by `make docs` from the OpenAPI document, which the service sends at `/openapi.json`; a test compares.

Examples of answers show their form; their numbers do not belong together. Errors are [`Problem`](#problem) objects of the media type
`application/problem+json`. The methods of the [client](../guides/client.md) have the names of the operations.
[Which method answers](../guides/choose-methods.md#which-method-answers) a request that names none is one table. In the examples,
`client = Client("http://127.0.0.1:8000")`.
"""


def api_page(document: Schema) -> str:
    """docs/reference/api.md."""
    found, components = routes(document), document["components"]["schemas"]
    tags = list(dict.fromkeys(one.tag for one in found))
    parts = [_PAGE_HEAD]
    for tag in tags:
        parts.append(f"\n## Routes: {tag}\n")
        parts += [_route_section(one, components) for one in found if one.tag == tag]
    parts.append("\n## Objects\n")
    parts += [_object_section(name, components[name]) for name in sorted(components)]
    return "".join(parts)


def _route_section(route: Route, components: Schema) -> str:
    parts = [f"\n### {route.name}\n\n`{route.method} {route.path}`\n\n{route.about.get('description', '').strip()}\n"]
    if parameters := [*route.parameters("path"), *route.parameters("query"), *route.parameters("header")]:
        parts.append("\n| parameter | in | type | default | meaning |\n| --- | --- | --- | --- | --- |\n")
        parts += [_parameter_row(one) for one in parameters]
    if route.body is not None:
        parts.append(f"\nBody: {_linked(route.body)}.\n")
    for kind, entry in route.answers.items():
        schema = entry.get("schema", {})
        parts.append(f"\nAnswer (`{kind}`): {_linked(schema)}.\n" if schema.get("format") != "binary" else f"\nAnswer: `{kind}`.\n")
        if "example" in entry:
            fields = components.get(schema.get("$ref", "").rpartition("/")[2], {}).get("properties", {})
            names = f"Fields: {', '.join(f'`{name}`' for name in fields)}.\n\n" if fields else ""
            parts.append(f"\n{names}```json\n{_short_json(entry['example'])}\n```\n")
    parts += ["\n| status | meaning |\n| --- | --- |\n", *(f"| {status} | {_cell(text)} |\n" for status, text in route.problems.items())]
    parts += [
        f"\n```sh\n{curl_example(route, components)}\n```\n",
        *(f"\n```text\n{one}\n```\n" for one in client_examples(route, components)),
    ]
    return "".join(parts)


def _parameter_row(one: Schema) -> str:
    schema = one["schema"]
    default = "required" if one.get("required") else f"`{json.dumps(schema['default'])}`" if "default" in schema else "none"
    text = one.get("description") or schema.get("description", "")
    return f"| `{one['name']}` | {one['in']} | {_linked(schema)} | {default} | {_cell(text)} |\n"


def _object_section(name: str, schema: Schema) -> str:
    text = f"\n### {name}\n\n{_prose(schema.get('description', ''))}"
    if "enum" in schema:
        return f"{text}One of {', '.join(f'`{value}`' for value in schema['enum'])}.\n"
    rows = [
        f"| `{field}` | {_linked(one)} | {'yes' if field in schema.get('required', ()) else 'no'} | {_cell(one.get('description', ''))} |\n"
        for field, one in schema.get("properties", {}).items()
    ]
    return "".join([text, "| field | type | always | meaning |\n| --- | --- | --- | --- |\n", *rows])


def _prose(text: str) -> str:
    return f"{text.strip()}\n\n" if text else ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _linked(schema: Schema) -> str:
    """The type of a value in words, with links to objects."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if wrapped := next((schema[key] for key in ("oneOf", "anyOf", "allOf") if key in schema), None):
        return " or ".join(dict.fromkeys(map(_linked, wrapped)))
    if choices := schema.get("enum", [schema["const"]] if "const" in schema else None):
        return ", ".join(f"`{json.dumps(one)}`" for one in choices)
    match schema.get("type"):
        case "array" if "prefixItems" in schema:
            return f"[{', '.join(map(_linked, schema['prefixItems']))}]"
        case "array":
            return f"list of {_linked(schema.get('items', {}))}"
        case "object":
            values = schema.get("additionalProperties")
            return f"table of {_linked(values)}" if isinstance(values, Mapping) else "table"
    return str(schema.get("type", "any JSON"))


def _short_json(value: Any) -> str:
    """Indented JSON, with short objects on one line."""
    text = json.dumps(value, ensure_ascii=False)
    if len(text) <= 110 or not isinstance(value, dict):
        return text
    return "{\n" + ",\n".join(f"  {json.dumps(key)}: {json.dumps(one, ensure_ascii=False)}" for key, one in value.items()) + "\n}"


def _values(route: Route) -> dict[str, Any]:
    """An example of each parameter that a request must have. Kept solves are those of a solved method."""
    method = "bradley_terry" if "solves" in route.name else "elo"
    known: Mapping[str, Any] = {"pool": "blitz", "method": method, "agent": "ann", "agents": ["ann", "bob"]}
    required = [one for one in route.about.get("parameters", ()) if one.get("required")]
    return {one["name"]: known.get(one["name"], next(iter(one["schema"].get("examples", ["x"])))) for one in required}


def body_example(route: Route, components: Schema) -> Any:
    """The first example of the body."""
    schema = route.body or {}
    found = schema.get("examples") or components[schema["$ref"].rpartition("/")[2]]["examples"]
    return found[0]


def curl_example(route: Route, components: Schema) -> str:
    """The request by curl."""
    values, address = _values(route), route.path
    for one in route.parameters("path"):
        address = address.replace(f"{{{one['name']}}}", str(values[one["name"]]))
    pairs = [(one["name"], values[one["name"]]) for one in route.parameters("query") if one.get("required")]
    query = urlencode(pairs, doseq=True)
    words = ["curl", *(["-N"] if _EVENTS in route.answers else []), *(["-X", route.method] if route.method not in {"GET", "POST"} else [])]
    if route.needs_key:
        words += ["-H", "Authorization: Bearer $KEY"]
    if route.body is not None:
        words += ["--json", json.dumps(body_example(route, components))]
    address = f"http://127.0.0.1:8000{address}{'?' if query else ''}{query}"
    return " ".join(f'"{word}"' if "$KEY" in word else shlex.quote(word) for word in [*words, address])


def client_examples(route: Route, components: Schema) -> list[str]:
    """The request by each method of the client, as an expression or a block of statements; tests run them."""
    return [_client_example(method, components) for method in _methods(route, components)]


def _client_example(method: _Method, components: Schema) -> str:
    route = method.route
    values = _values(route)
    arguments = [repr(values[one["name"]]) for one in route.parameters("path")]
    if route.body is not None:
        arguments.append(_body_source(route.body, body_example(route, components)))
    arguments += [f"{_identifier(one['name'])}={values[one['name']]!r}" for one in _query(method) if one.get("required")]
    if len(method.formats) > 1:
        arguments.append("format='jsonl'")
    call = f"client.{method.name}({', '.join(arguments)})"
    match method.kind:
        case "events":
            return f"with {call} as events:\n    for event in events:\n        print(event.name, event.json())"
        case "download":
            return f"with {call} as download:\n    for row in download.rows():\n        print(row)"
    return f"print({call})"


def _body_source(schema: Schema, value: Any) -> str:
    """The body as an expression: objects of one type by their type, outcomes of several types as a list."""
    if len(schema.get("oneOf", ())) > 1:
        return repr(value if isinstance(value, list) else [value])
    return f"msgspec.convert({value!r}, {python_type(schema)})"
