"""Replaces erased names in results, a few boards in each step of the engine, so that shards and solves do not wait for a pool's boards."""

import logging
from collections import Counter
from collections.abc import Container
from typing import Final

from services.control.erasures import ErasedName, NameMatcher
from services.runtime.logging import LogThrottle
from services.solve.planning.jobs import Job
from services.solve.scheduler.newest import NewestResults

log = logging.getLogger("equirank.erasure")

_TROUBLE: Final = "erased names cannot be replaced in a board's results, trying again: %s"


class ResultErasure(Container[Job]):
    """The boards whose results may still contain an erased name. `job in erasure` says whether a board is one of them.

    Nothing of it is kept in a file: a new engine begins with all boards of each pool that has erased names. A repeated replacement changes
    no name.
    """

    def __init__(self, results: NewestResults) -> None:
        self._results = results
        self._names: dict[str, tuple[ErasedName, ...]] = {}
        self._left: dict[Job, None] = {}
        self._troubles = LogThrottle()

    def __contains__(self, job: object) -> bool:
        """Whether results of the job's board are still to be searched."""
        return job in self._left

    def __len__(self) -> int:
        """Number of boards whose results are still to be searched."""
        return len(self._left)

    def request(self, pool: str, names: tuple[ErasedName, ...]) -> None:
        """Search all results of a pool, unless they were searched for exactly these names. names: all erased names of the pool.

        Boards are also found by their files: a task that was lost after it wrote its file leaves a result that the engine does not know.

        Raises `OSError` if the files cannot be listed.
        """
        if self._names.get(pool) != names:
            found = {job for job in (*self._results, *self._results.forgotten) if job.pool == pool} | self._results.files.boards_of(pool)
            self._names[pool] = names
            self._left = dict.fromkeys(sorted({*self._left, *found}, key=_place))

    def repeat(self, job: Job) -> None:
        """Search the results of a board again. A task that read an earlier generation may have written a name."""
        if job.pool in self._names:
            self._left[job] = None

    def go_on(self, most: int) -> None:
        """Replace names in the results of the next boards, those of complete pools first.

        After an error of the files, the board waits behind the others.

        Args:
            most: Number of results after which no further board is begun.
        """
        searched = 0
        for job in list(self._left):
            if searched >= most:
                return
            del self._left[job]
            try:
                searched += self._results.erase(job, NameMatcher(self._names[job.pool]))
            except OSError as error:
                self._left[job] = None
                self._troubles.warn(log, _TROUBLE, error, pool=job.pool, method=job.board)
                return
        if not self._left:
            self._troubles.over(_TROUBLE)

    def left(self) -> dict[str, int]:
        """Pool -> number of its boards whose results are still to be searched."""
        return dict(Counter(job.pool for job in self._left))

    def erased(self, pool: str) -> tuple[ErasedName, ...]:
        """The erased names of a pool, once none of its results contains one; empty before."""
        return () if any(job.pool == pool for job in self._left) else self._names.get(pool, ())


def _place(job: Job) -> tuple[bool, Job]:
    """Sort key: boards of complete pools, which most readers see, come before those of slices."""
    return job.sliced, job
