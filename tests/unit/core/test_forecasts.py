"""Forecasts of live methods: an expected score becomes a calibrated probability by a scale that is fitted online."""

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from ratings_core.errors import InputError
from ratings_core.kernels.compile import kernel
from ratings_core.online import Elo, Prequential, Sco
from ratings_core.online.prequential import record, settle
from ratings_core.records.forecasts import (
    ForecastClass,
    ForecastModel,
    Strength,
    Ties,
    evenness,
    expected_scores,
    win_probabilities,
)
from ratings_core.records.outcomes import WEIGHT_ONE
from tests.support.game_streams import batch_of, game

COIN = math.log(2)


@kernel
def scored(counts, sums, x, result, weight):
    for i in range(len(x)):
        record(counts, sums, 0, x[i], result[i], weight)
        settle(sums, 0, 2)


@kernel
def scored_together(counts, sums, x, result, weight, sides):
    """Outcomes whose pairs, all of them, have these log odds and results."""
    for i in range(len(x)):
        for _ in range(sides * (sides - 1) // 2):
            record(counts, sums, 0, x[i], result[i], weight)
        settle(sums, 0, sides)


def drawn(seed: int, games: int, steepness: float) -> tuple[np.ndarray, np.ndarray]:
    """Log odds of a method, and results whose true log odds are `steepness` times as large."""
    rng = np.random.default_rng(seed)
    x = rng.normal(0.0, 1.0 / steepness, games)
    return x, (rng.random(games) < 1 / (1 + np.exp(-steepness * x))).astype(float)


@pytest.mark.parametrize("steepness", [0.05, 0.5, 1.0, 4.0, 50.0])
def test_the_scale_is_that_of_the_results(steepness: float) -> None:
    score = Prequential()
    scored(score.counts, score.sums, *drawn(7, 20_000, steepness), WEIGHT_ONE)
    assert score.scale == pytest.approx(steepness, rel=0.15)
    assert score.log_loss is not None
    assert score.log_loss < COIN


def test_forecasts_are_calibrated_in_each_class() -> None:
    score = Prequential()
    scored(score.counts, score.sums, *drawn(8, 100_000, 0.2), WEIGHT_ONE)
    weight, forecast, result, _ = np.array(score.classes[:8]).T
    assert weight.min() > 1000
    np.testing.assert_allclose(result, forecast, atol=0.03)


def test_a_coin_is_forecast_as_a_coin() -> None:
    """Results that do not depend on the method's log odds, however large these are."""
    rng, score = np.random.default_rng(9), Prequential()
    scored(score.counts, score.sums, rng.normal(0.0, 5.0, 20_000), (rng.random(20_000) < 0.5).astype(float), WEIGHT_ONE)
    assert score.log_loss is not None
    assert score.log_loss < COIN + 0.01
    assert score.scale < 0.05


@pytest.mark.parametrize("weight", [0.001, 0.25, 1000.0])
def test_the_scale_does_not_depend_on_the_weight_of_outcomes(weight: float) -> None:
    x, result = drawn(10, 5_000, 2.0)
    once, weighed = Prequential(), Prequential()
    scored(once.counts, once.sums, x, result, WEIGHT_ONE)
    scored(weighed.counts, weighed.sums, x, result, round(weight * WEIGHT_ONE))
    assert weighed.scale == once.scale
    assert weighed.log_loss == pytest.approx(once.log_loss, rel=1e-9)


def test_one_heavy_outcome_does_not_hold_the_scale() -> None:
    rng, score = np.random.default_rng(15), Prequential()
    scored(score.counts, score.sums, np.full(5, 1.5), np.ones(5), 1000 * WEIGHT_ONE)
    after = Prequential()
    after.sums[:] = score.sums
    after.sums[0] = 0.0
    after.counts[:] = 0
    scored(after.counts, after.sums, rng.normal(0.0, 5.0, 1_000), (rng.random(1_000) < 0.5).astype(float), WEIGHT_ONE)
    assert after.log_loss is not None
    assert after.log_loss < 0.75


def test_a_game_of_many_sides_counts_as_a_duel_of_the_same_log_odds() -> None:
    many, duels = Prequential(), Prequential()
    scored_together(many.counts, many.sums, *drawn(16, 300, 0.1), WEIGHT_ONE, 64)
    scored(duels.counts, duels.sums, *drawn(16, 300, 0.1), WEIGHT_ONE)
    assert many.pairs == 2016 * duels.pairs
    np.testing.assert_allclose(many.sums[1, :2], duels.sums[1, :2], rtol=1e-9)


def test_the_scale_returns_from_log_odds_that_told_nothing() -> None:
    rng, score = np.random.default_rng(18), Prequential()
    scored(score.counts, score.sums, rng.normal(0.0, 1.0, 20_000), (rng.random(20_000) < 0.5).astype(float), WEIGHT_ONE)
    assert score.scale < 0.1
    scored(score.counts, score.sums, *drawn(19, 20_000, 1.0), WEIGHT_ONE)
    assert score.scale == pytest.approx(1.0, rel=0.15)


def test_the_forecast_is_that_which_is_scored() -> None:
    rater, score = Sco(tau=3, alpha=1), Prequential()
    state = rater.init(4)
    rng = np.random.default_rng(11)
    for _ in range(200):
        a, b = (int(agent) for agent in rng.choice(4, 2, replace=False))
        forecast = score.forecast(rater.log_odds(state, a, b))
        before = score.sums[0, 1]
        rater.fold(state, batch_of([game(a, b)]), score)
        assert score.sums[0, 1] - before == pytest.approx((1.0 - forecast) ** 2, rel=1e-9)


def test_forecasts_of_both_sides_add_to_one() -> None:
    score = Prequential()
    scored(score.counts, score.sums, *drawn(12, 500, 0.3), WEIGHT_ONE)
    for x in (0.0, 1e-9, 0.3, 40.0, 1e300):
        assert score.forecast(x) + score.forecast(-x) == pytest.approx(1.0, abs=1e-15)


def test_log_odds_at_which_expected_scores_are_certain_are_scaled_too() -> None:
    """An expected score of 1 would lose them: at a difference of 60 points with tau = 1, `predict` says 1."""
    rater, score = Sco(tau=1, alpha=0), Prequential()
    score.sums[1, 0] = 0.01
    state = rater.init(2)
    state.rating[:] = 80.0, 20.0
    assert rater.predict(state, 0, 1) == 1.0
    assert score.forecast(rater.log_odds(state, 0, 1)) == pytest.approx(1 / (1 + math.exp(-0.6)))


def test_log_odds_that_are_no_number_are_refused() -> None:
    with pytest.raises(InputError, match="log_odds"):
        Prequential().forecast(math.nan)


def test_sums_of_the_first_fold_version_are_read() -> None:
    old = {"counts": np.array([3, 2], np.int64) * WEIGHT_ONE, "sums": np.array([1.5, 0.6, 1.0])}
    score = Prequential.from_arrays(old)
    assert score.means() == {"log_loss": 0.5, "brier": pytest.approx(0.2), "kendall": 0.5}
    assert (score.scale, score.classes) == (1.0, [])


@pytest.mark.parametrize(("row", "values"), [(1, [1e300, 1.0]), (1, [0.0, 1.0]), (1, [1.0, 0.0]), (2, [1.0, 0.0])])
def test_sums_that_no_fold_makes_are_refused(row: int, values: list[float]) -> None:
    arrays = Prequential().arrays()
    arrays["sums"][row, :2] = values
    with pytest.raises(InputError, match="scale"):
        Prequential.from_arrays(arrays)


def test_forecasts_of_sure_outcomes_stay_finite() -> None:
    score = Prequential()
    for x in (1e300, -1e300, 0.0):
        scored(score.counts, score.sums, np.full(5, x), np.zeros(5), WEIGHT_ONE)
    assert np.isfinite(score.sums).all()
    assert 0 < score.scale < math.inf


def test_the_scale_follows_elo_whose_ratings_spread_slowly() -> None:
    """With a small K, Elo's expected scores are too even for thousands of games; its forecasts are not."""
    rng, score = np.random.default_rng(13), Prequential()
    strength = rng.normal(0.0, 1.5, 60)
    pairs = np.array([rng.choice(60, 2, replace=False) for _ in range(6_000)])
    won = rng.random(6_000) < 1 / (1 + np.exp(strength[pairs[:, 1]] - strength[pairs[:, 0]]))
    rater = Elo(k=2)
    state = rater.init(60)
    rater.fold(
        state, batch_of([game(int(a), int(b)) if first else game(int(b), int(a)) for (a, b), first in zip(pairs, won, strict=True)]), score
    )
    assert score.scale > 1.5
    assert score.log_loss is not None
    assert score.log_loss < 0.62


class TestTies:
    CLASSES = (ForecastClass(1000.0, 0.52, 0.52, 0.4), ForecastClass(1000.0, 0.75, 0.75, 0.2), ForecastClass(100.0, 0.93, 0.93, 0.05))

    def probability(self, *expected: float, classes: Sequence[ForecastClass] = CLASSES) -> list[float]:
        return Ties(classes).probability(np.array(expected)).tolist()

    def test_classes_have_their_shares(self) -> None:
        assert self.probability(0.52, 0.75, 0.93) == pytest.approx([0.4, 0.2, 0.05], abs=0.01)  # the last has 100 pairs

    def test_between_classes_ties_fall_as_games_are_less_even(self) -> None:
        falling = self.probability(*np.linspace(0.5, 1.0, 51))
        assert all(left >= right for left, right in itertools.pairwise(falling[2:]))

    def test_both_sides_see_the_same(self) -> None:
        for p in (0.0, 0.1, 0.4, 0.5, 1.0):
            assert self.probability(p) == pytest.approx(self.probability(1.0 - p), abs=1e-15)

    @given(st.floats(0.0, 1.0), st.lists(st.tuples(st.floats(1.0, 1e6), st.floats(0.0, 1.0)), min_size=1, max_size=10))
    def test_every_side_may_win(self, p: float, classes: list[tuple[float, float]]) -> None:
        known = [ForecastClass(weight, 0.525 + 0.05 * i, 0.5, share * 2 * (0.475 - 0.05 * i)) for i, (weight, share) in enumerate(classes)]
        [tie] = self.probability(p, classes=known)
        for expected in (p, 1.0 - p):
            win = expected - tie / 2
            assert win >= 0.0
            assert (win > 0.0) == (expected > 0.0) or expected < 1e-12

    def test_nothing_is_known_without_forecasts_and_no_game_of_two_results_is_tied(self) -> None:
        assert self.probability(0.5, classes=[]) == [0.0]
        assert self.probability(0.7, classes=[ForecastClass(50.0, 0.6, 0.6, 0.0)]) == [0.0]

    def test_a_class_with_few_pairs_has_the_parameter_of_all(self) -> None:
        many = ForecastClass(1000.0, 0.52, 0.52, 0.3)
        assert self.probability(0.78, classes=[many, ForecastClass(1.0, 0.78, 1.0, 0.0)]) == pytest.approx(
            self.probability(0.78, classes=[many]), abs=0.02
        )

    def test_a_parameter_of_davidson_is_found_again(self) -> None:
        nu, forecasts = 0.8, np.linspace(0.525, 0.975, 10)
        ties = [brentq(lambda t, e=e: t - nu * math.sqrt((e - t / 2) * (1 - e - t / 2)), 0.0, 2 * (1 - e)) for e in forecasts]
        classes = [ForecastClass(1e9, e, e, t) for e, t in zip(forecasts, ties, strict=True)]
        for e in (0.5, 0.6, 0.83, 0.97):
            tie = self.probability(e, classes=classes)[0]
            assert tie == pytest.approx(nu * math.sqrt((e - tie / 2) * (1 - e - tie / 2)), rel=1e-6)


class TestWinners:
    def test_two_sides_win_as_forecast(self) -> None:
        assert win_probabilities(np.array([[0.0, 1.3], [-1.3, 0.0]]))[0] == pytest.approx(expected_scores(np.array(1.3)), rel=1e-15)

    def test_differences_of_strengths_are_plackett_luce(self) -> None:
        strengths = np.array([0.3, -1.0, 2.0, 0.0])
        wins = win_probabilities(np.subtract.outer(strengths, strengths))
        np.testing.assert_allclose(wins, np.exp(strengths) / np.exp(strengths).sum(), rtol=1e-14)

    def test_a_cycle_is_even(self) -> None:
        cycle = np.array([[0.0, 2.0, -2.0], [-2.0, 0.0, 2.0], [2.0, -2.0, 0.0]])
        np.testing.assert_allclose(win_probabilities(cycle), 1 / 3)

    def test_evenness(self) -> None:
        assert evenness(np.full(4, 0.25)) == pytest.approx(1.0)
        assert evenness(np.full(3, 1 / 3)) <= 1.0
        assert str(evenness(np.array([1.0, 0.0]))) == "0.0"
        assert evenness(np.array([0.5, 0.5])) > evenness(np.array([0.6, 0.4])) > evenness(np.array([0.9, 0.1]))


class TestModel:
    def test_teams(self) -> None:
        members = [Strength(10.0, 3.0), Strength(20.0, 4.0)]
        assert ForecastModel(1.0).team(members) == Strength(15.0, 2.5)
        assert ForecastModel(1.0, sums=True).team(members) == Strength(30.0, 5.0)
        with pytest.raises(InputError, match="members"):
            ForecastModel(1.0).team([])

    def test_doubt_makes_forecasts_even(self) -> None:
        model = ForecastModel(0.01, spread=1e-4)
        sure, doubted = (model.log_odds([Strength(100.0, deviation), Strength(0.0, deviation)])[0, 1] for deviation in (0.0, 100.0))
        assert sure == 1.0
        assert doubted == pytest.approx(1 / math.sqrt(3))

    @pytest.mark.parametrize("wrong", [{"slope": 0.0}, {"slope": math.nan}, {"slope": 1.0, "spread": -1.0}, {"slope": 1.0, "sums": 1}])
    def test_bad_parameters_are_refused(self, wrong: dict) -> None:
        with pytest.raises(InputError):
            ForecastModel(**wrong)
