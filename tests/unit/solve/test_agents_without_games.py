"""Agents that keep a rating from the season before and have not played yet are in no solved board and in no insight."""

import msgspec

from services.runtime.settings import PROVISIONAL
from services.solve.problems.checkpointed import problem
from services.solve.registry.methods import solve
from services.solve.worker.evidence import by_evidence
from services.wire.events import Event, decode
from services.wire.pools import Kind
from tests.support.folds import fold_events
from tests.support.pools import state_of


def wins(winner: str, loser: str, count: int) -> list[Event]:
    sides = [{"agents": [winner], "place": 1}, {"agents": [loser], "place": 2}]
    values = [{"v": 1, "id": f"{winner}{i}", "pool": "p", "time": float(i), "sides": sides} for i in range(count)]
    return decode([msgspec.json.encode(value) for value in values]).events


def test_four_wins_over_one_opponent_beat_nobody_who_has_not_played() -> None:
    state = state_of(initial={"elo": {f"agent {i}": 1500.0 for i in range(200)}})
    assert fold_events(state, wins("agent 0", "agent 1", 4)) == []
    given = problem(Kind.GAMES, state.arrays())
    result = by_evidence(solve("copeland", given), state.arrays(), given, PROVISIONAL)
    assert [(row.agent, row.outcomes, row.opponents) for row in result.agents] == [("agent 0", 4, 1), ("agent 1", 4, 1)]
    assert [row.agent for row in solve("maximal_lottery", given).agents] == ["agent 0", "agent 1"]
