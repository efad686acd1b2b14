"""Feeds of streams. All streams of a pool, or of one of its slices, share a feed.

A feed compares versions, and reads the store once for each change.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextvars import Context
from functools import partial
from typing import Final, TypeAlias

from anyio import CancelScope, current_time

from services.api.answers import Answers, Asked
from services.api.problems import RETRY, ApiError, no_slice
from services.api.replies import Boards, PoolView
from services.api.stream_events import AgentRows, Reader, State, Wanted, state_of
from services.api.workers import Workers
from services.boards.reading import Methods
from services.boards.slice_boards import board_name, method_of
from services.boards.store.protocol import INSIGHT, PoolHead, PoolVersion, StoreError
from services.runtime.metrics import Metrics

log = logging.getLogger("equirank.api")

_PERIOD_SECONDS: Final = 0.2
"""Least seconds between two comparisons of a pool's versions. Shards publish five times a second."""
_BUSY: Final = 2.0
"""A feed pauses at least this many times as long as its last comparison and read took, so slow reads take at most a third of the time."""
_STALE_SECONDS: Final = 2.0
"""The store may fail for this long before streams report it, so that a single refused or late read is not reported."""
_FOLLOWED: Final = 500
"""Most agents of a pool that the streams of a process follow. Each change reads the rows of all of them: about 1 ms of a
thread for ten agents on three boards."""
_CHECK_SECONDS: Final = 1.0
"""Seconds between two checks that a pool without outcomes still exists. A check takes a thread and a place of the reads."""
_READS: Final = 2
"""Feeds that read boards at the same time: half of the threads that read the store, so that requests have the others. Feeds of many pools
that change at once wait for each other, and pause for longer."""
_LAST_SECONDS: Final = 1.0
"""Time for a slow reader to take what it was sent before its feed ended. Longer than this, it would hold up the end of the process."""

ReadAgents: TypeAlias = Callable[[PoolHead, Methods, Sequence[str]], AgentRows]
"""Reads the rows of agents on the given boards from the store."""


class Feed:
    """The newest state of one pool or slice, for all of its streams.

    Attributes:
        state: The newest state; None before the first read.
        trouble: Why the store does not confirm the state now; None if it does.
        ended: Reason of the `end` event if the feed has ended, else None.
        sending: Deadlines of the streams that send at this moment. They are shortened when the feed ends.
        changed: Set after the next change of these attributes. Each change replaces it by a new event.
    """

    def __init__(self, pool: str, feeds: "Feeds", part: str = "") -> None:
        """part: The slice; empty for all outcomes."""
        self.pool, self.part, self._feeds = pool, part, feeds
        self.state: State | None = None
        self.trouble: str | None = None
        self.ended: str | None = None
        self.sending: set[CancelScope] = set()
        self.changed = asyncio.Event()
        self._confirmed_at = time.monotonic()
        self._failure: Exception | None = None
        self._read_version: object = None
        self._read_solved: Mapping[str, str | None] = {}
        self._check_at = 0.0
        self._solved_rows: dict[str, tuple[str | None, AgentRows]] = {}
        self._counts, self._agents = Counter[int](), Counter[str]()
        self._task = asyncio.create_task(self._run(), name=f"feed {pool}", context=Context())  # without the request's id in log lines

    @property
    def stale_seconds(self) -> float:
        """Seconds since the store last confirmed the state."""
        return time.monotonic() - self._confirmed_at

    @property
    def unused(self) -> bool:
        """Whether no stream uses the feed."""
        return not self._counts

    def add(self, wanted: Wanted) -> None:
        """Add a stream. Raises `ApiError` 503 if too many agents would be followed."""
        if len(self._agents.keys() | set(wanted.agents)) > _FOLLOWED:
            detail = f"{_FOLLOWED} agents of pool {self.pool} are followed already: follow others later, or read boards instead"
            raise ApiError(503, "too many agents followed", detail, headers={"Retry-After": "60"})
        self._counts[wanted.rows] += 1
        self._agents.update(wanted.agents)

    def remove(self, wanted: Wanted) -> None:
        """Remove a stream that was added."""
        self._counts = +(self._counts - Counter([wanted.rows]))
        self._agents = +(self._agents - Counter(wanted.agents))

    def covers(self, wanted: Wanted) -> bool:
        """Whether the state has all rows of a stream. One whose read began before the stream was added may lack some until the next."""
        return self._covers(wanted.rows, wanted.agents)

    async def until_ready(self, wanted: Wanted) -> None:
        """Wait for a state that has what a stream sends. Raises `StoreError`, `ApiError` if it cannot be read."""
        while not self.covers(wanted):
            changed = self.changed
            if self._failure is not None:
                raise self._failure
            if self.ended is not None:
                raise ApiError(503, "stream ended", f"streams of pool {self.pool} ended ({self.ended}): connect again", headers=RETRY)
            await changed.wait()

    def end(self, reason: str) -> None:
        """End all streams of the feed."""
        if self.ended is None:
            self.ended = reason
            self._task.cancel()
            self._notify()
            for limit in self.sending:
                limit.deadline = min(limit.deadline, current_time() + _LAST_SECONDS)

    def _covers(self, count: int, agents: Sequence[str]) -> bool:
        return self.state is not None and self.state.count >= count and self.state.agents.keys() >= set(agents)

    def _notify(self) -> None:
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()

    async def _run(self) -> None:
        try:
            while self.ended is None:
                began = time.monotonic()
                await self._compare()
                pause = max(_PERIOD_SECONDS, _BUSY * (time.monotonic() - began))
                # to the next multiple of the period, so that all feeds of a process share one read of versions
                await asyncio.sleep(pause - time.monotonic() % _PERIOD_SECONDS if pause == _PERIOD_SECONDS else pause)
        except Exception:
            log.exception("the streams of pool %s failed", self.pool)
            self.ended = "failed"
            self._notify()

    async def _compare(self) -> None:
        """Compare versions, and read a new state if there is one."""
        try:
            state = await self._newest()
        except (StoreError, ApiError) as error:
            self._failed(error)
            return
        self._confirmed_at, self._failure = time.monotonic(), None
        if state is not self.state or self.trouble is not None:
            self.state, self.trouble = state, None
            self._notify()

    def _failed(self, error: StoreError | ApiError) -> None:
        self._failure = error
        if isinstance(error, ApiError) and error.status == 404:
            self.ended = "deleted"
        elif self.stale_seconds >= _STALE_SECONDS:
            self.trouble = str(error)
        self._notify()

    async def _newest(self) -> State | None:
        published = await self._feeds.answers.version(self.pool)
        solved = self._solved(published)
        version = (published.head, solved, self._feeds.answers.agents_version(self.pool, self.part))
        # copies, because streams come and go during the reads
        count, agents = max(self._counts, default=1), tuple(self._agents)
        known = version == self._read_version and self._covers(count, agents)
        if known and (published.head is not None or time.monotonic() < self._check_at):
            return self.state
        async with self._feeds.reading:
            boards = await self._boards(published, count)
            if boards is None or known:  # without boards, the pool was removed at this moment: the next comparison shows it
                return self.state
            head = boards.pool.head
            rows: AgentRows = {}
            if head is not None and agents:
                rows = await self._rows(head, boards.methods, solved, agents)
                hidden = self._feeds.answers.hidden(self.pool)
                rows = {agent: {} if agent in hidden else row for agent, row in rows.items()}
        number = self.state.number if self.state is not None else 0
        state = state_of(number, boards, count, {agent: rows.get(agent, {}) for agent in agents}, self.part)
        if self.state is not None and (self.state.version != state.version or self._read_solved != solved):
            state.number += 1
        self._read_version, self._read_solved = version, solved
        return state

    def _solved(self, published: PoolVersion) -> dict[str, str | None]:
        """Version of each solved board of the pool by its name. All solved boards of slices have one version, whose key is empty."""
        if self.part:
            return {"": published.sliced}
        return {method: version for method, version in published.solved.items() if method != INSIGHT}

    async def _boards(self, published: PoolVersion, count: int) -> Boards | None:
        """Return the first rows of all boards. Without a head in the store: an answer without boards, if the pool has no outcomes.

        Raises `ApiError` 404 if the pool has no such slice.
        """
        if published.head is None:
            view = await self._feeds.readers.run(partial(self._feeds.check, self.pool))
            self._check_at = time.monotonic() + _CHECK_SECONDS
            return Boards(pool=view, methods=Methods(live=[], solved=[]), boards=[]) if view.head is None else None
        value = await self._feeds.answers.value(Asked("boards", self.pool, rows=count, part=self.part), published)
        if value is None and self.part:
            raise no_slice(self.pool, self.part)
        return value if isinstance(value, Boards) else None

    async def _rows(self, head: PoolHead, methods: Methods, solved: Mapping[str, str | None], agents: Sequence[str]) -> AgentRows:
        """Return the rows of agents by method. Those of a solved board are read once for each solve, those of a slice for any slice's."""
        methods = Methods(live=self._names(methods.live), solved=self._names(methods.solved))
        if self.part:
            solved = dict.fromkeys(methods.solved, solved[""])
        known = {
            method: rows
            for method, (version, rows) in self._solved_rows.items()
            if version == solved.get(method, "") and rows.keys() >= set(agents)
        }
        wanted = Methods(live=methods.live, solved=[method for method in methods.solved if method not in known])
        read = await self._feeds.readers.run(partial(self._feeds.read_agents, head, wanted, agents))
        fresh = {method: {agent: {method: row} for agent in agents if (row := read[agent].get(method))} for method in wanted.solved}
        for method, rows in fresh.items():
            known[method] = {agent: rows.get(agent, {}) for agent in agents}
        self._solved_rows = {method: (solved.get(method), rows) for method, rows in known.items() if method in methods.solved}
        merged = [read, *(rows for _, rows in self._solved_rows.values())]
        return {agent: {method_of(name): row for rows in merged for name, row in rows.get(agent, {}).items()} for agent in agents}

    def _names(self, methods: Sequence[str]) -> list[str]:
        """Names of the boards of methods, of the pool or of the slice."""
        return [board_name(method, self.part) for method in methods]


class Feeds:
    """The feeds of a process, and the streams that use them.

    Args:
        answers: Versions of pools, and cached answers.
        readers: Threads that read the store.
        read_agents: Reads the rows of agents.
        check: Returns a pool that the store has no head of. Raises `ApiError` 404 if it does not exist, 503 if the store lost it.
        most: Most streams that are open at once.
        metrics: Metrics of the process.
    """

    def __init__(
        self, answers: Answers, readers: Workers, read_agents: ReadAgents, check: Callable[[str], PoolView], most: int, metrics: Metrics
    ) -> None:
        self.answers, self.readers, self.read_agents, self.check = answers, readers, read_agents, check
        self.reading = asyncio.Semaphore(_READS)
        self._most, self._open, self._ending = most, 0, False
        self._feeds: dict[tuple[str, str], Feed] = {}
        metrics.gauge("equirank_api_streams").set_function(lambda: self._open)
        self._events = metrics.counter("equirank_api_stream_events_total")
        self._dropped = metrics.counter("equirank_api_stream_dropped_states_total")

    async def begin(self, wanted: Wanted) -> Feed:
        """Take a place for a stream and return its feed, which has a state. The place is given back by `finish`.

        Raises `ApiError` 404 if the pool or slice does not exist, 503 if all places are taken; `StoreError` if the store does not answer.
        """
        if self._ending or self._open >= self._most:
            detail = f"{self._most} streams are open, which is the limit of this process, or it ends: connect later, or poll boards"
            raise ApiError(503, "no stream is free", detail, headers={"Retry-After": "5"})
        key = wanted.pool, wanted.part
        feed = self._feeds.get(key)
        if feed is None or feed.ended is not None:
            feed = self._feeds[key] = Feed(wanted.pool, self, wanted.part)
        feed.add(wanted)
        self._open += 1
        try:
            await feed.until_ready(wanted)
        except BaseException:
            self.finish(feed, wanted)
            raise
        return feed

    def finish(self, feed: Feed, wanted: Wanted) -> None:
        """Give the place of a stream back. A feed without streams ends."""
        self._open -= 1
        feed.remove(wanted)
        if feed.unused:
            feed.end("unused")
            if self._feeds.get((feed.pool, feed.part)) is feed:
                del self._feeds[feed.pool, feed.part]

    def record(self, reader: Reader) -> None:
        """Add what a reader was sent, and what it missed, to the metrics."""
        self._events.inc(reader.sent)
        self._dropped.inc(reader.dropped)
        reader.sent = reader.dropped = 0

    def end(self) -> None:
        """End all streams, and refuse new ones: the process ends."""
        self._ending = True
        for feed in self._feeds.values():
            feed.end("shutdown")
