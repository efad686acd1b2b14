"""Serving the API with uvicorn."""

import gc
import resource
from typing import Final

import uvicorn
from litestar.types import ASGIApp

from services.runtime.settings import Settings

_STOP_SECONDS: Final = 4
_BACKLOG: Final = 4096
_IDLE_SECONDS: Final = 30
"""Time for which an idle connection stays open. It is longer than the pauses of polling clients."""
_GC_THRESHOLD: Final = (500_000, 10, 100)
"""Requests leave no reference cycles, so a collection frees almost nothing, and no request is answered while it runs. With 5,000 open
connections a collection of the youngest generation takes 20 to 50 ms, a full one 0.2 s. A threshold of 10,000 causes one every second."""


def serve(app: ASGIApp, settings: Settings) -> None:
    """Serve until the process gets a stop signal. Requests under way have a few seconds to finish."""
    _allow_open_files()
    _collect_garbage_rarely()
    uvicorn.run(
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


def _allow_open_files() -> None:
    """Raise the limit of open files to the highest permitted value, because each connection is an open file."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _collect_garbage_rarely() -> None:
    """Exclude all present objects from garbage collection, because they live as long as the process, and make collections rare."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLD)
