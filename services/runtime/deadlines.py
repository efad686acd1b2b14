"""Deadlines for calls that can hang, such as calls to a file system or an object store.

A hanging call cannot be canceled. Its thread remains until the call returns. The thread is a daemon, so the process can end before.
"""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def start(work: Callable[[], T], name: str) -> Future[T]:
    """Run `work` on a new thread. Returns a future with its result or exception. name: name of the thread."""
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
    finally:
        del future  # the error refers to this frame and its callers: with a name for the future, a cycle would keep all that they hold


def ahead(items: Iterator[T], name: str) -> Iterator[T]:
    """Yield the same items, and prepare the next item on a thread while the caller uses the present one.

    Args:
        items: The items, of which none may be None.
        name: Name of the threads.
    """
    following = start(lambda: next(items, None), name)
    while (item := following.result()) is not None:
        following = start(lambda: next(items, None), name)
        yield item


class Calls:
    """Runs calls that can hang, with a limit of concurrent calls. Further calls wait for one to return, until their deadline.

    Args:
        most: Maximal number of concurrent calls, including calls that hang.
        name: Name of their threads.
    """

    def __init__(self, most: int, name: str) -> None:
        self._most, self._name = most, name
        self._places = threading.BoundedSemaphore(most)

    def run(self, what: str, work: Callable[[], T], seconds: float) -> T:
        """Return `work()`. Raises its exception, and `TimeoutError` after `seconds`.

        Args:
            what: Subject of the call, such as a path, for the error.
            work: The call.
            seconds: Deadline for the wait to start and the call together.
        """
        end = time.monotonic() + seconds
        if not self._places.acquire(timeout=seconds):
            raise TimeoutError(f"{what}: {self._most} earlier calls have not returned within {seconds:.3g} s")

        def placed() -> T:
            try:
                return work()
            finally:
                self._places.release()

        try:
            future = start(placed, self._name)
        except BaseException:  # for example if the system allows no further thread
            self._places.release()
            raise
        try:
            return future.result(max(0.0, end - time.monotonic()))
        except TimeoutError:
            if future.done():
                return future.result()
            raise TimeoutError(f"{what}: no answer within {seconds:.3g} s") from None
        finally:
            del future  # as in `_run`
