"""Events as columns: a twin built from `OutcomeBatch.of`, selections, and what the body hash covers."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Raw

from ratings_core.columns.outcomes import Games, TaskScores
from ratings_core.records.outcomes import Outcome, OutcomeBatch, ScoreBatch, Scores
from ratings_core.records.outcomes import Side as CoreSide
from ratings_core.records.roster import Roster
from services.wire.columns import columns_of_games, columns_of_retractions, columns_of_scores
from services.wire.events import GameEvent, RetractEvent, ScoreEvent, Side

TAGS = st.just(UNSET) | st.dictionaries(st.sampled_from(["map", "language"]), st.sampled_from(["Deutsch", "Ελληνικά", 'a"b']))
NAMES = st.sampled_from(["a", "b", "Curaçao", "d" * 40, "e e"])


@st.composite
def game(draw: st.DrawFn) -> GameEvent:
    agents = draw(st.lists(NAMES, min_size=2, max_size=5, unique=True))
    cut = draw(st.integers(1, len(agents) - 1))
    sides = [Side(agents[:cut], draw(st.integers(-3, 3))), Side(agents[cut:], draw(st.integers(-3, 3)))]
    return GameEvent(v=1, id=draw(NAMES), pool="p", time=draw(st.floats(-9, 9)), sides=sides, task=draw(st.none() | NAMES),
                     weight=draw(st.floats(0.001, 1000)), meta=draw(st.sampled_from([UNSET, Raw(b"{}"), Raw(b'{"a":1}')])),
                     tags=draw(TAGS))  # fmt: skip


@st.composite
def score(draw: st.DrawFn) -> ScoreEvent:
    scores = draw(st.dictionaries(NAMES, st.floats(-1e15, 1e15), min_size=1))
    weight, time = draw(st.floats(0.001, 1000)), draw(st.floats(-9, 9))
    return ScoreEvent(v=1, id=draw(NAMES), pool="p", time=time, task=draw(NAMES), scores=scores, weight=weight, tags=draw(TAGS))


def core(event: GameEvent) -> Outcome:
    return Outcome(tuple(CoreSide(tuple(side.agents), side.place) for side in event.sides), event.time, event.weight, event.task)


def assert_tags(columns: Any, events: Any) -> None:
    expected = [{} if event.tags is UNSET else dict(sorted(event.tags.items())) for event in events]
    assert (columns.tags is None) == (not any(expected))
    if columns.tags is not None:
        assert [json.loads(text or "{}") for text in columns.tags.names()] == expected


def assert_equal(ours: Any, twin: Any, *ignored: str) -> None:
    for field in twin.__slots__:
        if field not in ignored:
            np.testing.assert_array_equal(getattr(ours, field), getattr(twin, field), err_msg=field)
            assert getattr(ours, field).dtype == getattr(twin, field).dtype


@given(st.lists(game(), max_size=6), st.data())
def test_games_are_the_batch_that_outcomes_give(events: list[GameEvent], data: st.DataObject) -> None:
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(events), max_size=len(events))), np.bool_)
    columns = columns_of_games(events).take(mask)
    kept = [event for event, keep in zip(events, mask, strict=True) if keep]
    roster, tasks, roster2, tasks2 = Roster(), Roster(), Roster(), Roster()
    ours = columns.batch(roster.intern_coded(columns.names), tasks.intern_packed(columns.tasks))
    twin = OutcomeBatch.of([core(event) for event in kept], roster2, tasks2)
    assert_equal(ours, twin, "key")
    assert (roster.names(), tasks.names()) == (roster2.names(), tasks2.names())
    assert len(columns) == len(kept)
    assert_equal(columns, columns_of_games(kept), "names", "tasks", "meta", "tags")
    assert_tags(columns, kept)
    parts = [columns_of_games(kept[:2]), columns_of_games(kept[2:])]
    assert_tags(Games.joined(parts), kept)
    assert Games.joined(parts).body_hash.tolist() == columns.body_hash.tolist()
    assert columns.meta.names() == ["" if event.meta is UNSET else bytes(event.meta).decode() for event in kept]


@given(st.lists(score(), max_size=6), st.data())
def test_scores_are_the_batch_that_measurements_give(events: list[ScoreEvent], data: st.DataObject) -> None:
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(events), max_size=len(events))), np.bool_)
    columns = columns_of_scores(events).take(mask)
    kept = [event for event, keep in zip(events, mask, strict=True) if keep]
    ours = columns.batch(Roster().intern_coded(columns.names), Roster().intern_packed(columns.tasks))
    twin = ScoreBatch.of([Scores(event.task, tuple(event.scores.items()), event.time, event.weight) for event in kept], Roster(), Roster())
    assert_equal(ours, twin)
    assert_equal(columns, columns_of_scores(kept), "names", "tasks", "tags")
    assert_tags(columns, kept)
    assert_tags(TaskScores.joined([columns_of_scores(kept[:2]), columns_of_scores(kept[2:])]), kept)


BASE = {"v": 1, "id": "i", "pool": "p", "time": 1.0, "task": "t", "weight": 2.0}


def game_hash(*sides: tuple[list[str], int], **changed: Any) -> int:
    made = [Side(agents, place) for agents, place in sides or ((["a"], 1), (["b", "c"], 2))]
    return int(columns_of_games([GameEvent(**{**BASE, **changed}, sides=made)]).body_hash[0])


def score_hash(scores: dict[str, float], **changed: Any) -> int:
    return int(columns_of_scores([ScoreEvent(**{**BASE, **changed}, scores=scores)]).body_hash[0])


@pytest.mark.parametrize("changed", [{"id": "other"}, {"time": 9.0}])
def test_a_retry_stamped_anew_has_the_same_body(changed: dict[str, Any]) -> None:
    assert game_hash(**changed) == game_hash()
    assert score_hash({"a": 1.0}, **changed) == score_hash({"a": 1.0})


def test_all_else_is_another_body() -> None:
    bodies = [
        game_hash(), game_hash(task=None), game_hash(task="u"), game_hash(weight=2.5), game_hash((["a"], 2), (["b", "c"], 1)),
        game_hash((["a", "b"], 1), (["c"], 2)), game_hash((["a"], 1), (["c", "b"], 2)), game_hash((["ab"], 1), (["c"], 2)),
        score_hash({"a": 1.0}), score_hash({"a": 2.0}), score_hash({"b": 1.0}), score_hash({"a": 1.0, "b": 1.0}),
        score_hash({"a": 1.0}, task="u"), score_hash({"a": 1.0}, weight=3.0),
        game_hash(tags={"a": "b"}), game_hash(tags={"a": "c"}), game_hash(tags={"b": "a"}), score_hash({"a": 1.0}, tags={"a": "b"}),
    ]  # fmt: skip
    assert len(set(bodies)) == len(bodies)


def test_tags_in_another_order_are_the_same_body() -> None:
    assert game_hash(tags={"a": "x", "b": "y"}) == game_hash(tags={"b": "y", "a": "x"})
    assert game_hash(tags={}) == game_hash()


def test_scores_in_another_order_are_the_same_body() -> None:
    assert score_hash({"a": 1.0, "b": 2.0}) == score_hash({"b": 2.0, "a": 1.0}) != score_hash({"a": 2.0, "b": 1.0})
    assert score_hash({"a": 0.0}) == score_hash({"a": -0.0})


def test_a_retraction_hashes_to_the_outcome_it_means() -> None:
    columns = columns_of_games([GameEvent(**{**BASE, "id": "x"}, sides=[Side(["a"], 1), Side(["b"], 2)])])
    np.testing.assert_array_equal(
        columns_of_retractions([RetractEvent(v=1, id="r", pool="p", time=0.0, retracts="x")]).id_hash, columns.id_hash
    )
