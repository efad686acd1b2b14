"""Limits on agents and tasks: the same outcomes are refused as one by one."""

import random

import msgspec
import pytest

from ratings_core.arrays.digest import digest
from services.control.records import FoldSettings
from services.state.pool import PoolState
from services.wire.events import Event, GameEvent, ScoreEvent, Side
from services.wire.pools import Kind
from tests.support.folds import fold_events
from tests.support.pools import state_of


def pool(kind: Kind, aliases: dict[str, str], **limits: int) -> PoolState:
    return state_of(kind=kind, fold=FoldSettings(**limits), aliases=aliases)  # type: ignore[arg-type]


def drawn(kind: Kind, draw: random.Random, names: int, n: int) -> list[Event]:
    """Outcomes of up to five agents, some of them sent twice."""
    events: list[Event] = []
    for i in range(n):
        agents = draw.sample([f"a{k}" for k in range(names)], draw.randrange(2, 6))
        head = {"v": 1, "id": f"i{draw.randrange(2 * n) if i else 0}", "pool": "p", "time": float(i)}
        if kind is Kind.GAMES:
            sides = [Side([agent], place) for place, agent in enumerate(agents)]
            events.append(GameEvent(**head, sides=sides))  # type: ignore[arg-type]
        else:
            scores = dict.fromkeys(agents, 1.0)
            events.append(ScoreEvent(**head, task=f"t{draw.randrange(names // 4)}", scores=scores))  # type: ignore[arg-type]
    return events


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("seed", range(12))
def test_a_call_refuses_what_is_refused_one_by_one(kind: Kind, seed: int) -> None:
    draw = random.Random(seed)
    names = draw.choice([12, 30, 60])
    events = drawn(kind, draw, names, draw.choice([7, 40, 150]))
    aliases = draw.choice([{}, {"a0": "a1", "a2": "a3"}])
    limits = {"max_agents": draw.randrange(2, names + 2), "max_tasks": draw.randrange(1, 8)}
    together, alone = pool(kind, aliases, **limits), pool(kind, aliases, **limits)
    refused = sorted(fold_events(together, events))
    singly = [one._replace(at=at) for at, event in enumerate(events) for one in fold_events(alone, [event])]
    assert refused == singly
    assert digest(together.arrays()) == digest(alone.arrays())
    assert msgspec.to_builtins(together.content.counts) == msgspec.to_builtins(alone.content.counts)
