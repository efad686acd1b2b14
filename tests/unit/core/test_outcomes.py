"""Outcomes and their columns: what is refused, and what the columns of good ones are."""

import numpy as np
import pytest

from ratings_core.errors import InputError
from ratings_core.records.outcomes import MAX_PLACE, WEIGHT_ONE, Outcome, OutcomeBatch, ScoreBatch, Scores, Side, fixed_weight
from ratings_core.records.roster import Roster

A, B = Side(("ann",), 1), Side(("bob",), 2)


def refused(make, argument):
    with pytest.raises(InputError) as caught:
        make()
    assert caught.value.argument == argument


@pytest.mark.parametrize("place", [1.5, 1.0, "1", True, None, MAX_PLACE + 1, -(2**31) - 1])
def test_places_are_whole_numbers_within_their_column(place):
    """A column of integers would take 1.2 and 1.9 for a tie."""
    refused(lambda: Side(("ann",), place), "place")


def test_one_name_is_not_taken_for_its_letters():
    refused(lambda: Side("ann", 1), "agents")


@pytest.mark.parametrize(
    ("sides", "other", "argument"),
    [
        ((A,), {}, "sides"),
        (tuple(Side((f"a{i}",), i) for i in range(65)), {}, "sides"),
        ((A, Side((), 2)), {}, "sides"),
        ((A, Side(("bob", "ann"), 2)), {}, "sides"),
        ((A, Side(tuple(f"a{i}" for i in range(4096)), 2)), {}, "sides"),
        ((A, B), {"time": np.inf}, "time"),
        ((A, B), {"weight": np.nan}, "weight"),
        ((A, B), {"weight": 0.0009}, "weight"),
        ((A, B), {"weight": 1000.1}, "weight"),
    ],
)
def test_games_that_break_a_rule_are_refused(sides, other, argument):
    refused(lambda: Outcome(sides, **other), argument)


@pytest.mark.parametrize(
    ("scores", "other", "argument"),
    [
        ((), {}, "scores"),
        ((("ann", 1.0), ("ann", 2.0)), {}, "scores"),
        ((("ann", np.nan),), {}, "scores['ann']"),
        ((("ann", -1.1e15),), {}, "scores['ann']"),
        ((("ann", 1.0),), {"time": np.nan}, "time"),
        ((("ann", 1.0),), {"weight": 0.0}, "weight"),
    ],
)
def test_measurements_that_break_a_rule_are_refused(scores, other, argument):
    refused(lambda: Scores("t", scores, **other), argument)


def test_weights_are_rounded_to_the_nearest_unit():
    assert (fixed_weight(1), fixed_weight(0.001), fixed_weight(1000)) == (1 << 20, 1049, 1000 << 20)


@pytest.mark.parametrize("number", [np.int8, np.uint8, np.int16, np.float16, np.float32, np.int64])
def test_a_weight_of_few_bits_counts_as_the_same_weight_of_many(number):
    assert fixed_weight(number(3)) == 3 * WEIGHT_ONE


def test_columns_of_games():
    roster, tasks = Roster(), Roster()
    games = [Outcome((Side(("bob", "cy"), 7), A), 5.0, 0.5, "map"), Outcome((A, B))]
    batch = OutcomeBatch.of(games, roster, tasks)
    assert (roster.names(), tasks.names(), len(batch)) == (["bob", "cy", "ann"], ["map"], 2)
    assert (batch.side_start.tolist(), batch.place.tolist()) == ([0, 2, 4], [7, 1, 1, 2])
    assert (batch.agent_start.tolist(), batch.agent.tolist()) == ([0, 2, 3, 4, 5], [0, 1, 2, 2, 0])
    assert (batch.weight.tolist(), batch.time.tolist(), batch.task.tolist()) == ([WEIGHT_ONE // 2, WEIGHT_ONE], [5.0, 0.0], [0, -1])
    last = batch.slice(1, 2)
    assert (last.side_start.tolist(), last.agent_start.tolist(), last.agent.tolist()) == ([0, 2], [0, 1, 2], [2, 0])
    assert OutcomeBatch.of(games, roster).task.tolist() == [-1, -1]


def test_columns_of_measurements():
    roster, tasks = Roster(), Roster()
    batch = ScoreBatch.of([Scores("t", (("ann", 1.0), ("bob", -2.0)), 3.0, 2.0), Scores("u", (("bob", 4.0),))], roster, tasks)
    assert (batch.start.tolist(), batch.agent.tolist(), batch.score.tolist()) == ([0, 2, 3], [0, 1, 1], [1.0, -2.0, 4.0])
    assert (batch.task.tolist(), batch.weight.tolist(), batch.time.tolist()) == ([0, 1], [2 * WEIGHT_ONE, WEIGHT_ONE], [3.0, 0.0])


def ids(*values):
    return np.array(values, np.int32)


def test_pairs_say_who_won():
    batch = OutcomeBatch.of_pairs(ids(0, 1, 2), ids(1, 2, 0), np.array([1.0, 0.5, 0.0]), 3)
    assert (batch.agent.tolist(), batch.place.tolist()) == ([0, 1, 1, 2, 2, 0], [1, 2, 1, 1, 2, 1])


@pytest.mark.parametrize(
    ("first", "second", "result", "argument"),
    [
        (ids(0, 1), ids(1, 2), np.array([1.0]), "first, second, result"),
        (ids(0, 1), ids(1), np.array([1.0, 0.0]), "first, second, result"),
        (ids(0), ids(3), np.array([1.0]), "second"),
        (ids(-1), ids(0), np.array([1.0]), "first"),
        (np.array([0.5]), ids(1), np.array([1.0]), "first"),
        (ids(1), ids(1), np.array([1.0]), "second[0]"),
        (ids(0), ids(1), np.array([0.7]), "result"),
        (ids(0), ids(1), np.array([np.nan]), "result"),
    ],
)
def test_pairs_that_are_none_are_refused(first, second, result, argument):
    refused(lambda: OutcomeBatch.of_pairs(first, second, result, 3), argument)


def test_rankings_are_best_first():
    batch = OutcomeBatch.of_rankings(np.array([[2, 0, 1], [1, 2, 0]], np.int32), 3)
    assert (batch.agent.tolist(), batch.place.tolist(), batch.side_start.tolist()) == ([2, 0, 1, 1, 2, 0], [1, 2, 3] * 2, [0, 3, 6])


@pytest.mark.parametrize("games", [ids(0, 1), np.array([[0]], np.int32), np.array([[0, 3]]), np.array([[0, 1, 0]]), np.zeros((1, 65), int)])
def test_rankings_that_are_none_are_refused(games):
    refused(lambda: OutcomeBatch.of_rankings(games, 3), "games")
