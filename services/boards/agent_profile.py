"""The profile of one agent: its ratings by every method, and the record of its games or scores.

Ratings and ranks come from the store. The record comes from an `AgentIndex`, so it has the position of a checkpoint.
"""

from typing import Final

import msgspec

from services.boards import reading
from services.boards.agent_history import Streak, played
from services.boards.agent_index import AgentIndex, NoIndex, outcomes_of
from services.boards.known_agents import KnownAgents
from services.boards.reading import Board
from services.boards.slice_boards import SliceName, board_name
from services.boards.store.protocol import ACTIVITY, PoolHead
from services.boards.store.redis import RedisStore
from services.control.details import AgentDetails
from services.wire.pools import Kind

_TASKS_LISTED: Final = 10


class MethodRating(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An agent's rating by one method. Fields that the method does not have are absent.

    Attributes:
        source: `live` or `solved`, as on boards.
        rating: Rating of the agent; None if the method cannot rate it.
        rank: Rank of the agent among the settled ones. 1 is best, and equal ratings share a rank. None if the agent is provisional.
        total: Number of agents on the board.
        ranked: Number of settled agents on the board.
        generation: Generation of the pool that the board is of.
        position: Log offset up to which outcomes were counted.
        age_seconds: Seconds since the board was published or solved.
        provisional: Whether there is too little evidence for a rank, as on boards.
        low: Lower end of the rating's interval.
        high: Upper end of this interval.
        rank_low: Best rank in the rank's interval. Whether it holds with a proven probability, `intervals` of the board says.
        rank_high: Worst rank in this interval.
        deviation: Standard deviation of an online method's belief about the agent.
    """

    source: str
    rating: float | None
    rank: int | None
    total: int
    ranked: int
    generation: int
    position: int
    age_seconds: float
    provisional: bool
    low: float | None = None
    high: float | None = None
    rank_low: int | None = None
    rank_high: int | None = None
    deviation: float | None = None


class GamesRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An agent's games at a checkpoint. A game of weight 1 counts 1; games in dropped time buckets are not counted.

    Attributes:
        position: Log offset up to which games were counted.
        age_seconds: Seconds since the checkpoint was written.
        games: All games.
        wins: Games in which the agent's side was alone in first place.
        draws: Games in which the agent's side shared the first place.
        losses: Games in which another side was placed before it.
        team_games: Games of these in which its side had more agents. None in a pool that does not count them (`by_shape` of its
            settings): then `games` are those that the agent played alone.
    """

    position: int
    age_seconds: float
    games: float
    wins: float
    draws: float
    losses: float
    team_games: float | None


class TaskPlace(msgspec.Struct, frozen=True, kw_only=True):
    """An agent on one task.

    Attributes:
        task: Name of the task.
        score: Its mean score there.
        rank: Its rank among the agents with a score on the task; 1 for the highest, and equal scores share a rank.
        agents: Number of these agents.
    """

    task: str
    score: float
    rank: int
    agents: int


class ScoresRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An agent's scores at a checkpoint. Scores in dropped time buckets are not counted.

    Attributes:
        position: Log offset up to which scores were counted.
        age_seconds: Seconds since the checkpoint was written.
        tasks: Number of tasks on which the agent has a score.
        measurements: Number of scores; a score of weight 1 counts 1.
        best: Up to ten tasks with the agent's best places among the agents there, best first.
        worst: Up to ten other tasks with its worst places, worst first.
    """

    position: int
    age_seconds: float
    tasks: int
    measurements: float
    best: list[TaskPlace] = []
    worst: list[TaskPlace] = []


class AgentProfile(msgspec.Struct, frozen=True, kw_only=True):
    """One agent.

    Attributes:
        pool: Name of the pool.
        agent: Name of the agent.
        generation: Generation of the pool.
        position: Log offset up to which outcomes were counted, at least, for live methods and `outcomes`.
        age_seconds: Seconds since this position was published.
        outcomes: Number of outcomes that the agent took part in.
        methods: Method -> the agent's rating.
        games: Record of its games; None in a pool of scores, or if `no_record` says why.
        scores: Record of its scores; None in a pool of games, or if `no_record` says why.
        no_record: Why there is no record; None if there is one.
        first_played: Time of its first outcome in seconds since 1970, as the record at a checkpoint; None if the history of this outcome is
            not kept.
        last_played: Time of its newest outcome; None if its history is not kept.
        streak: Equal results of its newest outcomes; None as for `last_played`.
        details: What is known of the agent besides its games; None if nothing is known.
        slice: Slice of the pool's outcomes that `outcomes`, `methods` and the record count, such as `language:English`. Absent for all
            outcomes. Times and the streak are known of all outcomes only, so a profile in a slice has none.
        slices: Slice, such as `language:English` -> method -> the agent's rating in it. Only slices in which it has a rating.
    """

    pool: str
    agent: str
    generation: int
    position: int
    age_seconds: float
    outcomes: int
    methods: dict[str, MethodRating]
    games: GamesRecord | None
    scores: ScoresRecord | None
    no_record: str | None
    first_played: float | None
    last_played: float | None
    streak: Streak | None
    details: AgentDetails | None = None
    slice: str | msgspec.UnsetType = msgspec.UNSET
    slices: dict[str, dict[str, MethodRating]] = {}


def profile(
    store: RedisStore,
    head: PoolHead,
    index: AgentIndex | NoIndex,
    name: str,
    *,
    now: float,
    known: KnownAgents | None = None,
    part: SliceName | None = None,
) -> AgentProfile | None:
    """The profile of an agent; None if the agent is on no board of the pool or of the slice, or is left out.

    Args:
        store: The store.
        head: Head of the pool.
        index: The index of the pool or the slice, of the generation of `head`; or why it is missing.
        name: Name of the agent.
        now: Seconds since 1970.
        known: What is known of the agents besides their games; None for nothing.
        part: Slice of the pool; None for all outcomes.

    Raises:
        StoreError: The store does not answer.
    """
    if known is not None and known.leaves_out(name):
        return None
    (counted,) = store.live.ratings_of(head, board_name(ACTIVITY, str(part or "")), [name])
    boards = reading.agent(store, head.pool, name, now=now, head=head, part=part)
    if boards is None and counted is None:
        return None
    games, scores, no_record = _record(index, name, now)
    times = played(index, name)
    return AgentProfile(
        pool=head.pool,
        agent=name,
        generation=head.generation,
        position=head.position,
        age_seconds=reading.age(now, head.published_at),
        outcomes=int(counted or 0.0),
        methods={method: _method_rating(board) for method, board in (boards or {}).items()},
        games=games,
        scores=scores,
        no_record=no_record,
        first_played=times.first_played,
        last_played=times.last_played,
        streak=times.streak,
        details=None if known is None else known.details.get(name),
        slice=str(part) if part else msgspec.UNSET,
        slices={
            part: {method: _method_rating(board) for method, board in ratings.items()}
            for part, ratings in reading.agent_slices(store, head, name, now=now).items()
        },
    )


def _method_rating(board: Board) -> MethodRating:
    (row,) = board.rows
    return MethodRating(
        source=board.source,
        rating=row.rating,
        rank=row.rank,
        total=board.total,
        ranked=board.ranked,
        generation=board.generation,
        position=board.position,
        age_seconds=board.age_seconds,
        provisional=row.provisional,
        low=row.low,
        high=row.high,
        rank_low=row.rank_low,
        rank_high=row.rank_high,
        deviation=row.deviation,
    )


def _record(index: AgentIndex | NoIndex, name: str, now: float) -> tuple[GamesRecord | None, ScoresRecord | None, str | None]:
    """The record of an agent's games or scores, or why it is missing."""
    if isinstance(index, NoIndex):
        return None, None, str(index)
    position, age, agent = index.entry.position, reading.age(now, index.written_at), index.find(name)
    if agent is None:
        return None, None, f"the newest checkpoint that was read (position {position}) has no outcome of the agent yet"
    if index.entry.kind == Kind.SCORES:
        tasks, weight = index.measured(agent)
        places = [TaskPlace(**one._asdict()) for one in index.task_scores(agent)]
        worst = places[_TASKS_LISTED:][: -_TASKS_LISTED - 1 : -1]
        measured = float(outcomes_of(weight))
        best = places[:_TASKS_LISTED]
        return None, ScoresRecord(position=position, age_seconds=age, tasks=tasks, measurements=measured, best=best, worst=worst), None
    results = index.results(agent)
    games, wins, draws, losses = (float(outcomes_of(weight)) for weight in (results.games, *results))
    in_teams = index.team_games(agent)
    record = GamesRecord(position=position, age_seconds=age, games=games, wins=wins, draws=draws, losses=losses, team_games=in_teams)
    return record, None, None
