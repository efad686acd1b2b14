"""Serving the API with uvicorn."""

import gc
import resource
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import uvicorn
from litestar.types import ASGIApp

from services.runtime.settings import Settings

_STOP_SECONDS: Final = 4
_NOT_STARTED: Final = 3
"""Exit status if the server cannot listen, as of uvicorn's own command."""
_BACKLOG: Final = 4096
_IDLE_SECONDS: Final = 30
"""Time for which an idle connection stays open. It is longer than the pauses of polling clients."""
_GC_THRESHOLD: Final = (500_000, 10, 100)
"""Requests leave no reference cycles, so a collection frees almost nothing, and no request is answered while it runs. With 5,000 open
connections a collection of the youngest generation takes 20 to 50 ms, a full one 0.2 s. A threshold of 10,000 causes one every second."""


class _Server(uvicorn.Server):
    """A server that calls a function before it waits for the requests under way. The shutdown event of ASGI comes only after them."""

    def __init__(self, config: uvicorn.Config, before_stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._before_stop = before_stop

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop serving."""
        self._before_stop()
        await super().shutdown(sockets)


def serve(app: ASGIApp, settings: Settings, before_stop: Callable[[], None] = lambda: None) -> None:
    """Serve until the process gets a stop signal. Requests under way have a few seconds to finish.

    before_stop: called in the event loop after the signal, before the wait for requests under way.
    """
    _allow_open_files()
    _collect_garbage_rarely()
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        http="httptools",
        limit_concurrency=settings.api_connections + 1,  # uvicorn refuses from this number on
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        backlog=_BACKLOG,
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=_STOP_SECONDS,
        ssl_certfile=settings.tls_certificate,
        ssl_keyfile=settings.tls_key,
    )
    server = _Server(config, before_stop)
    with suppress(KeyboardInterrupt):  # uvicorn raises the signal again after an orderly stop
        server.run()
    if not server.started:
        sys.exit(_NOT_STARTED)


def _allow_open_files() -> None:
    """Raise the limit of open files to the highest permitted value, because each connection is an open file."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _collect_garbage_rarely() -> None:
    """Exclude all present objects from garbage collection, because they live as long as the process, and make collections rare."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLD)
