"""The API's copy of the pools in the control log. It is refreshed when needed, not on every request."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

from services.admin.log_coverage import placed_wish
from services.control.details import DetailsChange
from services.control.details_records import PoolDetails
from services.control.log import ControlLog
from services.control.records import Generation, GenerationRequest, PoolCreated
from services.log.protocol import LogError, Topic

_FRESH_SECONDS: Final = 1.0
_PATIENCE_SECONDS: Final = 0.25
"""Seconds that a reader waits for the control log."""
_FIRST_SECONDS: Final = 5.0
"""The same for the first read: before it, nobody can say that a pool does not exist."""


class Directory:
    """Pools of the control log, cached: a pool's kind and name never change. Thread-safe.

    history: the outcome log from which generations are folded.
    """

    def __init__(self, control: ControlLog, history: Topic) -> None:
        self.control, self._history = control, history
        self._pools: Mapping[str, PoolCreated] = {}
        self._complete = False
        self._read_at = float("-inf")
        self._reading, self._tried = threading.Lock(), threading.Event()
        self._first_began: float | None = None

    def find(self, pool: str) -> PoolCreated | None:
        """Return the pool; None if it does not exist. Reads the control log if the pool is not cached. Raises `LogError`."""
        if pool not in self._pools:
            self._refresh()
        return self._pools.get(pool)

    def create(self, wanted: PoolCreated, max_pools: int) -> PoolCreated:
        """Create the pool unless it exists; return the existing pool. Raises `PoolExists`, `TooManyPools`, `InputError`, `LogError`."""
        standing = self.control.create_pool(wanted, max_pools)
        self._pools = {**self._pools, standing.pool: standing}
        return standing

    def want(self, pool: str, asked: Callable[[Generation | GenerationRequest], GenerationRequest], *, begins_season: bool = False) -> int:
        """Request a generation; return the request's offset in the control log. Raises `NoPool`, `InputError`, `LogError`.

        asked: makes the request from the pool's present definition: its waiting request, else its newest generation, else its creation.
        begins_season: as of `ControlLog.want`.
        """
        wanted = asked(self.control.standing(pool))
        return self.control.want(placed_wish(wanted, self.control.refresh(), self._history), begins_season=begins_season)

    def seen(self) -> Mapping[str, PoolCreated]:
        """Return all pools, from a copy that is at most about 1 s old if the log answers.

        If the log hangs, one caller waits at most 0.25 s (5 s for the first read), and the others get the copy at once.
        """
        if (reading := self.refresh_soon()) is not None:
            reading.join(_PATIENCE_SECONDS if self._complete else _FIRST_SECONDS)
        return self._pools

    def refresh_soon(self) -> threading.Thread | None:
        """Begin to read the control log unless the copy is fresh or is being read. Returns the thread that reads, if one was started."""
        if time.monotonic() - self._read_at <= _FRESH_SECONDS or not self._reading.acquire(blocking=False):
            return None
        if self._first_began is None:
            self._first_began = time.monotonic()
        reading = threading.Thread(target=self._read, name="pools", daemon=True)
        reading.start()
        return reading

    def until_tried(self, seconds: float) -> None:
        """Wait for the end of the first read of the control log, whether it succeeds or not, until at most this long after its begin.

        So a log that hangs delays the reads of boards once, and not each of them.
        """
        self.refresh_soon()
        if not self._tried.is_set():
            now = time.monotonic()
            began = now if self._first_began is None else self._first_began  # None: another thread is about to begin
            self._tried.wait(max(0.0, began + seconds - now))

    def details(self, pool: str) -> PoolDetails:
        """Return the details of a pool's agents, as they were last read."""
        return self.control.known().details.of(pool)

    def leading_method(self, pool: str) -> str:
        """Return the method that the pages of a pool show first, as it was last read; empty if they choose."""
        return self.control.known().leading.get(pool, "")

    def write_details(self, pool: str, changes: Mapping[str, DetailsChange], now: float, most_agents: int) -> int:
        """Write changes of agents' details; see `ControlLog.write_details`."""
        return self.control.write_details(pool, changes, now, most_agents=most_agents)

    @property
    def complete(self) -> bool:
        """Whether the control log has been read. Before that, a pool that is missing here may exist."""
        return self._complete

    def _refresh(self) -> None:
        self._pools = dict(self.control.refresh().pools)
        self._complete = True

    def _read(self) -> None:
        try:
            self._refresh()
        except LogError:
            return  # readers need only the store, and requests that write get the log's error themselves
        finally:
            self._tried.set()
            self._read_at = time.monotonic()
            self._reading.release()
