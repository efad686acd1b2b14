"""Deviation gains in whole numbers: against rational arithmetic by another method, and searches that are cut short."""

from fractions import Fraction
from itertools import count

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratings_core.deadline import Deadline
from ratings_core.equilibria import deviation
from ratings_core.equilibria.exact_gains import least_gains_exactly
from ratings_core.equilibria.lexicographic import least_gains
from ratings_core.games.gain_matrix import PairGains, TensorGains
from ratings_core.games.normal_form import NormalForm
from ratings_core.games.symmetry import reduced
from tests.unit.core.rational_deviation import deviation_ratings


def game_of(seed, shape, largest):
    rng = np.random.default_rng(seed)
    return [rng.integers(-largest, largest + 1, shape) / 10 for _ in shape]


def rational(payoffs, shape):
    tenths = [{joint: Fraction(round(10 * own[joint]), 10) for joint in np.ndindex(*shape)} for own in payoffs]
    return [float(rating) for rating in deviation_ratings(tenths, shape)]


@given(st.integers(0, 10**6), st.lists(st.integers(1, 3), min_size=2, max_size=3).map(tuple), st.integers(1, 5))
@settings(max_examples=40)
def test_gains_are_those_of_rational_arithmetic_to_the_last_digit(seed, shape, largest):
    """Payoffs of few values have many ties, at which the simplex method takes steps of length 0."""
    payoffs = game_of(seed, shape, largest)
    found = least_gains_exactly(TensorGains(NormalForm.of(payoffs)), 10.0, max_solves=1000)
    assert found.complete
    assert found.gains == pytest.approx(rational(payoffs, shape), abs=1e-15, rel=1e-15)
    assert found.errors.max() == 0


@pytest.mark.parametrize("seed", range(3))
def test_rows_of_interchangeable_players_hold_exact_means(seed):
    """Three players with one symmetric game: thirds have no finite decimals."""
    base = np.random.default_rng(seed).integers(-3, 4, (2, 2, 2)) / 10
    own = base + base.transpose(0, 2, 1)
    payoffs = [own, own.transpose(1, 0, 2), own.transpose(1, 2, 0)]
    small = reduced(NormalForm.of(payoffs))
    found = least_gains_exactly(small.gains, small.whole, max_solves=1000)
    ratings = np.concatenate([small.unit * each for each in small.of_strategies(found.gains)])
    assert small.gains.rows < 6
    assert ratings == pytest.approx(rational(payoffs, (2, 2, 2)), abs=1e-14)


def test_ties_of_payoffs_are_kept_where_the_unit_is_not_a_power_of_ten():
    """The unit is 6, and thirds that are rounded to decimals do not add up: ratings were off by 0.05."""
    first = [[[2, -2, -3], [-1, -3, 0]], [[1, -1, 3], [2, -1, -1]], [[-1, 0, -1], [-2, 3, 1]]]
    second = [[[1, 3, 3], [-3, -3, -2]], [[3, 2, 2], [2, -3, 3]], [[2, 0, 1], [1, 1, 1]]]
    third = [[[1, 1, -2], [3, -1, 0]], [[0, -3, 1], [-3, 0, 0]], [[1, 0, -3], [-2, -3, 3]]]
    payoffs = [np.array(own, float) for own in (first, second, third)]
    found = deviation(NormalForm.of(payoffs))
    assert found.stats["exact"] == 1
    assert np.concatenate(found.by_player) == pytest.approx(rational(payoffs, (3, 2, 3)), abs=1e-14)


@pytest.mark.parametrize("seed", range(5))
def test_gains_on_tasks_are_those_of_column_generation(seed):
    matrix = PairGains(np.round(np.random.default_rng(seed).random((4, 3)), 3))
    found = least_gains_exactly(matrix, 1000.0, max_solves=1000)
    assert found.gains == pytest.approx(least_gains(matrix, max_solves=1000).gains, abs=1e-9)
    assert found.probability.sum() == pytest.approx(1)
    assert matrix.columns(found.ids) @ found.probability == pytest.approx(found.gains, abs=1e-15)
    assert set(found.ids) <= set(found.used)


THREE = game_of(3, (3, 3, 3), 50)


def test_a_search_that_reaches_its_limit_of_levels_has_open_rows_with_the_gains_of_its_play():
    matrix = TensorGains(NormalForm.of(THREE))
    cut, complete = least_gains_exactly(matrix, 10.0, max_solves=1), least_gains_exactly(matrix, 10.0, max_solves=1000)
    frozen = cut.errors == 0
    assert not cut.complete
    assert 0 < frozen.sum() < matrix.rows
    assert cut.gains[frozen] == pytest.approx(complete.gains[frozen], abs=1e-15)
    assert (matrix.columns(cut.ids) @ cut.probability)[~frozen] == pytest.approx(cut.gains[~frozen], abs=1e-15)
    assert (np.abs(cut.gains - complete.gains) <= cut.errors).all()


@pytest.mark.parametrize("pivots", range(1, 20, 3))
def test_a_search_cut_within_a_level_has_a_distribution(pivots):
    matrix = TensorGains(NormalForm.of(THREE))
    cut = least_gains_exactly(matrix, 10.0, max_solves=1000, deadline=Deadline.after(pivots + 0.5, count(1.0).__next__))
    assert cut.probability.sum() == pytest.approx(1)
    assert (cut.probability > 0).all()
    assert cut.complete == (cut.errors.max() == 0)
