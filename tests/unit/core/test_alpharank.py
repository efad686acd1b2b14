"""alpha-Rank: against OpenSpiel, a twin in loops, closed forms of two strategies, and where OpenSpiel overflows."""

import math
import sys
import types

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratings_core.equilibria import AlphaRankOptions, alpharank, alpharank_symmetric
from ratings_core.errors import InputError, SolverError
from ratings_core.games import NormalForm

ROCK = np.array([[0.0, -1, 1], [1, 0, -1], [-1, 1, 0]])


@pytest.fixture(scope="module")
def peer():
    """OpenSpiel's module, which imports a plotting library that nothing here needs."""
    name = "open_spiel.python.egt.alpharank_visualizer"
    sys.modules.setdefault(name, types.ModuleType(name))
    from open_spiel.python.egt import alpharank as module  # noqa: PLC0415 - behind the stub

    return module


def fixation_by_loops(A, mutant, resident, alpha, m):
    """The textbook's sum over how far the mutants got."""
    total, product = 1.0, 1.0
    for k in range(1, m):
        of_mutant = ((k - 1) * A[mutant, mutant] + (m - k) * A[mutant, resident]) / (m - 1)
        of_resident = (k * A[resident, mutant] + (m - k - 1) * A[resident, resident]) / (m - 1)
        product *= math.exp(-alpha * (of_mutant - of_resident))
        total += product
    return 1 / total


def masses_by_eigenvector(chances):
    n = len(chances)
    C = chances.copy()
    np.fill_diagonal(C, 0.0)
    np.fill_diagonal(C, 1 - C.sum(axis=1))
    found = np.linalg.lstsq(np.vstack([C.T - np.eye(n), np.ones(n)]), np.append(np.zeros(n), 1.0))[0]
    return found / found.sum()


@given(st.integers(2, 5), st.integers(2, 12), st.floats(0, 2), st.integers(0, 10**6))
@settings(max_examples=30)
def test_one_population_is_the_twin(n, m, alpha, seed):
    A = np.random.default_rng(seed).normal(size=(n, n))
    chances = np.array([[0.0 if r == s else fixation_by_loops(A, r, s, alpha, m) / (n - 1) for r in range(n)] for s in range(n)])
    found = alpharank_symmetric(A, options=AlphaRankOptions(alpha=alpha, population=m))
    assert found.ratings == pytest.approx(masses_by_eigenvector(chances), abs=1e-10)
    assert found.certificate.value <= 1e-12


@pytest.mark.parametrize("zero_sum", [True, False])
@pytest.mark.parametrize(("alpha", "m"), [(0.1, 20), (1.0, 50)])
def test_twenty_agents_of_one_population_are_openspiels(peer, zero_sum, alpha, m):
    A = np.random.default_rng(1).normal(size=(20, 20))
    A = A - A.T if zero_sum else A
    wanted = peer.compute([A], m=m, alpha=alpha, use_local_selection_model=False)[2]
    assert alpharank_symmetric(A, options=AlphaRankOptions(alpha=alpha, population=m)).ratings == pytest.approx(wanted, abs=1e-12)


def test_twenty_agents_at_infinite_alpha_are_openspiels(peer):
    A = np.random.default_rng(2).integers(-2, 3, (20, 20)).astype(float)
    wanted = peer.compute([A], m=None, alpha=None, use_inf_alpha=True, inf_alpha_eps=0.01)[2]
    assert alpharank_symmetric(A, options=AlphaRankOptions(alpha=math.inf, noise=0.01)).ratings == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("alpha", [0.5, math.inf])
def test_populations_of_two_players_are_openspiels(peer, alpha):
    payoffs = list(np.random.default_rng(3).normal(size=(2, 4, 5)))
    found = alpharank(NormalForm.of(payoffs), options=AlphaRankOptions(alpha=alpha, population=20, noise=0.01))
    wanted = peer.compute(payoffs, m=20, alpha=0.5, use_inf_alpha=math.isinf(alpha), inf_alpha_eps=0.01)[2]
    mass = np.exp(found.log_mass)
    assert mass.ravel() == pytest.approx(wanted, abs=1e-12)
    assert found.by_player[0] == pytest.approx(mass.sum(axis=1))
    assert found.play.marginal(1, 5) == pytest.approx(found.by_player[1])


def test_three_populations_climb_to_the_joint_that_pays_most():
    payoffs = np.zeros((2, 2, 2))
    payoffs[1, 1, 1], payoffs[1, 1, 0] = 3, 1
    found = alpharank(NormalForm.of([payoffs] * 3), options=AlphaRankOptions(alpha=20.0, population=30))
    assert [own[1] for own in found.by_player] == pytest.approx([1, 1, 1], abs=1e-6)


def test_two_strategies_have_the_ratio_of_their_fixation_probabilities():
    """rho_ab / rho_ba = exp((m - 1) u) with u = alpha m / (m - 1) for payoffs of +-1."""
    m, alpha = 40, 0.3
    found = alpharank_symmetric([[0, 1], [-1, 0]], options=AlphaRankOptions(alpha=alpha, population=m))
    assert found.log_mass[0] - found.log_mass[1] == pytest.approx(alpha * m, rel=1e-12)


def test_masses_far_below_the_least_float_keep_their_digits():
    found = alpharank_symmetric([[0, 1, 2], [-1, 0, 1], [-2, -1, 0]], options=AlphaRankOptions(alpha=100.0, population=300))
    assert found.ratings.tolist() == [1, 0, 0]
    assert found.log_mass[0] - found.log_mass[1] == pytest.approx(100 * 300, rel=1e-3)
    assert found.log_mass[2] < found.log_mass[1]


@pytest.mark.parametrize("alpha", [100.0, math.inf])
def test_three_hundred_agents_do_not_overflow(alpha):
    A = np.random.default_rng(4).normal(size=(300, 300))
    found = alpharank_symmetric(A - A.T, options=AlphaRankOptions(alpha=alpha, population=30))
    assert found.certificate.value <= 1e-10
    assert found.ratings.sum() == pytest.approx(1)
    assert (found.ratings > 0).all()


@pytest.mark.parametrize("alpha", [0.0, 1.0, 50.0, math.inf])
def test_a_cycle_ties(alpha):
    assert alpharank_symmetric(ROCK, options=AlphaRankOptions(alpha=alpha)).ratings == pytest.approx([1 / 3] * 3)


@given(st.integers(1, 6), st.integers(0, 10**6), st.sampled_from([0.0, 1.0, 30.0, math.inf]))
@settings(max_examples=30)
def test_order_and_offsets_against_an_opponent_do_not_matter(n, seed, alpha):
    rng = np.random.default_rng(seed)
    A, order = rng.normal(size=(n, n)), rng.permutation(n)
    before = alpharank_symmetric(A, options=AlphaRankOptions(alpha=alpha)).ratings
    assert alpharank_symmetric(A[np.ix_(order, order)], options=AlphaRankOptions(alpha=alpha)).ratings == pytest.approx(
        before[order], abs=1e-9
    )
    assert alpharank_symmetric(A + 7, options=AlphaRankOptions(alpha=alpha)).ratings == pytest.approx(before, abs=1e-9)


def test_copies_move_ratings():
    """As Marris et al. say of mass ratings: the copies of rock hold more than one rock did."""
    ids = [0, 0, 0, 1, 2]
    assert alpharank_symmetric(ROCK[np.ix_(ids, ids)], options=AlphaRankOptions(alpha=1.0)).ratings[:3].sum() != pytest.approx(
        1 / 3, abs=1e-2
    )


def test_beyond_the_tolerance_is_an_error_that_carries_the_masses():
    A = np.random.default_rng(5).normal(size=(60, 60))  # so many equations that rounding solves none of them exactly
    with pytest.raises(SolverError, match="tolerance") as caught:
        alpharank_symmetric(A, options=AlphaRankOptions(tolerance=1e-300))
    assert caught.value.solution.status == "approximate"
    assert alpharank_symmetric(A, options=AlphaRankOptions(tolerance=1e-300, accept_approximate=True)).ratings.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("payoffs", "options", "argument"),
    [
        ([[0, 1]], {}, "payoffs"),
        ([[np.nan]], {}, r"payoffs\[0, 0\]"),
        ([[1e200]], {}, "payoffs"),
        (ROCK, {"alpha": -1}, "alpha"),
        (ROCK, {"alpha": np.nan}, "alpha"),
        (ROCK, {"alpha": 1e12}, "alpha"),
        (ROCK, {"population": 1}, "population"),
        (ROCK, {"noise": 0.5}, "noise"),
        (ROCK, {"noise": 0}, "noise"),
        (ROCK, {"tolerance": 0}, "tolerance"),
    ],
)
def test_bad_input_is_refused(payoffs, options, argument):
    with pytest.raises(InputError, match=argument):
        alpharank_symmetric(payoffs, options=AlphaRankOptions(**options))


@pytest.mark.parametrize("game", [ROCK, NormalForm.of([np.zeros((50, 50))] * 2)])
def test_what_is_no_game_or_too_large_is_refused(game):
    with pytest.raises(InputError, match="game"):
        alpharank(game)
