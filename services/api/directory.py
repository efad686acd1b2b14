"""The pools that the control log names, as the API knows them: asked for when needed, never on every request."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

from services.admin.log_coverage import check_wish
from services.control.log import ControlLog
from services.control.records import Generation, GenerationRequest, PoolCreated
from services.log.protocol import LogError, Topic

_FRESH_SECONDS: Final = 1.0
_PATIENCE_SECONDS: Final = 0.25


class Directory:
    """A pool once seen stays: kind and name never change. Safe to share between threads. history: what generations are folded from."""

    def __init__(self, control: ControlLog, history: Topic) -> None:
        self.control, self._history = control, history
        self._pools: Mapping[str, PoolCreated] = {}
        self._read_at = float("-inf")
        self._reading = threading.Lock()

    def find(self, pool: str) -> PoolCreated | None:
        """The pool, looked up in the log where it was not seen before. Raises `LogError`."""
        if pool not in self._pools:
            self._pools = dict(self.control.refresh().pools)
        return self._pools.get(pool)

    def create(self, wanted: PoolCreated, max_pools: int) -> PoolCreated:
        """The pool as it stands, created if there was none. Raises `PoolExists`, `TooManyPools`, `InputError`, `LogError`."""
        standing = self.control.create_pool(wanted, max_pools)
        self._pools = {**self._pools, standing.pool: standing}
        return standing

    def want(self, pool: str, asked: Callable[[Generation | GenerationRequest], GenerationRequest]) -> int:
        """Ask for a generation, made of how the pool stands; the wish's offset. Raises `NoPool`, `InputError`, `LogError`."""
        wanted = asked(self.control.standing(pool))
        check_wish(wanted, self.control.refresh(), self._history)
        return self.control.want(wanted)

    def seen(self) -> Mapping[str, PoolCreated]:
        """All pools, at most about a second old where the log answers: a log that hangs keeps one reader waiting, and only for a moment."""
        if time.monotonic() - self._read_at > _FRESH_SECONDS and self._reading.acquire(blocking=False):
            reading = threading.Thread(target=self._read, name="pools", daemon=True)
            reading.start()
            reading.join(_PATIENCE_SECONDS)
        return self._pools

    def _read(self) -> None:
        try:
            self._pools = dict(self.control.refresh().pools)
        except LogError:
            return  # what readers see comes from the store; writers learn of the log's failure themselves
        finally:
            self._read_at = time.monotonic()
            self._reading.release()
