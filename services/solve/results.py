"""Results as files beside the checkpoints: what the store is filled from when it was lost."""

import re
from typing import Final

import msgspec

from services.shard.checkpoint import CheckpointStore
from services.solve.plan import Job
from services.solve.result import SolvedBoard

_FILE = re.compile(r"results/(?P<pool>[^/]+)/(?P<method>[^/]+)/(?P<order>\d{10}-\d{20})\.json$")
_KEPT: Final = 5


class ResultFiles:
    """One file a result, named by pool, method, generation and position; the newest few kept."""

    def __init__(self, files: CheckpointStore) -> None:
        self._files = files

    def write(self, board: SolvedBoard) -> None:
        """Write one result, then remove those that are older than the newest few."""
        folder = f"results/{board.pool}/{board.result.method}"
        self._files.write_file(f"{folder}/{board.generation:010d}-{board.position:020d}.json", msgspec.json.encode(board))
        for name in self._files.files(folder)[:-_KEPT]:
            self._files.remove_file(name)

    def remove(self, job: Job) -> None:
        """Remove the results of one method on one pool."""
        for name in self._files.files(f"results/{job.pool}/{job.method}"):
            self._files.remove_file(name)

    def newest(self, log: str) -> dict[Job, SolvedBoard]:
        """The newest whole result of each pool and method that was computed from this log."""
        boards: dict[Job, SolvedBoard] = {}
        for name in self._files.files("results"):  # sorted, so the newest comes last
            if (match := _FILE.match(name)) and (board := self._read(name)) is not None and board.log == log:
                boards[Job(match["pool"], match["method"])] = board
        return boards

    def _read(self, name: str) -> SolvedBoard | None:
        try:
            return msgspec.json.decode(self._files.read_file(name), type=SolvedBoard)
        except msgspec.DecodeError:
            return None  # half-written by a crash, or of another version: the next solve writes a new one
