"""History of a solved board: its kept solves in a compact form, and the difference between two solves or two past live boards.

`services.solve.results.publish_result` makes the compact form of result files and publishes it. Readers of the store compute differences.
"""

import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

from services.boards.result import AgentRow, Basis, CertificateRow, SolvedBoard

ROWS: Final = 10_000
"""Number of best rows that the compact form of a solve keeps."""

_LEVEL: Final = 1
"""Level of zlib. Level 6 takes five times as long for 9 % fewer bytes, and a history that is written again has up to 67 solves."""

_SHOWN: Final = 1e-6
"""A rating changed if it moved by more than this share of the largest absolute rating of both solves. Boards show six digits, and solves of
equal data end at slightly different numbers."""

Value = float | str | bool


class Past(Basis, frozen=True, kw_only=True):
    """One kept solve. total: Number of agents on its board. ranked: Number of those with a rank; None if evidence was not considered."""

    certificate: CertificateRow
    status: str
    seconds: float
    total: int
    ranked: int | None = None
    reason: str | None = None


class PastRow(msgspec.Struct, frozen=True, array_like=True):
    """A row of a kept solve.

    rank: None for a provisional agent. rank_low, rank_high, low, high: Ends of the intervals of rank and rating on the board then; None for
    none.
    """

    agent: str
    rating: float | None
    rank: int | None
    rank_low: int | None = None
    rank_high: int | None = None
    low: float | None = None
    high: float | None = None


class KeptSolve(msgspec.Struct, frozen=True):
    """A kept solve with its best rows. rows: The rows as JSON, compressed and encoded in base64 (`unpacked` decodes them)."""

    past: Past
    rows: str


class KeptRows(NamedTuple):
    """The best rows of a board as they are compared, at most `ROWS`, and what they were computed from."""

    past: Past
    rows: Sequence[PastRow]


class Cause(StrEnum):
    """Why two solves of a method may differ."""

    OUTCOMES = "outcomes"
    """The counted outcomes differ. Another generation can count others of the same number; then only `generation` is named."""
    GENERATION = "generation"
    """The generations differ: the pool is folded with other settings, or without retracted outcomes."""
    ROSTER = "roster"
    """The rated agents differ."""
    PARAMETERS = "parameters"
    VERSION = "version"
    """The versions of Equirank that solved differ."""


class Moved(msgspec.Struct, frozen=True, kw_only=True):
    """An agent that both boards rate, with a different rank or a rating that differs by more than a millionth of the largest one.

    Attributes:
        agent: Name of the agent.
        rank: Rank in the later solve; None if the agent is provisional there.
        rating: Rating in the later solve.
        rank_before: Rank in the earlier solve; None if the agent is provisional there, or below the rows that were kept of it.
        rating_before: Rating in the earlier solve.
    """

    agent: str
    rank: int | None
    rating: float | None
    rank_before: int | None
    rating_before: float | None


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """What changed from one solve to a later one, and why. Each list holds the first few agents; its count includes all of them.

    Live boards of an online method are compared in the same form: `solve` then means the fold up to a position. It has no certificate.

    Attributes:
        pool: Name of the pool.
        method: Name of the method.
        before: The earlier solve.
        after: The later solve.
        because: What differs between the two solves that can change a rating; empty if nothing does.
        outcomes: Number of outcomes in the later solve less the number in the earlier one.
        parameters: Name -> earlier and later value of each changed parameter. None stands for the default.
        joined_count: Number of agents in `joined`, including those not listed.
        left_count: Number of agents in `left`, including those not listed.
        moved_count: Number of agents in `moved`, including those not listed.
        joined: Agents that only the later solve rates.
        left: Agents that only the earlier solve rates.
        moved: Agents whose rank changed, or whose rating changed by more than a millionth of the largest absolute rating of both solves;
            largest change first.
        compared: Number of best rows of each solve that were compared.
        slice: Slice of the pool's outcomes that was solved, such as `language:English`. Absent if all outcomes were.
    """

    pool: str
    method: str
    before: Past
    after: Past
    because: list[Cause]
    outcomes: int
    parameters: dict[str, tuple[Value | None, Value | None]]
    joined_count: int
    left_count: int
    moved_count: int
    joined: list[AgentRow]
    left: list[AgentRow]
    moved: list[Moved]
    slice: str | msgspec.UnsetType = msgspec.UNSET
    compared: int = ROWS


def kept(board: SolvedBoard) -> KeptSolve:
    """The compact form of a result."""
    result = board.result
    past = Past(
        **{name: getattr(board, name) for name in Basis.__struct_fields__},
        certificate=result.certificate,
        status=result.status,
        seconds=result.seconds,
        total=len(result.agents) if board.total is msgspec.UNSET else board.total,
        ranked=None if result.ranked is msgspec.UNSET else result.ranked,
        reason=None if result.reason is msgspec.UNSET else result.reason,
    )
    rows = [PastRow(row.agent, row.rating, row.rank, row.rank_low, row.rank_high, row.low, row.high) for row in result.agents[:ROWS]]
    return KeptSolve(past, _packed(rows))


def shortened(solve: KeptSolve) -> KeptSolve:
    """A kept solve as it is beyond the newest few: its rows have agent, rating and rank only, which takes half of the bytes."""
    rows = unpacked(solve.rows)
    short = [PastRow(row.agent, row.rating, row.rank) for row in rows]
    return solve if short == rows else KeptSolve(solve.past, _packed(short))


def _packed(rows: Sequence[PastRow]) -> str:
    return b64encode(zlib.compress(msgspec.json.encode(rows), _LEVEL)).decode()


def unpacked(rows: str) -> list[PastRow]:
    """The rows of a compact form."""
    return msgspec.json.decode(zlib.decompress(b64decode(rows)), type=list[PastRow])


def renamed(solve: KeptSolve, name: Callable[[str], str]) -> KeptSolve:
    """A kept solve with renamed agents. name: Returns the new name of an agent."""
    rows = unpacked(solve.rows)
    changed = [msgspec.structs.replace(row, agent=name(row.agent)) for row in rows]
    return solve if changed == rows else KeptSolve(solve.past, _packed(changed))


def difference(pool: str, method: str, before: KeptSolve, after: KeptSolve, count: int, part: str = "") -> Difference:
    """The difference from the solve `before` to the solve `after`.

    count: Largest number of agents in each list. part: Slice that was solved; empty for all outcomes.
    """
    old, new = (KeptRows(solve.past, unpacked(solve.rows)) for solve in (before, after))
    return difference_of_rows(pool, method, old, new, count, part)


def difference_of_rows(pool: str, method: str, before: KeptRows, after: KeptRows, count: int, part: str = "") -> Difference:
    """The difference from the rows `before` to the rows `after`. count, part: As of `difference`."""
    old, new = ({row.agent: row for row in one.rows} for one in (before, after))
    joined = [row for agent, row in new.items() if agent not in old] if before.past.total <= ROWS else []
    left = [row for agent, row in old.items() if agent not in new] if after.past.total <= ROWS else []
    moved = _moved(old, new, cut=before.past.total > ROWS)
    roster = bool(joined or left) or before.past.total != after.past.total
    return Difference(
        pool=pool,
        method=method,
        before=before.past,
        after=after.past,
        because=_because(before.past, after.past, roster=roster, moved=bool(moved)),
        outcomes=after.past.outcomes - before.past.outcomes,
        parameters=_changed(before.past.parameters, after.past.parameters),
        joined_count=len(joined),
        left_count=len(left),
        moved_count=len(moved),
        joined=_rows(joined[:count]),
        left=_rows(left[:count]),
        moved=moved[:count],
        slice=part or msgspec.UNSET,
    )


def _moved(old: Mapping[str, PastRow], new: Mapping[str, PastRow], *, cut: bool) -> list[Moved]:
    """Agents whose rank or rating changed, largest change first.

    cut: Whether the earlier solve kept only its best rows. Agents that are not among these rows are then included.
    """
    moved, least = [], _SHOWN * max((abs(row.rating or 0.0) for rows in (old, new) for row in rows.values()), default=0.0)
    for agent, row in new.items():
        rank, rating = (old[agent].rank, old[agent].rating) if agent in old else (None, None)
        if (agent in old or cut) and (rank != row.rank or _differ(rating, row.rating, least)):
            moved.append(Moved(agent=agent, rank=row.rank, rating=row.rating, rank_before=rank, rating_before=rating))
    return sorted(moved, key=_largest_change_first)


def _differ(rating: float | None, other: float | None, least: float) -> bool:
    """Whether two ratings differ by more than `least`, or only one of them is known."""
    return (rating is None) != (other is None) or abs((rating or 0.0) - (other or 0.0)) > least


def _largest_change_first(moved: Moved) -> tuple[float, float, str]:
    now, before = (ROWS + 1 if rank is None else rank for rank in (moved.rank, moved.rank_before))
    ranks = abs(now - before)
    return -ranks, -abs((moved.rating or 0.0) - (moved.rating_before or 0.0)), moved.agent


def _because(before: Past, after: Past, *, roster: bool, moved: bool) -> list[Cause]:
    """Causes of a difference. roster: Whether agents joined or left. moved: Whether ranks or ratings changed."""
    new_generation = before.generation != after.generation
    # Equal numbers of outcomes are equal outcomes of one generation, unless its records were lost and folded again. The digest of the data
    # alone does not show it: it also covers duplicates, and in another generation the ratings by its settings.
    folded_again = before.data != after.data and not new_generation and (roster or moved)
    causes = {
        Cause.OUTCOMES: before.outcomes != after.outcomes or folded_again,
        Cause.GENERATION: new_generation,
        Cause.ROSTER: roster,
        Cause.PARAMETERS: before.parameters != after.parameters,
        Cause.VERSION: before.version != after.version,
    }
    return [cause for cause, holds in causes.items() if holds]


def _changed(before: Mapping[str, Value], after: Mapping[str, Value]) -> dict[str, tuple[Value | None, Value | None]]:
    names = sorted(before.keys() | after.keys())
    return {name: (before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)}


def _rows(rows: Sequence[PastRow]) -> list[AgentRow]:
    return [AgentRow(agent=row.agent, rating=row.rating, rank=row.rank, provisional=row.rank is None) for row in rows]
