"""What is written for routes of other forms than today's: events, several media types, names that Python keeps for itself."""

import sys
from types import ModuleType

import httpx
import msgspec
import pytest

from scripts.reference_api import api_page, client_examples, client_methods, client_structs, routes

ROW = {
    "type": "object",
    "description": "A row.",
    "required": ["from", "kind"],
    "properties": {
        "from": {"type": "string", "description": "Where | it is."},
        "kind": {"$ref": "#/components/schemas/Kind"},
        "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}]},
        "more": {"oneOf": [{"$ref": "#/components/schemas/Row"}, {"type": "null"}]},
        "many": {"type": "object", "additionalProperties": {"type": "array", "items": {"$ref": "#/components/schemas/Row"}}},
        "start": {"type": "array", "items": {"type": "number"}, "default": [0.0, 1.0]},
    },
}
ONE = {"$ref": "#/components/schemas/Row"}
BINARY = {"schema": {"type": "string", "format": "binary"}}
POOL = {"name": "pool", "in": "path", "required": True, "schema": {"type": "string"}}
FORMAT = {
    "name": "format",
    "in": "query",
    "required": False,
    "schema": {"oneOf": [{"$ref": "#/components/schemas/Format"}, {"type": "null"}]},
}
FROM = {"name": "from", "in": "query", "required": False, "schema": {"type": "integer"}}
DOCUMENT = {
    "components": {"schemas": {"Row": ROW, "Kind": {"type": "string", "enum": ["a", "b"]}, "Format": {"enum": ["json", "csv"]}}},
    "paths": {
        "/rows/{pool}": {
            "get": {
                "operationId": "get_rows",
                "tags": ["rows"],
                "description": "Return a row.",
                "parameters": [POOL, FORMAT, FROM],
                "responses": {
                    "200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Row"}}, "text/csv": BINARY}}
                },
            },
            "head": {"operationId": "head_rows", "tags": ["rows"], "responses": {"200": {}}},
        },
        "/stream/{pool}": {
            "get": {
                "operationId": "stream_rows",
                "tags": ["rows"],
                "parameters": [POOL, {"name": "Last-Event-ID", "in": "header", "required": False, "schema": {"type": "string"}}],
                "responses": {"200": {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
            },
        },
    },
}


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """What the two modules define."""
    module = ModuleType("equirank_client.structs")
    monkeypatch.setitem(sys.modules, "equirank_client.structs", module)
    exec(compile(client_structs(DOCUMENT), "structs", "exec"), vars(module))  # noqa: S102
    found: dict[str, object] = {"__name__": "equirank_client.client"}
    exec(compile(client_methods(DOCUMENT), "client", "exec"), found)  # noqa: S102
    return found


def test_types_are_read_and_written(written: dict[str, object]) -> None:
    text = b'{"from":"x","kind":"a","pair":["p",1.0],"more":{"from":"y","kind":"b"},"many":{"k":[{"from":"z","kind":"a"}]}}'
    row = msgspec.json.decode(text, type=written["Row"])
    assert (row.from_, row.pair, row.more.from_, row.many["k"][0].kind, row.start) == ("x", ("p", 1.0), "y", "a", [0.0, 1.0])  # type: ignore[attr-defined]
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"from":"x","kind":"c"}', type=written["Row"])


def test_methods_read_json_other_media_types_and_events(written: dict[str, object]) -> None:
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        match request.headers["accept"]:
            case "text/event-stream" if len(asked) < 4:
                return httpx.Response(200, text='id: 7\ndata: {"n": 1}\n\n')
            case "text/event-stream":
                return httpx.Response(204)
            case "*/*":
                return httpx.Response(200, text="a,b\n", headers={"Equirank-Next": "c"})
        return httpx.Response(200, json={"from": "x", "kind": "a"})

    with written["Client"]("http://here", transport=httpx.MockTransport(answer), sleep=lambda _: None) as client:  # type: ignore[operator]
        assert client.get_rows("p", from_=3).from_ == "x"
        with client.download_rows("p") as download:
            assert (b"".join(download.chunks()), download.next) == (b"a,b\n", "c")
        with client.stream_rows("p") as events:
            assert [event.json() for event in events] == [{"n": 1}]
    assert [str(request.url.query, "ascii") for request in asked] == ["from=3", "format=csv", "", ""]
    assert [request.headers.get("last-event-id") for request in asked] == [None, None, None, "7"]


def test_the_page_has_each_route_once_and_escapes_its_cells() -> None:
    page = api_page(DOCUMENT)
    assert [route.name for route in routes(DOCUMENT)] == ["get_rows", "stream_rows"]
    assert page.count("### get_rows\n") == page.count("### stream_rows\n") == 1
    assert "Where \\| it is." in page
    (example,) = client_examples(routes(DOCUMENT)[1], DOCUMENT["components"]["schemas"])  # type: ignore[index]
    assert "for event in events" in example
