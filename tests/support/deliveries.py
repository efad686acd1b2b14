"""What the task of a solve delivers, for tests without worker processes."""

from typing import Any

import msgspec

from services.boards.result import Intervals
from services.checkpoints.checkpoint import CheckpointStore, PoolEntry
from services.solve.registry.methods import Solved
from services.solve.results import ResultFiles
from services.solve.worker.tasks import Destination, board_of, deliver, publish_file
from tests.support.task_pool import FakeTask


def delivered(task: FakeTask, boards: Any, found: Solved, solved_at: float) -> bytes:
    """The answer of a task that finds `found`. The result is written to its file, and published to `boards`."""
    url, entry, _, parameters, _, previous, destination = task.arguments
    to = msgspec.json.decode(destination, type=Destination)
    files = ResultFiles(CheckpointStore(url).blobs, to.most)
    board = board_of(msgspec.json.decode(entry, type=PoolEntry), parameters, found, to, solved_at)
    return msgspec.json.encode(deliver(files, boards, board, None if previous is None else files.read(previous)))


def intervals_delivered(task: FakeTask, boards: Any) -> bytes:
    """The answer of an intervals task. The result with intervals is written beside its file, and published to `boards`."""
    url, file, destination = task.arguments[0], task.arguments[5], task.arguments[6]
    files = ResultFiles(CheckpointStore(url).blobs, msgspec.json.decode(destination, type=Destination).most)
    board = files.read(file)
    assert board is not None
    result = msgspec.structs.replace(board.result, intervals=Intervals(kind="cells", replicates=64, position=board.position))
    board = msgspec.structs.replace(board, result=result)
    files.add_intervals(file, board)
    return msgspec.json.encode(publish_file(files, boards, board, file))
