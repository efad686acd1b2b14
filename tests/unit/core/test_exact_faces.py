"""Zero-sum games in whole numbers against a readable rational simplex and gambit's rational linear program; near copies at any noise."""

from fractions import Fraction

import numpy as np
import pytest

from ratings_core.deadline import NEVER, Deadline
from ratings_core.equilibria import nash_average, nash_average_agents
from ratings_core.games import PathOptions, solve_symmetric, solve_zero_sum
from ratings_core.games import exact_faces as module
from ratings_core.games.exact_faces import exact_face, exact_sides, exact_symmetric, whole_payoffs
from ratings_core.voting import iterated_maximal_lotteries, maximal_lottery
from tests.unit.core.oracles import exact_equilibrium
from tests.unit.core.rational_deviation import ONE, ZERO, least

CYCLE = np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])
NOISES = [10.0**-digits for digits in range(1, 17)]


def near_margins(noise, seed, agents=3, copies=1):
    """Margins of a cycle of three, or of random agents with ties, and copies of some that differ by noise."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.integers(-2, 3, (agents, agents)), 1).astype(float)
    margins = CYCLE if agents == 3 else upper - upper.T
    ids = np.append(np.arange(agents), rng.integers(0, agents, copies))
    change = noise * rng.normal(size=(len(ids), len(ids)))
    change[:agents, :agents] = 0.0
    return margins[np.ix_(ids, ids)] + (change - change.T)


def near_scores(noise, seed, agents=3, tasks=4):
    """Scores of 0, 1 and 2, with a near copy of an agent and one of a task."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 3, (agents, tasks)).astype(float)
    scores = np.vstack([scores, scores[rng.integers(agents)] + noise * rng.normal(size=tasks)])
    return np.column_stack([scores, scores[:, rng.integers(tasks)] + noise * rng.normal(size=agents + 1)])


def fractions(payoffs):
    return [[Fraction(payoff) for payoff in row] for row in payoffs.tolist()]


def missing_entropy(payoffs, columns_mix):
    """How much more entropy an optimal strategy of the columns' player can have at most, in nats, by a rational program.

    Entropy is concave: between the mix p and any optimal strategy q it grows by at most (p - q) @ log p. Solvers scale payoffs, which
    changes them by some 1e-16, and probabilities of copies by that over their noise.
    """
    rows = fractions(payoffs)
    value, _ = least(
        [ZERO] * payoffs.shape[1] + [ONE, -ONE],
        [[*row, -ONE, ONE] for row in rows],
        [ZERO] * len(rows),
        [ONE] * payoffs.shape[1] + [ZERO, ZERO],
    )
    logs = np.log(np.maximum(columns_mix, 1e-300))
    lowest, _ = least([Fraction(log) for log in logs.tolist()], rows, [value] * len(rows), [ONE] * payoffs.shape[1])
    return float(columns_mix @ logs - float(lowest))


@pytest.mark.parametrize("noise", NOISES)
def test_every_method_of_zero_sum_games_solves_a_cycle_with_a_near_copy_at_any_noise(noise):
    """Of 320 such games, 13 lotteries and 10 Nash averages of scores ended in a `SolverError`, at noise of 1e-8 to 1e-10."""
    for seed in range(20):
        margins = near_margins(noise, seed)
        lottery = maximal_lottery(margins)
        assert lottery.certificate.value <= 1e-14
        assert iterated_maximal_lotteries(margins).certificate.value <= 1e-14
        assert nash_average_agents(margins).agent_dist == pytest.approx(lottery.lottery, abs=1e-15 / noise)
        assert nash_average(margins).certificate.value <= 1e-14
        assert nash_average(near_scores(noise, seed)).certificate.value <= 1e-12


@pytest.mark.parametrize("noise", NOISES[:12])
def test_lotteries_with_near_copies_are_those_of_gambit_in_rational_numbers(noise):
    for seed in range(4):
        margins = near_margins(noise, seed)
        exact = exact_equilibrium(margins)[1]
        assert maximal_lottery(margins).lottery == pytest.approx(exact, abs=1e-14 / noise)


@pytest.mark.parametrize(("agents", "copies"), [(3, 1), (4, 2), (6, 2)])
@pytest.mark.parametrize("noise", NOISES[:13])
def test_no_lottery_of_games_with_ties_and_near_copies_has_more_entropy(noise, agents, copies):
    for seed in range(3):
        margins = near_margins(noise, seed, agents, copies)
        found = solve_symmetric(margins)
        assert (found.status, found.exploitability) == ("optimal", pytest.approx(0, abs=1e-12))
        assert missing_entropy(margins, found.strategy) <= 1e-8 + 1e-14 / noise


@pytest.mark.parametrize("noise", NOISES[:13])
def test_no_mixes_of_agents_and_tasks_with_near_copies_have_more_entropy(noise):
    for seed in range(3):
        scores = near_scores(noise, seed)
        found = solve_zero_sum(scores)
        assert (found.status, found.exploitability) == ("optimal", pytest.approx(0, abs=1e-12))
        assert missing_entropy(scores, found.column) <= 1e-8 + 1e-14 / noise
        assert missing_entropy(-scores.T, found.row) <= 1e-8 + 1e-14 / noise


@pytest.mark.parametrize("seed", range(20))
def test_whole_numbers_and_the_path_agree_where_both_can_tell(seed):
    """Payoffs of few values, with large faces."""
    rng = np.random.default_rng(seed)
    payoffs = rng.integers(0, 3, (2 + seed % 5, 2 + seed % 7)).astype(float)
    found, face = solve_zero_sum(payoffs), exact_face(whole_payoffs(payoffs))
    assert (face.played == found.column_support).all()
    assert (face.beaten == ~found.row_support).all()
    assert face.point.strategy == pytest.approx(found.column[face.played], abs=1e-7)
    assert face.point.single == found.column_unique
    assert face.point.entropy_gap <= 1e-8


@pytest.mark.parametrize("scale", [1e-9, 1 / 3, 0.7, 1e9])
@pytest.mark.parametrize("noise", [1e-4, 1e-8])
def test_the_unit_of_payoffs_moves_no_lottery_with_near_copies(scale, noise):
    margins = near_margins(noise, 1)
    assert solve_symmetric(scale * margins).strategy == pytest.approx(solve_symmetric(margins).strategy, abs=1e-14 / noise)


def test_a_strategy_that_looks_out_of_play_can_break_a_tie_of_near_copies():
    """Its probability is as small as the noise; here 7.7e-14."""
    found = solve_symmetric(near_margins(1e-13, 0, 5, 3))
    assert found.status == "optimal"
    assert found.unique
    assert 0 < found.strategy[3] < 1e-12


def test_an_agent_that_is_not_played_can_limit_the_others():
    """A and B tie and C, whom neither wants to play, keeps A's share at two thirds; D is a near copy of a tie."""
    margins = np.array([[0, 0, 1, 6e-9], [0, 0, -2, 5e-10], [-1, 2, 0, -1], [-6e-9, -5e-10, 1, 0]])
    found = solve_symmetric(margins)
    assert found.status == "optimal"
    assert found.strategy == pytest.approx([2 / 3, 1 / 3, 0, 0], abs=1e-12)


def test_a_probability_that_should_be_smaller_than_float64_can_hold_does_not_stop_the_climb():
    """The largest entropy wants exp(-1e12) for three columns. Steps were shortened until their division overflowed: a `ValueError`."""
    small, close = [8.5651118946270475e-13, -3.1091415679580866e-13], [1.0000000000003693, 0.99999999999996081, 0.99999999999948919]
    payoffs = np.array([[0.0] * 5, [small[0], *close[:2], small[1], close[2]]])
    found = solve_zero_sum(payoffs)
    assert (found.status, found.exploitability) == ("optimal", pytest.approx(0, abs=1e-15))
    assert found.column[[1, 2, 4]] == pytest.approx(0, abs=1e-15)
    assert found.column[3] == pytest.approx(-small[0] / small[1] * found.column[0], rel=1e-2)


def test_two_limits_that_are_nearly_opposite_leave_an_edge_with_the_largest_entropy():
    """Two rows of near copies hold the sum of two columns between bounds that meet. The entropy gap was 0.1."""
    scores = np.array(
        [
            [0.0, 0.0, 0.0, 0.0],
            [-0.3333333333333333, -1.0, -1.0000000190713674, -0.3333333271609049],
            [-1.0, 0.6666666666666666, 0.6666667863741371, -0.999999996662809],
            [-0.6666666666666666, 0.6666666666666666, 0.6666666593174013, -0.6666665288902475],
            [1.0, -1.0, -1.0000000205342514, 1.0000001206178415],
        ]
    )
    found = solve_zero_sum(scores)
    assert (found.status, found.exploitability) == ("optimal", pytest.approx(0, abs=1e-14))
    assert missing_entropy(scores, found.column) <= 1e-6


def test_games_at_which_the_path_gets_stuck_are_solved_in_whole_numbers():
    """The path ended at a gap of 1.07e-9, above the tolerance."""
    scores = np.array(
        [[0] * 12, [0, 1, 1, 0, 0, 0, 0, 1, 0, 1, 0, 0], [0, 1, 1, 0, 1, 1, 1, 0, 1, 0, 1, 1], [1, 1, 1, 1, 0, 0, 0, 1, 0, 1, 0, 0]], float
    )
    scores[1:, 8:] += 1e-9 * np.array(
        [
            [2.058798983076707, 1.7932781628701377, -0.009903935839959525, 0.16418292471276205],
            [-2.054598246994374, -1.7570561150809091, 0.5666800523681797, 0.18784507353],
            [1.236022647385725, -0.48367154838, -0.7374759360897774, -0.9929049155797608],
        ]
    )
    found = solve_zero_sum(scores)
    assert (found.status, found.exploitability) == ("optimal", pytest.approx(0, abs=1e-14))


@pytest.mark.parametrize("seed", range(40))
def test_mixes_of_scores_with_many_ties_and_near_copies_are_certified(seed):
    """Whole numbers left one of 250 such games without an answer, because the climb to the largest entropy lost the small probabilities."""
    rng = np.random.default_rng(seed)
    scores = near_scores(10.0 ** -rng.integers(3, 16), seed, 3 + seed % 5, 3 + seed % 4)
    scores[0] = 0.0
    found = solve_zero_sum(scores)
    assert (found.status, found.exploitability) == ("optimal", pytest.approx(0, abs=1e-14))


def test_payoffs_are_whole_numbers_of_the_decimals_and_fractions_that_they_stand_for():
    assert whole_payoffs(np.array([[0.1, -0.3], [0.1 + 0.2, 2.0]])).tolist() == [
        [10**12, -3 * 10**12],
        [3 * 10**12, 20 * 10**12],
    ]
    thirds = whole_payoffs(np.array([1 / 3, 2 / 3, -1 / 3, 0.0]))
    assert thirds.tolist() == [1, 2, -1, 0]


def test_shares_of_many_different_numbers_of_games_do_not_make_endless_numbers():
    """Their common denominator has 1,200 binary digits, which whole numbers carried and slacks did not fit into float64."""
    rng = np.random.default_rng(1)
    games = rng.integers(5000, 10_000, (20, 20))
    shares = np.triu(rng.integers(-5000, 5000, (20, 20)) / games, 1)
    shares[0, 1] = 1.0
    whole = whole_payoffs(shares - shares.T)
    assert (whole == -whole.T).all()
    assert max(abs(own) for own in whole.ravel().tolist()) == module.GRID
    tied = shares - shares.T
    tied[:4], tied[:, :4] = 0.0, 0.0
    assert exact_face(whole_payoffs(tied)).point.entropy_gap <= 1e-8


@pytest.mark.parametrize("largest", [1e-300, 1.7e308])
def test_payoffs_at_the_ends_of_float64_keep_their_ratios(largest):
    whole = whole_payoffs(largest * np.array([1.0, 0.5, -0.25, 0.0]))
    assert [Fraction(own, whole[0]) for own in whole] == [1, Fraction(1, 2), Fraction(-1, 4), 0]


def test_payoffs_that_differ_by_rounding_are_equal_and_others_are_not():
    payoffs = np.array([np.pi, np.pi * (1 + 2.3e-16), -np.pi * 0.77123456789, np.pi * (1 - 1e-15), 1e-17])
    first, same, _, other, zero = whole_payoffs(payoffs).tolist()
    assert first == same
    assert first != other
    assert zero == 0


def test_a_deadline_ends_the_search_without_a_face():
    whole, ticks = whole_payoffs(near_margins(1e-3, 0, 6, 2)), iter(range(100))
    passed = Deadline.after(0.5, lambda: float(next(ticks)))
    assert exact_face(whole, passed) is None
    assert exact_face(whole, NEVER) is not None


def test_games_that_are_too_large_are_left_to_the_path(monkeypatch):
    margins = near_margins(1e-3, 0)
    nobody = np.zeros(len(margins), bool)
    monkeypatch.setattr(module, "MOST_ENTRIES", 15)
    assert exact_symmetric(margins, margins, nobody, NEVER) is None
    assert exact_sides(margins, margins, (nobody, nobody), NEVER) is None
    found = solve_symmetric(near_margins(1e-9, 1), options=PathOptions())
    assert found.status == "approximate"
    assert found.exploitability > 1e-9
