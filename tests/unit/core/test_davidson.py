"""Davidson's model of ties: the printed likelihood, scipy on it, and data with no ties, ties only, and ties without an answer."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from ratings_core.batch import davidson as module
from ratings_core.batch.bradley_terry import ELO_SCALE, BradleyTerryOptions, bradley_terry
from ratings_core.batch.davidson import davidson
from ratings_core.errors import InputError, SolverError
from tests.support.options import with_options

STRICT = settings(max_examples=25, deadline=None)


def tallies(m, seed, least=1):
    rng = np.random.default_rng(seed)
    wins = rng.integers(least, 7, (m, m)).astype(float)
    np.fill_diagonal(wins, 0)
    ties = np.triu(rng.integers(0, 7, (m, m)), 1).astype(float)
    ties[0, 1] += 1
    return wins, ties + ties.T


def twin_loss(point, wins, ties):
    """Davidson 1970, eq. 2.6, with strengths exp(theta): minus its logarithm."""
    strength, nu = np.exp(point[:-1]), math.exp(point[-1])
    total = 0.0
    for a in range(len(wins)):
        for b in range(a):
            even = nu * math.sqrt(strength[a] * strength[b])
            whole = strength[a] + strength[b] + even
            total -= wins[a, b] * math.log(strength[a] / whole) + wins[b, a] * math.log(strength[b] / whole)
            total -= ties[a, b] * math.log(even / whole)
    return total


def logits(found):
    return (found.ratings - found.centre) / found.scale


@STRICT
@given(st.integers(2, 6), st.integers(0, 10**6))
def test_scipy_finds_no_better_point(m, seed):
    wins, ties = tallies(m, seed)
    found = davidson(wins, ties)
    best = optimize.minimize(twin_loss, np.zeros(m + 1), (wins, ties), "BFGS", options={"gtol": 1e-6})
    assert twin_loss([*logits(found), math.log(found.nu)], wins, ties) <= best.fun + 1e-9
    assert found.nu == pytest.approx(math.exp(best.x[-1]), rel=1e-4)
    assert logits(found) == pytest.approx(best.x[:-1] - best.x[:-1].mean(), abs=1e-4)


@STRICT
@given(st.integers(2, 6), st.integers(0, 10**6))
def test_expected_points_and_ties_are_the_actual_ones(m, seed):
    wins, ties = tallies(m, seed)
    found = davidson(wins, ties)
    games = wins + wins.T + ties
    points, drawn = np.zeros(m), 0.0
    for a in range(m):
        for b in range(m):
            if a != b:
                won, tied, lost = found.probabilities(a, b)
                assert won + tied + lost == pytest.approx(1)
                assert found.expected_score(a, b) == pytest.approx(won + tied / 2)
                points[a] += games[a, b] * (won + tied / 2)
                drawn += games[a, b] * tied / 2
    assert points == pytest.approx((wins + ties / 2).sum(axis=1), abs=1e-6)
    assert drawn == pytest.approx(ties.sum() / 2, abs=1e-6)
    assert found.certificate.value <= 1e-10


@given(st.integers(1, 50), st.integers(1, 50), st.integers(1, 50))
def test_two_agents_have_a_closed_form(won, lost, tied):
    found = davidson([[0, won], [lost, 0]], [[0, tied], [tied, 0]])
    assert found.probabilities(0, 1) == pytest.approx(np.array([won, tied, lost]) / (won + lost + tied), abs=1e-8)
    assert found.nu == pytest.approx(tied / math.sqrt(won * lost))
    assert np.ptp(found.ratings) == pytest.approx(ELO_SCALE * abs(math.log(won / lost)), abs=1e-5)


def test_without_ties_it_is_bradley_terry():
    wins, _ = tallies(5, 1)
    found = davidson(wins, options=BradleyTerryOptions(standard_errors="fisher"))
    plain = bradley_terry(wins, options=BradleyTerryOptions(standard_errors="fisher"))
    assert found.nu == 0.0
    assert found.ratings.tolist() == plain.ratings.tolist()
    assert found.covariance == pytest.approx(plain.covariance)
    assert found.probabilities(0, 1)[1] == 0.0


def test_of_ties_only_all_are_alike():
    found = davidson(np.zeros((3, 3)), [[0, 2, 0], [2, 0, 5], [0, 5, 0]])
    assert found.nu == math.inf
    assert found.ratings == pytest.approx([1500.0] * 3)
    assert found.probabilities(0, 2) == (0.0, 1.0, 0.0)
    with pytest.raises(InputError, match="errors are not finite"):
        davidson(np.zeros((2, 2)), [[0, 2], [2, 0]], options=BradleyTerryOptions(standard_errors="fisher"))


@pytest.mark.parametrize(
    ("wins", "ties"),
    [([[0, 3], [0, 0]], [[0, 2], [2, 0]]), ([[0, 3, 0], [0, 0, 2], [0, 0, 0]], [[0, 1, 0], [1, 0, 1], [0, 1, 0]])],
)
def test_ties_that_only_ever_larger_steps_explain_are_refused(wins, ties):
    """Half wins would give these finite ratings; here the likelihood grows without end, as scipy's does."""
    assert np.isfinite(bradley_terry(wins, ties).ratings).all()
    with pytest.raises(InputError, match="set a prior"):
        davidson(wins, ties)
    stairs = [[*np.linspace(step, -step, len(wins)), step / (len(wins) - 1)] for step in (2.0, 4.0, 8.0)]
    losses = [twin_loss(point, np.array(wins), np.array(ties)) for point in stairs]
    assert losses[0] > losses[1] > losses[2]
    found = davidson(wins, ties, options=BradleyTerryOptions(prior=0.1))
    assert found.ratings[0] > found.ratings[-1]
    assert 0 < found.nu < math.inf


def test_a_cycle_of_more_wins_than_ties_is_enough():
    """Nobody beat whom they were beaten by; the tie from c to a closes a cycle of two wins."""
    wins, ties = np.zeros((3, 3)), np.zeros((3, 3))
    wins[0, 1] = wins[1, 2] = 2
    ties[2, 0] = ties[0, 2] = 1
    found = davidson(wins, ties)
    assert found.certificate.value <= 1e-10
    assert logits(found)[0] == pytest.approx(-logits(found)[2])
    best = optimize.minimize(twin_loss, np.zeros(4), (wins, ties), "BFGS", options={"gtol": 1e-8})
    assert found.nu == pytest.approx(math.exp(best.x[-1]), rel=1e-3)


@STRICT
@given(st.integers(2, 5), st.integers(0, 10**6), st.sampled_from([0.0, 0.5]))
def test_errors_are_those_of_the_joint_information(m, seed, prior):
    wins, ties = tallies(m, seed)
    found = davidson(wins, ties, options=BradleyTerryOptions(prior=prior, scale=1.0, standard_errors="fisher"))
    point = np.append(logits(found), math.log(found.nu))

    def loss(x):
        return twin_loss(x, wins, ties) + prior * (np.logaddexp(0, x[:-1]) - x[:-1] / 2).sum()

    step = 1e-3
    shifts = step * np.eye(m + 1)
    hessian = [[(loss(point + a + b) - loss(point + a - b) - loss(point - a + b) + loss(point - a - b)) for b in shifts] for a in shifts]
    inverse = np.linalg.pinv(np.array(hessian) / (4 * step**2), rcond=1e-6, hermitian=True)
    assert found.covariance == pytest.approx(inverse[:m, :m], rel=1e-2, abs=1e-5)


@pytest.mark.parametrize("prior", [0.0, 0.5])
def test_conjugate_gradients_reach_what_factorising_reaches(monkeypatch, prior):
    wins, ties = tallies(50, 3, least=0)
    dense = davidson(wins, ties, options=BradleyTerryOptions(prior=prior))
    monkeypatch.setattr(module, "DENSE_UP_TO", 0)
    thin = davidson(wins, ties, options=BradleyTerryOptions(prior=prior))
    assert thin.ratings == pytest.approx(dense.ratings, abs=1e-5)
    assert thin.nu == pytest.approx(dense.nu)


def test_components_share_nu_and_do_not_compare():
    wins, ties = np.kron(np.eye(2), [[0, 2], [1, 0]]), np.kron(np.eye(2), [[0, 1], [1, 0]])
    found = davidson(wins, ties, options=BradleyTerryOptions(unconnected="components", standard_errors="fisher"))
    assert found.component.tolist() == [0, 0, 1, 1]
    assert found.ratings[0] == pytest.approx(found.ratings[2])
    assert math.isnan(found.expected_score(0, 2))
    assert math.isnan(found.covariance[0, 2])
    with pytest.raises(InputError, match="2 strongly connected"):
        davidson(wins, ties)


def test_limits_and_refusals():
    wins, ties = tallies(6, 2)
    with pytest.raises(SolverError, match="max_iterations"):
        davidson(10 * wins**3, ties, options=BradleyTerryOptions(max_iterations=1, tolerance=1e-12))
    bad = [({"prior": -1.0}, "prior"), ({"scale": 0.0}, "scale"), ({"wins": [[0, -1], [1, 0]], "ties": None}, "wins[0, 1]")]
    for arguments, named in bad:
        with pytest.raises(InputError) as caught:
            davidson(**with_options(BradleyTerryOptions, {"wins": wins, "ties": ties, **arguments}))
        assert caught.value.argument == named
    with pytest.raises(InputError):
        davidson(wins, ties).probabilities(0, 9)
