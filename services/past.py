"""Boards as of an earlier position: live ones from kept checkpoints, solved ones from their kept solves.

Nothing is folded or solved again: a board is of the newest kept position at or before the one asked for, and says which that is. How far
back checkpoints reach is `EQUIRANK_CHECKPOINTS_KEPT`, solves `EQUIRANK_SOLVES_KEPT`.
"""

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratings_core.errors import InputError
from ratings_core.ranking import Ranking
from ratings_core.roster import Roster
from services.boards import Board, past_solve
from services.pools import ControlState
from services.shard.checkpoint import CheckpointStore, PoolEntry
from services.shard.objects import BadObject
from services.shard.pool import PoolState
from services.solve.history import Past
from services.solve.result import AgentRow
from services.store.protocol import ACTIVITY, StoreError, StoreReader


class When(NamedTuple):
    """At or before a position, or a time (seconds since 1970); one of the two."""

    position: int | None = None
    time: float | None = None

    def reached(self, position: int, time: float) -> bool:
        """Whether something of that position, made at that time, is no later."""
        return position <= self.position if self.position is not None else self.time is not None and time <= self.time


class NotKept(InputError):  # noqa: N818 - names the fact
    """Nothing that is kept reaches so far back. kept: positions that are, and the times (seconds since 1970) they were made at."""

    def __init__(self, when: When, kept: Sequence[tuple[int, float]]) -> None:
        self.kept = sorted({position for position, _ in kept})
        there = ", ".join(map(str, self.kept)) or "none yet"
        since = f", since {_iso(min(time for _, time in kept))}" if kept else ""
        name, asked = ("at", _iso(when.time)) if when.time is not None else ("position", when.position)
        super().__init__(name, asked, f"must not be before what is kept (positions {there}{since})")


def _iso(time: float) -> str:
    """Rounded up to a whole second, so that asking for it finds what was made then."""
    try:
        return datetime.fromtimestamp(math.ceil(time), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return f"{time:g}"  # outside of what the calendar has


def past_board(
    store: StoreReader, files: CheckpointStore, control: Callable[[], ControlState], pool: str, method: str, when: When,
    *, start: int, count: int, now: float,
) -> Board | None:  # fmt: skip
    """Rows start to start + count of a board as it was; None where the pool has no such board.

    Raises `NotKept`, `InputError` for both or neither of position and time, `StoreError`, `LogError`.
    """
    if (when.position is None) == (when.time is None):
        raise InputError("position, at", tuple(when), "must be one of the two")
    head = store.head(pool)
    if head is None:
        return None
    if method in (*head.online, ACTIVITY):
        return _live(files, control(), pool, head.partition, method, when, start, count, now)
    return _solved(store, pool, method, when, start, count, now)


def _solved(store: StoreReader, pool: str, method: str, when: When, start: int, count: int, now: float) -> Board | None:
    history: list[Past] = store.history(pool, method)
    if not history:
        return None
    at = next((i for i, one in enumerate(history) if when.reached(one.position, one.solved_at)), None)
    found = None if at is None else store.past(pool, method, at)
    if found is None:
        raise NotKept(when, [(one.position, one.solved_at) for one in history])
    return past_solve(pool, method, found, start, count, now)


def _live(
    files: CheckpointStore, control: ControlState, pool: str, partition: int, method: str, when: When, start: int, count: int, now: float
) -> Board:  # fmt: skip
    kept: list[tuple[int, float]] = []
    for name in files.manifests(partition):
        try:
            manifest = files.read_manifest(name)
            entry = next((one for one in manifest.pools if one.pool == pool), None)
            if entry is None:
                continue
            kept.append((entry.position, manifest.written_at))
            if when.reached(entry.position, manifest.written_at):
                return _of_checkpoint(files, control, entry, manifest.written_at, method, start, count, now)
        except OSError as error:
            raise StoreError(f"the checkpoints of pool {pool} cannot be read now: {error}", retriable=True) from error
        except BadObject:
            continue  # not whole, or pruned while it was looked at: an older one may do
    raise NotKept(when, kept)


def _of_checkpoint(
    files: CheckpointStore, control: ControlState, entry: PoolEntry, written_at: float, method: str, start: int, count: int, now: float
) -> Board:  # fmt: skip
    _, arrays = files.read_pool(entry)
    made = control.generations.get(entry.pool, {}).get(entry.generation)
    if made is None:
        raise BadObject(f"{entry.object}: the control log has no generation {entry.generation} of its pool")
    state = PoolState.restore(control.pools[entry.pool], made, arrays, entry.position)
    values = _values(state, method)
    if values is None:
        raise BadObject(f"{entry.object}: generation {entry.generation} has no board {method}")
    return Board(
        pool=entry.pool,
        method=method,
        source="past",
        generation=entry.generation,
        position=entry.position,
        total=len(values),
        age_seconds=round(max(0.0, now - written_at), 3),
        rows=_rows(state.agents, values, start, count),
        outcomes=entry.outcomes,
    )


def _values(state: PoolState, method: str) -> NDArray[np.float64] | None:
    ids = np.arange(len(state.agents), dtype=np.int32)
    if method == ACTIVITY:
        return state.activity[ids].astype(np.float64)
    return state.board(method, ids) if method in state.raters else None


def _rows(agents: Roster, values: NDArray[np.float64], start: int, count: int) -> list[AgentRow]:
    """Best first; equal ones by id."""
    ranking = Ranking.from_scores(values)
    ids = ranking.ids[start : start + count]
    ranks, names = ranking.rank, agents.names(ids.astype(np.int32))
    return [AgentRow(agent=name, rating=float(values[i]), rank=int(ranks[i])) for name, i in zip(names, ids.tolist(), strict=True)]
