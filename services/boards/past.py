"""Boards as of an earlier position: live boards folded again from the archive, or from kept checkpoints; solved boards from kept solves.

With an archive, a live board is of exactly the requested position (`PastContents`). Every other board is of the newest kept position at or
before the requested one. All state their position. `EQUIRANK_CHECKPOINTS_KEPT` and `EQUIRANK_SOLVES_KEPT` set how many checkpoints and
solves are kept.
"""

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ratings_core.arrays.frozen import Arrays
from ratings_core.errors import InputError
from ratings_core.online import Rater, Reading
from ratings_core.ranking import Ranking
from ratings_core.records.beliefs import BeliefModel
from ratings_core.records.roster import Roster
from ratings_core.records.times import written
from services.boards.evidence import TOO_LITTLE_EVIDENCE, few_outcomes, reason
from services.boards.history import ROWS, Difference, KeptRows, Past, PastRow, difference_of_rows
from services.boards.past_contents import (
    NoOutcomes,
    NoSlice,
    NotFolded,
    OtherSeason,
    PastContent,
    PastContents,
    When,
    check_rated,
    check_season,
)  # fmt: skip
from services.boards.reading import TRIES, Board, age, keeps_changing, past_solve
from services.boards.result import VERSION, AgentRow, CertificateRow
from services.boards.slice_boards import SliceName, board_name
from services.boards.store.beliefs import belief_intervals, believed
from services.boards.store.protocol import PoolHead, StoreError
from services.boards.store.redis import RedisStore
from services.checkpoints.checkpoint import CheckpointStore, PoolEntry
from services.checkpoints.objects import BadObject
from services.control.generations import make_raters
from services.control.records import ControlState, Generation
from services.control.seasons import generation_at
from services.log.protocol import LogError
from services.runtime.settings import PROVISIONAL, Provisional
from services.state.opening import initial_agents, rated_agents
from services.state.parts import part
from services.state.slices import slice_generation
from services.wire.pools import Kind

log = logging.getLogger("equirank.boards")


class PastRows(NamedTuple):
    """A request for rows `start` to `start + most` of a past board.

    provisional: The least evidence for a rank. generation: Number of the generation whose boards are read; None for any. part:
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


class BoardChange(NamedTuple):
    """A request for the difference between the boards of a method at two positions.

    before: Moment of the earlier board. after: That of the later one; None for the newest. most: Largest number of agents in each list.
    generation: Number of the generation whose boards are compared; None for that of the moment. part: Slice of the pool; empty
    for all outcomes.
    """

    pool: str
    method: str
    before: When
    after: When | None
    most: int
    generation: int | None = None
    part: str = ""

    def moments(self, newest: int) -> tuple[When, When]:
        """Both moments. newest: Position of the newest board. Raises `InputError` for positions or times in the wrong order."""
        before, after = self.before, self.after or When(newest)
        if after.position is not None:
            end = min(after.position, newest)
            if before.position is not None:
                self.check_positions(before.position, end)
            return before, When(end)
        if before.time is not None and after.time is not None and before.time > after.time:
            raise InputError("since", written(before.time), f"must be at most `until`, {written(after.time)}")
        return before, after

    def check_positions(self, before: int, after: int) -> None:
        """Raise `InputError` if the position of the earlier board is after that of the later one."""
        if before > after:
            rule = f"must be at most the position of the later board, {after}"
            if self.before.time is None:
                raise InputError("against", before, rule)
            raise InputError("since", written(self.before.time), f"{rule}, and the log was at position {before} then")


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
    """The requested position or time is before all kept states, or between two kept solves of which those between were removed.

    Args:
        when: The request.
        kept: Position and time (seconds since 1970) of each kept state. The attribute `kept` holds the positions, sorted.
        setting: Name of the setting that limits the number of kept states.
        why: Why the state cannot be folded again; empty if that was not tried.
        nearest: The board of the newest kept solve at or before the moment, if solves after it were removed since; otherwise None.
    """

    def __init__(
        self, when: When, kept: Sequence[tuple[int, float]], setting: str, why: str = "", nearest: Board | None = None
    ) -> None:  # fmt: skip
        self._asked, self.nearest = (when, kept, setting), nearest
        self.kept = sorted({position for position, _ in kept})
        there = ", ".join(map(str, self.kept)) or "none yet"
        since = f", since {written(min(time for _, time in kept))}" if kept else ""
        name, asked = ("at", written(when.time)) if when.time is not None else ("position", when.position)
        reason = f"; {why}" if why else ""
        super().__init__(name, asked, f"must not be before what is kept (positions {there}{since}; {setting} keeps more){reason}")

    def because(self, why: str) -> "NotKept":
        """The same error with the reason why the state cannot be folded again."""
        return NotKept(*self._asked, why)


class _Found(NamedTuple):
    """A past board of an online method, and the content of the pool or the slice that it was read from."""

    content: PastContent
    board: Board


@contextmanager
def season_checked(
    control: ControlState | None, pool: str, generation: int, when: When | None, names: tuple[str, str]
) -> Iterator[Callable[[int], None]]:  # fmt: skip
    """Raise `OtherSeason` for a moment before the season of a generation, also in place of an error of the block that reads the moment.

    Arguments as of `check_season`; without `control`, nothing is checked. The block calls the given function with the position that its
    content has at the moment.
    """

    def check(reached: int | None = None) -> None:
        if control is not None:
            check_season(control, pool, generation, when, names, reached)

    check()
    try:
        yield check
    except (NoOutcomes, NoSlice) as error:
        check(error.position)
        raise
    except NotKept:  # what the log had reached is not known; a time before the record that began the season is before it
        check(0)
        raise


class PastBoards:
    """Reads past boards.

    Args:
        store: The store.
        files: The checkpoints.
        control: Returns the state of the control log.
        solves_kept: Number of newest solves of a board that are all kept (`EQUIRANK_SOLVES_KEPT`).
        contents: Folds pools again; None reads kept states only.
    """

    def __init__(
        self, store: RedisStore, files: CheckpointStore, control: Callable[[], ControlState], solves_kept: int,
        contents: PastContents | None = None,
    ) -> None:  # fmt: skip
        self._store, self._files, self._control, self._contents = store, files, control, contents
        self._solves_kept = solves_kept

    def board(self, rows: PastRows, now: float) -> Board | None:
        """Read a past board. Returns None if the pool has no such board.

        Args:
            rows: The request.
            now: Seconds since 1970.

        Raises:
            NotKept: The requested position or time is before all kept states, and cannot be folded again. For a solved board also if
                solves before this moment were removed, or no kept one is of the generation by which readers now see this moment; then it
                has the `nearest` board.
            StillFolding: As of `PastContents`.
            SeveralGenerations: The newest kept position that is not after the requested one has boards of several generations, the request
                names none, and the board cannot be folded again.
            NoOutcomes: The generation had counted no outcome at that position or time.
            NoSlice: The pool had no outcome of the slice at that position, or its generation has no slices with the board.
            InputError: Both or neither of position and time are given.
            StoreError: The store or the checkpoints cannot be read now.
            LogError: The control log cannot be read.
        """
        if (rows.when.position is None) == (rows.when.time is None):
            raise InputError("position, at", tuple(rows.when), "must be one of the two")
        head = self._store.live.head(rows.pool)
        if head is None:
            return None
        if rows.method in head.online:
            return self._live(rows, head, now, begun=True).board
        return self._solved(rows, now)

    def _solved(self, rows: PastRows, now: float) -> Board | None:
        board, present = board_name(rows.method, rows.part), self._present_generation(rows)
        for _ in range(TRIES):
            history: list[Past] = self._store.solved.history(rows.pool, board)
            if not history:
                return None
            known = [(i, solve) for i, solve in enumerate(history) if rows.takes(solve.generation)]
            reached = [(i, solve) for i, solve in known if rows.when.reached(solve.position, solve.solved_at)]
            if not reached:
                raise NotKept(rows.when, [(solve.position, solve.solved_at) for _, solve in known], "EQUIRANK_SOLVES_KEPT")
            present_solves = [(i, solve) for i, solve in reached if present in (None, solve.generation)]
            shown = present_solves or reached
            at = shown[0][0]
            _check_generations(rows.when, [(solve.position, solve.generation) for _, solve in shown])
            solve = self._store.solved.past(rows.pool, board, at)
            if solve is not None and solve.past == history[at]:  # otherwise a solve was published between the two reads
                found = past_solve(rows.pool, rows.method, solve, rows.start, rows.most, now, rows.part)
                if present_solves and (at < self._solves_kept or rows.when.position == found.position):
                    return found
                raise NotKept(rows.when, [(found.position, solve.past.solved_at)], "EQUIRANK_SOLVES_KEPT", nearest=found)
        raise keeps_changing(rows.pool, rows.method)

    def _present_generation(self, rows: PastRows) -> int | None:
        """Number of the generation by which readers now see the moment; None if one is requested, or the control log is unreadable."""
        if rows.generation is not None:
            return None
        try:
            made = generation_at(self._control(), rows.pool, rows.when.position, rows.when.time or 0.0)
        except LogError as error:  # a kept solve of any generation answers
            log.warning("kept solves of %s are not chosen by generation: %s", rows.pool, error)
            return None
        return None if made is None else made.number

    def changes(self, wanted: BoardChange, now: float) -> Difference:
        """The difference between two boards of an online method, at two positions or times.

        Args:
            wanted: The request.
            now: Seconds since 1970.

        Raises:
            InputError: The pool has no such live board, or the positions are in the wrong order.
            OtherSeason: The earlier moment is before the season of the later one.
            NoOutcomes: The pool had no outcome at the later moment. At the earlier one it may have none: all agents are new then.
            NotKept, StillFolding, SeveralGenerations, NoSlice, StoreError, LogError: As of `board`.
        """
        head = self._store.live.head(wanted.pool)
        if head is None or wanted.method not in head.online:
            raise InputError("method", wanted.method, "must be a live board of the pool")
        begin, end = wanted.moments(head.position)
        asked = PastRows(wanted.pool, wanted.method, end, 0, ROWS, generation=wanted.generation, part=wanted.part)
        after = self._live(asked, head, now, begun=True)
        control = self._control()
        made, season = control.generations[wanted.pool], (control, wanted.pool, after.board.generation, begin, ("against", "since"))
        with season_checked(*season) as check:
            before = self._live(asked._replace(when=begin), head, now)
            if made[before.board.generation].season != made[after.board.generation].season:
                if begin.time is None:  # the nearest kept checkpoint is of another season
                    raise OtherSeason(*season)
                before = self._live(asked._replace(when=begin, generation=after.board.generation), head, now)
                check(before.board.position)
        wanted.check_positions(before.board.position, after.board.position)
        parameters = [made[found.board.generation].fold.methods(Kind(head.kind)).get(wanted.method, {}) for found in (before, after)]
        old, new = (_compared(found, own) for found, own in zip((before, after), parameters, strict=True))
        return difference_of_rows(wanted.pool, wanted.method, old, new, wanted.most, wanted.part)

    def _live(self, rows: PastRows, head: PoolHead, now: float, *, begun: bool = False) -> _Found:
        """A past board of an online method. Raises as `board`, and `NoOutcomes` only if the pool must have begun."""
        try:
            try:
                return self._folded(rows, head, now, begun=begun)
            except (NotFolded, BadObject) as error:
                why = str(error)
            kept = self._entries(rows, head.partition)
            reached = [(entry, written_at) for entry, written_at in kept if rows.when.reached(entry.position, written_at)]
            _check_generations(rows.when, [(entry.position, entry.generation) for entry, _ in reached])
            for entry, written_at in reached:
                try:
                    return self._found(PastContent(entry, written_at, self._files.read_pool(entry)), rows, now)
                except BadObject:
                    continue  # damaged, or deleted while it was read: an older one may be readable
        except OSError as error:
            raise StoreError(f"the checkpoints of pool {rows.pool} cannot be read now: {error}", retriable=True) from error
        raise NotKept(rows.when, [(entry.position, written_at) for entry, written_at in kept], "EQUIRANK_CHECKPOINTS_KEPT", why)

    def _folded(self, rows: PastRows, head: PoolHead, now: float, *, begun: bool) -> _Found:
        """The board of a content that is folded again. Raises `BadObject` if its generation lacks the method. begun: As of `_live`."""
        if self._contents is None:
            raise NotFolded("")
        content = self._contents.content(head, rows.when, rows.generation)
        if begun:
            check_rated(content, rows.when)
        return self._found(content, rows, now)

    def _found(self, content: PastContent, rows: PastRows, now: float) -> _Found:
        board = board_of_content(content, self._control(), rows, now)
        return _Found(content.of_slice(rows.part), board)

    def _entries(self, rows: PastRows, partition: int) -> list[tuple[PoolEntry, float]]:
        """The kept entries of a pool that may answer a request, newest first, each with the time at which it was written.

        A generation above the served one has none, although checkpoints contain it while it is built.
        """
        if rows.generation is not None and rows.generation > self._control().served(rows.pool):
            return []
        return [(entry, manifest.written_at) for entry, manifest in self._files.kept_entries(partition, rows.pool, rows.generation)]


def _compared(found: _Found, parameters: Mapping[str, float]) -> KeptRows:
    """A live board as it is compared. parameters: Of its method."""
    board, entry = found.board, found.content.entry
    past = Past(
        generation=entry.generation,
        position=entry.position,
        outcomes=entry.outcomes,
        data=entry.digest,
        parameters=dict(parameters),
        solved_at=found.content.time,
        version=VERSION,
        certificate=CertificateRow(kind="none", value=None),
        status="folded",
        seconds=0.0,
        total=board.total,
    )
    return KeptRows(past, [PastRow(row.agent, row.rating, row.rank) for row in board.rows])


def _check_generations(when: When, reached: Sequence[tuple[int, int]]) -> None:
    """Raise `SeveralGenerations` if the newest kept states at one position are of several generations. A time names one state.

    reached: Position and generation of the states that are not later than `when`, newest first.
    """
    if when.position is None or not reached:
        return
    newest = reached[0][0]
    if len(numbers := {generation for position, generation in reached if position == newest}) > 1:
        raise SeveralGenerations(newest, numbers)


def board_of_content(content: PastContent, control: ControlState, rows: PastRows, now: float) -> Board:
    """A live board from the content of a pool, or of the slice of `rows`.

    Args:
        content: The pool's content: its pool time, and names of agents, activity and state of the method, of the pool or the slice.
        control: State of the control log.
        rows: The requested rows.
        now: Seconds since 1970.

    Raises:
        BadObject: The control log has no such generation, or the generation has no such method.
        NoSlice: The content has no outcome of the slice, or its generation has no slices with the board.
    """
    entry = content.entry
    made = control.generations.get(entry.pool, {}).get(entry.generation)
    if made is None:
        raise BadObject(f"{entry.object}: the control log has no generation {entry.generation} of its pool")
    kind, time = control.pools[entry.pool].kind, content.arrays["pool_time"]  # deviations grow until the pool's time
    if rows.part:
        made = _slice_generation(kind, made, entry, rows)
    own = content.of_slice(rows.part)
    arrays = own.arrays
    agents = Roster.from_arrays(part(arrays, "agents"))
    rater = make_raters(kind, made.fold).get(rows.method)
    if rater is None:
        raise BadObject(f"{entry.object}: generation {entry.generation} has no board {rows.method}")
    read, activity = _reader(arrays, rater, rows.method), np.asarray(arrays["activity"])
    rated = rated_agents(made, rows.method, activity, initial_agents(made, agents))
    ids = np.arange(len(agents), dtype=np.int32) if rated is None else np.flatnonzero(rated).astype(np.int32)
    provisional = few_outcomes(activity[ids], rows.provisional)
    ranked = len(ids) - int(provisional.sum())
    return Board(
        pool=entry.pool,
        method=rows.method,
        source="past",
        generation=entry.generation,
        position=entry.position,
        total=len(ids),
        ranked=ranked,
        age_seconds=age(now, content.time),
        rows=_rows(agents, ids, provisional, float(time[0]) if len(time) else None, read, rater.beliefs, rows),
        outcomes=own.entry.outcomes,
        status=TOO_LITTLE_EVIDENCE if len(ids) and not ranked else None,
        reason=reason(rows.provisional.outcomes) if len(ids) and not ranked else msgspec.UNSET,
        intervals=belief_intervals(rater.beliefs),
        slice=rows.part or msgspec.UNSET,
    )


def _slice_generation(kind: Kind, made: Generation, entry: PoolEntry, rows: PastRows) -> Generation:
    """How the slice of `rows` is folded. Raises `NoSlice` if there are no slices by its tag, or they do not have the method."""
    dimension = SliceName.parsed(rows.part).dimension
    if dimension not in made.fold.slices:
        raise NoSlice(entry, rows.part, tags=made.fold.slices)
    if rows.method not in made.fold.slices[dimension]:
        raise NoSlice(entry, rows.part, rows.method)
    return slice_generation(kind, made, dimension)


def _reader(arrays: Arrays, rater: Rater[Any], method: str) -> Callable[[NDArray[np.int32]], Reading]:
    """A function that reads ratings of agents by id from a checkpoint. Only the state of the method is rebuilt from `arrays`."""
    state = type(rater.init(0)).from_arrays(part(arrays, f"online.{method}"))
    return lambda ids: rater.read(state, ids)


def _rows(
    agents: Roster, rated: NDArray[np.int32], provisional: NDArray[np.bool_], time: float | None,
    read: Callable[[NDArray[np.int32]], Reading], model: BeliefModel | None, asked: PastRows,
) -> list[AgentRow]:  # fmt: skip
    """The requested rows, best first, and settled agents before provisional ones; equal ratings are ordered by id.

    rated: Ids of the agents on the board. provisional: Whether each of them is. time: Pool time; None before the first outcome.
    """
    ratings, settled = read(rated).rating, np.flatnonzero(~provisional)
    ranking, others = Ranking.from_scores(ratings[settled]), np.flatnonzero(provisional)
    order = np.concatenate([settled[ranking.ids], others[Ranking.from_scores(ratings[others]).ids]])
    ranks: list[int | None] = [*ranking.rank[ranking.ids].tolist(), *[None] * len(others)]
    shown = slice(asked.start, asked.start + asked.most)
    ids = rated[order[shown]]
    reading = read(ids)
    values = zip(agents.names(ids), reading.rating.tolist(), ranks[shown], strict=True)
    rows = [AgentRow(agent=name, rating=rating, rank=rank, provisional=rank is None) for name, rating, rank in values]
    if model is None or reading.beliefs is None:
        return rows
    return [believed(row, belief, model, time) for row, belief in zip(rows, reading.beliefs.each(), strict=True)]
