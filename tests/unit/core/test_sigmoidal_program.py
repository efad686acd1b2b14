"""Branch and bound on the sigmoid loss: against grids, its own relaxation, the published profile, and the full-batch descent."""

import json
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.spatial import ConvexHull
from scipy.special import expit

from ratings_core.batch.pair_counts import pair_counts
from ratings_core.batch.sigmoid_loss import SigmoidLoss
from ratings_core.batch.sigmoidal_program import MOST_AGENTS, _convex, _envelope, _relax, sigmoidal_program
from ratings_core.batch.soft_condorcet import SoftCondorcetOptions, soft_condorcet
from ratings_core.errors import InputError, SolverError
from ratings_core.reference.sigmoidal import least_sigmoid_loss
from ratings_core.solution import Status

EQ11 = json.loads((Path(__file__).parents[2] / "golden" / "sco" / "eq11_profile.json").read_text())


def random_wins(m, seed):
    wins = np.random.default_rng(seed).integers(0, 10, (m, m)).astype(float)
    np.fill_diagonal(wins, 0)
    return wins


@pytest.mark.parametrize("width", [1.0, 5.0, 100.0])
def test_the_profile_of_eq_11_has_its_published_order(width):
    found = sigmoidal_program(EQ11["N"], high=width)
    assert found.ratings[2] == width
    assert found.ranking.ids[0] == 2
    assert found.status is Status.OPTIMAL
    if width > 1:
        assert ["ABC"[agent] for agent in found.ranking.ids] == EQ11["optimal_ranking"]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("width", [2.0, 6.0, 15.0])
def test_no_point_of_a_grid_is_better(width, seed):
    wins = random_wins(3, seed)
    found = sigmoidal_program(wins, high=width)
    theta = np.array([*product(np.linspace(0, width, 41), repeat=3)])
    least = sum(wins[a, b] * expit(theta[:, b] - theta[:, a]) for a, b in permutations(range(3), 2)).min()
    assert found.loss <= least + 1e-9
    assert found.bound <= least + 1e-12
    assert found.loss == pytest.approx(SigmoidLoss.of(pair_counts(wins)).value(found.ratings, 1.0))
    assert found.loss - found.bound <= 1e-6 * np.abs(wins - wins.T).sum() / 2 + 1e-9


@pytest.mark.parametrize("m", range(2, 8))
@pytest.mark.parametrize("width", [3.0, 12.0, 100.0])
def test_the_full_batch_descent_is_proven_to_find_the_least_loss(m, width):
    """What the descent of `soft_condorcet` found is within the proof's tolerance of the bound, in all of these."""
    for seed in range(2):
        wins = random_wins(m, 10 * m + seed)
        proven = sigmoidal_program(wins, high=width)
        assert (
            soft_condorcet(wins, options=SoftCondorcetOptions(high=width)).loss - proven.bound
            <= 2e-6 * np.abs(wins - wins.T).sum() / 2 + 1e-9
        )


def sparse_wins(m, seed):
    """A ring of pairs, and a chord for every third agent."""
    rng, wins = np.random.default_rng(seed), np.zeros((m, m))
    for a in range(m):
        for b in {(a + 1) % m, *({(a + m // 2) % m} if a % 3 == 0 else set())}:
            wins[a, b], wins[b, a] = rng.integers(0, 10, 2)
    return wins


@pytest.mark.parametrize(("m", "seed"), [(9, 1), (9, 3), (10, 2)])
def test_beyond_eight_agents_it_is_the_least_loss_of_the_integer_program(m, seed):
    wins = sparse_wins(m, seed)
    found, bounds = sigmoidal_program(wins, high=8.0), least_sigmoid_loss(wins, high=8.0)
    unit = np.abs(wins - wins.T).sum() / 2
    assert found.status is Status.OPTIMAL
    assert bounds.lower - 1e-6 * unit <= found.loss <= bounds.upper + 1e-5 * unit
    assert bounds.upper - bounds.lower <= 0.02 * unit


def test_a_search_that_is_cut_short_gives_a_bound_that_holds():
    wins = random_wins(MOST_AGENTS, 5)
    with pytest.raises(SolverError, match="raise max_nodes"):
        sigmoidal_program(wins, tau=10.0, max_nodes=50)
    short, longer = (sigmoidal_program(wins, tau=10.0, max_nodes=nodes, accept_approximate=True) for nodes in (50, 150))
    assert short.bound <= longer.bound <= longer.loss <= short.loss
    assert short.certificate.value == pytest.approx((short.loss - short.bound) / (np.abs(wins - wins.T).sum() / 2))


@pytest.mark.parametrize(("least", "most"), [(-3.0, 4.0), (-9.0, 0.5), (0.3, 2.0), (-4.0, -1.0), (-0.1, 8.0), (0.0, 0.0), (-2.0, 0.0)])
def test_envelopes_are_convex_and_below_the_sigmoid(least, most):
    bend, chord = _envelope(least, most)
    x = np.linspace(least, most, 201)
    values, slopes = np.array([_convex(point, bend, chord) for point in x]).T
    assert (values <= expit(x) + 1e-12).all()
    assert values[-1] == pytest.approx(expit(most))
    assert values[0] == pytest.approx(expit(least))
    assert (np.diff(slopes) >= -1e-9).all()
    assert (values[:, None] + slopes[:, None] * (x - x[:, None]) <= values + 1e-9).all()


@pytest.mark.parametrize("seed", range(10))
def test_relaxations_bound_the_loss_in_their_box(seed):
    rng = np.random.default_rng(seed)
    loss = SigmoidLoss.of(pair_counts(random_wins(5, seed)))
    lower = rng.uniform(0, 5, 5)
    upper = lower + rng.uniform(0, 5, 5)
    theta = (lower + upper) / 2
    bound, cut = _relax(loss.winner, loss.loser, loss.margin, lower, upper, 1.0, theta)
    inside = rng.uniform(lower, upper, (500, 5))
    assert bound <= min(loss.value(point, 1.0) - loss.agreed for point in inside) + 1e-9
    assert 0 <= cut < 5


def least_of_envelopes(wins, held, width, points=200):
    """Least sum of the sigmoids' lower convex hulls over the box with one rating at its top, by a linear program over sampled points."""
    margin = np.maximum(wins - wins.T, 0)
    pairs, m = np.argwhere(margin > 0), len(wins)
    low, high = np.zeros(m), np.full(m, width)
    low[held] = width
    rows, limits = [], []
    for p, (a, b) in enumerate(pairs):
        x = np.linspace(low[b] - high[a], high[b] - low[a], points)
        hull = ConvexHull(np.column_stack([x, expit(x)]))
        for slope, rise, offset in hull.equations:
            if rise < 0:  # a lower edge: t >= (slope x + offset) / -rise, with x = theta_b - theta_a
                row = np.zeros(m + len(pairs))
                row[b], row[a], row[m + p] = slope, -slope, rise
                rows.append(row)
                limits.append(-offset)
    cost = np.append(np.zeros(m), margin[tuple(pairs.T)])
    bounds = [*zip(low, high, strict=True), *[(None, None)] * len(pairs)]
    return linprog(cost, np.array(rows), np.array(limits), bounds=bounds).fun


@pytest.mark.parametrize("seed", [100, 101, 103])
def test_the_bound_of_the_first_boxes_is_the_least_sum_of_convex_hulls(seed):
    wins, width = random_wins(4, seed), 3.0
    found = sigmoidal_program(wins, high=width, max_nodes=1, accept_approximate=True)
    agreed = np.minimum(wins, wins.T).sum() / 2
    least = min(least_of_envelopes(wins, held, width) for held in range(4))
    assert found.loss - found.bound > 0.1  # neither the best point nor the least number of wrong pairs decides
    assert found.bound == pytest.approx(agreed + least, abs=2e-3)


def test_a_limit_of_boxes_is_an_error_that_carries_the_point():
    with pytest.raises(SolverError, match="max_nodes") as caught:
        sigmoidal_program(random_wins(6, 2), high=6.0, max_nodes=7, tolerance=1e-9)
    found = caught.value.solution
    assert found.status is Status.APPROXIMATE
    assert found.bound < found.loss
    accepted = sigmoidal_program(random_wins(6, 2), high=6.0, max_nodes=7, tolerance=1e-9, accept_approximate=True)
    assert accepted.certificate == found.certificate


@pytest.mark.parametrize(
    ("arguments", "named"),
    [({"wins": np.zeros((17, 17))}, "wins"), ({"max_nodes": 0}, "max_nodes"), ({"tolerance": 0.0}, "tolerance"), ({"tau": -1.0}, "tau")],
)
def test_refusals_name_the_argument(arguments, named):
    with pytest.raises(InputError) as caught:
        sigmoidal_program(**{"wins": [[0, 1], [1, 0]], **arguments})
    assert caught.value.argument == named
