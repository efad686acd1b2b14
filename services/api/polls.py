"""Polls of boards and insight. A route checks an address once; from then on it is answered without the framework, which is slower."""

from collections import OrderedDict
from typing import Final, NamedTuple

from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Receive, Scope, Send

from services.api.answers import Answer, Answers, Asked
from services.api.bodies import JSON
from services.api.media_types import accepted
from services.boards.formats import BoardFormat
from services.boards.store.protocol import StoreError

_ADDRESSES: Final = 4096
"""Most addresses that are remembered. Beyond it, the least recently remembered ones are forgotten."""
_LONGEST: Final = 512
"""Most bytes of a path and its query that is remembered. No useful poll is longer."""
_STALE: Final = '110 - "the store does not answer, or lost its data: this is what was last known"'


class _Known(NamedTuple):
    asked: Asked
    template: str


class Polls:
    """ASGI middleware that answers known addresses. Other requests go to the application."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._known: OrderedDict[tuple[bytes, bytes], _Known] = OrderedDict()

    def remember(self, scope: HTTPScope, asked: Asked) -> None:
        """Remember what a request asks for. To be called by its route, so that only checked addresses are known."""
        if len(scope["raw_path"]) + len(scope["query_string"]) <= _LONGEST:
            self._known[scope["raw_path"], scope["query_string"]] = _Known(asked, scope["path_template"])
            if len(self._known) > _ADDRESSES:
                self._known.popitem(last=False)

    def around(self, app: ASGIApp) -> ASGIApp:
        """Return the application with this middleware."""

        async def answered(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != ScopeType.HTTP or scope["method"] != "GET" or not await self._answer(scope, send):
                await app(scope, receive, send)

        return answered

    async def _answer(self, scope: HTTPScope, send: Send) -> bool:
        known = self._known.get((scope["raw_path"], scope["query_string"]))
        if known is not None and known.asked.kind == "board" and not _accepts_json(scope):
            return False  # a board has other formats
        try:
            answer = None if known is None else await self._answers.get(known.asked)
        except StoreError:
            return False  # the route reports the error
        if known is None or answer is None:
            return False
        scope["path_template"] = known.template
        given = next((value for name, value in scope["headers"] if name == b"if-none-match"), b"")
        status, headers, body = sent(known.asked, answer, given.decode("latin-1"))
        raw_headers = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": status, "headers": raw_headers})
        await send({"type": "http.response.body", "body": body, "more_body": False})
        return True


def _accepts_json(scope: HTTPScope) -> bool:
    accept = b",".join(value for name, value in scope["headers"] if name == b"accept")
    return accepted(accept.decode("latin-1")) is BoardFormat.JSON


def sent(asked: Asked, answer: Answer, if_none_match: str) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body of the response to a poll. Without a body, 304, if `if_none_match` contains the answer's tag."""
    headers = {"cache-control": "no-cache", **({"vary": "accept"} if asked.kind == "board" else {})}
    if answer.stale_seconds is not None:
        headers["warning"] = _STALE
    if answer.tag is not None:
        headers["etag"] = f"W/{answer.tag}"
        if answer.tag in if_none_match:
            return 304, headers, b""
    return 200, headers | {"content-type": JSON, "content-length": str(len(answer.body))}, answer.body
