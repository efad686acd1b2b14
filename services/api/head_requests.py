"""HEAD for every GET route: the answer to GET without its body."""

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, ReceiveMessage, Scope, Send


def with_head(app: ASGIApp) -> ASGIApp:
    """Return the application, which answers HEAD like GET. The body of the answer is not sent, and a stream ends after its headers."""

    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP or scope["method"] != "HEAD":
            await app(scope, receive, send)
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
