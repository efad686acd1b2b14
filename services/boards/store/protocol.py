"""The store: a cache of live and solved boards for readers. It can be lost and rebuilt, because it holds no data that exist only here.

Laws, checked by tests against every implementation:

1. Writes are fenced per pool by (epoch, generation, position). A write is refused if its epoch, its generation or its position is below
   the published one; equal ones are accepted again. So readers are never taken back, also while two shards write for a moment. A refused
   write changes nothing. A store holds the boards of one log: programs of several logs can share a Redis without reading or changing each
   other's boards, even if pools have equal names.
2. Values are absolute, so publishing the same values again is harmless.
3. On a live board, the value of every agent is at least as new as the position shown. Every generation has separate boards; readers see
   either the old or the new generation, never a mix.
4. Solved boards are switched by a pointer: readers see one complete result, exactly as it was solved. A board with a lower generation,
   a lower position of its generation, or a lower sequence never replaces another one. So a task that ends late, with old parameters or
   with an erased name, changes nothing.
   Readers see no solved board of an earlier season than that of the head: in its place, an empty board says that it is not solved yet.
5. A board has settled agents first, then provisional ones, which have no rank: the writer says which are. Ties on a live board are ordered
   by name, ascending. `rank` is a competition rank (1, 1, 3) among the settled agents by the unrounded rating.
6. A row's rating and belief are of the same publication, and are written and read in one step. Deviations are evaluated when they are
   read, at the pool time in the head. They grow while an agent does not play, without another write.

`live.py`, `solved.py`, `heartbeats.py` and `versions.py` implement the laws, each for one subject; `redis.py` combines them.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from ratings_core.records.beliefs import Belief, BeliefModel
from ratings_core.records.forecasts import ForecastClass, ForecastModel
from services.boards import slice_boards
from services.boards.result import AgentRow, SolvedBoard
from services.boards.slice_boards import SliceDimension, slice_of
from services.wire.pools import FIRST_SEASON
from services.wire.refusals import conflict_letters


class Fence(NamedTuple):
    """Epoch of a writer, with the generation and the position that it publishes. Compared as law 1 states, each by itself."""

    epoch: int
    generation: int
    position: int


class ShapeForecasts(msgspec.Struct, frozen=True, kw_only=True):
    """How ratings become forecasts of games of one shape, and the record of these forecasts.

    Attributes:
        scale: Factor that makes calibrated log odds of the method's own. It is fitted to the outcomes so far.
        figures: As `PoolHead.prequential` has them, of this shape.
        classes: Earlier forecasts by the forecast of the favourite: number of pairs, mean forecast, mean result (a tie is 1/2), share of
            ties.
    """

    scale: float
    figures: dict[str, float]
    classes: list[ForecastClass]


class LiveForecasts(msgspec.Struct, frozen=True, kw_only=True):
    """How the ratings of an online method become forecasts.

    Attributes:
        model: The method's own log odds of two sides; None if they need more than ratings and deviations.
        shapes: Shape of games, such as `1:1` -> its forecasts. None if the pool does not tell shapes apart.
    """

    model: ForecastModel | None
    shapes: dict[str, ShapeForecasts] | None = None


class Building(msgspec.Struct, frozen=True, kw_only=True):
    """A generation under construction.

    Attributes:
        generation: Number of the generation.
        progress: Share of its part of the log that was read, from 0 to 1.
        failed: Why the construction ended; None if it continues.
    """

    generation: int
    progress: float
    failed: str | None = None


class PoolHead(msgspec.Struct, frozen=True, kw_only=True):
    """Summary of a pool. It is published with every live update.

    Attributes:
        pool: Name of the pool.
        kind: `games` or `scores`.
        label: Text shown beside the name.
        partition: Partition of the log that holds the pool.
        generation: Generation that readers see.
        position: Log offset up to which outcomes were counted.
        published_at: Time of the publication in seconds since 1970, by the shard's clock.
        pool_time: Latest `time` of the outcomes counted; None before the first one.
        outcomes: Number of outcomes counted.
        agents: Number of agents.
        tasks: Number of tasks.
        duplicates: Number of outcomes dropped because an outcome with their id and content was already counted.
        conflicts: Number of outcomes dropped because an outcome with their id and other content was already counted. The first
            thousand have a dead letter, and then each thousandth.
        retractions: Number of retractions.
        dead_letters: Number of outcomes that the generation dropped and that have a dead letter: wrong kind, too many agents, too many
            tasks, and the conflicts that have one.
        online: Names of the online methods.
        prequential: Online method -> `log_loss`, `brier`, `kendall` and `calibration_error` of its forecasts so far, and their number
            `pairs`.
        stopped: Why the pool stopped; None if it is folded.
        pending: Number of retractions that wait for the next generation.
        left_out: Number of outcomes left out because of retractions, bans or aliases. One that was sent several times counts each time.
        unmatched: Number of retracted ids that no outcome of the pool has. Each duplicate of a retracted outcome lowers it by one.
        building: The next generation, while it is under construction.
        beliefs: Online method -> model of its beliefs, for methods with beliefs.
        forecasts_by_shape: Online method -> how its ratings become forecasts. Releases before it had `forecasts`, with other fields. They
            read a head without it, and forecast nothing by it.
        season: Name of the season; `first` before the first one that was started by name.
        season_generation: First generation of the season. Solved boards of earlier generations belong to earlier seasons.
        record: SHA-256 of the last record before the position. Shards use it to check whether the log still holds this record. None if
            unknown.
        slices: Key of a tag -> the pool's slices by this tag.
        provisional_outcomes: Live boards separate agents with fewer outcomes as provisional. None: an earlier release separated none.
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
    forecasts_by_shape: dict[str, LiveForecasts] = {}
    record: str | None = None
    season: str = FIRST_SEASON
    season_generation: int = 1
    slices: dict[str, SliceDimension] = {}
    provisional_outcomes: int | None = None

    @property
    def refused(self) -> int:
        """Number of outcomes that the generation refused. Conflicts, which were accepted and do not count, are not among them.

        A head that an earlier release published counts no conflicts in `dead_letters`. It is replaced when its pool is published again.
        """
        return max(0, self.dead_letters - conflict_letters(self.conflicts))

    @property
    def stored(self) -> list[str]:
        """Names of what the store keeps as live boards of the pool: boards of the online methods, and numbers of outcomes."""
        return [*self.online, ACTIVITY]

    def stores(self, name: str) -> bool:
        """Whether the store keeps a live board of this name for the pool or one of its slices."""
        return name in self.stored or slice_of(self.slices, name) is not None

    def has_board(self, name: str) -> bool:
        """Whether readers have a live board of this name. Numbers of outcomes are no board: they are a field of rows and records."""
        return slice_boards.method_of(name) != ACTIVITY and self.stores(name)

    def has_slice(self, part: str) -> bool:
        """Whether the pool has this slice, such as `language:English`; true for the empty text, which is all outcomes."""
        dimension, _, value = part.partition(":")
        return not part or (dimension in self.slices and self.slices[dimension].has(value))


class LiveBoard(NamedTuple):
    """Changed agents of one online method.

    Attributes:
        names: Names of the agents.
        values: Rating of each agent, as an absolute value.
        beliefs: Belief about each agent; empty if the method holds no beliefs.
        provisional: Whether each agent is provisional; empty if none is.
        total: Number of agents on the complete board, by which losses of the store are detected; None if unknown.
    """

    names: Sequence[str]
    values: Sequence[float]
    beliefs: Sequence[Belief] = ()
    total: int | None = None
    provisional: Sequence[bool] = ()


class BoardPage(NamedTuple):
    """Consecutive rows of a live board, best first.

    Attributes:
        head: Head of the pool. The rows are at least as new as its position.
        method: Name of the method.
        total: Number of agents on the board.
        ranked: Number of settled agents, which come first.
        rows: The rows, with the number of outcomes in which each agent took part.
        publication: Token of the publication that wrote the rows; empty if a publication was under way. Two pages with one token, not
            empty, and one total are of the same rows: a publication claims another token before it writes, and after its commit it only
            removes rows.
    """

    head: PoolHead
    method: str
    total: int
    ranked: int
    rows: list[AgentRow]
    publication: str


class StoredBoard(NamedTuple):
    """A solved board of which the store holds every row.

    Attributes:
        board: The board; its result has no rows.
        history: Number of kept solves of its method in the store.
        newest: Identity of the newest of them (`SolvedBoard.solve`); None if there are none.
    """

    board: SolvedBoard
    history: int
    newest: tuple[object, ...] | None = None


class PoolVersion(NamedTuple):
    """Version of all boards of a pool. Equal versions mean equal boards.

    Attributes:
        head: Text of the pool's head; None if the store has no head.
        solved: Method -> version of its solved board.
        listed: Whether the store lists the pool, with or without boards. An emptied store does not list it until its boards are written
            again.
        sliced: Changes with each solved board of a slice; None before the first one.
    """

    head: str | None
    solved: Mapping[str, str | None]
    listed: bool
    sliced: str | None = None


class StoreError(Exception):
    """The store could not answer. retriable: whether trying again later can help."""

    def __init__(self, message: str, *, retriable: bool) -> None:
        self.retriable = retriable
        super().__init__(message)


class StoreLost(StoreError):  # noqa: N818 - names the fact, as the writer acts on it
    """The store lost publications of this writer (flush, restart, rollback or eviction). All agents must be published again."""


ACTIVITY: Final = slice_boards.ACTIVITY
"""Name of the sorted set with each agent's number of outcomes. It is published like the boards of online methods."""


INSIGHT = "insight"
"""Name under which a pool's insight is published, as a solved board without rows."""
