"""Verify solved boards: compare each board, row by row, with its result file."""

import time
from collections.abc import Iterator
from typing import Final

import msgspec

from services.admin.verify import WRITING_SECONDS, Finding
from services.boards.result import AgentRow, SolvedBoard
from services.boards.store.protocol import StoreError
from services.boards.store.redis import RedisStore
from services.checkpoints.checkpoint import CheckpointStore
from services.log.partition import partition_of
from services.log.protocol import Log
from services.solve.planning.jobs import Job
from services.solve.results import ResultFiles

_PAGE: Final = 1000
_TRIES: Final = 5


def verify_solved(log: Log, checkpoints: CheckpointStore, store: RedisStore) -> Iterator[Finding]:
    """Verify all solved boards in the store. Returns a finding for each board. Raises `StoreError` if the store does not answer."""
    files = ResultFiles(checkpoints.blobs, 1)
    for head in store.live.pools():
        partition = partition_of(head.pool, log.outcomes.partitions)
        for board in _listed(head.pool, store):
            position, difference = _compared(Job(head.pool, board), files, store)
            yield Finding(partition=partition, pool=head.pool, what=f"solved board {board}", position=position, difference=difference)


def _listed(pool: str, store: RedisStore) -> list[str]:
    """Names of the solved boards of a pool and of its slices."""
    return [*store.solved.methods(pool), *store.solved.slice_boards(pool)]


def _compared(job: Job, files: ResultFiles, store: RedisStore) -> tuple[int, str | None]:
    """Position of a board, and its difference from the result file or None.

    A solve may replace the board while it is read. A difference is therefore checked up to `_TRIES` times, and once after a pause.
    """
    position, difference = 0, None
    for tries in range(_TRIES):
        if tries == 1:
            time.sleep(WRITING_SECONDS)
        try:
            shown = _read_board(store, job)
        except StoreError as error:  # if the store is away, `ping` raises; else the board is incomplete
            store.ping()
            difference = str(error)
            continue
        if shown is None and job.board not in _listed(job.pool, store):
            return position, None  # the pool or its slices are no longer solved by this method
        if shown is None:
            difference = "the store lists it, but its board cannot be read"
            continue
        position, difference = shown.position, _difference(shown, files, job)
        if difference is None:
            break
    return position, difference


def _difference(shown: SolvedBoard, files: ResultFiles, job: Job) -> str | None:
    if not shown.result.agents and shown.error is not None:
        return None  # no solve succeeded yet: the board holds only the error
    file = next((board for board in files.newest(job) if board.solve == shown.solve), None)
    if file is None:
        return "no result file contains this solve"
    if (shown.result.certificate, shown.result.status) != (file.result.certificate, file.result.status):
        return f"it says {shown.result.certificate}, {shown.result.status}, its file {file.result.certificate}, {file.result.status}"
    # the solve's values of each agent; intervals may be added later
    rows, wanted = ([(row.agent, row.rating, row.rank) for row in board.result.agents] for board in (shown, file))
    wrong = next((i for i, row in enumerate(wanted) if i >= len(rows) or rows[i] != row), None)
    if wrong is None and len(rows) == len(wanted):
        return None
    if wrong is None:
        return f"it has {len(rows)} rows, its file {len(wanted)}"
    return f"row {wrong} is {rows[wrong] if wrong < len(rows) else 'missing'}, in its file {wanted[wrong]}"


def _read_board(store: RedisStore, job: Job) -> SolvedBoard | None:
    """Read a board with all its rows; None if there is no board, or if another solve replaced it between two pages."""
    rows: list[AgentRow] = []
    first: SolvedBoard | None = None
    total = 1
    while len(rows) < total:
        page = store.solved.page(job.pool, job.board, len(rows), _PAGE)
        if page is None or (first is not None and page[0].solve != first.solve):
            return None
        first, total = page[0] if first is None else first, page[1]
        rows += page[0].result.agents
    if first is None:
        return None
    return msgspec.structs.replace(first, result=msgspec.structs.replace(first.result, agents=rows))
