"""A trace says what each outcome did: ratings before and after it, and expected scores, as a reader of each state would see them."""

import dataclasses
import itertools

import numpy as np
import pytest

from ratings_core.arrays.digest import digest
from ratings_core.errors import InputError
from ratings_core.online import Elo, Prequential
from ratings_core.online.trace import RatingTrace
from tests.support.game_streams import at_times, batch_of, game, mixed_games
from tests.support.online_subjects import SUBJECTS

subjects = pytest.mark.parametrize(("rater", "twin"), SUBJECTS)
AGENTS = 20
GAMES = at_times(mixed_games(5, 200, AGENTS), np.random.default_rng(8).integers(-3600, 7200, 200).cumsum())


def traced(rater, games, cuts=()):
    """State, prequential sums and trace of a fold in parts."""
    state, score, parts = rater.init(0), Prequential(), []
    for start, stop in itertools.pairwise([0, *cuts, len(games)]):
        batch = batch_of(games[start:stop])
        parts.append(RatingTrace.of(batch))
        rater.fold(state, batch, score, parts[-1])
    columns = {field.name: np.concatenate([getattr(part, field.name) for part in parts]) for field in dataclasses.fields(RatingTrace)}
    return state, score, RatingTrace(**columns)


def arrays(trace):
    return {field.name: getattr(trace, field.name) for field in dataclasses.fields(trace)}


@subjects
def test_a_trace_has_the_ratings_that_readers_see_before_and_after_each_outcome(rater, twin):
    _, _, trace = traced(rater, GAMES)
    state, score = rater.init(AGENTS), Prequential()
    before, after = [], []
    for one in GAMES:
        batch = batch_of([one])
        before += rater.read(state, batch.agent).rating.tolist()
        rater.fold(state, batch, score)
        after += rater.read(state, batch.agent).rating.tolist()
    assert trace.before.tolist() == before
    assert trace.after.tolist() == after


@subjects
def test_an_expected_score_is_the_mean_of_the_forecasts_against_the_opponents(rater, twin):
    games = [g for g in GAMES if all(len(members) == 1 for members, _ in g.sides)]
    _, _, trace = traced(rater, games)
    state, score, expected = rater.init(AGENTS), Prequential(), []
    for one in games:
        if hasattr(state, "clock"):  # deviations grow until the game: its period begins before it is predicted
            rater.fold(state, batch_of([game(AGENTS, AGENTS + 1, time=one.time)]))
        ids = [members[0] for members, _ in one.sides]
        odds = {(a, b): rater.log_odds(state, a, b) for a, b in itertools.permutations(ids, 2)}
        expected += [np.mean([score.forecast(odds[a, b]) for b in ids if b != a]) for a in ids]
        rater.fold(state, batch_of([one]), score)
    np.testing.assert_allclose(trace.expected, expected, rtol=0, atol=1e-12)


@subjects
def test_expected_scores_of_an_outcome_add_up_to_half_its_sides(rater, twin):
    batch = batch_of(GAMES)
    _, _, trace = traced(rater, GAMES)
    sums = np.add.reduceat(trace.expected, batch.side_start[:-1])
    np.testing.assert_allclose(sums, np.diff(batch.side_start) / 2, rtol=0, atol=1e-12)


@subjects
def test_a_trace_changes_no_bit_of_ratings_and_scores(rater, twin):
    state, score, _ = traced(rater, GAMES)
    plain, untraced = rater.init(0), Prequential()
    rater.fold(plain, batch_of(GAMES), untraced)
    assert (digest(state.arrays()), digest(score.arrays())) == (digest(plain.arrays()), digest(untraced.arrays()))


@subjects
@pytest.mark.parametrize("size", [1, 7, 150])
def test_batch_boundaries_change_no_bit_of_a_trace(rater, twin, size):
    once, cut = traced(rater, GAMES)[2], traced(rater, GAMES, range(size, len(GAMES), size))[2]
    assert digest(arrays(once)) == digest(arrays(cut))


@subjects
@pytest.mark.parametrize("between", ["a fold without a trace", "a restored state"])
def test_what_comes_between_two_traces_changes_no_bit_of_the_second(rater, twin, between):
    """Many agents play in the same rating period before and after it."""
    games = at_times(mixed_games(6, 90, AGENTS), np.arange(90) * 400)
    _, _, whole = traced(rater, games)
    state, score = rater.init(0), Prequential()
    first, middle, last = (batch_of(part) for part in (games[:30], games[30:60], games[60:]))
    rater.fold(state, first, score, RatingTrace.of(first))
    if between == "a restored state":
        state = type(state).from_arrays(state.arrays())
        rater.fold(state, middle, score, RatingTrace.of(middle))
        state = type(state).from_arrays(state.arrays())
    else:
        rater.fold(state, middle, score)
    trace = RatingTrace.of(last)
    rater.fold(state, last, score, trace)
    for name, column in arrays(trace).items():
        assert column.tolist() == getattr(whole, name)[-len(column) :].tolist(), name


def test_a_trace_needs_scored_predictions():
    batch = batch_of(GAMES[:3])
    with pytest.raises(InputError, match=r"trace .*must come with `score`"):
        Elo().fold(Elo().init(0), batch, None, RatingTrace.of(batch))


@pytest.mark.parametrize("column", ["before", "after", "expected"])
def test_a_trace_of_another_size_is_refused_and_nothing_is_folded(column):
    batch, state = batch_of(GAMES[:3]), Elo().init(AGENTS)
    before = digest(state.arrays())
    for wrong in (np.zeros(1), np.zeros(200)[::2], np.zeros(100, np.float32)):
        with pytest.raises(InputError, match=f"trace.{column}"):
            Elo().fold(state, batch, Prequential(), dataclasses.replace(RatingTrace.of(batch), **{column: wrong}))
    assert digest(state.arrays()) == before


def test_another_type_is_no_trace():
    with pytest.raises(InputError, match="trace"):
        Elo().fold(Elo().init(0), batch_of(GAMES[:3]), Prequential(), object())
