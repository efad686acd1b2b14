"""The task of a solve in its own process: read a pool's checkpointed arrays, solve, and return the answer as JSON bytes."""

import time
from collections.abc import Mapping
from typing import Any

import msgspec
from numpy.typing import NDArray

from ratings_core.records.roster import Roster
from services.boards.ranked_board import RankedBoard
from services.boards.result import VERSION, SolveResult
from services.checkpoints.checkpoint import CheckpointStore, PoolEntry
from services.solve.insight import job as insight
from services.solve.problems.checkpointed import problem, with_groups
from services.solve.registry import methods
from services.solve.registry.methods import Solved
from services.solve.results import ResultFiles, read_result
from services.solve.uncertainty.normal import NORMAL_METHODS, with_normal_intervals
from services.solve.worker.limits import forget_peak, memory_limit, peak
from services.state.parts import part
from services.wire.pools import Kind


def solve_pool(
    url: str, entry: bytes, method: str, parameters: Mapping[str, float | str | bool], memory: int, previous: str | None = None
) -> bytes:
    """Solve a method, or compute insight, on a pool's data object.

    Args:
        url: Address of the checkpoints.
        entry: `PoolEntry` of the pool, as JSON.
        method: Name of the method, or `insight`.
        parameters: Parameters of the solve.
        memory: Memory limit in bytes.
        previous: File of the previous result, for the ranks of its agents. If its parameters and version are the same, the solve also
            uses its start.

    Returns:
        A `methods.Solved` as JSON.

    Raises:
        OutOfMemory: The solve needs more than its memory limit.
        BadObject: The data object cannot be read.
        InputError: As `methods.solve` raises it.
        SolverError: As `methods.solve` raises it.
    """
    forget_peak()
    found = _solved(CheckpointStore(url), msgspec.json.decode(entry, type=PoolEntry), method, parameters, memory, previous)
    return msgspec.json.encode(msgspec.structs.replace(found, memory=peak()))


def _solved(
    files: CheckpointStore, pool: PoolEntry, method: str, parameters: Mapping[str, float | str | bool], memory: int, previous: str | None
) -> Solved:
    with memory_limit(memory):
        arrays = files.read_pool(pool, mapped=True)
        if method == insight.INSIGHT:
            return Solved(_insight(pool, files, arrays, parameters))
        before = None if previous is None else read_result(files.blobs, previous)
        start = before.start if before is not None and (before.parameters, before.version) == (parameters, VERSION) else None
        given = methods.problem_for(method, Kind(pool.kind), arrays)
        found = methods.solve_from(start, method, given, parameters)
        if method in NORMAL_METHODS:
            normal = with_normal_intervals(method, with_groups(given, arrays), parameters, found.result)
            found = found if normal is None else msgspec.structs.replace(found, result=normal)
        return found if before is None else _after(found, before.result)


def _after(found: Solved, before: SolveResult) -> Solved:
    """`found` with each agent's rank in the previous result (`rank_before`)."""
    ranks = {row.agent: row.rank for row in before.agents}
    agents = [msgspec.structs.replace(row, rank_before=ranks.get(row.agent)) for row in found.result.agents]
    return Solved(msgspec.structs.replace(found.result, agents=agents), found.start)


def _insight(
    pool: PoolEntry, files: CheckpointStore, arrays: Mapping[str, NDArray[Any]], parameters: Mapping[str, float | str | bool]
) -> SolveResult:
    """Compute the insight of a pool from its checkpoint and its newest boards. parameters: as `insight.offered` makes them."""
    begun = time.perf_counter()
    kind, online = Kind(pool.kind), msgspec.json.decode(str(parameters["online"]), type=dict[str, dict[str, float]])
    names = Roster.from_arrays(part(arrays, "agents")).names()
    results = ResultFiles(files.blobs, 1).of_pool(pool.pool, str(parameters["log"]))
    boards = [board for board in results if board.result.method != insight.INSIGHT]
    standings = insight.online_standings(kind, online, arrays, names, pool.position)
    standings += [RankedBoard.of_board(board) for board in boards if board.generation == pool.generation]
    found = insight.solve(problem(kind, arrays), pool.outcomes, standings, insight.sums_of(arrays, list(online)))
    return msgspec.structs.replace(found, seconds=time.perf_counter() - begun)
