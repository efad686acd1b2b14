"""Forecasts of games by the live methods of a pool, each beside the record of the method's earlier forecasts."""

from collections.abc import Mapping, Sequence

import msgspec

from ratings_core.errors import InputError
from ratings_core.records.forecasts import ForecastModel, Strength, evenness, expected_score, tie_probability, win_probabilities
from ratings_core.records.outcomes import MAX_AGENTS, MAX_SIDES
from services.boards.store.protocol import LiveForecasts, PoolHead
from services.boards.store.redis import RedisStore

_NO_MODEL = "its forecasts need more than ratings and deviations"
_EARLIER = "the pool's head was written by an earlier version: the next outcome renews it"


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
        expected_score: Mean result against the other sides; a win is 1 and a tie 1/2.
        win: Probability to end before all other sides.
    """

    agents: list[str]
    expected_score: float
    win: float


class MatchForecast(msgspec.Struct, frozen=True, kw_only=True):
    """Forecast of one game.

    Attributes:
        sides: The sides in the order of the request.
        tie: Probability of a tie of two sides; None for more sides.
        quality: Entropy of who ends first over that of an even game: 1 is even, 0 is decided.
    """

    sides: list[SideForecast]
    tie: float | None
    quality: float


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Record of a method's earlier forecasts, each made before its outcome was counted.

    Attributes:
        pairs: Number of forecast pairs of sides, by weight. Without pairs, the other figures are None.
        log_loss: Mean log loss, in nats. Forecasts of 1/2 have 0.6931.
        brier: Mean squared distance of forecast and result.
        calibration_error: Mean distance of forecasts and results in classes of equal forecasts.
        wins_predicted: Share of decided pairs whose winner was the favourite. An even forecast counts half.
    """

    pairs: float
    log_loss: float | None
    brier: float | None
    calibration_error: float | None
    wins_predicted: float | None


class MethodForecasts(msgspec.Struct, frozen=True, kw_only=True):
    """Forecasts of one method.

    Attributes:
        method: Name of the method.
        record: Record of its earlier forecasts.
        matches: Its forecasts, in the order of the request.
    """

    method: str
    record: Record
    matches: list[MatchForecast]


class Predictions(msgspec.Struct, frozen=True, kw_only=True):
    """Forecasts of games.

    Attributes:
        pool: Name of the pool.
        generation: Generation of the pool.
        position: Log offset up to which outcomes were counted, at least.
        methods: Forecasts of each method.
        without: Method -> why it forecasts nothing.
    """

    pool: str
    generation: int
    position: int
    methods: list[MethodForecasts]
    without: dict[str, str]


class Matchups(msgspec.Struct, frozen=True, kw_only=True):
    """Expected scores of agents against each other.

    Attributes:
        pool: Name of the pool.
        generation: Generation of the pool.
        position: Log offset up to which outcomes were counted, at least.
        method: Name of the method.
        record: Record of the method's earlier forecasts.
        agents: Names of the agents, in the order of the request.
        expected_scores: Expected score of each agent (row) against each agent (column); None against itself.
        ties: Probability of a tie of each pair; None against itself.
    """

    pool: str
    generation: int
    position: int
    method: str
    record: Record
    agents: list[str]
    expected_scores: list[list[float | None]]
    ties: list[list[float | None]]


class UnknownAgents(Exception):  # noqa: N818 - the answer is 404, as of a missing pool
    """Agents that are not on the pool's boards. names: Their names."""

    def __init__(self, names: Sequence[str]) -> None:
        shown = ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        super().__init__(f"no outcome of the pool has the agents {shown}")
        self.names = names


def predictions(store: RedisStore, head: PoolHead, matches: Sequence[Match], methods: Sequence[str] | None = None) -> Predictions:
    """Forecast games by the pool's live methods.

    Args:
        store: The store.
        head: Head of the pool.
        matches: The games.
        methods: Names of the methods; None for all online methods of the pool.

    Raises:
        InputError: A game has fewer than 2 sides or too many, a side without agents, or an agent twice; or a method is not an online method
            of the pool.
        UnknownAgents: Agents are not on the boards.
        StoreError: The store does not answer.
    """
    for i, match in enumerate(matches):
        _check(f"matches[{i}].sides", match.sides)
    names = list(dict.fromkeys(agent for match in matches for side in match.sides for agent in side))
    without: dict[str, str] = {}
    forecasts = []
    for method in _chosen(head, methods):
        known = head.forecasts.get(method)
        if known is None or known.model is None:
            without[method] = _EARLIER if known is None else _NO_MODEL
            continue
        strengths = _strengths(store, head, method, names)
        made = [_forecast(known.model, known, match.sides, strengths) for match in matches]
        forecasts.append(MethodForecasts(method=method, record=_record(head, method), matches=made))
    return Predictions(pool=head.pool, generation=head.generation, position=head.position, methods=forecasts, without=without)


def matchups(store: RedisStore, head: PoolHead, agents: Sequence[str], method: str) -> Matchups:
    """Expected scores of `agents` against each other by an online method.

    Raises:
        InputError: An agent is named twice, or the method is not an online method of the pool, or cannot forecast.
        UnknownAgents: Agents are not on the board.
        StoreError: The store does not answer.
    """
    if len(set(agents)) != len(agents) or len(agents) < 2:
        raise InputError("agents", agents, "must be two or more, each once")
    known = head.forecasts.get(_chosen(head, [method])[0])
    if known is None or known.model is None:
        raise InputError("method", method, f"must be a method that forecasts; {_EARLIER if known is None else _NO_MODEL}")
    strengths = list(_strengths(store, head, method, agents).values())
    expected = [[expected_score(known.scale * known.model.log_odds(a, b)) for b in strengths] for a in strengths]
    return Matchups(
        pool=head.pool,
        generation=head.generation,
        position=head.position,
        method=method,
        record=_record(head, method),
        agents=list(agents),
        expected_scores=[[None if i == j else score for j, score in enumerate(row)] for i, row in enumerate(expected)],
        ties=[[None if i == j else tie_probability(score, known.classes) for j, score in enumerate(row)] for i, row in enumerate(expected)],
    )


def _check(argument: str, sides: Sequence[Sequence[str]]) -> None:
    agents = [agent for side in sides for agent in side]
    if not 2 <= len(sides) <= MAX_SIDES:
        raise InputError(argument, len(sides), f"must be 2 to {MAX_SIDES} sides")
    if not all(sides):
        raise InputError(argument, sides, "must each name at least one agent")
    if len(agents) > MAX_AGENTS or len(set(agents)) != len(agents):
        raise InputError(argument, sides, f"must name at most {MAX_AGENTS} agents, each once")


def _chosen(head: PoolHead, methods: Sequence[str] | None) -> list[str]:
    if methods is None:
        return head.online
    for method in methods:
        if method not in head.online:
            raise InputError("method", method, f"must be an online method of pool {head.pool}: {', '.join(head.online) or 'it has none'}")
    return list(dict.fromkeys(methods))


def _strengths(store: RedisStore, head: PoolHead, method: str, agents: Sequence[str]) -> dict[str, Strength]:
    """Agent -> its strength. Raises `UnknownAgents`."""
    read = dict(zip(agents, store.live.strengths(head, method, agents), strict=True))
    if missing := [agent for agent, strength in read.items() if strength is None]:
        raise UnknownAgents(missing)
    return {agent: strength for agent, strength in read.items() if strength is not None}


def _forecast(
    model: ForecastModel, known: LiveForecasts, sides: Sequence[Sequence[str]], strengths: Mapping[str, Strength]
) -> MatchForecast:
    teams = [model.team([strengths[agent] for agent in side]) for side in sides]
    log_odds = [[known.scale * model.log_odds(a, b) for b in teams] for a in teams]
    expected = [sum(expected_score(x) for j, x in enumerate(row) if j != i) / (len(teams) - 1) for i, row in enumerate(log_odds)]
    tie = tie_probability(expected[0], known.classes) if len(teams) == 2 else None
    first = win_probabilities(log_odds)
    wins = first if tie is None else [score - tie / 2 for score in expected]
    shown = [SideForecast(agents=list(side), expected_score=score, win=win) for side, score, win in zip(sides, expected, wins, strict=True)]
    return MatchForecast(sides=shown, tie=tie, quality=evenness(first))


def _record(head: PoolHead, method: str) -> Record:
    figures = head.prequential.get(method, {})
    kendall = figures.get("kendall")
    return Record(
        pairs=figures.get("pairs", 0.0),
        log_loss=figures.get("log_loss"),
        brier=figures.get("brier"),
        calibration_error=figures.get("calibration_error"),
        wins_predicted=None if kendall is None else 1.0 - kendall,
    )
