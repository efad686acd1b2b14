"""The task of a solve in its own process: read the checkpointed arrays, solve, write the result file, and publish the result."""

import time
from collections.abc import Mapping
from contextlib import closing
from typing import Any, Final

import msgspec
from numpy.typing import NDArray

from ratings_core.methods.refits import TOP
from ratings_core.records.roster import Roster
from services.boards.ranked import ranked
from services.boards.result import VERSION, SolvedBoard, SolveResult
from services.boards.store.protocol import StoreError
from services.boards.store.redis import RedisStore
from services.boards.store.solved import SolvedBoards
from services.checkpoints.checkpoint import CheckpointStore, PoolEntry
from services.runtime.settings import PROVISIONAL, Provisional
from services.solve.insight import job as insight
from services.solve.problems.checkpointed import problem, with_groups
from services.solve.registry import methods
from services.solve.registry.methods import Solved
from services.solve.results import ResultFiles, publish_result
from services.solve.worker.evidence import by_evidence
from services.solve.worker.limits import forget_peak, memory_limit, peak
from services.solve.worker.normal_intervals import NORMAL_METHODS, with_normal_intervals
from services.state.parts import part
from services.wire.pools import Kind

STORE_SECONDS: Final = 5.0
"""Time limit of a command to the store. After it, the task ends, and the engine publishes the result later."""


class Destination(msgspec.Struct, frozen=True):
    """Where a task writes and publishes its result.

    Attributes:
        store: URL of the store.
        log: Identity of the log.
        most: Number of newest results that are kept of each board.
        interval_seconds: Time limit for all replicates of one board.
        sequence: Number of the solve (`SolvedBoard.sequence`).
        provisional: The least evidence for a rank.
    """

    store: str
    log: str
    most: int
    interval_seconds: float = 0.0
    sequence: int = 0
    provisional: Provisional = PROVISIONAL


class Delivery(msgspec.Struct, frozen=True):
    """What a task did with its result.

    Attributes:
        board: The result, with its best rows only.
        file: Name of its file. It was removed again if the result is `superseded`.
        history: Number of solves in the published history; None if nothing was published.
        superseded: Whether the store has a newer board of the method, or the method's board was removed after the solve began.
        why: Why the store did not take the result; the engine then publishes it.
    """

    board: SolvedBoard
    file: str
    history: int | None = None
    superseded: bool = False
    why: str = ""


def solve_and_publish(
    url: str, entry: bytes, method: str, parameters: Mapping[str, float | str | bool], memory: int, previous: str | None, destination: bytes
) -> bytes:
    """Solve a method, or compute insight, on a pool's data object, write the result to its file, and publish it.

    Arguments and errors are those of `solve_pool`; also `OSError` if the file cannot be written. destination: `Destination` as JSON.
    Returns a `Delivery` as JSON.
    """
    to, pool, files = msgspec.json.decode(destination, type=Destination), msgspec.json.decode(entry, type=PoolEntry), CheckpointStore(url)
    solved = solve_pool(url, entry, method, parameters, memory, previous, to.provisional)
    board = board_of(pool, parameters, solved, to, time.time())
    results = ResultFiles(files.blobs, to.most)
    before = None if previous is None else results.read(previous)
    with closing(RedisStore(to.store, to.log, patience=STORE_SECONDS)) as store:
        return msgspec.json.encode(deliver(results, store.solved, board, before))


def board_of(
    pool: PoolEntry, parameters: Mapping[str, float | str | bool], solved: Solved, to: Destination, solved_at: float
) -> SolvedBoard:
    """The board of a result. solved_at: Seconds since 1970."""
    return SolvedBoard(
        pool=pool.pool,
        generation=pool.generation,
        position=pool.position,
        outcomes=pool.outcomes,
        data=pool.digest,
        parameters=dict(parameters),
        solved_at=solved_at,
        result=solved.result,
        log=to.log,
        version=VERSION,
        start=solved.start,
        memory=solved.memory,
        sequence=to.sequence,
        slice=pool.slice,
    )


def deliver(files: ResultFiles, boards: SolvedBoards, board: SolvedBoard, before: SolvedBoard | None) -> Delivery:
    """Write a result to its file and publish it.

    Args:
        files: The result files.
        boards: The store's solved boards.
        board: The result.
        before: The result before it, if the caller knows it.

    Raises:
        OSError: The file cannot be written, or the files of the history cannot be read.
    """
    name = files.add(board)
    delivery = publish_file(files, boards, board, name, before)
    if delivery.superseded:
        files.discard(name)
    else:
        files.prune(board, name)
    return delivery


def publish_file(files: ResultFiles, boards: SolvedBoards, board: SolvedBoard, file: str, before: SolvedBoard | None = None) -> Delivery:
    """Publish a result that is in its file. before: As in `deliver`. Raises `OSError` if the files of the history cannot be read."""
    try:
        history = publish_result(files, boards, board, before)
    except StoreError as error:
        return Delivery(best_rows(board), file, why=str(error))
    return Delivery(best_rows(board), file, history, superseded=history is None)


def best_rows(board: SolvedBoard) -> SolvedBoard:
    """The board as the engine holds it: with its best rows only, and without the start of the next solve."""
    return msgspec.structs.replace(board, result=msgspec.structs.replace(board.result, agents=board.result.agents[:TOP]), start=None)


def solve_pool(
    url: str, entry: bytes, method: str, parameters: Mapping[str, float | str | bool], memory: int, previous: str | None = None,
    limits: Provisional = PROVISIONAL,
) -> Solved:  # fmt: skip
    """Solve a method, or compute insight, on a pool's data object.

    Args:
        url: Address of the checkpoints.
        entry: `PoolEntry` of the pool or of a slice, as JSON.
        method: Name of the method, or `insight`.
        parameters: Parameters of the solve.
        memory: Memory limit in bytes.
        previous: File of the previous result, for the ranks of its agents. If its parameters and version are the same, the solve also
            uses its start.
        limits: The least evidence for a rank.

    Raises:
        OutOfMemory: The solve needs more than its memory limit.
        BadObject: The data object cannot be read.
        InputError: As `methods.solve` raises it.
        SolverError: As `methods.solve` raises it.
    """
    forget_peak()
    pool, files = msgspec.json.decode(entry, type=PoolEntry), CheckpointStore(url)
    solved = _solve(files, pool, method, parameters, memory, previous, limits)
    return msgspec.structs.replace(solved, memory=peak())


def _solve(
    files: CheckpointStore, pool: PoolEntry, method: str, parameters: Mapping[str, float | str | bool], memory: int, previous: str | None,
    limits: Provisional,
) -> Solved:  # fmt: skip
    with memory_limit(memory):
        arrays = files.read_pool(pool, mapped=True)
        if method == insight.INSIGHT:
            return Solved(_insight(pool, files, arrays, parameters, limits))
        before = None if previous is None else ResultFiles(files.blobs, 1).read(previous)
        start = before.start if before is not None and (before.parameters, before.version) == (parameters, VERSION) else None
        given = methods.problem_for(method, Kind(pool.kind), arrays)
        solved = methods.solve_from(start, method, given, parameters)
        if method in NORMAL_METHODS:
            normal = with_normal_intervals(method, with_groups(given, arrays), parameters, solved.result)
            solved = solved if normal is None else msgspec.structs.replace(solved, result=normal)
        solved = msgspec.structs.replace(solved, result=by_evidence(solved.result, arrays, given, limits))
        return solved if before is None else _with_earlier_ranks(solved, before.result)


def _with_earlier_ranks(solved: Solved, before: SolveResult) -> Solved:
    """`solved` with each agent's rank in the previous result (`rank_before`)."""
    ranks = {row.agent: row.rank for row in before.agents}
    agents = [msgspec.structs.replace(row, rank_before=ranks.get(row.agent)) for row in solved.result.agents]
    return Solved(msgspec.structs.replace(solved.result, agents=agents), solved.start)


def _insight(
    pool: PoolEntry, files: CheckpointStore, arrays: Mapping[str, NDArray[Any]], parameters: Mapping[str, float | str | bool],
    limits: Provisional,
) -> SolveResult:  # fmt: skip
    """Compute the insight of a pool from its checkpoint and its newest boards. parameters: as `insight.offered` makes them."""
    begun = time.perf_counter()
    kind, online = Kind(pool.kind), msgspec.json.decode(str(parameters["online"]), type=dict[str, dict[str, float]])
    names = Roster.from_arrays(part(arrays, "agents")).names()
    results = ResultFiles(files.blobs, 1).of_pool(pool.pool, str(parameters["log"]))
    boards = [board for board in results if board.result.method != insight.INSIGHT]
    standings = insight.online_standings(kind, online, arrays, names, pool.position, limits)
    standings += [ranked(board) for board in boards if board.generation == pool.generation and board.result.agents]
    result = insight.solve(problem(kind, arrays), pool.outcomes, standings, insight.sums_of(arrays, list(online)))
    return msgspec.structs.replace(result, seconds=time.perf_counter() - begun)
