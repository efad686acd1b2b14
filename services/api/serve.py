"""Serving the API with uvicorn."""

import gc
import resource
from typing import Final

import uvicorn
from fastapi import FastAPI

from services.api.connections import limited
from services.runtime.settings import Settings

_STOP_SECONDS: Final = 4
_BACKLOG: Final = 4096
_IDLE_SECONDS: Final = 30
"""How long a connection stays open between two requests: longer than pollers pause."""
_GC_THRESHOLD: Final = (500_000, 10, 100)
"""Requests leave no reference cycles, so a collection frees almost nothing, and no request is answered while it runs. With 5,000 open
connections a collection of the youngest generation takes 20 to 50 ms, a full one 0.2 s. A threshold of 10,000 causes one every second."""


def serve(app: FastAPI, settings: Settings) -> None:
    """Serve until told to stop; requests under way are finished."""
    _allow_open_files()
    _collect_garbage_rarely()
    uvicorn.run(
        app,
        host=settings.host,
        port=settings.port,
        http=limited(settings.api_connections),
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
    """Each connection is an open file: allow as many as the system lets this process have."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _collect_garbage_rarely() -> None:
    """Leave out of every later collection what lives as long as the process, and make collections rare."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLD)
