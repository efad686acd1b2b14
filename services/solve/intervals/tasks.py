"""The task of an intervals job in a worker process: add intervals to a solved board, and publish it again."""

from contextlib import closing

import msgspec

from services.boards.result import Intervals
from services.boards.store.redis import RedisStore
from services.checkpoints.checkpoint import CheckpointStore, PoolEntry
from services.checkpoints.objects import BadObject
from services.solve.intervals.replicates import add_intervals, seed_of
from services.solve.planning.jobs import Parameters
from services.solve.problems.checkpointed import with_groups
from services.solve.registry import methods
from services.solve.results import ResultFiles
from services.solve.worker.limits import memory_limit
from services.solve.worker.task_pool import failure_text
from services.solve.worker.tasks import STORE_SECONDS, Destination, publish_file
from services.wire.pools import Kind


def add_and_publish(url: str, entry: bytes, method: str, _: Parameters, memory: int, file: str, destination: bytes) -> bytes:
    """Add intervals from replicates to a result, write it beside its file, and publish it with the sequence of its solve.

    So it loses against a newer solve. If the intervals fail, the result says why there are none. Replicates are solved with the parameters
    of the result.

    Args:
        url: Address of the checkpoints.
        entry: `PoolEntry` of the pool, as JSON; the result is of its data.
        method: Name of the method.
        memory: Memory limit in bytes.
        file: File of the result.
        destination: `Destination` as JSON.

    Returns:
        A `Delivery` as JSON.

    Raises:
        BadObject: The data object cannot be read.
        OSError: The files do not answer, or the result is gone.
    """
    to, pool, checkpoints = (
        msgspec.json.decode(destination, type=Destination),
        msgspec.json.decode(entry, type=PoolEntry),
        CheckpointStore(url),
    )
    files = ResultFiles(checkpoints.blobs, to.most)
    board = files.read(file)
    if board is None:
        raise FileNotFoundError(f"{file}: the result is gone")
    try:
        with memory_limit(memory):
            arrays = checkpoints.read_pool(pool, mapped=True)
            problem = with_groups(methods.problem_for(method, Kind(pool.kind), arrays), arrays)
            seed = seed_of(pool.pool, board.position, method)
            result = add_intervals(method, problem, board.parameters, board.result, to.interval_seconds, seed)
    except (BadObject, OSError):
        raise
    except Exception as error:  # noqa: BLE001 - readers see the reason, and the board stays
        result = msgspec.structs.replace(board.result, intervals=Intervals(kind="none", why_not=failure_text(error)))
    intervals = result.intervals
    if isinstance(intervals, Intervals):
        result = msgspec.structs.replace(result, intervals=msgspec.structs.replace(intervals, position=board.position))
    board = msgspec.structs.replace(board, result=result)
    files.add_intervals(file, board)
    with closing(RedisStore(to.store, to.log, patience=STORE_SECONDS)) as store:
        return msgspec.json.encode(publish_file(files, store.solved, board, file))
