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

One protocol for each subject and role: who only reads live boards takes a `LiveReader`, who publishes them a `LiveWriter`.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from ratings_core.records.beliefs import Belief, BeliefModel
from services.boards.folding import Heard, Heartbeat
from services.boards.history import Kept, Past
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
    that no generation heeds yet; left_out: outcomes that retractions, bans or aliases leave out; unmatched: retracted ids that
    no outcome has had; building: the next generation; beliefs: how deviations follow from beliefs, of the online methods that hold them;
    record: SHA-256 of the last record before the position, by which shards know whether the log still holds it (none: not known).
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


class PoolHeads(Protocol):
    """Heads of pools. Pools not known are None, never invented."""

    def head(self, pool: str) -> PoolHead | None:
        """The head of the pool's newest publication."""

    def pools(self) -> list[PoolHead]:
        """The heads of all pools by name."""


class LiveWriter(PoolHeads, Protocol):
    """What a shard does with live boards."""

    def publish(self, head: PoolHead, epoch: int, boards: Mapping[str, LiveBoard]) -> bool:
        """Write changed agents of each live board and then the head; False when fenced (nothing written).

        Raises `StoreLost` where an earlier publication of this writer is gone, or part of one; the next call, with every agent, is taken.
        """

    def published(self, pool: str) -> Fence | None:
        """The fence of `pool`; None when the store knows nothing of the pool (it is new, or was lost)."""

    def forget(self, pool: str) -> None:
        """Remove everything of `pool`, its fence last: it was folded from records that the log lost."""


class LiveReader(PoolHeads, Protocol):
    """What readers ask of live boards. Agents and pools not known are None, never invented."""

    def page(self, pool: str, method: str, start: int, count: int) -> BoardPage | None:
        """Rows start to start + count of a live board (0 is the best agent)."""

    def pages(self, pool: str, methods: Sequence[str], start: int, count: int) -> list[BoardPage]:
        """Rows start to start + count of several live boards, all of one head, without those that are not there."""

    def around(self, pool: str, method: str, agent: str, count: int) -> BoardPage | None:
        """`count` rows with the agent in the middle."""

    def outcomes_of(self, pool: str, generation: int, agents: Sequence[str]) -> list[int]:
        """How many outcomes each of `agents` took part in, 0 for those not known."""


class SolvedWriter(Protocol):
    """What the engine does with solved boards."""

    def publish(self, board: SolvedBoard) -> bool:
        """Publish one solved board under its method; False where the store has a newer one."""

    def publish_history(self, pool: str, method: str, history: Iterable[Kept], *, changed: bool = False) -> None:
        """Replace the kept solves of a method, oldest first; after `publish` of the newest.

        changed: whether earlier ones may differ from those that the store has.
        """

    def complete(self, pools: Sequence[str]) -> dict[str, dict[str, StoredBoard]]:
        """By pool and method, insight among them, the boards of which the store holds every row."""

    def remove(self, pool: str, method: str) -> None:
        """Remove a solved board. Readers that are on it see it to the end of their page."""


class SolvedReader(Protocol):
    """What readers ask of solved boards."""

    def methods(self, pool: str) -> list[str]:
        """Methods that have a solved board, by name; insight is not one of them."""

    def page(self, pool: str, method: str, start: int, count: int) -> tuple[SolvedBoard, int] | None:
        """A solved board whose result holds rows start to start + count only, and the number of all rows."""

    def around(self, pool: str, method: str, agent: str, count: int) -> tuple[SolvedBoard, int] | None:
        """A solved board whose result holds `count` rows with the agent in the middle, and the number of all rows."""

    def history(self, pool: str, method: str) -> list[Past]:
        """The kept solves of a method, newest first; insight has none."""

    def past(self, pool: str, method: str, index: int) -> Kept | None:
        """One of `history` with its rows; None if that index does not exist."""


class HeartbeatWriter(Protocol):
    """What a shard does with heartbeats."""

    def write(self, heartbeats: Sequence[Heartbeat]) -> None:
        """Write the heartbeats of a shard's partitions; that of a superseded owner changes nothing."""


class HeartbeatReader(Protocol):
    """What readers ask of heartbeats."""

    def read(self) -> dict[int, Heard]:
        """Newest heartbeat of each partition that has one."""


class VersionReader(Protocol):
    """What readers ask of publications, to learn whether an answer that they built earlier is still the newest."""

    def read(self, pools: Collection[str]) -> dict[str, PoolVersion]:
        """The newest publication of each of `pools`, by name; a pool that the store does not know has an empty version."""


class StoreReader(Protocol):
    """A store for readers of several subjects: the API and the command line."""

    @property
    def live(self) -> LiveReader:
        """Live boards and pool heads."""

    @property
    def solved(self) -> SolvedReader:
        """Solved boards."""

    @property
    def heartbeats(self) -> HeartbeatReader:
        """Heartbeats of partitions."""

    @property
    def versions(self) -> VersionReader:
        """Newest publications."""

    def agent(self, pool: str, agent: str) -> dict[str, AgentRow] | None:
        """The agent's row on every live board, and on every solved one."""

    @property
    def garbage(self) -> int:
        """Values that did not decode as their key's type, and were skipped, since the start."""

    def ping(self) -> None:
        """Raises `StoreError` when the store does not answer."""
