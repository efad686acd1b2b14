"""Combines concurrent requests for values into few reads."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Batched(Generic[K, V]):
    """Serves many callers with few reads.

    Each caller gets a value from a read that began after its call. So a caller never gets an older state than a call that was answered
    before. At most one read runs at a time, and reads take at most two thirds of the time.

    Args:
        read: Reads the values of several keys and returns one value per key. It must have a deadline.
        pause: Least seconds between two reads.
    """

    def __init__(self, read: Callable[[Collection[K]], Awaitable[Mapping[K, V]]], pause: float) -> None:
        self._read, self._pause = read, pause
        self._asked: dict[K, asyncio.Future[V]] = {}
        self._task: asyncio.Task[None] | None = None

    async def get(self, key: K) -> V:
        """Return the value of `key`. Raises any error of the read."""
        future = self._asked.get(key)
        if future is None:
            future = self._asked[key] = asyncio.get_running_loop().create_future()
            if self._task is None:
                self._task = asyncio.create_task(self._run())
        return await asyncio.shield(future)

    async def _run(self) -> None:
        try:
            while self._asked:
                batch, self._asked = self._asked, {}
                began = time.monotonic()
                await self._answer(batch)
                await asyncio.sleep(max(self._pause, (time.monotonic() - began) / 2))
        finally:
            self._task = None

    async def _answer(self, batch: Mapping[K, "asyncio.Future[V]"]) -> None:
        try:
            values = await self._read(batch.keys())
            for key, future in batch.items():
                future.set_result(values[key])
        except Exception as error:  # noqa: BLE001 - every caller gets the error
            for future in batch.values():
                if not future.done():
                    future.set_exception(error)
                    future.exception()  # marks the error as retrieved, because a cancelled caller does not read it
