"""Maximal and iterated maximal lotteries: what they promise on random margins with ties and clones, and what they refuse."""

import itertools

import highspy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratings_core.errors import InputError, SolverError
from ratings_core.games import exact_faces
from ratings_core.voting.lotteries import LotteryOptions, iterated_maximal_lotteries, maximal_lottery

METHODS = [maximal_lottery, iterated_maximal_lotteries]
HARD = np.array([[0, 1, -2, 1], [-1, 0, 3, 1], [2, -3, 0, 1], [-1, -1, -1, 0]], float)


def close_to(values):
    return pytest.approx(values, abs=1e-7)


@st.composite
def margins(draw, largest=3, agents=7):
    m = draw(st.integers(1, agents))
    upper = np.array(draw(st.lists(st.integers(-largest, largest), min_size=m * m, max_size=m * m)), float).reshape(m, m)
    return np.triu(upper, 1) - np.triu(upper, 1).T


def cloned(M, agent, copies):
    ids = [*range(len(M)), *[agent] * copies]
    return M[np.ix_(ids, ids)]


@given(margins())
def test_no_agent_beats_the_lottery(M):
    found = maximal_lottery(M)
    assert found.status == "optimal"
    assert found.certificate.kind == "exploitability"
    assert found.certificate.value <= 1e-12
    assert (found.lottery @ M).min() >= -1e-12 * max(1, np.abs(M).max())
    assert found.lottery.sum() == close_to(1)
    assert (found.ratings == found.lottery).all()
    assert (np.flatnonzero(found.lottery) == found.support).all()


@given(margins(largest=2), st.integers(0, 6), st.integers(0, 2))
def test_certificates_of_levels_hold_for_the_callers_margins(M, agent, copies):
    M = cloned(M, agent % len(M), copies)
    alive = np.arange(len(M))
    for level in iterated_maximal_lotteries(M).levels:
        preferred = level.lottery @ M[np.ix_(level.agents, alive)]
        assert -preferred.min() <= level.exploitability * max(1, np.abs(M).max()) <= 1e-9
        alive = np.setdiff1d(alive, level.agents)


@pytest.mark.parametrize("method", METHODS)
@given(M=margins(), seed=st.integers(0, 99), scale=st.sampled_from([1e-6, 0.1, 7.0, 1e12]))
@settings(max_examples=40)
def test_names_order_and_unit_do_not_matter(method, M, seed, scale):
    order = np.random.default_rng(seed).permutation(len(M))
    ratings = method(M).ratings
    assert method(M[np.ix_(order, order)]).ratings == close_to(ratings[order])
    assert method(M * scale).ratings == close_to(ratings)


@given(margins(), st.integers(0, 99), st.integers(1, 3))
@settings(max_examples=60)
def test_copies_share_what_one_agent_had(M, agent, copies):
    agent %= len(M)
    before, after = maximal_lottery(M), maximal_lottery(cloned(M, agent, copies))
    alike = np.flatnonzero((M[agent] == M).all(axis=1))
    copied = [*alike, *range(len(M), len(M) + copies)]
    assert np.delete(after.lottery, copied) == close_to(np.delete(before.lottery, alike))
    assert np.ptp(after.lottery[copied]) == 0
    assert after.lottery[copied].sum() == close_to(before.lottery[alike].sum())
    assert after.entropy == close_to(before.entropy)


@given(margins(agents=6), st.integers(0, 99), st.integers(1, 3))
@settings(max_examples=40)
def test_copies_do_not_move_levels(M, agent, copies):
    agent %= len(M)
    before, after = iterated_maximal_lotteries(M), iterated_maximal_lotteries(cloned(M, agent, copies))
    assert len(before.levels) == len(after.levels)
    assert np.ceil(after.ratings[: len(M)] - 1e-9) == close_to(np.ceil(before.ratings - 1e-9))


def test_without_merging_copies_pull_the_entropy():
    """A ties B; both beat C, by 1 and by 3: every mix of A and B is maximal until one of them is copied."""
    M = np.array([[0, 0, 1], [0, 0, 3], [-1, -3, 0]], float)
    copied = cloned(M, 0, 9)
    assert maximal_lottery(copied).lottery[[*range(10, 12), 1]].sum() > 0
    assert maximal_lottery(copied).lottery[1] == close_to(1 / 2)
    assert maximal_lottery(copied, options=LotteryOptions(merge=False)).lottery[1] == close_to(1 / 11)


@given(margins())
def test_levels_hold_everyone_once_and_each_is_the_lottery_of_the_rest(M):
    found = iterated_maximal_lotteries(M)
    assert sorted(np.concatenate([level.agents for level in found.levels])) == list(range(len(M)))
    left = np.arange(len(M))
    for level in found.levels:
        alone = maximal_lottery(M[np.ix_(left, left)])
        assert (left[alone.support] == level.agents).all()
        assert alone.lottery[alone.support] == close_to(level.lottery)
        assert (level.lottery @ M[np.ix_(level.agents, left)]).min() >= -1e-12 * max(1, np.abs(M).max())
        left = np.setdiff1d(left, level.agents)
    assert found.certificate.value == max(level.exploitability for level in found.levels)


@given(margins())
def test_scores_count_levels_from_the_bottom_and_add_the_probability(M):
    found = iterated_maximal_lotteries(M)
    for below, level in enumerate(reversed(found.levels)):
        assert found.ratings[level.agents] == close_to(below + level.lottery)
    tops = [found.ratings[level.agents].min() for level in found.levels]
    nexts = [found.ratings[level.agents].max() for level in found.levels[1:]]
    assert all(upper >= lower - 1e-7 for upper, lower in zip(tops, nexts, strict=False))


@given(margins(largest=1))
def test_a_strong_condorcet_winner_takes_all(M):
    found = maximal_lottery(M)
    winners = [a for a in range(len(M)) if all(M[a, b] > 0 for b in range(len(M)) if b != a)]
    assert all(found.lottery[a] == 1 for a in winners)


@pytest.mark.parametrize("m", [1, 2, 5])
def test_all_tied_is_even(m):
    assert maximal_lottery(np.zeros((m, m))).lottery == close_to(np.full(m, 1 / m))
    assert iterated_maximal_lotteries(np.zeros((m, m))).ratings == close_to(np.full(m, 1 / m))


def test_two_agents():
    assert maximal_lottery([[0, 3], [-3, 0]]).lottery.tolist() == [1, 0]
    assert iterated_maximal_lotteries([[0, -3], [3, 0]]).ratings.tolist() == [1, 2]


def test_an_order_is_one_agent_a_level():
    M = np.triu(np.ones((60, 60)), 1)
    assert iterated_maximal_lotteries(M - M.T).ratings.tolist() == list(range(60, 0, -1))


@pytest.mark.parametrize(("a", "b", "c"), list(itertools.product([1, 2, 5], repeat=3)))
def test_a_cycle_weighs_each_by_the_margin_it_is_not_in(a, b, c):
    """A beats B by a, B beats C by b, C beats A by c."""
    M = [[0, a, -c], [-a, 0, b], [c, -b, 0]]
    found = maximal_lottery(M)
    assert found.lottery == close_to(np.array([b, c, a]) / (a + b + c))
    assert found.unique


def test_a_duplicate_against_the_top_only_is_no_clone():
    """A and B tie and agree on C, so no lottery tells them apart, but D they beat by different margins."""
    M = np.array([[0, 0, 0, 1], [0, 0, 0, 2], [0, 0, 0, 1], [-1, -2, -1, 0]], float)
    found = maximal_lottery(M)
    assert found.lottery == close_to([1 / 4, 1 / 2, 1 / 4, 0])
    assert found.stats["merged"] == 1


@pytest.mark.parametrize("method", METHODS)
def test_an_answer_beyond_the_tolerance_is_an_error_that_carries_it(method):
    with pytest.raises(SolverError, match=r"exploitability .* support gap .* max_iterations") as caught:
        method(HARD, options=LotteryOptions(max_iterations=1))
    assert caught.value.solution.status == "approximate"
    found = method(HARD, options=LotteryOptions(max_iterations=1, accept_approximate=True))
    assert found.status == "approximate"
    assert found.certificate.value > 1e-9


def test_levels_below_an_approximate_one_are_approximate():
    found = iterated_maximal_lotteries(HARD, options=LotteryOptions(max_iterations=1, accept_approximate=True))
    assert {level.status for level in found.levels} == {"approximate"}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("given_margins", "argument"),
    [([[0, 1], [1, 0]], "margins"), ([[0, np.nan], [np.nan, 0]], "margins"), ([[0, 1, 2]], "margins"), ([], "margins")],
)
def test_bad_margins_are_refused(method, given_margins, argument):
    with pytest.raises(InputError, match=argument):
        method(given_margins)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("option", [{"tolerance": -1}, {"close": np.nan}, {"max_iterations": 1.5}])
def test_bad_options_are_refused(method, option):
    with pytest.raises(InputError, match=next(iter(option))):
        method([[0.0]], options=LotteryOptions(**option))


@pytest.mark.parametrize("method", METHODS)
def test_the_callers_margins_are_left_alone(method):
    M = HARD.copy()
    M.flags.writeable = False
    method(M)
    assert (M == HARD).all()


@pytest.mark.parametrize("seed", range(12))
def test_margins_of_many_sizes_are_solved_to_rounding(seed):
    """Three decades, as tallies of well and hardly known pairs have."""
    rng = np.random.default_rng(seed)
    U = np.triu(np.round(np.exp(2 * rng.normal(size=(25, 25)) + 2)) * rng.choice([-1, 1], (25, 25)), 1)
    assert iterated_maximal_lotteries(U - U.T).certificate.value <= 1e-12


@pytest.mark.parametrize("method", METHODS)
def test_margins_too_far_apart_for_double_precision_are_an_error_with_what_was_found(method):
    rng = np.random.default_rng(1)
    failed = 0
    for _ in range(20):
        U = np.triu(rng.choice([-1e6, -1.0, 0.0, 1.0, 1e6], (15, 15)), 1)
        try:
            assert method(U - U.T).certificate.value <= 1e-9
        except SolverError as error:
            failed += 1
            assert error.solution.status == "approximate"  # noqa: PT017 - either outcome is right
    assert failed < 20


def test_a_support_that_no_program_decides_is_approximate(monkeypatch):
    monkeypatch.setattr(highspy.Highs, "run", lambda model: None)
    monkeypatch.setattr(exact_faces, "MOST_ENTRIES", 0)
    tied = np.array([[0, 0, 1], [0, 0, 3], [-1, -3, 0]], float)
    with pytest.raises(SolverError, match="entropy gap") as caught:
        maximal_lottery(tied, options=LotteryOptions(close=1e9))
    found = caught.value.solution
    assert found.certificate.value <= 1e-9
    assert found.status == "approximate"
