"""The sigmoid loss from tallies: its twin written from the paper, its laws, theorem 5, and the published cases."""

import json
import math
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from ratings_core.batch import soft_condorcet as module
from ratings_core.batch.pair_counts import pair_counts
from ratings_core.batch.sigmoid_loss import Box, SigmoidLoss
from ratings_core.batch.soft_condorcet import SoftCondorcetOptions, soft_condorcet
from ratings_core.errors import InputError, SolverError
from ratings_core.ranking import Ranking, kendall_tau
from ratings_core.solution import Status
from ratings_core.voting.kemeny import kemeny
from ratings_core.voting.profile import Ballot, Profile
from tests.support.options import with_options

SCO = Path(__file__).parents[2] / "golden" / "sco"
EQ11 = json.loads((SCO / "eq11_profile.json").read_text())
DISCRETE = json.loads((SCO / "kendall_discrete_loss.json").read_text())
PENTATHLON = json.loads((SCO.parent / "vase" / "pentathlon.json").read_text())
FEW = settings(max_examples=30, deadline=None)


def twin_loss(theta, N, tau):
    """Eq. 8 as it is printed."""
    m = len(N)
    return sum(N[a][b] / (1 + math.exp((theta[a] - theta[b]) / tau)) for a in range(m) for b in range(m) if a != b)


def random_wins(m, seed, most=9):
    wins = np.random.default_rng(seed).integers(0, most + 1, (m, m)).astype(float)
    np.fill_diagonal(wins, 0)
    return wins


def tallies(largest=7, least=2):
    return st.builds(random_wins, st.integers(least, largest), st.integers(0, 10**6), st.sampled_from([1, 2, 9]))


# the loss


@FEW
@given(tallies(), st.sampled_from([0.3, 1.0, 20.0]), st.integers(0, 99))
def test_the_loss_of_margins_is_the_loss_of_votes(wins, tau, seed):
    theta = np.random.default_rng(seed).uniform(0, 10, len(wins))
    assert SigmoidLoss.of(pair_counts(wins)).value(theta, tau) == pytest.approx(twin_loss(theta, wins, tau), abs=1e-9)


@FEW
@given(tallies(), st.sampled_from([0.3, 1.0, 20.0]), st.sampled_from([0.0, 0.7]), st.integers(0, 99))
def test_forces_are_differences_of_the_loss(wins, tau, prior, seed):
    theta = np.random.default_rng(seed).uniform(0, 10, len(wins))
    loss = SigmoidLoss.of(pair_counts(wins), prior)

    def value(ratings):
        return twin_loss(ratings, wins, tau) + prior / 2 * (((ratings - 5) / tau) ** 2).sum()

    steps = 1e-4 * tau * np.eye(len(wins))
    seen = [(value(theta + step) - value(theta - step)) / 2e-4 for step in steps]
    assert loss.forces(theta, tau, 5.0) == pytest.approx(np.array(seen), abs=1e-5)


def test_published_loss_and_gradient_of_figure_1():
    names, votes = PENTATHLON["alternatives"], PENTATHLON["votes"]
    profile = Profile.from_ballots([Ballot(v["weight"], tuple((names.index(n),) for n in v["ranking"])) for v in votes], names)
    theta = np.array([DISCRETE["theta"][name] for name in names], float)
    loss = SigmoidLoss.of(pair_counts(profile.preferences()))
    cases = DISCRETE["soft_loss_sum_over_votes_computed"]
    assert len(cases) == len(DISCRETE["soft_gradient_sum_over_votes_computed"]) == 4
    for tau, value in cases.items():
        assert loss.value(theta, float(tau)) == pytest.approx(value, abs=1e-12)
        gradient = DISCRETE["soft_gradient_sum_over_votes_computed"][tau]
        assert loss.forces(theta, float(tau), 0.0) / float(tau) == pytest.approx(np.array(gradient), abs=1e-14)
    assert loss.value(theta, 1e-3) == pytest.approx(DISCRETE["discrete_loss_published"])
    orders = {order: sum(weight * kendall_tau(strict(vote), strict(order)) for vote, weight in ballots()) for order in orders_of(names)}
    assert orders == DISCRETE["sum_kendall_tau_by_ranking"]


def ballots():
    return [("".join(vote["ranking"]), vote["weight"]) for vote in PENTATHLON["votes"]]


def strict(order):
    return Ranking.from_levels([["ABC".index(name)] for name in order])


def orders_of(names):
    return ["".join(order) for order in permutations(names)]


# the minimum


@pytest.mark.parametrize("tau", [0.5, 1.0, 2.0])
def test_the_profile_of_eq_11_has_its_published_order(tau):
    found = soft_condorcet(EQ11["N"], options=SoftCondorcetOptions(tau=tau))
    assert ["ABC"[agent] for agent in found.ranking.ids] == EQ11["optimal_ranking"]
    assert found.ratings[2] == 100.0
    assert found.winner == 2
    assert found.loss == pytest.approx(EQ11["sum_kendall_tau_by_ranking"]["CAB"], abs=1e-5)
    assert found.bound == EQ11["sum_kendall_tau_by_ranking"]["CAB"]
    assert found.status is Status.OPTIMAL


def test_a_plateau_does_not_stop_it():
    """At tau 1 and from the middle, L-BFGS stops where the margin of 1000 is satisfied and the others are not seen."""
    found = soft_condorcet([[0, 1, 0], [0, 0, 1], [1000, 0, 0]])
    assert found.ranking.levels == ((1,), (2,), (0,))
    assert found.loss == pytest.approx(1.0, abs=1e-9)


@FEW
@given(tallies(), st.sampled_from([2.0, 10.0, 100.0]))
def test_a_strong_winner_is_at_the_bound_and_ranked_first(wins, width):
    wins[0, 1:] = wins[1:, 0] + 1
    found = soft_condorcet(wins, options=SoftCondorcetOptions(high=width, accept_approximate=True))
    assert found.winner == 0
    assert found.ratings[0] == width
    assert found.ranking.levels[0] == (0,)


@FEW
@given(tallies(), st.sampled_from([2.0, 10.0, 100.0]))
def test_the_certificate_is_the_projected_gradient_of_the_ratings(wins, width):
    found = soft_condorcet(wins, options=SoftCondorcetOptions(high=width, accept_approximate=True))
    margins = np.abs(wins - wins.T).sum(axis=1)
    x = found.ratings[:, None] - found.ratings
    slope = 1 / (2 + np.exp(x) + np.exp(-x))
    forces = -((wins - wins.T) * slope).sum(axis=1)
    held = ((found.ratings == 0) & (forces > 0)) | ((found.ratings == width) & (forces < 0))
    expected = max((abs(f) / d for f, d, h in zip(forces, margins, held, strict=True) if d and not h), default=0.0)
    assert found.certificate.value == pytest.approx(expected, abs=1e-12)
    assert found.status is Status.OPTIMAL
    assert found.loss == pytest.approx(twin_loss(found.ratings, wins, 1.0), abs=1e-9)


@FEW
@given(tallies(), st.integers(0, 99), st.sampled_from([0.5, 5.0]))
def test_no_ratings_have_a_loss_below_the_bound(wins, seed, tau):
    """The bound is Kemeny's: of random ratings, and of the best order spread widely, none is below."""
    found = soft_condorcet(wins, options=SoftCondorcetOptions(tau=tau, accept_approximate=True))
    best = kemeny(wins)
    assert found.bound == pytest.approx(wins.sum() - best.value)
    for theta in np.random.default_rng(seed).normal(0, 3 * tau, (20, len(wins))):
        assert twin_loss(theta, wins, tau) >= found.bound - 1e-9
    assert found.bound - 1e-9 <= found.loss


@FEW
@given(tallies(6, least=3))
def test_in_a_wide_box_the_order_is_kemenys(wins):
    wins[np.triu_indices(len(wins), 1)] += 0.5  # no ties
    found = soft_condorcet(wins, options=SoftCondorcetOptions(high=400.0))
    assert found.loss == pytest.approx(found.bound, abs=1e-6)
    wrong = sum(wins[b, a] for a, b in combinations(found.ranking.ids, 2))
    assert wrong == pytest.approx(found.bound)


@FEW
@given(tallies(), st.sampled_from([2.0, 100.0]))
def test_ties_in_votes_and_unanimous_additions_drop_out(wins, width):
    both = np.random.default_rng(1).integers(0, 5, wins.shape).astype(float)
    np.fill_diagonal(both, 0)
    both = both + both.T
    plain = soft_condorcet(wins, options=SoftCondorcetOptions(high=width, accept_approximate=True))
    assert (
        soft_condorcet(wins, both, options=SoftCondorcetOptions(high=width, accept_approximate=True)).ratings.tolist()
        == plain.ratings.tolist()
    )
    assert (
        soft_condorcet(wins + both, options=SoftCondorcetOptions(high=width, accept_approximate=True)).ratings.tolist()
        == plain.ratings.tolist()
    )


@FEW
@given(tallies(), st.sampled_from([2.0, 100.0]), st.sampled_from([0.25, 4.0]))
def test_the_unit_of_votes_and_of_ratings_does_not_matter(wins, width, factor):
    plain = soft_condorcet(wins, options=SoftCondorcetOptions(high=width, accept_approximate=True))
    assert soft_condorcet(factor * wins, options=SoftCondorcetOptions(high=width, accept_approximate=True)).ranking == plain.ranking
    moved = soft_condorcet(wins, options=SoftCondorcetOptions(low=-7.0, high=factor * width - 7, tau=factor, accept_approximate=True))
    assert moved.loss == pytest.approx(plain.loss, abs=1e-6)


def test_dense_and_sparse_tallies_are_the_same():
    wins = random_wins(9, 3)
    assert soft_condorcet(sparse.csr_array(wins)).ratings.tolist() == soft_condorcet(wins).ratings.tolist()
    assert soft_condorcet(pair_counts(wins)).ratings.tolist() == soft_condorcet(wins).ratings.tolist()


def test_descents_alone_do_nearly_as_well_as_with_a_good_order(monkeypatch):
    """Beyond the size of dense margins only the annealed descent runs; here it is compared with both."""
    both = [soft_condorcet(random_wins(12, seed), options=SoftCondorcetOptions(accept_approximate=True)) for seed in range(20)]
    monkeypatch.setattr(module, "ORDERED_UP_TO", 0)
    alone = [soft_condorcet(random_wins(12, seed), options=SoftCondorcetOptions(accept_approximate=True)) for seed in range(20)]
    assert all(one.stats["starts"] == 1 for one in alone)
    assert all(two.loss <= one.loss + 1e-6 for one, two in zip(alone, both, strict=True))
    excess = np.mean([(one.loss - two.loss) / two.loss for one, two in zip(alone, both, strict=True)])
    assert excess < 0.02


def test_ties_at_the_bound_are_settled_by_margins():
    """At a high temperature three agents press against the bound together."""
    wins = np.zeros((4, 4))
    wins[:3, 3] = 9
    wins[0, 1] = wins[0, 2] = wins[1, 2] = 1
    found = soft_condorcet(wins, options=SoftCondorcetOptions(tau=1000.0, tolerance=0.3))
    assert found.ratings.tolist()[0] == 100.0
    assert found.ranking.levels[0] == (0,)
    assert found.ranking.levels[-1] == (3,)
    group = np.array([0, 1, 2])
    settled = module._by_margin(SigmoidLoss.of(pair_counts(wins)), group, None)
    assert settled == [[0], [1], [2]]
    cycle = np.zeros((3, 3))
    cycle[[0, 1, 2], [1, 2, 0]] = 1
    assert module._by_margin(SigmoidLoss.of(pair_counts(cycle)), group, None) == [[0, 1, 2]]


def test_agents_without_votes_stay_in_the_middle_and_all_tied_is_a_tie():
    wins = np.zeros((3, 3))
    wins[0, 1] = 2
    assert soft_condorcet(wins).ratings.tolist() == [100.0, 0.0, 50.0]
    nothing = soft_condorcet(np.zeros((3, 3)))
    assert nothing.ratings.tolist() == [50.0] * 3
    assert nothing.ranking.levels == ((0, 1, 2),)
    assert soft_condorcet([[0]]).ratings.tolist() == [50.0]


def test_a_prior_pulls_to_the_middle_and_needs_no_box():
    wins = np.zeros((2, 2))
    wins[0, 1] = 1
    free = soft_condorcet(wins, options=SoftCondorcetOptions(prior=1e-2, high=1e6))
    x = (free.ratings[0] - free.ratings[1]) / 2
    assert free.ratings.sum() == pytest.approx(1e6)
    assert 1e-2 * x == pytest.approx(1 / (2 + math.exp(2 * x) + math.exp(-2 * x)), abs=1e-7)
    assert np.ptp(soft_condorcet(wins, options=SoftCondorcetOptions(prior=10.0)).ratings) < np.ptp(
        soft_condorcet(wins, options=SoftCondorcetOptions(prior=0.1)).ratings
    )


def test_the_limit_of_iterations_is_an_error_that_carries_the_point():
    wins = random_wins(30, 5)
    with pytest.raises(SolverError, match="accept_approximate") as caught:
        soft_condorcet(wins, options=SoftCondorcetOptions(high=3.0, max_iterations=1, tolerance=1e-12))
    assert caught.value.solution.status is Status.APPROXIMATE
    assert (
        soft_condorcet(wins, options=SoftCondorcetOptions(high=3.0, max_iterations=1, tolerance=1e-12, accept_approximate=True)).status
        is Status.APPROXIMATE
    )


def test_callers_arrays_are_left_alone():
    wins = random_wins(5, 1)
    before = wins.copy()
    soft_condorcet(wins)
    assert (wins == before).all()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"wins": np.zeros((2, 3))}, "wins"),
        ({"wins": [[0, -1], [1, 0]]}, "wins[0, 1]"),
        ({"wins": [[0, np.nan], [1, 0]]}, "wins[0, 1]"),
        ({"wins": [[1, 1], [1, 0]]}, "wins[0, 0]"),
        ({"wins": pair_counts([[0, 1], [1, 0]]), "ties": [[0, 1], [1, 0]]}, "ties"),
        ({"tau": 0.0}, "tau"),
        ({"tau": np.nan}, "tau"),
        ({"low": 100.0}, "high"),
        ({"high": np.inf}, "high"),
        ({"prior": -1.0}, "prior"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"max_iterations": 0}, "max_iterations"),
    ],
)
def test_refusals_name_the_argument(arguments, named):
    with pytest.raises(InputError) as caught:
        soft_condorcet(**with_options(SoftCondorcetOptions, {"wins": [[0, 1], [1, 0]], **arguments}))
    assert caught.value.argument == named


def test_a_box_knows_which_forces_it_takes():
    box = Box(0.0, 10.0)
    theta, forces = np.array([0.0, 0.0, 5.0, 10.0, 10.0]), np.array([1.0, -1.0, 1.0, 1.0, -1.0])
    assert box.free(theta, forces).tolist() == [0.0, -1.0, 1.0, 1.0, 0.0]
    assert (box.width, box.middle) == (10.0, 5.0)
