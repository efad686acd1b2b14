"""`equirank demo`: feeds the two demo pools (run by `equirank up --demo`)."""

import signal
import threading

from services.connect import open_log
from services.demo.feed import feed
from services.logs import configure
from services.settings import Settings


def demo() -> None:
    """Load the Atari table, then play simulated games until there are enough or told to stop."""
    settings = Settings()
    configure(settings.log_level)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    log = open_log(settings)
    try:
        feed(settings, log, stop)
        stop.wait()
    finally:
        log.close()
