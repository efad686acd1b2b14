"""Reconciliation: the engine publishes the results that the store lacks, from their files.

Tasks publish their results themselves. The engine publishes what a task could not publish, what the store lost, and what changed since:
`error` and erased names.
"""

import logging
from collections import Counter
from collections.abc import Mapping
from itertools import accumulate
from typing import Final

from services.boards.store.backoff import Backoff
from services.boards.store.protocol import StoredBoard, StoreError
from services.boards.store.solved import SolvedBoards
from services.runtime.logging import LogThrottle
from services.solve.planning.jobs import Job
from services.solve.results import publish_result
from services.solve.scheduler.newest import JobResult, NewestResults

log = logging.getLogger("equirank.solve")

_LOOK_SECONDS: Final = 2.0
"""Seconds between two looks for results that the store lost."""
POOLS_A_LOOK: Final = 200
"""Pools that one look asks the store for. A look at all of very many pools would take longer than solving them."""
_BOARDS_A_LOOK: Final = 2000
"""Boards that one look asks the store for, if it asks for more than one pool: a pool with slices can have very many."""
_NOTE_SECONDS: Final = 60.0
"""Seconds after which unchanged numbers of boards with erased names are written again. The store keeps them for ten times as long."""
BOARDS_A_CALL: Final = 50
"""Boards that one call publishes."""
_AWAITS_STORE: Final = "solved boards cannot be published, trying again: %s"


class Reconciler:
    """Keeps the store equal to the newest results. After a failure of the store, publication pauses (`Backoff`)."""

    def __init__(self, boards: SolvedBoards, results: NewestResults, backoff: Backoff, pools_a_look: int = POOLS_A_LOOK) -> None:
        """pools_a_look: pools that one look for lost boards asks the store for."""
        self._boards, self._results, self._backoff = boards, results, backoff
        self._pools_a_look = pools_a_look
        self._looked_to, self._looked_at = "", float("-inf")
        self._troubles = LogThrottle()
        self._erasing: dict[str, int] = {}
        self._noted_at = float("-inf")
        self._postponed: set[Job] = set()

    def publish(self) -> list[Job]:
        """Publish the next results that the store lacks, at most `BOARDS_A_CALL`. Stops at the first failure of the store or of the files.

        A store that was emptied lacks all boards of all pools; the engine asks its shards between two calls. A result that failed comes
        after all others in the next calls, so that one file that cannot be read does not hold up other boards.

        Returns:
            The jobs that were dropped because their file is gone. They must be solved again.
        """
        gone = []
        awaiting = [(job, result) for job, result in self._results.items() if result.awaits_store]
        self._postponed.intersection_update(job for job, _ in awaiting)
        for job, result in sorted(awaiting, key=lambda pair: pair[0] in self._postponed)[:BOARDS_A_CALL]:
            if not self._backoff.over:
                break
            try:
                with self._backoff.asking():
                    known = self._publish(job, result)
            except (StoreError, OSError) as error:
                self._troubles.warn(log, _AWAITS_STORE, error)
                self._postponed.add(job)
                break
            self._postponed.discard(job)
            if not self._postponed:
                self._troubles.over(_AWAITS_STORE)
            if not known:
                gone.append(job)
        return gone

    def find_published(self) -> None:
        """At the start, find the loaded results that the store has: they need no publication. After a failure, the rest is published.

        A board is published before its history. If the last engine ended in between, the history has as many solves as it should have, and
        lacks the newest one.
        """
        while (held := self._look()) is not None:
            for job, result in self._results.items():
                if job.pool in held:
                    stored = held[job.pool].get(job.board)
                    behind = stored is not None and result.history > 0 and stored.newest != stored.board.solve
                    result.awaits_store = behind or self._lacks(stored, result)
            if not self._looked_to:
                return

    def find_lost_regularly(self, now: float) -> None:
        """Every two seconds find lost boards. now: seconds of a timer that never goes back."""
        if now - self._looked_at >= _LOOK_SECONDS:
            self._looked_at = now
            self.find_lost()

    def find_lost(self) -> None:
        """Mark for publication the boards that the store lost, in part or completely. Each call asks for the next few pools."""
        held = self._look() or {}
        for job, result in self._results.items():
            if job.pool in held and self._lacks(held[job.pool].get(job.board), result):
                result.awaits_store = True

    def _look(self) -> dict[str, dict[str, StoredBoard]] | None:
        """Boards in the store of the next few pools, by pool and name. None if the store does not answer, or is not to be asked now."""
        if not self._backoff.over:
            return None
        following = Counter(job.pool for job in self._results if job.pool > self._looked_to)
        pools = self._next_pools(following)
        try:
            with self._backoff.asking():
                held = self._boards.complete(pools)
        except StoreError:
            return None
        self._looked_to = pools[-1] if len(following) > len(pools) else ""  # after the last pool, begin again with the first
        return held

    def _next_pools(self, boards: Mapping[str, int]) -> list[str]:
        """The first pools, as many as one look may ask for. boards: Pool -> number of its boards."""
        pools = sorted(boards)[: self._pools_a_look]
        before = list(accumulate(boards[pool] for pool in pools))
        return [pool for pool, number in zip(pools, before, strict=True) if number <= _BOARDS_A_LOOK] or pools[:1]

    def note_erasing(self, now: float, left: Mapping[str, int]) -> None:
        """Show in how many boards of each pool names are still to be replaced. If the store does not answer, the next call shows it.

        Unchanged numbers are written again before they expire, and after the store lost them. now: As in `find_lost_regularly`.
        """
        fresh = left == self._erasing and (not left or now - self._noted_at < _NOTE_SECONDS)
        if fresh or not self._backoff.over:
            return
        try:
            with self._backoff.asking():
                self._boards.note_erasing(dict.fromkeys(self._erasing, 0) | dict(left))
        except StoreError:
            return
        self._erasing, self._noted_at = dict(left), now

    def sequence_of(self, job: Job) -> int:
        """Sequence of the board of a job in the store, or of its removal; 0 without one, and if the store does not answer now."""
        if not self._backoff.over:
            return 0
        try:
            with self._backoff.asking():
                return self._boards.sequence(job.pool, job.board)
        except StoreError:
            return 0

    def drop(self, job: Job) -> bool:
        """Remove a board from the store; tasks that solve it now are refused. Returns False if the store does not answer now."""
        if not self._backoff.over:
            return False
        try:
            with self._backoff.asking():
                self._boards.remove(job.pool, job.board, self._results.next_sequence())
        except StoreError as error:
            self._troubles.warn(
                log, "a removed method's board cannot be deleted from the store, trying again: %s", error, pool=job.pool, method=job.board
            )
            return False
        return True

    def _publish(self, job: Job, result: JobResult) -> bool:
        """Publish one result from its file. Returns False, and drops the result, if the file is gone."""
        board = self._results.complete(job)
        if board is None:
            log.warning("the file of a result is gone; it is solved again", extra={"pool": job.pool, "method": job.board})
            self._results.forget(job)
            return False
        history = publish_result(self._results.files, self._boards, board)
        result.awaits_store = False
        if history is not None:
            result.history = history
        return True

    def _lacks(self, held: StoredBoard | None, result: JobResult) -> bool:
        """Whether a result must be published. It must not be if the store has a newer result of another writer."""
        board = result.board
        if held is None:
            return True
        later = (held.board.generation, held.board.position) > (board.generation, board.position)
        if later or held.board.sequence > board.sequence:
            return False
        same = (held.board.solve, held.board.error, held.board.result.intervals) == (board.solve, board.error, board.result.intervals)
        return not same or result.history > held.history
