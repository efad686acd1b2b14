"""Writes a shard's heartbeats into the store on a separate thread.

If the folding thread hangs, heartbeats continue and report how long ago the log's end was last read.
"""

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from services.boards.folding import Heartbeat
from services.boards.store.heartbeats import Heartbeats
from services.boards.store.protocol import StoreError
from services.runtime.logging import LogThrottle

log = logging.getLogger("equirank.shard")

BEAT_SECONDS: Final = 1.0


_FAILED: Final = "the store does not take heartbeats: %s"


@contextmanager
def beating(store: Heartbeats, report: Callable[[], Sequence[Heartbeat]]) -> Iterator[None]:
    """Call `report` about once a second and write the returned heartbeats, until the `with` block ends.

    The end waits at most one second for a write under way, because the store may hang.
    """
    stopping = threading.Event()
    thread = threading.Thread(target=_beat, args=(store, report, stopping), name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join(BEAT_SECONDS)


def _beat(store: Heartbeats, report: Callable[[], Sequence[Heartbeat]], stopping: threading.Event) -> None:
    troubles = LogThrottle()
    while not stopping.wait(BEAT_SECONDS):
        try:
            store.write(report())
            troubles.over(_FAILED)
        except StoreError as error:
            troubles.warn(log, _FAILED, error)
