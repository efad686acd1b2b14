"""Nash averages: invariances, the policies for missing scores, and what is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from ratings_core.equilibria import nash_average, nash_average_agents
from ratings_core.equilibria.nash_average import NashAverageOptions
from ratings_core.errors import InputError, SolverError
from ratings_core.games import ZeroSumOptions

NAN = np.nan
HARD = np.random.default_rng(3).normal(size=(5, 7))


@st.composite
def tables(draw, largest=3, sides=6):
    agents, tasks = draw(st.integers(1, sides)), draw(st.integers(1, sides))
    return np.array(draw(st.lists(st.integers(0, largest), min_size=agents * tasks, max_size=agents * tasks)), float).reshape(agents, tasks)


@st.composite
def payoffs(draw, largest=3, agents=7):
    m = draw(st.integers(1, agents))
    upper = np.array(draw(st.lists(st.integers(-largest, largest), min_size=m * m, max_size=m * m)), float).reshape(m, m)
    return np.triu(upper, 1) - np.triu(upper, 1).T


def close_to(values):
    return pytest.approx(values, abs=1e-7, nan_ok=True)


def ratings_by_linprog(S):
    """The twin: tasks mix to keep the best agent's expected score low; right where that mix is the only one."""
    agents, tasks = S.shape
    found = linprog(
        np.append(np.zeros(tasks), 1.0),
        A_ub=np.column_stack([S, -np.ones(agents)]),
        b_ub=np.zeros(agents),
        A_eq=[np.append(np.ones(tasks), 0.0)],
        b_eq=[1.0],
        bounds=[(0, None)] * tasks + [(None, None)],
    )
    assert found.status == 0
    return S @ found.x[:-1], found.fun


@given(tables())
def test_the_mixes_are_an_equilibrium_and_ratings_follow_from_them(S):
    found = nash_average(S)
    assert found.status == "optimal"
    assert found.certificate.value <= 1e-12
    assert found.ratings == close_to(S @ found.task_dist)
    assert found.task_ratings == close_to(-found.agent_dist @ S)
    assert found.ratings.max() == close_to(found.value)
    assert found.task_ratings.max() == close_to(-found.value)
    assert found.ratings[found.agent_dist > 0] == close_to(found.value)
    assert found.task_ratings[found.task_dist > 0] == close_to(-found.value)


@pytest.mark.parametrize("seed", range(20))
def test_a_general_table_agrees_with_a_plain_linear_program(seed):
    S = np.random.default_rng(seed).normal(size=(2 + seed % 6, 2 + seed % 9))
    found = nash_average(S)
    ratings, value = ratings_by_linprog(S)
    assert found.task_unique
    assert found.agent_unique
    assert found.value == close_to(value)
    assert found.ratings == close_to(ratings)


@given(tables(), st.integers(0, 99), st.integers(0, 99))
@settings(max_examples=60)
def test_copies_of_agents_and_tasks_move_no_rating(S, agent, task):
    agents = [*range(len(S)), *[agent % len(S)] * 2]
    tasks = [*range(S.shape[1]), *[task % S.shape[1]] * 3]
    before, after = nash_average(S), nash_average(S[np.ix_(agents, tasks)])
    assert after.ratings == close_to(before.ratings[agents])
    assert after.task_ratings == close_to(before.task_ratings[tasks])
    assert after.value == close_to(before.value)
    assert after.agent_entropy == close_to(before.agent_entropy)
    assert after.task_entropy == close_to(before.task_entropy)


@given(tables(), st.integers(0, 99))
@settings(max_examples=60)
def test_order_does_not_matter(S, seed):
    rng = np.random.default_rng(seed)
    agents, tasks = rng.permutation(len(S)), rng.permutation(S.shape[1])
    before, after = nash_average(S), nash_average(S[np.ix_(agents, tasks)])
    assert after.ratings == close_to(before.ratings[agents])
    assert after.task_dist == close_to(before.task_dist[tasks])


@given(tables(), st.sampled_from([1e-3, 5.0]), st.integers(-3, 3))
@settings(max_examples=60)
def test_ratings_scale_and_shift_with_the_scores(S, scale, shift):
    before, after = nash_average(S), nash_average(S * scale + shift)
    assert after.ratings == close_to(before.ratings * scale + shift)
    assert after.agent_dist == close_to(before.agent_dist)


@pytest.mark.parametrize("shift", [1e9, -1e12])
def test_scores_far_from_zero_keep_the_digits_of_their_differences(shift):
    """Whole numbers, so that the shifted table has the same differences; expected scores of 1e12 have rounding of 1e-4."""
    S = np.random.default_rng(1).integers(0, 10, (6, 5)).astype(float)
    plain, far = nash_average(S), nash_average(S + shift)
    assert (far.agent_dist, far.task_dist) == (close_to(plain.agent_dist), close_to(plain.task_dist))
    assert far.certificate.value <= 1e-12
    assert far.ratings == pytest.approx(plain.ratings + shift, rel=0, abs=2 * np.spacing(abs(shift)))


def test_a_certificate_beyond_the_tolerance_is_never_called_optimal():
    """Whatever the engine thought of the scaled and merged game: what counts is the caller's."""
    S = np.random.default_rng(5).random((30, 20))
    options = {"tolerance": 1e-14, "accept_approximate": True}
    agents = nash_average_agents(S[:20] - S[:20].T, options=ZeroSumOptions(**options))
    for found in (nash_average(S, options=NashAverageOptions(**options)), agents):
        assert found.status == "approximate" or found.certificate.value <= 1e-14


def test_a_task_that_is_never_the_hardest_changes_nothing():
    """One on which every agent scores above the value for sure."""
    before, after = nash_average(HARD), nash_average(np.column_stack([HARD, HARD.max() + np.arange(5.0)]))
    assert after.ratings == close_to(before.ratings)
    assert after.task_dist[-1] == 0


def test_min_max_puts_tasks_on_one_scale_and_leaves_out_those_on_which_all_agree():
    scale = np.array([1, 1000, 0.001, 5, 5, 5, 5])
    found = nash_average(np.column_stack([HARD * scale + 7, np.full(5, 3.0)]), options=NashAverageOptions(normalise="minmax"))
    plain = nash_average((HARD - HARD.min(axis=0)) / np.ptp(HARD, axis=0))
    assert found.ratings == close_to(plain.ratings)
    assert found.constant_tasks.tolist() == [7]
    assert np.isnan(found.task_ratings[7])
    assert found.task_dist[7] == 0
    assert found.dropped_tasks.size == 0


def test_scores_rescaled_by_min_max_are_copies():
    found = nash_average(
        np.column_stack([HARD, 10 * np.round(HARD, 1)[:, 0], np.round(HARD, 1)[:, 0]]), options=NashAverageOptions(normalise="minmax")
    )
    assert found.status == "optimal"
    assert found.task_dist.sum() == close_to(1)


def test_missing_scores_are_refused_unless_told_what_to_drop():
    S = HARD.copy()
    S[1, 2] = NAN
    with pytest.raises(InputError, match=r"scores\[1, 2\].*agent 1 on task 2; 1 such cells.*drop_tasks"):
        nash_average(S)


def test_dropped_tasks_are_named_and_not_rated():
    S = HARD.copy()
    S[1, 2] = S[3, 2] = S[0, 5] = NAN
    found, plain = nash_average(S, options=NashAverageOptions(missing="drop_tasks")), nash_average(np.delete(HARD, [2, 5], axis=1))
    assert found.dropped_tasks.tolist() == [2, 5]
    assert found.dropped_agents.size == 0
    assert found.ratings == close_to(plain.ratings)
    assert np.isnan(found.task_ratings[[2, 5]]).all()
    assert found.task_dist[[2, 5]].tolist() == [0, 0]
    assert np.isfinite(np.delete(found.task_ratings, [2, 5])).all()


def test_dropped_agents_are_named_and_not_rated():
    S = HARD.copy()
    S[1, 2] = S[1, 3] = NAN
    found, plain = nash_average(S, options=NashAverageOptions(missing="drop_agents")), nash_average(np.delete(HARD, 1, axis=0))
    assert found.dropped_agents.tolist() == [1]
    assert np.delete(found.ratings, 1) == close_to(plain.ratings)
    assert np.isnan(found.ratings[1])
    assert found.agent_dist[1] == 0
    assert found.task_ratings == close_to(plain.task_ratings)


@pytest.mark.parametrize("policy", ["refuse", "drop_tasks", "drop_agents"])
def test_policies_do_nothing_to_complete_scores(policy):
    assert nash_average(HARD, options=NashAverageOptions(missing=policy)).ratings.tolist() == nash_average(HARD).ratings.tolist()


@pytest.mark.parametrize(("policy", "other"), [("drop_tasks", "drop_agents"), ("drop_agents", "drop_tasks")])
def test_a_policy_that_leaves_nothing_is_refused(policy, other):
    S = np.ones((2, 2))
    S[np.diag_indices(2)] = NAN
    with pytest.raises(InputError, match=f"missing.*{other}"):
        nash_average(S, options=NashAverageOptions(missing=policy))


def test_more_tasks_than_candidates():
    S = np.random.default_rng(1).normal(size=(12, 900))
    found = nash_average(S)
    ratings, value = ratings_by_linprog(S)
    assert found.stats["candidates"] < 500
    assert found.value == close_to(value)
    assert found.ratings == close_to(ratings)


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (4, 1)])
def test_one_agent_or_one_task(shape):
    S = np.arange(float(np.prod(shape))).reshape(shape)
    found = nash_average(S)
    assert found.value == close_to(S.min(axis=1).max())
    assert found.ratings == close_to(S @ found.task_dist)


def test_equal_scores_tie_everyone():
    found = nash_average(np.full((3, 4), 2.5))
    assert found.ratings == close_to([2.5] * 3)
    assert found.agent_dist == close_to([1 / 3] * 3)
    assert found.certificate.value == 0


@given(payoffs())
def test_agents_rate_at_most_0_and_those_in_the_mix_0(A):
    found = nash_average_agents(A)
    assert found.certificate.value <= 1e-12
    assert found.ratings == close_to(A @ found.agent_dist)
    assert found.ratings.max() == close_to(0)
    assert found.ratings[found.agent_dist > 0] == close_to(0)


@given(payoffs(), st.integers(0, 99))
@settings(max_examples=60)
def test_copies_of_agents_move_no_rating_among_agents(A, agent):
    ids = [*range(len(A)), *[agent % len(A)] * 2]
    assert nash_average_agents(A[np.ix_(ids, ids)]).ratings == close_to(nash_average_agents(A).ratings[ids])


def test_without_merging_copies_move_ratings():
    """A ties B, A beats C by 1 and B beats C by 3: C is rated -2, and -1.18 once A is there eleven times."""
    A = np.array([[0, 0, 1], [0, 0, 3], [-1, -3, 0]], float)
    ids = [*[0] * 11, 1, 2]
    copied = A[np.ix_(ids, ids)]
    assert nash_average_agents(copied).ratings[-1] == close_to(-2)
    assert nash_average_agents(copied, options=ZeroSumOptions(merge=False)).ratings[-1] == pytest.approx(-14 / 12)


@pytest.mark.parametrize(
    ("method", "record", "game"),
    [(nash_average, NashAverageOptions, HARD), (nash_average_agents, ZeroSumOptions, HARD[:, :5] - HARD[:, :5].T)],
)
def test_an_answer_beyond_the_tolerance_is_an_error_that_carries_it(method, record, game):
    with pytest.raises(SolverError, match="max_iterations") as caught:
        method(game, options=record(max_iterations=1))
    assert caught.value.solution.status == "approximate"
    assert method(game, options=record(max_iterations=1, accept_approximate=True)).certificate.value > 1e-9


@pytest.mark.parametrize(
    ("scores", "options", "argument"),
    [
        ([], {}, "scores"),
        ([1, 2], {}, "scores"),
        ([[np.inf, 1]], {}, r"scores\[0, 0\]"),
        ([["a"]], {}, "scores"),
        (HARD, {"normalise": "zscore"}, "normalise"),
        (HARD, {"missing": "guess"}, "missing"),
        (np.ones((2, 2)), {"normalise": "minmax"}, "normalise"),
        ([[1e308, 0], [-1e308, 1]], {"normalise": "minmax"}, "scores"),
        (HARD, {"tolerance": 0}, "tolerance"),
    ],
)
def test_bad_input_is_refused(scores, options, argument):
    with pytest.raises(InputError, match=argument):
        nash_average(scores, options=NashAverageOptions(**options))


def test_agents_payoffs_must_be_antisymmetric():
    with pytest.raises(InputError, match="payoffs"):
        nash_average_agents([[0, 1], [1, 0]])


def test_the_callers_scores_are_left_alone():
    S = HARD.copy()
    S.flags.writeable = False
    nash_average(S, options=NashAverageOptions(normalise="minmax"))
    assert (S == HARD).all()
