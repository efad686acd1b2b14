"""Boards for readers: one form of live and solved boards, for the API, the page and `equirank top`."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from ratings_core.errors import InputError
from services.boards.cursors import Cursor, ReplacedBoard, cursor_of, digest
from services.boards.evidence import TOO_LITTLE_EVIDENCE, reason
from services.boards.history import Difference, KeptSolve, difference, unpacked
from services.boards.result import LOTTERY, AgentRow, CertificateRow, Intervals, SolvedBoard, SolveResult, TaskRow
from services.boards.slice_boards import SliceName, board_name, method_of, slice_of
from services.boards.store.beliefs import belief_intervals
from services.boards.store.protocol import ACTIVITY, INSIGHT, BoardPage, PoolHead, StoreError
from services.boards.store.redis import RedisStore
from services.boards.store.solved import SolvedBoards

TRIES: Final = 5
"""Largest number of attempts to read a history. An attempt fails if a solve is published between its reads."""

MOST_ROWS: Final = 200_000
"""Most rows of an answer with all rows."""
_ROWS_A_READ: Final = 5000
"""Rows of a read of all rows. A read of a live board is one script, and other readers wait for it."""


class ShownProvisional(StrEnum):
    """Which rows of a board are shown: all, those of settled agents, or those of provisional agents alone."""

    INCLUDE = "include"
    EXCLUDE = "exclude"
    ONLY = "only"

    def allows(self, *, provisional: bool) -> bool:
        """Whether the row of an agent is shown. provisional: Whether the agent is."""
        return self is ShownProvisional.INCLUDE or provisional == (self is ShownProvisional.ONLY)

    def of(self, ranked: int, total: int) -> tuple[int, int]:
        """Index of the first row that can be shown, and that after the last one. ranked: Number of settled agents, which come first."""
        return ranked if self is ShownProvisional.ONLY else 0, min(ranked, total) if self is ShownProvisional.EXCLUDE else total


class Earlier(msgspec.Struct, frozen=True, kw_only=True):
    """The earlier state with which the rows of a board are compared.

    Attributes:
        time: Time of this state in seconds since 1970: of the solve, or of the pool's outcomes.
        day: Whether it is at least 24 hours old. If not, it is the oldest that is kept of the season.
    """

    time: float
    day: bool


class Board(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of one board, best first: settled agents with their ranks, then provisional agents without one.

    Attributes:
        pool: Name of the pool.
        method: Name of the method.
        source: `live`: each agent's value is at least as new as `position`. `solved`: the exact result at `position`. `past`: the board
            at an earlier position. `season`: the final board of an ended season.
        generation: Generation of the pool.
        position: Log offset up to which outcomes were counted. A higher position is newer.
        total: Number of agents on the complete board.
        ranked: Number of settled agents on the complete board. They come first, and ranks count them alone.
        age_seconds: Seconds since the board was published or solved.
        rows: The requested rows.
        outcomes: Number of outcomes that the solve counted.
        certificate: Proof of a solved result's quality.
        status: How the solve ended. `too_little_evidence`, also on boards of online methods: all agents are provisional.
        reason: Why no agent has a rank; absent if one has.
        seconds: Duration of the solve.
        error: Why the newest solve failed. The board is then the result of an earlier solve.
        version: Version of Equirank that solved.
        tasks: Ratings of the tasks, if the method rates tasks.
        extra: Further results of the method.
        intervals: Description of the intervals in the rows.
        outside: Present on a maximal lottery whose rows are its support alone: number of other agents, whose probability is 0.
        next: Cursor of the next page; null on the last page. Absent where rows are not pages of the board.
        changed: Present on a page that a cursor of a live board, or of an answer with filters, began. `true`: the board, or which agents
            match, may have changed since the page before, so agents may be missing or appear twice. `false`: it has not.
        games_position: Log offset up to which `games`, `wins`, `draws`, `losses` and `last_played` of the rows were counted: that of a
            checkpoint, or the end of an ended season. Absent where rows have none of them: in a pool of scores, on a past board, and
            until a checkpoint was read.
        settled_ranks: Number of the rows whose rank is settled: `rank_low` equals `rank_high`. Absent if no row has these.
        earlier: State a day before, whose ranks and ratings are `earlier_rank` and `earlier_rating` of the rows. Absent where none is kept
            that is at least an hour old, in other formats than JSON, and on slices and past boards.
        stale_seconds: Present only if the store does not answer or has lost its data: age in seconds of the data shown.
        season: Name of the ended season. Present only on its final boards.
        slice: Slice of the pool's outcomes that the board counts, such as `language:English`. Absent on boards of all outcomes.
    """

    pool: str
    method: str
    source: str
    generation: int
    position: int
    total: int
    ranked: int
    age_seconds: float
    rows: list[AgentRow]
    outcomes: int | None = None
    certificate: CertificateRow | None = None
    status: str | None = None
    seconds: float | None = None
    error: str | None = None
    version: str | None = None
    tasks: list[TaskRow] = []
    extra: dict[str, object] = {}
    intervals: Intervals | msgspec.UnsetType = msgspec.UNSET
    outside: int | msgspec.UnsetType = msgspec.UNSET
    next: str | msgspec.UnsetType | None = msgspec.UNSET
    changed: bool | msgspec.UnsetType = msgspec.UNSET
    games_position: int | msgspec.UnsetType = msgspec.UNSET
    settled_ranks: int | msgspec.UnsetType = msgspec.UNSET
    earlier: Earlier | msgspec.UnsetType = msgspec.UNSET
    stale_seconds: float | msgspec.UnsetType = msgspec.UNSET
    season: str | msgspec.UnsetType = msgspec.UNSET
    slice: str | msgspec.UnsetType = msgspec.UNSET
    reason: str | msgspec.UnsetType = msgspec.UNSET

    @property
    def name(self) -> str:
        """Name under which the store has the board."""
        return board_name(self.method, self.slice or "")


class Methods(msgspec.Struct, frozen=True, kw_only=True):
    """Names of the pool's boards.

    Attributes:
        live: Methods with a live board.
        solved: Methods with a solved board.
    """

    live: list[str]
    solved: list[str]


def methods_of(boards: SolvedBoards, head: PoolHead) -> Methods:
    """The methods with a board of a pool. Raises `StoreError`."""
    return Methods(live=head.online, solved=boards.methods(head.pool))


def methods_of_slice(boards: SolvedBoards, head: PoolHead, part: SliceName) -> Methods | None:
    """The methods with a board of a slice; None if the pool has no such slice. Raises `StoreError`."""
    dimension = head.slices.get(part.dimension)
    if dimension is None or not dimension.has(part.value):
        return None
    return Methods(live=dimension.methods, solved=boards.methods(head.pool, part))


def board(store: RedisStore, pool: str, method: str, *, start: int, count: int, now: float, everyone: bool = True) -> Board | None:
    """Read rows `start` to `start + count` of a live or solved board. Returns None if there is no such board.

    Args:
        store: The store.
        pool: Name of the pool.
        method: Name of the method.
        start: Index of the first row; 0 is the best agent.
        count: Largest number of rows.
        now: Seconds since 1970.
        everyone: Whether agents outside the support of a maximal lottery have rows; otherwise `Board.outside` is their number.

    Raises:
        StoreError: The store does not answer.
        InputError: A name or a number breaks a rule.
    """
    read = rows_and_version(store, pool, method, start, count, now)
    return None if read is None else _page_of(*read, start, everyone=everyone)


def resumed(store: RedisStore, cursor: Cursor, *, count: int, now: float) -> Board | None:
    """Read the page that begins at a cursor of a live or solved board. Returns None if there is no such board.

    Other arguments and errors are those of `board`.

    Raises:
        ReplacedBoard: The board of the cursor was solved, and another solve is shown now.
    """
    read = rows_and_version(store, cursor.pool, cursor.method, cursor.start, count, now)
    return None if read is None else continued(*read, cursor)


def continued(page: Board, version: str, cursor: Cursor) -> Board:
    """The page of a cursor with the cursor of the next page. Raises `ReplacedBoard`. version: that of the board of the page."""
    if page.source != cursor.source or (page.source != "live" and version != cursor.version):
        raise ReplacedBoard(cursor.pool, cursor.method)
    if page.source == "live":
        page = msgspec.structs.replace(page, changed=not version or version != cursor.version)
    return _page_of(page, version, cursor.start, everyone=cursor.everyone)


def whole(store: RedisStore, pool: str, method: str, *, now: float) -> Board | None:
    """Read all rows of a live or solved board. Returns None if there is no such board.

    A live board of at most `_ROWS_A_READ` rows is read in one step, also during a publication: some rows are then newer than the board's
    position. Larger boards, and solved boards, are of one version.

    Raises:
        InputError: The board has more than `MOST_ROWS` rows.
        StoreError: The store does not answer, or a board of more than `_ROWS_A_READ` rows changes during every attempt.
    """
    for _ in range(TRIES):
        first = board(store, pool, method, start=0, count=_ROWS_A_READ, now=now)
        if first is None:
            return None
        check_size(first)
        rows = _rest(store, first, now)
        if rows is not None:
            return msgspec.structs.replace(first, rows=rows, next=None)
    rule = "its rows were being written at each attempt, or a publication was interrupted: read pages by a cursor, or a past board"
    raise StoreError(f"the board {method} of pool {pool} keeps changing; {rule}", retriable=True)


def check_size(page: Board) -> None:
    """Raise `InputError` if the board has too many rows for an answer with all rows."""
    if page.total > MOST_ROWS:
        raise InputError("count", "all", f"must be given: the board has {page.total} rows, and one answer at most {MOST_ROWS}")


def of_agents(store: RedisStore, pool: str, method: str, names: Sequence[str], *, now: float) -> Board | None:
    """Read the rows of some agents, in the order of their names. Returns None if there is no such board.

    Each row of a live board is read by itself, and is at least as new as the board's position.

    Raises:
        InputError: There is no name, or a name is there twice.
        WithoutRow: The board has no row of an agent.
        StoreError: The store does not answer.
    """
    if not names or len(set(names)) != len(names):
        raise InputError("agents", ", ".join(names[:5]), "must be one or more, each once")
    head = store.live.head(pool)
    if head is not None and head.has_board(method):
        shown = [page for page in store.live.rows_of(head, method, names) if page is not None]
        rows = [row for page in shown for row in page.rows]
        found = _of_live(shown[0], now) if shown else None
    else:
        solved = store.solved.rows_of(pool, method, names) if method != INSIGHT else None
        if solved is None:
            return None
        found = of_solved(*solved, now)
        rows = found.rows
    held = {row.agent for row in rows}
    if missing := [name for name in names if name not in held]:
        raise WithoutRow(method, missing)
    return None if found is None else msgspec.structs.replace(found, rows=rows)


class WithoutRow(Exception):  # noqa: N818 - the answer is 404, as of a missing pool
    """Agents that have no row on a board."""

    def __init__(self, method: str, names: Sequence[str]) -> None:
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        super().__init__(f"the board {method} has no row of the agents {', '.join(map(repr, names[:5]))}{more}")


def with_next(page: Board, version: str, start: int) -> Board:
    """The page with the cursor of the next one; null if it is the last one, or begins after the last row."""
    end, everyone = start + len(page.rows), not isinstance(page.outside, int)
    if not page.rows or end >= page.total - (page.outside or 0):
        return msgspec.structs.replace(page, next=None)
    position, generation = (page.position, page.generation) if page.source == "past" else (None, None)
    cursor = Cursor(page.pool, page.name, page.source, version, end, position, everyone, generation)
    return msgspec.structs.replace(page, next=cursor.text())


def around(store: RedisStore, pool: str, method: str, agent: str, *, count: int, now: float) -> Board | None:
    """Read `count` rows with the agent in the middle. Returns None if there is no such board, or if the agent is not on it.

    Other arguments and errors are those of `board`.
    """
    page = None if method_of(method) == ACTIVITY else store.live.around(pool, method, agent, count)
    if page is not None:
        return _of_live(page, now)
    solved = store.solved.around(pool, method, agent, count)
    return None if solved is None else of_solved(*solved, now)


def agent(
    store: RedisStore, pool: str, name: str, *, now: float, head: PoolHead | None = None, part: SliceName | None = None
) -> dict[str, Board] | None:
    """Method -> the board with the agent's row only; None if the agent is on no board of the pool, or of the slice.

    Args:
        store: The store.
        pool: Name of the pool.
        name: Name of the agent.
        now: Seconds since 1970.
        head: Head of the pool, if it was read already.
        part: Slice of the pool; None for all outcomes.

    Raises:
        StoreError: The store does not answer.
    """
    head = head or store.live.head(pool)
    if part is not None:
        methods = None if head is None else methods_of_slice(store.solved, head, part)
        names = ([], []) if methods is None else ([*map(part.board, methods.live)], [*map(part.board, methods.solved)])
    else:
        names = [] if head is None else head.online, store.solved.methods(pool)
    live = [] if head is None else store.live.pages_around(head, names[0], name, 1)
    found = {method_of(page.method): _of_live(page, now) for page in live}
    for board in names[1]:
        if (solved := store.solved.around(pool, board, name, 1)) is not None:
            found[method_of(board)] = of_solved(*solved, now)
    return found or None


def agent_slices(store: RedisStore, head: PoolHead, name: str, *, now: float) -> dict[str, dict[str, Board]]:
    """Slice -> method -> the slice's board with the agent's row only, for the slices in which the agent has a row.

    Arguments and errors as of `agent`. Takes one round trip; none in a pool without slices.
    """
    boards = {
        part.board(method): (str(part), method)
        for dimension, of in head.slices.items()
        for part in (SliceName(dimension, value.value) for value in of.values)
        for method in of.methods
    }
    found: dict[str, dict[str, Board]] = {}
    for page in store.live.pages_around(head, list(boards), name, 1) if boards else ():
        part, method = boards[page.method]
        found.setdefault(part, {})[method] = _of_live(page, now)
    return found


def rows_of_agents(store: RedisStore, head: PoolHead, methods: Methods, agents: Sequence[str]) -> dict[str, dict[str, AgentRow]]:
    """Agent -> method -> the agent's row on its board, for the given boards. Agents without a row have an empty entry.

    Takes one round trip for each live board, and two for each solved board. Raises `StoreError`.
    """
    rows: dict[str, dict[str, AgentRow]] = {name: {} for name in agents}
    for method in [*methods.live, *methods.solved]:
        for name, row in zip(agents, ratings(store, head, method, agents) or [], strict=False):
            if row is not None:
                rows[name][method] = row
    return rows


def ratings(store: RedisStore, head: PoolHead, method: str, agents: Sequence[str]) -> list[AgentRow | None] | None:
    """The row of each agent on one board; None for agents that are not on it. Returns None if there is no such board.

    Raises `StoreError`.
    """
    if head.has_board(method):
        pages = store.live.rows_of(head, method, agents)
        return [None if page is None else page.rows[0] for page in pages]
    solved = store.solved.rows_of(head.pool, method, agents)
    if solved is None:
        return None
    rows = {row.agent: row for row in solved[0].result.agents}
    return [rows.get(name) for name in agents]


def first_rows(store: RedisStore, head: PoolHead, methods: Sequence[str], *, count: int, now: float, everyone: bool = True) -> list[Board]:
    """The first `count` rows of several boards of a pool: live boards (as of `head`), then solved boards. Missing boards are left out.

    everyone: as of `board`. Raises `StoreError`.
    """
    live = [_of_live(page, now) for page in store.live.pages(head, methods, 0, count)]
    others = set(methods) - {board.name for board in live}
    solved = [_solved_rows(store.solved, head.pool, method, 0, count, now) for method in methods if method in others]
    return live + [_page_of(*read, 0, everyone=everyone) for read in solved if read is not None]


def changes(boards: SolvedBoards, pool: str, method: str, against: int | None, count: int, part: str = "") -> Difference | None:
    """The difference from an earlier solve of a method to its newest one. Returns None if fewer than two solves of the season are kept.

    Solves of different seasons are not compared, because each season has its own ratings.

    Args:
        boards: The solved boards in the store.
        pool: Name of the pool.
        method: Name of the method.
        against: Position of the earlier solve; of several solves at this position the last one. None for the solve before the newest.
        count: Largest number of agents in each list.
        part: Slice of the pool, such as `language:English`; empty for all outcomes.

    Raises:
        InputError: No earlier solve of the season at position `against` is kept.
        StoreError: The store does not answer, or solves are published between the reads of every attempt.
    """
    board = board_name(method, part)
    for _ in range(TRIES):
        history = boards.history(pool, board)
        first = boards.season(pool)  # read last: after a switch between the two reads, no solve of the season before is compared
        if len(history) < 2 or history[1].generation < first:
            return None
        earlier = [i for i, past in enumerate(history) if i and past.generation >= first and against in (None, past.position)]
        if not earlier:
            there = ", ".join(str(past.position) for past in history[1:] if past.generation >= first)
            raise InputError("against", against, f"must be the position of a kept solve of this season before the newest ({there})")
        newest, before = boards.past(pool, board, 0), boards.past(pool, board, earlier[0])
        if newest and before and (newest.past, before.past) == (history[0], history[earlier[0]]):  # else a solve was published between
            return difference(pool, method, before, newest, count, part)
    raise keeps_changing(pool, method)


def keeps_changing(pool: str, method: str) -> StoreError:
    """The error for a history in which a solve was published during every attempt to read it."""
    return StoreError(f"the history of {method} of pool {pool} keeps changing", retriable=True)


def past_version(page: Board) -> str:
    """Version of a past board."""
    return digest(page.generation, page.position, page.total, page.ranked, page.outcomes, page.seconds, page.certificate)


def rows_and_version(store: RedisStore, pool: str, method: str, start: int, count: int, now: float) -> tuple[Board, str] | None:
    """Rows of a board, and the version of the board; the version is empty for a live board that was being written."""
    page = None if method_of(method) == ACTIVITY else store.live.page(pool, method, start, count)
    if page is not None:
        return _of_live(page, now), digest(page.publication, page.total) if page.publication else ""
    return _solved_rows(store.solved, pool, method, start, count, now)


def _solved_rows(boards: SolvedBoards, pool: str, method: str, start: int, count: int, now: float) -> tuple[Board, str] | None:
    solved = boards.page(pool, method, start, count) if method != INSIGHT else None
    if solved is None:
        return None
    shown, total = solved
    return of_solved(shown, total, now), digest(*shown.solve, total)


def _page_of(page: Board, version: str, start: int, *, everyone: bool) -> Board:
    return with_next(page if everyone else _without_outside(page, start), version, start)


def _without_outside(page: Board, start: int) -> Board:
    """The page of a maximal lottery without the agents after its support; another board as it is."""
    support = support_of(page)
    if support is None:
        return page
    return msgspec.structs.replace(page, rows=page.rows[: max(0, support - start)], outside=page.total - support)


def support_of(page: Board) -> int | None:
    """Number of first rows that contain the support of a maximal lottery; None for another board."""
    return support_rows(page.extra) if page.source == "solved" and page.method == LOTTERY else None


def support_rows(extra: Mapping[str, object]) -> int | None:
    """The same by `extra` of a maximal lottery. Boards of earlier releases begin with their support."""
    rows, support = extra.get("support_rows"), extra.get("support")
    return rows if isinstance(rows, int) else len(support) if isinstance(support, list) else None


def _rest(store: RedisStore, first: Board, now: float) -> list[AgentRow] | None:
    """All rows of the board of its first page; None if it changed in between."""
    rows, page = list(first.rows), first
    while isinstance(page.next, str):
        cursor = cursor_of(page.next, first.pool, first.name)
        try:
            after = resumed(store, cursor, count=_ROWS_A_READ, now=now)
        except ReplacedBoard:
            return None
        if after is None or after.changed is True or after.intervals != first.intervals:  # a solve's intervals may arrive later
            return None
        page = after
        rows += page.rows
    return rows if len(rows) == first.total else None


def _of_live(page: BoardPage, now: float) -> Board:
    head, method = page.head, method_of(page.method)
    part, without = slice_of(head.slices, page.method), page.total > 0 and page.ranked == 0 and head.provisional_outcomes is not None
    return Board(
        pool=head.pool,
        method=method,
        source="live",
        generation=head.generation,
        position=head.position,
        total=page.total,
        ranked=page.ranked,
        age_seconds=age(now, head.published_at),
        rows=page.rows,
        status=TOO_LITTLE_EVIDENCE if without else None,
        reason=reason(head.provisional_outcomes or 0) if without else msgspec.UNSET,
        intervals=belief_intervals(head.beliefs.get(method)),
        slice=msgspec.UNSET if part is None else str(part),
    )


def of_solved(solved: SolvedBoard, total: int, now: float) -> Board:
    """A solved board as readers see it, with the rows that `solved` has. total: Number of agents on the complete board."""
    result = solved.result
    return Board(
        pool=solved.pool,
        method=result.method,
        source="solved",
        generation=solved.generation,
        position=solved.position,
        total=total,
        ranked=ranked_of(result, total),
        age_seconds=age(now, solved.solved_at),
        rows=result.agents,
        outcomes=solved.outcomes,
        certificate=result.certificate,
        status=result.status,
        reason=result.reason,
        seconds=result.seconds,
        error=solved.error,
        version=solved.version,
        tasks=result.tasks,
        extra=result.extra,
        intervals=result.intervals,
        slice=solved.slice or msgspec.UNSET,
    )


def ranked_of(result: SolveResult, total: int) -> int:
    """Number of settled agents on a solved board with `total` agents. Earlier releases, and final boards of theirs, ranked all."""
    return total if result.ranked is msgspec.UNSET else result.ranked


def past_solve(pool: str, method: str, kept: KeptSolve, start: int, count: int, now: float, part: str = "") -> Board:
    """A kept solve as a board, with rows `start` to `start + count` of the best rows that it keeps.

    Agents are provisional as they were on the board of then. part: Slice that was solved; empty for all outcomes.
    """
    past, shown = kept.past, unpacked(kept.rows)[start : start + count]
    rows = [
        AgentRow(
            agent=row.agent,
            rating=row.rating,
            rank=row.rank,
            rank_low=row.rank_low,
            rank_high=row.rank_high,
            provisional=row.rank is None,
        )
        for row in shown
    ]
    return Board(
        pool=pool,
        method=method,
        source="past",
        generation=past.generation,
        position=past.position,
        total=past.total,
        ranked=past.total if past.ranked is None else past.ranked,
        age_seconds=age(now, past.solved_at),
        rows=rows,
        outcomes=past.outcomes,
        certificate=past.certificate,
        status=past.status,
        reason=past.reason or msgspec.UNSET,
        seconds=past.seconds,
        version=past.version,
        slice=part or msgspec.UNSET,
    )


def settled_ranks(rows: Sequence[AgentRow]) -> int | msgspec.UnsetType:
    """Number of rows whose rank's interval is one rank; unset if no row has such an interval."""
    ranked = [row for row in rows if row.rank_low is not None]
    return sum(row.rank_low == row.rank_high for row in ranked) if ranked else msgspec.UNSET


def age(now: float, then: float) -> float:
    """Seconds from `then` to `now`, rounded to milliseconds; 0 if a clock is ahead."""
    return round(max(0.0, now - then), 3)
