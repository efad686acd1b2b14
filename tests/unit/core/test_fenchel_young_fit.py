"""The Fenchel-Young loss without sampling: against its sampled gradient, scipy in the box, and Bradley-Terry where the box is wide."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, sparse
from scipy.special import expit

from ratings_core.batch.bradley_terry import BradleyTerryOptions, bradley_terry
from ratings_core.batch.fenchel_young import FenchelYoungOptions, fenchel_young
from ratings_core.batch.pair_counts import pair_counts
from ratings_core.errors import InputError, SolverError
from ratings_core.solution import Status
from ratings_core.voting.profile import Ballot, Profile
from tests.support.options import with_options

EQ11 = json.loads((Path(__file__).parents[2] / "golden" / "sco" / "eq11_profile.json").read_text())
STRICT = settings(max_examples=30, deadline=None)


def random_wins(m, seed, least=0):
    wins = np.random.default_rng(seed).integers(least, 10, (m, m)).astype(float)
    np.fill_diagonal(wins, 0)
    return wins


def twin_loss(theta, wins, sigma):
    return float((wins * np.logaddexp(0, (theta[None, :] - theta[:, None]) / sigma)).sum())


def sampled_gradient(votes, theta, sigma, draws, rng):
    """Appendix B: mean of the ranks of perturbed ratings less the ranks in the votes, ranks growing with the rating."""
    gradient = np.zeros(len(theta))
    for vote in votes:
        noisy = theta[vote] + sigma * rng.gumbel(size=(draws, len(vote)))
        ranks = noisy.argsort(axis=1).argsort(axis=1).mean(axis=0)
        gradient[vote] += ranks - np.arange(len(vote))[::-1]
    return gradient


def test_the_published_fixed_point_has_the_elo_winner_on_top():
    found = fenchel_young(EQ11["N"], options=FenchelYoungOptions(sigma=2.0))
    expected = EQ11["fenchel_young_gumbel_stationary_point_over_sigma_mean0_computed"]
    assert (found.ratings - 50) / 2 == pytest.approx([expected[name] for name in "ABC"], abs=1e-7)
    assert ["ABC"[agent] for agent in np.argsort(-found.ratings)] == EQ11["elo_order"]


def test_the_sampled_gradient_vanishes_there_and_points_uphill_elsewhere():
    votes = [np.array(vote) for vote in ([0, 1, 2, 3], [2, 0, 1], [3, 1], [1, 3, 0], [2, 3, 1, 0])]
    profile = Profile.from_ballots([Ballot(1.0, tuple((agent,) for agent in vote.tolist())) for vote in votes], "abcd")
    found = fenchel_young(profile.preferences("unknown"), options=FenchelYoungOptions(sigma=1.5))
    rng = np.random.default_rng(0)
    assert sampled_gradient(votes, found.ratings, 1.5, 40_000, rng) == pytest.approx(np.zeros(4), abs=0.06)
    away = found.ratings + np.array([3.0, 0, 0, 0])
    assert sampled_gradient(votes, away, 1.5, 2_000, rng)[0] > 0.5


@STRICT
@given(st.integers(2, 7), st.integers(0, 10**6), st.sampled_from([0.5, 2.0]), st.sampled_from([1.0, 4.0, 30.0]))
def test_scipy_finds_no_better_point_in_the_box(m, seed, sigma, width):
    wins = random_wins(m, seed)
    found = fenchel_young(wins, options=FenchelYoungOptions(sigma=sigma, high=width))
    options = {"ftol": 1e-15, "gtol": 1e-10, "maxfun": 100_000}
    best = optimize.minimize(twin_loss, np.full(m, width / 2), (wins, sigma), "L-BFGS-B", bounds=[(0, width)] * m, options=options)
    assert twin_loss(found.ratings, wins, sigma) <= best.fun + 1e-7
    assert found.status is Status.OPTIMAL
    assert (found.at_bound == ((found.ratings == 0) | (found.ratings == width))).all()


@STRICT
@given(st.integers(2, 7), st.integers(0, 10**6))
def test_in_a_wide_box_it_is_bradley_terry(m, seed):
    wins = random_wins(m, seed, least=1)
    found = fenchel_young(wins, options=FenchelYoungOptions(sigma=173.0, high=3000.0))
    assert found.ratings == pytest.approx(bradley_terry(wins, options=BradleyTerryOptions(scale=173.0)).ratings, abs=1e-4)
    anchored = fenchel_young(wins, options=FenchelYoungOptions(sigma=173.0, high=3000.0, prior=2.0))
    assert anchored.ratings == pytest.approx(bradley_terry(wins, options=BradleyTerryOptions(scale=173.0, prior=2.0)).ratings, abs=1e-4)


@STRICT
@given(st.integers(2, 7), st.integers(0, 10**6), st.sampled_from([0.0, 0.5]))
def test_the_certificate_is_recomputed(m, seed, prior):
    wins = random_wins(m, seed)
    found = fenchel_young(wins, options=FenchelYoungOptions(high=4.0, prior=prior))
    x = found.ratings - 2
    games = (wins + wins.T).sum(axis=1) + prior
    gap = ((wins + wins.T) * expit(x[:, None] - x)).sum(axis=1) - wins.sum(axis=1) + prior * (expit(x) - 0.5)
    held = ((found.ratings == 0) & (gap > 0)) | ((found.ratings == 4) & (gap < 0))
    expected = max((abs(g) / n for g, n, h in zip(gap, games, held, strict=True) if n and not h), default=0.0)
    assert found.certificate.value == pytest.approx(expected, abs=1e-13)


def test_who_never_lost_goes_to_the_bound_and_groups_are_centred():
    wins = np.zeros((8, 8))
    wins[0, 1:4] = 1  # 0 beat all of its group
    wins[1, 2] = wins[2, 1] = wins[2, 3] = 2  # 3 beat nobody
    wins[4, 5], wins[5, 4] = 3, 1  # apart from them
    wins[6, 4] = wins[6, 5] = 0
    found = fenchel_young(wins)
    assert (found.ratings[0], found.ratings[3]) == (100.0, 0.0)
    assert 0 < found.ratings[2] <= found.ratings[1] < 100
    assert found.ratings[4] - 50 == pytest.approx(50 - found.ratings[5])
    assert found.ratings[4] - found.ratings[5] == pytest.approx(np.log(3), abs=1e-6)
    assert found.ratings[6] == found.ratings[7] == 50.0


def test_sparse_ties_and_pair_counts():
    wins, ties = random_wins(6, 1, least=1), random_wins(6, 2)
    ties = ties + ties.T
    found = fenchel_young(wins, ties)
    assert fenchel_young(wins + ties / 2).ratings == pytest.approx(found.ratings, abs=1e-6)
    assert fenchel_young(sparse.csr_array(wins), sparse.csr_array(ties)).ratings.tolist() == found.ratings.tolist()
    assert fenchel_young(pair_counts(wins, ties)).ratings.tolist() == found.ratings.tolist()


def test_the_limit_of_iterations_is_an_error_that_carries_the_point():
    with pytest.raises(SolverError, match="max_iterations") as caught:
        fenchel_young(random_wins(7, 3, least=1), options=FenchelYoungOptions(max_iterations=1))
    assert caught.value.solution.status is Status.APPROXIMATE


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"wins": [[0, -1], [1, 0]]}, "wins[0, 1]"),
        ({"sigma": 0.0}, "sigma"),
        ({"low": 100.0}, "high"),
        ({"prior": np.inf}, "prior"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"max_iterations": 0}, "max_iterations"),
    ],
)
def test_refusals_name_the_argument(arguments, named):
    with pytest.raises(InputError) as caught:
        fenchel_young(**with_options(FenchelYoungOptions, {"wins": [[0, 1], [1, 0]], **arguments}))
    assert caught.value.argument == named
