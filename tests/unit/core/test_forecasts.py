"""Forecasts of live methods: an expected score becomes a calibrated probability by a scale that is fitted online."""

import math

import numpy as np
import pytest

from ratings_core.errors import InputError
from ratings_core.kernels.compile import kernel
from ratings_core.online import Elo, Prequential, Sco
from ratings_core.online.prequential import record, settle
from ratings_core.records.outcomes import WEIGHT_ONE
from tests.support.game_streams import batch_of, game

COIN = math.log(2)


@kernel
def scored(counts, sums, x, result, weight):
    for i in range(len(x)):
        record(counts, sums, x[i], result[i], weight)
        settle(sums)


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
    weight, forecast, result = score.calibration[:8].T
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
