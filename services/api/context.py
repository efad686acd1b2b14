"""What every route works with, made once by `create_app`."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import Final, ParamSpec, cast

from anyio import CapacityLimiter, WouldBlock, to_thread
from starlette.requests import Request
from starlette.responses import Response

from services.api.directory import Directory
from services.api.intake import Intake
from services.api.problems import ApiError
from services.api.security import Access
from services.boards.store.protocol import StoreReader
from services.runtime.metrics import Metrics
from services.runtime.settings import Settings

P = ParamSpec("P")
_READERS: Final = 4
"""Threads that read the store at once. A read is short work that holds the interpreter: more threads only make them wait for it,
and the event loop too. Writers wait for the disk, so they have the larger pool that frameworks give."""

_PROBES: Final = 4
"""Threads that answer probes: apart from the readers', which a store that hangs holds up."""

_WAITING: Final = 8
"""Requests that may wait for the one that reads a checkpoint: each holds a whole pool and seconds of work, so more are refused."""


@dataclass(frozen=True, slots=True)
class Context:
    """Everything is injected, so that tests run the application on real parts of their own."""

    settings: Settings
    store: StoreReader
    directory: Directory
    intake: Intake
    access: Access
    metrics: Metrics
    clock: Callable[[], float] = time.time
    partitions: int = 1
    """Of the outcome log."""
    probes: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(_PROBES))
    readers: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(_READERS))
    checkpoint_readers: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(1))
    checkpoint_seats: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(1 + _WAITING))


def context(request: Request) -> Context:
    """The context of the application that serves `request`."""
    return cast("Context", request.app.state.context)


def reads(route: Callable[P, Response]) -> Callable[P, Awaitable[Response]]:
    """A route that reads the store: run in one of the readers' threads. It takes the request as `request`."""

    @wraps(route)
    async def answered(*arguments: P.args, **named: P.kwargs) -> Response:
        here = context(cast("Request", named["request"]))
        return await to_thread.run_sync(partial(route, *arguments, **named), limiter=here.readers)

    return answered


async def read_checkpoint(here: Context, answer: Callable[[], Response]) -> Response:
    """`answer()`, which reads a pool's checkpoint: one at a time, so that boards do not wait. Raises `ApiError` 503 where many wait."""
    seat = object()
    try:
        here.checkpoint_seats.acquire_on_behalf_of_nowait(seat)
    except WouldBlock:
        words = f"{_WAITING} requests wait for checkpoints already: ask again later"
        raise ApiError(503, "busy", words, headers={"Retry-After": "5"}) from None
    try:
        return await to_thread.run_sync(answer, limiter=here.checkpoint_readers)
    finally:
        here.checkpoint_seats.release_on_behalf_of(seat)
