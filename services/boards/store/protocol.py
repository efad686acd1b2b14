"""The store that readers read: a cache of live and solved boards. It can be lost and rebuilt; nothing lives only here.

Laws, held by tests against every implementation:

1. Fenced per pool by (epoch, generation, position): an older epoch is refused, the same epoch only goes forward
   (an equal position is accepted again), a newer epoch is accepted. A refused write changes nothing. A store holds the boards of one
   log: programs of several logs share a Redis without reading or changing each other's boards, also of pools of equal names.
2. Values are absolute: publishing the same again is harmless.
3. Live boards promise per-agent values no older than the position shown. A new generation has its own boards;
   readers see the old or the new one, never a mix.
4. Solved boards switch by pointer: readers see one whole result, exactly as it was solved. An older (generation, position) never
   replaces a newer one.
5. Ties on a live board are ordered by name, ascending; `rank` is a competition rank (1, 1, 3) by the rounding-free rating.
6. A row's rating and the belief behind it are of one publication, written and read in one step. Deviations are evaluated when they are
   read, as of the pool's time in the head: an agent's grows while others play, without being written again.

`live.py`, `solved.py`, `heartbeats.py` and `versions.py` keep them, each for one subject; `redis.py` holds them together.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from ratings_core.records.beliefs import Belief, BeliefModel
from services.boards.result import AgentRow, SolvedBoard


class Fence(NamedTuple):
    """Who writes, and up to where it has folded. Compared as the laws say."""

    epoch: int
    generation: int
    position: int


class Building(msgspec.Struct, frozen=True, kw_only=True):
    """A generation under construction. progress: part of the log that was read for it, from 0 to 1; failed: why it ended, if it did."""

    generation: int
    progress: float
    failed: str | None = None


class PoolHead(msgspec.Struct, frozen=True, kw_only=True):
    """What a pool's page shows first; published with every live update.

    pool_time: running maximum of outcome times; published_at: seconds since 1970 by the shard's clock;
    dead_letters: outcomes that the serving generation refused (other kind, too many agents or tasks);
    prequential: online method -> {"log_loss", "brier", "kendall"} means; stopped: why the pool stopped, if it did; pending: retractions
    that no generation applies yet, without those that change nothing; left_out: outcomes that retractions, bans or aliases leave out;
    unmatched: retracted ids that no outcome has had; building: the next generation; beliefs: how deviations follow from beliefs, of the
    online methods that hold them; record: SHA-256 of the last record before the position, by which shards know whether the log still
    holds it (none: not known).
    """

    pool: str
    kind: str
    label: str
    partition: int
    generation: int
    position: int
    published_at: float
    pool_time: float | None
    outcomes: int
    agents: int
    tasks: int
    duplicates: int
    conflicts: int
    retractions: int
    dead_letters: int
    online: list[str]
    prequential: dict[str, dict[str, float]] = {}
    stopped: str | None = None
    pending: int = 0
    left_out: int = 0
    unmatched: int = 0
    building: Building | None = None
    beliefs: dict[str, BeliefModel] = {}
    record: str | None = None


class LiveBoard(NamedTuple):
    """Changed agents of one online method: absolute values, names[i] has values[i], and beliefs[i] where the method holds them.

    total: agents of the whole board, so that losses of the store are detected; 0 if the writer does not know it.
    """

    names: Sequence[str]
    values: Sequence[float]
    beliefs: Sequence[Belief] = ()
    total: int = 0


class BoardPage(msgspec.Struct, frozen=True, kw_only=True):
    """A slice of a live board, best first. total: agents on the board; published_at: as the head says; outcomes: how many each row's agent
    took part in; beliefs: what those behind its rows have in common, None where the method holds none.
    """

    pool: str
    method: str
    generation: int
    position: int
    published_at: float
    total: int
    rows: list[AgentRow]
    outcomes: list[int]
    beliefs: BeliefModel | None = None


class StoredBoard(NamedTuple):
    """A solved board of which the store holds every row.

    board: The board, its result without rows. history: Number of kept solves that the store holds of its method.
    """

    board: SolvedBoard
    history: int


class PoolVersion(NamedTuple):
    """A pool's publications. Two equal ones mean equal boards.

    head: text of the pool's head, None if the store has no head; solved: by method, the version of its board. listed: whether the store
    lists the pool, also without boards. A store that was emptied lists none until the pool's boards are written again.
    """

    head: str | None
    solved: Mapping[str, str | None]
    listed: bool


class StoreError(Exception):
    """The store could not answer. retriable: whether trying again later can help."""

    def __init__(self, message: str, *, retriable: bool) -> None:
        self.retriable = retriable
        super().__init__(message)


class StoreLost(StoreError):  # noqa: N818 - names the fact, as the writer acts on it
    """What this writer published is gone (flushed, restarted, rolled back, evicted): the pool must be published whole again."""

    def __init__(self, pool: str) -> None:
        super().__init__(f"the store lost pool {pool}: publish all of its agents and solved boards again", retriable=True)


ACTIVITY = "outcomes"
"""Name of the live board that counts each agent's outcomes; published beside the online methods."""


INSIGHT = "insight"
"""Name under which a pool's insight is published, as a solved board without rows."""
