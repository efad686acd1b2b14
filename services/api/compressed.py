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
_JSON: Final = (b"application/json", b"application/problem+json")
_NOT_MODIFIED: Final = 304
_VARY: Final = (b"vary", b"accept-encoding")
_LEVEL: Final = 1
"""The fastest level. The highest one saves another tenth of the bytes, and takes five times as long."""
_KEPT: Final = 64
"""Number of compressed bodies that are kept: many readers poll one answer, and it is compressed once for all of them."""
_MOST_KEPT: Final = 1 << 18
"""Most bytes of a body that is kept, so that all of them take at most 32 MiB, compressed forms included. Polled boards are shorter."""


def takes_gzip(accepted: str) -> bool:
    """Whether a client takes gzip. accepted: its header `Accept-Encoding`; a quality of 0 refuses a coding."""
    codings = (part.partition(";") for part in accepted.split(","))
    return any(name.strip().lower() == "gzip" and not _REFUSED.fullmatch(quality.strip().lower()) for name, _, quality in codings)


def compressed(app: ASGIApp) -> ASGIApp:
    """Return the application, whose JSON answers are compressed with gzip if the client takes it and they are long. Streams are not."""

    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await app(scope, receive, send)
            return
        takes = takes_gzip(Headers.from_scope(scope).get("accept-encoding", ""))
        waits: HTTPResponseStartEvent | None = None

        async def send_compressed(message: Message) -> None:
            nonlocal waits
            if message["type"] == "http.response.start":
                _vary(message)
                if takes and _is_long_json(message):
                    waits = message  # its headers are not known before its body
                    return
            elif waits is not None and message["type"] == "http.response.body":
                start, waits = waits, None
                if not message.get("more_body", False):
                    message["body"] = _compress(start, message["body"])
                await send(start)
            await send(message)

        await app(scope, receive, send_compressed)

    return answered


def _vary(start: HTTPResponseStartEvent) -> None:
    """Tell caches that the answer depends on the codings that a client takes.

    Answers that are not compressed say so, too, and so does a 304: caches put its headers in place of those of the answer that they keep,
    and would then send a compressed one to clients that do not take it.
    """
    depends = start["status"] == _NOT_MODIFIED or _kind(start) in _JSON
    if depends and _VARY[1] not in _header(start, b"vary").lower():
        start["headers"] = [*start["headers"], _VARY]


def _is_long_json(start: HTTPResponseStartEvent) -> bool:
    """Whether an answer is a JSON body of at least `_LEAST` bytes. A stream has no length, and its headers do not wait for a body."""
    is_long = int(_header(start, b"content-length") or 0) >= _LEAST
    return is_long and _kind(start) in _JSON and not _header(start, b"content-encoding")


def _kind(start: HTTPResponseStartEvent) -> bytes:
    return _header(start, b"content-type").partition(b";")[0]


def _header(start: HTTPResponseStartEvent, name: bytes) -> bytes:
    """Value of a header; empty without it."""
    return next((value for given, value in start["headers"] if given == name), b"")


def _compress(start: HTTPResponseStartEvent, body: bytes) -> bytes:
    """Return the body compressed, and set the headers that say so."""
    packed = _kept_gzip(body) if len(body) <= _MOST_KEPT else _gzip(body)
    headers = MutableScopeHeaders(start)
    headers["content-encoding"], headers["content-length"] = "gzip", str(len(packed))
    return packed


def _gzip(body: bytes) -> bytes:
    """The body compressed, without a time, so that equal bodies give equal bytes."""
    return gzip.compress(body, _LEVEL, mtime=0)


_kept_gzip = lru_cache(_KEPT)(_gzip)
