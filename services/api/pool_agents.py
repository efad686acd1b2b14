"""What this process knows of the agents of pools: their details by the control log, and their games by the newest checkpoint it read."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

import msgspec

from services.api.agent_indexes import AgentIndexes
from services.api.directory import Directory
from services.boards.agent_columns import AgentColumns, Matching
from services.boards.agent_index import AgentIndex, NoIndex
from services.boards.display_names import DisplayNames
from services.boards.earlier import LastDay, compared, day_before, last_day
from services.boards.reading import Board
from services.boards.store.protocol import PoolHead
from services.boards.store.redis import RedisStore
from services.control.details import AgentFilter
from services.control.details_records import PoolDetails
from services.wire.pools import Kind

_FIRST_SECONDS: Final = 1.0
"""The first answer for a pool waits this long for the index of its agents. Later ones lack games until it is loaded."""
_LOG_SECONDS: Final = 2.0
_MOST_NAMES: Final = 1 << 20
"""Most names of all sets of agents that match filters, together: some 64 MB."""
_MOST_BYTES: Final = 256 << 20
"""Largest memory of the display names of all pools. Those of a pool that needs more are the only ones that are kept."""
_REST: Final = 20
"""Display names are collected again after at least this many times the duration of the last collection."""
_MOST_FILTERS: Final = 256
"""Most such sets."""


class _Named(NamedTuple):
    """Display names of a pool. key: their version. due: time from which they may be collected again, by the timer."""

    key: tuple[int, str]
    names: DisplayNames
    due: float


class PoolAgents:
    """Details and indexes of agents. Thread-safe. Nothing waits for the log or a checkpoint, except `ready`.

    Args:
        indexes: The indexes of agents.
        directory: The control log.
        timer: Returns a time in seconds.
    """

    def __init__(self, indexes: AgentIndexes, directory: Directory, timer: Callable[[], float] = time.monotonic) -> None:
        self._indexes, self._directory, self._timer = indexes, directory, timer
        self._heads: dict[str, PoolHead] = {}
        """Pool -> the newest head that was noted, or for which columns were read. It tells whether the pool's index is old."""
        self._matching: OrderedDict[tuple[str, str, AgentFilter], Matching] = OrderedDict()
        """The least recently used first."""
        self._names: OrderedDict[tuple[str, str], _Named] = OrderedDict()
        """Pool and slice -> display names. The least recently used first."""
        self._lock, self._building = threading.Lock(), threading.Lock()

    def details(self, pool: str) -> PoolDetails:
        """Return the details of a pool's agents, at most about 1 s old if the log answers.

        The first read of the log is waited for, until at most 2 s after its begin, because hidden agents are unknown before it.
        """
        self._directory.until_tried(_LOG_SECONDS)
        return self._directory.details(pool)

    def names_of(self, pool: str, agents: Iterable[str]) -> dict[str, str] | msgspec.UnsetType:
        """Return the display names of agents, as they were last read; `UNSET` if none of them has one."""
        return self._directory.details(pool).display_names(agents) or msgspec.UNSET

    def hidden(self, pool: str) -> frozenset[str]:
        """Return the hidden agents of a pool, as they were last read."""
        return self._directory.details(pool).hidden()

    def leading_method(self, pool: str) -> str:
        """Return the method that the pages of a pool show first, as it was last read; empty if they choose."""
        return self._directory.leading_method(pool)

    def columns(self, pool: str, head: PoolHead | None, part: str = "") -> AgentColumns:
        """Return what boards of a pool, or of its slice `part`, show of agents now."""
        if head is None:
            return AgentColumns(self.details(pool), NoIndex(f"no outcome of pool {pool} is folded yet", retriable=True))
        self._heads[pool] = head
        return AgentColumns(self.details(pool), self._index(head, part))

    def columns_of(self, board: Board, store: RedisStore) -> AgentColumns:
        """Return what a board shows of agents. For a live board of the generation that is known to serve, the store is not asked.

        A solved board can be of an earlier generation than the one that serves.
        """
        head = self._heads.get(board.pool)
        if head is None or board.source != "live" or head.generation != board.generation:
            head = store.live.head(board.pool)
        elif board.position > head.position:
            head = msgspec.structs.replace(head, position=board.position)
        return self.columns(board.pool, head, board.slice or "")

    def compared(self, board: Board, store: RedisStore, now: float) -> Board:
        """Return a board with the ranks and ratings of a day before, as of `services.boards.earlier.compared`. `columns` is called before.

        now: seconds since 1970.
        """
        head = self._heads.get(board.pool)
        return compared(board, store.solved, None if head is None else self._index(head, ""), day_before(now))

    def last_day(self, head: PoolHead, now: float) -> LastDay | None:
        """Return the number of outcomes of the last 24 hours, as of `services.boards.earlier.last_day`. now: seconds since 1970."""
        return last_day(self._index(head, ""), head, day_before(now))

    def version(self, pool: str, part: str = "") -> tuple[object, ...]:
        """Return the version of the columns: equal versions mean that answers show the same of agents. It is cheap.

        The first entry alone is the version of details.
        """
        self._directory.refresh_soon()
        head, details = self._heads.get(pool), self._directory.details(pool)
        return (details.version, None) if head is None else AgentColumns(details, self._index(head, part)).version

    def display_names(self, pool: str, index: AgentIndex) -> DisplayNames:
        """Return the display names of the agents of a pool or a slice for a search. Those of a large pool may be some seconds old."""
        key, now = (self.details(pool).version, index.entry.object), self._timer()
        with self._building:
            known = self._names.get(of := (pool, index.entry.slice))
            if known is None or (known.key != key and (now >= known.due or known.key[1] != index.entry.object)):
                found = DisplayNames(self.details(pool), index)
                ended = self._timer()
                known = _Named(key, found, ended + _REST * (ended - now))
                self._names[of] = known
            self._names.move_to_end(of)
            while len(self._names) > 1 and sum(one.names.nbytes for one in self._names.values()) > _MOST_BYTES:
                self._names.popitem(last=False)
            return known.names

    def _index(self, head: PoolHead, part: str) -> AgentIndex | NoIndex | None:
        """Return the index of the agents of a pool or a slice, or why it is missing.

        None for a pool of scores, whose boards show nothing of it.
        """
        if head.kind != Kind.GAMES:
            return None
        if not head.has_slice(part):
            return NoIndex(f"generation {head.generation} of pool {head.pool} has no slice {part}", retriable=True)
        return self._indexes.loaded(head, part)

    def note(self, head: PoolHead) -> None:
        """Note the newest published head of a pool. `version` is for its generation from now on."""
        self._heads[head.pool] = head

    async def ready(self, head: PoolHead, part: str = "") -> None:
        """Wait for the first load of the index of the agents of a pool or a slice, for at most a second."""
        self._heads[head.pool] = head
        if head.kind == Kind.GAMES and head.has_slice(part):
            await self._indexes.begin(head, _FIRST_SECONDS, part)

    def matching(self, pool: str, columns: AgentColumns, wanted: AgentFilter, part: str = "") -> Matching:
        """Return the agents that match a filter. Raises as `AgentColumns.matching`.

        Agents that match details are looked up once for each version. Those that match a number of games alone are found in milliseconds,
        and are not kept, because they would hold the index after it was dropped. columns: Those of the pool, or of its slice `part`.
        """
        if not wanted.of_details:
            return columns.matching(wanted)
        key, version = (pool, part if wanted.min_games is not None else "", wanted), columns.version_of(wanted)
        with self._lock:
            known = self._matching.get(key)
            if known is not None and known.version == version:
                self._matching.move_to_end(key)
                return known
        found = columns.matching(wanted)
        with self._lock:
            self._matching[key] = found
            self._matching.move_to_end(key)
            while len(self._matching) > _MOST_FILTERS or (len(self._matching) > 1 and self._named() > _MOST_NAMES):
                self._matching.popitem(last=False)
        return found

    def _named(self) -> int:
        """Number of the names of all kept filters."""
        return sum(found.size or 0 for found in self._matching.values())
