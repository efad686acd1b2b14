"""Types of the bodies and answers of the API. An optional field that an answer lacks has its default, in most cases None."""

# Written by `make docs` from the OpenAPI document; a test compares.

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec


BoardFormat: TypeAlias = Literal['json', 'csv', 'jsonl', 'arrow', 'parquet']


Cause: TypeAlias = Literal['outcomes', 'generation', 'roster', 'parameters', 'version']


Change: TypeAlias = Literal['season', 'start', 'settings', 'initial', 'retractions', 'aliases', 'bans', 'erasures', 'version']


Format: TypeAlias = Literal['parquet', 'csv', 'jsonl']


OutcomesFormat: TypeAlias = Literal['json', 'jsonl']


OwnChange: TypeAlias = Literal['banned', 'unbanned', 'aliases', 'initial']


SeasonStatus: TypeAlias = Literal['requested', 'starting', 'running', 'ended', 'closed']


ShownProvisional: TypeAlias = Literal['include', 'exclude', 'only']


class Accepted(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""Outcomes that were written to the log.

    Attributes:
        accepted: Number of outcomes and retractions.
        ids: Their ids in the order of the request, as sent or as generated.
        positions: Pool -> position. A board counts the outcomes when its `position` is at least this value.
        note: When retractions take effect; absent without retractions.
    """

    accepted: int
    ids: list[str]
    positions: dict[str, int]
    note: str = ''


class AgentChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""A change of the details of one agent.

    Attributes:
        display_name: As in `AgentDetails`.
        country: As in `AgentDetails`.
        organisation: As in `AgentDetails`.
        tags: As in `DetailsChange`.
        licence: As in `AgentDetails`.
        url: As in `AgentDetails`.
        hidden: As in `AgentDetails`; null is false.
        agent: Name of the agent.
    """

    display_name: str | None = None
    country: str | None = None
    organisation: str | None = None
    tags: dict[str, str | None] | None = None
    licence: str | None = None
    url: str | None = None
    hidden: bool | None = None
    agent: str


class AgentDetails(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""What is known of an agent besides its games. Absent fields are not known.

    Attributes:
        display_name: Name to show in place of the agent's name. Several agents may have one.
        country: ISO 3166-1 alpha-2 code, such as `DE`.
        organisation: Organisation behind the agent.
        tags: Key -> value, at most 16. A key is a-z 0-9 _ -, starting with a letter, at most 32 characters.
        licence: Licence of the agent, such as `Apache-2.0`.
        url: Address of a page about the agent: http or https.
        hidden: Whether boards, search and streams leave the agent out. Its ranks and those of others do not change.
    """

    display_name: str | None = None
    country: str | None = None
    organisation: str | None = None
    tags: dict[str, str] = {}
    licence: str | None = None
    url: str | None = None
    hidden: bool = False


class AgentEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""A generation of the pool: all outcomes were counted again by other rules, or a season began.

    Attributes:
        time: When the generation was made, in seconds since 1970. Readers see it once its outcomes are counted, mostly seconds later.
        generation: Number of the generation.
        changes: What differs from the generation that readers saw before; empty if it counts the outcomes again by the same rules.
        season: Name of the season that it begins. Absent if it continues one.
        own: What differs for this agent; absent if nothing does. Which outcomes were retracted is known for the pool alone.
    """

    time: float
    generation: int
    changes: list[Change]
    season: str | None = None
    own: list[OwnChange] = []


class AgentHistory(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""An agent's rating over time.

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
        points: The points, oldest first. Of more than the requested number, each of equal parts of the time keeps its first, last, lowest and highest point.
        slice: Slice of the pool's outcomes that are counted, such as `language:English`. Absent for all outcomes.
        events: What changed ratings besides outcomes in the requested time, oldest first: the newest 100 generations of the pool that readers have seen, without its first one. Absent if the control log was not read.
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
    slice: str | None = None
    events: list[AgentEvent] = []
    events_total: int | None = None


class AgentList(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""Agents of a pool: equal names, then names that begin with the query, then names that contain it, each with most outcomes first.

Agents whose display name matches in one of these ways, and whose name does not, follow in the same order.

    Attributes:
        pool: Name of the pool.
        generation: Generation of the pool.
        position: Log offset up to which outcomes were counted, at least, for ratings and numbers of outcomes.
        names_position: Position of the checkpoint that was searched, and by whose numbers of outcomes the agents are ordered. A newer agent is found by its exact name. None if there is no checkpoint that can be read: then only an exact name is found, or without a query the agents with most outcomes, and `next` is None.
        method: Method of the ratings and ranks; None if the pool has no board of a method yet.
        total: Number of all agents of the pool, or of the slice.
        agents: The agents.
        next: Cursor of the agents after these; None at the end.
        suggestions: If nothing is found, the nearest names, at most five: those with one edit, then those of which a beginning has one edit, then those with two. An edit inserts, removes or replaces a character, or swaps two.
        slice: Slice of the pool whose agents, outcomes and ratings these are, such as `language:English`. Absent for all outcomes.
    """

    pool: str
    generation: int
    position: int
    names_position: int | None
    method: str | None
    total: int
    agents: list[FoundAgent]
    next: str | None
    suggestions: list[str]
    slice: str | None = None


class AgentOutcome(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""An outcome of an agent.

    Attributes:
        outcome: Number of the outcome among those of the pool's generation: 1 for the first.
        time: Time of the outcome in seconds since 1970.
        weight: Weight of the outcome.
        score: Score of the agent's side: 1 for a win, 1/2 for a tie and 0 for a loss; with more than two sides, the mean of these against the other sides.
        result: `won`, `drawn` or `lost`, as in a streak.
        place: Place of the agent's side.
        team: Other members of its side.
        opponents: The other sides, in the order of the outcome.
        before: Rating before the outcome, by the method of the answer.
        after: Rating after it.
        change: `after` less `before`.
        expected_score: Expected score of the agent's side before the outcome, 0 to 1: the probability to win, where a tie counts a half. With more than two sides, its mean against the other sides. None if the pool forecasts no games of this shape: it had too few.
        p_win: Probability of the agent's side to win, before the outcome: `expected_score` less half of `p_tie`. None with more than two sides, and where `expected_score` is None.
        p_tie: Probability of a tie, from the shares of ties of all forecasts of this shape up to now. None as `p_win`.
        gain: Rating points for each point by which a score differs from the expected one, at weight 1: `change` = `gain` x `weight` x (`score` - `expected_score`). By a method with deviations it falls as the deviation does. For Elo it is K if Elo's forecast needs no calibration; otherwise it is K times (`score` less Elo's forecast) over (`score` less `expected_score`). None if the score is the expected one, or this is None.
        ids: Only with `ids=true`: the ids by which the outcome was sent, such as for a retraction. Several if outcomes with the same time, weight, sides and places were sent, and none if neither archive nor log has the record any more.
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
    ids: list[str] = []


class AgentOutcomes(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""An agent's outcomes, newest first in the order of the log.

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
    slice: str | None = None
    display_names: dict[str, str] = {}


class AgentProfile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""One agent.

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
        first_played: Time of its first outcome in seconds since 1970, as the record at a checkpoint; None if the history of this outcome is not kept.
        last_played: Time of its newest outcome; None if its history is not kept.
        streak: Equal results of its newest outcomes; None as for `last_played`.
        details: What is known of the agent besides its games; None if nothing is known.
        slice: Slice of the pool's outcomes that `outcomes`, `methods` and the record count, such as `language:English`. Absent for all outcomes. Times and the streak are known of all outcomes only, so a profile in a slice has none.
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
    slice: str | None = None
    slices: dict[str, dict[str, MethodRating]] = {}


class AgentRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""One row of a board.

    Attributes:
        agent: Name of the agent.
        rating: Rating of the agent; None if the method cannot rate it.
        rank: Rank of the agent among the settled ones. 1 is best, and equal ratings share a rank. None if the agent is provisional.
        low: Lower end of the rating's interval, if one was computed.
        high: Upper end of this interval.
        deviation: Standard deviation of an online method's belief about the agent, at the pool time. Only for methods with beliefs.
        rank_before: Rank in the previous solve; absent for an agent that had none, and on live boards.
        earlier_rank: Rank at the time of the board's `earlier`. Only on solved boards in JSON; absent if the solve of then does not rank the agent, or kept only rows above it.
        earlier_rating: Rating at this time. Absent as `earlier_rank`; on live boards, if the agent has no outcome among the pool's newest half a million duels, and until a checkpoint has all its outcomes up to this time.
        rank_low: Best rank in the rank's interval, if one was computed. With the probability `level` of `intervals`, all ranks of the board are within their intervals at once, unless `proven` of `intervals` is false.
        rank_high: Worst rank in this interval.
        provisional: Whether there is too little evidence for a rank: the agent has few outcomes, or on solved boards few opponents. Provisional agents follow the settled ones.
        outcomes: Number of all outcomes of the agent in the generation, also older ones than the pool keeps. Absent on past boards.
        opponents: Number of other agents that it met in the games that the solve counted. Only on solved boards of pools of games.
        display_name: Name to show in place of the agent's name. This and the following fields are absent where they are not known.
        country: ISO 3166-1 alpha-2 code.
        organisation: Organisation behind the agent.
        licence: Licence of the agent, such as `Apache-2.0`.
        tags: Key -> value.
        games: Its games up to `games_position` of the board; a game of weight 2 counts 2. Games in teams are included if the pool's setting `by_shape` is on.
        wins: Games in which its side was alone in first place.
        draws: Games in which its side shared the first place.
        losses: Games in which another side was placed before it.
        last_played: Time of its newest outcome up to `games_position`, in seconds since 1970. Absent if this outcome is older than the newest half a million duels of the pool, or its history is not kept.
        filter_place: Place among the agents that match the filters of the request, 1 for the best. Equal ratings have different places.
    """

    agent: str
    rating: float | None
    rank: int | None
    low: float | None = None
    high: float | None = None
    deviation: float | None = None
    rank_before: int | None = None
    earlier_rank: int | None = None
    earlier_rating: float | None = None
    rank_low: int | None = None
    rank_high: int | None = None
    provisional: bool = False
    outcomes: int | None = None
    opponents: int | None = None
    display_name: str | None = None
    country: str | None = None
    organisation: str | None = None
    licence: str | None = None
    tags: dict[str, str] = {}
    games: float | None = None
    wins: float | None = None
    draws: float | None = None
    losses: float | None = None
    last_played: float | None = None
    filter_place: int | None = None


class AgentsChanged(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""A change of the details of many agents.

    Attributes:
        pool: Name of the pool.
        agents: Number of agents in the request.
        changed: Number of agents whose details differ from what was known.
    """

    pool: str
    agents: int
    changed: int


class BeliefModel(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""The object `BeliefModel`."""

    newcomer: float
    below: float = 0.0
    period_seconds: float | None = None
    start: float = 0.0
    logit: float = 1.0
    stretch: Any = msgspec.field(default_factory=lambda: [0.0, 0.0, 0.0, 0.0])


class Board(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""Rows of one board, best first: settled agents with their ranks, then provisional agents without one.

    Attributes:
        pool: Name of the pool.
        method: Name of the method.
        source: `live`: each agent's value is at least as new as `position`. `solved`: the exact result at `position`. `past`: the board at an earlier position. `season`: the final board of an ended season.
        generation: Generation of the pool.
        position: Log offset up to which outcomes were counted. A higher position is newer.
        total: Number of agents on the complete board.
        ranked: Number of settled agents on the complete board. They come first, and ranks count them alone.
        age_seconds: Seconds since the board was published or solved.
        rows: The requested rows.
        outcomes: Number of outcomes that the solve counted.
        certificate: Proof of a solved result's quality.
        status: How the solve ended. `too_little_evidence`, also on boards of online methods: all agents are provisional.
        seconds: Duration of the solve.
        error: Why the newest solve failed. The board is then the result of an earlier solve.
        version: Version of Equirank that solved.
        tasks: Ratings of the tasks, if the method rates tasks.
        extra: Further results of the method.
        intervals: Description of the intervals in the rows.
        outside: Present on a maximal lottery whose rows are its support alone: number of other agents, whose probability is 0.
        next: Cursor of the next page; null on the last page. Absent where rows are not pages of the board.
        changed: Present on a page that a cursor of a live board, or of an answer with filters, began. `true`: the board, or which agents match, may have changed since the page before, so agents may be missing or appear twice. `false`: it has not.
        games_position: Log offset up to which `games`, `wins`, `draws`, `losses` and `last_played` of the rows were counted: that of a checkpoint, or the end of an ended season. Absent where rows have none of them: in a pool of scores, on a past board, and until a checkpoint was read.
        settled_ranks: Number of the rows whose rank is settled: `rank_low` equals `rank_high`. Absent if no row has these.
        earlier: State a day before, whose ranks and ratings are `earlier_rank` and `earlier_rating` of the rows. Absent where none is kept that is at least an hour old, in other formats than JSON, and on slices and past boards.
        stale_seconds: Present only if the store does not answer or has lost its data: age in seconds of the data shown.
        season: Name of the ended season. Present only on its final boards.
        slice: Slice of the pool's outcomes that the board counts, such as `language:English`. Absent on boards of all outcomes.
        reason: Why no agent has a rank; absent if one has.
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
    extra: dict[str, Any] = {}
    intervals: Intervals | None = None
    outside: int | None = None
    next: str | None = None
    changed: bool | None = None
    games_position: int | None = None
    settled_ranks: int | None = None
    earlier: Earlier | None = None
    stale_seconds: float | None = None
    season: str | None = None
    slice: str | None = None
    reason: str | None = None


class Boards(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""A pool, the names of its boards, and the first rows of each board if requested.

    Attributes:
        pool: The pool.
        methods: Names of the boards.
        boards: The first rows of each board; empty without `count`.
        last_day: Number of outcomes of the last 24 hours. Absent without `count`, for slices, and where no history is kept, as in pools of scores.
        stale_seconds: Present only if the store does not answer or has lost its data: age in seconds of the data shown.
    """

    pool: PoolView
    methods: Methods
    boards: list[Board]
    last_day: LastDay | None = None
    stale_seconds: float | None = None


class Building(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""A generation under construction.

    Attributes:
        generation: Number of the generation.
        progress: Share of its part of the log that was read, from 0 to 1.
        failed: Why the construction ended; None if it continues.
    """

    generation: int
    progress: float
    failed: str | None = None


class CertificateRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""A proof of a result's quality.

    Attributes:
        kind: What is measured, such as `exploitability` or `kkt_residual`.
        value: The measured value; 0 is perfect. None if the solve failed.
    """

    kind: str
    value: float | None


class ChangedAgent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""The details of an agent after a change.

    Attributes:
        pool: Name of the pool.
        agent: Name of the agent.
        changed: Whether the change differs from what was known.
        details: All details of the agent now.
    """

    pool: str
    agent: str
    changed: bool
    details: AgentDetails


class Clones(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""Copies and near copies of agents and tasks.

    Attributes:
        exact: Groups of agents with equal margins against every agent; the first few.
        exact_total: Number of all such groups.
        tasks: Groups of tasks on which every agent has equal scores; the first few.
        tasks_total: Number of all such groups.
        near: Pairs of agents at a distance of at most `radius`; the first few.
        near_total: Number of all such pairs.
        near_not_applicable: Why near copies were not searched; None if they were.
        radius: Largest distance of a near copy.
    """

    not_applicable: str | None = None
    exact: list[list[str]] = []
    exact_total: int = 0
    tasks: list[list[str]] = []
    tasks_total: int = 0
    near: list[NearPair] = []
    near_total: int = 0
    near_not_applicable: str | None = None
    radius: float = 0.0


class Compared(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""A board that is compared with other boards.

    Attributes:
        method: Name of the board's method.
        position: Log offset up to which the board counts outcomes.
        rated: Number of settled agents that the board rates.
    """

    method: str
    position: int
    rated: int


class Connectivity(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""The comparison graph: which agents played each other, and which agents are weakly connected.

    Attributes:
        components: Number of groups of agents without any game between the groups.
        largest: Number of agents in the largest group.
        apart: Agents outside the largest group; the first few.
        apart_total: Number of all agents outside the largest group.
        rateable: Whether chains of wins link every two agents in both directions. Otherwise some strengths are infinite.
        pairs: Number of pairs of agents that played each other.
        density: Number of these pairs, divided by the number of all possible pairs.
        thin: Weakly connected agents, weakest connection first; the first few.
        thin_total: Number of all weakly connected agents.
        threshold: Number of effective games below which an agent is weakly connected; of games if effective games are not computed.
        leaders: Boards with weakly connected agents among their first rows.
    """

    not_applicable: str | None = None
    components: int = 0
    largest: int = 0
    apart: list[str] = []
    apart_total: int = 0
    rateable: bool = False
    pairs: int = 0
    density: float = 0.0
    thin: list[ThinAgent] = []
    thin_total: int = 0
    threshold: float = 0.0
    leaders: list[ThinLeaders] = []


class Cycle(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""A majority cycle: each agent beats the next one, and the last agent beats the first.

    Attributes:
        agents: The agents in the order of the cycle.
        margins: Margin of each of these wins.
        weakest: Smallest of the margins.
        games: Number of games, or of tasks, of each of these pairs. Absent in insights of earlier versions.
        proven: Whether the cycle is beyond chance: with 95 % confidence, all majorities of the pool that pass the same test are right at once, and all of this cycle pass. If not, it is observed only. None if it was not tested.
    """

    agents: list[str]
    margins: list[float]
    weakest: float
    games: list[float] = []
    proven: bool | None = None


class Cycles(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""The strongest majority cycles: proven ones, then observed ones, each strongest first. No two of them share an agent.

Empty if the majorities form no cycle.

    Attributes:
        cycles: The cycles.
        untested: Why cycles are not tested; None if they are.
    """

    not_applicable: str | None = None
    cycles: list[Cycle] = []
    untested: str | None = None


class Cyclicity(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""How far head-to-head majorities are from an order, and the results from one strength for each agent.

The two are different: where the stronger agent always wins, one order agrees with all majorities, but no strengths predict the results,
because a certain win needs an infinite difference. `against_order` is of observed results, so chance is in it; `cycles` says which
cycles are proven.

    Attributes:
        against_order: Sum of the margins of the majorities that the best order of the agents contradicts, divided by the sum of the margins of all majorities. 0 if, and only if, the majorities form no cycle. None if an earlier version computed it.
        against_order_least: No order contradicts a smaller share. Equal to `against_order` if the order is proven best.
        unexplained: Estimated share of the decided results' variation that one strength for each agent (Bradley-Terry) does not explain, 0 to 1, with the effect of noise removed. None if it cannot be separated from noise.
        no_unexplained: Why `unexplained` is None; None if it is given.
        assumes: Assumption of the noise estimate.
        within_noise: Whether `unexplained` is no evidence: one strength for each agent is compatible with the results (`order.kappa` is None), and no cycle is proven. Where strengths are close, noise alone gives a large share. None if `order` does not apply.
    """

    not_applicable: str | None = None
    against_order: float | None = None
    against_order_least: float | None = None
    unexplained: float | None = None
    no_unexplained: str | None = None
    assumes: str = ''
    within_noise: bool | None = None


class DetailsChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""A change of an agent's details: an absent field stays as it is, null removes its value.

    Attributes:
        display_name: As in `AgentDetails`.
        country: As in `AgentDetails`.
        organisation: As in `AgentDetails`.
        tags: Key -> value, or null to remove the tag. Tags that are not named stay. Null in place of the object removes all tags.
        licence: As in `AgentDetails`.
        url: As in `AgentDetails`.
        hidden: As in `AgentDetails`; null is false.
    """

    display_name: str | None = None
    country: str | None = None
    organisation: str | None = None
    tags: dict[str, str | None] | None = None
    licence: str | None = None
    url: str | None = None
    hidden: bool | None = None


class Difference(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""What changed from one solve to a later one, and why. Each list holds the first few agents; its count includes all of them.

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
        moved: Agents whose rank changed, or whose rating changed by more than a millionth of the largest absolute rating of both solves; largest change first.
        slice: Slice of the pool's outcomes that was solved, such as `language:English`. Absent if all outcomes were.
        compared: Number of best rows of each solve that were compared.
    """

    pool: str
    method: str
    before: Past
    after: Past
    because: list[Cause]
    outcomes: int
    parameters: dict[str, tuple[float | str | bool | None, float | str | bool | None]]
    joined_count: int
    left_count: int
    moved_count: int
    joined: list[AgentRow]
    left: list[AgentRow]
    moved: list[Moved]
    slice: str | None = None
    compared: int = 10000


class Disagreement(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""Differences between the boards of the methods. Two boards are compared by the agents that both rate and rank: the settled ones.

    Attributes:
        methods: The compared boards. One with fewer ranked agents than `agents` is not compared about the others.
        left_out: Methods whose boards rank too few agents to be compared.
        agents: Number of agents that at least one of the compared boards ranks.
        unsettled: Number of further agents of the pool, which none of them ranks.
        disputed: Agents whose places differ most, largest difference first.
        distances: Distances between the rankings of two methods that rate at least two agents in common: by the share of pairs that they order oppositely, then by `kendall`, largest first.
    """

    not_applicable: str | None = None
    methods: list[Compared] = []
    left_out: list[str] = []
    agents: int = 0
    unsettled: int = 0
    disputed: list[Disputed] = []
    distances: list[Distance] = []


class Disputed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""An agent that two methods place differently. Places are those of their boards.

    Attributes:
        agent: Name of the agent.
        high: Method that places the agent better.
        high_place: Its rank on the board of method `high`.
        high_shared: Number of agents that have this rank there, itself included: 1 without a tie.
        low: Method that places the agent worse.
        low_place: Its rank on the board of method `low`.
        low_shared: Number of agents that have this rank there.
        places: Number of places by which they differ for every way of breaking ties, on the boards and in the order of the agents that both rate: the smaller one of the two.
    """

    agent: str
    high: str
    high_place: int
    high_shared: int = 1
    low: str
    low_place: int
    low_shared: int = 1
    places: int


class Distance(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""The distance between the rankings of two methods, of the agents that both boards rate.

    Attributes:
        methods: The two methods.
        kendall: Share of pairs of agents that the methods order differently. A pair that only one method ties counts as half.
        tied: Share of pairs that only one of the methods ties. `kendall` less half of it is the share of pairs that they order oppositely. None if an earlier version computed it.
        agents: Number of agents that both boards rank. None if an earlier version computed it.
    """

    methods: tuple[str, str]
    kendall: float
    tied: float | None = None
    agents: int | None = None


class Earlier(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""The earlier state with which the rows of a board are compared.

    Attributes:
        time: Time of this state in seconds since 1970: of the solve, or of the pool's outcomes.
        day: Whether it is at least 24 hours old. If not, it is the oldest that is kept of the season.
    """

    time: float
    day: bool


class ErasedName(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""An erased name: its token, and a hash that recognizes the name in later records.

    Attributes:
        token: The agent's new name.
        salt: Key of the hash, hexadecimal, at most 64 bytes.
        name_hash: BLAKE2b hash of the UTF-8 name with this key.
    """

    token: str
    salt: str
    name_hash: str


class FairOpponent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""One opponent.

    Attributes:
        agent: Name of the opponent.
        rating: Its rating by the method of the answer.
        rank: Its rank by this method; None if it is provisional.
        provisional: Whether it has too little evidence for a rank.
        expected_score: Expected score of the agent of the request in its next game against the opponent; 1/2 is even.
        tie: Probability of a tie.
    """

    agent: str
    rating: float
    rank: int | None
    provisional: bool
    expected_score: float
    tie: float


class FairOpponents(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""Opponents of an agent whose game is expected to be most even.

    Attributes:
        pool: Name of the pool.
        generation: Generation of the pool.
        position: Log offset up to which outcomes were counted, at least.
        agent: Name of the agent.
        method: Online method of the forecasts.
        record: Record of the method's earlier forecasts of games of single agents.
        opponents: The opponents, the most even game first.
        slice: Slice of the pool whose ratings these are. Absent for all outcomes. Scale and record of the forecasts are those of the pool.
    """

    pool: str
    generation: int
    position: int
    agent: str
    method: str
    record: Record
    opponents: list[FairOpponent]
    slice: str | None = None


class Findings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""All parts of the insight.

    Attributes:
        agents: Number of agents in the analysis.
        left_out: Number of agents left out of the analysis. A very large pool is limited to its most active agents.
    """

    agents: int
    left_out: int
    connectivity: Connectivity
    cyclicity: Cyclicity
    cycles: Cycles
    clones: Clones
    top: Top
    disagreement: Disagreement
    prequential: Prequential
    look_alikes: LookAlikes | None = None
    order: Order | None = None


class FoldSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""Settings of a generation. A change of any setting makes a new generation.

    Attributes:
        online: Online method -> its parameters; an empty object means its defaults. Left out in a request: `elo`, `sco` and `glicko2` for games, none for scores; the record that is written names them. Null in a record of an earlier release: `elo` and `sco` for games, and a request for the pool's next generation that leaves it out keeps it null.
        per_task: Whether to keep pair tallies per task, too.
        clustered: Whether to keep pair tallies of random groups of games, too. Intervals use them for games with more than two sides or with weights.
        by_shape: Whether to tell games apart by their shape, which is the sizes of their smallest and their largest side. Forecasts then have a scale and a record for each shape. Records of agents, and filters by a number of games, then include games in teams. Left out in a request: true for games, false for scores; the record that is written has the value. Null in a record of an earlier release: false, and a request for the pool's next generation that leaves it out keeps it null.
        features: Names of numbers in the `meta` of games, which methods with covariates use.
        feature_window: Largest number of games whose features are kept; the newest ones.
        bucket_seconds: Width of a time bucket in seconds; None for a single bucket.
        buckets_kept: Number of newest buckets to keep; None for all.
        dedupe_window: Number of outcome ids remembered to find duplicates.
        history: Number of the newest outcomes whose history is kept: ratings before and after them, by online method; 0 for none.
        max_agents: Largest number of agents. Outcomes that would exceed it are refused.
        max_tasks: Largest number of tasks. Outcomes that would exceed it are refused.
        slices: Key of a tag -> online methods of its slices, which are a part of the pool's. Each value of the tag is a slice, with live boards of the outcomes that have it.
        slice_values: Largest number of values of a tag that become slices, the first ones in the log.
    """

    online: dict[str, dict[str, float]] | None = None
    per_task: bool = False
    clustered: bool = False
    by_shape: bool | None = None
    features: list[str] = []
    feature_window: int = 1000000
    bucket_seconds: int | None = None
    buckets_kept: int | None = None
    dedupe_window: int = 4194304
    history: int = 1000000
    max_agents: int = 10000000
    max_tasks: int = 1000
    slices: dict[str, list[str]] = {}
    slice_values: int = 64


class Forecast(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""Prediction accuracy of an online method: means over all pairs of sides. Each pair is predicted before it is counted.

    Attributes:
        method: Name of the method.
        pairs: Number of predicted pairs, by weight.
        log_loss: Mean log loss.
        brier: Mean Brier score.
        kendall: Share of untied pairs that were predicted in the wrong order.
        scale: Factor that makes forecasts of the method's own log odds. It is fitted online.
        calibration_error: Mean distance between forecasts and results in the classes.
        classes: Pairs by the forecast of their favourite (0.5 to 0.55, and so on): number of pairs, mean forecast, mean result (a tie is 1/2), share of ties. Only classes with a pair.
        enough: Whether there are at least `least_pairs` pairs. With fewer, the means say little about the method.
        shape: Shape of the games, such as `1:1` or `2:2`. `others`, at the end: all shapes after the first 16 of the pool, which have no forecasts. None: all games of a pool that does not tell shapes apart.
    """

    method: str
    pairs: float
    log_loss: float | None
    brier: float | None
    kendall: float | None
    scale: float = 1.0
    calibration_error: float | None = None
    classes: list[Any] = []
    enough: bool = True
    shape: str | None = None


class ForecastModel(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""The object `ForecastModel`."""

    slope: float
    spread: float = 0.0
    sums: bool = False


class FoundAgent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""An agent that was found.

    Attributes:
        agent: Name of the agent.
        outcomes: Number of outcomes that it took part in.
        rating: Rating by the method of the answer; None if the method does not rate the agent.
        rank: Rank by this method; None if the agent is provisional, or not on its board.
        provisional: Whether there is too little evidence for a rank, as on boards.
        display_name: Name to show in place of the agent's name; None if it has none.
    """

    agent: str
    outcomes: int
    rating: float | None
    rank: int | None
    provisional: bool
    display_name: str | None = None


class Freshness(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""Whether outcomes are being folded, for one partition or for all.

    Attributes:
        status: The worst status of the partitions. `fresh`: every partition is folded in time. `lagging`: records wait too long. `stopped`: a partition stopped, and `says` gives the kind of reason. `silent`: a partition has no recent report. `unknown`: the store does not answer.
        partitions: Number of partitions checked.
        shards: Number of processes that report at least one of them in time.
        lag_records: Number of records that are not yet folded.
        lag_seconds: Upper bound of the time that the first of these records has waited, in seconds.
        idle_seconds: Seconds since the least recently active partition was known to be folded; None if a partition was never reported.
        limit_seconds: The setting `EQUIRANK_FRESH_SECONDS`.
        silent: Partitions without a recent report.
        stopped: Partitions that stopped.
        lagging: Partitions whose records wait too long.
        says: The status in words.
        ratings_lag_seconds: Longest time since which the ratings topic lacks rows that are on live boards, in seconds; None without this topic. It does not change the status.
    """

    status: Literal['fresh', 'lagging', 'stopped', 'silent', 'unknown']
    partitions: int
    shards: int
    lag_records: int
    lag_seconds: float
    idle_seconds: float | None
    limit_seconds: float
    silent: list[int]
    stopped: list[int]
    lagging: list[int]
    says: str = ''
    ratings_lag_seconds: float | None = None


class GamesRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""An agent's games at a checkpoint. A game of weight 1 counts 1; games in dropped time buckets are not counted.

    Attributes:
        position: Log offset up to which games were counted.
        age_seconds: Seconds since the checkpoint was written.
        games: All games.
        wins: Games in which the agent's side was alone in first place.
        draws: Games in which the agent's side shared the first place.
        losses: Games in which another side was placed before it.
        team_games: Games of these in which its side had more agents. None in a pool that does not count them (`by_shape` of its settings): then `games` are those that the agent played alone.
    """

    position: int
    age_seconds: float
    games: float
    wins: float
    draws: float
    losses: float
    team_games: float | None


class Generation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field='type', tag='generation'):
    r"""An immutable description of how a pool is folded. start: Log offset at which it begins to count outcomes."""

    pool: str
    number: int
    start: int
    time: float
    fold: FoldSettings
    fold_version: int = 2
    retraction_horizon: int = 0
    initial: dict[str, dict[str, float]] = {}
    aliases: dict[str, str] = {}
    bans: list[str] = []
    wanted: int = -1
    erased: list[ErasedName] = []
    season: str = 'first'
    opening: Opening | None = None


class GenerationAsked(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""A change of how a pool is folded. A field that is left out keeps its present value, so an empty object folds the pool again.

    Attributes:
        fold: All settings of the new generation.
        initial: Method -> agent -> initial rating.
        aliases: Name in outcomes -> the agent that it counts for.
        bans: The complete list of agents whose games do not count.
        start: Start of the new generation: `same` for the present start, `now` to count later outcomes alone, or a log position. If the position is not reached yet, the change waits. It is never before the start of the pool's season.
        ban: Agents to add to the present list of bans. Not allowed together with `bans`.
        unban: Agents to remove from this list. Not allowed together with `bans`.
        confirm: Allows changes that are otherwise refused: a list `bans` without a present ban, and a ban of an unknown agent.
    """

    fold: FoldSettings | None = None
    initial: dict[str, dict[str, float]] | None = None
    aliases: dict[str, str] | None = None
    bans: list[str] | None = None
    start: Literal['same', 'now'] | int | None = None
    ban: list[str] = []
    unban: list[str] = []
    confirm: bool = False


class GenerationRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field='type', tag='wanted'):
    r"""A request for a new generation of a pool. The newest request of a pool counts.

The shard that owns the pool makes the generation, because the shard has the log positions.

    Attributes:
        pool: Name of the pool.
        time: Time of the request in seconds since 1970.
        fold: All settings of the new generation.
        initial: Method -> agent -> initial rating.
        aliases: Name in outcomes -> the agent that it counts for.
        bans: Banned agents.
        start: Start of the generation: `same` for the present generation's start, `now` for the shard's position, or a log offset. If the shard has not reached the offset, the request waits.
        season: The season to begin at `start`; None to stay in the present one.
    """

    pool: str
    time: float
    fold: FoldSettings
    initial: dict[str, dict[str, float]] = {}
    aliases: dict[str, str] = {}
    bans: list[str] = []
    start: Literal['same', 'now'] | int = 'same'
    season: SeasonStart | None = None


class GenerationWish(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""An accepted request for a generation. wish: Its offset in the control log.

The request is fulfilled when `serving.wanted` of the pool's generations is at least `wish`."""

    pool: str
    wish: int


class Generations(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""The generations of a pool.

    Attributes:
        pool: Name of the pool.
        serving: The generation that readers see.
        newest: The newest generation. If it is not the serving one, it is under construction.
        waiting: The newest request, while no generation fulfills it.
    """

    pool: str
    serving: Generation | None
    newest: Generation | None
    waiting: GenerationRequest | None


class History(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""The kept solves of a method, newest first.

    Attributes:
        pool: Name of the pool.
        method: Name of the method.
        solves: The solves.
        slice: Slice of the pool's outcomes that was solved, such as `language:English`. Absent if all outcomes were.
    """

    pool: str
    method: str
    solves: list[Past]
    slice: str | None = None


class HistoryPoint(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""A rating at a time. Fields that a point does not have are absent.

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


class Insight(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""The insight into a pool. Before the first successful computation, only `pool`, `status` and `error` have values.

    Attributes:
        pool: Name of the pool.
        generation: Generation of the pool.
        position: Log offset up to which outcomes were counted.
        outcomes: Number of outcomes counted.
        age_seconds: Seconds since the computation.
        seconds: Duration of the computation.
        status: How the computation ended that `findings` are from (`optimal`). Without findings: `pending` before the first computation, `failed`, or `not_applicable`.
        error: Why the newest computation failed, or has not been made yet. `findings` is then an earlier result or None.
        findings: The parts of the insight.
        stale_seconds: Present only if the store does not answer: age in seconds of the data shown.
        slice: Slice of the pool, such as `language:English`. Absent for all outcomes.
        hidden_agents: Number of hidden agents that `findings` would name, and that are left out of it.
        display_names: Agent -> its display name, for the agents that `findings` names. Absent if none of them has one.
    """

    pool: str
    generation: int | None = None
    position: int | None = None
    outcomes: int | None = None
    age_seconds: float | None = None
    seconds: float | None = None
    status: str = 'pending'
    error: str | None = None
    findings: Findings | None = None
    stale_seconds: float | None = None
    slice: str | None = None
    hidden_agents: int = 0
    display_names: dict[str, str] = {}


class Intervals(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""Description of the intervals in the rows of a board.

    Attributes:
        kind: How the intervals were computed. ``posterior``: draws of the true margins. ``cells``: resampled counts of pairs or places. ``clustered``: resampled outcomes. ``tasks``, ``ballots``: resampled tasks or ballots. ``fisher``, ``sandwich``: normal intervals from standard errors. ``belief``: normal intervals from an online method's beliefs. ``none``: no intervals.
        of: Quantity with the interval, if it is not the rating; otherwise empty.
        assumes: Assumption under which the intervals are valid.
        proven: Whether the intervals hold with `level` under the assumption. False for methods whose ratings can jump where data move a little, from refits to resampled data: an interval then covers what the refits gave, without the most extreme, and how often it includes the true rating or rank is not proven.
        why_not: Why there are no intervals; None if there are intervals.
        level: Probability of the intervals. Each rating is within its own with this probability. All ranks of the board are within theirs at once with this probability. Where `proven` is false, it is a share of the refits.
        replicates: Number of draws (``posterior``) or of refits to resampled data.
        failed: Number of further draws or refits, which had no result.
        settled: Whether the best agents' rank intervals stopped changing. If not, draws or refits ended at a limit of time or number.
        seconds: Duration of draws or refits.
        position: Log offset of the outcomes that were resampled.
    """

    kind: str
    of: str = ''
    assumes: str = ''
    proven: bool = True
    why_not: str | None = None
    level: float = 0.95
    replicates: int = 0
    failed: int = 0
    settled: bool = False
    seconds: float = 0.0
    position: int | None = None


class Item(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""A refused outcome.

    Attributes:
        item: Index of the outcome in the request; -1 for the request itself.
        path: Path of the field that breaks a rule.
        rule: The rule.
        reason: Class of the rule, as in dead letters.
    """

    item: int
    path: str
    rule: str
    reason: str


class LastDay(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""How many outcomes of a pool have a time in the last 24 hours.

    Attributes:
        since: Begin of the 24 hours in seconds since 1970.
        outcomes: Number of outcomes since then.
        complete: Whether these are all. If not, the kept history begins later than `since`, and there are more.
    """

    since: float
    outcomes: int
    complete: bool


class LeadingWanted(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""The method that pages of a pool show first. method: An online or solved method of the pool; empty to let pages choose."""

    method: str


class LiveForecasts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""How the ratings of an online method become forecasts.

    Attributes:
        model: The method's own log odds of two sides; None if they need more than ratings and deviations.
        shapes: Shape of games, such as `1:1` -> its forecasts. None if the pool does not tell shapes apart.
    """

    model: ForecastModel | None
    shapes: dict[str, ShapeForecasts] | None = None


class LookAlike(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""An agent whose name looks like the name of another agent.

    Attributes:
        agent: Name of the agent.
        activity: Number of games played, or of tasks measured.
        characters: The characters of the name outside ASCII, each as `U+0430 CYRILLIC SMALL LETTER A`.
    """

    agent: str
    activity: float
    characters: list[str]


class LookAlikes(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""Groups of agents whose names look alike but contain different characters (UTS 39).

    Attributes:
        groups: The groups, each with its most active agent first; the first few.
        groups_total: Number of all groups.
    """

    not_applicable: str | None = None
    groups: list[list[LookAlike]] = []
    groups_total: int = 0


class Match(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""A game that was not played.

    Attributes:
        sides: Names of the agents of each side.
    """

    sides: list[list[str]]


class MatchForecast(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""Forecast of one game.

    Attributes:
        sides: The sides in the order of the request.
        shape: Shape of the game: sizes of its smallest and its largest side, such as `1:1` or `2:2`. Scales and records of forecasts are those of a shape.
        tie: Probability of a tie of two sides; None for more sides, and without a forecast.
        evenness: Entropy of who ends first over that of an even game: 1 is even, 0 is decided. None without a forecast.
        no_forecast: Why the game has no probabilities: the method has too few results of its shape. None if it has some.
    """

    sides: list[SideForecast]
    shape: str
    tie: float | None
    evenness: float | None
    no_forecast: str | None


class Matchups(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""Expected scores of agents against each other.

    Attributes:
        pool: Name of the pool.
        generation: Generation of the pool.
        position: Log offset up to which outcomes were counted, at least.
        method: Name of the method.
        record: Record of the method's earlier forecasts of games of single agents.
        agents: Names of the agents, in the order of the request.
        expected_scores: Expected score of each agent (row) against each agent (column); None against itself.
        ties: Probability of a tie of each pair; None against itself.
        slice: Slice of the pool, as of `Predictions`. Absent for all outcomes.
    """

    pool: str
    generation: int
    position: int
    method: str
    record: Record
    agents: list[str]
    expected_scores: list[list[float | None]]
    ties: list[list[float | None]]
    slice: str | None = None


class Met(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""Record of the first agent of a duel against the second one, up to a checkpoint. Compare it with the forecasts.

A rating has one number for each agent, so it cannot show a cycle: it can expect a win of an agent that lost nearly all their games. A
game of more than two sides counts for each pair of single-agent sides.

    Attributes:
        games: Games in which both were single-agent sides; a game of weight 1 counts 1. 0 if they did not meet.
        wins: Games in which the first agent was placed before the second one.
        draws: Games in which both had the same place.
        losses: Games in which the second agent was placed before the first one.
        position: Log offset up to which games were counted: that of a checkpoint.
    """

    games: float
    wins: float
    draws: float
    losses: float
    position: int


class MethodChoice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""A solved method in relation to a pool.

    Attributes:
        method: Name of the method.
        chosen: Parameters with which the pool is solved by it; None if the pool is not solved by it.
        why_not: Why the method does not apply to the pool; None if it applies.
        slices: Tags whose slices are solved by it, too.
    """

    method: str
    chosen: dict[str, float | str | bool] | None
    why_not: str | None
    slices: list[str] = []


class MethodChoices(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""All solved methods, and whether the pool is solved by them."""

    pool: str
    methods: list[MethodChoice]


class MethodForecasts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""Forecasts of one method.

    Attributes:
        method: Name of the method.
        records: Records of its earlier forecasts, one for each shape of the requested games.
        matches: Its forecasts, in the order of the request.
    """

    method: str
    records: list[Record]
    matches: list[MatchForecast]


class MethodRating(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""An agent's rating by one method. Fields that the method does not have are absent.

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


class Methods(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""Names of the pool's boards.

    Attributes:
        live: Methods with a live board.
        solved: Methods with a solved board.
    """

    live: list[str]
    solved: list[str]


class MethodsWanted(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""The methods that a pool is to be solved by.

    Attributes:
        methods: Name -> parameters that differ from the defaults.
        slices: Key of a tag -> methods, some of `methods`, that solve each of the pool's slices by this tag. Without this field the present ones stay.
    """

    methods: dict[str, dict[str, float | str | bool]]
    slices: dict[str, list[str]] = {}


class Moved(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""An agent that both boards rate, with a different rank or a rating that differs by more than a millionth of the largest one.

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


class NearPair(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""Two similar agents.

    Attributes:
        agents: The two names.
        distance: Largest difference between their mean results against the same opponent. Mean results are from -1 to 1.
    """

    agents: tuple[str, str]
    distance: float


class Next(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""Recommended sampling rates of the next games or measurements. They reduce the uncertainty of the target fastest.

    Attributes:
        pool: Name of the pool.
        target: Whose uncertainty is to be reduced, as requested.
        games: Number of games or measurements to plan.
        floor: Share of them that is drawn evenly from all pairs or cells.
        position: Log offset up to which outcomes were counted.
        not_applicable: Why there is no recommendation; all further fields then have their defaults. None if there is one.
        matches: The games or measurements with the highest rates.
        others: Number of pairs or cells that are not listed.
        other_rate: Mean rate of a pair or cell that is not listed. All rates sum to 1.
        unit: Unit of the uncertainties `before`, `after` and `uniform`.
        before: Uncertainty now.
        after: Expected uncertainty after `games` games or measurements at these rates.
        uniform: Expected uncertainty after as many, drawn evenly.
        gap: Upper bound of what better rates could still gain, as a share of `before` - `after`.
        agents: Number of agents in the computation.
        left_out: Number of less active agents left out of the computation.
        assumes: Assumption of the computation.
        seconds: Duration of the computation.
        slice: Slice whose outcomes alone were counted, such as `language:English`. Absent for all outcomes.
        hidden_agents: Number of hidden agents whose games or measurements would be listed, and are not.
        display_names: Agent -> its display name, for the agents that are listed. Absent if none of them has one.
    """

    pool: str
    target: str
    games: int
    floor: float
    position: int
    not_applicable: str | None = None
    matches: list[NextMatch] = []
    others: int = 0
    other_rate: float = 0.0
    unit: str = ''
    before: float | None = None
    after: float | None = None
    uniform: float | None = None
    gap: float | None = None
    agents: int = 0
    left_out: int = 0
    assumes: str = ''
    seconds: float = 0.0
    slice: str | None = None
    hidden_agents: int = 0
    display_names: dict[str, str] = {}


class NextMatch(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""A recommended game or measurement.

    Attributes:
        agents: The two agents of a game, or the agent to measure.
        rate: Probability that the next game or measurement is this one.
        task: Task on which to measure the agent; absent for games.
    """

    agents: list[str]
    rate: float
    task: str | None = None


class Opening(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""What the first state of a season is made from: the final state of the season before, folded by one generation up to one position.

    Attributes:
        generation: Number of the generation that served the season before at its end.
        position: Log offset at which that season ends and this one begins.
        keep: Share of each rating's distance to the mean that the soft reset leaves. 0: no ratings are carried over.
        first: Number of the first generation of this season.
        methods: Online methods of the generation `generation`. Agents that are carried over have a rating of these alone.
    """

    generation: int
    position: int
    keep: float
    first: int
    methods: list[str] = []


class Operations(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""State of the installation for operators.

    Attributes:
        partitions: One report for each partition of the log.
        refused_total: Number of entries for refused outcomes that the log keeps. An outcome can have several.
        refused: The outcomes that were refused most recently, newest first.
    """

    partitions: list[PartitionReport]
    refused_total: int
    refused: list[RefusedOutcome]


class OpponentList(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""An agent's opponents, most games first. A game counts for two agents that were both sides alone.

    Attributes:
        pool: Name of the pool.
        agent: Name of the agent.
        generation: Generation of the pool.
        position: Log offset up to which games were counted: that of a checkpoint. An agent that is newer has no opponents yet.
        age_seconds: Seconds since the checkpoint was written.
        method: Online method of the expected scores; None if no method forecasts.
        total: Number of all opponents.
        team_games: The agent's games in teams, which count for no opponent; a game of weight 1 counts 1. None as in `GamesRecord`, and for an agent that is newer than the checkpoint.
        opponents: The opponents.
        next: Cursor of the opponents after these; None at the end.
        slice: Slice of the pool's outcomes that are counted, such as `language:English`. Absent for all outcomes.
        display_names: Agent -> its display name, for the agents that are named here. Absent if none of them has one.
    """

    pool: str
    agent: str
    generation: int
    position: int
    age_seconds: float
    method: str | None
    total: int
    team_games: float | None
    opponents: list[OpponentRow]
    next: str | None
    slice: str | None = None
    display_names: dict[str, str] = {}


class OpponentRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""An agent's record against one opponent. A game of more than two sides counts for each pair of single-agent sides.

    Attributes:
        agent: Name of the opponent.
        games: Games in which both were single-agent sides; a game of weight 1 counts 1.
        wins: Games in which the agent of the request was placed before the opponent.
        draws: Games in which both had the same place.
        losses: Games in which the opponent was placed before it.
        expected_score: Expected score of the agent of the request in its next game against the opponent; None without a forecast.
    """

    agent: str
    games: float
    wins: float
    draws: float
    losses: float
    expected_score: float | None


class Order(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""How closely the results of pairs follow the probabilities of one strength for each agent (docs/concepts/posterior-margins.md).

    Attributes:
        kappa: Number of games that the strengths' prediction of a pair is worth. It is small in a cyclic pool, and where the stronger agent always wins. None (infinite) if the results of all pairs together show no deviation from the prediction.
        low: Lower end of the 95 % likelihood interval of kappa.
        high: Upper end of this interval; None (infinite) if exact predictions are compatible with the data.
        evidence: Log likelihood of this kappa less the log likelihood of exact predictions, in nats. It is of decided games, so ties do not change it.
        p_value: Probability of at least this evidence in a pool with exact predictions.
        pairs: Number of pairs with more than one decided game. Only these give information about kappa.
    """

    not_applicable: str | None = None
    kappa: float | None = None
    low: float = 0.0
    high: float | None = None
    evidence: float = 0.0
    p_value: float = 1.0
    pairs: int = 0


class OutcomeSide(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""A side of an outcome. agents: names of its members. place: 1 for the best; sides that tie share a place."""

    agents: list[str]
    place: int


class PartitionReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""What a shard reported of a partition most recently. Without a report, only `partition` has a value.

    Attributes:
        partition: Number of the partition.
        shard: Name, host and process of the shard that folds it.
        epoch: Epoch of this shard's ownership.
        position: First log offset that is not folded yet.
        lag_records: Number of records that are not folded yet.
        lag_seconds: Upper bound of the time that the first of these records has waited, in seconds.
        idle_seconds: Seconds since the partition was last known to be folded.
        stopped: Whether the partition stopped.
        reason: Why it stopped, with what to do; null while it runs.
    """

    partition: int
    shard: str | None = None
    epoch: int | None = None
    position: int | None = None
    lag_records: int | None = None
    lag_seconds: float | None = None
    idle_seconds: float | None = None
    stopped: bool | None = None
    reason: str | None = None


class Past(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""One kept solve. total: Number of agents on its board. ranked: Number of those with a rank; None if evidence was not considered."""

    generation: int
    position: int
    outcomes: int
    data: str
    parameters: dict[str, float | str | bool]
    solved_at: float
    version: str = ''
    certificate: CertificateRow
    status: str
    seconds: float
    total: int
    ranked: int | None = None
    reason: str | None = None


class PoolHead(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""Summary of a pool. It is published with every live update.

    Attributes:
        pool: Name of the pool.
        kind: `games` or `scores`.
        label: Text shown beside the name.
        partition: Partition of the log that holds the pool.
        generation: Generation that readers see.
        position: Log offset up to which outcomes were counted.
        published_at: Time of the publication in seconds since 1970, by the shard's clock.
        pool_time: Latest `time` of the outcomes counted; None before the first one.
        outcomes: Number of outcomes counted.
        agents: Number of agents.
        tasks: Number of tasks.
        duplicates: Number of outcomes dropped because an outcome with their id and content was already counted.
        conflicts: Number of outcomes dropped because an outcome with their id and other content was already counted. The first thousand have a dead letter, and then each thousandth.
        retractions: Number of retractions.
        dead_letters: Number of outcomes that the generation dropped and that have a dead letter: wrong kind, too many agents, too many tasks, and the conflicts that have one.
        online: Names of the online methods.
        prequential: Online method -> `log_loss`, `brier`, `kendall` and `calibration_error` of its forecasts so far, and their number `pairs`.
        stopped: Why the pool stopped; None if it is folded.
        pending: Number of retractions that wait for the next generation.
        left_out: Number of outcomes left out because of retractions, bans or aliases. One that was sent several times counts each time.
        unmatched: Number of retracted ids that no outcome of the pool has. Each duplicate of a retracted outcome lowers it by one.
        building: The next generation, while it is under construction.
        beliefs: Online method -> model of its beliefs, for methods with beliefs.
        forecasts_by_shape: Online method -> how its ratings become forecasts. Releases before it had `forecasts`, with other fields. They read a head without it, and forecast nothing by it.
        record: SHA-256 of the last record before the position. Shards use it to check whether the log still holds this record. None if unknown.
        season: Name of the season; `first` before the first one that was started by name.
        season_generation: First generation of the season. Solved boards of earlier generations belong to earlier seasons.
        slices: Key of a tag -> the pool's slices by this tag.
        provisional_outcomes: Live boards separate agents with fewer outcomes as provisional. None: an earlier release separated none.
    """

    pool: str
    kind: str
    label: str
    partition: int
    generation: int
    position: int
    published_at: float
    pool_time: float | None
    outcomes: int
    agents: int
    tasks: int
    duplicates: int
    conflicts: int
    retractions: int
    dead_letters: int
    online: list[str]
    prequential: dict[str, dict[str, float]] = {}
    stopped: str | None = None
    pending: int = 0
    left_out: int = 0
    unmatched: int = 0
    building: Building | None = None
    beliefs: dict[str, BeliefModel] = {}
    forecasts_by_shape: dict[str, LiveForecasts] = {}
    record: str | None = None
    season: str = 'first'
    season_generation: int = 1
    slices: dict[str, SliceDimension] = {}
    provisional_outcomes: int | None = None


class PoolList(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""Pools in the order of their names.

    Attributes:
        total: Number of all pools, on all pages.
        pools: The requested pools.
        stale_seconds: As in `Boards`.
        trouble: Present only while folding is interrupted: the reason in words.
    """

    total: int
    pools: list[PoolView]
    stale_seconds: float | None = None
    trouble: str | None = None


class PoolView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""One pool.

    Attributes:
        pool: Name of the pool.
        kind: `games` or `scores`.
        label: Text shown beside the name.
        head: Newest summary of the pool; None before the first outcome was folded.
        leading_method: Method that pages show first; empty if they choose by what has an answer.
        folding: Whether the pool's partition is being folded. Only present in the answer for a single pool.
        stale_seconds: As in `Boards`. Only present in the answer for a single pool.
    """

    pool: str
    kind: str
    label: str
    head: PoolHead | None
    leading_method: str = ''
    folding: Freshness | None = None
    stale_seconds: float | None = None


class PoolWanted(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""A pool to create.

    Attributes:
        kind: `games` or `scores`. It cannot be changed later.
        fold: Settings of the first generation. Without it, the installation's defaults.
        label: Text shown beside the name.
    """

    kind: Literal['games', 'scores']
    fold: FoldSettings | None = None
    label: str = ''


class PredictAsked(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""Games to forecast.

    Attributes:
        matches: The games, 1 to 100, with at most 1,000 agents in all.
        methods: Names of online methods. Default: all online methods of the pool.
    """

    matches: list[Match]
    methods: list[str] | None = None


class Predictions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""Forecasts of games.

    Attributes:
        pool: Name of the pool.
        generation: Generation of the pool.
        position: Log offset up to which outcomes were counted, at least.
        met: Record of the two agents of each game, in the order of the request. None for a game of teams or of more than two sides, for a hidden agent, and while the pool has no checkpoint that can be read.
        methods: Forecasts of each method.
        without: Method -> why it forecasts nothing.
        slice: Slice of the pool whose ratings and games these are, such as `language:English`. Absent for all outcomes. Scales, probabilities of ties, and records of forecasts are those of the pool, because a slice has none.
    """

    pool: str
    generation: int
    position: int
    met: list[Met | None]
    methods: list[MethodForecasts]
    without: dict[str, str]
    slice: str | None = None


class Prequential(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""Prediction accuracy of the online methods by shape of games, most forecasts first, and in each shape the smallest log loss first.

    Attributes:
        forecasts: The methods, for each shape.
        least_pairs: Number of predicted pairs from which the means are meaningful.
    """

    not_applicable: str | None = None
    forecasts: list[Forecast] = []
    least_pairs: float = 0.0


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""Why a request failed.

    Attributes:
        status: HTTP status.
        title: What went wrong.
        detail: The cause, and what to do.
        request_id: Identifies the request in the server's log.
        refusals: The refused outcomes, if outcomes were refused.
    """

    status: int
    title: str
    detail: str
    request_id: str = ''
    refusals: list[Item] = []


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""Record of a method's earlier forecasts of games of one shape, each made before its outcome was counted.

    Attributes:
        shape: Shape of the games, such as `1:1`.
        pairs: Number of forecast pairs of sides, by weight. Without pairs, the other figures are None.
        log_loss: Mean log loss, in nats. Forecasts of 1/2 have 0.6931.
        brier: Mean squared distance of forecast and result.
        calibration_error: Mean distance of forecasts and results in ten classes of forecasts.
        wins_predicted: Share of decided pairs whose winner was the favourite. An even forecast counts half.
        enough: Whether there are `least_pairs` pairs. With fewer, the figures say little about the method.
        least_pairs: Number of pairs from which the figures are meaningful.
        classes: Calibration: pairs by the forecast of their favourite (0.5 to 0.55, and so on up to 1): number of pairs, mean forecast, mean result (a tie is 1/2), share of ties. Only classes with a pair.
    """

    shape: str
    pairs: float
    log_loss: float | None
    brier: float | None
    calibration_error: float | None
    wins_predicted: float | None
    enough: bool
    least_pairs: float
    classes: list[Any]


class RefusedOutcome(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""A refused outcome, or a refused record of the log.

    Attributes:
        pool: Name of the pool; null if it is unknown.
        reason: Class of the rule.
        path: Path of the field that breaks the rule, in the sender's JSON.
        rule: The rule.
        generation: Generation of the pool that refused it.
        partition: Partition of the log that holds it.
        offset: Log offset of its record.
        item: Index of the outcome in the record; -1 for the complete record.
    """

    pool: str | None
    reason: str
    path: str
    rule: str
    generation: int
    partition: int
    offset: int
    item: int


class ScoresRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""An agent's scores at a checkpoint. Scores in dropped time buckets are not counted.

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


class SeasonAsked(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""A season to start.

    Attributes:
        name: Name of the season. No other season of the pool has it.
        keep: Share of each rating's distance to the mean that the soft reset leaves. 0: all agents start as newcomers. 1: ratings are carried over unchanged.
        start: `now`, the end of the log at the request, or a log position after the start of the present season. If the position is not reached yet, the season waits.
    """

    name: str
    keep: float = 0.0
    start: str | int = 'now'


class SeasonStart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""A request for a season. name: Its name. keep: As in `Opening`."""

    name: str
    keep: float = 0.0


class SeasonView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""One season of a pool.

    Attributes:
        name: Name of the season. The season before the first one that was started by name is `first`.
        status: `requested`: it waits for the shard, or for its start position. `starting`: it is being folded. `running`: readers see it. `ended`: the next season began, and final boards are being computed. `closed`: all final boards are kept.
        generation: The generation that serves it, served it last, or is being folded; null before.
        start: Log offset at which it begins; null before it is known.
        end: Log offset at which it ended; null before.
        began_at: Time of its start, seconds since 1970; null before.
        ended_at: Time of its end, seconds since 1970; null before.
        keep: Share of each rating's distance to the mean that its soft reset left; null for the first season.
        outcomes: Number of outcomes that it counted; null before its final state is kept.
        boards: Names of its final boards; empty while it runs.
        waits_for: What a requested or starting season waits for, and what an operator can do if that does not come; null for others.
    """

    name: str
    status: SeasonStatus
    generation: int | None
    start: int | None
    end: int | None
    began_at: float | None
    ended_at: float | None
    keep: float | None
    outcomes: int | None = None
    boards: list[str] = []
    waits_for: str | None = None


class Seasons(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""The seasons of a pool, oldest first."""

    pool: str
    seasons: list[SeasonView]


class SentGame(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field='v', tag=1):
    r"""A finished game.

    Attributes:
        id: Identifies the outcome in its pool. An id that is sent twice counts once. Default: a new one.
        time: Seconds since 1970. Default: now.
        task: What was played, if the producer distinguishes tasks.
    """

    id: str | None = None
    pool: str
    time: float | None = None
    sides: list[SentSide]
    task: str | None = None
    weight: float = 1.0
    tags: dict[str, str] = {}
    meta: Any = None


class SentRetraction(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field='v', tag=1):
    r"""A retraction: the outcome with the id `retracts` of this pool is not to count.

    Attributes:
        id: Identifies the retraction in its pool. An id that is sent twice counts once. Default: a new one.
        time: Seconds since 1970. Default: now.
        retracts: Id of the outcome to take back.
    """

    id: str | None = None
    pool: str
    time: float | None = None
    retracts: str
    meta: Any = None


class SentScores(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field='v', tag=1):
    r"""Scores of agents on one task. Higher scores are better.

    Attributes:
        id: Identifies the outcome in its pool. An id that is sent twice counts once. Default: a new one.
        time: Seconds since 1970. Default: now.
    """

    id: str | None = None
    pool: str
    time: float | None = None
    task: str
    scores: dict[str, float]
    weight: float = 1.0
    tags: dict[str, str] = {}
    meta: Any = None


class SentSide(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""One side of a game: an agent or a team, and its place. Only the order of places counts: the lowest is best, equal places tie."""

    agents: list[str]
    place: int


class ShapeForecasts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""How ratings become forecasts of games of one shape, and the record of these forecasts.

    Attributes:
        scale: Factor that makes calibrated log odds of the method's own. It is fitted to the outcomes so far.
        figures: As `PoolHead.prequential` has them, of this shape.
        classes: Earlier forecasts by the forecast of the favourite: number of pairs, mean forecast, mean result (a tie is 1/2), share of ties.
    """

    scale: float
    figures: dict[str, float]
    classes: list[Any]


class SideForecast(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""Forecast of one side.

    Attributes:
        agents: Names of its agents.
        rank: Rank of the side by the method's ratings: 1 for the strongest one, and equal sides share a rank.
        expected_score: Mean result against the other sides; a win is 1 and a tie 1/2. None if `no_forecast` of the game says why.
        win: Probability to win: of two sides, 1 less the probabilities of a tie and a loss; of more sides, to end before all others if nothing is tied. None as `expected_score`.
    """

    agents: list[str]
    rank: int
    expected_score: float | None
    win: float | None


class SliceDimension(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""The slices of a pool by one tag.

    Attributes:
        methods: Online methods of the slices.
        values: The slices, in the order of their first outcomes in the log.
        most: Largest number of slices of the dimension.
        beyond: Number of outcomes whose value is beyond `most`, so that it has no slice.
    """

    methods: list[str]
    values: list[SliceValue]
    most: int
    beyond: int = 0


class SliceValue(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""One slice.

    Attributes:
        value: Value of the tag.
        outcomes: Number of outcomes counted.
        agents: Number of agents.
    """

    value: str
    outcomes: int
    agents: int


class Slices(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""The slices of a pool.

    Attributes:
        pool: Name of the pool.
        generation: Generation of the pool; null before the first outcome was folded.
        position: Log offset up to which outcomes were counted, in the pool and in all slices.
        outcomes: Number of outcomes that the pool counted.
        dimensions: Key of a tag -> its slices.
        solved: Key of a tag -> methods with solved boards of its slices.
    """

    pool: str
    generation: int | None
    position: int
    outcomes: int
    dimensions: dict[str, SliceDimension]
    solved: dict[str, list[str]] = {}


class Streak(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""Equal results of an agent's newest outcomes.

    Attributes:
        result: `won`: alone in first place; `drawn`: shared the first place; `lost`: another side was placed before it.
        length: Number of outcomes, among those whose history is kept.
    """

    result: str
    length: int


class TaskPlace(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""An agent on one task.

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


class TaskRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""The rating of one task."""

    task: str
    rating: float | None
    rank: int


class ThinAgent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""An agent weakly connected to the other agents.

    Attributes:
        agent: Name of the agent.
        games: Number of its games, by weight.
        opponents: Number of different opponents.
        effective_games: Number of direct games against the main part of the pool that would connect the agent equally well. None if the pool is too large to compute it.
    """

    agent: str
    games: float
    opponents: int
    effective_games: float | None


class ThinLeaders(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""A board with weakly connected agents among its first rows.

    Attributes:
        method: Name of the board's method.
        agents: The weakly connected agents, best first.
        of: Number of first rows that were checked.
    """

    method: str
    agents: list[str]
    of: int


class Top(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""How stable the top is by head-to-head majorities: the smallest number of votes whose removal lets a rival reach or pass the top.

Majorities are those of observed results. A pair that never met is tied. Boards on posterior margins, or of another model, can have
another top; `elsewhere` names them.

    Attributes:
        agents: Agents with a majority against at least one opponent and against no opponent a minority. There are several if majorities tie, and none if the majorities at the top form a cycle; the first few.
        agents_total: Number of all such agents.
        elsewhere: Method -> best rank of these agents on its board, for boards on which none of them is first.
        unrated_by: Methods whose boards do not have a settled rating of any of these agents: they have too little evidence, or the method cannot rate them, as Bradley-Terry without a prior cannot rate an agent that never lost.
        rival: The agent that needs the fewest removals; None if it is hidden.
        low: Lower bound of the number of removals.
        high: Upper bound of this number; None if unknown.
        unit: What a vote is: `outcomes` or `tasks`.
        votes: Names of the votes to remove, if known; the first few.
    """

    not_applicable: str | None = None
    agents: list[str] = []
    agents_total: int = 0
    elsewhere: dict[str, int] = {}
    unrated_by: list[str] = []
    rival: str | None = None
    low: int | None = None
    high: int | None = None
    unit: str = ''
    votes: list[str] = []


class Why(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""Why an agent has its rating: by a solved method from a solve of one checkpoint, by an online method from the history of outcomes.

    Attributes:
        pool: Name of the pool; empty for a file.
        method: Name of the method.
        agent: Name of the agent.
        generation: Generation of the pool; 0 for a file.
        position: Log offset up to which outcomes were counted; 0 for a file.
        outcomes: Number of outcomes counted; None for a file.
        rating: Rating of the agent; None if it has none.
        rank: Rank of the agent among all agents of the solve, provisional ones included; None for an online method, whose board has it.
        agents: Number of agents of the solve, or of the pool for an online method.
        margins: Margins that the method used: `posterior` or `observed`; None for methods without margins.
        sums: The sums that explain the rating.
        not_applicable: Why there are no sums; None if there are.
        parameters: Parameters of the method, such as `k` of Elo, without those of intervals. Absent if they are not known.
        deviation: By an online method with deviations, the standard deviation of the belief about the agent on the live board now; a wide one makes ratings move further. None for other methods, and while the board does not have the agent.
        flips: Sets of results without which the rank would change, one for each direction in which it can; None if not requested.
        change: What changed since an earlier position; None if not requested.
        missing: Of an online method: number of outcomes of the pool whose history should be kept and cannot be read.
        seconds: Duration of the computation.
        slice: Slice of the pool's outcomes that the solve counts, such as `language:English`. Absent for all outcomes.
        display_names: Agent -> its display name, for the agents that are named here. Absent if none of them has one.
    """

    pool: str
    method: str
    agent: str
    generation: int
    position: int
    outcomes: int | None
    rating: float | None
    rank: int | None
    agents: int
    margins: Literal['posterior', 'observed', None]
    sums: list[WhySum]
    not_applicable: str | None = None
    parameters: dict[str, float | str | bool] = {}
    deviation: float | None = None
    flips: list[WhyFlip] | None = None
    change: WhyChange | None = None
    missing: int = 0
    seconds: float = 0.0
    slice: str | None = None
    display_names: dict[str, str] = {}


class WhyChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""What changed between two positions.

    Attributes:
        before: The agent at the earlier position.
        after: The agent at the later position.
        outcomes: Number of outcomes of the pool in between.
        moved_terms: Terms that changed most, largest change first.
        moves: Results that moved the rating most, largest effect first.
        other_moves: Number of further pairs, which are not listed.
        other_effect: Sum of their effects.
        joined_effect: Effect of agents that the earlier solve did not rate together with this agent: they shift the mean of the ratings. Of an online method: effect of outcomes whose history is missing. Effects and this one sum to the change of the rating.
        no_moves: Why `moves` is empty; None if moves were computed.
    """

    before: WhyState
    after: WhyState
    outcomes: int
    moved_terms: list[WhyMovedTerm]
    moves: list[WhyMove]
    other_moves: int
    other_effect: float
    joined_effect: float
    no_moves: str | None


class WhyFlip(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""Few outcomes, or tasks, without which the agent has another rank. A solve without them gave `rank_after`.

    Attributes:
        direction: `down`: a worse rank; `up`: a better one.
        rank: Rank now, among all agents of the solve, provisional ones included.
        rank_after: Rank without the set, among the same agents.
        count: Size of the set; 0 if no set is given.
        unit: What is counted: `outcomes`, `results of pairs` (of games with more than two sides) or `tasks`.
        results: The removed outcomes.
        tasks: The removed tasks.
        few: Largest size of a set that is given: a twentieth of all outcomes or tasks, at least 5 and at most 10,000. Larger sets say only that no few outcomes decide the rank.
        at_least: Proven lower bound of the size of any such set. It can be above `few`.
        smallest: Whether it is proven that no smaller set changes the rank in this direction.
        verified: Whether a solve without the set gave another rank. True whenever a set is given.
        solves: Number of solves that the search made.
        cut_short: Whether a limit of solves or time ended the search. It may then have missed a smaller set.
        not_applicable: Why no set is given; None if there is one.
    """

    direction: str
    rank: int
    rank_after: int
    count: int
    unit: str
    results: list[WhyResult]
    tasks: list[str]
    few: int
    at_least: int
    smallest: bool
    verified: bool
    solves: int
    cut_short: bool
    not_applicable: str | None = None


class WhyMove(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""New results of one pair, and their effect on the rating.

Wins, losses and ties are all 0 if earlier results of the pair count for the first time: the earlier solve did not rate the pair
together with the explained agent.

    Attributes:
        agent: Name of an agent of the pair; the explained agent if it is one of the two.
        opponent: Name of its opponent.
        wins: Wins of `agent` since.
        losses: Losses of `agent` since.
        ties: Ties since.
        effect: Change of the explained agent's rating by these results.
    """

    agent: str
    opponent: str
    wins: float
    losses: float
    ties: float
    effect: float


class WhyMovedTerm(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""A term at both positions. by: As in `WhySum`. name: As in `WhyTerm`. before, after: Value of the term; 0 where there was none."""

    by: str
    name: str
    before: float
    after: float


class WhyResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""Removed outcomes of one pair.

    Attributes:
        agent: Name of an agent.
        opponent: Name of its opponent.
        result: Result of `agent`: `won`, `lost` or `tied`.
        count: Number of outcomes.
    """

    agent: str
    opponent: str
    result: str
    count: int


class WhyState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""The agent at one position.

    Attributes:
        position: Log offset up to which outcomes were counted.
        outcomes: Number of outcomes of the pool.
        rating: Rating of the agent; None if it has none.
        rank: Rank of the agent among all agents of the solve; None if it was not part of the solve, and for an online method.
    """

    position: int
    outcomes: int
    rating: float | None
    rank: int | None


class WhySum(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""A sum that explains the rating.

    Attributes:
        by: What its terms belong to: `opponent`, `task` or `place`.
        quantity: What a term is.
        meaning: What the sum says about the agent.
        total: What the terms sum to by the solution: the rating, or 0 for a balance. None if the terms are evidence and no sum.
        sum: Sum of all terms, `rest` included.
        allowed: Largest difference of `sum` and `total` that the certificate of the solution allows.
        rest: Terms of no opponent, task or place, such as the prior, by name.
        terms: The largest terms by absolute value, largest first. Of Copeland's points: lost ones, then half ones, then the closest wins.
        others: Number of terms that are not listed.
        others_sum: Sum of these terms.
    """

    by: str
    quantity: str
    meaning: str
    total: float | None
    sum: float
    allowed: float
    rest: dict[str, float]
    terms: list[WhyTerm]
    others: int
    others_sum: float


class WhyTerm(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""One term of a sum.

    Attributes:
        name: Opponent, task or place.
        value: The term.
        share: Its share of the sum of all absolute terms, with its sign.
        details: Further numbers of the row, by name, such as `games`, `points`, `expected`, `margin` or `probability`.
    """

    name: str
    value: float
    share: float
    details: dict[str, float]
