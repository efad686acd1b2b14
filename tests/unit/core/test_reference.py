"""The papers' programs against published values, and the fast solvers against the programs."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratings_core import reference
from ratings_core.batch.sigmoidal_program import sigmoidal_program
from ratings_core.equilibria import CCEOptions, cce, deviation, nash_average
from ratings_core.errors import MissingExtraError, SolverError
from ratings_core.games import NormalForm
from ratings_core.reference.programs import ENTROPY_ERROR, cvxpy, solve
from ratings_core.voting import iterated_maximal_lotteries, maximal_lottery

SEEDS = st.integers(0, 10**6)
ROCK_PAPER_SCISSORS = np.array([[0.0, -1, 1], [1, 0, -1], [-1, 1, 0]])


def antisymmetric(seed):
    """Margins in small whole numbers, which tie a lot; every third with a clone."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 8))
    upper = np.triu(rng.integers(-2, 3, (m, m)).astype(float), 1)
    M = upper - upper.T
    ids = np.append(np.arange(m), np.zeros(int(seed % 3 == 0), int))
    return M[np.ix_(ids, ids)]


def game(seed, most=3):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, most + 1, rng.integers(2, 4)))
    return [rng.integers(-2, 3, shape).astype(float) if seed % 2 else rng.normal(size=shape) for _ in shape]


def test_reference_programs_print_nothing(capfd):
    """In a fresh process, because HiGHS prints its banner once a process."""
    program = "import numpy, ratings_core.reference as one; one.maximal_lottery(numpy.zeros((2, 2)))"
    subprocess.run([sys.executable, "-c", program], check=True)
    assert capfd.readouterr() == ("", "")


# published and known values


def test_rock_paper_scissors_with_a_clone():
    M = ROCK_PAPER_SCISSORS[np.ix_([0, 0, 1, 2], [0, 0, 1, 2])]
    assert reference.maximal_lottery(M) == pytest.approx([1 / 6, 1 / 6, 1 / 3, 1 / 3], abs=1e-6)
    assert reference.maximal_lottery(M, merge=False)[2:] == pytest.approx([1 / 3, 1 / 3], abs=1e-6)


def test_a_face_whose_inequality_binds():
    """A ties B, A beats C by 1, C beats B by 2: (2/3, 1/3, 0) and not (1/2, 1/2, 0)."""
    M = np.array([[0.0, 0, 1], [0, 0, -2], [-1, 2, 0]])
    assert reference.maximal_lottery(M) == pytest.approx([2 / 3, 1 / 3, 0], abs=1e-5)


def test_iterated_lottery_of_an_order():
    assert reference.iterated_maximal_lotteries(np.sign(np.subtract.outer([3, 1, 2], [3, 1, 2])).astype(float)) == pytest.approx([3, 1, 2])


def test_nash_average_of_matching_pennies():
    found = reference.nash_average(np.array([[1.0, -1], [-1, 1]]) + 5)
    assert found.agents == pytest.approx([5, 5])
    assert found.value == pytest.approx(5)


def test_deviation_ratings_of_rock_paper_scissors_are_all_zero():
    for ratings in reference.deviation_ratings([ROCK_PAPER_SCISSORS, -ROCK_PAPER_SCISSORS]):
        assert ratings == pytest.approx([0, 0, 0], abs=1e-9)


def test_the_equilibrium_of_a_game_without_choice_is_its_target():
    found = reference.nearest_equilibrium([np.zeros((2, 2))] * 2, [np.array([0.5, 0.5])] * 2, 0.0)
    assert found.relative_entropy == pytest.approx(0, abs=1e-6)


def test_the_sigmoid_loss_of_one_pair_and_of_ties():
    found = reference.least_sigmoid_loss(np.array([[0.0, 3], [1, 0]]), high=2.0)
    exact = 1 + 2 / (1 + np.exp(2.0))
    assert found.lower <= exact + 1e-9
    assert found.upper == pytest.approx(exact, abs=1e-7)
    tied = reference.least_sigmoid_loss(np.array([[0.0, 2], [2, 0]]))
    assert (tied.lower, tied.upper) == (2.0, 2.0)


# the fast solvers


@given(SEEDS)
@settings(max_examples=12)
def test_lotteries_are_those_of_the_programs(seed):
    M = antisymmetric(seed)
    assert maximal_lottery(M).lottery == pytest.approx(reference.maximal_lottery(M), abs=ENTROPY_ERROR)
    assert iterated_maximal_lotteries(M).ratings == pytest.approx(reference.iterated_maximal_lotteries(M), abs=ENTROPY_ERROR)


@given(SEEDS)
@settings(max_examples=12)
def test_nash_averages_are_those_of_the_programs(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 6, 2))
    S = rng.integers(0, 4, shape).astype(float) if seed % 2 else rng.random(shape)
    found, program = nash_average(S), reference.nash_average(S)
    assert found.ratings == pytest.approx(program.agents, abs=4 * ENTROPY_ERROR)
    assert found.task_ratings == pytest.approx(program.tasks, abs=4 * ENTROPY_ERROR)
    assert found.task_dist == pytest.approx(program.task_dist, abs=ENTROPY_ERROR)


@given(SEEDS)
@settings(max_examples=12)
def test_deviation_ratings_are_those_of_the_programs(seed):
    payoffs = game(seed, most=4)
    for own, program in zip(deviation(NormalForm.of(payoffs)).by_player, reference.deviation_ratings(payoffs), strict=True):
        assert own == pytest.approx(program, abs=1e-8)


@given(SEEDS, st.sampled_from([0.0, 0.05]))
@settings(max_examples=12)
def test_equilibria_are_those_of_the_program(seed, eps):
    payoffs = game(2 * seed)
    found = cce(NormalForm.of(payoffs), target="even", options=CCEOptions(eps=eps))
    program = reference.nearest_equilibrium(payoffs, found.targets, eps)
    assert found.relative_entropy == pytest.approx(program.relative_entropy, abs=1e-5)
    for own, gained in zip(found.by_player, program.by_player, strict=True):
        assert own == pytest.approx(gained, abs=10 * ENTROPY_ERROR)


@given(SEEDS, st.sampled_from([2.0, 10.0, 100.0]))
@settings(max_examples=10)
def test_the_least_loss_is_between_the_bounds(seed, high):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 5))
    wins = rng.integers(0, 6, (m, m)).astype(float)
    np.fill_diagonal(wins, 0.0)
    bounds, found = reference.least_sigmoid_loss(wins, high=high), sigmoidal_program(wins, high=high)
    unit = np.abs(wins - wins.T).sum() / 2 or 1.0
    assert bounds.upper - bounds.lower <= 0.02 * unit
    assert bounds.lower - 1e-6 * unit <= found.loss <= bounds.upper + 1e-5 * unit


# failure


def test_a_program_without_a_solution_is_an_error():
    x = cvxpy().Variable()
    with pytest.raises(SolverError, match="ended as infeasible"):
        solve(cvxpy().Minimize(x), [x >= 1, x <= 0], linear=True)


def test_without_cvxpy_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cvxpy", None)
    with pytest.raises(MissingExtraError, match=r"a reference program needs the package cvxpy, .* 'equirank\[reference\]'"):
        reference.maximal_lottery(ROCK_PAPER_SCISSORS)
