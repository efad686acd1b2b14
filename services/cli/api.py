"""`equirank api`: the HTTP API and the page, against the log and the store of the settings."""

from contextlib import closing
from typing import Final

from services.api.app import create_app
from services.api.serve import serve
from services.backends import open_log, store_url
from services.boards.store.redis import RedisStore
from services.cli.begin import begin
from services.cli.ports import refuse_busy
from services.runtime.deadlines import start

_PATIENCE_SECONDS: Final = 1.0
"""Time limit of one Redis command in seconds. It is short because a client waits for each answer of the API."""


def api() -> None:
    """Serve the API and the web pages until TERM or Ctrl-C. Running requests are finished first.

    Settings come from EQUIRANK_* variables, or from the TOML file named by EQUIRANK_CONFIG: docs/reference/settings.md.
    """
    settings = begin()
    refuse_busy(settings.host, settings.port, "EQUIRANK_PORT")
    url = store_url(settings)  # before `open_log`, which would create a log if the data folder is wrong
    with closing(open_log(settings)) as log, closing(RedisStore(url, log.outcomes.identity, patience=_PATIENCE_SECONDS)) as store:
        app = create_app(settings, log, store)
        start(app.warm, "warm")
        serve(app, settings, app.before_stop)
