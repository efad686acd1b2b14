"""The route of streams: changes of a pool's boards and ratings as server-sent events.

A stream sends states, not differences: each `board` event has the board's first rows as they are. So a reader that is slow, or that
connects again, gets the newest state and needs none of those between.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Final, TypeAlias

from anyio import create_task_group, fail_after
from litestar import get
from litestar.openapi.spec import OpenAPIMediaType, OpenAPIResponse, Schema
from litestar.openapi.spec.enums import OpenAPIType
from litestar.params import HeaderParameter, QueryParameter
from litestar.response.streaming import ASGIStreamingResponse
from litestar.types import Message, Receive, Scope, Send

from ratings_core.checks import similar
from ratings_core.errors import InputError
from ratings_core.methods.registry import METHODS
from ratings_core.online import RATERS
from ratings_core.records.names import check_name
from services.api.context import Context, Here, Pool
from services.api.described import Described, problems
from services.api.feeds import Feed, Feeds
from services.api.slices import SliceText
from services.api.stream_events import Reader, Wanted, comment
from services.boards.slice_boards import slice_text
from services.wire.pools import check_pool_name

_KEEP_ALIVE_SECONDS: Final = 15.0
"""Longest silence of a stream. Proxies close connections that are silent for longer, often after 60 s."""
_SEND_SECONDS: Final = 60.0
"""A reader that takes nothing for this long loses its stream, because it occupies one of a limited number of places."""
_RETRY_MILLISECONDS: Final = 2000
"""Pause of a client before it connects again. All readers of an API that ended connect to the others at about the same time."""
_MOST_AGENTS: Final = 50
_MEDIA_TYPE: Final = "text/event-stream"
_HEADERS: Final = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
"""The second one makes nginx send each event at once, also if it buffers other answers."""

Methods: TypeAlias = Annotated[
    list[str] | None, QueryParameter(description="Board to send. Repeatable. Default: all boards of the pool, live and solved.")
]
Rows: TypeAlias = Annotated[int, QueryParameter(ge=1, le=200, description="Number of first rows of each board.")]
Agents: TypeAlias = Annotated[
    list[str] | None,
    QueryParameter(max_items=_MOST_AGENTS, description="Agent whose rows are sent when they change. Repeatable, up to 50 times."),
]
LastId: TypeAlias = Annotated[
    str | None,
    HeaderParameter(name="Last-Event-ID", description="Id of the last event received. Browsers send it when they connect again."),
]


@dataclass
class _Streams(Described):
    """The route of streams, whose answer is no JSON."""

    def __post_init__(self) -> None:
        """Describe the answer."""
        super().__post_init__()
        text = (
            "Server-sent events `board`, `agents`, `pool`, `stale` and `end`, each with JSON as its data (docs/guides/streams.md). The "
            "data of `board` is that of GET /v1/pools/{pool}/boards/{method}."
        )
        content = {_MEDIA_TYPE: OpenAPIMediaType(Schema(type=OpenAPIType.STRING))}
        self.responses = {**(self.responses or {}), "200": OpenAPIResponse(text, content=content)}


@get("/v1/pools/{pool:str}/stream", tags=["boards"], operation_class=_Streams, responses=problems(404, 422, 503))
async def get_stream(
    here: Here,
    pool: Pool,
    methods: Methods = None,
    count: Rows = 10,
    agents: Agents = None,
    part: SliceText = None,
    last_id: LastId = None,
) -> ASGIStreamingResponse:
    """Stream changes of a pool's boards and of agents' ratings as server-sent events.

    The newest state is sent at once, unless Last-Event-ID is its id. A reader that is slower than the changes gets the newest state, not
    every state. While nothing changes, a comment is sent every 15 s. With `slice`, boards and ratings are those of the slice.
    """
    names = [check_name(name, "agents") for name in agents or ()]
    wanted = Wanted(check_pool_name(pool), _checked(methods), count, tuple(dict.fromkeys(names)), slice_text(part))
    feed = await here.feeds.begin(wanted)
    return _Answer(here, feed, Reader(wanted, last_id or ""))


def _checked(methods: list[str] | None) -> frozenset[str] | None:
    """Return the names of boards. A board that the pool lacks may appear later; a name that no method has is refused."""
    for method in methods or ():
        if method not in RATERS and method not in METHODS:
            raise InputError("methods", method, f"must be the name of a method{similar(method, [*RATERS, *METHODS])}")
    return None if methods is None else frozenset(methods)


class _Answer(ASGIStreamingResponse):
    """The answer of a stream. It waits for the client before it makes the next events, and gives its place back when it ends."""

    def __init__(self, here: Context, feed: Feed, reader: Reader) -> None:
        super().__init__(iterator=_events(here.feeds, feed, reader), media_type=_MEDIA_TYPE, headers=dict(_HEADERS))
        self._feeds, self._feed, self._wanted = here.feeds, feed, reader.wanted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the client or the feed ends the stream."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._feeds.finish(self._feed, self._wanted)

    async def send_body(self, send: Send, receive: Receive) -> None:
        """Send the events. The framework's own method would wait without limit for a client that takes nothing."""

        async def send_in_time(message: Message) -> None:
            with fail_after(_SEND_SECONDS) as limit:
                self._feed.sending.add(limit)
                try:
                    await send(message)
                finally:
                    self._feed.sending.discard(limit)

        async def send_events() -> None:
            with suppress(TimeoutError):
                await self._stream(send_in_time)
            group.cancel_scope.cancel()

        async with create_task_group() as group:
            group.start_soon(send_events)
            await self._listen_for_disconnect(group.cancel_scope, receive)


async def _events(feeds: Feeds, feed: Feed, reader: Reader) -> AsyncIterator[bytes]:
    """Yield the events of a stream, and comments while there are none."""
    yield comment(f"pool {reader.wanted.pool}", _RETRY_MILLISECONDS)
    silent_since = time.monotonic()
    while True:
        changed = feed.changed  # before its attributes are read, so that no change is missed
        events = _newest(feed, reader)
        feeds.record(reader)
        if events:
            yield events
            silent_since, events = time.monotonic(), b""
            yield b""  # replaces the events in the frames that send them, so that a silent stream keeps no names in memory
        if feed.ended is not None:
            return
        try:
            async with asyncio.timeout(silent_since + _KEEP_ALIVE_SECONDS - time.monotonic()):
                await changed.wait()
        except TimeoutError:
            yield comment("keep-alive" if feed.trouble is None else "keep-alive, stale")
            silent_since = time.monotonic()


def _newest(feed: Feed, reader: Reader) -> bytes:
    """Return the events that a reader has not been sent: those of the newest state, of an interruption, and of the end."""
    parts = []
    if feed.state is not None and feed.covers(reader.wanted) and (feed.trouble is None or not reader.began):
        parts.append(reader.events(feed.state))
    if feed.ended is not None:
        parts.append(reader.end(feed.ended))
    elif feed.trouble is not None:
        parts.append(reader.stale(feed.stale_seconds, feed.trouble))
    return b"".join(parts)
