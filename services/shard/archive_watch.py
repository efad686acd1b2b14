"""Whether the archive of a partition answers again, asked on threads: the folding thread never waits for an archive that hangs."""

from concurrent.futures import Future
from functools import partial
from typing import Final

from services.archive.history import History
from services.log.protocol import LogError, Topic
from services.runtime.deadlines import start

_ASK_SECONDS: Final = 60.0


class ArchiveWatch:
    """archived: the outcome log with its archive; None without an archive."""

    def __init__(self, archived: Topic | None) -> None:
        self._history = archived if isinstance(archived, History) else None
        self._asked: dict[int, tuple[float, Future[int | None]]] = {}

    def answers(self, number: int, now: float) -> bool:
        """Whether the archive of partition `number` could be opened since the last call that returned True.

        It is asked again a minute after the last time. now: seconds that never go back.
        """
        if self._history is None:
            return False
        asked = self._asked.get(number)
        if asked is None:
            self._asked[number] = now, start(partial(self._history.archived_to, number), "archive")
            return False
        at, answer = asked
        if not answer.done() or now - at < _ASK_SECONDS:
            return False
        del self._asked[number]
        try:
            answer.result()
        except LogError:
            return False
        return True
