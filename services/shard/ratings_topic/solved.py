"""Copies of the solved boards in the store, for the ratings topic."""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

from ratings_core.records.roster import UNKNOWN, Roster
from services.boards.rating_records import KeyedRecord, SolvedHead, keyed, removal, solved_rows
from services.boards.result import AgentRow, SolvedBoard
from services.boards.store.protocol import INSIGHT, StoreError
from services.boards.store.redis import RedisStore
from services.runtime.logging import LogThrottle
from services.shard.ratings_topic.contents import BoardContents, TopicContents

log = logging.getLogger("equirank.ratings")

_SECONDS: Final = 1.0
"""After this time no further board is begun in one call, so that online ratings do not wait for many large boards."""
_NOT_READ: Final = "solved boards cannot be read for the ratings topic, trying again: %s"

BoardRecords = tuple[Iterator[KeyedRecord], Callable[[], None]]
"""Records of a board, and a function to call when they are written."""


class SolvedCopies:
    """Finds the solved boards that differ from those in the topic. timer: monotonic time in seconds."""

    def __init__(self, store: RedisStore, timer: Callable[[], float] = time.monotonic) -> None:
        self._store, self._timer = store, timer
        self._troubles = LogThrottle()

    def changed(self, pools: Sequence[str], contents: TopicContents, epoch: int) -> Iterator[BoardRecords]:
        """Yield the records of each board of `pools` that differs from the topic, or was removed. A failure of the store ends the call.

        Args:
            pools: Names of the pools to compare.
            contents: What the topic contains.
            epoch: Epoch under which the partition is owned.

        """
        until = self._timer() + _SECONDS
        try:
            for pool, method, version in self._differing(pools, contents):
                held = contents[pool][method]
                if (board := self._removed(pool, method, held) if version is None else self._copied(pool, method, held, epoch)) is not None:
                    yield board
                if self._timer() > until:
                    break
            self._troubles.over(_NOT_READ)
        except StoreError as error:
            self._troubles.warn(log, _NOT_READ, error)

    def _differing(self, pools: Sequence[str], contents: TopicContents) -> Iterator[tuple[str, str, str | None]]:
        """Yield pool, method and version of boards whose version differs from the topic's. The version of a missing board is None."""
        if not pools:
            return
        for pool, present in self._store.versions.read(pools).items():
            held = contents[pool]
            for method in sorted({method for method in held if method is not None} | present.solved.keys() - {INSIGHT}):
                board, version = held[method], present.solved.get(method)
                if board.unfinished or version != (board.head.version if isinstance(board.head, SolvedHead) else None):
                    yield pool, method, version

    def _copied(self, pool: str, method: str, held: BoardContents, epoch: int) -> BoardRecords | None:
        """The records of the present board. None if it was removed meanwhile."""
        found = self._store.solved.complete_board(pool, method)
        if found is None:
            return None
        version, board = found
        head, rows = _head(board, version, epoch), board.result.agents
        present, names = Roster(), [row.agent for row in rows]
        present.intern(names)
        held.names[0].intern(names)
        held.unfinished = True
        return _records(head, rows, held.names[0], present), partial(held.finish, head, present)

    def _removed(self, pool: str, method: str, held: BoardContents) -> BoardRecords | None:
        """The removals of all rows. None if the store only lost the board: it is published again."""
        number = held.head.sequence if isinstance(held.head, SolvedHead) else -1
        if self._store.solved.sequence(pool, method) <= number:
            return None
        records = [removal(pool, agent, method) for agent in (*held.names[0].names(), None)]
        return iter(records), partial(held.finish, None, Roster())


def _records(head: SolvedHead, rows: list[AgentRow], former: Roster, present: Roster) -> Iterator[KeyedRecord]:
    yield from solved_rows(head, rows)
    names = former.names()
    ids = present.lookup(names)
    yield from (removal(head.pool, agent, head.method) for agent, i in zip(names, ids.tolist(), strict=True) if i == UNKNOWN)
    yield keyed(head)


def _head(board: SolvedBoard, version: str, epoch: int) -> SolvedHead:
    return SolvedHead(
        pool=board.pool,
        method=board.result.method,
        agents=len(board.result.agents),
        generation=board.generation,
        position=board.position,
        sequence=board.sequence,
        epoch=epoch,
        solved_at=board.solved_at,
        status=board.result.status,
        certificate=board.result.certificate,
        version=version,
    )
