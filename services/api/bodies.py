"""Reads request bodies with limits: bytes of one body, bytes of all bodies together, and time."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Final

from starlette.requests import Request

from services.api.problems import ApiError
from services.wire.bulk.recognition import is_stream

JSON: Final = "application/json"
STREAM: Final = "application/vnd.apache.arrow.stream"
"""Media types of bodies. `STREAM` is the registered type of Arrow IPC streams."""

_LEAST: Final = 16 << 10
"""Every request counts as at least this many bytes, the memory that reading any request takes."""


class Bodies:
    """Reads bodies under a common limit of bytes. A body counts from the start of its reading until its `read` block ends.

    Args:
        memory: Most bytes of all bodies at once.
        seconds: Deadline for the last byte of a body, from the start of its reading.
    """

    def __init__(self, memory: int, seconds: float) -> None:
        self._memory, self._seconds = memory, seconds
        self._held = 0

    @asynccontextmanager
    async def read(self, request: Request, limit: int, types: Sequence[str] = (JSON,)) -> AsyncIterator[bytes]:
        """Read the body of a request. Its bytes count until the block ends.

        Args:
            request: The request.
            limit: Most bytes of the body.
            types: Accepted media types.

        Raises:
            ApiError: 415 for another type, or a body that does not match its type; 413 for more than `limit` bytes; 408 after the deadline;
                503 if the common limit is reached.
        """
        declared = _checked_type(request, types)
        with self._share() as hold:
            hold(max(_LEAST, _declared(request, limit)))
            try:
                async with asyncio.timeout(self._seconds):
                    body = await _read(request, limit, hold)
            except TimeoutError:
                detail = f"the body was not complete within {self._seconds:g} s: send a smaller one"
                raise ApiError(408, "slow body", detail, headers={"Connection": "close"}) from None
            if STREAM in types and is_stream(body) is not (declared == STREAM):
                raise ApiError(415, "body of another type", f"send {STREAM} for an Arrow IPC stream, {JSON} for JSON")
            yield body

    @contextmanager
    def _share(self) -> Iterator[Callable[[int], None]]:
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


def _checked_type(request: Request, types: Sequence[str]) -> str:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in types:
        raise ApiError(415, "not JSON" if types == (JSON,) else "unknown type", f"send Content-Type: {' or '.join(types)}")
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise ApiError(415, "encoded body", "send the body without Content-Encoding")
    return kind


def _declared(request: Request, limit: int) -> int:
    """Return the declared length of the body; 0 without one. Raises `ApiError` 413."""
    given = request.headers.get("content-length", "0").strip()
    size = int(given) if given.isascii() and given.isdigit() else 0
    if size > limit:
        raise _too_large(limit)
    return size


async def _read(request: Request, limit: int, hold: Callable[[int], None]) -> bytes:
    body = bytearray()
    async for part in request.stream():
        if len(body) + len(part) > limit:
            raise _too_large(limit)
        hold(len(body) + len(part))
        body += part
    return bytes(body)


def _too_large(limit: int) -> ApiError:
    return ApiError(413, "too large", f"a request body is at most {limit} bytes: send several requests")
