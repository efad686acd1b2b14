"""The task of a final board: solve one method on the final state of a season, and write the board to the season's files."""

import time
from collections.abc import Mapping

import msgspec

from ratings_core.errors import InputError, SolverError
from ratings_core.methods import registry
from services.boards.result import VERSION, CertificateRow, SolvedBoard, SolveResult
from services.boards.season_files import SeasonEnd, SeasonFiles
from services.boards.slice_boards import board_name
from services.checkpoints.checkpoint import CheckpointStore
from services.runtime.settings import PROVISIONAL, Provisional
from services.solve.planning.jobs import Job, JobStatus
from services.solve.results import ResultFiles
from services.solve.worker.limits import OutOfMemory
from services.solve.worker.task_pool import failure_text
from services.solve.worker.tasks import Destination, board_of, solve_pool

Parameters = Mapping[str, float | str | bool]


def write_final_board(
    url: str, end: bytes, method: str, parameters: Parameters, memory: int, limits: Provisional = PROVISIONAL
) -> str | None:
    """Solve a method on the final state of a season, and write the board to the season's files.

    A result that the pool already had of the same outcomes and parameters is taken as it is, with its intervals. A method that does not
    apply, or fails, gets a board without rows that states the reason.

    Args:
        url: Address of the checkpoints.
        end: `SeasonEnd` of the season, as JSON, with the entry of the pool or slice to solve.
        method: Name of the method.
        parameters: Parameters of the solve.
        memory: Memory limit in bytes.
        limits: The least evidence for a rank.

    Returns:
        Why files cannot be read or written now; None if the board is written.

    Raises:
        BadObject: The final state cannot be read.
    """
    ended, files = msgspec.json.decode(end, type=SeasonEnd), CheckpointStore(url)
    try:
        board = _known(ResultFiles(files.blobs, 1), ended, method, parameters)
        if board is None:
            board = _solved(url, ended, method, parameters, memory, limits)
        SeasonFiles(files, ended.log).write_board(ended.season, board)
    except OSError as error:
        return str(error)
    return None


def without_result(end: SeasonEnd, method: str, parameters: Parameters, status: JobStatus, why: str) -> SolvedBoard:
    """A final board without rows, which states why there is no result."""
    nothing = SolveResult(
        method=method, input="none", agents=[], certificate=CertificateRow(kind="none", value=None), status=status.value, seconds=0.0
    )
    entry = end.entry
    return SolvedBoard(
        pool=entry.pool,
        generation=entry.generation,
        position=entry.position,
        outcomes=entry.outcomes,
        data=entry.digest,
        parameters=dict(parameters),
        solved_at=time.time(),
        result=nothing,
        error=why,
        log=end.log,
        version=VERSION,
        slice=entry.slice,
    )


def _known(results: ResultFiles, end: SeasonEnd, method: str, parameters: Parameters) -> SolvedBoard | None:
    """The kept result of the same outcomes, parameters and version; None if no kept result has these."""
    wanted = end.entry.digest, dict(parameters), VERSION, end.log
    for board in results.newest(Job(end.entry.pool, board_name(method, end.entry.slice))):
        if (board.data, board.parameters, board.version, board.log) == wanted:
            return msgspec.structs.replace(board, generation=end.entry.generation, position=end.entry.position, start=None)
    return None


def _solved(url: str, end: SeasonEnd, method: str, parameters: Parameters, memory: int, limits: Provisional) -> SolvedBoard:
    status, why = JobStatus.FAILED, ""
    try:
        solved = solve_pool(url, msgspec.json.encode(end.entry), method, parameters, memory, limits=limits)
        return msgspec.structs.replace(board_of(end.entry, parameters, solved, Destination("", end.log, 1), time.time()), start=None)
    except registry.NotApplicable as error:
        status, why = JobStatus.NOT_APPLICABLE, error.rule
    except InputError as error:
        status, why = JobStatus.NOT_APPLICABLE, f"{error.argument} {error.rule}"
    except (SolverError, OutOfMemory) as error:
        why = failure_text(error)
    return without_result(end, method, parameters, status, why)
