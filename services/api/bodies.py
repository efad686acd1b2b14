"""Reads request bodies with limits: bytes of one body, bytes of all bodies together, and time."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TypeAlias, cast

from litestar.datastructures import Headers
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, HTTPReceiveMessage, Receive, Scope, Send

from services.api.problems import ApiError
from services.wire.bulk.recognition import is_stream

JSON: Final = "application/json"
STREAM: Final = "application/vnd.apache.arrow.stream"
"""Media types of bodies. `STREAM` is the registered type of Arrow IPC streams."""

_LEAST: Final = 16 << 10
"""Every request counts as at least this many bytes, the memory that reading any request takes."""
Hold: TypeAlias = Callable[[int], None]


class Bodies:
    """Reads bodies under a common limit of bytes. A body counts from the start of its reading until its `share` block ends.

    Args:
        memory: Most bytes of all bodies at once.
        seconds: Deadline for the last byte of a body, from the start of its reading.
    """

    def __init__(self, memory: int, seconds: float) -> None:
        self._memory, self._seconds = memory, seconds
        self._held = 0

    async def read(self, headers: Headers, receive: Receive, limit: int, types: Sequence[str], hold: Hold) -> HTTPReceiveMessage:
        """Read the body of a request. Returns it as one message, or the client's disconnection.

        Args:
            headers: Headers of the request.
            receive: Source of the parts of the body.
            limit: Most bytes of the body.
            types: Accepted media types.
            hold: The request's reservation, from `share`.

        Raises:
            ApiError: 415 for another type, or a body that does not match its type; 413 for more than `limit` bytes; 408 after the deadline;
                503 if the common limit is reached.
        """
        declared = _checked_type(headers, types)
        hold(max(_LEAST, _declared(headers, limit)))
        try:
            async with asyncio.timeout(self._seconds):
                message = await _read(receive, limit, hold)
        except TimeoutError:
            detail = f"the body was not complete within {self._seconds:g} s: send a smaller one"
            raise ApiError(408, "slow body", detail, headers={"Connection": "close"}) from None
        if message["type"] == "http.request" and STREAM in types and is_stream(message["body"]) is not (declared == STREAM):
            raise ApiError(415, "body of another type", f"send {STREAM} for an Arrow IPC stream, {JSON} for JSON")
        return message

    @contextmanager
    def share(self) -> Iterator[Hold]:
        """Reserve bytes of the common limit for one request until the block ends.

        Yields a function that raises the reservation to at least the given number of bytes, or raises `ApiError` 503. The reservation at
        least doubles each time, so that a body without a declared length needs few calls.
        """
        held = 0

        def hold(size: int) -> None:
            nonlocal held
            if size <= held:
                return
            wanted = max(size, 2 * held)
            if self._held + wanted - held > self._memory:
                detail = "the bodies of running requests have reached the service's limit: send the request again later"
                raise ApiError(503, "busy", detail, headers={"Retry-After": "1", "Connection": "close"})
            self._held += wanted - held
            held = wanted

        try:
            yield hold
        finally:
            self._held -= held


class LimitedBody(ASGIMiddleware):
    """Middleware of the routes that take a body: the route gets the complete body, or the error of `Bodies.read` when it reads it.

    So the checks of a key, which come before the body, do not wait for it. The body counts until the request ends.
    """

    def __init__(self, limit: int, types: Sequence[str] = (JSON,)) -> None:
        self._limit, self._types = limit, types

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        """Answer one request."""
        bodies: Bodies = scope["state"]["context"].bodies
        read = False
        with bodies.share() as hold:

            async def receive_body() -> HTTPReceiveMessage:
                nonlocal read
                if read:
                    return cast("HTTPReceiveMessage", await receive())
                read = True
                return await bodies.read(Headers.from_scope(scope), receive, self._limit, self._types, hold)

            await next_app(scope, receive_body, send)


def _checked_type(headers: Headers, types: Sequence[str]) -> str:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in types:
        raise ApiError(415, "not JSON" if types == (JSON,) else "unknown type", f"send Content-Type: {' or '.join(types)}")
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise ApiError(415, "encoded body", "send the body without Content-Encoding")
    return kind


def _declared(headers: Headers, limit: int) -> int:
    """Return the declared length of the body; 0 without one. Raises `ApiError` 413."""
    given = headers.get("content-length", "0").strip()
    size = int(given) if given.isascii() and given.isdigit() else 0
    if size > limit:
        raise _too_large(limit)
    return size


async def _read(receive: Receive, limit: int, hold: Hold) -> HTTPReceiveMessage:
    body = bytearray()
    while True:
        message = cast("HTTPReceiveMessage", await receive())
        if message["type"] != "http.request":
            return message
        part = message.get("body", b"")
        if len(body) + len(part) > limit:
            raise _too_large(limit)
        hold(len(body) + len(part))
        body += part
        if not message.get("more_body", False):
            return {"type": "http.request", "body": bytes(body), "more_body": False}


def _too_large(limit: int) -> ApiError:
    return ApiError(413, "too large", f"a request body is at most {limit} bytes: send several requests")
