"""Lotteries in mode `any`: the same promises as in mode `maxent` but for entropy, on sparse margins that stay sparse."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from ratings_core.errors import InputError, SolverError
from ratings_core.games import sparse_symmetric
from ratings_core.games.sparse_symmetric import some_optimal_strategy
from ratings_core.games.unbeaten import UnbeatenComponents
from ratings_core.graphs import members, strong_components
from ratings_core.voting import iterated_maximal_lotteries, maximal_lottery
from ratings_core.voting.condorcet import schwartz_set
from ratings_core.voting.lotteries import LotteryOptions
from tests.support.options import with_options

METHODS = [maximal_lottery, iterated_maximal_lotteries]


def drawn(seed, largest=8, share=0.5):
    """Whole margins from -3 to 3 of 1 to `largest` agents, `share` of the pairs met."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, largest + 1))
    U = np.triu(rng.integers(-3, 4, (m, m)) * (rng.random((m, m)) < share), 1).astype(float)
    return U - U.T


margins = st.builds(drawn, st.integers(0, 2**32), share=st.sampled_from([0.3, 0.6, 1.0]))


@pytest.fixture
def by_program(monkeypatch):
    """Components of two agents and more are left to HiGHS."""
    monkeypatch.setattr(sparse_symmetric, "DENSE_AGENTS", 1)
    monkeypatch.setattr(sparse_symmetric, "DENSE_SHARE", 1.0)


def check_levels(M, found):
    """Each level is a maximal lottery of the agents left, by M itself."""
    left = np.arange(len(M))
    for level in found.levels:
        assert level.lottery.min() > 0
        assert level.lottery.sum() == pytest.approx(1)
        assert set(level.agents) <= set(left.tolist())
        assert (level.lottery @ M[np.ix_(level.agents, left)]).min() >= -1e-8
        assert level.status == "optimal"
        left = np.setdiff1d(left, level.agents)
    assert left.size == 0
    for below, level in enumerate(reversed(found.levels)):
        assert found.ratings[level.agents] == pytest.approx(below + level.lottery)


@given(margins)
def test_levels_are_maximal_lotteries_of_the_agents_left(M):
    check_levels(M, iterated_maximal_lotteries(sparse.csr_array(M), options=LotteryOptions(mode="any")))


@given(M=margins)
@settings(max_examples=40)
def test_levels_by_programs_are_too(M):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparse_symmetric, "DENSE_AGENTS", 1)
        patch.setattr(sparse_symmetric, "DENSE_SHARE", 1.0)
        check_levels(M, iterated_maximal_lotteries(sparse.csr_array(M), options=LotteryOptions(mode="any")))


@given(margins)
@settings(max_examples=40)
def test_the_lottery_is_the_first_level_and_elects_only_whom_some_maximal_lottery_does(M):
    found = maximal_lottery(M, options=LotteryOptions(mode="any"))
    first = iterated_maximal_lotteries(M, options=LotteryOptions(mode="any")).levels[0]
    assert found.support.tolist() == first.agents.tolist()
    assert (found.lottery[found.support] == first.lottery).all()
    assert found.certificate.value == first.exploitability
    assert set(found.support) <= set(maximal_lottery(M).support)
    assert set(found.support) <= set(schwartz_set(M))


@given(margins)
def test_a_lottery_called_unique_is_the_one_of_largest_entropy(M):
    found, best = maximal_lottery(M, options=LotteryOptions(mode="any")), maximal_lottery(M, options=LotteryOptions(merge=False))
    if found.unique:
        assert found.lottery == pytest.approx(best.lottery, abs=1e-7)
        assert best.unique


def test_a_strong_condorcet_winner_is_proven_unique_and_one_who_only_ties_is_not():
    beats_all = np.array([[0, 1, 1], [-1, 0, 0], [-1, 0, 0]], float)
    ties_one = np.array([[0, 1, 0], [-1, 0, 0], [0, 0, 0]], float)
    assert maximal_lottery(beats_all, options=LotteryOptions(mode="any")).unique
    assert not maximal_lottery(ties_one, options=LotteryOptions(mode="any")).unique


@given(margins)
@settings(max_examples=40)
def test_dense_and_sparse_margins_of_any_format_give_one_answer(M):
    ratings = iterated_maximal_lotteries(M, options=LotteryOptions(mode="any")).ratings
    for form in (sparse.csr_array, sparse.coo_matrix, sparse.csc_array):
        assert (iterated_maximal_lotteries(form(M), options=LotteryOptions(mode="any")).ratings == ratings).all()
    assert maximal_lottery(sparse.coo_array(M)).ratings == pytest.approx(maximal_lottery(M).ratings)


@given(margins, st.sampled_from([1e-6, 0.1, 7.0, 1e12]))
@settings(max_examples=40)
def test_the_unit_does_not_matter(M, scale):
    assert iterated_maximal_lotteries(M * scale, options=LotteryOptions(mode="any")).ratings == pytest.approx(
        iterated_maximal_lotteries(M, options=LotteryOptions(mode="any")).ratings
    )


@given(st.integers(0, 2**32), st.integers(0, 99))
def test_unbeaten_components_are_those_of_the_agents_left(seed, order):
    M = drawn(seed, largest=9)
    rng = np.random.default_rng(order)
    unbeaten, left = UnbeatenComponents(sparse.csr_array(M)), np.arange(len(M))
    while left.size:
        A = M[np.ix_(left, left)]
        winner, loser = np.nonzero(A > 0)
        parts = members(strong_components(winner, loser, len(left)))
        free = {tuple(left[part]) for part in parts if (A[part][:, np.setdiff1d(np.arange(len(left)), part)] >= 0).all()}
        assert {tuple(part) for part in unbeaten.top} == free
        top = np.concatenate(unbeaten.top)
        gone = top[rng.random(len(top)) < 0.5]
        gone = gone if gone.size else top[:1]
        unbeaten.remove(gone)
        left = np.setdiff1d(left, gone)
        assert np.flatnonzero(unbeaten.left).tolist() == left.tolist()
    assert unbeaten.top == []


def sparse_cycle(m, met, seed, skew=1):
    """A cycle through everybody and `met` random games more an agent; the larger `skew`, the more are played by few."""
    rng = np.random.default_rng(seed)
    players = (m * rng.random((2, met * m)) ** skew).astype(np.int64)
    winner, loser = np.append([np.arange(m), (np.arange(m) + 1) % m], players, axis=1)
    other = winner != loser
    wins = sparse.coo_array((np.ones(int(other.sum())), (winner[other], loser[other])), shape=(m, m)).tocsr()
    M = sparse.csr_array(wins - wins.T)
    M.eliminate_zeros()
    M.sort_indices()
    return M


def test_a_large_sparse_cycle_takes_first_order_steps(by_program):
    M = sparse_cycle(600, 1, 0, skew=6)
    found = maximal_lottery(M, options=LotteryOptions(mode="any"))
    assert found.stats["first_order"] == 1
    assert found.certificate.value <= 1e-9
    assert (found.lottery @ M).min() >= -1e-8


def test_where_first_order_steps_stop_short_an_interior_point_answers(by_program, monkeypatch):
    monkeypatch.setattr(sparse_symmetric, "FIRST_ORDER_STEPS", 1)
    M = sparse_cycle(60, 3, 1)
    found = some_optimal_strategy(M, tolerance=1e-9, max_iterations=100)
    assert found.stats["interior"] == 1
    assert found.exploitability <= 1e-9


def test_where_nothing_is_good_enough_the_best_is_an_error_that_carries_it(by_program, monkeypatch):
    monkeypatch.setattr(sparse_symmetric, "FIRST_ORDER_STEPS", 1)
    M = sparse_cycle(60, 3, 1)
    with pytest.raises(SolverError, match=r"exploitability .* max_iterations") as caught:
        iterated_maximal_lotteries(M, options=LotteryOptions(mode="any", max_iterations=1))
    found = caught.value.solution
    good = [level.status == "optimal" for level in found.levels]
    assert good == sorted(good, reverse=True)
    assert not good[-1]


@pytest.mark.parametrize("method", METHODS)
def test_sparse_margins_beyond_what_is_made_dense_need_mode_any(method):
    with pytest.raises(InputError, match=r"mode must be any .* 5000 agents"):
        method(sparse.csr_array((5001, 5001)))
    assert method(sparse.csr_array((5001, 5001)), options=LotteryOptions(mode="any")).ratings == pytest.approx(np.full(5001, 1 / 5001))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("option", [{"mode": "all"}, {"tolerance": -1}, {"close": np.nan}, {"max_iterations": 1.5}])
def test_bad_options_are_refused(method, option):
    with pytest.raises(InputError, match=next(iter(option))):
        method(np.zeros((1, 1)), **with_options(LotteryOptions, {"mode": "any", **option}))


def test_sparse_margins_that_are_not_antisymmetric_are_refused():
    with pytest.raises(InputError, match="margins"):
        maximal_lottery(sparse.csr_array([[0.0, 1.0], [1.0, 0.0]]), options=LotteryOptions(mode="any"))
