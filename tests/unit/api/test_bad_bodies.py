"""Bodies that are no JSON, or no text at all: every route that takes one refuses it, and writes nothing."""

import pytest

from tests.support.api import Running

ROUTES = {
    "outcomes": ("POST", "/v1/outcomes"),
    "a pool": ("PUT", "/v1/pools/chess"),
    "a generation": ("POST", "/v1/pools/blitz/generations"),
    "methods": ("PUT", "/v1/pools/blitz/methods"),
}
BODIES = [
    b"",
    b"\xff",
    b'{"\xff":1}',
    b'{"fold":"\xff"}',
    b'{"\\ud800":1}',
    b"NaN",
    b"1",
    b"[" * 20_000,
    b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}",
]


@pytest.mark.parametrize("body", BODIES, ids=lambda body: repr(body[:20]))
@pytest.mark.parametrize(("method", "path"), ROUTES.values(), ids=ROUTES)
def test_what_is_no_body_of_the_route_is_refused(api: Running, method: str, path: str, body: bytes) -> None:
    assert api.client.put("/v1/pools/blitz", json={"kind": "games"}).status_code == 201
    before = api.log.control.end(0)
    answer = api.client.request(method, path, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422, answer.text
    assert (api.records(), api.log.control.end(0)) == ([], before)
