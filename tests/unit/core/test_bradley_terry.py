"""Bradley-Terry against closed forms, its readable twin (Hunter's MM), scipy on the likelihood, and the laws of the model."""

import math

import choix
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, sparse
from scipy.special import expit

from ratings_core.batch import logistic
from ratings_core.batch.bradley_terry import COVARIANCE_UP_TO, ELO_SCALE, BradleyTerryOptions, bradley_terry
from ratings_core.batch.pair_counts import pair_counts
from ratings_core.errors import InputError, SolverError
from ratings_core.solution import Status
from tests.support.options import with_options

STRICT = settings(max_examples=40, deadline=None)


@st.composite
def connected_tallies(draw, largest=7):
    """Whole-number wins in which everybody beat everybody at least once, and symmetric ties."""
    m = draw(st.integers(2, largest))
    cells = st.lists(st.integers(0, 9), min_size=m * m, max_size=m * m)
    wins = np.array(draw(cells), float).reshape(m, m) + 1
    ties = np.triu(np.array(draw(cells), float).reshape(m, m), 1)
    np.fill_diagonal(wins, 0)
    return wins, ties + ties.T


def random_tallies(m, games, seed, spread=1.0):
    rng = np.random.default_rng(seed)
    skill = rng.normal(0, spread, m)
    first, second = rng.integers(0, m, (2, games))
    first, second = first[first != second], second[first != second]
    won = rng.random(len(first)) < expit(skill[first] - skill[second])
    wins = np.zeros((m, m))
    np.add.at(wins, (np.where(won, first, second), np.where(won, second, first)), 1)
    return wins


def hunters_mm(wins, ties, sweeps=20_000):
    """Hunter 2004, eq. 3, one agent after the other; a tie is half a win for both. Logits, mean 0."""
    points, games = wins + ties / 2, wins + wins.T + ties
    strength = np.ones(len(wins))
    for _ in range(sweeps):
        before = strength.copy()
        for a in range(len(wins)):
            rest = [b for b in range(len(wins)) if b != a]
            strength[a] = points[a].sum() / sum(games[a, b] / (strength[a] + strength[b]) for b in rest)
        strength /= np.exp(np.log(strength).mean())
        if np.abs(np.log(strength / before)).max() < 1e-14:
            break
    return np.log(strength)


def minus_log_likelihood(theta, wins, ties):
    points = wins + ties / 2
    return -sum(points[a, b] * math.log(expit(theta[a] - theta[b])) for a in range(len(wins)) for b in range(len(wins)) if a != b)


def logits(solution):
    return (solution.ratings - solution.centre) / solution.scale


@given(st.integers(1, 400), st.integers(1, 400), st.integers(0, 100))
def test_two_agents_have_a_closed_form(won, lost, tied):
    solved = bradley_terry([[0, won], [lost, 0]], [[0, tied], [tied, 0]], options=BradleyTerryOptions(centre=0.0))
    gap = ELO_SCALE * math.log((won + tied / 2) / (lost + tied / 2))
    assert solved.ratings == pytest.approx([gap / 2, -gap / 2], abs=1e-7)
    assert solved.expected_score(0, 1) == pytest.approx((won + tied / 2) / (won + lost + tied), abs=1e-9)


@STRICT
@given(connected_tallies(5))
def test_equals_its_readable_twin(tallies):
    wins, ties = tallies
    assert logits(bradley_terry(wins, ties)) == pytest.approx(hunters_mm(wins, ties), abs=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_scipy_finds_no_better_point_of_the_likelihood(seed):
    wins = random_tallies(6, 200, seed) + 1 - np.eye(6)
    found = logits(bradley_terry(wins))
    best = optimize.minimize(minus_log_likelihood, np.zeros(6), args=(wins, np.zeros((6, 6))), method="BFGS", options={"gtol": 1e-7})
    assert minus_log_likelihood(found, wins, np.zeros((6, 6))) <= best.fun + 1e-9
    assert found == pytest.approx(best.x - best.x.mean(), abs=1e-5)


def test_choix_finds_the_same():
    wins = random_tallies(6, 200, 9) + 1 - np.eye(6)
    won = [(a, b) for a, b in np.ndindex(6, 6) for _ in range(int(wins[a, b]))]
    assert logits(bradley_terry(wins)) == pytest.approx(choix.mm_pairwise(6, won, tol=1e-10), abs=1e-6)


@STRICT
@given(connected_tallies(), st.randoms(use_true_random=False))
def test_renaming_agents_renames_the_ratings(tallies, random):
    wins, ties = tallies
    order = list(range(len(wins)))
    random.shuffle(order)
    shuffled = bradley_terry(wins[np.ix_(order, order)], ties[np.ix_(order, order)])
    assert shuffled.ratings == pytest.approx(bradley_terry(wins, ties).ratings[order], abs=1e-6)


@STRICT
@given(connected_tallies(), st.sampled_from([2.0**-20, 0.3, 7.0, 1e6]))
def test_scaling_the_counts_leaves_the_ratings(tallies, factor):
    wins, ties = tallies
    assert bradley_terry(factor * wins, factor * ties).ratings == pytest.approx(bradley_terry(wins, ties).ratings, abs=1e-6)


@STRICT
@given(connected_tallies())
def test_a_tie_is_half_a_win_for_both(tallies):
    wins, ties = tallies
    assert bradley_terry(wins, ties).ratings == pytest.approx(bradley_terry(wins + ties / 2).ratings, abs=1e-7)


@STRICT
@given(connected_tallies())
def test_expected_scores_are_the_actual_ones_and_the_certificate_says_so(tallies):
    wins, ties = tallies
    solved = bradley_terry(wins, ties)
    theta, games = logits(solved), wins + wins.T + ties
    gap = (games * expit(theta[:, None] - theta)).sum(1) - (wins + ties / 2).sum(1)
    assert solved.status is Status.OPTIMAL
    assert np.abs(gap / games.sum(1)).max() <= 1e-10
    assert solved.certificate.kind == "score_gap_per_game"
    assert solved.certificate.value == pytest.approx(np.abs(gap / games.sum(1)).max(), abs=1e-14)
    assert solved.ratings.mean() == pytest.approx(1500)


@STRICT
@given(connected_tallies(), st.integers(0, 6), st.integers(0, 6))
def test_another_win_never_lowers_the_winner(tallies, a, b):
    wins, ties = tallies
    a, b = a % len(wins), b % len(wins)
    more = wins.copy()
    more[a, b] += a != b
    assert bradley_terry(more, ties).ratings[a] >= bradley_terry(wins, ties).ratings[a] - 1e-7


def test_repeated_sparse_entries_merge_like_tallies():
    wins, other = random_tallies(8, 400, 1), random_tallies(8, 400, 2)
    first, second = sparse.coo_array(wins), sparse.coo_array(other)
    rows, columns = np.concatenate([first.row, second.row]), np.concatenate([first.col, second.col])
    merged = sparse.coo_array((np.concatenate([first.data, second.data]), (rows, columns)), shape=(8, 8))
    assert bradley_terry(merged).ratings.tolist() == bradley_terry(wins + other).ratings.tolist()


@pytest.mark.parametrize("prior", [0.0, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_conjugate_gradients_reach_what_factorising_reaches(monkeypatch, seed, prior):
    wins = random_tallies(60, 900, seed)
    options = BradleyTerryOptions(prior=prior, unconnected="components")
    dense = bradley_terry(wins, options=options)
    monkeypatch.setattr(logistic, "DENSE_UP_TO", 0)
    thin = bradley_terry(sparse.csr_array(wins), options=options)
    assert thin.ratings == pytest.approx(dense.ratings, abs=1e-6, nan_ok=True)
    assert thin.certificate.value <= 1e-10


@pytest.mark.parametrize("dense_up_to", [0, 1000])
@pytest.mark.parametrize("odds", [9.0, 1e6])
def test_a_long_ladder_of_lopsided_pairs(monkeypatch, odds, dense_up_to):
    """Only neighbours meet: each gap is the log odds, thousands of points from top to bottom."""
    monkeypatch.setattr(logistic, "DENSE_UP_TO", dense_up_to)
    ladder = odds * np.eye(120, k=1) + np.eye(120, k=-1)
    gaps = np.diff(logits(bradley_terry(ladder, options=BradleyTerryOptions(tolerance=1e-13))))
    assert gaps == pytest.approx(np.full(119, -math.log(odds)), abs=1e-8)


@given(connected_tallies(), st.sampled_from([0.0, 0.5]), st.sampled_from([0.1, 3.0, 30.0]), st.integers(0, 99))
def test_the_cautious_quadratic_touches_the_likelihood_and_lies_above_it(tallies, prior, spread, seed):
    likelihood = logistic.PairLikelihood(pair_counts(*tallies), prior)
    here, there = np.random.default_rng(seed).normal(0, spread, (2, len(tallies[0])))
    way, slope = there - here, likelihood.gradient(here)
    above = likelihood.value(here) + way @ slope + way @ likelihood.curvature(here, 1.0).dense() @ way / 2
    assert likelihood.value(there) <= above * (1 + 1e-12)
    nudge = 1e-6 * way / np.abs(way).max()
    slope_seen = (likelihood.value(here + nudge) - likelihood.value(here - nudge)) / 2
    assert slope_seen == pytest.approx(slope @ nudge, abs=1e-9 * likelihood.value(here) + 1e-12)


@given(connected_tallies(), st.sampled_from([0.0, 0.5]), st.sampled_from([1.0, 30.0, 400.0]), st.integers(0, 99))
def test_slopes_are_those_of_the_formula_at_any_size_of_theta(tallies, prior, spread, seed):
    """400 logits are beyond what exponentials of single agents can divide."""
    counts = pair_counts(*tallies)
    theta = np.random.default_rng(seed).uniform(-spread, spread, counts.m)
    gap = theta[counts.first] - theta[counts.second]
    surplus = np.where(gap >= 0, counts.lost + counts.tied / 2 - counts.games * expit(-gap), counts.games * expit(gap) - counts.points)
    gradient, weights = logistic.PairLikelihood(counts, prior).slopes(theta)
    assert gradient == pytest.approx(counts.per_agent(surplus, -surplus) + prior * (expit(theta) - 0.5), rel=1e-12, abs=1e-11)
    assert weights == pytest.approx(counts.games * expit(gap) * expit(-gap), rel=1e-12)


@given(connected_tallies(), st.sampled_from([0.0, 0.5]), st.sampled_from([0.1, 3.0, 30.0]), st.integers(0, 99))
def test_a_newton_step_that_moves_no_gap_far_decreases_the_function(tallies, prior, spread, seed):
    likelihood = logistic.PairLikelihood(pair_counts(*tallies), prior)
    theta = np.random.default_rng(seed).normal(0, spread, likelihood.counts.m)
    step = np.linalg.lstsq(likelihood.curvature(theta).dense(), likelihood.gradient(theta))[0]
    step *= min(1.0, logistic._SURE_MOVE / np.ptp(np.append(step, 0.0)))
    value = likelihood.value(theta)
    assert likelihood.value(theta - step) <= value * (1 + 1e-12)


@pytest.mark.parametrize("change", [5e-4, 0.5])
def test_a_kept_factor_leaves_a_thousandth_of_the_error_at_most(change):
    likelihood = logistic.PairLikelihood(pair_counts(random_tallies(30, 400, 1) + 0.1 * (1 - np.eye(30))), 0.5)
    solve = logistic.solver(likelihood, np.zeros(30, np.int64))
    rng = np.random.default_rng(2)
    before = likelihood.curvature(rng.normal(size=30))
    after = logistic.Curvature(before.counts, before.weights * (1 + change * rng.uniform(-1, 1, len(before.weights))), before.anchors)
    rhs = rng.normal(size=30)
    solve(before, rhs)
    exact = np.linalg.solve(after.dense(), rhs)
    error = solve(after, rhs) - exact
    assert error @ after.dense() @ error <= 1e-6 * exact @ after.dense() @ exact


def test_a_start_is_not_beyond_the_optimum_of_nearly_separable_agents():
    """The gradient is below the tolerance there, so the start would be returned: it is below it from 22 logits on, too."""
    assert 22 < float(-np.diff(logits(bradley_terry([[0, 1e12], [1e-2, 0]])))[0]) <= 14 * math.log(10)


def test_a_separable_pair_is_refused_by_name_and_not_answered_as_a_tie():
    wins = np.array([[0, 3, 3], [0, 0, 2], [0, 2, 0]])
    with pytest.raises(InputError, match=r"2 strongly connected components.*set a prior.*\['ann'\], \['bob', 'cy'\]"):
        bradley_terry(wins, names=["ann", "bob", "cy"])


def test_disconnected_data_is_refused():
    blocks = np.kron(np.eye(2), [[0, 1], [1, 0]])
    with pytest.raises(InputError, match="2 strongly connected"):
        bradley_terry(blocks)


def test_an_agent_without_games_is_refused():
    with pytest.raises(InputError, match="2 strongly connected"):
        bradley_terry(np.pad([[0, 1], [2, 0]], (0, 1)))


def test_components_are_rated_by_themselves_and_the_rest_is_nan():
    wins = np.zeros((6, 6))
    wins[0, 1], wins[1, 0] = 3, 1
    wins[3, 4], wins[4, 3] = 9, 1
    wins[0, 3] = wins[1, 4] = 5
    wins[2, 0] = 7
    solved = bradley_terry(wins, options=BradleyTerryOptions(unconnected="components", centre=0.0, standard_errors="fisher"))
    assert solved.component.tolist() == [0, 0, 1, 2, 2, 3]
    assert np.isnan(solved.ratings).tolist() == [False, False, True, False, False, True]
    assert solved.ratings[0] - solved.ratings[1] == pytest.approx(ELO_SCALE * math.log(3))
    assert solved.ratings[3] - solved.ratings[4] == pytest.approx(ELO_SCALE * math.log(9))
    assert solved.ratings[[0, 3]] == pytest.approx(-solved.ratings[[1, 4]])
    assert math.isnan(solved.expected_score(0, 3))
    assert np.isnan(solved.standard_error).tolist() == [False, False, True, False, False, True]
    assert solved.standard_error[0] == pytest.approx(ELO_SCALE / 2 / math.sqrt(4 * 3 / 16))
    assert np.isnan(solved.covariance[0, 3])


def test_ratings_inside_a_component_are_the_limit_of_the_whole_likelihood():
    """A vanishing prior makes the whole likelihood finite; its differences inside components go where the components' own are."""
    rng = np.random.default_rng(5)
    wins = np.kron(np.eye(2), np.ones((4, 4))) * rng.integers(1, 9, (8, 8)) * (1 - np.eye(8))
    wins[:4, 4:] = rng.integers(0, 3, (4, 4))
    parts, whole = (
        bradley_terry(wins, options=BradleyTerryOptions(unconnected="components")),
        bradley_terry(wins, options=BradleyTerryOptions(prior=1e-7)),
    )
    for block in (slice(0, 4), slice(4, 8)):
        assert np.diff(whole.ratings[block]) == pytest.approx(np.diff(parts.ratings[block]), abs=1e-2)


def test_the_prior_is_ties_with_an_anchor_at_the_centre():
    wins = random_tallies(5, 40, 3)
    anchored = np.pad(wins, (0, 1))
    ties = np.zeros((6, 6))
    ties[5, :5] = ties[:5, 5] = 0.7
    whole = bradley_terry(anchored, ties)
    solved = bradley_terry(wins, options=BradleyTerryOptions(prior=0.7, centre=200.0))
    assert solved.ratings - 200.0 == pytest.approx((whole.ratings - whole.ratings[5])[:5], abs=1e-7)


def test_a_prior_makes_any_data_finite():
    solved = bradley_terry(np.pad([[0, 5], [0, 0]], (0, 1)), options=BradleyTerryOptions(prior=1.0))
    assert solved.ratings[0] - 1500 == pytest.approx(1500 - solved.ratings[1])
    assert solved.ratings[0] > solved.ratings[2] == 1500
    assert solved.component.tolist() == [0, 0, 0]


def test_standard_errors_of_two_agents():
    solved = bradley_terry([[0, 30], [10, 0]], options=BradleyTerryOptions(standard_errors="fisher"))
    expected = ELO_SCALE / 2 / math.sqrt(40 * 0.75 * 0.25)
    assert solved.standard_error == pytest.approx([expected, expected])
    assert solved.assumes == "independent pairs"
    sandwich = bradley_terry([[0, 30], [10, 0]], options=BradleyTerryOptions(standard_errors="sandwich"))
    share = 0.5 / (0.5 + 40 * 0.75 * 0.25)  # of expected squares; the others are of one gap fitted to 40 games
    assert sandwich.covariance == pytest.approx(solved.covariance * ((1 - share) * 40 / 39 + share))
    assert bradley_terry([[0, 30], [10, 0]]).standard_error is None


@STRICT
@given(connected_tallies(5), st.sampled_from([0.0, 0.5]))
def test_covariances_are_the_textbooks(tallies, prior):
    """Information, and outer products of scores over 1 minus the leverage (HC2); a pseudo-inverse where a shift is free.

    Expected squares replace a share of the actual ones, and the prior adds its own.
    """
    wins, ties = tallies
    m = len(wins)
    fisher, sandwich = (
        bradley_terry(wins, ties, options=BradleyTerryOptions(prior=prior, scale=1.0, standard_errors=kind))
        for kind in ("fisher", "sandwich")
    )
    theta = logits(fisher)
    p = expit(theta[:, None] - theta)
    anchors, of_games = prior * expit(theta) * expit(-theta), np.zeros((m, m))
    pairs = [(a, b, np.eye(m)[a] - np.eye(m)[b]) for a in range(m) for b in range(a)]
    for a, b, e in pairs:
        of_games += (wins[a, b] + wins[b, a] + ties[a, b]) * p[a, b] * p[b, a] * np.outer(e, e)
    bread = np.linalg.pinv(of_games + np.diag(anchors), rcond=1e-12, hermitian=True)
    meat = np.diag(anchors) - (np.outer(anchors, anchors) / anchors.sum() if prior else 0.0)
    for a, b, e in pairs:
        leverage, share = p[a, b] * p[b, a] * (e @ bread @ e), 0.5 / (0.5 + min(of_games[a, a], of_games[b, b]))
        for count, result in ((wins[a, b], 1.0), (wins[b, a], 0.0), (ties[a, b], 0.5)):
            if count:
                square = (1 - share) * (result - p[a, b]) ** 2 / (1 - leverage) + share * p[a, b] * p[b, a]
                meat += count * square * np.outer(e, e)
    assert fisher.covariance == pytest.approx(bread, rel=1e-6, abs=1e-9)
    assert sandwich.covariance == pytest.approx(bread @ meat @ bread, rel=1e-6, abs=1e-9)


def test_sandwich_errors_cover_the_truth():
    """Over 300 repeated tournaments with ties the spread of the fit is what the sandwich says; Fisher's is too wide there."""
    rng = np.random.default_rng(11)
    p = expit(np.subtract.outer([0.8, 0.0, -0.8], [0.8, 0.0, -0.8]))
    fits, sandwich, fisher = [], [], []
    for _ in range(300):
        wins, ties = np.zeros((3, 3)), np.zeros((3, 3))
        for a, b in ((0, 1), (0, 2), (1, 2)):
            drawn = 2 * min(p[a, b], p[b, a]) * 0.6
            wins[a, b], ties[a, b], wins[b, a] = rng.multinomial(60, [p[a, b] - drawn / 2, drawn, p[b, a] - drawn / 2])
        solved = bradley_terry(wins, ties + ties.T, options=BradleyTerryOptions(standard_errors="sandwich", prior=1e-3))
        fits.append(solved.ratings[0] - solved.ratings[2])
        difference = np.array([1.0, 0.0, -1.0])
        sandwich.append(difference @ solved.covariance @ difference)
        fisher.append(
            difference
            @ bradley_terry(wins, ties + ties.T, options=BradleyTerryOptions(standard_errors="fisher", prior=1e-3)).covariance
            @ difference
        )
    assert np.std(fits) == pytest.approx(math.sqrt(np.mean(sandwich)), rel=0.1)
    assert math.sqrt(np.mean(fisher)) > 1.15 * np.std(fits)


def test_the_limit_of_iterations_is_an_error_that_carries_the_point():
    with pytest.raises(SolverError, match="raise max_iterations") as caught:
        bradley_terry(random_tallies(10, 500, 4) + 1 - np.eye(10), options=BradleyTerryOptions(max_iterations=1))
    assert caught.value.solution.status is Status.APPROXIMATE
    assert caught.value.solution.certificate.value > 1e-10
    assert caught.value.solution.stats["iterations"] == 1


def test_one_agent_sits_at_the_centre():
    assert bradley_terry([[0]]).ratings.tolist() == [1500.0]


def test_callers_arrays_are_left_alone():
    wins = random_tallies(5, 100, 6) + 1 - np.eye(5)
    before = wins.copy()
    bradley_terry(wins, wins + wins.T)
    assert (wins == before).all()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"wins": np.zeros((2, 3))}, "wins"),
        ({"wins": [[0, -1], [1, 0]]}, "wins[0, 1]"),
        ({"wins": sparse.csr_array([[0, -1], [1, 0]])}, "wins[0, 1]"),
        ({"wins": [[1, 1], [1, 0]]}, "wins[0, 0]"),
        ({"wins": [[0, np.nan], [1, 0]]}, "wins[0, 1]"),
        ({"ties": [[0, 1], [2, 0]]}, "ties - transpose[0, 1]"),
        ({"ties": np.zeros((3, 3))}, "ties"),
        ({"ties": [[0, np.inf], [np.inf, 0]]}, "ties[0, 1]"),
        ({"wins": [[0, 1e308], [1e308, 0]]}, "wins"),
        ({"prior": -1.0}, "prior"),
        ({"prior": np.nan}, "prior"),
        ({"scale": 0.0}, "scale"),
        ({"centre": np.inf}, "centre"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"max_iterations": 2.5}, "max_iterations"),
        ({"unconnected": "drop"}, "unconnected"),
        ({"standard_errors": "bootstrap"}, "standard_errors"),
        ({"names": ["a"]}, "names"),
    ],
)
def test_refusals_name_the_argument(arguments, named):
    with pytest.raises(InputError) as caught:
        bradley_terry(**with_options(BradleyTerryOptions, {"wins": [[0, 1], [1, 0]], **arguments}))
    assert caught.value.argument == named


@pytest.mark.parametrize(("first", "second", "named"), [(-1, 0, "first"), (0, 2, "second"), (0, 0.0, "second")])
def test_scores_are_expected_of_agents_only(first, second, named):
    with pytest.raises(InputError) as caught:
        bradley_terry([[0, 1], [1, 0]]).expected_score(first, second)
    assert caught.value.argument == named


def test_standard_errors_are_refused_beyond_their_size():
    m = COVARIANCE_UP_TO + 1
    with pytest.raises(InputError, match="for more than 5000 agents"):
        bradley_terry(sparse.csr_array((m, m)), options=BradleyTerryOptions(prior=1.0, standard_errors="fisher"))
