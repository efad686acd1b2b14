"""Result files beside the checkpoints, and the publication of a result in the store.

A result is written to its file before it is published. The files hold the history of each board, and the store is filled again from them
after a loss.
"""

import logging
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import groupby, islice
from typing import Final, NamedTuple

import msgspec

from services.boards.history import ROWS, KeptSolve, kept
from services.boards.result import AgentRow, SolvedBoard
from services.boards.slice_boards import is_sliced
from services.boards.store.solved import SolvedBoards
from services.boards.thinning import reaches_beyond, thinned
from services.checkpoints.blob_files import BlobFiles
from services.solve.planning.jobs import Job

log = logging.getLogger("equirank.solve")

_FILE: Final = re.compile(
    r"results/(?P<pool>[^/]+)/(?P<board>[^/]+)/(?P<order>\d{10}-\d{20})-(?P<sequence>\d{6,})(?:-(?P<time>\d{10,}))?\.json$"
)
_END: Final = ".json"
_INTERVALS_END: Final = "-intervals.json"


class NewestFile(NamedTuple):
    """The newest result of a board.

    Attributes:
        name: Name of its file.
        board: The result.
        kept: Number of kept results of the board, unreadable ones and those of other logs included.
        sequence: The largest sequence of these results.
    """

    name: str
    board: SolvedBoard
    kept: int
    sequence: int


class _Origin(msgspec.Struct):
    """What a result file is read for before it is decided whether the result is kept. Its fields are those of `SolvedBoard`."""

    solved_at: float
    log: str = ""


class ResultFiles:
    """One file per result. Its name holds pool, name of the board, generation, position and sequence.

    The newest `most` results of each board are kept as they are. Of earlier results, those of `thinning` are kept, at most 57: their files
    have agents, ratings and ranks of the best rows only, and their names end with the time of the solve in seconds since 1970. The order
    of results is that of generation, position and sequence.
    If a result got intervals later, a second file beside it has the result with its intervals. It is read in place of the first one, and
    goes with it.
    """

    def __init__(self, files: BlobFiles, most: int) -> None:
        self._files, self.most = files, most

    def write(self, board: SolvedBoard) -> str:
        """Write one result, then remove earlier results that are not to be kept. Returns the name of the new file."""
        written = self.add(board)
        self.prune(board, written)
        return written

    def prune(self, board: SolvedBoard, newest: str) -> None:
        """Remove earlier results that are not to be kept, and cut those that are kept beyond the newest `most`.

        If a file cannot be read, written or removed, a warning is logged, and the next call tries again.

        Args:
            board: The newest result.
            newest: Name of its file, which stays as it is: results of another log can be at later positions.
        """
        job = Job(board.pool, board.name)
        try:
            names, keep = self.names(job), {newest, *self.names_to_keep(job, board.log)}
            for name in names:
                if name not in keep:
                    self.discard(name)
            for name in _complete(names)[: -self.most]:
                if name in keep - {newest} and (earlier := self.read(name)) is not None:
                    self.add(_cut(earlier))
                    self.discard(name)
        except OSError as error:
            log.warning("an old result could not be removed: %s", error, extra={"pool": job.pool, "method": job.board})

    def names_to_keep(self, job: Job, log: str) -> list[str]:
        """Names of the files of one board that are kept, oldest result first: the newest `most`, and earlier ones by `thinning`.

        Results of other logs and unreadable ones are not kept beyond the newest `most`, because no history has them. log: identity of the
        log.
        """
        names = self.names(job)
        newest = set(_complete(names)[-self.most :])
        earlier = [name for name in names if name not in newest] if reaches_beyond(job.board) else []
        times = {name: time for name in earlier if (time := self._date(name, log)) is not None}
        dated = list(times)
        kept_names = newest | {dated[at] for at in thinned(list(times.values()))}
        return [name for name in names if name in kept_names]

    def _date(self, name: str, log: str) -> float | None:
        """Time of an earlier result in seconds since 1970; None if it is unreadable, or not of this log."""
        if (time := _cut_time(name)) is not None:
            return time
        try:
            origin = msgspec.json.decode(self._files.read(name), type=_Origin)
        except (msgspec.DecodeError, UnicodeDecodeError, FileNotFoundError):
            return None
        return origin.solved_at if origin.log == log else None

    def rewrite(self, job: Job, change: Callable[[SolvedBoard], SolvedBoard], sequence: Callable[[], int]) -> dict[str, str]:
        """Apply `change` to all results of one board. The changed ones, and the newest one, are written with new sequences.

        The old file is removed after the new one is written. A crash between the two steps leaves the result twice in the history.
        Second files whose first file is gone are removed: a task that computes intervals writes one if its result was rewritten meanwhile.

        Returns:
            Old file name -> new file name, oldest result first.
        """
        renamed: dict[str, str] = {}
        results = [(name, board) for name in self.names(job) if (board := self.read(name)) is not None]
        changed = [change(board) for _, board in results]
        first = next((i for i, (_, board) in enumerate(results) if changed[i] != board), len(results) - 1)
        for (name, _), board in list(zip(results, changed, strict=True))[max(0, first) :]:  # with those after it, so their order stays
            renamed[name] = self.add(msgspec.structs.replace(board, sequence=sequence()))
            self.discard(name)
        firsts = {_with_intervals(name) for name in self.names(job)}
        for name in self._files.tree(_folder(job)):
            if name.endswith(_INTERVALS_END) and name not in firsts:
                self._files.remove(name)
        return renamed

    def add(self, board: SolvedBoard) -> str:
        """Write one result. Returns the name of the new file."""
        folder = _folder(Job(board.pool, board.name))
        time = "" if board.total is msgspec.UNSET else f"-{max(0, int(board.solved_at)):010d}"
        written = f"{folder}/{board.generation:010d}-{board.position:020d}-{board.sequence:06d}{time}{_END}"
        self._files.write(written, [msgspec.json.encode(board)])
        return written

    def add_intervals(self, name: str, board: SolvedBoard) -> None:
        """Write the result of the file `name` once more, with intervals."""
        self._files.write(_with_intervals(name), [msgspec.json.encode(board)])

    def remove(self, job: Job) -> None:
        """Remove the results of one board."""
        for name in self._files.tree(_folder(job)):
            self._files.remove(name)

    def discard(self, name: str) -> None:
        """Remove one result, if it is there. The second file goes first, so none is left without the first one."""
        for file in (_with_intervals(name), name):
            with suppress(FileNotFoundError):
                self._files.remove(file)

    def read(self, name: str) -> SolvedBoard | None:
        """The result in a file, with the intervals that it got later.

        None if the file is missing, incomplete after a crash, damaged, or written by an incompatible version. The sequence is that of the
        file's name: earlier releases numbered the files and not the boards.
        """
        board = self._decoded(_with_intervals(name)) if _cut_time(name) is None else None
        board = self._decoded(name) if board is None else board
        match = _FILE.match(name)
        return msgspec.structs.replace(board, sequence=int(match["sequence"])) if board is not None and match else board

    def _decoded(self, name: str) -> SolvedBoard | None:
        try:
            return msgspec.json.decode(self._files.read(name), type=SolvedBoard)
        except (msgspec.DecodeError, UnicodeDecodeError, FileNotFoundError):
            return None

    def names(self, job: Job) -> list[str]:
        """Names of the files of one board, oldest result first."""
        return self._named(_folder(job))

    def boards_of(self, pool: str) -> set[Job]:
        """The boards of a pool, and of its slices, that have results, also unreadable ones and those of other logs."""
        return {Job(pool, name.split("/")[2]) for name in self._files.tree(f"results/{pool}")}

    def newest_of_boards(self, log: str) -> Iterator[NewestFile]:
        """The newest readable result of each board that was computed from this log. Earlier results are not read."""
        for _, names in groupby(self._named("results"), lambda name: name.split("/")[1:3]):
            files = list(names)
            sequence = max(int(match["sequence"]) for name in files if (match := _FILE.match(name)))
            complete = reversed(_complete(files))
            of_log = ((name, board) for name in complete if (board := self.read(name)) is not None and board.log == log)
            for name, board in islice(of_log, 1):
                yield NewestFile(name, board, len(files), sequence)

    def newest(self, job: Job) -> Iterator[SolvedBoard]:
        """The readable results of one board that have all of their rows, newest first."""
        for name in reversed(_complete(self.names(job))):
            if (board := self.read(name)) is not None:
                yield board

    def history(self, job: Job, log: str) -> list[KeptSolve]:
        """The readable results to keep of one board that were computed from this log, in compact form, oldest first.

        Cut results that are unreadable or of another log are removed: they would make each new history differ from the files for a month.
        """
        found, names = [], self.names_to_keep(job, log)
        newest = set(_complete(names)[-self.most :])
        for name in names:
            board = self.read(name)
            if board is not None and board.log == log:
                found.append(kept(board if name in newest else _cut(board)))
            elif _cut_time(name) is not None:
                self.discard(name)
        return found

    def of_pool(self, pool: str, log: str) -> list[SolvedBoard]:
        """The newest result of each method on one pool, ordered by method. Results of slices are left out.

        A method is also left out if its newest file is unreadable or was computed from another log.
        """
        named = _complete(self._named(f"results/{pool}"))
        newest = {board: name for name in named if not is_sliced(board := name.split("/")[2])}
        boards = [self.read(name) for _, name in sorted(newest.items())]
        return [board for board in boards if board is not None and board.log == log]

    def _named(self, folder: str) -> list[str]:
        """Names of the first files, in the order of pool, board, generation, position and sequence."""
        matches = [match for name in self._files.tree(folder) if (match := _FILE.match(name))]
        return [match[0] for match in sorted(matches, key=_place)]


def publish_result(files: ResultFiles, boards: SolvedBoards, board: SolvedBoard, before: SolvedBoard | None = None) -> int | None:
    """Publish a result that has a file, then its history. The task of a solve calls it, and the engine for results that the store lacks.

    Args:
        files: The result files.
        boards: The store's solved boards.
        board: The result, with all rows. It is published without the start of the next solve.
        before: The result before it, if the caller knows it. If it is the newest of the history in the store, `board` is appended there;
            otherwise the whole history is written again.

    Returns:
        Number of solves in the published history, 0 for insight. None if the store has a newer board, or removed this board after the
        solve began; nothing is published then.

    Raises:
        StoreError: The store does not answer or refuses.
        OSError: The files of the history cannot be read.
    """
    job = Job(board.pool, board.name)
    board = msgspec.structs.replace(board, start=None)
    if not boards.publish(board):
        return None
    if job.is_insight:
        return 0
    count = len(files.names_to_keep(job, board.log))
    if before is not None and boards.extend_history(job.pool, job.board, kept(before), kept(board), count, files.most):
        return count
    history = files.history(job, board.log)
    boards.publish_history(job.pool, job.board, history, board.sequence)
    return len(history)


def _cut(board: SolvedBoard) -> SolvedBoard:
    """A result as it is kept beyond the newest few: with agents, ratings and ranks of its best rows, and without anything else."""
    result = board.result
    rows = [AgentRow(agent=row.agent, rating=row.rating, rank=row.rank) for row in result.agents[:ROWS]]
    bare = msgspec.structs.replace(result, agents=rows, tasks=[], extra={})
    total = len(result.agents) if board.total is msgspec.UNSET else board.total
    return msgspec.structs.replace(board, result=bare, start=None, total=total)


def _cut_time(name: str) -> int | None:
    """Time of the solve by the name of a cut result's file, in seconds since 1970; None for the file of a complete result."""
    match = _FILE.match(name)
    return None if match is None or match["time"] is None else int(match["time"])


def _complete(names: Iterable[str]) -> list[str]:
    """Those of the files that are not cut, in their order."""
    return [name for name in names if _cut_time(name) is None]


def _place(match: re.Match[str]) -> tuple[str, ...]:
    """Sort key of a file's name: the order of results. A cut result comes before the complete one of the same solve."""
    pool, board, order, sequence, time = match.group("pool", "board", "order", "sequence", "time")
    return pool, board, order, f"{int(sequence):020d}", "cut" if time else "full"


def _folder(job: Job) -> str:
    return f"results/{job.pool}/{job.board}"


def _with_intervals(name: str) -> str:
    return name.removesuffix(_END) + _INTERVALS_END
