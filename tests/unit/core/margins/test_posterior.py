"""Posterior margins against a readable twin, direct numerical integration, and their laws."""

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.integrate import dblquad, quad

from ratings_core.batch.bradley_terry import BradleyTerryOptions
from ratings_core.batch.davidson import davidson
from ratings_core.errors import InputError
from ratings_core.margins import posterior_margins
from ratings_core.margins.posterior import shares, win_less_loss
from tests.support.planted import PlantedPool, with_clones

Matrix = NDArray[np.float64]


def readable(wins: Matrix, ties: Matrix, kappa: float, prior: float) -> Matrix:
    """The formula of docs/concepts/posterior-margins.md, pair by pair."""
    fit = davidson(wins, ties, options=BradleyTerryOptions(prior=prior, scale=1.0, centre=0.0))
    m = len(wins)
    margins = np.zeros((m, m))
    for a, b in product(range(m), repeat=2):
        if a != b:
            won, _, lost = fit.probabilities(a, b)
            games = wins[a, b] + wins[b, a] + ties[a, b]
            margins[a, b] = (wins[a, b] - wins[b, a] + kappa * (won - lost)) / (games + kappa)
    return margins


@st.composite
def tallies(draw: st.DrawFn) -> tuple[Matrix, Matrix]:
    m = draw(st.integers(2, 6))
    cells = st.lists(st.integers(0, 4), min_size=m * m, max_size=m * m)
    wins = np.array(draw(cells), np.float64).reshape(m, m)
    ties = np.array(draw(cells), np.float64).reshape(m, m) * draw(st.sampled_from((0, 1)))
    np.fill_diagonal(wins, 0.0)
    return wins, np.triu(ties, 1) + np.triu(ties, 1).T


@settings(max_examples=40, deadline=None)
@given(tallies(), st.sampled_from((0.3, 2.0, 50.0)))
def test_margins_equal_the_readable_formula_and_are_antisymmetric(data: tuple[Matrix, Matrix], kappa: float) -> None:
    wins, ties = data
    dense = posterior_margins(wins, ties, kappa=kappa, prior=0.7).dense()
    np.testing.assert_allclose(dense, readable(wins, ties, kappa, 0.7), atol=2e-8)
    np.testing.assert_array_equal(dense, -dense.T)
    assert np.abs(dense).max() < 1


@settings(max_examples=30, deadline=None)
@given(tallies())
def test_kappa_interpolates_between_results_and_the_order(data: tuple[Matrix, Matrix]) -> None:
    wins, ties = data
    games = wins + wins.T + ties
    observed = np.divide(wins - wins.T, games, out=np.zeros_like(games), where=games > 0)
    order = posterior_margins(wins, ties, kappa=math.inf)
    almost = posterior_margins(wins, ties, kappa=1e-12).dense()
    np.testing.assert_allclose(almost[games > 0], observed[games > 0], atol=1e-9)
    np.testing.assert_array_equal(almost[games == 0], order.dense()[games == 0])
    np.testing.assert_allclose(posterior_margins(wins, ties, kappa=1e12).dense(), order.dense(), atol=1e-9)
    one, other = (posterior_margins(wins, ties, kappa=k).dense() for k in (1.0, 4.0))
    assert (np.abs(other - order.dense()) <= np.abs(one - order.dense()) + 1e-12).all()


@pytest.mark.parametrize(("won", "lost", "s", "kappa"), [(3, 1, 0.4, 5.0), (0, 6, 0.7, 2.5), (1, 0, 0.9, 40.0)])
def test_without_ties_a_margin_is_the_mean_of_a_beta_posterior(won: int, lost: int, s: float, kappa: float) -> None:
    gap = math.log(s / (1 - s))

    def density(p: float) -> float:
        return float(p ** (won + kappa * s - 1) * (1 - p) ** (lost + kappa * (1 - s) - 1))

    mean = quad(lambda p: (2 * p - 1) * density(p), 0, 1)[0] / quad(density, 0, 1)[0]
    predicted = win_less_loss(np.array([gap]), 0.0)[0]
    assert (won - lost + kappa * predicted) / (won + lost + kappa) == pytest.approx(mean, abs=1e-7)


def test_with_ties_a_margin_is_the_mean_of_a_dirichlet_posterior() -> None:
    (w, t, loss), kappa, (won, tied, lost) = shares(np.array([0.6]), 0.8)[:, 0], 6.0, (2, 3, 1)

    def density(q: float, p: float) -> float:
        rest = max(1 - p - q, 0.0)
        return float(p ** (won + kappa * w - 1) * q ** (tied + kappa * t - 1) * rest ** (lost + kappa * loss - 1))

    total = dblquad(density, 0, 1, 0, lambda p: 1 - p)[0]
    mean = dblquad(lambda q, p: (2 * p + q - 1) * density(q, p), 0, 1, 0, lambda p: 1 - p)[0] / total
    assert (won - lost + kappa * (w - loss)) / (6 + kappa) == pytest.approx(mean, abs=1e-6)


def test_predictions_are_davidsons_and_odd() -> None:
    gap = np.linspace(-40, 40, 81)
    for nu in (0.0, 0.5, 3.0):
        x = np.clip(gap, -30, 30)
        expected = np.sinh(x / 2) / (np.cosh(x / 2) + nu / 2)
        np.testing.assert_allclose(win_less_loss(x, nu), expected, atol=1e-14)
        won, tied, lost = shares(gap, nu)
        np.testing.assert_allclose(won + tied + lost, 1, atol=1e-15)
        np.testing.assert_allclose(won - lost, win_less_loss(gap, nu), atol=1e-14)
        np.testing.assert_array_equal(win_less_loss(-gap, nu), -win_less_loss(gap, nu))
    assert not win_less_loss(gap, math.inf).any()


def test_structured_products_equal_the_dense_matrix() -> None:
    pool = PlantedPool.drawn(0, agents=40, games=300, cyclic=1.0, ties=0.3)
    margins = posterior_margins(pool.wins, pool.ties, kappa=3.0, pessimism=1.0)
    dense = margins.dense()
    agents = np.array([3, 11, 25])
    np.testing.assert_allclose(margins.rows(agents), dense[agents], atol=1e-15)
    np.testing.assert_allclose(margins.block(agents), dense[np.ix_(agents, agents)], atol=1e-15)
    np.testing.assert_allclose(margins.preferred(agents, np.array([0.5, 0.2, 0.3])), np.array([0.5, 0.2, 0.3]) @ dense[agents], atol=1e-14)
    first, second = np.triu_indices(40, 1)
    np.testing.assert_allclose(margins.win_less_loss(first, second), dense[first, second], atol=1e-15)


def test_exact_duplicates_have_equal_margins_to_the_last_bit() -> None:
    pool = PlantedPool.drawn(1, agents=25, games=2_000, cyclic=1.0)
    dense = posterior_margins(with_clones(pool.wins, agent=4, copies=10), pessimism=2.0).dense()
    for copy in range(25, 35):
        np.testing.assert_array_equal(dense[copy], dense[4])


@pytest.mark.parametrize("games_each", [1, 20, 500])
def test_a_flood_moves_margins_of_others_by_at_most_the_stated_bound(games_each: int) -> None:
    """2 kappa / (games + kappa): their own games keep their weight, whatever the flood does to strengths."""
    pool = PlantedPool.drawn(2, agents=20, games=4_000, cyclic=1.0)
    kappa = 5.0
    before = posterior_margins(pool.wins, kappa=kappa).dense()
    flooded = np.zeros((50, 50))
    flooded[:20, :20] = pool.wins
    rng = np.random.default_rng(3)
    flooded[20:, :20] = rng.poisson(games_each, (30, 20)) * (rng.random(20) < 0.5)
    flooded[:20, 20:] = rng.poisson(games_each, (20, 30)) * (rng.random((20, 1)) < 0.5)
    after = posterior_margins(flooded, kappa=kappa).dense()[:20, :20]
    games = pool.wins + pool.wins.T
    assert (np.abs(after - before) <= 2 * kappa / (games + kappa)).all()
    assert np.abs(after - before).max() > 1e-3  # the flood did something: the bound is not vacuous here


def test_pessimism_takes_lower_bounds_and_keeps_antisymmetry() -> None:
    pool = PlantedPool.drawn(3, agents=20, games=2_000, newcomers=5)
    margins = posterior_margins(pool.wins, pessimism=2.0)
    np.testing.assert_allclose(margins.strength, margins.theta - 2 * margins.spread)
    assert margins.spread[20:].min() > margins.spread[:20].max()  # newcomers are the least certain
    np.testing.assert_array_equal(margins.dense(), -margins.dense().T)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"kappa": 0.0}, "kappa"),
        ({"kappa": math.nan}, "kappa"),
        ({"prior": 0.0}, "prior"),
        ({"pessimism": -1.0}, "pessimism"),
        ({"kappa": "x"}, "kappa"),
    ],
)
def test_bad_arguments_are_named(options: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=named):
        posterior_margins(np.array([[0.0, 1], [0, 0]]), **options)


def test_numbers_of_any_kind_are_taken() -> None:
    wins, half = np.array([[0.0, 3], [2, 0]]), Fraction(1, 2)
    given, wanted = (posterior_margins(wins, kappa=one, prior=one, pessimism=one) for one in (half, 0.5))
    np.testing.assert_array_equal(given.dense(), wanted.dense())


def test_only_ties_leave_all_margins_at_zero() -> None:
    ties = np.array([[0.0, 3, 0], [3, 0, 2], [0, 2, 0]])
    assert not posterior_margins(np.zeros((3, 3)), ties).dense().any()
