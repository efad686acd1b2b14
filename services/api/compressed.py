"""JSON answers are sent compressed to clients that take it: boards shrink to about a fifth.

The framework's middleware would also compress streams of events, which have to leave at once, and the files of the pages, which are
compressed already.
"""

import gzip
import re
from functools import lru_cache
from typing import Final

from litestar.datastructures import Headers, MutableScopeHeaders
from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPResponseStartEvent, Message, Receive, Scope, Send

_LEAST: Final = 1400
"""Least bytes of a body that is compressed. A shorter one fits into one packet in any case."""
_REFUSED: Final = re.compile(r"q=0(\.0*)?")
_JSON: Final = ("application/json", "application/problem+json")
_LEVEL: Final = 1
"""The fastest level. The highest one saves another tenth of the bytes, and takes five times as long."""
_KEPT: Final = 64
"""Number of compressed bodies that are kept: many readers poll one answer, and it is compressed once for all of them."""


def takes_gzip(accepted: str) -> bool:
    """Whether a client takes gzip. accepted: its header `Accept-Encoding`; a quality of 0 refuses a coding."""
    codings = (part.partition(";") for part in accepted.split(","))
    return any(name.strip().lower() == "gzip" and not _REFUSED.fullmatch(quality.strip()) for name, _, quality in codings)


def compressed(app: ASGIApp) -> ASGIApp:
    """Return the application, whose JSON answers are compressed with gzip if the client takes it and they are long. Streams are not."""

    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP or not takes_gzip(Headers.from_scope(scope).get("accept-encoding", "")):
            await app(scope, receive, send)
            return
        waits: HTTPResponseStartEvent | None = None

        async def send_compressed(message: Message) -> None:
            nonlocal waits
            if message["type"] == "http.response.start" and _is_long_json(message):
                waits = message  # its headers are not known before its body
                return
            if waits is not None and message["type"] == "http.response.body":
                start, waits = waits, None
                body = _gzipped(message["body"])
                headers = MutableScopeHeaders(start)
                headers["content-encoding"], headers["content-length"] = "gzip", str(len(body))
                headers.extend_header_value("vary", "accept-encoding")
                await send(start)
                message["body"] = body
            await send(message)

        await app(scope, receive, send_compressed)

    return answered


def _is_long_json(start: HTTPResponseStartEvent) -> bool:
    """Whether an answer is one JSON body of at least `_LEAST` bytes. A stream has no length, and its headers do not wait for a body."""
    headers = Headers(list(start["headers"]))
    kind, length = headers.get("content-type", "").partition(";")[0], headers.get("content-length", "0")
    return kind in _JSON and int(length) >= _LEAST and "content-encoding" not in headers


@lru_cache(_KEPT)
def _gzipped(body: bytes) -> bytes:
    """The body compressed, without a time, so that equal bodies give equal bytes."""
    return gzip.compress(body, _LEVEL, mtime=0)
