"""Forecasts of live methods: an expected score becomes a calibrated probability by a scale that is fitted online."""

import math

import numpy as np
import pytest

from ratings_core.errors import InputError
from ratings_core.kernels.compile import kernel
from ratings_core.online import Elo, Prequential, Sco
from ratings_core.online.prequential import record, settle
from ratings_core.records.forecasts import (
    ForecastClass,
    ForecastModel,
    Strength,
    evenness,
    expected_score,
    tie_probability,
    win_probabilities,
)
from ratings_core.records.outcomes import WEIGHT_ONE
from tests.support.game_streams import batch_of, game

COIN = math.log(2)


@kernel
def scored(counts, sums, x, result, weight):
    for i in range(len(x)):
        record(counts, sums, x[i], result[i], weight)
        settle(sums, weight)


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


def test_weights_of_outcomes_count_as_outcomes_do() -> None:
    """Up to the fading: an outcome of weight 3 fades the past once, as much as three outcomes of weight 1/3 together fade it."""
    x, result = drawn(10, 5_000, 2.0)
    once, thrice = Prequential(), Prequential()
    scored(once.counts, once.sums, x, result, WEIGHT_ONE)
    scored(thrice.counts, thrice.sums, x, result, WEIGHT_ONE // 4)
    assert thrice.pairs == once.pairs / 4
    assert thrice.scale == pytest.approx(once.scale, rel=0.2)


def test_the_forecast_is_that_which_is_scored() -> None:
    rater, score = Sco(tau=3, alpha=1), Prequential()
    state = rater.init(4)
    rng = np.random.default_rng(11)
    for _ in range(200):
        a, b = (int(agent) for agent in rng.choice(4, 2, replace=False))
        forecast = score.forecast(rater.predict(state, a, b))
        before = score.sums[0, 1]
        rater.fold(state, batch_of([game(a, b)]), score)
        assert score.sums[0, 1] - before == pytest.approx((1.0 - forecast) ** 2, rel=1e-9)


def test_forecasts_of_both_sides_add_to_one() -> None:
    score = Prequential()
    scored(score.counts, score.sums, *drawn(12, 500, 0.3), WEIGHT_ONE)
    for p in (0.0, 2.0**-30, 0.25, 0.5, 0.875, 1.0):
        assert score.forecast(p) + score.forecast(1.0 - p) == pytest.approx(1.0, abs=1e-12)
    assert (score.forecast(0.0), score.forecast(0.5), score.forecast(1.0)) == (0.0, 0.5, 1.0)


@pytest.mark.parametrize("p", [-0.1, 1.1, math.nan])
def test_an_expected_score_outside_0_to_1_is_refused(p: float) -> None:
    with pytest.raises(InputError, match="must be"):
        Prequential().forecast(p)


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

    def test_shares_of_classes_are_connected(self) -> None:
        at = [tie_probability(p, self.CLASSES) for p in (0.5, 0.52, 0.635, 0.75)]
        assert at[0] == at[1] == pytest.approx(0.4, abs=0.003)
        assert at[2] == pytest.approx((at[1] + at[3]) / 2)
        assert at[3] == pytest.approx(0.2, abs=0.003)

    def test_both_sides_see_the_same(self) -> None:
        for p in (0.0, 0.1, 0.4, 0.5, 1.0):
            assert tie_probability(p, self.CLASSES) == pytest.approx(tie_probability(1.0 - p, self.CLASSES), abs=1e-15)

    @pytest.mark.parametrize("p", [0.0, 0.01, 0.3, 0.5, 0.99, 1.0])
    def test_wins_are_probabilities(self, p: float) -> None:
        tie = tie_probability(p, self.CLASSES)
        assert 0.0 <= tie <= 1.0
        assert p - tie / 2 >= -1e-15
        assert (1.0 - p) - tie / 2 >= -1e-15

    def test_nothing_is_known_without_forecasts_and_no_game_of_two_results_is_tied(self) -> None:
        assert tie_probability(0.5, []) == 0.0
        assert tie_probability(0.7, [ForecastClass(50.0, 0.6, 0.6, 0.0)]) == 0.0

    def test_a_class_with_few_pairs_has_the_share_of_all(self) -> None:
        classes = [ForecastClass(1000.0, 0.52, 0.52, 0.3), ForecastClass(1.0, 0.78, 1.0, 0.0)]
        assert tie_probability(0.78, classes) == pytest.approx(0.3, abs=0.02)


class TestWinners:
    def test_two_sides_win_as_forecast(self) -> None:
        assert win_probabilities([[0.0, 1.3], [-1.3, 0.0]])[0] == pytest.approx(expected_score(1.3), rel=1e-15)

    def test_differences_of_strengths_are_plackett_luce(self) -> None:
        strengths = np.array([0.3, -1.0, 2.0, 0.0])
        wins = win_probabilities(np.subtract.outer(strengths, strengths).tolist())
        np.testing.assert_allclose(wins, np.exp(strengths) / np.exp(strengths).sum(), rtol=1e-14)

    def test_a_cycle_is_even(self) -> None:
        assert win_probabilities([[0.0, 2.0, -2.0], [-2.0, 0.0, 2.0], [2.0, -2.0, 0.0]]) == pytest.approx([1 / 3] * 3)

    def test_evenness(self) -> None:
        assert evenness([0.25] * 4) == pytest.approx(1.0)
        assert evenness([1.0, 0.0]) == 0.0
        assert evenness([0.5, 0.5]) > evenness([0.6, 0.4]) > evenness([0.9, 0.1])


class TestModel:
    def test_teams(self) -> None:
        members = [Strength(10.0, 3.0), Strength(20.0, 4.0)]
        assert ForecastModel(1.0).team(members) == Strength(15.0, 2.5)
        assert ForecastModel(1.0, sums=True).team(members) == Strength(30.0, 5.0)
        with pytest.raises(InputError, match="members"):
            ForecastModel(1.0).team([])

    def test_doubt_makes_forecasts_even(self) -> None:
        model = ForecastModel(0.01, spread=1e-4)
        sure, doubted = (model.log_odds(Strength(100.0, deviation), Strength(0.0, deviation)) for deviation in (0.0, 100.0))
        assert sure == 1.0
        assert doubted == pytest.approx(1 / math.sqrt(3))

    @pytest.mark.parametrize("wrong", [{"slope": 0.0}, {"slope": math.nan}, {"slope": 1.0, "spread": -1.0}, {"slope": 1.0, "sums": 1}])
    def test_bad_parameters_are_refused(self, wrong: dict) -> None:
        with pytest.raises(InputError):
            ForecastModel(**wrong)
