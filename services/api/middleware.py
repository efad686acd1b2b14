"""Middleware of every request: request id, host and origin checks, security headers, metrics, and a log line for failures and writes."""

import logging
import random
import re
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Final
from urllib.parse import unquote

from litestar.datastructures import Headers
from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Message, Receive, ReceiveMessage, Scope, Send
from prometheus_client import Counter, Histogram

from services.api.problems import ApiError, release
from services.api.security import SAFE_METHODS, Access
from services.runtime.logging import in_request
from services.runtime.metrics import Metrics

log = logging.getLogger("equirank.api")

_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_METHODS: Final = frozenset({*SAFE_METHODS, "POST", "PUT", "PATCH", "DELETE"})
_HUNG_UP: Final = 499
"""Status in the metrics if the client closed the connection before its request was read. It is never sent, so it is not an HTTP code."""
_IDS: Final = random.Random()  # noqa: S311 - ids must be unique, not secret; the system's generator takes five times as long
_LONGEST_ADDRESS: Final = 8192
"""Most bytes of path and query, as in nginx."""
_BEFORE_AGENTS: Final = ("/agents/", "/around/")
"""The parts of a path that an agent's name follows."""
_BELOW_DESCRIPTION: Final = "/openapi.json/"
_PROBES: Final = frozenset({"/livez", "/readyz", "/freshz", "/metrics"})
"""Paths that are answered for any Host header: orchestrators and scrapers use addresses, and these answers contain no names."""
_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_NO_STORE: Final = (b"cache-control", b"no-store")


def policy(framed_by: str) -> str:
    """Return the content security policy: all is loaded from this origin, and there are no inline scripts or styles.

    Args:
        framed_by: Sources that may show the answer in a frame: `'none'`, or `*`.
    """
    return f"default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors {framed_by}"


_POLICY: Final = (b"content-security-policy", policy("'none'").encode())


class RequestMiddleware:
    """ASGI middleware around the application. The framework's own middleware is not called for requests without a route.

    before_stop: ends requests that would not end by themselves. The server calls it before it waits for requests under way. warm: prepares
    what first requests would wait for. The server calls it on a thread when it starts.
    """

    def __init__(
        self, app: ASGIApp, access: Access, metrics: Metrics, before_stop: Callable[[], None] = lambda: None,
        warm: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self._app, self._access, self._metrics, self.before_stop, self.warm = app, access, metrics, before_stop, warm
        self._counters: dict[tuple[str, str, int], Counter] = {}
        self._histograms: dict[str, Histogram] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        headers, path = Headers.from_scope(scope), scope["path"]
        request_id = _request_id(headers)
        scope.setdefault("state", {})["request_id"] = request_id
        answer = _Answer(receive, send, request_id)
        began = time.perf_counter()
        with in_request(request_id):
            try:
                await self._answer(scope, answer, headers)
            finally:
                self._record(scope, path, answer.status, time.perf_counter() - began)

    async def _answer(self, scope: HTTPScope, answer: "_Answer", headers: Headers) -> None:
        try:
            if scope["path"] not in _PROBES:
                self._access.check_host(headers)
            self._access.check_origin(headers, scope["method"])
            scope["path"] = _routed(scope)
            await self._app(scope, answer.receive, answer)
        except ApiError as error:
            release(error)
            await error.application(answer.request_id)(scope, answer.receive, answer)
        except Exception as error:
            log.exception("%s %s failed", scope["method"], scope["path"])
            if answer.started:
                raise
            release(error)
            await _FAILED.application(answer.request_id)(scope, answer.receive, answer)

    def _record(self, scope: HTTPScope, path: str, status: int, seconds: float) -> None:
        route = scope.get("path_template", "none")
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._count(method, route, status, seconds)
        if status >= 400 or method not in SAFE_METHODS:
            key, level = scope["state"].get("key", "-"), _level(status, path)
            log.log(level, "%s %s %d %.1f ms key %s", method, path, status, seconds * 1000, key)

    def _count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request. The labeled metrics are kept, because looking them up takes longer than counting."""
        key = (method, route, status)
        if (counter := self._counters.get(key)) is None:
            counter = self._counters[key] = self._metrics.counter("equirank_http_requests_total").labels(method, route, str(status))
        if (histogram := self._histograms.get(route)) is None:
            histogram = self._histograms[route] = self._metrics.histogram("equirank_http_request_seconds").labels(route)
        counter.inc()
        histogram.observe(seconds)


class _Answer:
    """The channels of a request. Sending adds headers to the answer and keeps its status; nothing is sent to a client that is gone."""

    def __init__(self, receive: Receive, send: Send, request_id: str) -> None:
        self._receive, self._send, self.request_id, self.status = receive, send, request_id, 500
        self.started = False

    async def receive(self) -> ReceiveMessage:
        message = await self._receive()
        if message["type"] == "http.disconnect" and not self.started:
            self.status = _HUNG_UP
        return message

    async def __call__(self, message: Message) -> None:
        if self.status == _HUNG_UP:
            return
        if message["type"] == "http.response.start":
            self.status, self.started = message["status"], True
            given = list(message.get("headers", ()))
            named = {name for name, _ in given}
            defaults = (header for header in (_POLICY, _NO_STORE) if header[0] not in named)
            message["headers"] = [*given, *_HEADERS, (b"x-request-id", self.request_id.encode()), *defaults]
        await self._send(message)


_FAILED: Final = ApiError(500, "internal error", "the service failed: search its log for the request id")


def _routed(scope: HTTPScope) -> str:
    """Return the path by which a request is routed: decoded, except for an agent's name at its end, which may have escaped slashes.

    Raises `ApiError` 404 for an empty part, because the framework would ignore it, and 414 for a long address: the framework keeps up to
    1,024 paths and queries in memory.
    """
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    if len(raw) + len(scope["query_string"]) > _LONGEST_ADDRESS:
        raise ApiError(414, "address too long", f"path and query have at most {_LONGEST_ADDRESS} bytes: ask for less at once")
    path = raw.decode("latin-1")
    if "//" in path or (path != "/" and path.endswith("/")):
        raise ApiError(404, "Not Found", "no address has an empty part (slashes in names are sent as %2F); /openapi.json lists all routes")
    if path.startswith(_BELOW_DESCRIPTION):  # the framework would answer with a page
        raise ApiError(404, "Not Found", "/openapi.json lists all routes")
    at = min((at for before in _BEFORE_AGENTS if (at := path.find(before)) >= 0), default=len(path))
    return unquote(path[:at]) + path[at:]


def _request_id(headers: Headers) -> str:
    given = headers.get("x-request-id", "")
    return given if _ID.fullmatch(given) else f"{_IDS.getrandbits(128):032x}"


def _level(status: int, path: str) -> int:
    """Return the log level of an answer. A 503 of a probe is a normal answer that repeats every few seconds, so it is logged as debug."""
    if path in _PROBES and status == HTTPStatus.SERVICE_UNAVAILABLE:
        return logging.DEBUG
    return logging.ERROR if status >= 500 else logging.INFO
