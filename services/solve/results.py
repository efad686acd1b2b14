"""Results as files beside the checkpoints: what the store is filled from when it was lost, and the history of each board."""

import logging
import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import msgspec

from services.boards.result import SolvedBoard
from services.checkpoints.blob_files import BlobFiles
from services.solve.planning.jobs import Job

log = logging.getLogger("equirank.solve")

_FILE: Final = re.compile(r"results/(?P<pool>[^/]+)/(?P<method>[^/]+)/(?P<order>\d{10}-\d{20})-(?P<sequence>\d{6})\.json$")


class ResultFile(NamedTuple):
    """A complete result and the name of its file."""

    file_name: str
    board: SolvedBoard


class ResultFiles:
    """One file a result, named by pool, method, generation, position, and a number where those repeat; the newest `most` kept."""

    def __init__(self, files: BlobFiles, most: int) -> None:
        self._files, self._most = files, most

    def write(self, board: SolvedBoard) -> str:
        """Write one result, then remove those that are older than the newest few; its name. What cannot be removed waits for the next."""
        written, job = self._write(board), Job(board.pool, board.result.method)
        try:
            for name in self._files.tree(_folder(job))[: -self._most]:
                self._files.remove(name)
        except OSError as error:
            log.warning("an older result could not be removed: %s", error, extra={"pool": job.pool, "method": job.method})
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
        """Replace the results of one method on one pool by what `change` returns. Returns the new names of their files by the old ones.

        A file is removed once the one in its place is written: a crash between the two leaves one result twice in the history.
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

    def kept(self, log: str) -> Iterator[ResultFile]:
        """The whole results that were computed from this log; of each pool and method oldest first."""
        for name in self._named("results"):
            if (board := read_result(self._files, name)) is not None and board.log == log:
                yield ResultFile(name, board)

    def newest(self, job: Job) -> Iterator[SolvedBoard]:
        """The whole results of one method on one pool, newest first."""
        for name in reversed(self._named(_folder(job))):
            if (board := read_result(self._files, name)) is not None:
                yield board

    def of_pool(self, pool: str, log: str) -> list[SolvedBoard]:
        """The newest result of each method on one pool that is whole and was computed from this log, by method."""
        newest = {name.split("/")[2]: name for name in self._named(f"results/{pool}")}
        boards = [read_result(self._files, name) for _, name in sorted(newest.items())]
        return [board for board in boards if board is not None and board.log == log]

    def _named(self, folder: str) -> list[str]:
        return [name for name in self._files.tree(folder) if _FILE.match(name)]  # sorted, so the newest comes last


def read_result(files: BlobFiles, name: str) -> SolvedBoard | None:
    """The result in a file; None where it is not there, was half written by a crash, was damaged, or is of another version."""
    try:
        return msgspec.json.decode(files.read(name), type=SolvedBoard)
    except (msgspec.DecodeError, UnicodeDecodeError, FileNotFoundError):
        return None


def _folder(job: Job) -> str:
    return f"results/{job.pool}/{job.method}"
