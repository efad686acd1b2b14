"""The engine against exact rational enumeration, scipy's linear programs and a conic solver's largest entropy."""

import itertools
from fractions import Fraction

import cvxpy as cp
import highspy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from ratings_core.errors import InputError, SolverError
from ratings_core.games import PathOptions, solve_symmetric, solve_zero_sum
from ratings_core.games.dominance import top_component, weak_wins
from ratings_core.games.interior import MatrixPath, SymmetricPath, central_path
from ratings_core.games.membership import playable


@st.composite
def margin_matrices(draw, largest=3, agents=8):
    m = draw(st.integers(1, agents))
    upper = np.array(draw(st.lists(st.integers(-largest, largest), min_size=m * m, max_size=m * m)), float).reshape(m, m)
    return np.triu(upper, 1) - np.triu(upper, 1).T


@st.composite
def payoff_matrices(draw, largest=3, sides=6):
    r, c = draw(st.integers(1, sides)), draw(st.integers(1, sides))
    return np.array(draw(st.lists(st.integers(-largest, largest), min_size=r * c, max_size=r * c)), float).reshape(r, c)


def random_margins(m, seed, largest=20, odd=False):
    rng = np.random.default_rng(seed)
    upper = np.triu(2 * rng.integers(-largest, largest, (m, m)) + 1 if odd else rng.integers(-largest, largest + 1, (m, m)), 1)
    return (upper - upper.T).astype(float)


def value_by_linprog(A):
    r, c = A.shape
    found = linprog(
        np.append(np.zeros(r), -1.0),
        A_ub=np.column_stack([-A.T, np.ones(c)]),
        b_ub=np.zeros(c),
        A_eq=[np.append(np.ones(r), 0.0)],
        b_eq=[1.0],
        bounds=[(0, None)] * r + [(None, None)],
    )
    assert found.status == 0
    return -found.fun


def support_by_linprog(A, value):
    """Whom some optimal strategy plays: one program for each row."""
    r, c = A.shape
    best = [
        linprog(-np.eye(r)[i], A_ub=-A.T, b_ub=np.full(c, 1e-11 - value), A_eq=[np.ones(r)], b_eq=[1.0], bounds=[(0, None)] * r)
        for i in range(r)
    ]
    assert all(found.status == 0 for found in best)
    return np.array([-found.fun > 1e-6 for found in best])


def entropy_by_cone(A, value, rows, columns):
    """Clarabel on the face, described by supports that a linear program has checked in other tests."""
    p = cp.Variable(int(rows.sum()))
    constraints = [cp.sum(p) == 1, A[np.ix_(rows, columns)].T @ p == value]
    if not columns.all():
        constraints.append(A[np.ix_(rows, ~columns)].T @ p >= value)
    problem = cp.Problem(cp.Maximize(cp.sum(cp.entr(p))), constraints)
    problem.solve(solver=cp.CLARABEL)
    assert problem.status == "optimal"
    strategy = np.zeros(len(A))
    strategy[rows] = p.value
    return strategy


def only_lottery_by_enumeration(M):
    """The lottery of an odd integer game in exact fractions: the one odd support whose solution nobody beats."""
    m = len(M)
    for size in range(1, m + 1, 2):
        for ids in itertools.combinations(range(m), size):
            p = kernel([[Fraction(int(M[i, j])) for i in ids] for j in ids])
            if p is not None and min(p) > 0:
                lottery = dict(zip(ids, p, strict=True))
                if all(sum(lottery[i] * int(M[i, j]) for i in ids) >= 0 for j in range(m)):
                    return np.array([float(lottery.get(i, 0)) for i in range(m)])
    raise AssertionError("every game has a lottery")


def kernel(rows):
    """The vector of sum 1 that rows map to 0, or None where it is not one."""
    n = len(rows)
    table = [[*row, Fraction(0)] for row in rows] + [[Fraction(1)] * (n + 1)]
    for column in range(n):
        pivot = next((i for i in range(column, n + 1) if table[i][column]), None)
        if pivot is None:
            return None
        table[column], table[pivot] = table[pivot], table[column]
        table[column] = [x / table[column][column] for x in table[column]]
        for i in range(n + 1):
            if i != column and table[i][column]:
                table[i] = [x - table[i][column] * y for x, y in zip(table[i], table[column], strict=True)]
    return None if table[n][n] else [table[i][n] for i in range(n)]


@pytest.mark.parametrize("seed", range(40))
def test_odd_margins_have_the_lottery_that_exact_enumeration_finds(seed):
    M = random_margins(1 + seed % 7, seed, odd=True)
    found = solve_symmetric(M)
    assert found.unique
    assert found.strategy == pytest.approx(only_lottery_by_enumeration(M), abs=1e-13)


@given(margin_matrices())
def test_a_symmetric_game_is_solved_to_rounding(M):
    found = solve_symmetric(M)
    assert found.status == "optimal"
    assert found.exploitability <= 1e-12
    assert found.strategy.sum() == pytest.approx(1, abs=1e-14)
    assert (found.strategy[~found.support] == 0).all()
    assert (found.strategy[found.support] > 0).all()


@given(margin_matrices(largest=1, agents=6))
def test_the_support_is_whom_some_optimal_strategy_plays(M):
    assert (solve_symmetric(M).support == support_by_linprog(M, 0.0)).all()


@pytest.mark.parametrize("seed", range(30))
def test_no_strategy_of_the_face_has_more_entropy(seed):
    M = random_margins(3 + seed % 10, seed, largest=1 + seed % 2)
    found = solve_symmetric(M)
    oracle = entropy_by_cone(M, 0.0, found.support, found.support)
    assert found.strategy == pytest.approx(oracle, abs=1e-4)
    assert found.entropy >= -(oracle[found.support] @ np.log(oracle[found.support])) - 1e-7


@pytest.mark.parametrize(("m", "seed"), [(8, 54), (8, 1225), (8, 1267), (8, 1491), (10, 102)])
def test_a_support_that_someone_outside_beats_is_not_taken_for_the_only_one(m, seed):
    """Games in which an early guess of the support leaves one out: positive and balanced on what is left, and beaten from outside."""
    upper = np.triu(np.random.default_rng(seed).integers(-9, 10, (m, m)), 1).astype(float)
    found = solve_symmetric(upper - upper.T)
    assert (found.status, found.exploitability) == ("optimal", pytest.approx(0, abs=1e-12))


@pytest.mark.parametrize(("m", "seed"), [(4, 431), (4, 505), (6, 539), (8, 79), (8, 289)])
def test_supports_that_someone_outside_beats_are_not_taken_for_the_only_ones(m, seed):
    found = solve_zero_sum(np.random.default_rng(seed).integers(-9, 10, (m, m + 1)).astype(float))
    assert (found.status, found.exploitability) == ("optimal", pytest.approx(0, abs=1e-12))


def test_an_opponent_off_the_support_can_bind():
    assert solve_symmetric([[0, 0, 1], [0, 0, -2], [-1, 2, 0]]).strategy == pytest.approx([2 / 3, 1 / 3, 0], abs=1e-12)


def test_many_binding_opponents():
    """A and B tie; twelve others bind in different places, so only the harshest counts."""
    M = np.zeros((14, 14))
    M[0, 2:], M[1, 2:] = 1, -np.arange(1, 13)
    M -= M.T
    assert solve_symmetric(M).strategy[:2] == pytest.approx([12 / 13, 1 / 13], abs=1e-12)


@pytest.mark.parametrize("m", [1, 2, 3, 50, 250])
def test_a_game_of_ties_is_played_evenly(m):
    found = solve_symmetric(np.zeros((m, m)))
    assert found.strategy == pytest.approx(np.full(m, 1 / m), abs=1e-12)
    assert found.entropy == pytest.approx(np.log(m), abs=1e-12)
    assert found.unique == (m == 1)


@settings(max_examples=30)
@given(payoff_matrices())
def test_a_matrix_game_is_solved_on_both_sides(A):
    found = solve_zero_sum(A)
    value = value_by_linprog(A)
    assert found.status == "optimal"
    assert found.exploitability <= 1e-12
    assert found.value == pytest.approx(value, abs=1e-9)
    assert (found.row_support == support_by_linprog(A, found.value)).all()
    assert (found.column_support == support_by_linprog(-A.T, -found.value)).all()


@pytest.mark.parametrize("seed", range(20))
def test_both_sides_have_the_largest_entropy(seed):
    A = np.random.default_rng(seed).integers(0, 2 + seed % 2, (2 + seed % 5, 3 + seed % 6)).astype(float)
    found = solve_zero_sum(A)
    assert found.row == pytest.approx(entropy_by_cone(A, found.value, found.row_support, found.column_support), abs=1e-4)
    assert found.column == pytest.approx(entropy_by_cone(-A.T, -found.value, found.column_support, found.row_support), abs=1e-4)


@given(margin_matrices())
def test_a_symmetric_game_is_a_matrix_game_of_value_0(M):
    game, found = solve_zero_sum(M), solve_symmetric(M)
    assert game.value == pytest.approx(0, abs=1e-12)
    assert game.row == pytest.approx(found.strategy, abs=1e-7)
    assert game.column == pytest.approx(found.strategy, abs=1e-7)


@settings(max_examples=30)
@given(payoff_matrices(), st.sampled_from([1e-9, 0.3, 1e9]), st.integers(-5, 5))
def test_scale_shift_and_sides_do_not_matter(A, scale, shift):
    found, moved, turned = solve_zero_sum(A), solve_zero_sum((A + shift) * scale), solve_zero_sum(-A.T)
    assert moved.value == pytest.approx((found.value + shift) * scale, rel=1e-9, abs=1e-9 * scale)
    assert moved.row == pytest.approx(found.row, abs=1e-7)
    assert turned.column == pytest.approx(found.row, abs=1e-7)
    assert turned.row == pytest.approx(found.column, abs=1e-7)


@pytest.mark.parametrize("odd", [True, False])
def test_a_game_larger_than_its_candidates_is_certified_as_a_whole(odd):
    M = random_margins(400, 5, odd=odd)
    found = solve_symmetric(M)
    assert found.unique
    assert (found.strategy @ M).min() >= -1e-12 * np.abs(M).max()


def test_few_candidates_are_enough_where_few_agents_matter():
    skill = np.linspace(2, 0, 600)
    M = np.round(40 * np.subtract.outer(skill, skill)) + random_margins(600, 7, largest=6)
    found = solve_symmetric(M)
    assert found.stats["candidates"] < 200
    assert (found.strategy @ M).min() >= -1e-12 * np.abs(M).max()


@given(margin_matrices(largest=1))
@settings(max_examples=40)
def test_the_linear_program_reads_the_same_support_as_the_interior_point(M):
    """`close` above every possible clearness hands all of them to the program."""
    assert (solve_symmetric(M, options=PathOptions(close=1e9)).support == solve_symmetric(M).support).all()
    everyone = np.ones(len(M), bool)
    assert (playable(M, ~everyone, everyone) == solve_symmetric(M).support).all()


def test_a_program_that_was_not_solved_is_an_error_not_an_answer(monkeypatch):
    monkeypatch.setattr(highspy.Highs, "run", lambda model: None)
    with pytest.raises(SolverError, match="program for 2 close strategies ended with status"):
        playable(np.array([[0.0, 1.0], [-1.0, 0.0]]), np.zeros(2, bool), np.ones(2, bool))


def test_a_path_cut_short_says_so():
    M = random_margins(9, 3)
    found = solve_symmetric(M, options=PathOptions(max_iterations=1))
    assert found.status == "approximate"
    assert not found.unique
    assert found.exploitability == pytest.approx(-(found.strategy @ M).min() / np.abs(M).max())
    assert solve_zero_sum(M, options=PathOptions(max_iterations=1)).status == "approximate"


@pytest.mark.parametrize("path", [SymmetricPath(random_margins(6, 1) / 20), MatrixPath(random_margins(6, 2)[:4] / 20)])
def test_points_of_the_path_are_feasible_and_their_gap_falls(path):
    points = list(central_path(path, gap=1e-12, max_iterations=50))
    assert all((p.strategy > 0).all() and (p.slack > 0).all() for p in points)
    assert all(a.gap > b.gap for a, b in itertools.pairwise(points))
    assert points[-1].gap <= 1e-12


@given(margin_matrices(largest=1))
def test_the_top_component_beats_everyone_outside_and_holds_the_lottery(M):
    top = top_component(M, np.arange(len(M)), weak_wins(M))
    outside = np.setdiff1d(np.arange(len(M)), top)
    assert (M[np.ix_(top, outside)] > 0).all()
    assert np.isin(np.flatnonzero(solve_symmetric(M).support), top).all()


@pytest.mark.parametrize("margins", [[[0, 1], [1, 0]], [[0, np.nan], [np.nan, 0]], [[0, 1]], [], [[0, np.inf], [-np.inf, 0]], "ab", [[1]]])
def test_bad_margins_are_refused(margins):
    with pytest.raises(InputError, match="margins"):
        solve_symmetric(margins)


@pytest.mark.parametrize("payoffs", [[], [[]], [1, 2], [[np.nan]], [[1e200, 0]]])
def test_bad_payoffs_are_refused(payoffs):
    with pytest.raises(InputError, match="payoffs"):
        solve_zero_sum(payoffs)


@pytest.mark.parametrize(("name", "value"), [("tolerance", 0), ("tolerance", np.nan), ("close", -1), ("max_iterations", 0)])
def test_bad_limits_are_refused(name, value):
    with pytest.raises(InputError, match=name):
        solve_symmetric([[0.0]], options=PathOptions(**{name: value}))


@given(margin_matrices(largest=1, agents=6))
@settings(max_examples=40)
def test_a_strategy_is_called_the_only_one_exactly_where_it_is(M):
    found, m = solve_symmetric(M), len(M)
    programs = [
        linprog(sign * row, A_ub=-M.T, b_ub=np.zeros(m), A_eq=[np.ones(m)], b_eq=[1.0], bounds=[(0, None)] * m)
        for row in np.eye(m)
        for sign in (1, -1)
    ]
    extremes = np.array([program.fun for program in programs]).reshape(m, 2)
    assert found.unique == bool(np.abs(extremes.sum(axis=1)).max() < 1e-7)
