"""Result files beside the checkpoints. They hold the history of each board, and the store is filled again from them after a loss."""

import logging
import re
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from services.boards.result import SolvedBoard
from services.checkpoints.blob_files import BlobFiles
from services.solve.planning.jobs import Job

log = logging.getLogger("equirank.solve")

_FILE: Final = re.compile(r"results/(?P<pool>[^/]+)/(?P<method>[^/]+)/(?P<order>\d{10}-\d{20})-(?P<sequence>\d{6})\.json$")


class ResultFiles:
    """One file per result. Its name holds pool, method, generation, position, and a sequence number.

    The sequence number separates several results at one position. The newest `most` results of each method on each pool are kept.
    """

    def __init__(self, files: BlobFiles, most: int) -> None:
        self._files, self._most = files, most

    def write(self, board: SolvedBoard) -> str:
        """Write one result, then remove the oldest results beyond the limit. Returns the name of the new file.

        If an old result cannot be removed, a warning is logged, and the next write tries again.
        """
        written, job = self._write(board), Job(board.pool, board.result.method)
        try:
            for name in self._files.tree(_folder(job))[: -self._most]:
                self._files.remove(name)
        except OSError as error:
            log.warning("an old result could not be removed: %s", error, extra={"pool": job.pool, "method": job.method})
        return written

    def _write(self, board: SolvedBoard) -> str:
        folder = _folder(Job(board.pool, board.result.method))
        order = f"{board.generation:010d}-{board.position:020d}"
        standing = [match for name in self._files.tree(folder) if (match := _FILE.match(name)) and match["order"] == order]
        sequence = max((int(match["sequence"]) for match in standing), default=-1) + 1
        written = f"{folder}/{order}-{sequence:06d}.json"
        self._files.write(written, [msgspec.json.encode(board)])
        return written

    def rewrite(self, job: Job, change: Callable[[SolvedBoard], SolvedBoard]) -> dict[str, str]:
        """Apply `change` to all results of one method on one pool. Returns old file name -> new file name of each changed result.

        The old file is removed after the new one is written. A crash between the two steps leaves the result twice in the history.
        """
        renamed: dict[str, str] = {}
        for name in self._named(_folder(job)):
            board = read_result(self._files, name)
            if board is not None and (changed := change(board)) != board:
                renamed[name] = self._write(changed)
                self._files.remove(name)
        return renamed

    def remove(self, job: Job) -> None:
        """Remove the results of one method on one pool."""
        for name in self._files.tree(_folder(job)):
            self._files.remove(name)

    def kept(self, log: str) -> Iterator[tuple[str, SolvedBoard]]:
        """Files and readable results that were computed from this log, grouped by pool and method, oldest first in each group."""
        for name in self._named("results"):
            if (board := read_result(self._files, name)) is not None and board.log == log:
                yield name, board

    def newest(self, job: Job) -> Iterator[SolvedBoard]:
        """The readable results of one method on one pool, newest first."""
        for name in reversed(self._named(_folder(job))):
            if (board := read_result(self._files, name)) is not None:
                yield board

    def of_pool(self, pool: str, log: str) -> list[SolvedBoard]:
        """The newest result of each method on one pool, ordered by method.

        A method is left out if its newest file is unreadable or was computed from another log.
        """
        newest = {name.split("/")[2]: name for name in self._named(f"results/{pool}")}
        boards = [read_result(self._files, name) for _, name in sorted(newest.items())]
        return [board for board in boards if board is not None and board.log == log]

    def _named(self, folder: str) -> list[str]:
        return [name for name in self._files.tree(folder) if _FILE.match(name)]  # sorted, so the newest comes last


def read_result(files: BlobFiles, name: str) -> SolvedBoard | None:
    """The result in a file; None if the file is missing, incomplete after a crash, damaged, or written by an incompatible version."""
    try:
        return msgspec.json.decode(files.read(name), type=SolvedBoard)
    except (msgspec.DecodeError, UnicodeDecodeError, FileNotFoundError):
        return None


def _folder(job: Job) -> str:
    return f"results/{job.pool}/{job.method}"
