"""Threads with a limited number of places, and a deadline for each request: the bound on everything in the API that waits."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from services.api.problems import ApiError

T = TypeVar("T")


class Workers:
    """Runs blocking work for requests.

    A request takes a place for as long as its work waits or runs, also after its deadline: work that hangs can never pile up.

    Args:
        what: What the work waits for, for the error: "the log", "the store".
        threads: Work that runs at once.
        places: Requests that run or wait at once; a further one is refused with 503.
        seconds: Deadline of a request, from its arrival here; past it the request is answered with 503.
    """

    def __init__(self, what: str, *, threads: int, places: int, seconds: float) -> None:
        self._what, self._places, self._seconds = what, places, seconds
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=what.replace(" ", "-"))
        self._free = threading.Semaphore(places)

    async def run(self, work: Callable[[], T]) -> T:
        """Return `work()`. Raises what it raises, and `ApiError` 503 where all places are taken or the deadline passed."""
        if not self._free.acquire(blocking=False):
            busy = f"{self._places} requests wait for {self._what} already: send the request again later"
            raise ApiError(503, "busy", busy, headers={"Retry-After": "1"})
        running = self._threads.submit(copy_context().run, work)
        running.add_done_callback(lambda _: self._free.release())
        waiting = asyncio.wrap_future(running)
        try:
            done, _ = await asyncio.wait({waiting}, timeout=self._seconds)
        finally:  # work that has not begun never begins; work that has begun goes on and keeps its place, and nobody looks at its result
            running.cancel()
            waiting.cancel()
        if done:
            return waiting.result()
        detail = f"{self._what} did not answer within {self._seconds:g} s: send the request again, with the same ids where it writes"
        raise ApiError(503, "deadline", detail, headers={"Retry-After": "5"})

    def finish(self, work: Callable[[], None]) -> None:
        """Do `work` after what runs now; nobody waits for it, and it takes no place."""
        self._threads.submit(work)
