"""Group commit: many threads' requests, one transaction. The first request leads; those that arrive meanwhile join the next one.

Nobody waits for company: a lone request is committed at once, and a group gathers exactly as long as the commit before it takes.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar, cast

from services.log.protocol import LogError

Request = TypeVar("Request")
Result = TypeVar("Result")


class _Waiting(Generic[Request, Result]):
    """One caller's request. `turn` is set when it has a result or error, or when it is its turn to lead."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.turn = threading.Event()
        self.finished = False
        self.result: Result | None = None
        self.error: LogError | None = None


class GroupCommit(Generic[Request, Result]):
    """Hands groups of requests to `commit`, one group at a time, in order of arrival.

    commit: writes all requests or none; their results in order; raises `LogError`. weight: how much of `limit` a request takes
    (a request heavier than the limit goes alone). Safe for threads, not across a fork.
    """

    def __init__(self, commit: Callable[[Sequence[Request]], Sequence[Result]], weight: Callable[[Request], int], limit: int) -> None:
        self._commit, self._weight, self._limit = commit, weight, limit
        self._lock = threading.Lock()
        self._queue: deque[_Waiting[Request, Result]] = deque()
        self._leading = False

    def submit(self, request: Request) -> Result:
        """Commit `request` with all other requests that wait; its result, once durable. Raises what `commit` raised for its group."""
        mine: _Waiting[Request, Result] = _Waiting(request)
        with self._lock:
            self._queue.append(mine)
            lead = not self._leading
            self._leading = True
        if not lead:
            self._await_turn(mine)
        if not mine.finished:
            self._lead()
        if mine.error is not None:  # a fresh one each: threads that share an exception share its traceback
            raise LogError(str(mine.error), retriable=mine.error.retriable) from mine.error
        return cast("Result", mine.result)

    def _await_turn(self, mine: _Waiting[Request, Result]) -> None:
        try:
            mine.turn.wait()
        except BaseException:
            # An interrupted waiter must not be handed the lead, nor keep it.
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

    def _settle(self, group: list[_Waiting[Request, Result]], found: Sequence[Result] | LogError) -> None:
        """Answer a group. found: its results in order, or why it was not committed."""
        # The next leader first: it may begin to write while the others wake up.
        with self._lock:
            self._promote()
        for index, waiting in enumerate(group):
            if isinstance(found, LogError):
                waiting.error = found
            else:
                waiting.result = found[index]
            waiting.finished = True
            waiting.turn.set()

    def _promote(self) -> None:
        if self._queue:
            self._queue[0].turn.set()
        else:
            self._leading = False
