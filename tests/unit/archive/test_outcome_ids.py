"""Outcomes of the history beside rows of the archive: teams, sides in any order, places as they were sent, weights and aliases."""

from types import SimpleNamespace
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from services.admin import outcome_ids
from services.archive.schema import SCHEMA
from services.boards.agent_history import AgentOutcome, AgentOutcomes, OutcomeSide
from services.control.records import ControlState
from tests.support.pools import control_of, pool_of

ROWS = [
    {"id": "team", "time": 5.0, "weight": 0.3, "agents": ["a", "b", "c", "d"], "sides": [0, 0, 1, 1], "places": [4, 4, -1, -1]},
    {"id": "same teams, won by the others", "time": 5.0, "weight": 0.3, "agents": ["a", "b", "c", "d"], "sides": [0, 0, 1, 1],
     "places": [0, 0, 3, 3]},
    {"id": "three", "time": 6.0, "weight": 1.0, "agents": ["x", "a", "alias"], "sides": [0, 1, 2], "places": [2, 2, 1]},
    {"id": "later", "time": 7.0, "weight": 1.0, "agents": ["a", "b"], "sides": [0, 1], "places": [0, 1]},
]  # fmt: skip


LOG: Any = SimpleNamespace(outcomes=SimpleNamespace(partitions=1), history=SimpleNamespace(begin=lambda _partition: 0))
"""A log of one partition that begins at 0."""


def outcome(number: int, time: float, place: int, team: list[str], opponents: list[tuple[int, list[str]]], weight: float) -> AgentOutcome:
    sides = [OutcomeSide(agents=agents, place=at) for at, agents in opponents]
    terms: dict[str, Any] = {"score": 0.0, "before": 0.0, "after": 0.0, "change": 0.0, "expected_score": 0.5}
    return AgentOutcome(
        outcome=number, time=time, weight=weight, result="lost", place=place, team=team, opponents=sides, p_win=None, p_tie=None, gain=None,
        **terms,
    )  # fmt: skip


def test_outcomes_are_found_by_their_content(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def tables(_log: object, _control: ControlState, wanted: Any) -> Any:
        asked.append(wanted)
        return iter([(pa.Table.from_pylist(ROWS, pa.schema([SCHEMA.field(name) for name in ROWS[0]])), 4)])

    monkeypatch.setattr(outcome_ids, "tables", tables)
    control = control_of(pool_of("p"), aliases={"alias": "y", "old": "a"}, start=3)
    weight = round(0.3 * 2**20) / 2**20
    outcomes = [
        outcome(3, 6.0, 2, [], [(1, ["y"]), (2, ["x"])], 1.0),
        outcome(2, 5.0, 2, ["b"], [(1, ["d", "c"])], weight),
        outcome(1, 5.0, 2, ["b"], [(1, ["d", "c"])], 1.0),
    ]
    answer = AgentOutcomes(
        pool="p", agent="a", generation=1, position=9, age_seconds=0.0, method="elo", total=3, missing=0, outcomes=outcomes, next=None
    )
    found = outcome_ids.with_ids(LOG, control, answer)
    assert [one.ids for one in found.outcomes] == [["three"], ["team"], []]
    (wanted,) = asked
    assert (wanted.range.begin, wanted.range.end, wanted.range.since, set(wanted.agents)) == (3, 9, 5.0, {"a", "old"})
    assert 6.0 < wanted.range.until < 6.0001
    assert outcome_ids.with_ids(LOG, control, msgspec.structs.replace(answer, outcomes=[])).outcomes == []
