"""A readable twin of the history of a pool: each outcome folded alone, with ratings as readers see them before and after it."""

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from services.control.records import FoldSettings
from services.state.history import TracedOutcomes
from services.state.pool import PoolState
from services.wire.events import GameEvent, Side
from tests.support.folds import fold_events
from tests.support.pools import state_of
from tests.support.served_pools import ServedPool

NAMES = ("Ann", "ann", "x/opponents", "a/b c?#%", "漢字", "agent-1", "agent-2", "agent-10")
FOLD = FoldSettings(online={"elo": {}, "weng_lin": {}})


class TwinRow(NamedTuple):
    """An agent in an outcome. outcome: its number from 1 on. sides: names and place of each side; places count from 1."""

    outcome: int
    agent: str
    time: float
    weight: float
    result: str
    side: int
    sides: tuple[tuple[tuple[str, ...], int], ...]
    before: dict[str, float]
    after: dict[str, float]


def twin_rows(state: PoolState, events: Sequence[GameEvent]) -> Iterator[TwinRow]:
    """Fold `events` into an empty state one by one, and yield a row for each agent of each outcome that counts."""
    counted = 0
    for event in events:
        before = {method: ratings_by_name(state, method) for method in state.content.ratings.raters}
        fold_events(state, [event])
        if state.content.counts["outcomes"] == counted:
            continue
        counted += 1
        yield from _rows_of(state, event, counted, before)


def ratings_by_name(state: PoolState, method: str) -> dict[str, float]:
    """Rating of each agent by a method."""
    ids = np.arange(len(state.content.agents), dtype=np.int32)
    return dict(zip(state.content.agents.names(), state.content.ratings.read(method, ids).rating.tolist(), strict=True))


def _rows_of(state: PoolState, event: GameEvent, number: int, before: dict[str, dict[str, float]]) -> Iterator[TwinRow]:
    raters = state.content.ratings.raters
    after = {method: ratings_by_name(state, method) for method in raters}
    new = {method: rater.read(rater.init(1), np.zeros(1, np.int32)).rating[0].item() for method, rater in raters.items()}
    places = [side.place for side in event.sides]
    sides = tuple((tuple(side.agents), 1 + sum(place < side.place for place in places)) for side in event.sides)
    for at, side in enumerate(event.sides):
        leads = side.place == min(places)
        result = "lost" if not leads else "drawn" if places.count(side.place) > 1 else "won"
        for agent in side.agents:
            yield TwinRow(
                outcome=number, agent=agent, time=event.time, weight=event.weight, result=result, side=at, sides=sides,
                before={method: before[method].get(agent, new[method]) for method in raters},
                after={method: after[method][agent] for method in raters},
            )  # fmt: skip


def bits_of(outcomes: TracedOutcomes) -> dict[str, bytes]:
    """All columns of a segment or a window as bytes."""
    return {name: array.tobytes() for name, array in outcomes.arrays().items()}


def games(count: int = 200) -> list[GameEvent]:
    """Games of two to four sides, some of them teams, with ties and weights."""
    draw, made = random.Random(3), []
    for i in range(count):
        agents = draw.sample(NAMES, draw.choice((2, 2, 3, 4)))
        sides = [Side(agents=[agent], place=draw.randrange(3)) for agent in agents]
        if len(agents) == 4 and i % 2:
            sides = [Side(agents=agents[:2], place=0), Side(agents=agents[2:], place=1)]
        weight = draw.choice((1.0, 1.0, 0.5, 2.0))
        made.append(GameEvent(v=1, id=str(i), pool="blitz", time=float(i), sides=sides, weight=weight))
    return made


def folded(served: ServedPool, events: list[GameEvent], fold: FoldSettings = FOLD, state: PoolState | None = None) -> PoolState:
    """Fold `events` into a state, a new one by default, whose complete segments are written as files."""
    state = state or state_of("blitz", fold=fold)
    served.keep_segments(state)
    assert fold_events(state, events) == []
    return state
