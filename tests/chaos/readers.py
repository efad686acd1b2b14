"""What readers see during a run: promises of the store that the state at the end cannot prove.

Each look reads a pool's head, its board of outcomes, and the head again. The checks are promises of `services.boards.store.protocol`
and of the publisher:

1. Generation and position of a pool never go back, unless the store itself was lost or restored.
2. A board read between two heads of one generation is of that generation, and holds every agent that the first head counts.
3. Counts of an agent never go back within a generation. A row may be newer than its head, and older again after the shard died between the
   two writes; so counts are compared once the head has passed the end that the log had when they were seen.
4. A new generation has read everything that the one before had: its outcomes and those that it leaves out are no fewer.
5. A head tells of no record that the log does not hold.
6. A pool that stays behind the others of its partition says that it stopped.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Final

from services.boards.store.protocol import ACTIVITY, BoardPage, PoolHead, StoreError
from services.boards.store.redis import RedisStore
from tests.chaos.helper import Helper
from tests.support.waiting import PATIENCE

_PAUSE_SECONDS: Final = 0.05
_ROWS: Final = 10_000
BEHIND_SECONDS: Final = PATIENCE / 2
"""A pool may rest for so long while others of its partition go on: a shard that died between two publications is started again first, and a
pool's generation can be built again. The time of both depends on the machine. A pool that rests for ever is seen at the end of a run, which
waits for `PATIENCE` until all pools are settled."""

Ends = Callable[[], Mapping[int, int]]
"""End of each partition of the log; empty while the log does not answer."""


@dataclass
class _Seen:
    """A pool as readers last saw it. behind: since when its position stays behind others.

    counts: outcomes of each agent at some look at this generation; end: end of the log then.
    """

    head: PoolHead
    counts: dict[str, float] = field(default_factory=dict)
    end: int | None = None
    behind: float | None = None


class Readers(Helper):
    """Looks at every pool again and again. complaints: one line for each pool and broken promise."""

    def __init__(
        self, reader: Callable[[], AbstractContextManager[RedisStore]], ends: Ends, timer: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__("readers")
        self._open, self._ends, self._timer = reader, ends, timer
        self._seen: dict[str, _Seen] = {}
        self._complaints: dict[tuple[str, int], str] = {}
        self._lock, self._forgiven, self._blind = threading.Lock(), 0, 0
        self.looks = self.rounds = 0

    @property
    def complaints(self) -> list[str]:
        """What was seen that must never be seen."""
        return [self._complaints[key] for key in sorted(self._complaints)]

    @contextmanager
    def blind(self) -> Iterator[None]:
        """During the block the store may lose what it holds; afterwards readers start anew."""
        with self._lock:
            self._blind += 1
        try:
            yield
        finally:
            with self._lock:
                self._blind -= 1
                self._forgiven += 1
                self._seen.clear()

    def stop(self) -> None:
        """End the thread and wait for it."""
        self._stopping.set()
        self.join()
        self.check()

    def work(self) -> None:
        """Look until stopped. A store that does not answer shows nothing."""
        with self._open() as store:
            while not self._stopping.wait(_PAUSE_SECONDS):
                try:
                    self._round(store)
                except StoreError:
                    continue

    def _round(self, store: RedisStore) -> None:
        forgiven = self._forgiven
        pools, live = [head.pool for head in store.live.pools()], store.live
        read = [(live.head(pool), live.page(pool, ACTIVITY, 0, _ROWS), live.head(pool)) for pool in pools]
        ends = self._ends()  # after the heads: what they tell of was in the log then
        with self._lock:
            if self._blind or forgiven != self._forgiven:
                return
            for before, page, after in read:
                if before is not None and page is not None and after is not None:
                    self._look(before, page, after, ends.get(before.partition))
            self._compare_positions(self._timer())
            self.rounds += 1

    def _look(self, before: PoolHead, page: BoardPage, after: PoolHead, end: int | None) -> None:
        self.looks += 1
        pool, last = before.pool, self._seen.get(before.pool)
        if end is not None and before.position > end:
            self._complain(pool, 5, f"shows position {before.position}, and the log ends at {end}")
        self._check_since(before, after)
        self._check_page(before, page, after)
        now = _Seen(after)
        if page.head.generation == before.generation == after.generation:
            now.counts, now.end = {row.agent: row.rating or 0.0 for row in page.rows}, end
        if last is not None:
            self._check_since(last.head, before)
            if last.head.position == after.position:
                now.behind = last.behind
            if last.end is not None and last.head.generation == page.head.generation == after.generation:
                self._check_counts(last, before, now)
        self._seen[pool] = now

    def _check_page(self, before: PoolHead, page: BoardPage, after: PoolHead) -> None:
        if before.generation != after.generation:
            return
        if page.head.generation != before.generation:
            self._complain(before.pool, 2, f"shows rows of generation {page.head.generation} under a head of {before.generation}")
        elif page.total < before.agents or len(page.rows) < min(before.agents, _ROWS):
            rows = min(page.total, len(page.rows))
            self._complain(before.pool, 2, f"counts {before.agents} agents in generation {before.generation}, and its board has {rows}")

    def _check_since(self, last: PoolHead, head: PoolHead) -> None:
        """Compare two heads, the earlier one first. A generation may replace another within one look, or between two."""
        if _place(head) < _place(last) or head.position < last.position:
            self._complain(head.pool, 1, f"went back from {_place(last)} to {_place(head)} (generation, position)")
        read, had = head.outcomes + head.left_out, last.outcomes + last.left_out
        if head.generation > last.generation and read < had:
            self._complain(head.pool, 4, f"generation {head.generation} has read {read} outcomes, {last.generation} had read {had}")

    def _check_counts(self, last: _Seen, head: PoolHead, now: _Seen) -> None:
        """Compare with the counts of `last` where the head has passed their end; else `now` goes on with those."""
        if last.end is not None and head.position < last.end:
            now.counts, now.end = last.counts, last.end
        elif fewer := [agent for agent, count in last.counts.items() if now.counts.get(agent, 0.0) < count]:
            agent = fewer[0]
            told = f"{agent} had {last.counts[agent]:g} outcomes in generation {head.generation}, then {now.counts.get(agent, 0.0):g}"
            self._complain(head.pool, 3, told)

    def _compare_positions(self, now: float) -> None:
        ahead: dict[int, int] = {}
        for seen in self._seen.values():
            ahead[seen.head.partition] = max(ahead.get(seen.head.partition, 0), seen.head.position)
        for pool, seen in self._seen.items():
            if seen.head.position >= ahead[seen.head.partition] or seen.head.stopped is not None:
                seen.behind = None
            elif seen.behind is None:
                seen.behind = now
            elif now - seen.behind > BEHIND_SECONDS:
                where = f"{seen.head.position}, others of its partition are at {ahead[seen.head.partition]}"
                self._complain(pool, 6, f"stays at {where}, and its head does not say that it stopped")

    def _complain(self, pool: str, promise: int, what: str) -> None:
        self._complaints.setdefault((pool, promise), f"readers saw (promise {promise}): {pool} {what}")


def _place(head: PoolHead) -> tuple[int, int]:
    return head.generation, head.position
