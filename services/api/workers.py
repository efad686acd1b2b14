"""Worker threads for blocking work, with a limited number of requests and a deadline for each."""

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

    A request occupies a place while its work waits or runs, even after its deadline. Work that hangs therefore cannot accumulate.

    Args:
        what: The service that the work waits for, for error texts: "the log", "the store".
        threads: Number of threads.
        places: Most requests that run or wait at once. A further one is refused with 503.
        seconds: Deadline of a request, from the call of `run`. After it, the request is answered with 503.
    """

    def __init__(self, what: str, *, threads: int, places: int, seconds: float) -> None:
        self._what, self._places, self._seconds = what, places, seconds
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=what.replace(" ", "-"))
        self._free = threading.Semaphore(places)

    async def run(self, work: Callable[[], T]) -> T:
        """Return `work()`. Raises its errors, and `ApiError` 503 if all places are occupied or the deadline has passed."""
        if not self._free.acquire(blocking=False):
            busy = f"{self._places} requests wait for {self._what} already: send the request again later"
            raise ApiError(503, "busy", busy, headers={"Retry-After": "1"})
        running = self._threads.submit(copy_context().run, work)
        running.add_done_callback(lambda _: self._free.release())
        waiting = asyncio.wrap_future(running)
        try:
            done, _ = await asyncio.wait({waiting}, timeout=self._seconds)
        finally:  # queued work is cancelled; work that has begun continues and keeps its place, and its result is dropped
            running.cancel()
            waiting.cancel()
        if done:
            try:
                return waiting.result()
            finally:  # an error refers to this frame, and would be kept by the futures that hold it
                del running, waiting, done
        detail = f"{self._what} did not answer within {self._seconds:g} s: send the request again, with the same ids where it writes"
        raise ApiError(503, "deadline", detail, headers={"Retry-After": "5"})

    def finish(self, work: Callable[[], None]) -> None:
        """Queue `work` without waiting for it. It needs no place."""
        self._threads.submit(work)
