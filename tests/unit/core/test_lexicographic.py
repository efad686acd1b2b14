"""What deviation ratings are built of: pricing against all columns, the master program at its ends, reductions put back."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratings_core.equilibria import DeviationOptions, deviation
from ratings_core.equilibria.lexicographic import least_gains
from ratings_core.equilibria.master import Master
from ratings_core.errors import SolverError
from ratings_core.games import AgentAgentTask, NormalForm, deviation_gains
from ratings_core.games.gain_matrix import PairGains, TensorGains
from ratings_core.games.symmetry import reduced


@st.composite
def matrices(draw):
    """Gains of a small game of either kind, and how many joints there are."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    if draw(st.booleans()):
        agents, tasks = draw(st.integers(1, 5)), draw(st.integers(1, 5))
        return PairGains(rng.random((agents, tasks))), agents * (agents + 1) // 2 * tasks, rng
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=2, max_size=3)))
    return TensorGains(NormalForm.of([rng.random(shape) for _ in shape])), int(np.prod(shape)), rng


@given(matrices(), st.integers(1, 9))
@settings(max_examples=40)
def test_the_least_weighted_gain_of_all_joints_comes_first(case, count):
    matrix, joints, rng = case
    weights = rng.random(matrix.rows) * rng.integers(0, 2, matrix.rows)
    ids, values = matrix.least(weights, count)
    everywhere = weights @ matrix.columns(np.arange(joints))
    assert values[0] == pytest.approx(everywhere.min(), abs=1e-12)
    assert values == pytest.approx(everywhere[ids], abs=1e-12)
    assert (np.diff(values) >= 0).all()
    assert len(np.unique(ids)) == len(ids) <= count


@given(matrices())
@settings(max_examples=15)
def test_a_pure_deviation_to_what_is_played_gains_nothing(case):
    matrix, joints, _ = case
    columns = matrix.columns(np.arange(joints))
    assert columns.shape == (matrix.rows, joints)
    assert np.count_nonzero(np.abs(columns) < 1e-15, axis=0).min() >= (1 if isinstance(matrix, PairGains) else 2)


def test_the_master_program_takes_the_least_largest_gain():
    master = Master(2)
    master.add(np.array([[-1.0, 0.0], [0.0, -3.0]]))
    point = master.solve()
    assert point.probability == pytest.approx([0.75, 0.25])
    assert point.gains == pytest.approx([-0.75, -0.75])
    assert point.multipliers == pytest.approx([0.75, 0.25])
    master.freeze(np.array([0]), -0.75, point)
    narrowed = master.solve()
    assert narrowed.gains == pytest.approx([-0.75, -0.75])
    assert narrowed.multipliers == pytest.approx([3, 1])


def test_a_master_program_that_cannot_be_met_is_an_error():
    master = Master(2)
    master.add(np.array([[-1.0, 0.0], [0.0, -3.0]]))
    master.freeze(np.array([0]), -2.0, master.solve())
    with pytest.raises(SolverError, match="round the payoffs"):
        master.solve()


def test_rows_not_reached_have_honest_errors():
    gains = reduced(AgentAgentTask.of(np.random.default_rng(1).random((5, 4)))).gains
    cut, whole = least_gains(gains, max_solves=1), least_gains(gains, max_solves=1000)
    assert (cut.complete, whole.complete) == (False, True)
    assert (np.abs(cut.gains - whole.gains) <= cut.errors).all()
    assert whole.errors.max() <= 1e-10


def test_offsets_and_scale_are_taken_out_and_clones_merged():
    one, two = np.array([[1.0, 2.0, 2.0], [3.0, 1.0, 1.0]]), np.array([[5.0, 0.0, 0.0], [5.0, 1.0, 1.0]])
    small = reduced(NormalForm.of([7 * one + 100, 7 * two + np.array([[3.0], [4.0]])]))
    assert small.unit == pytest.approx(35)
    assert small.merged == 1
    assert [own.tolist() for own in small.of_strategies(np.arange(4.0))] == [[0, 1], [2, 3, 3]]
    assert reduced(NormalForm.of([one, two]), merge=False).merged == 0


def test_both_orders_of_two_agents_are_played_evenly():
    small = reduced(AgentAgentTask.of(np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])))
    assert small.merged == 2
    pair_on_first_task = np.array([2])
    play = small.play(pair_on_first_task, np.ones(1))
    assert play.joints.tolist() == [[0, 1, 0], [1, 0, 0]]
    assert play.probability.tolist() == [0.5, 0.5]


def test_joints_of_equal_gains_are_one_column():
    """A third player whom nobody minds repeats every joint of the other two four times."""
    two = np.random.default_rng(3).integers(-2, 3, (2, 3, 3)).astype(float)
    three = [np.repeat(tensor[:, :, None], 4, axis=2) for tensor in two] + [np.zeros((3, 3, 4))]
    game = NormalForm.of(three)
    gains = TensorGains(game)
    distinct = np.unique(gains.columns(np.arange(36)), axis=1).shape[1]
    assert distinct <= 9
    found = least_gains(gains, max_solves=1000)
    assert found.complete
    assert found.stats["columns"] <= distinct
    assert found.stats["duplicate_joints"] >= 36 - distinct
    alone = least_gains(TensorGains(NormalForm.of(two)), max_solves=1000)
    assert found.gains[:6] == pytest.approx(alone.gains, abs=1e-12)
    assert found.gains[6:] == pytest.approx(np.zeros(4), abs=1e-12)
    play = deviation(game, options=DeviationOptions(merge=False)).play
    assert play.probability.sum() == pytest.approx(1)
    assert np.concatenate(deviation_gains(game, play))[:6] == pytest.approx(alone.gains, abs=1e-9)
