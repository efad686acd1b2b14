"""Deviation ratings: against Algorithm 1 written out as dense linear programs, the paper's properties, and where they end."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from ratings_core.equilibria import DeviationOptions, deviation, nash_average
from ratings_core.errors import InputError, SolverError
from ratings_core.games import AgentAgentTask, NormalForm, cce_gap, deviation_gains, solve_zero_sum
from ratings_core.reference import deviation_ratings, gains

TABLE = np.random.default_rng(3).beta(0.5, 0.5, size=(7, 6))


@st.composite
def games(draw, largest=None):
    """Payoffs of 2 to 4 players: small integers, which tie a lot, or normal numbers, which do not."""
    players = draw(st.integers(2, 4))
    shape = tuple(draw(st.lists(st.integers(1, 4 if players < 4 else 3), min_size=players, max_size=players)))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    largest = draw(st.integers(0, 4)) if largest is None else largest
    drawn = [rng.integers(-largest, largest + 1, shape) if largest else rng.normal(size=shape) for _ in shape]
    return [tensor.astype(float) for tensor in drawn], rng


@st.composite
def tables(draw):
    agents, tasks = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    return rng.integers(0, 5, (agents, tasks)).astype(float) if draw(st.booleans()) else rng.random((agents, tasks))


def close_to(values, abs=1e-8):  # noqa: A002 - pytest's word
    return pytest.approx(np.asarray(values), abs=abs)


def rated(payoffs, **options):
    return deviation(NormalForm.of(payoffs), options=DeviationOptions(**options)).by_player


def same(found, wanted):
    return len(found) == len(wanted) and all(own == close_to(other) for own, other in zip(found, wanted, strict=True))


# against the twin


@given(games())
@settings(max_examples=25)
def test_ratings_are_those_of_algorithm_1(case):
    payoffs, _ = case
    assert same(rated(payoffs), deviation_ratings(payoffs))


@given(tables())
@settings(max_examples=20)
def test_the_table_rates_as_its_cubes_do(scores):
    game = AgentAgentTask.of(scores)
    found = deviation(game)
    assert same(found.by_player, deviation(game.normal_form()).by_player)
    assert same(found.by_player, deviation_ratings(game.normal_form().payoffs))
    assert (found.by_player[0] == found.by_player[1]).all()


@given(games())
@settings(max_examples=25)
def test_the_distribution_found_is_an_equilibrium_that_has_the_ratings(case):
    payoffs, _ = case
    game = NormalForm.of(payoffs)
    found = deviation(game)
    assert found.status == "optimal"
    assert found.certificate.kind == "rating_error"
    assert found.certificate.value <= 1e-9
    assert same(deviation_gains(game, found.play), found.by_player)
    assert cce_gap(game, found.play) <= 1e-9 * found.unit
    assert found.payoffs == close_to([found.play.probability @ tensor[tuple(found.play.joints.T)] for tensor in payoffs])


# the paper's properties


@given(games())
@settings(max_examples=25)
def test_ratings_lie_between_the_least_gain_and_0(case):
    payoffs, _ = case
    ratings = np.concatenate(rated(payoffs))
    assert (ratings <= 1e-9).all()
    assert (ratings >= gains(payoffs).min(axis=1) - 1e-9).all()


@given(games())
@settings(max_examples=25)
def test_order_of_strategies_and_players_does_not_matter(case):
    payoffs, rng = case
    before = rated(payoffs)
    order = [rng.permutation(n) for n in payoffs[0].shape]
    assert same(rated([tensor[np.ix_(*order)] for tensor in payoffs]), [own[new] for own, new in zip(before, order, strict=True)])
    seats = rng.permutation(len(payoffs))
    assert same(rated([payoffs[p].transpose(seats) for p in seats]), [before[p] for p in seats])


@given(games(), st.booleans())
@settings(max_examples=25)
def test_copies_of_a_strategy_change_nothing(case, merge):
    payoffs, rng = case
    p = rng.integers(len(payoffs))
    ids = np.append(np.arange(payoffs[0].shape[p]), np.full(2, rng.integers(payoffs[0].shape[p])))
    before = rated(payoffs)
    after = rated([np.take(tensor, ids, axis=p) for tensor in payoffs], merge=merge)
    assert same(after, [own[ids] if q == p else own for q, own in enumerate(before)])


def with_mixture(payoffs, p, mix):
    return [np.concatenate([G, np.expand_dims(np.tensordot(mix, G, axes=(0, p)), p)], axis=p) for G in payoffs]


@given(games())
@settings(max_examples=25)
def test_a_mixture_of_equally_rated_strategies_changes_nothing(case):
    payoffs, rng = case
    p = int(rng.integers(len(payoffs)))
    before = rated(payoffs)
    equal = before[p] >= before[p][rng.integers(len(before[p]))] - 1e-9
    equal &= before[p] <= before[p][equal].min() + 1e-9
    mix = rng.dirichlet(np.ones(len(equal))) * equal
    after = rated(with_mixture(payoffs, p, mix / mix.sum()))
    assert same(after, [np.append(own, own[equal][0]) if q == p else own for q, own in enumerate(before)])


@pytest.mark.parametrize("seed", range(10))
def test_a_mixture_is_rated_as_the_mixture_of_ratings_where_gains_leave_no_choice(seed):
    """In a zero-sum game with one equilibrium."""
    rng = np.random.default_rng(seed)
    scores, mix = rng.normal(size=(4, 5)), rng.dirichlet(np.ones(4))
    before, after = rated([scores, -scores]), rated(with_mixture([scores, -scores], 0, mix))
    assert same(after, [np.append(before[0], before[0] @ mix), before[1]])


def test_a_mixture_of_unequally_rated_strategies_can_change_ratings():
    """The paper's property 7 overlooks this: the mixture's row implies nothing where its parts are no longer in the program.

    With q the share of column 0, rows 1 and 2 gain -2q and q - 1 and meet at -2/3. Half of row 0 and half of row 1 gain -q, which
    meets q - 1 at -1/2 instead.
    """
    A = np.array([[0.0, 0.0], [-2.0, 0.0], [0.0, -1.0]])
    more = with_mixture([A, -A], 0, np.array([0.5, 0.5, 0]))
    assert rated([A, -A])[0] == close_to([0, -2 / 3, -2 / 3])
    assert rated(more)[0] == close_to([0, -1, -1 / 2, -1 / 2])
    assert same(rated(more), deviation_ratings(more))


@given(games())
@settings(max_examples=25)
def test_what_a_player_gets_whatever_it_plays_changes_nothing(case):
    payoffs, rng = case
    offsets = [rng.normal(size=tuple(1 if q == p else n for q, n in enumerate(G.shape))) for p, G in enumerate(payoffs)]
    assert same(rated([G + offset for G, offset in zip(payoffs, offsets, strict=True)]), rated(payoffs))


@given(games())
@settings(max_examples=25)
def test_what_is_never_worse_is_rated_no_lower(case):
    payoffs, rng = case
    p = int(rng.integers(len(payoffs)))
    raised = np.take(payoffs[p], [0], axis=p)
    better = raised + rng.integers(0, 2, raised.shape) * rng.random()
    more = [np.concatenate([G, better if q == p else rng.normal(size=raised.shape)], axis=p) for q, G in enumerate(payoffs)]
    ratings = rated(more)[p]
    assert ratings[-1] >= ratings[0] - 1e-9


@given(games(), st.sampled_from([1e-6, 3.0, 1e6]))
@settings(max_examples=25)
def test_one_factor_for_all_players_scales_ratings(case, factor):
    payoffs, _ = case
    scaled = rated([factor * G for G in payoffs])
    assert same([own / factor for own in scaled], rated(payoffs))


def test_a_factor_for_one_player_alone_changes_which_gains_compare():
    game = AgentAgentTask.of(TABLE).normal_form()
    a, b, t = game.payoffs
    assert not same(rated((a, b, 10 * t))[:1], rated(game.payoffs)[:1])


@given(tables(), st.booleans(), st.integers(0, 99), st.integers(0, 99))
@settings(max_examples=25)
def test_ten_copies_of_an_agent_and_of_a_task_change_nothing(scores, merge, agent, task):
    agents, tasks = scores.shape
    rows = np.append(np.arange(agents), np.full(10, agent % agents))
    columns = np.append(np.arange(tasks), np.full(10, task % tasks))
    before = deviation(AgentAgentTask.of(scores)).by_player
    after = deviation(AgentAgentTask.of(scores[np.ix_(rows, columns)]), options=DeviationOptions(merge=merge))
    assert same(after.by_player, [before[0][rows], before[1][rows], before[2][columns]])
    assert after.stats["merged"] >= (30 if merge else 0)


@given(tables())
@settings(max_examples=25)
def test_a_tasks_level_does_not_matter(scores):
    shift = np.arange(scores.shape[1]) * 0.75
    assert same(deviation(AgentAgentTask.of(scores + shift)).by_player, deviation(AgentAgentTask.of(scores)).by_player)


# zero-sum games


@pytest.mark.parametrize("seed", range(20))
def test_with_one_equilibrium_they_are_nash_averages_less_the_value(seed):
    scores = np.random.default_rng(seed).normal(size=(2 + seed % 6, 2 + seed % 9))
    nash = nash_average(scores)
    assert nash.agent_unique
    assert nash.task_unique
    assert same(rated([scores, -scores]), [nash.ratings - nash.value, nash.task_ratings + nash.value])


def range_of_payoffs(A, value):
    """For each row the least and the largest payoff against the column player's optimal strategies."""
    m, n = A.shape
    one = {"A_ub": A, "b_ub": np.full(m, value + 1e-9), "A_eq": [np.ones(n)], "b_eq": [1.0], "bounds": (0, None)}
    return np.array([[linprog(row, **one).fun, -linprog(-row, **one).fun] for row in A])


@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 10**6))
@settings(max_examples=15)
def test_with_many_equilibria_they_are_in_the_range_of_the_optimal_strategies(rows, columns, seed):
    A = np.random.default_rng(seed).integers(-2, 3, (rows, columns)).astype(float)
    game = solve_zero_sum(A)
    ratings = rated([A, -A])
    assert ratings[0][game.row_support] == close_to(np.zeros(game.row_support.sum()))
    assert ratings[1][game.column_support] == close_to(np.zeros(game.column_support.sum()))
    low, high = range_of_payoffs(A, game.value).T - game.value
    assert (low - 1e-7 <= ratings[0]).all()
    assert (ratings[0] <= high + 1e-7).all()


def test_with_many_equilibria_they_need_not_be_nash_averages():
    """Both columns are optimal; against their even mix rows 1 and 2 lose 1 and 1/2, while a third of column 0 makes both lose 2/3."""
    A = np.array([[0.0, 0.0], [-2.0, 0.0], [0.0, -1.0]])
    assert nash_average(A).ratings - nash_average(A).value == close_to([0, -1, -0.5])
    assert rated([A, -A])[0] == close_to([0, -2 / 3, -2 / 3])


# games at the edge


def test_one_joint():
    assert same(rated([[[3.0]], [[-7.0]]]), [[0], [0]])


def test_a_player_without_a_choice():
    assert same(rated([[[1.0, 2.0, 4.0]], [[5.0, 3.0, 4.5]]]), [[0], [0, -2, -0.5]])


def test_payoffs_that_nobody_can_move_tie_everyone():
    found = deviation(NormalForm.of([np.full((2, 3), 4.0), np.full((2, 3), -1.0)]))
    assert same(found.by_player, [[0, 0], [0, 0, 0]])
    assert found.unit == 1
    assert found.certificate.value == 0


def test_a_dominated_strategy_is_rated_what_it_loses():
    """The prisoner's dilemma: who stays silent against a confessor loses one more year."""
    years = -np.array([[1.0, 10.0], [0.0, 5.0]])
    assert same(rated([years, years.T]), [[-5, 0], [-5, 0]])


def test_the_strictest_equilibrium_of_a_coordination_game():
    """Both joints on the diagonal are equilibria; the mix that loses most by deviating is played."""
    assert same(rated([np.diag([3.0, 1.0]), np.diag([3.0, 1.0])]), deviation_ratings([np.diag([3.0, 1.0])] * 2))


# ends


def test_too_few_programs_are_an_error_that_carries_what_was_found():
    game = AgentAgentTask.of(TABLE)
    with pytest.raises(SolverError, match="max_solves") as caught:
        deviation(game, options=DeviationOptions(max_solves=2))
    found = caught.value.solution
    assert found.status == "approximate"
    exact = deviation(game)
    assert np.abs(np.concatenate(found.by_player) - np.concatenate(exact.by_player)).max() <= found.certificate.value * found.unit
    assert pickle.loads(pickle.dumps(caught.value)).solution.certificate == found.certificate  # noqa: S301 - our own


def test_a_tolerance_beyond_rounding_is_an_error():
    game = AgentAgentTask.of(np.random.default_rng(3).normal(size=(8, 12)))  # payoffs that no rounding balances exactly
    with pytest.raises(SolverError, match="tolerance"):
        deviation(game, options=DeviationOptions(tolerance=1e-300))
    assert deviation(game, options=DeviationOptions(tolerance=1e-300, accept_approximate=True)).status == "approximate"


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"tolerance": 0}, "tolerance"),
        ({"tolerance": np.nan}, "tolerance"),
        ({"max_solves": 0}, "max_solves"),
        ({"max_solves": 1.5}, "max_solves"),
    ],
)
def test_bad_arguments_are_refused(options, argument):
    with pytest.raises(InputError, match=argument):
        deviation(AgentAgentTask.of(TABLE), options=DeviationOptions(**options))


def test_what_is_not_a_game_is_refused():
    with pytest.raises(InputError, match="game"):
        deviation(TABLE)


def test_equal_games_have_equal_bits():
    one, other = (deviation(AgentAgentTask.of(TABLE)) for _ in range(2))
    assert one.ratings.tobytes() == other.ratings.tobytes()
    assert one.play.probability.tobytes() == other.play.probability.tobytes()
