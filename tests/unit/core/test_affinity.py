"""Affinity entropy: published and computed values, a quadratic program of cvxpy as oracle, and what clones do."""

import csv
import json
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest

from ratings_core.equilibria.affinity import (
    EXACT,
    AffinityTarget,
    _residual,
    affinity_entropy,
    affinity_kernel,
    affinity_targets,
    dissimilarity,
    most_affine,
)
from ratings_core.errors import InputError, SolverError
from ratings_core.games import AgentAgentTask, KingOfTheHill, NormalForm

GOLDEN = Path(__file__).parents[2] / "golden/equilibrium"
CLONED = list(csv.DictReader((GOLDEN / "clone_affinity_entropy.csv").read_text().splitlines()))
SOFT = json.loads((GOLDEN / "affinity_rbf_computed.json").read_text())["cases"]
TWO_ACTIONS = json.loads((GOLDEN / "two_action_clone_example.json").read_text())["values"]


def of_clones(copies):
    """The 0/1 kernel of A and `copies` of B."""
    member = np.array([0, *[1] * copies])
    return (member[:, None] == member).astype(float)


def pick(rows):
    """A two-player game whose first player's payoffs are `rows`."""
    return NormalForm.of([rows, np.zeros_like(rows)])


def distances(rows):
    return ((rows[:, None] - rows[None]) ** 2).mean(axis=2)


def test_the_cases_are_all_there():
    assert (len(CLONED), len(SOFT), len(TWO_ACTIONS)) == (15, 4, 5)


@pytest.mark.parametrize("case", CLONED, ids=lambda case: f"{case['b_total_copies_of_B']} copies, p {case['p']}")
def test_published_entropies_of_cloned_games(case):
    copies, p = int(case["b_total_copies_of_B"]), float(case["p"])
    kernel = of_clones(copies)
    even = np.full(copies + 1, 1 / (copies + 1))
    spread, alone = np.append(0.5, np.full(copies, 0.5 / copies)), np.append([0.5, 0.5], np.zeros(copies - 1))
    assert affinity_entropy(even, kernel, p) == pytest.approx(float(case["Ha_at_uniform_over_1+b_actions"]), abs=1e-11)
    assert affinity_entropy(spread, kernel, p) == pytest.approx(float(case["Ha_at_(1/2,1/2_spread)"]), abs=1e-11)
    assert affinity_entropy(alone, kernel, p) == pytest.approx(float(case["Ha_at_(1/2,1/2_on_one_copy)"]), abs=1e-11)


@pytest.mark.parametrize("copies", [int(copies) for copies in TWO_ACTIONS])
def test_the_most_affine_mix_ignores_clones_where_the_even_one_does_not(copies):
    assert most_affine(of_clones(copies)).ratings == pytest.approx(np.append(0.5, np.full(copies, 0.5 / copies)), abs=1e-12)
    assert TWO_ACTIONS[str(copies)]["A"] == pytest.approx(1 / (1 + copies))


@pytest.mark.parametrize("case", SOFT, ids=lambda case: case["name"])
def test_computed_values_of_soft_kernels(case):
    rows = np.array(case["payoff_rows_player_i_over_opponent_profiles"])
    how = AffinityTarget(sigma=case["sigma"])
    assert dissimilarity(pick(rows), 0, how) == pytest.approx(np.array(case["D"]), abs=1e-12)
    kernel = affinity_kernel(pick(rows), 0, how)
    assert kernel == pytest.approx(np.array(case["K"]), abs=1e-12)
    assert affinity_entropy(case["x"], kernel, case["p"]) == pytest.approx(case["Ha_x"], abs=1e-8)
    assert affinity_entropy(np.full(len(rows), 1 / len(rows)), kernel, case["p"]) == pytest.approx(case["Ha_uniform"], abs=1e-8)
    if case["p"] == 1:
        found = most_affine(kernel)
        assert found.entropy == pytest.approx(case["max_Ha"], abs=1e-8)
        assert found.ratings == pytest.approx(np.array(case["a_maximiser"]), abs=1e-6)


def quadratic_program(kernel):
    U = kernel / np.sqrt((kernel**2).sum(axis=0))
    x = cp.Variable(len(kernel), nonneg=True)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(U @ x)), [cp.sum(x) == 1])
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    return 1 - problem.value


@pytest.mark.parametrize("seed", range(12))
def test_the_most_affine_mix_is_that_of_a_quadratic_program(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    if seed % 3 == 0:
        kernel = rng.random((n, n))
        np.fill_diagonal(kernel, 1.0)
    else:
        kernel = np.exp(-distances(rng.normal(size=(n, 6))) / rng.choice([0.1, 1.0, 10.0]))
    found = most_affine(kernel)
    assert found.certificate.value <= 1e-9
    assert found.ratings.min() >= 0
    assert found.ratings.sum() == pytest.approx(1, abs=1e-12)
    assert found.entropy == pytest.approx(quadratic_program(kernel), abs=1e-9)
    assert affinity_entropy(found.ratings, kernel) == pytest.approx(found.entropy, abs=1e-12)


def test_a_soft_kernel_leaves_strategies_out_and_the_floor_brings_them_back():
    game = pick(np.random.default_rng(3).uniform(size=(30, 4)))
    assert (most_affine(affinity_kernel(game, 0, AffinityTarget(sigma=0.2))).ratings == 0).sum() > 10
    target = affinity_targets(game, AffinityTarget(sigma=0.2, floor=1e-3))[0]
    assert target.min() == pytest.approx(1e-3 / 30)
    assert target.sum() == pytest.approx(1, abs=1e-12)


def test_the_exact_kernel_looks_at_own_payoffs_only():
    """Prompts with u and -u are as good for the prompt player and opposites for the models: no clones, but alike."""
    u = np.array([[0, 1.0], [-1, 0]])
    game = KingOfTheHill.of([u, -u, 0.5 * u])
    assert affinity_targets(game, AffinityTarget(floor=0.0))[0] == pytest.approx([0.25, 0.25, 0.5])
    kernel = affinity_kernel(game, 0, EXACT)
    assert most_affine(kernel).ratings == pytest.approx([0.25, 0.25, 0.5])


def games():
    rng = np.random.default_rng(8)
    u = rng.normal(size=(6, 3, 3))
    return [KingOfTheHill.of(u - u.transpose(0, 2, 1), penalty=1.5), AgentAgentTask.of(rng.normal(size=(4, 6)))]


@pytest.mark.parametrize("game", games(), ids=["king of the hill", "agents on tasks"])
@pytest.mark.parametrize("player", range(3))
def test_dissimilarities_are_those_of_the_stored_game(game, player, monkeypatch):
    stored = game.normal_form()
    rows = np.moveaxis(stored.payoffs[player], player, 0).reshape(game.shape[player], -1)
    assert dissimilarity(stored, player) == pytest.approx(distances(rows), abs=1e-12)
    assert dissimilarity(game, player) == pytest.approx(distances(rows), abs=1e-12)
    monkeypatch.setattr("ratings_core.equilibria.affinity._BLOCK", 1)
    assert dissimilarity(game, player) == pytest.approx(distances(rows), abs=1e-12)
    assert affinity_kernel(game, player, EXACT) == pytest.approx(affinity_kernel(stored, player, EXACT))


def test_drawn_dissimilarities_come_near_and_repeat():
    game = games()[0]
    exact, drawn = dissimilarity(game, 0), dissimilarity(game, 0, AffinityTarget(samples=20_000, seed=1))
    assert np.abs(drawn - exact).max() < 0.05 * exact.max()
    assert np.array_equal(drawn, dissimilarity(game, 0, AffinityTarget(samples=20_000, seed=1)))
    assert not np.array_equal(drawn, dissimilarity(game, 0, AffinityTarget(samples=20_000, seed=2)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: most_affine([[1, 2], [2, 1]]), r"kernel\[0, 1\] must be from 0 to 1"),
        (lambda: most_affine([[1, 0], [0, 0.5]]), r"kernel\[1, 1\] must be 1"),
        (lambda: most_affine([[1, np.nan], [0, 1]]), r"kernel\[0, 1\] must be finite"),
        (lambda: most_affine(np.zeros((0, 0))), "kernel must be a square matrix"),
        (lambda: affinity_entropy([0.5, 0.6], np.eye(2)), "mix must be 2 nonnegative numbers of sum 1"),
        (lambda: affinity_entropy([0.5, 0.5], np.eye(2), 0), "p must be a finite number"),
        (lambda: affinity_entropy([0.5, 0.5], np.eye(2), 1.5), "p must be a finite number"),
        (lambda: AffinityTarget(sigma=0), "sigma must be a finite number"),
        (lambda: AffinityTarget(floor=1.5), "floor must be a finite number"),
        (lambda: AffinityTarget(samples=0), "samples must be a whole number"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.parametrize("p", [0.5, 1.0])
@pytest.mark.parametrize("mix", [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.2, 0.3, 0.5]])
def test_the_residual_of_a_mix_that_is_not_the_most_affine_is_what_its_definition_says(mix, p):
    """How far an entry of v falls short of x'v, or one with x > 0 exceeds it, for v = U'(Ux)^p."""
    kernel, x = np.array([[1.0, 0.5, 0.1], [0.5, 1.0, 0.0], [0.1, 0.0, 1.0]]), np.array(mix)
    U = kernel / (kernel ** (p + 1)).sum(axis=0) ** (1 / (p + 1))
    v = [sum(U[j, i] * sum(U[j, k] * x[k] for k in range(3)) ** p for j in range(3)) for i in range(3)]
    level = sum(x[i] * v[i] for i in range(3))
    expected = max([level - v[i] for i in range(3)] + [v[i] - level for i in range(3) if x[i] > 0])
    assert _residual(U, x, p) == pytest.approx((expected, level))


def test_a_tolerance_out_of_reach_is_an_error_with_the_answer():
    kernel = np.exp(-distances(np.random.default_rng(0).normal(size=(30, 3))))
    with pytest.raises(SolverError, match="the most affine mix does not reach tolerance") as error:
        most_affine(kernel, tolerance=1e-30)
    assert error.value.solution.ratings.sum() == pytest.approx(1)
