"""Boards as of an earlier position: live boards folded again from the archive, or from kept checkpoints; solved boards from kept solves.

With an archive, a live board is of exactly the requested position (`PastContents`). Every other board is of the newest kept position at or
before the requested one. All state their position. `EQUIRANK_CHECKPOINTS_KEPT` and `EQUIRANK_SOLVES_KEPT` set how many checkpoints and
solves are kept.
"""

import math
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.frozen import Arrays
from ratings_core.errors import InputError
from ratings_core.online import Rater, Reading
from ratings_core.ranking import Ranking
from ratings_core.records.beliefs import BeliefModel
from ratings_core.records.roster import Roster
from services.boards.history import Past
from services.boards.reading import TRIES, Board, keeps_changing, past_solve
from services.boards.result import AgentRow
from services.boards.slice_boards import board_name
from services.boards.store.beliefs import belief_intervals, believed
from services.boards.store.protocol import ACTIVITY, PoolHead, StoreError
from services.boards.store.redis import RedisStore
from services.checkpoints.checkpoint import CheckpointStore, PoolEntry
from services.checkpoints.objects import BadObject
from services.control.generations import make_raters
from services.control.records import ControlState
from services.runtime.settings import PROVISIONAL, Provisional
from services.state.opening import initial_agents, rated_agents
from services.state.parts import part


class When(NamedTuple):
    """The latest acceptable state: at or before a log position, or at or before a time (seconds since 1970). One of them is None."""

    position: int | None = None
    time: float | None = None

    def reached(self, position: int, time: float) -> bool:
        """Whether a state of this position, made at this time, is not later than the limit."""
        return position <= self.position if self.position is not None else self.time is not None and time <= self.time


class PastRows(NamedTuple):
    """A request for rows `start` to `start + most` of a past board.

    provisional: Rules that mark agents as provisional. generation: Number of the generation whose boards are read; None for any. part:
    Slice of the pool, such as `language:English`; empty for all outcomes.
    """

    pool: str
    method: str
    when: When
    start: int
    most: int
    provisional: Provisional = PROVISIONAL
    generation: int | None = None
    part: str = ""

    def takes(self, generation: int) -> bool:
        """Whether a board of this generation may answer the request."""
        return self.generation in (None, generation)


class SeveralGenerations(Exception):  # noqa: N818 - names the fact
    """Boards of several generations are kept at one position.

    Attributes:
        position: The position.
        generations: Their numbers, sorted.
    """

    def __init__(self, position: int, generations: Collection[int]) -> None:
        self.position, self.generations = position, sorted(generations)
        choices = " or ".join(f"generation={number}" for number in self.generations)
        super().__init__(f"boards of {len(self.generations)} generations are kept at position {position}: send {choices}")


class NotKept(InputError):  # noqa: N818 - names the fact
    """The requested position or time is before all kept states.

    Args:
        when: The request.
        kept: Position and time (seconds since 1970) of each kept state. The attribute `kept` holds the positions, sorted.
        setting: Name of the setting that limits the number of kept states.
        why: Why the state cannot be folded again; empty if that was not tried.
    """

    def __init__(self, when: When, kept: Sequence[tuple[int, float]], setting: str, why: str = "") -> None:
        self.kept = sorted({position for position, _ in kept})
        there = ", ".join(map(str, self.kept)) or "none yet"
        since = f", since {_iso(min(time for _, time in kept))}" if kept else ""
        name, asked = ("at", _iso(when.time)) if when.time is not None else ("position", when.position)
        super().__init__(
            name, asked, f"must not be before what is kept (positions {there}{since}; {setting} keeps more){why and f'; {why}'}"
        )


class NotFolded(Exception):  # noqa: N818 - names the fact
    """The content of a pool at a past position cannot be folded again. The text has the reason."""


class StillFolding(Exception):  # noqa: N818 - names the fact
    """The content of a pool at a past position needs more outcomes to be folded than one request may. The same request continues.

    Args:
        pool: Name of the pool.
        position: Position that is reached.
        end: Requested position, or the newest one for a request by time.
    """

    def __init__(self, pool: str, position: int, end: int) -> None:
        reached = f"pool {pool} is folded to position {position} of {end}: send the request again to continue"
        offline = f"`equirank solve --pool {pool} --to POSITION` rates outcomes without the API"
        super().__init__(f"{reached}; {offline}")


class PastContent(NamedTuple):
    """The content of a pool at a past position.

    entry: Pool, generation, position, number of outcomes and digest; it names no object. time: Time of its newest record, or of the
    checkpoint that it was read from, in seconds since 1970. arrays: The content; they must not be changed.
    """

    entry: PoolEntry
    time: float
    arrays: Arrays

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(array.nbytes for array in self.arrays.values())


class PastContents(Protocol):
    """Folds pools again, up to past positions."""

    def content(self, head: PoolHead, when: When, generation: int | None = None) -> PastContent:
        """The content of a pool at exactly a past position, or of all records that the log took by a time.

        Args:
            head: Head of the pool. A position after its one stands for its one.
            when: The position or the time.
            generation: Number of the generation; None for the one that serves the season of this moment
                (`services.control.seasons.generation_at`).

        Raises:
            NotFolded: There is no archive, or log and archive lack the records, or the generation cannot be folded.
            StillFolding: One call does not fold that many outcomes. The next one continues.
            LogError: The log cannot be read now.
            OSError: The checkpoints cannot be read now.
        """


def _iso(time: float) -> str:
    """A time as ISO 8601 text, rounded up to a full second, so that a request for it finds the state of that time."""
    try:
        return datetime.fromtimestamp(math.ceil(time), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return f"{time:g}"  # outside of the calendar's range


class PastBoards:
    """Reads past boards.

    Args:
        store: The store.
        files: The checkpoints.
        control: Returns the state of the control log; called only for live boards.
        contents: Folds pools again; None reads kept states only.
    """

    def __init__(
        self, store: RedisStore, files: CheckpointStore, control: Callable[[], ControlState], contents: PastContents | None = None
    ) -> None:  # fmt: skip
        self._store, self._files, self._control, self._contents = store, files, control, contents

    def board(self, rows: PastRows, now: float) -> Board | None:
        """Read a past board. Returns None if the pool has no such board.

        Args:
            rows: The request.
            now: Seconds since 1970.

        Raises:
            NotKept: The requested position or time is before all kept states, and cannot be folded again.
            StillFolding: As of `PastContents`.
            SeveralGenerations: The newest kept position that is not after the requested one has boards of several generations, the request
                names none, and the board cannot be folded again.
            InputError: Both or neither of position and time are given, or the board is a live one of a slice.
            StoreError: The store or the checkpoints cannot be read now.
            LogError: The control log cannot be read.
        """
        if (rows.when.position is None) == (rows.when.time is None):
            raise InputError("position, at", tuple(rows.when), "must be one of the two")
        head = self._store.live.head(rows.pool)
        if head is None:
            return None
        if rows.method in head.live_methods:
            if rows.part:
                raise InputError(
                    "slice", rows.part, f"must be left out: {rows.method} is an online method, whose slices have no past boards"
                )
            return self._live(rows, head, now)
        return self._solved(rows, now)

    def _solved(self, rows: PastRows, now: float) -> Board | None:
        board = board_name(rows.method, rows.part)
        for _ in range(TRIES):
            history: list[Past] = self._store.solved.history(rows.pool, board)
            if not history:
                return None
            known = [(i, solve) for i, solve in enumerate(history) if rows.takes(solve.generation)]
            reached = [(i, solve) for i, solve in known if rows.when.reached(solve.position, solve.solved_at)]
            if not reached:
                raise NotKept(rows.when, [(solve.position, solve.solved_at) for _, solve in known], "EQUIRANK_SOLVES_KEPT")
            at = reached[0][0]
            _check_generations(rows.when, [(solve.position, solve.generation) for _, solve in reached])
            solve = self._store.solved.past(rows.pool, board, at)
            if solve is not None and solve.past == history[at]:  # otherwise a solve was published between the two reads
                return past_solve(rows.pool, rows.method, solve, rows.start, rows.most, now, rows.part)
        raise keeps_changing(rows.pool, rows.method)

    def _live(self, rows: PastRows, head: PoolHead, now: float) -> Board:
        try:
            try:
                return self._folded(rows, head, now)
            except (NotFolded, BadObject) as error:
                why = str(error)
            kept = self._entries(rows, head.partition)
            reached = [(entry, written_at) for entry, written_at in kept if rows.when.reached(entry.position, written_at)]
            _check_generations(rows.when, [(entry.position, entry.generation) for entry, _ in reached])
            for entry, written_at in reached:
                try:
                    return self._of_checkpoint(entry, rows, age_seconds=round(max(0.0, now - written_at), 3))
                except BadObject:
                    continue  # damaged, or deleted while it was read: an older one may be readable
        except OSError as error:
            raise StoreError(f"the checkpoints of pool {rows.pool} cannot be read now: {error}", retriable=True) from error
        raise NotKept(rows.when, [(entry.position, written_at) for entry, written_at in kept], "EQUIRANK_CHECKPOINTS_KEPT", why)

    def _folded(self, rows: PastRows, head: PoolHead, now: float) -> Board:
        """The board of a content that is folded again. Raises `BadObject` if its generation lacks the method."""
        if self._contents is None:
            raise NotFolded("")
        found = self._contents.content(head, rows.when, rows.generation)
        return board_of_content(found.entry, found.arrays, self._control(), rows, round(max(0.0, now - found.time), 3))

    def _entries(self, rows: PastRows, partition: int) -> list[tuple[PoolEntry, float]]:
        """The kept entries of a pool that may answer a request, newest first, each with the time at which it was written.

        A generation above the served one has none, although checkpoints contain it while it is built.
        """
        if rows.generation is not None and rows.generation > self._control().served(rows.pool):
            return []
        return [(entry, manifest.written_at) for entry, manifest in self._files.kept_entries(partition, rows.pool, rows.generation)]

    def _of_checkpoint(self, entry: PoolEntry, rows: PastRows, age_seconds: float) -> Board:
        return board_of_content(entry, self._files.read_pool(entry), self._control(), rows, age_seconds)


def _check_generations(when: When, reached: Sequence[tuple[int, int]]) -> None:
    """Raise `SeveralGenerations` if the newest kept states at one position are of several generations. A time names one state.

    reached: Position and generation of the states that are not later than `when`, newest first.
    """
    if when.position is None or not reached:
        return
    newest = reached[0][0]
    if len(numbers := {generation for position, generation in reached if position == newest}) > 1:
        raise SeveralGenerations(newest, numbers)


def board_of_content(entry: PoolEntry, arrays: Arrays, control: ControlState, rows: PastRows, age_seconds: float) -> Board:
    """A live board from the content of a pool.

    Args:
        entry: The pool's entry.
        arrays: Arrays of its content: names of agents, activity, pool time, and the state of the method.
        control: State of the control log.
        rows: The requested rows.
        age_seconds: Seconds since the content was the newest one.

    Raises:
        BadObject: The control log has no such generation, or the generation has no such method.
    """
    made = control.generations.get(entry.pool, {}).get(entry.generation)
    if made is None:
        raise BadObject(f"{entry.object}: the control log has no generation {entry.generation} of its pool")
    agents, time = Roster.from_arrays(part(arrays, "agents")), arrays["pool_time"]
    rater = make_raters(control.pools[entry.pool].kind, made.fold).get(rows.method)
    if rater is None and rows.method != ACTIVITY:
        raise BadObject(f"{entry.object}: generation {entry.generation} has no board {rows.method}")
    model, read = None if rater is None else rater.beliefs, _reader(arrays, rater, rows.method)
    rated = None if rater is None else rated_agents(made, rows.method, np.asarray(arrays["activity"]), initial_agents(made, agents))
    ids = np.arange(len(agents), dtype=np.int32) if rated is None else np.flatnonzero(rated).astype(np.int32)
    return Board(
        pool=entry.pool,
        method=rows.method,
        source="past",
        generation=entry.generation,
        position=entry.position,
        total=len(ids),
        age_seconds=age_seconds,
        rows=_rows(agents, ids, float(time[0]) if len(time) else None, read, model, rows, marks=rater is not None),
        outcomes=entry.outcomes,
        intervals=belief_intervals(model),
    )


def _reader(arrays: Arrays, rater: Rater[Any] | None, method: str) -> Callable[[NDArray[np.int32]], Reading]:
    """A function that reads the values of agents by id from a checkpoint: ratings by `rater`, or numbers of outcomes without a rater.

    Only the state of the requested method is rebuilt from `arrays`.
    """
    if rater is None:
        activity = np.asarray(arrays["activity"])
        return lambda ids: Reading(activity[ids].astype(np.float64), None, activity[ids])
    state = type(rater.init(0)).from_arrays(part(arrays, f"online.{method}"))
    return lambda ids: rater.read(state, ids)


def _rows(
    agents: Roster, rated: NDArray[np.int32], time: float | None, read: Callable[[NDArray[np.int32]], Reading],
    model: BeliefModel | None, asked: PastRows, *, marks: bool,
) -> list[AgentRow]:  # fmt: skip
    """The requested rows, best first; equal ratings are ordered by id.

    rated: Ids of the agents on the board. time: Pool time; None before the first outcome. marks: Whether agents with few outcomes or a
    wide deviation are marked as provisional.
    """
    ranking = Ranking.from_scores(read(rated).rating)
    places = ranking.ids[asked.start : asked.start + asked.most]
    ids = rated[places]
    shown, settled = read(ids), asked.provisional
    widest = math.inf if model is None else settled.deviation * model.newcomer
    marked = shown.provisional(outcomes=settled.outcomes, deviation=widest) & marks
    values = zip(agents.names(ids), shown.rating.tolist(), ranking.rank[places].tolist(), marked.tolist(), strict=True)
    rows = [AgentRow(agent=name, rating=rating, rank=rank, provisional=low) for name, rating, rank, low in values]
    if model is None or shown.beliefs is None:
        return rows
    return [believed(row, belief, model, time) for row, belief in zip(rows, shown.beliefs.each(), strict=True)]
