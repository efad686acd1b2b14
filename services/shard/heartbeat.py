"""Writes a shard's heartbeats into the store on a separate thread.

If the folding thread hangs, heartbeats continue and report how long ago the log's end was last read.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Final

from services.boards.folding import Heartbeat
from services.boards.store.heartbeats import Heartbeats
from services.boards.store.protocol import StoreError
from services.runtime.logging import LogThrottle

log = logging.getLogger("equirank.shard")

BEAT_SECONDS: Final = 1.0


class HeartbeatThread:
    """Calls `report` about once a second and writes the returned heartbeats, until `stop`."""

    def __init__(self, store: Heartbeats, report: Callable[[], Sequence[Heartbeat]]) -> None:
        self._store, self._report = store, report
        self._stopping, self._troubles = threading.Event(), LogThrottle()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread. Waits at most one second for a write under way, because the store may hang."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(BEAT_SECONDS)

    def _run(self) -> None:
        while not self._stopping.wait(BEAT_SECONDS):
            try:
                self._store.write(self._report())
                self._troubles.over(_FAILED)
            except StoreError as error:
                self._troubles.warn(log, _FAILED, error)


_FAILED: Final = "the store does not take heartbeats: %s"
