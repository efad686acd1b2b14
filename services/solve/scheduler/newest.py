"""The newest result of every job: in memory, in its file, and in the history of its board."""

import logging
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Final

import msgspec

from services.boards.history import Kept, kept, renamed
from services.boards.result import PackedStart, SolvedBoard
from services.control.erasures import NameMatcher
from services.runtime.logging import LogThrottle
from services.solve.erased_boards import without_names
from services.solve.intervals.runner import IntervalRunner
from services.solve.planning.jobs import Job
from services.solve.results import ResultFiles
from services.solve.scheduler.packing import packed, whole

log = logging.getLogger("equirank.solve")

_AWAITS_FILE: Final = "results cannot be written to their files, trying again: %s"


@dataclass(slots=True)
class JobResult:
    """The newest result of a job, and what remains to be done with it.

    Attributes:
        board: The board with its best rows only.
        rows: All rows, packed.
        history: Earlier results and this one, oldest first, in the compact form that readers get.
        file: Name of the newest result's file; None if no try has given a result.
        published: The board that was published last.
        awaits_store: Whether the result must be published.
        awaits_file: Whether the file could not be written yet.
        history_changed: Whether earlier results changed since the history was published.
    """

    board: SolvedBoard
    rows: bytes
    history: deque[Kept]
    file: str | None = None
    published: SolvedBoard | None = None
    awaits_store: bool = True
    awaits_file: bool = False
    history_changed: bool = False

    def complete(self) -> SolvedBoard:
        """The board with all of its rows."""
        return whole(self.board, self.rows)


class NewestResults(Mapping[Job, JobResult]):
    """The newest result of every job that has one, or has failed. A result is written to its file before it is published."""

    def __init__(self, files: ResultFiles, intervals: IntervalRunner, most_kept: int) -> None:
        """most_kept: length of each history."""
        self._files, self._intervals, self._most_kept = files, intervals, most_kept
        self._results: dict[Job, JobResult] = {}
        self._erased: dict[str, NameMatcher] = {}
        """Names that results of a pool must not hold."""
        self._troubles = LogThrottle()

    def load(self, log_identity: str) -> None:
        """Read the results of earlier runs that were computed from this log."""
        for job, results in groupby(self._files.kept(log_identity), lambda one: Job(one[1].pool, one[1].result.method)):
            history: deque[Kept] = deque(maxlen=self._most_kept)
            for name, board in results:  # noqa: B007 - the last one is the newest
                if not job.is_insight:
                    history.append(kept(board))
            self._hold(job, msgspec.structs.replace(board, start=None), name).history = history
            self.intervals_changed(job)

    def __getitem__(self, job: Job) -> JobResult:
        """The newest result of a job. Raises `KeyError`."""
        return self._results[job]

    def __iter__(self) -> Iterator[Job]:
        """All jobs. The current job may be removed during the iteration."""
        return iter(list(self._results))

    def __len__(self) -> int:
        """Number of jobs."""
        return len(self._results)

    def boards(self) -> dict[Job, SolvedBoard]:
        """The newest boards, with their best rows only."""
        return {job: result.board for job, result in self._results.items()}

    def solved(self, job: Job, board: SolvedBoard, start: PackedStart | None) -> None:
        """Take a new result. start: Start of the next solve; it is written to the file only."""
        written = msgspec.structs.replace(board, start=start)
        if job.pool in self._erased:
            written = without_names(written, self._erased[job.pool])
            board = msgspec.structs.replace(written, start=None)
        name = self._write(job, written)
        result = self._hold(job, board, name)
        result.awaits_file = name is None
        if not job.is_insight:
            result.history.append(kept(self._intervals.shown(job, board)))

    def erase(self, pool: str, names: NameMatcher) -> None:
        """Replace erased names in all results of a pool, and in later ones. Raises `OSError`; a later call then does the rest."""
        self._erased[pool] = names
        for job, result in self.items():
            if job.pool != pool:
                continue
            files = self._files.rewrite(job, lambda board: without_names(board, names))
            result.history = deque((renamed(one, names.replaced) for one in result.history), self._most_kept)
            board, standing = result.complete(), result.file
            if files or without_names(board, names) != board:
                self._hold(job, without_names(board, names), None if standing is None else files.get(standing, standing))
                result.history_changed = True

    def replaced(self, job: Job, board: SolvedBoard) -> None:
        """Replace the board by one without rows that gives a reason. It has no file and is not part of the history."""
        self._hold(job, board, None).awaits_file = False

    def failed(self, job: Job, why: str) -> None:
        """Keep the newest board and set its `error`: why there is no newer one."""
        result = self._results[job]
        result.board = msgspec.structs.replace(result.board, error=why)
        result.awaits_store = True

    def intervals_changed(self, job: Job) -> None:
        """Update the newest entry of the history with the present intervals of its result."""
        result = self._results[job]
        if result.history:
            result.history[-1] = kept(self._intervals.shown(job, result.complete()))

    def write_late(self) -> None:
        """Write the results whose files could not be written, as on a full disk."""
        for job, result in self.items():
            if result.awaits_file:
                name = self._write(job, msgspec.structs.replace(result.complete(), error=None))
                if name is None:
                    return
                result.file, result.awaits_file = name, False
                self._troubles.over(_AWAITS_FILE)

    def remove(self, job: Job) -> None:
        """Drop a job and its files."""
        self._files.remove(job)
        del self._results[job]

    def _hold(self, job: Job, board: SolvedBoard, name: str | None) -> JobResult:
        best, rows = packed(board)
        result = self._results.get(job)
        if result is None:
            result = self._results[job] = JobResult(best, rows, deque(maxlen=self._most_kept))
        result.board, result.rows, result.awaits_store = best, rows, True
        result.file = name or result.file
        return result

    def _write(self, job: Job, board: SolvedBoard) -> str | None:
        try:
            return self._files.write(board)
        except OSError as error:
            self._troubles.warn(log, _AWAITS_FILE, error, pool=job.pool, method=job.method)
            return None
