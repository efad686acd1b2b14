"""An agent over time: its rating by a method, its outcomes newest first, and its streak."""

import logging
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from itertools import islice
from typing import Final, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from ratings_core.errors import InputError
from ratings_core.records.forecasts import Ties
from ratings_core.records.outcomes import WEIGHT_ONE
from ratings_core.records.roster import UNKNOWN
from ratings_core.records.shapes import Shape
from services.boards import reading
from services.boards.agent_events import AgentEvent, agent_events
from services.boards.agent_index import AgentIndex, NoIndex
from services.boards.cursors import RULE, checksum, place_of, text_of
from services.boards.history import KeptSolve, unpacked
from services.boards.outcome_history import HistoryRow, OutcomeHistoryReader
from services.boards.predictions import has_forecasts
from services.boards.slice_boards import SliceName, board_name
from services.boards.store.protocol import PoolHead
from services.boards.store.redis import RedisStore
from services.checkpoints.objects import BadObject
from services.checkpoints.segments import DRAWN, LOST, WON
from services.control.records import ControlState
from services.wire.pools import Kind

log = logging.getLogger("equirank.boards")
T = TypeVar("T")
_TRIES: Final = 4
RESULTS: Final = {LOST: "lost", DRAWN: "drawn", WON: "won"}
MOST_POINTS: Final = 5000
LEAST_POINTS: Final = 4
"""Each part of a history has up to four points: the first, the last, the lowest and the highest rating."""


class Streak(msgspec.Struct, frozen=True, kw_only=True):
    """Equal results of an agent's newest outcomes.

    Attributes:
        result: `won`: alone in first place; `drawn`: shared the first place; `lost`: another side was placed before it.
        length: Number of outcomes, among those whose history is kept.
    """

    result: str
    length: int


class Played(msgspec.Struct, frozen=True, kw_only=True):
    """When an agent took part in outcomes, at a checkpoint.

    Attributes:
        first_played: Time of its first outcome, in seconds since 1970; None if the history of this outcome is not kept any more.
        last_played: Time of its newest outcome; None if its history is not kept any more.
        streak: Its present streak; None as for `last_played`.
    """

    first_played: float | None
    last_played: float | None
    streak: Streak | None


class HistoryPoint(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A rating at a time. Fields that a point does not have are absent.

    Attributes:
        time: Time of the outcome, or of the solve, in seconds since 1970.
        rating: Rating after the outcome, or by the solve; None if the solve cannot rate the agent.
        low: Lower end of the rating's interval by the solve, if it has one.
        high: Upper end of this interval.
        outcome: Number of the outcome among those of the pool's generation: 1 for the first.
        rank: Rank by the solve; None if the agent was provisional.
        generation: Generation of the pool whose outcomes the solve counted.
        position: Log offset up to which the solve counted outcomes.
    """

    time: float
    rating: float | None
    low: float | None = None
    high: float | None = None
    outcome: int | None = None
    rank: int | None = None
    generation: int | None = None
    position: int | None = None


class AgentHistory(msgspec.Struct, frozen=True, kw_only=True):
    """An agent's rating over time.

    Attributes:
        pool: Name of the pool.
        agent: Name of the agent.
        generation: Generation of the pool.
        position: Log offset up to which outcomes were counted: that of a checkpoint, or of the newest kept solve.
        age_seconds: Seconds since the checkpoint was written, or since this solve.
        method: Method of the ratings.
        source: `live`: a point for each outcome, in the order of the log. `solved`: a point for each kept solve, by time.
        total: Number of points in the requested time, before they were thinned.
        missing: Number of outcomes of the pool whose history should be kept and cannot be read. 0 for solved methods.
        points: The points, oldest first. Of more than the requested number, each of equal parts of the time keeps its first, last, lowest
            and highest point.
        slice: Slice of the pool's outcomes that are counted, such as `language:English`. Absent for all outcomes.
        events: What changed ratings besides outcomes in the requested time, oldest first: the newest 100 generations of the pool that
            readers have seen, without its first one. Absent if the control log was not read.
        events_total: Number of all events in this time. Absent as `events`.
    """

    pool: str
    agent: str
    generation: int
    position: int
    age_seconds: float
    method: str
    source: str
    total: int
    missing: int
    points: list[HistoryPoint]
    slice: str | msgspec.UnsetType = msgspec.UNSET
    events: list[AgentEvent] | msgspec.UnsetType = msgspec.UNSET
    events_total: int | msgspec.UnsetType = msgspec.UNSET


class OutcomeSide(msgspec.Struct, frozen=True, kw_only=True):
    """A side of an outcome. agents: names of its members. place: 1 for the best; sides that tie share a place."""

    agents: list[str]
    place: int


class AgentOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """An outcome of an agent.

    Attributes:
        outcome: Number of the outcome among those of the pool's generation: 1 for the first.
        time: Time of the outcome in seconds since 1970.
        weight: Weight of the outcome.
        score: Score of the agent's side: 1 for a win, 1/2 for a tie and 0 for a loss; with more than two sides, the mean of these against
            the other sides.
        result: `won`, `drawn` or `lost`, as in a streak.
        place: Place of the agent's side.
        team: Other members of its side.
        opponents: The other sides, in the order of the outcome.
        before: Rating before the outcome, by the method of the answer.
        after: Rating after it.
        change: `after` less `before`.
        expected_score: Expected score of the agent's side before the outcome, 0 to 1: the probability to win, where a tie counts a half.
            With more than two sides, its mean against the other sides. None if the pool forecasts no games of this shape: it had too few.
        p_win: Probability of the agent's side to win, before the outcome: `expected_score` less half of `p_tie`. None with more than two
            sides, and where `expected_score` is None.
        p_tie: Probability of a tie, from the shares of ties of all forecasts of this shape up to now. None as `p_win`.
        gain: Rating points for each point by which a score differs from the expected one, at weight 1:
            `change` = `gain` x `weight` x (`score` - `expected_score`). By a method with deviations it falls as the deviation does. For Elo
            it is K if Elo's forecast needs no calibration; otherwise it is K times (`score` less Elo's forecast) over (`score` less
            `expected_score`). None if the score is the expected one, or this is None.
        ids: Only with `ids=true`: the ids by which the outcome was sent, such as for a retraction. Several if outcomes with the same time,
            weight, sides and places were sent, and none if neither archive nor log has the record any more.
    """

    outcome: int
    time: float
    weight: float
    score: float
    result: str
    place: int
    team: list[str]
    opponents: list[OutcomeSide]
    before: float
    after: float
    change: float
    expected_score: float | None
    p_win: float | None
    p_tie: float | None
    gain: float | None
    ids: list[str] | msgspec.UnsetType = msgspec.UNSET


class AgentOutcomes(msgspec.Struct, frozen=True, kw_only=True):
    """An agent's outcomes, newest first in the order of the log.

    Attributes:
        pool: Name of the pool.
        agent: Name of the agent.
        generation: Generation of the pool.
        position: Log offset up to which outcomes were counted: that of a checkpoint.
        age_seconds: Seconds since the checkpoint was written.
        method: Online method of ratings and expected scores.
        total: Number of all outcomes of the agent. Those whose history is not kept are not listed.
        missing: Number of outcomes of the pool whose history should be kept and cannot be read.
        outcomes: The outcomes.
        next: Cursor of the outcomes after these; None at the end.
        slice: Slice of the pool whose outcomes alone are counted, such as `language:English`. Absent for all outcomes.
        display_names: Agent -> its display name, for the agents that are named here. Absent if none of them has one.
    """

    pool: str
    agent: str
    generation: int
    position: int
    age_seconds: float
    method: str
    total: int
    missing: int
    outcomes: list[AgentOutcome]
    next: str | None
    slice: str | msgspec.UnsetType = msgspec.UNSET
    display_names: dict[str, str] | msgspec.UnsetType = msgspec.UNSET


class _OutcomesPlace(msgspec.Struct, frozen=True, array_like=True, tag="outcomes"):
    """Content of a cursor of outcomes: the generation, a checksum of agent and slice, and the last listed outcome."""

    generation: int
    agent: int
    outcome: int


def agent_history(
    store: RedisStore,
    head: PoolHead,
    index: AgentIndex | NoIndex,
    name: str,
    *,
    now: float,
    method: str | None = None,
    since: float | None = None,
    until: float | None = None,
    points: int = 500,
    part: str = "",
) -> AgentHistory | None:
    """An agent's rating over time; None if the pool does not have the agent.

    Args:
        store: The store. Solved ratings come from its kept solves.
        head: Head of the pool.
        index: The index of the pool, or of the slice with its history, of the generation of `head`; or why it is missing. Solved methods do
            not need it.
        name: Name of the agent.
        now: Seconds since 1970.
        method: Online or solved method; None for the pool's first online method.
        since: Only points at or after this time, in seconds since 1970; None for all.
        until: Only points before this time.
        points: Largest number of points, at least `LEAST_POINTS`.
        part: Slice of the pool, such as `language:English`; empty for all outcomes.

    Raises:
        InputError: There is no such method, the pool keeps no history, or the time is empty.
        NoIndex: The method is an online one, and the index is missing.
        StoreError: The store does not answer.
    """
    if since is not None and until is not None and since >= until:
        raise InputError("since, until", (since, until), "must be in order: `since` before `until`")
    if method is not None and method not in head.online:
        return _solved_history(store, head, name, method, now, since, until, points, part)
    at = kept_history(store, head, index, name)
    if at is None:
        return None
    known, agent, history = at
    chosen = online_method(history, method)
    series = read_history(lambda: history.series(agent, _outcomes_of(known, agent), chosen), known)
    low, high = -math.inf if since is None else since, math.inf if until is None else until
    within = np.flatnonzero((series.time >= low) & (series.time < high))
    kept = within[thinned(series.time[within], series.after[within], points)]
    columns = zip(series.time[kept].tolist(), series.after[kept].tolist(), series.outcome[kept].tolist(), strict=True)
    return AgentHistory(
        pool=head.pool,
        agent=name,
        generation=head.generation,
        position=known.entry.position,
        age_seconds=reading.age(now, known.written_at),
        method=chosen,
        source="live",
        total=len(within),
        missing=history.missing,
        points=[HistoryPoint(time=time, rating=rating, outcome=outcome) for time, rating, outcome in columns],
        slice=part or msgspec.UNSET,
    )


def with_events(history: AgentHistory, control: ControlState, since: float | None, until: float | None) -> AgentHistory:
    """The history with the events in the same time. control: State of the control log. since, until: As of `agent_history`."""
    total, newest = agent_events(control, history.pool, history.agent, since, until)
    return msgspec.structs.replace(history, events=newest, events_total=total)


def agent_outcomes(
    store: RedisStore,
    head: PoolHead,
    index: AgentIndex | NoIndex,
    name: str,
    *,
    now: float,
    cursor: str | None = None,
    count: int = 20,
    method: str | None = None,
) -> AgentOutcomes | None:
    """An agent's outcomes, newest first; None if the pool does not have the agent.

    Args:
        store: The store.
        head: Head of the pool.
        index: The index of the pool, or of a slice with its history, of the generation of `head`; or why it is missing.
        name: Name of the agent.
        now: Seconds since 1970.
        cursor: `next` of the answer before; None for the newest outcomes.
        count: Largest number of outcomes.
        method: Online method of ratings and expected scores; None for the pool's first one.

    Raises:
        InputError: There is no such method, the pool keeps no history, or the cursor is not one of this request.
        NoIndex: The index is missing.
        StoreError: The store does not answer.
    """
    place = None if cursor is None else place_of(cursor, _OutcomesPlace)
    part = index.entry.slice if isinstance(index, AgentIndex) else ""
    if place is not None and (place.generation, place.agent) != (head.generation, checksum(name + part)):
        raise InputError("cursor", cursor, RULE)
    at = kept_history(store, head, index, name)
    if at is None:
        return None
    known, agent, history = at
    chosen = online_method(history, method)
    before = None if place is None else place.outcome
    total = _outcomes_of(known, agent)
    ties = cache(partial(_ties, head, chosen))
    rows = read_history(
        lambda: [_outcome(known, row, agent, chosen, ties) for row in islice(history.newest(agent, total, before), count + 1)], known
    )
    last = _OutcomesPlace(head.generation, checksum(name + part), rows[count - 1].outcome) if len(rows) > count else None
    return AgentOutcomes(
        pool=head.pool,
        agent=name,
        generation=head.generation,
        position=known.entry.position,
        age_seconds=reading.age(now, known.written_at),
        method=chosen,
        total=total,
        missing=history.missing,
        outcomes=rows[:count],
        next=None if last is None else text_of(last),
        slice=part or msgspec.UNSET,
    )


def played(index: AgentIndex | NoIndex, name: str) -> Played:
    """When an agent played, and its streak. All fields are None without an index, without history, and if the agent has none."""
    nothing = Played(first_played=None, last_played=None, streak=None)
    if isinstance(index, NoIndex) or index.history is None or (agent := index.find(name)) is None:
        return nothing
    outcomes, history = index.outcomes(agent), index.history

    def read() -> Played:
        newest = next(history.newest(agent, outcomes), None)
        if newest is None:
            return nothing
        streak = history.streak(agent, outcomes)
        oldest = history.oldest(agent, outcomes)
        return Played(
            first_played=None if oldest is None else float(oldest.values["time"]),
            last_played=float(newest.values["time"]),
            streak=None if streak is None else Streak(result=RESULTS[streak[0]], length=streak[1]),
        )

    try:
        return read_history(read, index)
    except NoIndex as error:  # the profile has ratings and ranks nevertheless
        log.warning("%s", error)
        return nothing


def last_played(index: AgentIndex, names: Sequence[str]) -> dict[str, float]:
    """Times of the newest outcomes of agents, by their names, as `OutcomeHistoryReader.last_times`.

    Empty if the pool keeps no history, or it cannot be read now.
    """
    history = index.history
    if history is None:
        return {}
    ids = {agent: name for agent, name in zip(index.ids(names).tolist(), names, strict=True) if agent != UNKNOWN}
    try:
        times = read_history(lambda: history.last_times(ids), index)
    except NoIndex as error:  # the rows have ratings and games nevertheless
        log.warning("%s", error)
        return {}
    return {ids[agent]: time for agent, time in times.items()}


def thinned(time: NDArray[np.float64], value: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """Indices of at most `most` points, ascending, that show the same curve (the aggregation M4, Jugel et al. 2014).

    The time from the earliest to the latest point is divided into equal parts. Of each part, the first, the last, a lowest and a highest
    point are kept.

    Args:
        time: Time of each point, (n,), in any order.
        value: Value of each point, (n,).
        most: Largest number of points, at least `LEAST_POINTS`.
    """
    if len(time) <= most:
        return np.arange(len(time))
    parts, begin = most // LEAST_POINTS, float(time.min())
    width = (float(time.max()) - begin) / parts
    part = np.zeros(len(time), np.int64) if width == 0.0 else np.minimum(((time - begin) / width).astype(np.int64), parts - 1)
    number = np.arange(len(time))
    kept = [_firsts(part, np.lexsort(keys)) for keys in ((number, part), (-number, part), (number, value, part), (number, -value, part))]
    return np.unique(np.concatenate(kept))


def _firsts(part: NDArray[np.int64], order: NDArray[np.intp]) -> NDArray[np.intp]:
    """The first index of each part in an order that has the parts one after the other."""
    ordered = part[order]
    return order[np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))]


def kept_history(
    store: RedisStore, head: PoolHead, index: AgentIndex | NoIndex, name: str
) -> tuple[AgentIndex, int, OutcomeHistoryReader] | None:
    """The index, the agent's id (`UNKNOWN` if it is newer than the checkpoint), and the history; None if the pool has no such agent."""
    if isinstance(index, NoIndex):
        raise NoIndex(str(index), retriable=True)  # not `index` itself: requests share it, and each raise would add to its traceback
    if index.entry.kind != Kind.GAMES:
        raise InputError("pool", head.pool, "must be a pool of games: outcomes with scores have no history")
    agent = index.find(name)
    if agent is None and not store.live.has(head.pool, head.generation, [name])[0]:
        return None
    if index.history is None:
        rule = "must keep its history: its setting `history` is 0, it has no online method, or no outcome came since the upgrade"
        raise InputError("pool", head.pool, rule)
    return index, UNKNOWN if agent is None else agent, index.history


def _outcomes_of(index: AgentIndex, agent: int) -> int:
    """Number of outcomes of an agent at the checkpoint."""
    return 0 if agent == UNKNOWN else index.outcomes(agent)


def online_method(history: OutcomeHistoryReader, method: str | None) -> str:
    """The method of an answer; None asks for the first one. Raises `InputError` for another one than an online method."""
    if method is None:
        return history.methods[0]
    if method not in history.methods:
        raise InputError("method", method[:100], f"must be an online method of the pool: {', '.join(history.methods)}")
    return method


def read_history(read: Callable[[], T], index: AgentIndex) -> T:
    """The result of `read`. A damaged file is left out by the next try. Raises `NoIndex` if the files cannot be read now."""
    try:
        for _ in range(_TRIES):
            with suppress(BadObject):
                return read()
    except OSError as error:
        raise NoIndex(f"the history of pool {index.entry.pool} cannot be read now: {error}", retriable=True) from error
    raise NoIndex(f"several files of the history of pool {index.entry.pool} are damaged", retriable=True)


def _ties(head: PoolHead, method: str, shape: Shape) -> Ties | None:
    """Probabilities of ties of games of a shape by a method; None if it has no forecasts of them."""
    shapes = head.forecasts_by_shape[method].shapes if has_forecasts(head, method, shape) else None
    return None if shapes is None else Ties(shapes[str(shape)].classes)


def _outcome(index: AgentIndex, row: HistoryRow, agent: int, method: str, ties: Callable[[Shape], Ties | None]) -> AgentOutcome:
    """An outcome as answered. ties: As `_ties` of a shape."""
    values = row.values
    sides: dict[int, OutcomeSide] = {}
    for member in row.segment.members(values, agent):
        side = sides.setdefault(member.side, OutcomeSide(agents=[], place=member.place))
        side.agents.append(index.name(member.agent))
    shape = Shape.of([len(side.agents) for side in sides.values()])
    own = sides.pop(int(values["side"]))
    before, after = float(values[f"before.{method}"]), float(values[f"after.{method}"])
    weight, forecasts = int(values["weight"]) / WEIGHT_ONE, ties(shape)
    expected = None if forecasts is None else float(str(values[f"expected.{method}"]))
    score = sum((side.place > own.place) + (side.place == own.place) / 2 for side in sides.values()) / len(sides)
    tie = None if forecasts is None or len(sides) > 1 else float(forecasts.probability(np.array([expected]))[0])
    return AgentOutcome(
        outcome=row.outcome,
        time=float(values["time"]),
        weight=weight,
        score=score,
        result=RESULTS[int(values["result"])],
        place=own.place,
        team=[name for name in own.agents if name != index.name(agent)],
        opponents=list(sides.values()),
        before=before,
        after=after,
        change=after - before,
        expected_score=expected,
        p_win=None if tie is None or expected is None else expected - tie / 2,
        p_tie=tie,
        gain=None if expected is None or score == expected else (after - before) / (weight * (score - expected)),
    )


def _solved_history(
    store: RedisStore, head: PoolHead, name: str, method: str, now: float, since: float | None, until: float | None, points: int, part: str
) -> AgentHistory | None:
    """The agent in each kept solve of a method; None if the pool does not have the agent. Raises `InputError`, `StoreError`."""
    slice_name = SliceName.parsed(part) if part else None
    if method not in (solved := store.solved.methods(head.pool, slice_name)):
        there = ", ".join(solved if part else [*head.online, *solved]) or "none"
        raise InputError(
            "method", method[:100], f"must be a method with a board of {f'slice {part} of ' if part else ''}pool {head.pool}: {there}"
        )
    kept = _kept_solves(store, head.pool, board_name(method, part))
    if not store.live.has(head.pool, head.generation, [name])[0]:
        return None
    low, high = -math.inf if since is None else since, math.inf if until is None else until
    found = [
        HistoryPoint(
            time=solve.past.solved_at,
            rating=row.rating,
            low=row.low,
            high=row.high,
            rank=row.rank,
            generation=solve.past.generation,
            position=solve.past.position,
        )
        for solve in kept
        if solve.past.generation >= head.season_generation  # readers see no solve of a season before
        and low <= solve.past.solved_at < high
        for row in unpacked(solve.rows)
        if row.agent == name
    ]
    listed = sorted(found, key=lambda point: point.time)
    times = np.array([point.time for point in listed])
    values = np.array([math.nan if point.rating is None else point.rating for point in listed])
    newest = kept[0].past if kept else None
    return AgentHistory(
        pool=head.pool,
        agent=name,
        generation=head.generation,
        position=head.position if newest is None else newest.position,
        age_seconds=reading.age(now, head.published_at if newest is None else newest.solved_at),
        method=method,
        source="solved",
        total=len(listed),
        missing=0,
        points=[listed[at] for at in thinned(times, values, points)],
        slice=part or msgspec.UNSET,
    )


def _kept_solves(store: RedisStore, pool: str, method: str) -> list[KeptSolve]:
    """All kept solves of a method, newest first. Raises `StoreError` if solves are published all the time."""
    for _ in range(reading.TRIES):
        history = store.solved.history(pool, method)
        kept = [solve for at in range(len(history)) if (solve := store.solved.past(pool, method, at)) is not None]
        if [solve.past for solve in kept] == history:  # else a solve was published between the reads
            return kept
    raise reading.keeps_changing(pool, method)
