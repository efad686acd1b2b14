"""Answers polls of boards and insight before they reach the framework, because a poll is only a look-up and the framework is slower.

Only valid polls with a cached or new answer are answered here. All other requests, including invalid ones, go to the routes.
"""

import re
from functools import lru_cache
from types import SimpleNamespace
from typing import Final
from urllib.parse import parse_qsl

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from services.api.answers import Answer, Answers, Asked, Kind
from services.boards.store.keys import METHOD_PATTERN
from services.boards.store.protocol import StoreError
from services.wire.pools import POOL_PATTERN

_PATH: Final = re.compile(rf"/v1/pools/(?P<pool>{POOL_PATTERN})/(?:(?P<insight>insight)|boards(?:/(?P<method>{METHOD_PATTERN}))?)")
_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,9}")
_BOARDS: Final = "/v1/pools/{pool}/boards"
_LONGEST_POLL: Final = 512
"""Most characters of a path and bytes of its query. No poll is longer, and the limit keeps the cache of parsed requests small."""
_ROUTES: Final = {
    "boards": SimpleNamespace(path=_BOARDS),
    "board": SimpleNamespace(path=f"{_BOARDS}/{{method}}"),
    "insight": SimpleNamespace(path="/v1/pools/{pool}/insight"),
}
"""Route paths for the metrics, equal to the paths of the routes that answer the same requests."""
_LIMITS: Final = {"boards": {"count": (0, 200)}, "board": {"start": (0, 2**31 - 1), "count": (1, 1000)}, "insight": {}}
"""Query parameters of each kind with their bounds, as the routes declare them."""
_ROWS: Final = {"boards": 0, "board": 50, "insight": 0}
"""Number of rows if `count` is not given."""


class FastPath:
    """ASGI middleware that answers polls. Other requests go to `app`."""

    def __init__(self, app: ASGIApp, answers: Answers) -> None:
        self._app, self._answers = app, answers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a poll, or pass the request to the routes."""
        asked = asked_for(scope["path"], scope["query_string"]) if scope["type"] == "http" and scope["method"] == "GET" else None
        try:
            answer = None if asked is None else await self._answers.get(asked)
        except StoreError:
            answer = None  # the route reports the error
        if asked is None or answer is None:
            await self._app(scope, receive, send)
            return
        scope["route"] = _ROUTES[asked.kind]
        status, headers, body = sent(answer, Headers(scope=scope).get("if-none-match", ""))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def sent(answer: Answer, if_none_match: str) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    """Return status, headers and body of the response to a poll. Without a body, 304, if `if_none_match` contains the answer's tag."""
    headers = [(b"cache-control", b"no-cache")]
    if answer.stale_seconds is not None:
        headers.append((b"warning", b'110 - "the store does not answer, or lost its data: this is what was last known"'))
    if answer.tag is not None:
        headers.append((b"etag", b"W/" + answer.tag.encode()))
        if answer.tag in if_none_match:
            return 304, headers, b""
    headers += [(b"content-type", b"application/json"), (b"content-length", str(len(answer.body)).encode())]
    return 200, headers, answer.body


def asked_for(path: str, query: bytes) -> Asked | None:
    """Parse a request as a poll; None if it is another request, or an invalid poll that a route must refuse."""
    return _asked_for(path, query) if len(path) + len(query) <= _LONGEST_POLL else None


@lru_cache(maxsize=4096)
def _asked_for(path: str, query: bytes) -> Asked | None:
    match = _PATH.fullmatch(path)
    if match is None:
        return None
    kind: Kind = "insight" if match["insight"] else "board" if match["method"] else "boards"
    numbers = _numbers(query.decode("latin-1"), _LIMITS[kind])
    if numbers is None:
        return None
    start, rows = numbers.get("start", 0), numbers.get("count", _ROWS[kind])
    return Asked(kind, match["pool"], match["method"] or "", start, rows)


def _numbers(query: str, limits: dict[str, tuple[int, int]]) -> dict[str, int] | None:
    """Return the parameters of a query; None if one is unknown, given twice or out of bounds."""
    numbers: dict[str, int] = {}
    for name, text in parse_qsl(query, keep_blank_values=True):
        if name not in limits or name in numbers or not _NUMBER.fullmatch(text):
            return None
        low, high = limits[name]
        numbers[name] = int(text)
        if not low <= numbers[name] <= high:
            return None
    return numbers
