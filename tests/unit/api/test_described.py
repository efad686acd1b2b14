"""What OpenAPI says of names, and what a wrong method is told."""

import re

import pytest

from tests.support.api import Running


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [("DELETE", "/v1/pools", "GET"), ("DELETE", "/v1/pools/blitz", "GET, PUT"), ("PATCH", "/v1/pools/blitz/methods", "GET, PUT"),
     ("DELETE", "/v1/pools/blitz/generations", "GET, POST"), ("POST", "/v1/pools/blitz/boards/elo", "GET"), ("GET", "/v1/outcomes", "POST"),
     ("POST", "/livez", "GET")],
)  # fmt: skip
def test_a_wrong_method_is_told_the_right_ones(api: Running, method: str, path: str, allow: str) -> None:
    answer = api.client.request(method, path)
    assert (answer.status_code, answer.headers["allow"]) == (405, allow)
    assert answer.headers["content-type"] == "application/problem+json"


def test_names_in_paths_have_their_rules(api: Running) -> None:
    described = api.client.get("/openapi.json").json()
    schemas = [
        (parameter["name"], parameter["schema"])
        for verbs in described["paths"].values() for route in verbs.values() for parameter in route.get("parameters", ())
        if parameter["in"] == "path"
    ]  # fmt: skip
    assert {name for name, _ in schemas} == {"pool", "method", "agent"}
    for name, schema in schemas:
        if name == "agent":
            assert (schema["minLength"], schema["maxLength"]) == (1, 256)
            continue
        assert re.search(schema["pattern"], "elo")
        for wrong in ("", "Elo", "a b", "a/b", "x" * 64):
            assert not re.search(schema["pattern"], wrong)


def test_every_route_but_livez_and_metrics_may_be_busy(api: Running) -> None:
    described = api.client.get("/openapi.json").json()
    routes = {path: route["responses"] for path, verbs in described["paths"].items() for route in verbs.values()}
    assert [path for path, responses in routes.items() if "503" not in responses] == ["/livez", "/metrics"]
