"""Checks whether a log or an archive answers again for a stopped partition.

The checks run on separate threads, because a check may hang and the folding thread must not wait for it.
"""

from collections.abc import Callable
from concurrent.futures import Future
from functools import partial

from services.log.protocol import LogError
from services.runtime.deadlines import start


class AnswerWatch:
    """Runs at most one check per partition at a time.

    ask: the check; takes the partition's number and raises `LogError` if it fails. seconds: least time between two starts of a check.
    """

    def __init__(self, ask: Callable[[int], object], seconds: float) -> None:
        self._ask, self._seconds = ask, seconds
        self._asked: dict[int, tuple[float, Future[object]]] = {}

    def answers(self, number: int, now: float) -> bool:
        """Start a check of partition `number` if none is under way; return whether the check under way has succeeded.

        A check is evaluated by one call only, `seconds` after its start at the earliest. The next call starts another check.

        Args:
            number: Number of the partition.
            now: Monotonic time in seconds.
        """
        asked = self._asked.get(number)
        if asked is None:
            self._asked[number] = now, start(partial(self._ask, number), "ask")
            return False
        at, answer = asked
        if not answer.done() or now - at < self._seconds:
            return False
        del self._asked[number]
        try:
            answer.result()
        except LogError:
            return False
        return True
