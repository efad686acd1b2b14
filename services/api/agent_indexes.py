"""The indexes of agents that an API process has loaded: one for each pool and each slice that was asked for, bounded in all."""

import asyncio
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

from services.api.problems import ApiError
from services.api.workers import Workers
from services.boards.agent_index import AgentIndex, NoIndex
from services.boards.store.protocol import PoolHead
from services.checkpoints.checkpoint import CheckpointStore

log = logging.getLogger("equirank.api")

MOST_BYTES: Final = 512 << 20
"""Largest memory of all indexes of a process. An index that needs more is the only one that is kept."""
_SHORTEST_WAIT: Final = 1.0
"""Seconds from the end of one load of a pool's index to the next one, at least."""
_REST: Final = 20
"""A load is followed by at least this many times its duration without one, so that loads take a twentieth of a thread at most."""


_Key: TypeAlias = tuple[str, str]
"""A pool, and one of its slices, such as `language:English`; the slice is empty for all outcomes."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    """Result of the last load for a generation of a pool, or for a slice of it.

    due: time from which it may be loaded again, by the timer. dropped: whether the index was dropped for those of other pools.
    """

    generation: int
    index: AgentIndex | NoIndex
    due: float
    dropped: bool = False


class AgentIndexes:
    """Loads indexes on a thread of their own, and keeps them. Each slice has a separate index: `part` names it, empty for all outcomes.

    The first requests for a pool, or for a new generation of it, wait for the load. Later ones get its result. If the pool's position has
    moved since, or the checkpoint could not be read, a load is queued that no request waits for. An index that was dropped for those of
    other pools is missing until it may be loaded again.

    Args:
        files: Opens the checkpoints.
        workers: The thread that loads.
        timer: Returns a time in seconds.
        most_bytes: Largest memory of all indexes.
    """

    def __init__(
        self,
        files: Callable[[], CheckpointStore],
        workers: Workers,
        timer: Callable[[], float] = time.monotonic,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._files, self._workers, self._timer, self._most_bytes = files, workers, timer, most_bytes
        self._lock = threading.Lock()
        self._loaded: OrderedDict[_Key, _Loaded] = OrderedDict()
        """The least recently used first."""
        self._queued: set[_Key] = set()
        self._first_loads: dict[tuple[_Key, int], asyncio.Future[AgentIndex | NoIndex]] = {}
        """Key and generation -> the load that requests wait for. Only used by the event loop."""

    async def get(self, head: PoolHead, part: str = "") -> AgentIndex | NoIndex:
        """The index of the generation that readers see, or why it is missing.

        Raises:
            ApiError: 503 if a load is necessary and does not end in time.
        """
        loaded = self._current(head, part)
        if loaded is None or (loaded.dropped and self._timer() >= loaded.due):
            return await self._first(head, part)
        return self.loaded(head, part)

    def loaded(self, head: PoolHead, part: str = "") -> AgentIndex | NoIndex:
        """The index that is loaded, or why it is missing. Never waits: a missing or old one is loaded by a thread."""
        loaded = self._current(head, part)
        if loaded is None:
            self._refresh(head, part)
            return NoIndex(f"the index of agents of {_what(head.pool, part)} is being loaded", retriable=True)
        is_old = isinstance(loaded.index, NoIndex) or head.position > loaded.index.entry.position
        if is_old and self._timer() >= loaded.due:
            self._refresh(head, part)
        return loaded.index

    def present(self, head: PoolHead, part: str = "") -> AgentIndex | NoIndex | None:
        """The index of the generation that readers see, or why it is missing; None if `get` would wait for it. Loads nothing."""
        loaded = self._current(head, part)
        return None if loaded is None or loaded.dropped else loaded.index

    def load(self, head: PoolHead) -> None:
        """Load the index of a pool, unless it is loaded, and wait until the load has ended. Not for the event loop."""
        ended = threading.Event()
        self.loaded(head)
        self._workers.finish(ended.set)  # after the load, because one thread takes both in their order
        ended.wait()

    async def begin(self, head: PoolHead, seconds: float, part: str = "") -> None:
        """If no index of the generation was loaded or is being loaded, load it and wait for at most this long."""
        if self._current(head, part) is None and ((head.pool, part), head.generation) not in self._first_loads:
            with suppress(ApiError, TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._first(head, part)

    async def _first(self, head: PoolHead, part: str) -> AgentIndex | NoIndex:
        """Wait for the first load of a generation. Requests that wait at the same time share it, so they need one place of the threads."""
        key = (head.pool, part), head.generation
        if (running := self._first_loads.get(key)) is None:
            running = self._first_loads[key] = asyncio.ensure_future(self._workers.run(partial(self._load, head, part)))
            running.add_done_callback(partial(self._ended, key))
        return await asyncio.shield(running)

    def _ended(self, key: tuple[_Key, int], running: "asyncio.Future[AgentIndex | NoIndex]") -> None:
        self._first_loads.pop(key, None)
        if not running.cancelled():
            running.exception()  # all requests that waited for it may be gone

    def _current(self, head: PoolHead, part: str) -> _Loaded | None:
        """What is loaded for the key; None if it is of another generation, which can have names that were erased since."""
        key = head.pool, part
        with self._lock:
            loaded = self._loaded.get(key)
            if loaded is None or loaded.generation != head.generation:
                return None
            self._loaded.move_to_end(key)
            return loaded

    def _refresh(self, head: PoolHead, part: str) -> None:
        with self._lock:
            if (head.pool, part) in self._queued:
                return
            self._queued.add((head.pool, part))
        self._workers.finish(partial(self._load_queued, head, part))

    def _load_queued(self, head: PoolHead, part: str) -> None:
        try:
            self._load(head, part)
        except Exception:  # no request waits for it
            log.exception("the index of agents of %s cannot be loaded", _what(head.pool, part))
        finally:
            with self._lock:
                self._queued.discard((head.pool, part))

    def _load(self, head: PoolHead, part: str) -> AgentIndex | NoIndex:
        """Load an index, unless another request did while this one waited. Runs on the thread of indexes."""
        before, began = self._current(head, part), self._timer()
        if before is not None and began < before.due:
            return before.index
        known = before.index if before is not None and isinstance(before.index, AgentIndex) else None
        index: AgentIndex | NoIndex
        try:
            index = AgentIndex.load(self._files(), head, known, part)
        except NoIndex as error:
            index = known or _shown(_what(head.pool, part), error)
            if error.__cause__ is not None:  # otherwise there is no checkpoint yet
                log.warning("%s", error)
        ended = self._timer()
        self._keep((head.pool, part), _Loaded(head.generation, index, ended + max(_SHORTEST_WAIT, _REST * (ended - began))))
        return index

    def _keep(self, key: _Key, loaded: _Loaded) -> None:
        with self._lock:
            newest = self._loaded.get(key)
            if newest is not None and newest.generation > loaded.generation:
                return  # a load that was queued before the pool's switch
            self._loaded[key] = loaded
            self._loaded.move_to_end(key)
            held = [one for one, known in self._loaded.items() if _bytes(known)]
            while len(held) > 1 and sum(map(_bytes, self._loaded.values())) > self._most_bytes:
                dropped = held.pop(0)
                self._loaded[dropped] = _without_index(_what(*dropped), self._loaded[dropped])


def _what(pool: str, part: str) -> str:
    """A pool, or a slice of it, in the text of an error."""
    return f"slice {part} of pool {pool}" if part else f"pool {pool}"


def _shown(what: str, error: NoIndex) -> NoIndex:
    """The error that clients see: without its cause, whose text can name files and whose frames hold the arrays."""
    unread = f"the checkpoint of {what} cannot be read now: the log of the API says why"
    return NoIndex(str(error) if error.__cause__ is None else unread, retriable=True)


def _without_index(what: str, loaded: _Loaded) -> _Loaded:
    """A load whose index is dropped. Its `due` stays: pools that are asked for in turn would load all the time without it."""
    index = NoIndex(f"the index of {what} was dropped for those of other pools or slices, and is loaded again later", retriable=True)
    return _Loaded(loaded.generation, index, loaded.due, dropped=True)


def _bytes(loaded: _Loaded) -> int:
    return loaded.index.nbytes if isinstance(loaded.index, AgentIndex) else 0
