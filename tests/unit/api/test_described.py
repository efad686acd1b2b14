"""What OpenAPI says of names, and what a wrong method is told."""

import re
from pathlib import Path
from urllib.parse import quote

import jsonschema
import pytest

from services.api.app import openapi_document
from services.boards.store.protocol import LiveBoard
from tests.support.api import NOW, Running, check_answer
from tests.support.boards import head_of

TOLD_ELSEWHERE = frozenset({"title", "description", "pattern", "examples"})
"""Keys of a schema of a parameter that its types do not need."""


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [("DELETE", "/v1/pools", "GET"), ("DELETE", "/v1/pools/blitz", "GET, PUT"), ("PATCH", "/v1/pools/blitz/methods", "GET, PUT"),
     ("DELETE", "/v1/pools/blitz/generations", "GET, POST"), ("POST", "/v1/pools/blitz/boards/elo", "GET"), ("GET", "/v1/outcomes", "POST"),
     ("POST", "/livez", "GET")],
)  # fmt: skip
def test_a_wrong_method_is_told_the_right_ones(api: Running, method: str, path: str, allow: str) -> None:
    answer = api.client.request(method, path)
    right = {*allow.split(", "), "OPTIONS", *(["HEAD"] if "GET" in allow else [])}
    assert (answer.status_code, set(answer.headers["allow"].split(", "))) == (405, right)
    assert answer.headers["content-type"] == "application/problem+json"
    asked = api.client.options(path)
    assert (asked.status_code, set(asked.headers["allow"].split(", "))) == (204, right)
    assert (api.client.head(path).status_code == 405) is ("GET" not in allow)


def test_an_address_with_an_empty_part_is_none(api: Running) -> None:
    """It is no redirect either: clients that follow one may lose the body or the key."""
    described = api.client.get("/openapi.json").json()["paths"]
    asked = [(verb, re.sub(r"{\w+}", "blitz", path)) for path, verbs in described.items() for verb in verbs]
    assert len(asked) >= 15
    for verb, path in [*asked, ("get", "/docs"), ("get", "/pools/blitz"), ("get", "/livez")]:
        assert [api.client.request(verb, wrong).status_code for wrong in (f"{path}/", f"{path}//")] == [404, 404], (verb, path)


@pytest.mark.parametrize("path", ["/v1/pools/bl%69tz/boards/el%6F", "/v1/pools/blitz/boards/%65lo", "/%76%31/pools/blitz/boards/elo"])
def test_escaped_characters_of_an_address_are_those_characters(api: Running, path: str) -> None:
    plain, escaped = (api.client.get(one).json() for one in ("/v1/pools/blitz/boards/elo", path))
    assert plain["detail"] == escaped["detail"]


def test_names_in_paths_have_their_rules(api: Running) -> None:
    described = api.client.get("/openapi.json").json()
    schemas = [
        (parameter["name"], parameter["schema"])
        for verbs in described["paths"].values() for route in verbs.values() for parameter in route.get("parameters", ())
        if parameter["in"] == "path"
    ]  # fmt: skip
    assert {name for name, _ in schemas} == {"pool", "method", "agent", "season"}
    for name, schema in schemas:
        if name == "agent":
            assert (schema["minLength"], schema["maxLength"]) == (1, 256)
            continue
        assert re.search(schema["pattern"], "elo")
        for wrong in ("", "a b", "a/b", "x" * 65, *(() if name == "season" else ("Elo", "x" * 64))):
            assert not re.search(schema["pattern"], wrong)


def test_every_route_but_livez_and_metrics_may_be_busy(api: Running) -> None:
    described = api.client.get("/openapi.json").json()
    routes = {path: route["responses"] for path, verbs in described["paths"].items() for route in verbs.values()}
    assert [path for path, responses in routes.items() if "503" not in responses] == ["/livez", "/metrics"]


def bodies(api: Running) -> tuple[dict[str, object], jsonschema.Draft202012Validator]:
    """The components of the document, and what validates the body of POST /v1/outcomes."""
    described = api.client.get("/openapi.json").json()
    body = described["paths"]["/v1/outcomes"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    return described["components"]["schemas"], jsonschema.Draft202012Validator({**body, "components": described["components"]})


def test_the_body_of_outcomes_is_the_wire_schema_without_what_is_filled_in(api: Running) -> None:
    _, validator = bodies(api)
    sides = [{"agents": ["ann"], "place": 1}, {"agents": ["bob"], "place": 2}]
    one = {"v": 1, "pool": "blitz", "sides": sides}
    assert validator.is_valid(one)
    assert validator.is_valid([one, {**one, "id": "g", "time": 5}])
    for wrong in ({"id": "g\u200b"}, {"pool": "Blitz"}, {"sides": sides[:1]}, {"won": 1}, {"v": 2}):
        assert not validator.is_valid({**one, **wrong})
        assert api.client.post("/v1/outcomes", json={**one, **wrong}).status_code == 422


@pytest.mark.parametrize("label", ["", "simulated", "simu\u202elated", " a", "x" * 65, "a\u200bb", "\n"])
def test_the_label_of_a_pool_has_its_rule(api: Running, label: str) -> None:
    schemas, _ = bodies(api)
    valid = jsonschema.Draft202012Validator(schemas["PoolWanted"]["properties"]["label"]).is_valid(label)  # type: ignore[index]
    assert (api.client.put("/v1/pools/p", json={"kind": "games", "label": label}).status_code == 201) == valid


def test_names_of_a_generation_have_their_rules(api: Running) -> None:
    schemas, _ = bodies(api)
    asked = jsonschema.Draft202012Validator({**schemas["GenerationAsked"], "components": {"schemas": schemas}})  # type: ignore[dict-item]
    assert asked.is_valid({"aliases": {"pay\u200bpal": "paypal"}, "ban": ["e\u200bve"]}), "outcomes in the log may name them"
    assert not asked.is_valid({"aliases": {"paypal": "pay\u200bpal"}})
    assert not asked.is_valid({"ban": ["e\u202eve"]})


def test_an_export_takes_these_parameters(api: Running) -> None:
    bounds, word = {"minimum": 0, "maximum": 2**63 - 1}, {"type": "string"}
    position = {"type": "integer", **bounds}
    wanted = {
        "pool": ("path", True, word), "from": ("query", False, {**position, "default": 0}),
        "to": ("query", False, {**bounds, "oneOf": [{"type": "integer"}, {"type": "null"}]}),
        **dict.fromkeys(("since", "until"), ("query", False, {"oneOf": [word, {"type": "null"}]})),
        **dict.fromkeys(("agent", "column"), ("query", False, {"oneOf": [{"type": "array", "items": word}, {"type": "null"}]})),
        "format": ("query", False, {"allOf": [{"$ref": "#/components/schemas/Format"}]}),
    }  # fmt: skip
    described = api.client.get("/openapi.json").json()["paths"]["/v1/pools/{pool}/export"]["get"]
    found = {
        one["name"]: (one["in"], one["required"], {key: value for key, value in one["schema"].items() if key not in TOLD_ELSEWHERE})
        for one in described["parameters"]
    }
    assert list(found.items()) == list(wanted.items())
    assert all(one["description"] for one in described["parameters"] if one["in"] == "query")


def test_the_text_of_an_attribute_is_that_of_its_property(api: Running) -> None:
    schemas = api.client.get("/openapi.json").json()["components"]["schemas"]
    assert not [name for name, one in schemas.items() if "Attributes:" in one.get("description", "")]
    assert schemas["PoolHead"]["properties"]["position"]["description"] == "Log offset up to which outcomes were counted."


def test_every_body_and_every_name_in_a_path_has_examples_which_are_what_their_schemas_describe(api: Running) -> None:
    document = api.client.get("/openapi.json").json()
    components = document["components"]["schemas"]
    routes = [route for verbs in document["paths"].values() for route in verbs.values()]
    bodies = [route["requestBody"]["content"]["application/json"]["schema"] for route in routes if "requestBody" in route]
    names = [one["schema"] for route in routes for one in route.get("parameters", ()) if one["in"] == "path"]
    assert (len(bodies), len(names) > 15) == (9, True)
    for found in (*bodies, *names):
        schema = components[found["$ref"].rpartition("/")[2]] if "$ref" in found else found
        assert schema["examples"]
        for example in schema["examples"]:
            jsonschema.validate(example, {**schema, "components": document["components"]}, jsonschema.Draft202012Validator)


def test_the_guide_says_which_method_each_route_takes_that_need_not_be_told_one() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "guides" / "choose-methods.md").read_text()
    table = guide.partition("## Which method answers")[2].partition("\n## ")[0]
    described = openapi_document()["paths"]
    assert isinstance(described, dict)
    free = {
        path.replace("{pool}", "POOL").replace("{agent}", "AGENT")
        for path, verbs in described.items()
        for parameter in verbs.get("get", {}).get("parameters", ())
        if parameter["in"] == "query" and parameter["name"] in ("method", "methods") and not parameter["required"]
    }
    assert len(free) == 6
    assert {path for path in free if not re.search(rf"(`|GET |POST ){path}`", table)} == set()


def test_a_parameter_is_taken_once(api: Running) -> None:
    answer = api.client.get("/v1/pools?count=1&count=2")
    assert (answer.status_code, answer.json()["title"]) == (422, "parameter sent twice")


def test_an_agent_with_slashes_anywhere_is_found_by_its_encoded_name(api: Running) -> None:
    names = ["/a", "a/", "a//b", "%2F", "a%b", "x/agents/y", "x/opponents", "opponents", "a"]
    board = LiveBoard(names, [float(i) for i in range(len(names))])
    assert api.store.live.publish(head_of(position=1, published_at=NOW, online=["elo"]), 1, {"elo": board})
    for rating, name in enumerate(names):
        encoded = quote(name, safe="")
        answer = api.client.get(f"/v1/pools/blitz/agents/{encoded}").json()
        assert (answer["agent"], answer["methods"]["elo"]["rating"]) == (name, rating)
        [row] = api.client.get(f"/v1/pools/blitz/boards/elo/around/{encoded}?count=1").json()["rows"]
        assert row["agent"] == name
    for wrong in ("a/", "a//b", "/a"):
        assert api.client.get(f"/v1/pools/blitz/agents/{wrong}").status_code == 404, "not the row of another agent"


def test_operations_have_names_of_python_and_each_answer_an_example(api: Running) -> None:
    document = api.client.get("/openapi.json").json()
    assert document == openapi_document(), "what `scripts/reference` reads"
    operations = [route for verbs in document["paths"].values() for route in verbs.values()]
    names = [route["operationId"] for route in operations]
    assert len(set(names)) == len(names)
    assert [name for name in names if not re.fullmatch(r"[a-z]+(_[a-z]+)*", name) or name.startswith(("post_", "put_"))] == []
    assert {"list_pools", "get_board", "predict", "send_outcomes"} <= set(names)
    answers = [one for route in operations for one in route["responses"].values()]
    found = [one["content"]["application/json"] for one in answers if "application/json" in one.get("content", {})]
    assert len(found) > 15
    for content in found:
        schema = {**content["schema"], "components": document["components"]}
        jsonschema.validate(content["example"], schema, jsonschema.Draft202012Validator)


def test_a_field_that_only_tells_types_apart_is_described(api: Running) -> None:
    """The records of the control log that answers hold have one, and their objects allow no field that is not described."""
    schemas = openapi_document()["components"]["schemas"]
    assert {schemas[name]["properties"]["type"]["const"] for name in ("Generation", "GenerationRequest")} == {"generation", "wanted"}
    assert api.client.put("/v1/pools/blitz", json={"kind": "games"}).status_code == 201
    assert api.client.post("/v1/pools/blitz/generations", json={"bans": ["eve"]}).status_code == 202
    answer = api.client.get("/v1/pools/blitz/generations").json()
    assert answer["waiting"]["type"] == "wanted"
    check_answer(answer, "Generations")


def test_a_number_is_of_one_type(api: Running) -> None:
    assert api.client.put("/v1/pools/blitz", json={"kind": "games"}).status_code == 201
    chosen = api.client.put("/v1/pools/blitz/methods", json={"methods": {"bradley_terry": {"prior": 1.0}}})
    assert chosen.status_code == 200
    check_answer(chosen.json(), "MethodChoices")
