"""Cells not measured: what is filled in, what is merged before, what is reported, what is refused; the two matrices of 2018."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratings_core.equilibria import nash_average
from ratings_core.equilibria.nash_average import NashAverageOptions
from ratings_core.errors import InputError
from ratings_core.games import agent_vs_agent_vs_task, agent_vs_task, bipartite_matrix, skill_matrix

NAN = np.nan
SKILL, DIFFICULTY = np.array([1.0, 4.0, 2.0]), np.array([0.5, -1.0, 3.0, 0.0])
ADDITIVE = SKILL[:, None] - DIFFICULTY


def test_the_prior_is_skill_less_difficulty():
    holes = ADDITIVE.copy()
    holes[0, 1] = holes[2, 3] = holes[2, 0] = NAN
    made = agent_vs_task(holes, missing="prior")
    assert made.game.payoffs[0] == pytest.approx(ADDITIVE, abs=1e-9)
    assert made.imputed == pytest.approx(3 / 12)
    assert (made.missing, made.normalise) == ("prior", "none")


@given(st.integers(0, 10**6))
def test_the_prior_is_the_least_squares_fit_and_measured_cells_stay(seed):
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(4, 5))
    holes = table.copy()
    holes[rng.random((4, 5)) < 0.3] = NAN
    holes[0], holes[:, 0] = table[0], table[:, 0]
    row, column = np.nonzero(~np.isnan(holes))
    design = np.zeros((len(row), 9))
    design[np.arange(len(row)), row] = design[np.arange(len(row)), 4 + column] = 1
    effect = np.linalg.lstsq(design, holes[row, column])[0]
    found = agent_vs_task(holes, missing="prior").game.payoffs[0]
    assert found == pytest.approx(np.where(np.isnan(holes), effect[:4, None] + effect[4:], holes), abs=1e-8)


def test_zero_is_the_mean_of_a_task_in_z_scores():
    holes = np.array([[1.0, NAN], [3.0, 0.0], [NAN, 2.0]])
    made = agent_vs_agent_vs_task(holes, missing="zero", normalise="z")
    assert made.game.scores == pytest.approx(np.array([[-1, 0], [1, -1], [0, 1]]))
    assert made.imputed == pytest.approx(1 / 3)


def test_what_was_filled_in_is_reported_with_nash_averages():
    assert nash_average(
        np.array([[1.0, NAN], [3.0, 0.0], [0.0, 2.0]]), options=NashAverageOptions(missing="prior")
    ).imputed == pytest.approx(1 / 6)
    assert nash_average(np.eye(2)).imputed == 0


@pytest.mark.parametrize("missing", ["drop_agents", "drop_tasks", "zero", "prior"])
def test_duplicates_are_found_with_their_gaps(missing):
    holes = np.array([[1.0, NAN, 3.0, 3.0], [1.0, NAN, 3.0, 3.0], [2.0, 5.0, 1.0, 1.0], [2.0, 4.0, 2.0, 2.0]])
    made = agent_vs_task(holes, missing=missing, agents=tuple("abcd"), tasks=tuple("wxyz"))
    assert made.agent_side.at[0] == made.agent_side.at[1]
    assert made.task_side.at[2] == made.task_side.at[3]
    assert "b" not in made.game.strategies[0]
    assert "z" not in made.game.strategies[1]
    assert made.of_agents(np.arange(float(made.game.shape[0])))[[2, 3]].tolist() == ([0, 1] if missing == "drop_agents" else [1, 2])
    assert made.dropped_agents.tolist() == ([0, 1] if missing == "drop_agents" else [])
    assert made.dropped_tasks.tolist() == ([1] if missing == "drop_tasks" else [])


def test_shares_of_duplicates_are_even_and_of_what_is_left_out_0():
    made = agent_vs_task(np.array([[1.0, 2, NAN], [1.0, 2, NAN], [2.0, 1, 0]]), missing="drop_tasks")
    assert made.agent_side.shares(np.array([0.5, 0.5])) == pytest.approx([0.25, 0.25, 0.5])
    assert made.task_side.shares(np.array([0.25, 0.75])) == pytest.approx([0.25, 0.75, 0])
    assert made.agent_side.merged == 1


@pytest.mark.parametrize(
    ("scores", "options", "argument"),
    [
        ([[NAN, NAN], [1.0, 2.0]], {"missing": "prior"}, r"scores\[0\]"),
        ([[NAN, NAN], [1.0, 2.0]], {"missing": "zero"}, r"scores\[0\]"),
        ([[NAN, 1.0], [NAN, 2.0]], {"missing": "zero"}, r"scores\[:, 0\]"),
        ([[NAN, 1.0], [2.0, NAN]], {"missing": "prior"}, "missing"),
        ([[NAN, NAN], [1.0, 2.0]], {"missing": "drop_tasks"}, "missing"),
        ([[NAN, NAN], [1.0, 2.0]], {}, r"scores\[0, 0\]"),
    ],
)
def test_empty_rows_and_tables_in_two_pieces_are_refused(scores, options, argument):
    with pytest.raises(InputError, match=argument):
        agent_vs_task(scores, **options)


def test_an_empty_row_can_be_dropped():
    assert agent_vs_task([[NAN, NAN], [1.0, 2.0]], missing="drop_agents").game.shape == (1, 2)


@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 10**6))
def test_both_matrices_are_antisymmetric_and_hold_the_scores(agents, tasks, seed):
    S = np.random.default_rng(seed).normal(size=(agents, tasks))
    skill, bipartite = skill_matrix(S), bipartite_matrix(S)
    for A in (skill, bipartite):
        assert pytest.approx(0, abs=1e-12) == A + A.T
    assert skill[:agents, agents:] == pytest.approx(S - S.mean())
    assert bipartite[:agents, agents:] == pytest.approx(S)
    assert not bipartite[:agents, :agents].any()


def test_where_averages_explain_the_scores_the_skill_matrix_is_one_of_differences():
    """Balduzzi et al. 2018, sec. 3.3: scores that are skill less difficulty leave nothing cyclic."""
    A = skill_matrix(ADDITIVE)
    rating = A.mean(axis=1)
    assert pytest.approx(np.subtract.outer(rating, rating)) == A
    cyclic = skill_matrix(np.array([[1.0, 0], [0, 1]]))
    assert np.subtract.outer(cyclic.mean(axis=1), cyclic.mean(axis=1)) != pytest.approx(cyclic)


@pytest.mark.parametrize("make", [skill_matrix, bipartite_matrix])
@pytest.mark.parametrize("scores", [[], [1.0], [[NAN]], [["a"]]])
def test_bad_tables_are_refused_by_both_matrices(make, scores):
    with pytest.raises(InputError, match="scores"):
        make(scores)
