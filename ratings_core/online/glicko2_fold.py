"""The fold of Glicko-2: phases over parts of a batch, so that the equations of many volatilities are solved at a time.

Two agents meet with the values that they had at the start of the period. So the outcomes of a period add to sums, which need no equation.
Only forecasts, and the ratings that a trace shows, need the values after the games so far. A part is a number of consecutive outcomes in
one period. Its phases are:

1. The periods of its agents are opened, and their earlier periods closed.
2. What each side learns from each outcome is computed.
3. The sums of the agents grow, outcome after outcome. The sums before each outcome are kept; with a trace, those after it.
4. Ratings and deviations that follow from the kept sums are computed, `LANES` at a time. With a trace, those before an outcome are those
   after the agent's outcome before it, so each member of an outcome needs one equation.
5. The forecasts are scored, outcome after outcome.

The operations on each number, and their order, are those of one outcome after the other, so the bits are the same.
"""

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratings_core.kernels.compile import inlined, kernel
from ratings_core.kernels.portable import sigmoid
from ratings_core.online.games import UNIT, Scoring, result_of, zero
from ratings_core.online.glicko2_periods import (
    CLOSED_DEVIATION,
    CLOSED_RATING,
    CLOSED_VOLATILITY,
    Model,
    close_lanes,
    closed,
    grown,
    new_lanes,
    put,
    square,
)
from ratings_core.online.prequential import MOST_PAIRS, SCORED_PAIRS, score_games
from ratings_core.online.trace import Tracing
from ratings_core.online.volatility import LANES
from ratings_core.records.games import GameColumns

NEVER: Final = -(2**63)
"""Period of an agent that has not played, and of a state without outcomes."""
_FURTHEST: Final = 30.0
"""Largest log odds; larger ones are cut to it, so that each game has some information and no upset has an unlimited effect."""
THREE_OVER_PI2: Final = 3.0 / (math.pi * math.pi)
_PART_MEMBERS: Final = 1024
"""Largest number of members in a part with more than one outcome. Its arrays then stay in the second-level cache of a core."""

_Floats = NDArray[np.float64]
_Counts = NDArray[np.int64]


class Columns(NamedTuple):
    """The columns of a `GlickoState`, in their order."""

    rating: _Floats
    deviation: _Floats
    volatility: _Floats
    information: _Floats
    surprise: _Floats
    period: _Counts
    outcomes: _Counts


class _Workspace(NamedTuple):
    """Memory for a part. Sides and members are counted from the part's first.

    learnt, missed: by side, sums over its opponents of g**2 E (1 - E) and of g (S - E): 1/v and delta/v of steps 3 and 4.
    mean, variance: by side, of one outcome at a time. information, surprise: by member, sums of the agent before the outcome, with a trace
    after it. solved, width: by member, rating and deviation that follow from them. shown, spread: by member, those before the outcome;
    without a trace, the same arrays as solved and width. odds, results: of pairs that are scored together. lanes, owner, away: agents
    whose periods are to be closed, their ids, and their numbers of complete periods without a game.
    """

    learnt: _Floats
    missed: _Floats
    mean: _Floats
    variance: _Floats
    information: _Floats
    surprise: _Floats
    solved: _Floats
    width: _Floats
    shown: _Floats
    spread: _Floats
    odds: _Floats
    results: _Floats
    lanes: _Floats
    owner: _Counts
    away: _Counts


@inlined
def fold_games(
    columns: Columns, latest: _Floats, clock: _Counts, games: GameColumns, time: _Floats, seconds: float, model: Model, scoring: Scoring,
    trace: Tracing,
) -> None:  # fmt: skip
    """Fold `games` in order. latest: of a `GlickoState`, empty without a trace; clock: int64 (1,), the newest period; seconds: length of a
    period.
    """
    work, first = _workspace(games, trace.wanted), zero()
    while first < len(games.weight):
        clock[0] = max(clock[0], _period(time[first], seconds))
        end = _end_of_part(games, first, time, seconds, clock[0])
        _open_period(columns, latest, clock[0], games, first, end, model, work)
        _learn(columns, games, first, end, model[0], work)
        _play(columns, games, first, end, trace.wanted, work)
        if scoring.wanted:
            _solve(columns, games, first, end, model, work)
            if trace.wanted:
                _follow(latest, games, first, end, trace.after, work)
            _score(games, first, end, model[0], scoring, trace, work)
        first = end


@inlined
def damping(variance: float) -> float:
    """g(phi) of the source: the factor by which an uncertain strength reduces the effect of a difference."""
    return float(1.0 / np.sqrt(1.0 + THREE_OVER_PI2 * variance))


# -- parts


@inlined
def _workspace(games: GameColumns, traced: bool) -> _Workspace:
    members = 0
    for i in range(len(games.weight)):
        members = max(members, games.agent_start[games.side_start[i + 1]] - games.agent_start[games.side_start[i]])
    members = max(members, min(_PART_MEMBERS, len(games.agent)))
    solved, width = np.empty(members), np.empty(members)
    shown, spread = (np.empty(members), np.empty(members)) if traced else (solved, width)
    return _Workspace(
        np.empty(members), np.empty(members), np.empty(members), np.empty(members), np.empty(members), np.empty(members),
        solved, width, shown, spread, np.empty(MOST_PAIRS), np.empty(MOST_PAIRS),
        new_lanes(), np.empty(LANES, np.int64), np.empty(LANES, np.int64),
    )  # fmt: skip


@inlined
def _period(time: float, seconds: float) -> np.int64:
    return np.int64(np.floor(time / seconds))


@inlined
def _end_of_part(games: GameColumns, first: int, time: _Floats, seconds: float, now: int) -> int:
    """Index after the last outcome of the part that begins with outcome `first`. All its outcomes count in the period `now`."""
    most = games.agent_start[games.side_start[first]] + _PART_MEMBERS
    end = first + 1
    while end < len(games.weight) and games.agent_start[games.side_start[end + 1]] <= most and _period(time[end], seconds) <= now:
        end += 1
    return end


# -- 1. periods


@kernel
def _open_period(
    columns: Columns, latest: _Floats, now: int, games: GameColumns, first: int, end: int, model: Model, work: _Workspace
) -> None:
    """Close the earlier periods of the part's agents, and open period `now` for them. With a trace, write their `latest` values."""
    rating, deviation, volatility, information, surprise, period, _ = columns
    lanes, owner, away, used = work.lanes, work.owner, work.away, zero()
    agent = games.agent
    for member in range(games.agent_start[games.side_start[first]], games.agent_start[games.side_start[end]]):
        a = np.int64(agent[member])
        if period[a] == now:
            if len(latest) and np.isnan(latest[2 * a]):
                latest[2 * a], latest[2 * a + 1], _ = closed(rating[a], deviation[a], volatility[a], information[a], surprise[a], model)
            continue
        if period[a] != NEVER:
            put(lanes, used, rating[a], deviation[a], volatility[a], information[a], surprise[a])
            owner[used], away[used] = a, now - period[a] - 1
            used += 1
        elif len(latest):
            latest[2 * a], latest[2 * a + 1] = rating[a], deviation[a]
        period[a] = now
        if used == LANES:
            _close_periods(columns, latest, used, model, lanes, owner, away)
            used = zero()
    _close_periods(columns, latest, used, model, lanes, owner, away)


@inlined
def _close_periods(columns: Columns, latest: _Floats, used: int, model: Model, lanes: _Floats, owner: _Counts, away: _Counts) -> None:
    close_lanes(lanes, used, model)
    rating, deviation, volatility, information, surprise, _, _ = columns
    for i in range(used):
        a = owner[i]
        rating[a], deviation[a], volatility[a] = lanes[CLOSED_RATING + i], lanes[CLOSED_DEVIATION + i], lanes[CLOSED_VOLATILITY + i]
        if away[i] > 0:
            deviation[a] = grown(deviation[a], volatility[a], away[i], model)
        information[a] = surprise[a] = 0.0
        if len(latest):
            latest[2 * a], latest[2 * a + 1] = rating[a], deviation[a]


# -- 2. what sides learn


@kernel
def _learn(columns: Columns, games: GameColumns, first: int, end: int, scale: float, work: _Workspace) -> None:
    """Write what each side learns from each outcome of the part."""
    rating, deviation, agent, place = columns.rating, columns.deviation, games.agent, games.place
    side_start, agent_start, learnt, missed = games.side_start, games.agent_start, work.learnt, work.missed
    origin = side_start[first]
    for i in range(first, end):
        side, n = side_start[i], side_start[i + 1] - side_start[i]
        begin, at = agent_start[side], side - origin
        if n == 2 and agent_start[side + 2] - begin == 2:
            a, b = agent[begin], agent[begin + 1]
            result = result_of(place[side], place[side + 1])
            one, other = square(deviation[a] / scale), square(deviation[b] / scale)
            learnt[at], missed[at] = _learnt(rating[a], rating[b], other, result, scale)
            learnt[at + 1], missed[at + 1] = _learnt(rating[b], rating[a], one, 1.0 - result, scale)
        else:
            _sides(rating, deviation, agent_start, agent, side, n, scale, work.mean, work.variance)
            _learn_all(place, side, n, work.mean, work.variance, scale, at, learnt, missed)


@inlined
def _learn_all(
    place: NDArray[np.int32], first: int, n: int, mean: _Floats, variance: _Floats, scale: float, at: int, learnt: _Floats, missed: _Floats
) -> None:
    for i in range(n):
        learnt[at + i] = missed[at + i] = 0.0
        for j in range(n):
            if i == j:
                continue
            information, surprise = _learnt(mean[i], mean[j], variance[j], result_of(place[first + i], place[first + j]), scale)
            learnt[at + i] += information
            missed[at + i] += surprise


@inlined
def _learnt(mean: float, other: float, variance: float, result: float, scale: float) -> tuple[float, float]:
    """g**2 E (1 - E) and g (S - E) for a side that ended with `result` against one of mean `other` and this variance."""
    damp = damping(variance)
    x = min(max(damp * (mean - other) / scale, -_FURTHEST), _FURTHEST)
    expected = sigmoid(x)
    return damp * damp * (expected * sigmoid(-x)), damp * (result - expected)


@inlined
def _sides(
    rating: _Floats, deviation: _Floats, agent_start: _Counts, agent: NDArray[np.uint32], first: int, n: int, scale: float,
    mean: _Floats, variance: _Floats,
) -> None:  # fmt: skip
    """Write mean (points) and variance (units of scale**2) of the sides' strengths, from the values of each agent."""
    for side in range(n):
        begin, end = agent_start[first + side], agent_start[first + side + 1]
        mean[side] = variance[side] = 0.0
        for member in range(begin, end):
            mean[side] += rating[agent[member]] / (end - begin)
            variance[side] += square(deviation[agent[member]] / scale / (end - begin))


# -- 3. sums


@kernel
def _play(columns: Columns, games: GameColumns, first: int, end: int, traced: bool, work: _Workspace) -> None:
    """Add what sides learnt to the sums of their members, and write the sums before the outcomes, or after them if `traced`."""
    information, surprise, outcomes = columns.information, columns.surprise, columns.outcomes
    side_start, agent_start, agent, learnt, missed = games.side_start, games.agent_start, games.agent, work.learnt, work.missed
    informed, surprised, origin, begin = work.information, work.surprise, side_start[first], agent_start[side_start[first]]
    for i in range(first, end):
        low, high = side_start[i], side_start[i + 1]
        share = games.weight[i] * UNIT * 3.0 / (high - low + 1)
        for side in range(low, high):
            size = agent_start[side + 1] - agent_start[side]
            more, missing = share * learnt[side - origin] / (size * size), share * missed[side - origin] / size
            for member in range(agent_start[side], agent_start[side + 1]):
                a, at = agent[member], member - begin
                informed[at], surprised[at] = information[a], surprise[a]
                information[a] += more
                surprise[a] += missing
                outcomes[a] += 1
                if traced:
                    informed[at], surprised[at] = information[a], surprise[a]


# -- 4. ratings after the games so far


@kernel
def _solve(columns: Columns, games: GameColumns, first: int, end: int, model: Model, work: _Workspace) -> None:
    """Write `solved` and `width` of all members of the part."""
    rating, deviation, volatility, agent = columns.rating, columns.deviation, columns.volatility, games.agent
    lanes, solved, width, informed, surprised = work.lanes, work.solved, work.width, work.information, work.surprise
    begin, finish = games.agent_start[games.side_start[first]], games.agent_start[games.side_start[end]]
    for low in range(0, finish - begin, LANES):
        used = min(LANES, finish - begin - low)
        for i in range(used):
            a = agent[begin + low + i]
            put(lanes, i, rating[a], deviation[a], volatility[a], informed[low + i], surprised[low + i])
        close_lanes(lanes, used, model)
        for i in range(used):
            solved[low + i], width[low + i] = lanes[CLOSED_RATING + i], lanes[CLOSED_DEVIATION + i]


@kernel
def _follow(latest: _Floats, games: GameColumns, first: int, end: int, after: _Floats, work: _Workspace) -> None:
    """Write `shown` and `spread` of all members of the part, and the trace's ratings after the outcomes. latest: as of the last one."""
    agent, solved, width, shown, spread = games.agent, work.solved, work.width, work.shown, work.spread
    begin, finish = games.agent_start[games.side_start[first]], games.agent_start[games.side_start[end]]
    for member in range(begin, finish):
        a, at = np.int64(agent[member]), member - begin
        shown[at], spread[at] = latest[2 * a], latest[2 * a + 1]
        latest[2 * a], latest[2 * a + 1] = solved[at], width[at]
        after[member] = solved[at]


# -- 5. forecasts


@kernel
def _score(games: GameColumns, first: int, end: int, scale: float, scoring: Scoring, trace: Tracing, work: _Workspace) -> None:
    """Score the forecasts of the part, and write its trace."""
    _, counts, sums, rows = scoring
    traced, before, _, expected = trace
    side_start, agent_start, place, shown, spread = games.side_start, games.agent_start, games.place, work.shown, work.spread
    odds, results, scored, pairs = work.odds, work.results, first, zero()
    begin = agent_start[side_start[first]]
    for i in range(first, end):
        side, n = side_start[i], side_start[i + 1] - side_start[i]
        more, at = n * (n - 1) // 2, agent_start[side] - begin
        if pairs and pairs + more > SCORED_PAIRS:
            score_games(counts, sums, rows, odds, results, games.weight, scored, i, traced, side_start, expected)
            scored, pairs = i, zero()
        if n == 2 and agent_start[side + 2] - agent_start[side] == 2:
            variance = square(spread[at] / scale) + square(spread[at + 1] / scale)
            odds[pairs] = damping(variance) * (shown[at] - shown[at + 1]) / scale
            results[pairs] = result_of(place[side], place[side + 1])
        else:
            _strengths(shown, spread, agent_start, begin, side, n, scale, work.mean, work.variance)
            _forecast(place, side, n, work.mean, work.variance, scale, odds, results, pairs)
        pairs += more
    score_games(counts, sums, rows, odds, results, games.weight, scored, end, traced, side_start, expected)
    if traced:
        for member in range(begin, agent_start[side_start[end]]):
            before[member] = shown[member - begin]


@inlined
def _strengths(
    shown: _Floats, spread: _Floats, agent_start: _Counts, begin: int, first: int, n: int, scale: float, mean: _Floats, variance: _Floats
) -> None:
    """As `_sides`, from the values of each member before the outcome."""
    for side in range(n):
        low, high = agent_start[first + side], agent_start[first + side + 1]
        mean[side] = variance[side] = 0.0
        for member in range(low, high):
            mean[side] += shown[member - begin] / (high - low)
            variance[side] += square(spread[member - begin] / scale / (high - low))


@inlined
def _forecast(
    place: NDArray[np.int32], first: int, n: int, mean: _Floats, variance: _Floats, scale: float, odds: _Floats, results: _Floats, pair: int
) -> None:
    """Write log odds and results of an outcome's pairs, from `pair` on."""
    for i in range(n):
        for j in range(i + 1, n):
            odds[pair] = damping(variance[i] + variance[j]) * (mean[i] - mean[j]) / scale
            results[pair] = result_of(place[first + i], place[first + j])
            pair += 1
