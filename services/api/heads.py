"""The heads of all pools. Concurrent requests share one read; if the store does not answer, they get the result of the last read."""

import time
from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from services.api.batched import Batched
from services.api.problems import ApiError
from services.api.workers import Workers
from services.boards.folding import Heard
from services.boards.store.protocol import PoolHead, StoreError
from services.boards.store.redis import RedisStore

_PAUSE_SECONDS: Final = 0.005


class Heads(NamedTuple):
    """Heads of all pools. heard: newest heartbeat per partition. stale_seconds: age of both if the store does not answer, else None."""

    heads: list[PoolHead]
    heard: Mapping[int, Heard]
    stale_seconds: float | None = None


class AllHeads:
    """Reads the heads of all pools."""

    def __init__(self, store: RedisStore, readers: Workers) -> None:
        self._store, self._readers = store, readers
        self._batched = Batched[None, Heads](self._read, _PAUSE_SECONDS)
        self._last: tuple[Heads, float] | None = None

    async def get(self) -> Heads:
        """Return the newest heads, or the last known ones if the store does not answer. Raises `StoreError` if none are known."""
        try:
            return await self._batched.get(None)
        except (StoreError, ApiError) as error:
            known = self.last_known()
            if known is None:
                raise StoreError(f"the store does not answer: {error}", retriable=True) from error
            return known

    def last_known(self) -> Heads | None:
        """Return the result of the last read, marked with its age; None before the first read."""
        if self._last is None:
            return None
        heads, read_at = self._last
        return heads._replace(stale_seconds=round(time.monotonic() - read_at, 3))

    async def _read(self, _: Collection[None]) -> Mapping[None, Heads]:
        heads = await self._readers.run(lambda: Heads(self._store.live.pools(), self._store.heartbeats.read()))
        self._last = (heads, time.monotonic())
        return {None: heads}
