"""Why an agent has its rating by an online method: the changes by its outcomes, by opponent, from the pool's history.

An online rating is the rating before the first outcome plus the change by each outcome. So nothing is solved and nothing is approximated.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ratings_core.errors import InputError
from ratings_core.methods.explained import UnknownAgent
from ratings_core.records.outcomes import WEIGHT_ONE
from ratings_core.records.roster import UNKNOWN
from services.boards.agent_history import kept_history, online_method, read_history
from services.boards.agent_index import AgentIndex, NoIndex
from services.boards.outcome_history import OutcomeHistoryReader
from services.boards.past_contents import NoSlice, PastContents, check_order
from services.boards.slice_boards import board_name, method_of
from services.boards.store.protocol import PoolHead
from services.boards.store.redis import RedisStore
from services.checkpoints.checkpoint import CheckpointStore
from services.checkpoints.segments import DRAWN, DUEL, LOST, WON, Rows, Segment, row_type
from services.control.generations import rater_parameters
from services.control.records import ControlState
from services.solve.problems.serving import PoolAt
from services.solve.why import SINCE, UNTIL, Asked, in_season
from services.solve.why_answers import Why, WhyChange, WhyMove, WhyMovedTerm, WhyState, WhySum, WhyTerm
from services.wire.pools import Kind

_MEANING: Final = (
    "the rating is the rating before the first outcome of the history, plus the change by each outcome; a positive change raised it, and a "
    "negative one lowered it"
)
_START: Final = "rating before the first outcome of the history"
_MISSING: Final = "outcomes whose history is missing"
_ROUNDING: Final = 1e-12
"""Largest error of the sum, as a share of the largest absolute rating and of all changes: each change is a difference of two ratings."""


class _Against(NamedTuple):
    """Outcomes against one opponent, or one set of opponents.

    wins, losses, ties: sums of weights. expected: sum of weights times expected scores. change: sum of the changes of the rating.
    """

    wins: float
    losses: float
    ties: float
    expected: float
    change: float

    @property
    def details(self) -> dict[str, float]:
        """Games, points (a win is 1, a tie 1/2) and expected points."""
        return {"games": self.wins + self.losses + self.ties, "points": self.wins + self.ties / 2, "expected": self.expected}


class _Outcomes(NamedTuple):
    """Outcomes of the agent, oldest first: number in the pool's generation (k,), row of `row_type` (k,), and its segment (k,)."""

    number: NDArray[np.int64]
    rows: Rows
    segments: Sequence[Segment]

    def cut(self, kept: NDArray[np.bool_]) -> "_Outcomes":
        """Some of the outcomes."""
        return _Outcomes(self.number[kept], self.rows[kept], [self.segments[at] for at in np.flatnonzero(kept).tolist()])


class _Counted(NamedTuple):
    """Number of outcomes of the pool, or of the slice, that are counted at a position."""

    position: int
    outcomes: int


def _counted(read: Callable[[], PoolAt]) -> _Counted:
    """What is counted at a moment that `read` reads: nothing if the slice had no outcome yet. Raises as `in_season`."""
    try:
        entry = read().entry
    except NoSlice as error:
        return _Counted(error.position, 0)
    return _Counted(entry.position, entry.outcomes)


def _earlier(then: _Counted, newest: _Counted) -> _Counted:
    """The state with fewer outcomes: the index can be older than the moment."""
    return min(then, newest, key=lambda state: state.outcomes)


def why_live(
    files: CheckpointStore, store: RedisStore, head: PoolHead, index: AgentIndex | NoIndex, method: str, asked: Asked,
    contents: PastContents | None = None, control: ControlState | None = None,
) -> Why:  # fmt: skip
    """Explain the rating of an agent by an online method.

    Args:
        files: The checkpoints.
        store: The store; it knows whether an agent exists that is in no checkpoint.
        head: Head of the pool.
        index: The index of the pool, or of a slice with its history, of the generation of `head`; or why it is missing.
        method: An online method of the pool.
        asked: What is asked.
        contents: Folds pools again up to positions of the request; None takes kept checkpoints instead.
        control: State of the control log, which has the method's parameters and knows the season; None leaves them out, and does not
            check that moments are in the season.

    Returns:
        The explanation at the newest checkpoint, or at `until`.

    Raises:
        UnknownAgent: The pool has no such agent at the newest checkpoint.
        InputError: The history has no outcome of the agent at the position, flips are asked for, `since` is after `until`, or the pool
            keeps no history.
        OtherSeason: `since` or `until` is before the present season.
        NoIndex: The index is missing, or the history cannot be read now.
        NoOutcomes: The pool had no outcome at `until`.
        NotKept: A position is before all kept checkpoints, and the pool cannot be folded again.
        StillFolding, LogError: As of `PastContents`.
        NoCheckpoint: A checkpoint cannot be read now.
        StoreError: The store does not answer.
    """
    begun = time.perf_counter()
    if asked.flips:
        raise InputError(
            "method", method, "must be a solved method for flips: by an online one, all ratings after a left out outcome are others"
        )
    check_order(asked.since, asked.until)
    kept = kept_history(store, head, index, asked.agent)
    if kept is None or kept[1] == UNKNOWN:
        raise UnknownAgent("agent", asked.agent, f"must be an agent of pool {head.pool} at its newest checkpoint")
    known, agent, history = kept
    online_method(history, method)
    part = known.entry.slice
    at = partial(in_season, files, head, contents=contents, part=part, control=control)
    newest = _Counted(known.entry.position, known.entry.outcomes)
    if asked.until is not None:
        newest = _earlier(_counted(partial(at, asked.until, names=UNTIL)), newest)
    outcomes = read_history(lambda: _outcomes(history, agent, known.outcomes(agent)), known)
    outcomes = outcomes.cut(outcomes.number <= newest.outcomes)
    if not len(outcomes.rows):
        raise _without_outcomes(asked, head.pool, known.outcomes(agent))
    start, rating = float(outcomes.rows[f"before.{method}"][0]), float(outcomes.rows[f"after.{method}"][-1])
    against = read_history(lambda: _by_opponent(known, agent, method, outcomes), known)
    jumps = _jumps(outcomes, method)
    rest = {_START: start} | ({_MISSING: jumps} if jumps else {})
    change = None
    if asked.since is not None:
        earlier = _earlier(_counted(partial(at, asked.since, names=SINCE, begun=False)), newest)
        newer = outcomes.cut(outcomes.number > earlier.outcomes)
        before = float(newer.rows[f"before.{method}"][0]) if len(newer.rows) else rating
        recent = read_history(lambda: _by_opponent(known, agent, method, newer), known)
        change = WhyChange(
            before=WhyState(position=earlier.position, outcomes=earlier.outcomes, rating=before, rank=None),
            after=WhyState(position=newest.position, outcomes=newest.outcomes, rating=rating, rank=None),
            outcomes=newest.outcomes - earlier.outcomes,
            moved_terms=_moved(against, recent, asked.count),
            joined_effect=_jumps(newer, method),
            **_moves(asked.agent, recent, asked.count),
        )
    return Why(
        pool=head.pool,
        method=method,
        agent=asked.agent,
        generation=known.entry.generation,
        position=newest.position,
        outcomes=newest.outcomes,
        rating=rating,
        rank=None,
        agents=len(known),
        margins=None,
        sums=[_sum(against, rest, rating, asked.count)],
        parameters=_parameters(control, head, method),
        deviation=_deviation(store, head, board_name(method, part), asked.agent),
        change=change,
        missing=history.missing,
        seconds=time.perf_counter() - begun,
        slice=part or msgspec.UNSET,
    )


def _parameters(control: ControlState | None, head: PoolHead, method: str) -> dict[str, float | str | bool] | msgspec.UnsetType:
    """The method's parameters in the generation of `head`; unset if they are not known."""
    known = None if control is None else rater_parameters(control, head.pool, head.generation, Kind(head.kind), method)
    return msgspec.UNSET if known is None else {**known}


def _deviation(store: RedisStore, head: PoolHead, board: str, agent: str) -> float | None:
    """The agent's deviation on a live board; None for a method without deviations, or an agent that is not on it. Raises `StoreError`."""
    if head.beliefs.get(method_of(board)) is None:
        return None
    (strength,) = store.live.strengths(head, board, [agent])
    return None if strength is None else strength.deviation


def _without_outcomes(asked: Asked, pool: str, outcomes: int) -> InputError:
    """The error for an agent without an outcome to explain. outcomes: Number of its outcomes at the newest checkpoint."""
    by = "" if asked.until is None else f" that the log took by {asked.until}" if asked.until.position is None else f" before {asked.until}"
    late = "" if asked.until is None else f", or they are later than {asked.until}"
    why = f"the history of its {outcomes} outcomes is not kept{late}" if outcomes else "its rating is the one it began with"
    return InputError("agent", asked.agent, f"must have an outcome in the history of pool {pool}{by}; {why}")


def _outcomes(history: OutcomeHistoryReader, agent: int, outcomes: int) -> _Outcomes:
    """All kept outcomes of an agent. Raises `BadObject`, `OSError`."""
    parts = list(history.parts(agent, outcomes))
    rows = np.concatenate([rows for _, rows in parts]) if parts else np.zeros(0, row_type(history.methods))
    first = np.repeat([segment.first for segment, _ in parts], [len(rows) for _, rows in parts]).astype(np.int64)
    return _Outcomes(first + rows["outcome"] + 1, rows, [segment for segment, rows in parts for _ in range(len(rows))])


def _by_opponent(index: AgentIndex, agent: int, method: str, outcomes: _Outcomes) -> dict[str, _Against]:
    """The outcomes by opponent, largest change first. Opponents of a game with more than two agents are one set, named by all of them."""
    sets, of = _opponents(outcomes, agent)
    rows = outcomes.rows
    weight, result = rows["weight"] / WEIGHT_ONE, rows["result"]
    columns = (
        weight * (result == WON),
        weight * (result == LOST),
        weight * (result == DRAWN),
        weight * rows[f"expected.{method}"],
        rows[f"after.{method}"] - rows[f"before.{method}"],
    )
    sums = np.array([np.bincount(of, column, len(sets)) for column in columns])
    order = np.argsort(-np.abs(sums[-1]), kind="stable").tolist()
    return {", ".join(map(index.name, sets[at])): _Against(*sums[:, at].tolist()) for at in order}


def _opponents(outcomes: _Outcomes, agent: int) -> tuple[list[tuple[int, ...]], NDArray[np.int64]]:
    """The sets of opponents, as ascending ids, and the index of the set of each outcome (k,). Raises `BadObject`, `OSError`."""
    rows, numbers = outcomes.rows, dict[tuple[int, ...], int]()
    of = np.zeros(len(rows), np.int64)
    duels = rows["agents"] == DUEL
    singles, of[duels] = np.unique(rows["other"][duels], return_inverse=True)
    numbers.update({(other,): at for at, other in enumerate(singles.tolist())})
    for at in np.flatnonzero(~duels).tolist():
        members = outcomes.segments[at].members(rows[at], agent)
        key = tuple(sorted(member.agent for member in members if member.side != rows["side"][at]))
        of[at] = numbers.setdefault(key, len(numbers))
    return list(numbers), of


def _jumps(outcomes: _Outcomes, method: str) -> float:
    """Sum of the changes of the rating between outcomes that follow each other in the history. Only missing outcomes make them."""
    return float((outcomes.rows[f"before.{method}"][1:] - outcomes.rows[f"after.{method}"][:-1]).sum())


def _sum(against: Mapping[str, _Against], rest: dict[str, float], rating: float, count: int) -> WhySum:
    changes = [one.change for one in against.values()]
    size = sum(map(abs, changes))
    listed = [
        WhyTerm(name=name, value=one.change, share=one.change / size if size else 0.0, details=one.details)
        for name, one in list(against.items())[:count]
    ]
    return WhySum(
        by="opponent",
        quantity="change",
        meaning=_MEANING,
        total=rating,
        sum=sum(rest.values()) + sum(changes),
        allowed=_ROUNDING * (size + sum(map(abs, rest.values())) + abs(rating)),
        rest=rest,
        terms=listed,
        others=len(changes) - len(listed),
        others_sum=sum(changes[len(listed) :]),
    )


def _moved(against: Mapping[str, _Against], recent: Mapping[str, _Against], count: int) -> list[WhyMovedTerm]:
    """The terms that changed most since the earlier position."""
    return [
        WhyMovedTerm(by="opponent", name=name, before=against[name].change - one.change, after=against[name].change)
        for name, one in list(recent.items())[:count]
    ]


def _moves(agent: str, recent: Mapping[str, _Against], count: int) -> dict[str, Any]:
    """Fields of `WhyChange` about new results."""
    moves = [
        WhyMove(agent=agent, opponent=name, wins=one.wins, losses=one.losses, ties=one.ties, effect=one.change)
        for name, one in recent.items()
    ]
    others = moves[count:]
    return {
        "moves": moves[:count],
        "other_moves": len(others),
        "other_effect": sum(move.effect for move in others),
        "no_moves": None,
    }
