"""Whatever is wrong with a matrix of votes or margins, every method says which argument, value and rule, and leaves it as it was."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratings_core.analysis.clones import exact_clones, near_clones
from ratings_core.analysis.cycles import strongest_cycle, strongest_cycles
from ratings_core.analysis.flips import flip_top_of_margins
from ratings_core.analysis.hodge import hodge
from ratings_core.analysis.schur import schur
from ratings_core.batch.bradley_terry import BradleyTerryOptions, bradley_terry
from ratings_core.batch.davidson import davidson
from ratings_core.batch.fenchel_young import fenchel_young
from ratings_core.batch.sigmoidal_program import sigmoidal_program
from ratings_core.batch.soft_condorcet import soft_condorcet
from ratings_core.errors import InputError
from ratings_core.voting import iterated_maximal_lotteries, maximal_lottery
from ratings_core.voting.condorcet import essential_set, schwartz_set, smith_set
from ratings_core.voting.copeland import condorcet_winners, copeland
from ratings_core.voting.kemeny import kemeny
from ratings_core.voting.profile import mcgarvey
from ratings_core.voting.ranked_pairs import ranked_pairs
from ratings_core.voting.schulze import schulze

OF_VOTES = {
    "bradley_terry": lambda wins: bradley_terry(wins, options=BradleyTerryOptions(prior=1.0)),
    "davidson": lambda wins: davidson(wins, options=BradleyTerryOptions(prior=1.0)),
    "soft_condorcet": soft_condorcet,
    "fenchel_young": fenchel_young,
    "sigmoidal_program": lambda wins: sigmoidal_program(wins, accept_approximate=True, max_nodes=1),
    "kemeny": kemeny,
    "schulze": schulze,
}
OF_MARGINS = {
    "copeland": copeland,
    "condorcet_winners": condorcet_winners,
    "smith_set": smith_set,
    "schwartz_set": schwartz_set,
    "essential_set": essential_set,
    "ranked_pairs": ranked_pairs,
    "maximal_lottery": maximal_lottery,
    "iterated_maximal_lotteries": iterated_maximal_lotteries,
    "mcgarvey": mcgarvey,
    "exact_clones": exact_clones,
    "near_clones": lambda margins: near_clones(margins, 0.5),
    "strongest_cycle": strongest_cycle,
    "strongest_cycles": lambda margins: strongest_cycles(margins, 2),
    "flip_top": lambda margins: flip_top_of_margins(margins, two_sided=True),
    "hodge": hodge,
    "schur": schur,
}


@st.composite
def votes(draw):
    """Votes (m, m) of 2 to 4 agents, at least one for either side of each pair."""
    m = draw(st.integers(2, 4))
    cells = draw(st.lists(st.integers(1, 5), min_size=m * m, max_size=m * m))
    return np.array(cells, np.float64).reshape(m, m) * (1 - np.eye(m))


@st.composite
def entries(draw, values):
    """(row, column, value) of something in a matrix that must not be there, wherever that is."""
    return draw(st.integers(0, 3)), draw(st.integers(0, 3)), draw(st.sampled_from(values))


def broken(matrix, row, column, value):
    found = matrix.copy()
    row, column = row % len(found), column % len(found)
    found[row, (column + 1) % len(found) if row == column else column] = value
    return found


def refused(method, matrix):
    before = np.array(matrix, copy=True)
    with pytest.raises(InputError) as caught:
        method(matrix)
    assert caught.value.argument
    assert caught.value.rule
    assert str(caught.value).startswith(caught.value.argument)
    np.testing.assert_array_equal(matrix, before)


@pytest.mark.parametrize("name", OF_VOTES)
@given(wins=votes(), entry=entries([np.nan, np.inf, -np.inf, -1.0, -1e-300]))
@settings(max_examples=10, deadline=None)
def test_a_vote_that_is_none(name, wins, entry):
    refused(OF_VOTES[name], broken(wins, *entry))


@pytest.mark.parametrize("name", OF_MARGINS)
@given(wins=votes(), entry=entries([np.nan, np.inf, -np.inf, 7.0]))
@settings(max_examples=10, deadline=None)
def test_a_margin_that_is_none_or_that_its_other_half_contradicts(name, wins, entry):
    refused(OF_MARGINS[name], broken(wins - wins.T, *entry))


@pytest.mark.parametrize("name", [*OF_VOTES, *OF_MARGINS])
@pytest.mark.parametrize(
    "matrix",
    [np.zeros((0, 0)), np.zeros((2, 3)), np.zeros(4), np.zeros((2, 2, 2)), np.eye(3), np.array([["a", "b"], ["c", "d"]])],
    ids=["nobody", "oblong", "a list", "too deep", "against oneself", "text"],
)
def test_what_is_no_matrix_of_pairs(name, matrix):
    refused({**OF_VOTES, **OF_MARGINS}[name], matrix)


@pytest.mark.parametrize("name", [*OF_VOTES, *OF_MARGINS])
@given(wins=votes())
@settings(max_examples=3, deadline=None)
def test_what_is_one_is_taken_and_left_alone(name, wins):
    given_matrix = wins if name in OF_VOTES else wins - wins.T
    before = given_matrix.copy()
    {**OF_VOTES, **OF_MARGINS}[name](given_matrix)
    np.testing.assert_array_equal(given_matrix, before)
