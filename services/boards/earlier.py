"""What changed within a day: the rank and rating of each agent a day before, or at the oldest time that is kept, and outcomes since then.

A solved board is compared with a kept solve of its season, a live board with the history of its pool's outcomes. Nothing is folded or
solved again.
"""

import logging
from typing import Final

import msgspec

from ratings_core.records.roster import UNKNOWN
from services.boards.agent_history import read_history
from services.boards.agent_index import AgentIndex, NoIndex
from services.boards.history import ROWS, KeptSolve, unpacked
from services.boards.outcome_history import OutcomeHistoryReader
from services.boards.reading import TRIES, Board, Earlier
from services.boards.result import AgentRow
from services.boards.store.protocol import INSIGHT, PoolHead
from services.boards.store.solved import SolvedBoards

log = logging.getLogger("equirank.boards")

DAY: Final = 86_400.0
_LEAST: Final = 3600.0
"""Boards are not compared with a younger state: changes within minutes are mostly noise, and are taken for those of a day."""
_STEP: Final = 60.0
"""The compared time moves by this many seconds at once, so that answers stay equal within them."""


class LastDay(msgspec.Struct, frozen=True, kw_only=True):
    """How many outcomes of a pool have a time in the last 24 hours.

    Attributes:
        since: Begin of the 24 hours in seconds since 1970.
        outcomes: Number of outcomes since then.
        complete: Whether these are all. If not, the kept history begins later than `since`, and there are more.
    """

    since: float
    outcomes: int
    complete: bool


def last_day(index: AgentIndex | NoIndex | None, head: PoolHead, since: float) -> LastDay | None:
    """Count the outcomes of the last day by the history of a pool.

    None if it keeps no history, it cannot be read now, or the newest checkpoint is older than a day and others came since.

    Args:
        index: The pool's index of agents; or why it is missing.
        head: Head of the pool.
        since: That of `day_before`.
    """
    if head.pool_time is not None and head.pool_time < since:
        return LastDay(since=since, outcomes=0, complete=True)
    if not isinstance(index, AgentIndex) or index.history is None:
        return None
    history, newer = index.history, max(0, head.outcomes - index.entry.outcomes)
    if newer and index.written_at < since:
        return None
    try:
        state = read_history(lambda: history.state_at(since), index)
    except NoIndex as error:
        log.warning("%s", error)
        return None
    if state is None:
        return None
    return LastDay(since=since, outcomes=state.within + newer, complete=state.is_reached or state.outcomes == 0)


def day_before(now: float) -> float:
    """The time with which boards are compared: 24 hours before the present minute began. In seconds since 1970."""
    return now // _STEP * _STEP - DAY


def compared(board: Board, solved: SolvedBoards, index: AgentIndex | NoIndex | None, since: float) -> Board:
    """A newest board whose rows have the rank and rating of an earlier time, where these are kept. Slices and past boards stay as they are.

    Args:
        board: The board.
        solved: The solved boards in the store.
        index: The pool's index of agents; or why it is missing. Only live boards need it.
        since: The wanted time, in seconds since 1970. If nothing so old is kept, the oldest is taken if it is an hour
            old.

    Raises:
        StoreError: The store does not answer.
    """
    if not board.rows or isinstance(board.slice, str):
        return board
    if board.source == "solved" and board.method != INSIGHT:
        return _with_solve(board, solved, since)
    if board.source == "live" and isinstance(index, AgentIndex) and index.entry.generation == board.generation:
        return _with_outcomes(board, index, since)
    return board


def _with_solve(board: Board, solved: SolvedBoards, since: float) -> Board:
    first = min((row.rank for row in board.rows if row.rank is not None), default=board.ranked + 1)  # provisional agents come last
    kept = _solve_at(board, solved, since) if first <= ROWS else None
    if kept is None:
        return board
    then = {row.agent: row for row in unpacked(kept.rows)}
    rows = [row if (old := then.get(row.agent)) is None else _changed(row, old.rank, old.rating) for row in board.rows]
    time = kept.past.solved_at
    return msgspec.structs.replace(board, rows=rows, earlier=Earlier(time=time, day=time <= since))


def _solve_at(board: Board, solved: SolvedBoards, since: float) -> KeptSolve | None:
    """The newest kept solve of the season at or before a time, else the oldest one. Ratings by other parameters are not compared.

    None if only the board itself or solves of the last hour are kept, or solves are published during every attempt to read.
    """
    for _ in range(TRIES):
        history = solved.history(board.pool, board.name)
        first = solved.season(board.pool)
        of_season = [at for at, past in enumerate(history) if past.generation >= first and past.parameters == history[0].parameters]
        if not of_season:
            return None
        at = next((at for at in of_season if history[at].solved_at <= since), of_season[-1])
        if (at == 0 and history[0].solved_at > since) or _is_young(history[at].solved_at, since):
            return None  # the board itself, or one of minutes ago
        found = solved.past(board.pool, board.name, at)
        if found is not None and found.past == history[at]:  # else a solve was published between the two reads
            return found
    return None  # the board is answered all the same, and the next answer can have it


def _with_outcomes(board: Board, index: AgentIndex, since: float) -> Board:
    history = index.history
    if history is None or board.method not in history.methods:
        return board
    try:
        return read_history(lambda: _with_ratings(board, index, history, since), index)
    except NoIndex as error:  # the rows have their ratings nevertheless
        log.warning("%s", error)
        return board


def _with_ratings(board: Board, index: AgentIndex, history: OutcomeHistoryReader, since: float) -> Board:
    state = history.state_at(since)
    if state is None or _is_young(state.time, since):
        return board
    ids, ahead = index.ids([row.agent for row in board.rows]).tolist(), index.is_ahead_of(board.rows).tolist()
    # without the rows that the checkpoint is ahead of, as it can be at the start of a season: its past can be later than such a row
    known = {
        row_id: row.outcomes or 0 for row, row_id, after in zip(board.rows, ids, ahead, strict=True) if row_id != UNKNOWN and not after
    }
    if state.outcomes == history.outcomes:  # else the checkpoint has outcomes after the state, so it lacks none before it
        known = {agent: outcomes for agent, outcomes in known.items() if outcomes <= index.outcomes(agent)}
    ratings = history.ratings_before(known, state.outcomes, board.method)
    rows = [_changed(row, None, ratings[agent]) if agent in ratings else row for row, agent in zip(board.rows, ids, strict=True)]
    return msgspec.structs.replace(board, rows=rows, earlier=Earlier(time=state.time, day=state.is_reached))


def _is_young(time: float, since: float) -> bool:
    """Whether a state is too young to be compared, where boards are compared with the time `since`."""
    return time > since + DAY - _LEAST


def _changed(row: AgentRow, rank: int | None, rating: float | None) -> AgentRow:
    return msgspec.structs.replace(row, earlier_rank=rank, earlier_rating=rating)
