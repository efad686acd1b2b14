"""Calls that may hang, such as those to a file system or an object store: each has a deadline.

A call that hangs cannot be ended. Its thread remains until the call returns, and does not keep the process from ending.
"""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def start(work: Callable[[], T], name: str) -> Future[T]:
    """Run `work` on a new thread; what it returns or raises. name: of the thread."""
    future: Future[T] = Future()
    threading.Thread(target=_run, args=(work, future), name=name, daemon=True).start()
    return future


def _run(work: Callable[[], T], future: "Future[T]") -> None:
    try:
        result = work()
    except BaseException as error:  # noqa: BLE001 - the caller gets it
        future.set_exception(error)
    else:
        future.set_result(result)


def ahead(items: Iterator[T], name: str) -> Iterator[T]:
    """The same items, the next one made on a thread while the one before is used. name: of the threads."""
    following = start(lambda: next(items, None), name)
    while (item := following.result()) is not None:
        following = start(lambda: next(items, None), name)
        yield item


class Calls:
    """Runs calls that may hang, so many of them at once. Further ones wait for a place, and fail at their deadline.

    Args:
        most: Calls at once, those among them that hang.
        name: Of their threads.
    """

    def __init__(self, most: int, name: str) -> None:
        self._most, self._name = most, name
        self._places = threading.BoundedSemaphore(most)

    def run(self, what: str, work: Callable[[], T], seconds: float) -> T:
        """Return `work()`. Raises what it raises, and `TimeoutError` after `seconds`. what: what the call asks, for the error."""
        if not self._places.acquire(timeout=seconds):
            raise TimeoutError(f"{what}: {self._most} earlier calls have not returned within {seconds:.3g} s")

        def placed() -> T:
            try:
                return work()
            finally:
                self._places.release()

        try:
            future = start(placed, self._name)
        except BaseException:  # as where the system allows no further thread
            self._places.release()
            raise
        try:
            return future.result(seconds)
        except TimeoutError:
            if future.done():
                return future.result()
            raise TimeoutError(f"{what}: no answer within {seconds:.3g} s") from None
