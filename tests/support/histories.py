"""A readable twin of the history of a pool: each outcome folded alone, with ratings as readers see them before and after it."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from services.state.history import TracedOutcomes
from services.state.pool import PoolState
from services.wire.events import GameEvent
from tests.support.folds import fold_events


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
