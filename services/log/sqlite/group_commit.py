"""Group commit: requests of many threads share a transaction. Requests that arrive during a commit form the next group.

The thread of the first request of a group commits the group; it is called the leader. There is no extra delay: a single request is
committed at once, and a group collects requests only while the commit before it runs.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar, cast

from services.log.protocol import LogError

Request = TypeVar("Request")
Result = TypeVar("Result")


class _Waiting(Generic[Request, Result]):
    """One caller's request. `turn` is set when the request has a result or an error, or when the caller becomes the leader."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.turn = threading.Event()
        self.finished = False
        self.result: Result | None = None
        self.error: LogError | None = None


class GroupCommit(Generic[Request, Result]):
    """Passes groups of requests to `commit`, one group at a time, in order of arrival. Threads can share it; processes after a fork cannot.

    Args:
        commit: Writes all requests or none, and returns their results in order. Raises `LogError`.
        weight: Weight of a request.
        limit: Maximal weight of a group. A request above the limit is a group alone.
    """

    def __init__(self, commit: Callable[[Sequence[Request]], Sequence[Result]], weight: Callable[[Request], int], limit: int) -> None:
        self._commit, self._weight, self._limit = commit, weight, limit
        self._lock = threading.Lock()
        self._queue: deque[_Waiting[Request, Result]] = deque()
        self._leading = False

    def submit(self, request: Request) -> Result:
        """Commit `request` together with other waiting requests, and return its result. Raises the `LogError` of its group's commit."""
        mine: _Waiting[Request, Result] = _Waiting(request)
        with self._lock:
            self._queue.append(mine)
            lead = not self._leading
            self._leading = True
        if not lead:
            self._await_turn(mine)
        if not mine.finished:
            self._lead()
        if mine.error is not None:  # a new exception for each thread, because a shared one would also share its traceback
            raise LogError(str(mine.error), retriable=mine.error.retriable) from mine.error
        return cast("Result", mine.result)

    def _await_turn(self, mine: _Waiting[Request, Result]) -> None:
        try:
            mine.turn.wait()
        except BaseException:
            # An interrupted caller must not become or stay the leader.
            with self._lock:
                if mine in self._queue:
                    self._queue.remove(mine)
                if mine.turn.is_set() and not mine.finished:
                    self._promote()
            raise

    def _lead(self) -> None:
        """Commit the group that begins with the caller's request."""
        group = self._take()
        try:
            results = self._commit([waiting.request for waiting in group])
        except LogError as error:
            self._settle(group, error)
        except BaseException as error:
            self._settle(group, LogError(f"the commit of this group was broken off: {error!r}", retriable=True))
            raise
        else:
            self._settle(group, results)

    def _take(self) -> list[_Waiting[Request, Result]]:
        with self._lock:
            group = [self._queue.popleft()]
            total = self._weight(group[0].request)
            while self._queue and total + self._weight(self._queue[0].request) <= self._limit:
                group.append(self._queue.popleft())
                total += self._weight(group[-1].request)
        return group

    def _settle(self, group: list[_Waiting[Request, Result]], outcome: Sequence[Result] | LogError) -> None:
        """Give a group its results. outcome: results in order, or the error of the commit."""
        # The next leader is woken first, so that it can begin to write while the other threads wake up.
        with self._lock:
            self._promote()
        for index, waiting in enumerate(group):
            if isinstance(outcome, LogError):
                waiting.error = outcome
            else:
                waiting.result = outcome[index]
            waiting.finished = True
            waiting.turn.set()

    def _promote(self) -> None:
        if self._queue:
            self._queue[0].turn.set()
        else:
            self._leading = False
