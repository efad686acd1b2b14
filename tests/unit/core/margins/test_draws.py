"""Draws of margins: means and spreads of the posterior, and credible intervals that hold planted truths."""

import numpy as np
import pytest

from ratings_core.batch.pair_counts import MetPairs, pair_counts
from ratings_core.errors import InputError
from ratings_core.margins import DRAWN_AGENTS, MarginDraws, posterior_margins

WINS = np.array([[0.0, 8, 3, 0], [2, 0, 7, 0], [7, 3, 0, 2], [0, 0, 1, 0]])


def drawn(kappa: float | None, wins: np.ndarray = WINS, count: int = 4_000) -> np.ndarray:
    counts = pair_counts(wins)
    draws = MarginDraws.of(counts, posterior_margins(counts, kappa=kappa), 1.0)
    rng = np.random.default_rng(1)
    return np.array([draws.draw(rng) for _ in range(count)])


def test_draws_are_antisymmetric_and_between_minus_one_and_one() -> None:
    found = drawn(5.0, count=50)
    np.testing.assert_array_equal(found, -found.transpose(0, 2, 1))
    assert np.abs(found).max() <= 1


def test_means_are_the_posterior_margins() -> None:
    """Up to the curvature of the prediction: strengths are drawn, not fixed."""
    np.testing.assert_allclose(drawn(5.0).mean(axis=0), posterior_margins(WINS, kappa=5.0).dense(), atol=0.07)


def test_a_pair_of_many_games_spreads_as_its_own_beta() -> None:
    """10,000 games, kappa 1: the margin's deviation is 2 sqrt(p (1 - p) / 10,001)."""
    wins = np.array([[0.0, 7_000.0], [3_000.0, 0.0]])
    found = drawn(1.0, wins)[:, 0, 1]
    assert found.mean() == pytest.approx(0.4, abs=0.002)
    assert found.std() == pytest.approx(2 * np.sqrt(0.21 / 10_001), rel=0.06)


def test_with_an_infinite_kappa_a_pair_spreads_as_bradley_terry_says() -> None:
    wins = np.array([[0.0, 60.0], [40.0, 0.0]])
    assert drawn(np.inf, wins)[:, 0, 1].std() == pytest.approx(2 * np.sqrt(0.24 / 100), rel=0.06)


def test_credible_intervals_of_margins_hold_planted_truths() -> None:
    """Skills and deviations drawn from the model: 95 % intervals of 40 pools hold at least 94 % of the margins."""
    held = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        theta = rng.normal(0.0, 0.7, 6)
        i, j = np.triu_indices(6, 1)
        chance = 1 / (1 + np.exp(theta[j] - theta[i]))
        true = rng.beta(8 * chance, 8 * (1 - chance))
        games = rng.integers(0, 30, len(i))
        won = rng.binomial(games, true)
        every = MetPairs(6, i, j, won + 0.0, games - won + 0.0, np.zeros(len(i)))
        counts = every.only(games > 0)
        draws = MarginDraws.of(counts, posterior_margins(counts, kappa=8.0), 1.0)
        found = np.array([draws.draw(rng)[i, j] for _ in range(400)])
        low, high = np.quantile(found, [0.025, 0.975], axis=0)
        held.append((low <= 2 * true - 1) & (2 * true - 1 <= high))
    assert np.mean(held) >= 0.94


def test_pools_too_large_to_draw_are_refused() -> None:
    m = DRAWN_AGENTS + 1
    chain = MetPairs(m, np.arange(m - 1), np.arange(1, m), np.ones(m - 1), np.ones(m - 1), np.zeros(m - 1))
    with pytest.raises(InputError, match="at most 500"):
        MarginDraws.of(chain, posterior_margins(chain), 1.0)
