"""Deadlines are arguments of every solver of games; passing one is judged like any other answer that did not converge."""

import math

import numpy as np
import pytest

from ratings_core.deadline import NEVER, Deadline
from ratings_core.equilibria import (
    AffinityTarget,
    AlphaRankOptions,
    CCEOptions,
    DeviationOptions,
    LLEOptions,
    alpharank,
    alpharank_symmetric,
    cce,
    deviation,
    lle,
    most_affine,
    nash_average,
    nash_average_agents,
)
from ratings_core.equilibria.lexicographic import least_gains
from ratings_core.equilibria.nash_average import NashAverageOptions
from ratings_core.errors import InputError, SolverError
from ratings_core.games import KingOfTheHill, NormalForm, PathOptions, ZeroSumOptions, solve_symmetric, solve_zero_sum
from ratings_core.games.face import point_of_largest_entropy
from ratings_core.games.gain_matrix import TensorGains
from ratings_core.games.interior import SymmetricPath, central_path
from ratings_core.games.membership import playable
from ratings_core.solution import Status

RNG = np.random.default_rng(0)
SCORES = RNG.normal(size=(9, 7))
HALF = RNG.normal(size=(9, 9))
MARGINS = HALF - HALF.T
THREE = NormalForm.of([RNG.normal(size=(4, 4, 4)) for _ in range(3)])
HILL = KingOfTheHill.of(np.stack([MARGINS, -2 * MARGINS]) / 9)
KERNEL = np.exp(-(np.subtract.outer(RNG.random(12), RNG.random(12)) ** 2))
KERNEL = np.maximum(KERNEL, KERNEL.T)
np.fill_diagonal(KERNEL, 1.0)
SOLVERS = {
    "nash_average": lambda **options: nash_average(SCORES, options=NashAverageOptions(**options)),
    "nash_average_agents": lambda **options: nash_average_agents(MARGINS, options=ZeroSumOptions(**options)),
    "deviation": lambda **options: deviation(THREE, options=DeviationOptions(**options)),
    "cce": lambda **options: cce(HILL, options=CCEOptions(**options)),
    "lle": lambda **options: lle(HILL, options=LLEOptions(**options)),
    "alpharank": lambda **options: alpharank(THREE, options=AlphaRankOptions(**options)),
    "alpharank_symmetric": lambda **options: alpharank_symmetric(MARGINS, options=AlphaRankOptions(alpha=0.1, **options)),
    "most_affine": lambda **options: most_affine(KERNEL, **options),
}
NONE_YET = {"alpharank", "alpharank_symmetric"}
"""Methods that have no answer at all before they end."""


class Ticks:
    """A clock on which a second passes whenever it is looked at."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 1.0
        return self.now


def test_a_deadline_is_so_many_seconds_from_now():
    clock = Ticks()
    deadline = Deadline.after(2.5, clock)
    assert deadline.until == 3.5
    assert (deadline.passed(), deadline.left()) == (False, 0.5)
    assert deadline.passed()
    assert deadline.left() == 0.0


def test_never_is_never_and_looks_at_no_clock():
    clock = Ticks()
    assert Deadline.after(None, clock) is NEVER
    assert (NEVER.passed(), NEVER.left(), clock.now) == (False, math.inf, 0.0)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("seconds", [0, -1, np.nan, "soon"])
def test_no_time_at_all_is_refused(name, seconds):
    with pytest.raises(InputError, match="max_seconds"):
        SOLVERS[name](max_seconds=seconds)


@pytest.mark.parametrize("name", SOLVERS)
def test_a_deadline_that_passed_raises_or_returns_its_status(name):
    with pytest.raises(SolverError, match="max_seconds") as error:
        SOLVERS[name](max_seconds=1e-9)
    found = SOLVERS[name](max_seconds=1e-9, accept_approximate=True)
    assert found.status is error.value.solution.status is (Status.FAILED if name in NONE_YET else Status.APPROXIMATE)
    assert not found.certificate.value <= 1e-9
    if name in NONE_YET:
        assert np.isnan(found.ratings).all()
    else:
        assert np.isfinite(found.ratings).all()


@pytest.mark.parametrize("name", SOLVERS)
def test_with_time_left_it_changes_nothing(name):
    plain, limited = SOLVERS[name](), SOLVERS[name](max_seconds=1e6)
    assert (limited.ratings.tobytes(), limited.status) == (plain.ratings.tobytes(), Status.OPTIMAL)


@pytest.mark.parametrize(
    "solve",
    [
        lambda: solve_symmetric(MARGINS, options=PathOptions(max_seconds=1e-9)),
        lambda: solve_zero_sum(SCORES, options=PathOptions(max_seconds=1e-9)),
    ],
)
def test_zero_sum_games_say_that_they_were_cut_short(solve):
    assert solve().status is Status.APPROXIMATE


def test_a_large_game_cut_short_between_candidates_claims_nothing():
    """Solved on the first candidates only: neither unique nor optimal, whatever it looks like there."""
    M = np.random.default_rng(1).integers(-3, 4, (260, 260)).astype(float)
    found = solve_symmetric(M - M.T, options=PathOptions(max_seconds=1e-9))
    assert (found.status, found.unique) == (Status.APPROXIMATE, False)
    wide = solve_zero_sum(M[:5], options=PathOptions(max_seconds=1e-9))
    assert (wide.status, wide.row_unique, wide.column_unique) == (Status.APPROXIMATE, False, False)


def test_the_central_path_ends_at_the_first_point_after_it():
    points = list(central_path(SymmetricPath(MARGINS), gap=0.0, max_iterations=100, deadline=Deadline.after(2.5, Ticks())))
    assert [point.iterations for point in points] == [0, 1, 2]


def test_a_climb_cut_short_bounds_what_entropy_it_lacks():
    flat = np.zeros((3, 1))
    start = np.array([0.98, 0.01, 0.01])
    cut = point_of_largest_entropy(flat, flat, start, Deadline.after(1.0, Ticks()))
    whole = point_of_largest_entropy(flat, flat, start)
    assert whole.strategy == pytest.approx([1 / 3] * 3)
    assert cut.entropy_gap > 1e-3 > whole.entropy_gap


def test_memberships_not_settled_in_time_are_an_error():
    everyone = np.ones(9, bool)
    with pytest.raises(SolverError, match="Time limit"):
        playable(MARGINS, ~everyone, everyone, Deadline.after(1e-9))


def test_least_gains_cut_after_some_programs_are_those_of_a_distribution():
    gains = TensorGains(THREE)
    cut = least_gains(gains, max_solves=1000, deadline=Deadline.after(3.5, Ticks()))
    assert not cut.complete
    assert cut.stats["solves"] <= 4
    assert cut.probability.sum() == pytest.approx(1)
    assert cut.errors.max() >= 1.0


def test_a_target_not_found_in_time_stops_what_is_made_of_it():
    """Another target would be another rating, so nothing is returned even where approximate answers are welcome."""
    for solve, record in ((cce, CCEOptions), (lle, LLEOptions)):
        with pytest.raises(SolverError, match="most affine"):
            solve(HILL, target=AffinityTarget(sigma=0.5), options=record(max_seconds=1e-9, accept_approximate=True))
