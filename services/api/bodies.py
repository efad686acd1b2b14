"""Request bodies: bounded in bytes, in all of them together, and in time, before anything is done with them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Final

from starlette.requests import Request

from services.api.problems import ApiError
from services.wire.bulk.recognition import is_stream

JSON: Final = "application/json"
STREAM: Final = "application/vnd.apache.arrow.stream"
"""Media types of bodies; the second one is registered for Arrow IPC streams."""

_LEAST: Final = 16 << 10
"""Bytes that even the smallest request is counted as: what reading it takes."""


class Bodies:
    """Reads bodies while their bytes fit a common limit. Bytes count from the first one until the request was answered.

    Args:
        memory: Most bytes of all bodies at once.
        seconds: Deadline for the last byte of a body, from the first look at it.
    """

    def __init__(self, memory: int, seconds: float) -> None:
        self._memory, self._seconds = memory, seconds
        self._held = 0

    @asynccontextmanager
    async def read(self, request: Request, limit: int, types: Sequence[str] = (JSON,)) -> AsyncIterator[bytes]:
        """The body of a request that declares one of `types`, held until the block ends.

        Raises `ApiError`: 415 for another type, or a body that is not of its type; 413 beyond `limit` bytes; 408 past the deadline; 503
        where the common limit is reached.
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
        """What one request holds of the common limit until the block ends.

        The function that is given holds at least so many bytes from now on; in steps that double, so that a body without a declared length
        is counted seldom. It raises `ApiError` 503.
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
    """The body's length where the request declares it, else 0. Raises `ApiError` 413."""
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
