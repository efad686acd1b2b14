"""Kappa against direct integration of the likelihood, and on planted truths."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

from ratings_core.margins import concentration, posterior_margins
from ratings_core.margins.concentration import _dependence, _Likelihood
from tests.support.planted import PlantedPool


def cells(won: list[float], lost: list[float]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    return np.array([won, lost], np.float64)


@pytest.mark.parametrize("kappa", [0.5, 3.0, 40.0])
def test_the_likelihood_is_the_integral_over_the_pairs_probability(kappa: float) -> None:
    s, won, lost = 0.3, 4, 2

    def prior(p: float) -> float:
        log = math.lgamma(kappa) - math.lgamma(kappa * s) - math.lgamma(kappa * (1 - s))
        return math.exp(log) * p ** (kappa * s - 1) * (1 - p) ** (kappa * (1 - s) - 1)

    ends = {"points": [0.01, 0.3, 0.99], "limit": 400}
    integral = quad(lambda p: prior(p) * p**won * (1 - p) ** lost, 0, 1, **ends)[0]
    expected = math.log(integral) - math.log(s**won * (1 - s) ** lost)
    likelihood = _Likelihood(cells([won], [lost]), cells([s], [1 - s]), np.zeros(1))
    assert likelihood(math.log(kappa)) == pytest.approx(expected, abs=1e-6)
    restricted = _Likelihood(cells([won], [lost]), cells([s], [1 - s]), np.array([0.4]))
    assert restricted(math.log(kappa)) == pytest.approx(expected + 0.2 * math.log((kappa + 6) / (kappa + 1)), abs=1e-6)


def test_scores_are_the_derivative_and_pairs_that_share_an_agent_may_correlate() -> None:
    rng = np.random.default_rng(3)
    first, second = np.triu_indices(6, 1)
    won, lost, s = rng.integers(0, 9, len(first)), rng.integers(1, 9, len(first)), rng.uniform(0.1, 0.9, len(first))
    leverage = rng.random(len(first))
    likelihood = _Likelihood(cells([*won], [*lost]), cells([*s], [*(1 - s)]), leverage)
    x, step = math.log(4.0), 1e-5
    scores = likelihood.scores(x)
    assert scores.sum() == pytest.approx((likelihood(x + step) - likelihood(x - step)) / (2 * step), rel=1e-6)
    shared = [[bool({a, b} & {c, d}) for c, d in zip(first, second, strict=True)] for a, b in zip(first, second, strict=True)]
    variance = scores @ np.array(shared, float) @ scores
    assert _dependence(scores, first, second) == pytest.approx(max(1.0, variance / (scores @ scores)))
    copied = np.concatenate([first, first + 6]), np.concatenate([second, second])  # copies of the first agents deviate alike
    assert _dependence(np.tile(scores, 2), *copied) > _dependence(scores, first, second)
    assert _dependence(np.zeros(2), np.array([0, 1]), np.array([2, 3])) == 1.0


def test_planted_kappa_is_inside_its_interval_and_near() -> None:
    rng = np.random.default_rng(0)
    covered, estimates = 0, []
    for _ in range(40):
        s = rng.uniform(0.2, 0.8, 400)
        p = rng.beta(8 * s, 8 * (1 - s))
        won = rng.binomial(12, p).astype(float)
        found = concentration(np.stack([won, 0 * won, 12 - won]), np.stack([s, 1 - s]))
        covered += found.low <= 8 <= found.high
        estimates.append(found.kappa)
        assert found.low < found.kappa < found.high
    assert covered >= 34  # of 40 at 95 %: fewer has probability 1e-3
    assert np.median(estimates) == pytest.approx(8, rel=0.1)


def test_results_that_follow_the_order_give_an_infinite_kappa_or_no_evidence() -> None:
    rng = np.random.default_rng(1)
    rejected = 0
    for _ in range(60):
        s = rng.uniform(0.2, 0.8, 300)
        won = rng.binomial(10, s).astype(float)
        found = concentration(np.stack([won, 0 * won, 10 - won]), np.stack([s, 1 - s]))
        assert math.isinf(found.high) or found.p_value < 0.05
        rejected += found.p_value < 0.05
    assert rejected <= 9  # of 60 at 5 %: more has probability 1e-3


def test_kappa_is_finite_only_if_its_interval_excludes_infinity() -> None:
    """A weak estimate costs held-out log loss in pools without cycles; its interval, evidence and p-value are still reported."""
    rng = np.random.default_rng(2)
    weak = 0
    for _ in range(60):
        s = rng.uniform(0.2, 0.8, 300)
        won = rng.binomial(10, s).astype(float)
        found = concentration(np.stack([won, 0 * won, 10 - won]), np.stack([s, 1 - s]))
        assert math.isfinite(found.kappa) == math.isfinite(found.high) == (found.evidence > 3.841458820694124 / 2)
        assert found.p_value == (pytest.approx(math.erfc(math.sqrt(found.evidence)) / 2) if found.evidence else 1.0)
        weak += 0 < found.evidence < 1.9
        assert 0 < found.low < found.high
    assert weak > 10  # about half of the pools


def test_single_decided_games_say_nothing_about_kappa() -> None:
    found = concentration(np.array([[1.0, 0, 1], [4, 2, 0], [0, 1, 0]]), cells([0.9, 0.2, 0.5], [0.1, 0.8, 0.5]))
    assert (found.kappa, found.low, found.high, found.evidence, found.pairs) == (math.inf, 0.0, math.inf, 0.0, 0)


@pytest.mark.parametrize("seed", range(3))
def test_pools_with_planted_cycles_have_a_small_kappa_and_transitive_ones_none(seed: int) -> None:
    cyclic = posterior_margins(PlantedPool.drawn(seed, cyclic=1.0).wins).concentration
    assert 4 < cyclic.kappa < 16
    assert cyclic.p_value < 1e-6
    transitive = posterior_margins(PlantedPool.drawn(seed).wins).concentration
    assert transitive.kappa > 60
    assert math.isinf(transitive.high)
    mixed = posterior_margins(PlantedPool.drawn(seed, cyclic=0.5).wins).concentration
    assert cyclic.kappa < mixed.kappa < transitive.kappa
    assert mixed.p_value < 1e-3
