"""`equirank api`: the HTTP API and the page, against the log and the store of the settings."""

import uvicorn

from services.api.app import create_app
from services.backends import open_log, store_url
from services.boards.store.redis import RedisStore
from services.cli.begin import begin
from services.cli.ports import refuse_busy

_STOP_SECONDS = 4
_BACKLOG = 1024


def api() -> None:
    """Serve the API and the page until told to stop; requests that are under way are finished.

    All it needs to know it reads from EQUIRANK_* variables, or from the TOML file that EQUIRANK_CONFIG names: docs/settings.md.
    """
    settings = begin()
    refuse_busy(settings.host, settings.port, "EQUIRANK_PORT")
    url = store_url(settings)  # before the log is opened, which would make one in a folder that is not the right one
    log = open_log(settings)
    store = RedisStore(url, log.outcomes.identity)
    try:
        uvicorn.run(
            create_app(settings, log, store),
            host=settings.host,
            port=settings.port,
            log_config=None,
            access_log=False,
            server_header=False,
            backlog=_BACKLOG,
            timeout_graceful_shutdown=_STOP_SECONDS,
        )
    finally:
        log.close()
        store.close()
