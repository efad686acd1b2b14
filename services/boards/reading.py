"""Boards for readers: one form of live and solved boards, for the API, the page and `equirank top`."""

import math
from collections.abc import Sequence
from typing import Final

import msgspec

from ratings_core.errors import InputError
from services.boards.history import Difference, KeptSolve, difference, unpacked
from services.boards.result import AgentRow, CertificateRow, Intervals, SolvedBoard, TaskRow
from services.boards.store.beliefs import belief_intervals
from services.boards.store.protocol import ACTIVITY, INSIGHT, BoardPage, PoolHead, StoreError
from services.boards.store.redis import RedisStore
from services.boards.store.solved import SolvedBoards
from services.runtime.settings import PROVISIONAL, Provisional

TRIES: Final = 5
"""Largest number of attempts to read a history. An attempt fails if a solve is published between its reads."""


class Board(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of one board, best first.

    Attributes:
        pool: Name of the pool.
        method: Name of the method.
        source: `live`: each agent's value is at least as new as `position`. `solved`: the exact result at `position`. `past`: the board
            at an earlier position.
        generation: Generation of the pool.
        position: Log offset up to which outcomes were counted. A higher position is newer.
        total: Number of agents on the complete board.
        age_seconds: Seconds since the board was published or solved.
        rows: The requested rows.
        outcomes: Number of outcomes that the solve counted.
        certificate: Proof of a solved result's quality.
        status: How the solve ended.
        seconds: Duration of the solve.
        error: Why the newest solve failed. The board is then the result of an earlier solve.
        version: Version of Equirank that solved.
        tasks: Ratings of the tasks, if the method rates tasks.
        extra: Further results of the method.
        intervals: Description of the intervals in the rows.
        stale_seconds: Present only if the store does not answer or has lost its data: age in seconds of the data shown.
    """

    pool: str
    method: str
    source: str
    generation: int
    position: int
    total: int
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
    stale_seconds: float | msgspec.UnsetType = msgspec.UNSET


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
    return Methods(live=head.live_methods, solved=boards.methods(head.pool))


def board(
    store: RedisStore, pool: str, method: str, *, start: int, count: int, now: float, provisional: Provisional = PROVISIONAL
) -> Board | None:
    """Read rows `start` to `start + count` of a live or solved board. Returns None if there is no such board.

    Args:
        store: The store.
        pool: Name of the pool.
        method: Name of the method.
        start: Index of the first row; 0 is the best agent.
        count: Largest number of rows.
        now: Seconds since 1970.
        provisional: Rules that mark agents as provisional.

    Raises:
        StoreError: The store does not answer.
        InputError: A name or a number breaks a rule.
    """
    page = store.live.page(pool, method, start, count)
    if page is not None:
        return _of_live(page, now, provisional)
    return _solved_page(store.solved, pool, method, start, count, now, provisional)


def around(
    store: RedisStore, pool: str, method: str, agent: str, *, count: int, now: float, provisional: Provisional = PROVISIONAL
) -> Board | None:
    """Read `count` rows with the agent in the middle. Returns None if there is no such board, or if the agent is not on it.

    Other arguments and errors are those of `board`.
    """
    page = store.live.around(pool, method, agent, count)
    if page is not None:
        return _of_live(page, now, provisional)
    solved = store.solved.around(pool, method, agent, count)
    return None if solved is None else _of_solved(*solved, now, provisional)


def agent(
    store: RedisStore, pool: str, name: str, *, now: float, provisional: Provisional = PROVISIONAL, head: PoolHead | None = None
) -> dict[str, Board] | None:
    """Method -> the board with the agent's row only; None if the agent is on no board of the pool.

    Args:
        store: The store.
        pool: Name of the pool.
        name: Name of the agent.
        now: Seconds since 1970.
        provisional: Rules that mark agents as provisional.
        head: Head of the pool, if it was read already.

    Raises:
        StoreError: The store does not answer.
    """
    head = head or store.live.head(pool)
    live = [] if head is None else store.live.pages_around(head, head.live_methods, name, 1)
    found = {page.method: _of_live(page, now, provisional) for page in live}
    for method in store.solved.methods(pool):
        if (solved := store.solved.around(pool, method, name, 1)) is not None:
            found[method] = _of_solved(*solved, now, provisional)
    return found or None


def ratings(
    store: RedisStore, head: PoolHead, method: str, agents: Sequence[str], *, provisional: Provisional = PROVISIONAL
) -> list[AgentRow | None] | None:
    """The row of each agent on one board; None for agents that are not on it. Returns None if there is no such board.

    Raises `StoreError`.
    """
    if method in head.live_methods:
        pages = store.live.rows_of(head, method, agents)
        return [None if page is None else _live_rows(page, provisional)[0] for page in pages]
    solved = store.solved.rows_of(head.pool, method, agents)
    if solved is None:
        return None
    _, total, rows = solved
    return [None if row is None else _mark_wide_ranks([row], total, provisional)[0] for row in rows]


def first_rows(
    store: RedisStore, head: PoolHead, methods: Sequence[str], *, count: int, now: float, provisional: Provisional = PROVISIONAL
) -> list[Board]:
    """The first `count` rows of several boards of a pool: live boards (as of `head`), then solved boards. Missing boards are left out.

    Raises `StoreError`.
    """
    live = [_of_live(page, now, provisional) for page in store.live.pages(head, methods, 0, count)]
    others = set(methods) - {board.method for board in live}
    solved = [_solved_page(store.solved, head.pool, method, 0, count, now, provisional) for method in methods if method in others]
    return live + [board for board in solved if board is not None]


def changes(boards: SolvedBoards, pool: str, method: str, against: int | None, count: int) -> Difference | None:
    """The difference from an earlier solve of a method to its newest one. Returns None if fewer than two solves are kept.

    Args:
        boards: The solved boards in the store.
        pool: Name of the pool.
        method: Name of the method.
        against: Position of the earlier solve; of several solves at this position the last one. None for the solve before the newest.
        count: Largest number of agents in each list.

    Raises:
        InputError: No earlier solve at position `against` is kept.
        StoreError: The store does not answer, or solves are published between the reads of every attempt.
    """
    for _ in range(TRIES):
        history = boards.history(pool, method)
        if len(history) < 2:
            return None
        earlier = [i for i, past in enumerate(history) if i and against in (None, past.position)]
        if not earlier:
            there = ", ".join(str(past.position) for past in history[1:])
            raise InputError("against", against, f"must be the position of a kept solve before the newest ({there})")
        newest, before = boards.past(pool, method, 0), boards.past(pool, method, earlier[0])
        if newest and before and (newest.past, before.past) == (history[0], history[earlier[0]]):  # else a solve was published between
            return difference(pool, method, before, newest, count)
    raise keeps_changing(pool, method)


def keeps_changing(pool: str, method: str) -> StoreError:
    """The error for a history in which a solve was published during every attempt to read it."""
    return StoreError(f"the history of {method} of pool {pool} keeps changing", retriable=True)


def _solved_page(
    boards: SolvedBoards, pool: str, method: str, start: int, count: int, now: float, provisional: Provisional
) -> Board | None:
    solved = boards.page(pool, method, start, count) if method != INSIGHT else None
    return None if solved is None else _of_solved(*solved, now, provisional)


def _of_live(page: BoardPage, now: float, provisional: Provisional) -> Board:
    head = page.head
    return Board(
        pool=head.pool,
        method=page.method,
        source="live",
        generation=head.generation,
        position=head.position,
        total=page.total,
        age_seconds=age(now, head.published_at),
        rows=_live_rows(page, provisional),
        intervals=belief_intervals(head.beliefs.get(page.method)),
    )


def _live_rows(page: BoardPage, provisional: Provisional) -> list[AgentRow]:
    """The rows of a live page. Agents with few outcomes, or with a deviation above the rule's share of a new agent's, are provisional."""
    if page.method == ACTIVITY:
        return page.rows
    model = page.head.beliefs.get(page.method)
    widest = math.inf if model is None else provisional.deviation * model.newcomer
    counted_rows = zip(page.rows, page.outcomes, strict=True)
    return [_marked(row, provisional=count < provisional.outcomes or (row.deviation or 0.0) > widest) for row, count in counted_rows]


def _mark_wide_ranks(rows: list[AgentRow], total: int, provisional: Provisional) -> list[AgentRow]:
    """The rows of a solved board. Agents with a wide interval of ranks are marked as provisional. total: Agents on the board."""
    most = provisional.ranks * (total - 1)
    ends = ((row, row.rank_low, row.rank_high) for row in rows)
    return [_marked(row, provisional=low is not None and high is not None and high - low > most) for row, low, high in ends]


def _marked(row: AgentRow, *, provisional: bool) -> AgentRow:
    return msgspec.structs.replace(row, provisional=True) if provisional else row


def _of_solved(solved: SolvedBoard, total: int, now: float, provisional: Provisional) -> Board:
    result = solved.result
    return Board(
        pool=solved.pool,
        method=result.method,
        source="solved",
        generation=solved.generation,
        position=solved.position,
        total=total,
        age_seconds=age(now, solved.solved_at),
        rows=_mark_wide_ranks(result.agents, total, provisional),
        outcomes=solved.outcomes,
        certificate=result.certificate,
        status=result.status,
        seconds=result.seconds,
        error=solved.error,
        version=solved.version,
        tasks=result.tasks,
        extra=result.extra,
        intervals=result.intervals,
    )


def past_solve(pool: str, method: str, kept: KeptSolve, start: int, count: int, now: float, provisional: Provisional) -> Board:
    """A kept solve as a board, with rows `start` to `start + count` of the best rows that it keeps.

    Agents whose interval of ranks was wide are marked as provisional.
    """
    past, shown = kept.past, unpacked(kept.rows)[start : start + count]
    rows = [AgentRow(agent=row.agent, rating=row.rating, rank=row.rank, rank_low=row.rank_low, rank_high=row.rank_high) for row in shown]
    return Board(
        pool=pool,
        method=method,
        source="past",
        generation=past.generation,
        position=past.position,
        total=past.total,
        age_seconds=age(now, past.solved_at),
        rows=_mark_wide_ranks(rows, past.total, provisional),
        outcomes=past.outcomes,
        certificate=past.certificate,
        status=past.status,
        seconds=past.seconds,
        version=past.version,
    )


def age(now: float, then: float) -> float:
    """Seconds from `then` to `now`, rounded to milliseconds; 0 if a clock is ahead."""
    return round(max(0.0, now - then), 3)
