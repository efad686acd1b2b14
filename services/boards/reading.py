"""A board as readers get it: one shape for live and solved ones, for the API, the page and `equirank top`."""

from collections.abc import Sequence
from typing import Final

import msgspec

from ratings_core.errors import InputError
from ratings_core.records.beliefs import LEVEL, BeliefModel
from services.boards.history import Difference, Kept, difference, unpacked
from services.boards.result import AgentRow, CertificateRow, Intervals, SolvedBoard, TaskRow
from services.boards.store.protocol import ACTIVITY, INSIGHT, BoardPage, PoolHead, StoreError
from services.boards.store.redis import RedisStore
from services.boards.store.solved import SolvedBoards
from services.runtime.settings import PROVISIONAL, Provisional

TRIES: Final = 5
"""Readings of a history, which a solve that comes between two steps makes useless."""


class Board(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of one board, best first.

    source: `live` (per-agent values no older than `position`), `solved` (exactly the result at `position`) or `past` (as it was at
    `position`, an earlier one); total: agents on the
    whole board; age_seconds: since it was published or solved. certificate, status, seconds, outcomes, version (of Equirank): of
    solved boards; error: why the newest try failed, where an older result is shown; tasks: rated tasks; extra: what the method adds;
    intervals: what those of rows are; stale_seconds: present while the store does not
    answer, or lost its data: this is what was known so long ago.
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
    """The boards that a pool has, by name."""

    live: list[str]
    solved: list[str]


def methods_of(boards: SolvedBoards, head: PoolHead) -> Methods:
    """Which boards a pool has. Raises `StoreError`."""
    return Methods(live=[*head.online, ACTIVITY], solved=boards.methods(head.pool))


def board(
    store: RedisStore, pool: str, method: str, *, start: int, count: int, now: float, provisional: Provisional = PROVISIONAL
) -> Board | None:
    """Rows start to start + count; None where there is no such board. now: seconds since 1970; provisional: who is marked so.

    Raises `StoreError`, `InputError`.
    """
    page = store.live.page(pool, method, start, count)
    if page is not None:
        return _of_live(page, now, provisional)
    return _solved_page(store.solved, pool, method, start, count, now, provisional)


def around(
    store: RedisStore, pool: str, method: str, agent: str, *, count: int, now: float, provisional: Provisional = PROVISIONAL
) -> Board | None:
    """`count` rows with the agent in the middle; None where there is no such board, or the agent is not on it."""
    page = store.live.around(pool, method, agent, count)
    if page is not None:
        return _of_live(page, now, provisional)
    found = store.solved.around(pool, method, agent, count)
    return None if found is None else _of_solved(*found, now, provisional)


def agent(store: RedisStore, pool: str, name: str, *, provisional: Provisional = PROVISIONAL) -> dict[str, AgentRow] | None:
    """An agent's row on every board, by method; None where it is on none. Raises `StoreError`."""
    head, found = store.live.head(pool), store.agent(pool, name)
    if head is None or found is None:
        return found
    few = store.live.outcomes_of(pool, head.generation, [name])[0] < provisional.outcomes
    rows = {}
    for method, row in found.items():
        if method in head.online:
            rows[method] = _marked(row, provisional=few or _uncertain(row, head.beliefs.get(method), provisional))
        elif row.rank_low is not None and (board := store.solved.page(pool, method, 0, 1)) is not None:
            rows[method] = _wide_told([row], board[1], provisional)[0]
        else:
            rows[method] = row
    return rows


def first_rows(
    store: RedisStore, head: PoolHead, methods: Sequence[str], *, count: int, now: float, provisional: Provisional = PROVISIONAL
) -> list[Board]:
    """The first rows of several boards of a pool, live ones as of `head` first, without those that are not there. Raises `StoreError`."""
    live = [_of_live(page, now, provisional) for page in store.live.pages(head, methods, 0, count)]
    others = set(methods) - {board.method for board in live}
    solved = [_solved_page(store.solved, head.pool, method, 0, count, now, provisional) for method in methods if method in others]
    return live + [board for board in solved if board is not None]


def changes(boards: SolvedBoards, pool: str, method: str, against: int | None, count: int) -> Difference | None:
    """From an earlier solve to the newest one; None where fewer than two are kept. against: position of the earlier one, by default the
    one before the newest; of several there the last. count: most agents that each list names. Raises `InputError`, `StoreError`.
    """
    for _ in range(TRIES):
        history = boards.history(pool, method)
        if len(history) < 2:
            return None
        earlier = [i for i, one in enumerate(history) if i and against in (None, one.position)]
        if not earlier:
            there = ", ".join(str(one.position) for one in history[1:])
            raise InputError("against", against, f"must be the position of a kept solve before the newest ({there})")
        newest, before = boards.past(pool, method, 0), boards.past(pool, method, earlier[0])
        if newest and before and (newest.past, before.past) == (history[0], history[earlier[0]]):  # else a solve came between
            return difference(pool, method, before, newest, count)
    raise keeps_changing(pool, method)


def keeps_changing(pool: str, method: str) -> StoreError:
    """A solve came between the steps of every reading of a history."""
    return StoreError(f"the history of {method} of pool {pool} keeps changing", retriable=True)


def _solved_page(
    boards: SolvedBoards, pool: str, method: str, start: int, count: int, now: float, provisional: Provisional
) -> Board | None:
    found = boards.page(pool, method, start, count) if method != INSIGHT else None
    return None if found is None else _of_solved(*found, now, provisional)


def _of_live(page: BoardPage, now: float, provisional: Provisional) -> Board:
    return Board(
        pool=page.pool,
        method=page.method,
        source="live",
        generation=page.generation,
        position=page.position,
        total=page.total,
        age_seconds=_age(now, page.published_at),
        rows=page.rows if page.method == ACTIVITY else _unsettled_told(page, provisional),
        intervals=belief_intervals(page.beliefs),
    )


def belief_intervals(model: BeliefModel | None) -> Intervals | msgspec.UnsetType:
    """What the intervals of an online method's board are; unset where it holds no beliefs."""
    if model is None:
        return msgspec.UNSET
    of = f"the mean, which the rating is {model.below:g} deviations below" if model.below else ""
    return Intervals(kind="belief", of=of, assumes="the method's model of games, as of the pool's time", level=LEVEL)


def _unsettled_told(page: BoardPage, provisional: Provisional) -> list[AgentRow]:
    """Rows that say who took part in few outcomes, or is not well known."""
    return [
        _marked(row, provisional=count < provisional.outcomes or _uncertain(row, page.beliefs, provisional))
        for row, count in zip(page.rows, page.outcomes, strict=True)
    ]


def _uncertain(row: AgentRow, model: BeliefModel | None, provisional: Provisional) -> bool:
    """Whether a live row's deviation is wide."""
    return model is not None and row.deviation is not None and row.deviation > provisional.deviation * model.newcomer


def _wide_told(rows: list[AgentRow], total: int, provisional: Provisional) -> list[AgentRow]:
    """Rows that say whose rank the data leave open."""
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
        age_seconds=_age(now, solved.solved_at),
        rows=_wide_told(result.agents, total, provisional),
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


def past_solve(pool: str, method: str, kept: Kept, start: int, count: int, now: float, provisional: Provisional) -> Board:
    """A kept solve as a board: as many of its best rows as its compact form keeps, provisional by their intervals of ranks then."""
    past, shown = kept.past, unpacked(kept.rows)[start : start + count]
    rows = [AgentRow(agent=row.agent, rating=row.rating, rank=row.rank, rank_low=row.rank_low, rank_high=row.rank_high) for row in shown]
    return Board(
        pool=pool,
        method=method,
        source="past",
        generation=past.generation,
        position=past.position,
        total=past.total,
        age_seconds=_age(now, past.solved_at),
        rows=_wide_told(rows, past.total, provisional),
        outcomes=past.outcomes,
        certificate=past.certificate,
        status=past.status,
        seconds=past.seconds,
        version=past.version,
    )


def _age(now: float, then: float) -> float:
    return round(max(0.0, now - then), 3)
