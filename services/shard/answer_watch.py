"""Whether what a partition stopped for answers again, asked on threads: the folding thread never waits for what hangs."""

from collections.abc import Callable
from concurrent.futures import Future
from functools import partial

from services.log.protocol import LogError
from services.runtime.deadlines import start


class AnswerWatch:
    """ask: asks for a partition; raises `LogError` while there is no answer. seconds: from one question to the next, at least."""

    def __init__(self, ask: Callable[[int], object], seconds: float) -> None:
        self._ask, self._seconds = ask, seconds
        self._asked: dict[int, tuple[float, Future[object]]] = {}

    def answers(self, number: int, now: float) -> bool:
        """Whether there was an answer for partition `number` since the last call that returned True. now: seconds that never go back."""
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
