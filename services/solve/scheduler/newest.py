"""The newest result of every job, as the engine holds it: the best rows, the name of its file, and whether the store has it."""

from collections.abc import ItemsView, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec
from msgspec import UNSET

from services.boards.erased_boards import without_names
from services.boards.result import SolvedBoard
from services.control.erasures import NameMatcher
from services.solve.planning.jobs import Job
from services.solve.results import ResultFiles
from services.solve.worker.tasks import Delivery, best_rows

_ENGINE_BITS: Final = 24
"""Sequences of one engine begin at its number times 2 to this power. They are exact in the store below 2^53."""


@dataclass(slots=True)
class JobResult:
    """The newest result of a job.

    Attributes:
        board: The board with its best rows only.
        file: Name of the file with all of its rows; None for a board that has no rows and no file.
        history: Number of solves that the store's history of this board must have.
        awaits_store: Whether the result must be published.
    """

    board: SolvedBoard
    file: str | None = None
    history: int = 0
    awaits_store: bool = True


class NewestResults(Mapping[Job, JobResult]):
    """The newest result of every job that has one, or has failed.

    Args:
        files: The result files.
        log_identity: Identity of the log that all results are of.
        engine: Number of this engine. A later engine has a higher one.

    Attributes:
        forgotten: Jobs whose newest file was gone and which have no new result yet, and removed jobs that may still have files; in the
            order in which they were forgotten. The store may still show the old result.
    """

    def __init__(self, files: ResultFiles, log_identity: str, engine: int) -> None:
        self.files, self.log_identity = files, log_identity
        self._results: dict[Job, JobResult] = {}
        self._sequence = engine << _ENGINE_BITS
        self.forgotten: dict[Job, None] = {}

    def load(self) -> None:
        """Read the results of earlier runs that were computed from this log."""
        for newest in self.files.newest_of_boards(self.log_identity):
            job = Job(newest.board.pool, newest.board.name)
            self._sequence = max(self._sequence, newest.sequence)  # higher than the engine's number if the control log is new
            self._hold(job, best_rows(newest.board), newest.name).history = 0 if job.is_insight else newest.kept

    def __getitem__(self, job: Job) -> JobResult:
        """The newest result of a job. Raises `KeyError`."""
        return self._results[job]

    def __iter__(self) -> Iterator[Job]:
        """All jobs. The current job may be removed during the iteration."""
        return iter(list(self._results))

    def __len__(self) -> int:
        """Number of jobs."""
        return len(self._results)

    def items(self) -> ItemsView[Job, JobResult]:
        """All jobs with their results, of this moment. It is faster than looking up each job."""
        return dict(self._results).items()

    def boards(self) -> dict[Job, SolvedBoard]:
        """The newest boards, with their best rows only."""
        return {job: result.board for job, result in self._results.items()}

    def next_sequence(self) -> int:
        """A sequence above all that were given or seen."""
        self._sequence += 1
        return self._sequence

    def exceed(self, sequence: int) -> None:
        """Give sequences above this one from now on: the store has a board with it, which no file and no earlier engine explains."""
        self._sequence = max(self._sequence, sequence)

    def delivered(self, job: Job, delivery: Delivery) -> None:
        """Take a new result, or the newest result with intervals. It is in its file and, unless the store failed, published.

        If the result before it was not published, it is published once more, with its whole history: the task added it to a history in the
        store that may still have erased names.
        """
        error, newest = None, self._results.get(job.of_board)
        behind = newest is not None and newest.awaits_store
        if job.intervals:
            job = job.of_board
            if newest is None or newest.board.sequence != delivery.board.sequence:
                return  # a newer solve or an erasure replaced the result
            error = newest.board.error
        result = self._hold(job, msgspec.structs.replace(delivery.board, error=error), delivery.file)
        if delivery.history is not None:
            result.awaits_store, result.history = error is not None or behind, delivery.history

    def complete(self, job: Job) -> SolvedBoard | None:
        """The newest board as readers see it: all rows and `error`. None if its file is gone. Raises `OSError`."""
        result = self._results[job]
        if result.file is None:
            return result.board
        board = self.files.read(result.file)
        return board and msgspec.structs.replace(board, start=None, error=result.board.error)

    def erase(self, job: Job, names: NameMatcher) -> int:
        """Replace erased names in all results of a board. The job may be a forgotten one. Returns the number of these results.

        The newest result gets a higher sequence, so that a task which still has a name is refused by the store. The newest file is held
        from then on: a task that was lost may have written and published it. Raises `OSError`; a later call then does the rest.
        """
        searched = len(self.files.names(job))
        files = self.files.rewrite(job, lambda board: without_names(board, names), self.next_sequence)
        result = self._results.get(job)
        if result is None:
            return searched
        newest = None if result.file is None else self._newest_of(files)
        if newest is None:
            board = msgspec.structs.replace(without_names(result.board, names), sequence=self.next_sequence())
            self._hold(job, board, files.get(result.file or "", result.file))
        else:
            file, board = newest
            self._hold(job, msgspec.structs.replace(best_rows(board), error=result.board.error), file)
        return searched

    def _newest_of(self, files: Mapping[str, str]) -> tuple[str, SolvedBoard] | None:
        """The newest complete one of rewritten files that is of this log, and its result. files: Result of `ResultFiles.rewrite`."""
        for name in reversed(list(files.values())):
            if (board := self.files.read(name)) is not None and board.log == self.log_identity and board.total is UNSET:
                return name, board
        return None

    def replaced(self, job: Job, board: SolvedBoard) -> None:
        """Replace the board by one without rows that gives a reason. It has no file and is not part of the history."""
        self._hold(job, msgspec.structs.replace(board, sequence=self.next_sequence()), None)

    def failed(self, job: Job, why: str) -> None:
        """Keep the newest board and set its `error`: why there is no newer one."""
        result = self._results[job]
        result.board = msgspec.structs.replace(result.board, error=why)
        result.awaits_store = True

    def remove(self, job: Job) -> None:
        """Drop a job and its files. The job may be a forgotten one.

        Raises `OSError` if a file cannot be removed. The job is then the last of the forgotten ones, until a later call removes the rest.
        """
        self._results.pop(job, None)
        self.forgotten.pop(job, None)
        self.forgotten[job] = None
        self.files.remove(job)
        del self.forgotten[job]

    def forget(self, job: Job) -> None:
        """Drop a job whose newest file is gone."""
        del self._results[job]
        self.forgotten[job] = None

    def _hold(self, job: Job, board: SolvedBoard, file: str | None) -> JobResult:
        result = self._results.setdefault(job, JobResult(board))
        result.board, result.file, result.awaits_store = board, file, True
        self.forgotten.pop(job, None)
        return result
