"""Boards as they were, for `equirank top --position` and `--at`."""

import time

from services.boards.past import PastBoards, PastRows, When
from services.boards.reading import Board
from services.boards.store.redis import RedisStore
from services.checkpoints.checkpoint import CheckpointStore
from services.cli.logs import control_state
from services.runtime.settings import Settings


def past(
    settings: Settings, store: RedisStore, pool: str, method: str, when: tuple[int | None, float | None], count: int
) -> Board | None:
    """The board's first rows as they were at `when` (a position, or a time), None where there is no such board. Raises `NotKept`."""
    files = CheckpointStore(settings.checkpoint_url)
    rows = PastRows(pool, method, When(*when), 0, count, settings.provisional)
    return PastBoards(store, files, lambda: control_state(settings)).board(rows, time.time())
