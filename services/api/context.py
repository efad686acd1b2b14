"""The objects that all routes share. `create_app` creates them once."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial, wraps
from typing import TYPE_CHECKING, Annotated, Final, ParamSpec, TypeAlias, cast

from fastapi import Depends
from starlette.requests import Request
from starlette.responses import Response

from services.api.answers import Answers
from services.api.bodies import Bodies
from services.api.directory import Directory
from services.api.heads import AllHeads
from services.api.intake import Intake
from services.api.security import Access
from services.api.workers import Workers
from services.boards.store.redis import RedisStore
from services.runtime.metrics import Metrics
from services.runtime.settings import Settings

if TYPE_CHECKING:
    from services.api.exports import Exports

P = ParamSpec("P")
WRITERS: Final = 16
"""Number of requests of a process that write to the log at the same time."""
_WRITES: Final = 128
"""Largest number of requests that write or wait to write. More get 503 with Retry-After."""
_WRITE_SECONDS: Final = 15.0
"""Seconds in which the log must store a request. A slower request is answered 503."""
EXPORTS: Final = 2
"""Largest number of exports at a time in a process. More are answered 503."""
_READERS: Final = 4
"""Number of threads that read the store. A read is short and holds Python's interpreter lock, so more threads would delay each other and
the event loop."""
_CHECKPOINT_PLACES: Final = 9
"""Requests that read checkpoints or wait for it. One reads at a time, because it loads a complete pool and takes seconds."""


_EXPORT_SECONDS: Final = 120.0
"""Deadline for each part of an export, which may read some 100,000 rows of the archive first."""


class Pools:
    """Separate threads for readers, writers, probes, exports and checkpoints, so that no kind of work waits for another."""

    def __init__(self) -> None:
        self.readers = Workers("the store", threads=_READERS, places=256, seconds=5.0)
        self.log = Workers("the log", threads=WRITERS, places=_WRITES, seconds=_WRITE_SECONDS)
        self.probes = Workers("the store", threads=2, places=64, seconds=2.0)
        self.exports = Workers("an export", threads=EXPORTS + 1, places=EXPORTS, seconds=_EXPORT_SECONDS)
        self.checkpoints = Workers("checkpoints", threads=1, places=_CHECKPOINT_PLACES, seconds=60.0)


@dataclass(frozen=True, slots=True)
class Context:
    """The shared objects. All are passed in, so that tests can run the application on their objects.

    answers: cached boards and insight. heads: heads of all pools. exports: exports under way. partitions: number of partitions of the
    outcome log. started: time at which this process began, seconds since 1970.
    """

    settings: Settings
    store: RedisStore
    directory: Directory
    intake: Intake
    access: Access
    metrics: Metrics
    workers: Pools
    bodies: Bodies
    answers: Answers
    heads: AllHeads
    exports: "Exports"
    clock: Callable[[], float] = time.time
    partitions: int = 1
    started: float = 0.0


def context(request: Request) -> Context:
    """Return the context of the application that serves `request`."""
    return cast("Context", request.app.state.context)


async def _of_application(request: Request) -> Context:
    return context(request)


Here: TypeAlias = Annotated[Context, Depends(_of_application)]
"""Type of the route parameter that receives the context."""


def reads(route: Callable[P, Response]) -> Callable[P, Awaitable[Response]]:
    """Decorate a route that reads the store, so that it runs on a reader thread. The route takes its context as `here`."""

    @wraps(route)
    async def answered(*arguments: P.args, **named: P.kwargs) -> Response:
        here = cast("Context", named["here"])
        return await here.workers.readers.run(partial(route, *arguments, **named))

    return answered
