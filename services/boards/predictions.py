"""Forecasts of games by the live methods of a pool, each beside the record of the method's earlier forecasts."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

import msgspec

from ratings_core.errors import InputError
from ratings_core.records.forecasts import (
    Floats,
    ForecastClass,
    ForecastModel,
    Strength,
    Ties,
    evenness,
    expected_scores,
    win_probabilities,
)
from ratings_core.records.names import check_name
from ratings_core.records.outcomes import MAX_SIDES
from ratings_core.records.shapes import LEAST_PAIRS, SINGLES, Shape, why_no_forecast
from services.boards.agent_index import AgentIndex, Results, outcomes_of
from services.boards.slice_boards import board_name
from services.boards.store.protocol import ACTIVITY, PoolHead, ShapeForecasts
from services.boards.store.redis import RedisStore
from services.wire.pools import Kind

_MOST_SEATS: Final = 1000
"""Most agents of all games of a request together; an agent counts in each of its games. It bounds the work of a request, about a
millisecond for each game."""
_NO_MODEL: Final = "its forecasts need more than ratings and deviations"
_NOT_APART: Final = (
    "its record does not tell shapes of games apart, as in pools of an earlier release: `equirank pools settings POOL --set by_shape=true` "
    "folds the pool again"
)


class Match(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A game that was not played.

    Attributes:
        sides: Names of the agents of each side.
    """

    sides: list[list[str]]


class SideForecast(msgspec.Struct, frozen=True, kw_only=True):
    """Forecast of one side.

    Attributes:
        agents: Names of its agents.
        rank: Rank of the side by the method's ratings: 1 for the strongest one, and equal sides share a rank.
        expected_score: Mean result against the other sides; a win is 1 and a tie 1/2. None if `no_forecast` of the game says why.
        win: Probability to win: of two sides, 1 less the probabilities of a tie and a loss; of more sides, to end before all others if
            nothing is tied. None as `expected_score`.
    """

    agents: list[str]
    rank: int
    expected_score: float | None
    win: float | None


class MatchForecast(msgspec.Struct, frozen=True, kw_only=True):
    """Forecast of one game.

    Attributes:
        sides: The sides in the order of the request.
        shape: Shape of the game: sizes of its smallest and its largest side, such as `1:1` or `2:2`. Scales and records of forecasts are
            those of a shape.
        tie: Probability of a tie of two sides; None for more sides, and without a forecast.
        evenness: Entropy of who ends first over that of an even game: 1 is even, 0 is decided. None without a forecast.
        no_forecast: Why the game has no probabilities: the method has too few results of its shape. None if it has some.
    """

    sides: list[SideForecast]
    shape: str
    tie: float | None
    evenness: float | None
    no_forecast: str | None


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Record of a method's earlier forecasts of games of one shape, each made before its outcome was counted.

    Attributes:
        shape: Shape of the games, such as `1:1`.
        pairs: Number of forecast pairs of sides, by weight. Without pairs, the other figures are None.
        log_loss: Mean log loss, in nats. Forecasts of 1/2 have 0.6931.
        brier: Mean squared distance of forecast and result.
        calibration_error: Mean distance of forecasts and results in ten classes of forecasts.
        wins_predicted: Share of decided pairs whose winner was the favourite. An even forecast counts half.
        enough: Whether there are `least_pairs` pairs. With fewer, the figures say little about the method.
        least_pairs: Number of pairs from which the figures are meaningful.
        classes: Calibration: pairs by the forecast of their favourite (0.5 to 0.55, and so on up to 1): number of pairs, mean forecast,
            mean result (a tie is 1/2), share of ties. Only classes with a pair.
    """

    shape: str
    pairs: float
    log_loss: float | None
    brier: float | None
    calibration_error: float | None
    wins_predicted: float | None
    enough: bool
    least_pairs: float
    classes: list[ForecastClass]


class MethodForecasts(msgspec.Struct, frozen=True, kw_only=True):
    """Forecasts of one method.

    Attributes:
        method: Name of the method.
        records: Records of its earlier forecasts, one for each shape of the requested games.
        matches: Its forecasts, in the order of the request.
    """

    method: str
    records: list[Record]
    matches: list[MatchForecast]


class Met(msgspec.Struct, frozen=True, kw_only=True):
    """Record of the first agent of a duel against the second one, up to a checkpoint. Compare it with the forecasts.

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


class OfPool(msgspec.Struct, frozen=True, kw_only=True):
    """What every answer with forecasts says of its pool; its subclasses describe the fields."""

    pool: str
    generation: int
    position: int


class Predictions(OfPool, frozen=True, kw_only=True):
    """Forecasts of games.

    Attributes:
        pool: Name of the pool.
        generation: Generation of the pool.
        position: Log offset up to which outcomes were counted, at least.
        met: Record of the two agents of each game, in the order of the request. None for a game of teams or of more than two sides, for a
            hidden agent, and while the pool has no checkpoint that can be read.
        methods: Forecasts of each method.
        without: Method -> why it forecasts nothing.
        slice: Slice of the pool whose ratings and games these are, such as `language:English`. Absent for all outcomes. Scales,
            probabilities of ties, and records of forecasts are those of the pool, because a slice has none.
    """

    met: list[Met | None]
    methods: list[MethodForecasts]
    without: dict[str, str]
    slice: str | msgspec.UnsetType = msgspec.UNSET


class Matchups(OfPool, frozen=True, kw_only=True):
    """Expected scores of agents against each other.

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

    method: str
    record: Record
    agents: list[str]
    expected_scores: list[list[float | None]]
    ties: list[list[float | None]]
    slice: str | msgspec.UnsetType = msgspec.UNSET


class UnknownAgents(Exception):  # noqa: N818 - the answer is 404, as of a missing pool
    """Agents that are not on the boards of the pool, or of its slice `part`."""

    def __init__(self, names: Sequence[str], part: str = "") -> None:
        super().__init__(f"{f'slice {part} of the pool' if part else 'the pool'} has no agents {_listed(names)}")


def predictions(
    store: RedisStore,
    head: PoolHead,
    matches: Sequence[Match],
    methods: Sequence[str] | None = None,
    index: AgentIndex | None = None,
    hidden: AbstractSet[str] = frozenset(),
    part: str = "",
) -> Predictions:
    """Forecast games by the live methods of a pool or of a slice.

    Args:
        store: The store.
        head: Head of the pool.
        matches: The games.
        methods: Names of the methods; None for all online methods of the pool.
        index: The index of the pool or the slice, of the generation of `head`, for records of pairs; None for none.
        hidden: Agents whose records are not shown.
        part: Slice of the pool, such as `language:English`, which the pool has; empty for all outcomes.

    Raises:
        InputError: A game has fewer than 2 sides or too many, a side without agents, or an agent twice; a name breaks a rule; there are
            more than `_MOST_SEATS` agents; a method is not an online method of the pool; or the pool has none.
        UnknownAgents: The pool does not have the agents.
        StoreError: The store does not answer.
    """
    agents = [agent for match in matches for side in match.sides for agent in side]
    if len(agents) > _MOST_SEATS:
        raise InputError("matches", len(agents), f"must have at most {_MOST_SEATS} agents in all")
    for i, match in enumerate(matches):
        _check_sides(f"matches[{i}].sides", match.sides)
    chosen, names = _chosen(head, methods, part), known_agents(store, head, agents, part)
    without: dict[str, str] = {}
    forecasts = []
    for method in chosen:
        live, why = ready(head, method)
        strengths = {} if live is None else _strengths(store, head, board_name(method, part), names)
        if live is None or isinstance(strengths, str):
            without[method] = why or str(strengths)
            continue
        made = [_forecast(live, match.sides, strengths) for match in matches]
        records = [record_of(head, method, shape) for shape in dict.fromkeys(match.shape for match in made)]
        forecasts.append(MethodForecasts(method=method, records=records, matches=made))
    met = [_met(index, match.sides, hidden) for match in matches]
    return Predictions(
        pool=head.pool,
        generation=head.generation,
        position=head.position,
        met=met,
        methods=forecasts,
        without=without,
        slice=part or msgspec.UNSET,
    )


def matchups(store: RedisStore, head: PoolHead, agents: Sequence[str], method: str, part: str = "") -> Matchups:
    """Expected scores of `agents` against each other by an online method. part: As of `predictions`.

    Raises:
        InputError: An agent is named twice, a name breaks a rule, or the method is not an online method of the pool, or cannot forecast
            games of two agents.
        UnknownAgents: The pool does not have the agents.
        StoreError: The store does not answer.
    """
    if len(set(agents)) != len(agents) or len(agents) < 2:
        raise InputError("agents", _listed(agents), "must be two or more, each once")
    _chosen(head, [method], part)
    names = known_agents(store, head, agents, part)
    live, why = ready(head, method)
    strengths = {} if live is None else _strengths(store, head, board_name(method, part), names)
    singles = why if live is None else live.of(SINGLES)
    if isinstance(singles, str) or isinstance(strengths, str):
        raise InputError(
            "method", method, f"must be a method that forecasts games of two agents; {singles if isinstance(singles, str) else strengths}"
        )
    expected = singles.expected(list(strengths.values()))
    return Matchups(
        pool=head.pool,
        generation=head.generation,
        position=head.position,
        method=method,
        record=record_of(head, method, str(SINGLES)),
        agents=names,
        expected_scores=_without_diagonal(expected),
        ties=_without_diagonal(singles.ties.probability(expected)),
        slice=part or msgspec.UNSET,
    )


def expected_against(
    store: RedisStore, head: PoolHead, agent: str, opponents: Sequence[str], method: str | None, part: str = ""
) -> tuple[str | None, list[float | None]]:
    """The expected score of an agent in a game against each of its opponents.

    Args:
        store: The store.
        head: Head of the pool.
        agent: Name of the agent.
        opponents: Names of the opponents.
        method: An online method that forecasts; None for the one of `best_forecaster`.
        part: As of `predictions`.

    Returns:
        The method, None if no method forecasts, and the expected scores; None if the method's board lacks an agent, or the method has
        too few results of games of single agents for a forecast.

    Raises:
        InputError: The method is not an online method of the pool, or cannot forecast.
        StoreError: The store does not answer.
    """
    chosen = best_forecaster(head, online_methods(head, part) if method is None else _chosen(head, [method], part))
    if chosen is None and method is not None:
        raise InputError("method", method, f"must be a method that forecasts; {ready(head, method)[1]}")
    live = None if chosen is None else ready(head, chosen)[0]
    singles = None if live is None else live.of(SINGLES)
    if not isinstance(singles, Forecaster):
        return chosen, [None] * len(opponents)
    own, *others = store.live.strengths(head, board_name(str(chosen), part), [agent, *opponents])
    known = [strength for strength in others if strength is not None]
    if own is None or not known:
        return chosen, [None] * len(opponents)
    scores = iter(singles.expected([own, *known])[0, 1:].tolist())
    return chosen, [None if strength is None else next(scores) for strength in others]


class Forecaster(NamedTuple):
    """What a method's forecasts of games of one shape need: its model, the scale of the log odds, and the probabilities of ties."""

    model: ForecastModel
    scale: float
    ties: Ties

    def log_odds(self, sides: Sequence[Strength]) -> Floats:
        """Calibrated log odds of each side against each, (n, n)."""
        return self.scale * self.model.log_odds(sides)

    def expected(self, sides: Sequence[Strength]) -> Floats:
        """Expected score of each side against each, (n, n)."""
        return expected_scores(self.log_odds(sides))


class Forecasters:
    """What a method's forecasts need, by shape of games.

    Args:
        model: The method's own log odds.
        shapes: Shape -> scale and record of its forecasts.
    """

    def __init__(self, model: ForecastModel, shapes: Mapping[str, ShapeForecasts]) -> None:
        self.model = model
        self._shapes = shapes
        self._made: dict[Shape, Forecaster | str] = {}

    def of(self, shape: Shape) -> Forecaster | str:
        """What forecasts of games of this shape need; a text that says why they cannot be made."""
        if shape not in self._made:
            self._made[shape] = self._make(str(shape))
        return self._made[shape]

    def _make(self, shape: str) -> Forecaster | str:
        if why := why_no_forecast(shape, _pairs(self._shapes)):
            return why
        one = self._shapes[shape]
        return Forecaster(self.model, one.scale, Ties(one.classes))


def _check_sides(argument: str, sides: Sequence[Sequence[str]]) -> None:
    agents = [agent for side in sides for agent in side]
    if not 2 <= len(sides) <= MAX_SIDES:
        raise InputError(argument, len(sides), f"must be 2 to {MAX_SIDES} sides")
    if not all(sides):
        raise InputError(argument, [len(side) for side in sides], "must each name at least one agent")
    if len(set(agents)) != len(agents):
        raise InputError(argument, _listed(agents), "must name each agent once")


def online_methods(head: PoolHead, part: str) -> list[str]:
    """The online methods of a pool, or of its slice `part`."""
    return [method for method in head.slices[part.partition(":")[0]].methods if method in head.online] if part else head.online


def _chosen(head: PoolHead, methods: Sequence[str] | None, part: str) -> list[str]:
    """The methods that are asked for, or all online methods. Raises `InputError` for others, and for a pool that forecasts nothing."""
    check_has_games(head)
    online = online_methods(head, part)
    if not online and methods is None:
        argument, value = ("slice", part) if part else ("pool", head.pool)
        raise InputError(argument, value, "must have an online method, because solved methods forecast no games")
    if methods is None:
        return online
    what = f"slice {part} of pool {head.pool}" if part else f"pool {head.pool}"
    for method in methods:
        if method not in online:
            raise InputError("method", method[:100], f"must be an online method of {what}: {', '.join(online) or 'it has none'}")
    return list(dict.fromkeys(methods))


def check_has_games(head: PoolHead) -> None:
    """Raise `InputError` for a pool of scores."""
    if head.kind == Kind.SCORES:
        raise InputError("pool", head.pool, "must be a pool of games: there is no game to forecast in a pool of scores")


def known_agents(store: RedisStore, head: PoolHead, agents: Sequence[str], part: str = "") -> list[str]:
    """The different agents, in their order. Raises `InputError` for no name, and `UnknownAgents`. part: As of `predictions`."""
    names = list(dict.fromkeys(check_name(agent, "agent") for agent in agents))
    counted = store.live.ratings_of(head, board_name(ACTIVITY, part), names)  # an agent that begins a season has no outcome at first
    if missing := [name for name, count in zip(names, counted, strict=True) if count is None]:
        raise UnknownAgents(missing, part)
    return names


def ready(head: PoolHead, method: str) -> tuple[Forecasters | None, str]:
    """What a method's forecasts need; None, and why, if it forecasts nothing."""
    live = head.forecasts_by_shape.get(method)
    if live is None or live.shapes is None:
        return None, _NOT_APART
    return (None, _NO_MODEL) if live.model is None else (Forecasters(live.model, live.shapes), "")


def best_forecaster(head: PoolHead, methods: Sequence[str]) -> str | None:
    """The method whose forecasts of games of two agents were best, by their mean log loss.

    Only methods with `LEAST_PAIRS` forecasts are compared; without one, it is the first method that forecasts. None if none does.
    """
    able = [method for method in methods if ready(head, method)[0] is not None]
    records = {method: record_of(head, method, str(SINGLES)) for method in able}
    losses = {method: one.log_loss for method, one in records.items() if one.enough and one.log_loss is not None}
    return min(losses, key=losses.__getitem__) if losses else next(iter(able), None)


def has_forecasts(head: PoolHead, method: str, shape: Shape) -> bool:
    """Whether the forecasts of a method have a record of games of this shape."""
    live = head.forecasts_by_shape.get(method)
    return live is not None and live.shapes is not None and why_no_forecast(str(shape), _pairs(live.shapes)) is None


def _pairs(shapes: Mapping[str, ShapeForecasts]) -> dict[str, float]:
    return {name: one.figures["pairs"] for name, one in shapes.items()}


def _strengths(store: RedisStore, head: PoolHead, method: str, agents: Sequence[str]) -> dict[str, Strength] | str:
    """Agent -> its strength; a text if the board lacks agents.

    It does for a moment when a generation begins to serve, and while an agent has only a rating by another method.
    """
    read = dict(zip(agents, store.live.strengths(head, method, agents), strict=True))
    missing = [agent for agent, strength in read.items() if strength is None]
    return f"its board has no rating of {_listed(missing)}" if missing else {agent: one for agent, one in read.items() if one is not None}


def _forecast(method: Forecasters, sides: Sequence[Sequence[str]], strengths: Mapping[str, Strength]) -> MatchForecast:
    shape = Shape.of([len(side) for side in sides])
    teams = [method.model.team([strengths[agent] for agent in side]) for side in sides]
    ranks = [1 + sum(other.mean > team.mean for other in teams) for team in teams]
    live = method.of(shape)
    if isinstance(live, str):
        ranked = [
            SideForecast(agents=list(side), rank=rank, expected_score=None, win=None) for side, rank in zip(sides, ranks, strict=True)
        ]
        return MatchForecast(sides=ranked, shape=str(shape), tie=None, evenness=None, no_forecast=live)
    log_odds = live.log_odds(teams)
    scores = (expected_scores(log_odds).sum(axis=1) - 0.5) / (len(teams) - 1)
    first = win_probabilities(log_odds)
    tie = float(live.ties.probability(scores[:1])[0]) if len(teams) == 2 else None
    wins = first if tie is None else scores - tie / 2
    shown = zip(sides, ranks, scores.tolist(), wins.tolist(), strict=True)
    forecasts = [SideForecast(agents=list(side), rank=rank, expected_score=score, win=win) for side, rank, score, win in shown]
    return MatchForecast(sides=forecasts, shape=str(shape), tie=tie, evenness=evenness(first), no_forecast=None)


def _met(index: AgentIndex | None, sides: Sequence[Sequence[str]], hidden: AbstractSet[str]) -> Met | None:
    """The record of the agents of a duel; None as `Predictions` says."""
    if index is None or not index.counts_games or len(sides) != 2 or any(len(side) > 1 for side in sides):
        return None
    names = [side[0] for side in sides]
    if not hidden.isdisjoint(names):
        return None
    first, second = map(index.find, names)
    results = Results(0, 0, 0) if first is None or second is None else index.met(first, second)
    wins, draws, losses = (float(outcomes_of(weight)) for weight in results)
    return Met(games=wins + draws + losses, wins=wins, draws=draws, losses=losses, position=index.entry.position)


def record_of(head: PoolHead, method: str, shape: str) -> Record:
    """Record of the earlier forecasts of a method, which forecasts, of games of one shape."""
    one = (head.forecasts_by_shape[method].shapes or {}).get(shape)
    figures, classes = ({}, []) if one is None else (one.figures, one.classes)
    kendall, pairs = figures.get("kendall"), figures.get("pairs", 0.0)
    return Record(
        shape=shape,
        pairs=pairs,
        log_loss=figures.get("log_loss"),
        brier=figures.get("brier"),
        calibration_error=figures.get("calibration_error"),
        wins_predicted=None if kendall is None else 1.0 - kendall,
        enough=pairs >= LEAST_PAIRS,
        least_pairs=LEAST_PAIRS,
        classes=classes,
    )


def _without_diagonal(matrix: Floats) -> list[list[float | None]]:
    rows: list[list[float | None]] = matrix.tolist()
    for i, row in enumerate(rows):
        row[i] = None
    return rows


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
