"""HEAD for every GET route: the answer to GET without its body."""

from functools import partial

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, ReceiveMessage, Scope, Send


async def _send_allowed(send: Send, message: Message) -> None:
    """Send a message. A header Allow that names GET also names HEAD."""
    if message["type"] == "http.response.start" and message["status"] in {204, 405}:
        message["headers"] = [_allowed(name, value) for name, value in message.get("headers", ())]
    await send(message)


def _allowed(name: bytes, value: bytes) -> tuple[bytes, bytes]:
    return (name, value + b", HEAD") if name.lower() == b"allow" and b"GET" in value.split(b", ") else (name, value)


def with_head(app: ASGIApp) -> ASGIApp:
    """Return the application, which answers HEAD like GET. The body of the answer is not sent, and a stream ends after its headers."""

    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP or scope["method"] != "HEAD":
            await app(scope, receive, partial(_send_allowed, send))
            return
        started = False

        async def send_head(message: Message) -> None:
            nonlocal started
            scope["method"] = "HEAD"  # the server sends no body, and needs no body of the declared length
            if message["type"] == "http.response.start":
                started = True
                await send(message)
                await send({"type": "http.response.body", "body": b"", "more_body": False})

        async def receive_until_head() -> ReceiveMessage:
            return {"type": "http.disconnect"} if started else await receive()

        scope["method"] = "GET"
        try:
            await app(scope, receive_until_head, send_head)
        finally:
            scope["method"] = "HEAD"

    return answered
