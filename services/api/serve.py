"""Serving the API with uvicorn."""

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


def serve(app: FastAPI, settings: Settings) -> None:
    """Serve until told to stop; requests under way are finished."""
    _allow_open_files()
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
