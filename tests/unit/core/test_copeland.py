"""Copeland's scores against the definition counted pair by pair, sparse against dense, and the rule's known properties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from ratings_core.errors import InputError, SolverError
from ratings_core.solution import Status
from ratings_core.voting import copeland as rules
from ratings_core.voting.copeland import CondorcetWinners, condorcet_winners, copeland


@st.composite
def margin_matrices(draw, largest=8):
    m = draw(st.integers(1, largest))
    upper = np.triu(np.array(draw(st.lists(st.integers(-3, 3), min_size=m * m, max_size=m * m))).reshape(m, m), 1)
    return upper - upper.T


def by_definition(margins, tolerance=0.0):
    m = len(margins)
    return [
        sum(1.0 if margins[a, b] > tolerance else 0.5 if abs(margins[a, b]) <= tolerance else 0.0 for b in range(m) if b != a)
        for a in range(m)
    ]


def test_counts_that_differ_are_an_error_not_an_answer(monkeypatch):
    counted = rules._above
    monkeypatch.setattr(rules, "_above", lambda matrix, tolerance, axis=1: counted(matrix, tolerance, axis) * (2 - axis))
    with pytest.raises(SolverError, match="differ by"):
        copeland([[0, 1, 0], [-1, 0, 2], [0, -2, 0]])


@given(margin_matrices(), st.integers(0, 2))
def test_is_its_definition(margins, tolerance):
    solved = copeland(margins, tie_tolerance=tolerance)
    assert solved.ratings.tolist() == by_definition(margins, tolerance)
    assert (solved.beaten + solved.lost + solved.tied == len(margins) - 1).all()
    assert solved.ratings.sum() == len(margins) * (len(margins) - 1) / 2
    assert (solved.certificate.kind, solved.certificate.value, solved.status) == ("exact", 0.0, Status.OPTIMAL)


@given(margin_matrices(), st.integers(0, 2), st.sampled_from([sparse.csr_array, sparse.coo_array, sparse.csc_matrix]))
def test_sparse_margins_give_the_same(margins, tolerance, kind):
    dense, thin = copeland(margins, tie_tolerance=tolerance), copeland(kind(margins), tie_tolerance=tolerance)
    assert thin.ratings.tolist() == dense.ratings.tolist()
    assert thin.ranking == dense.ranking
    assert thin.certificate.value == 0.0
    assert condorcet_winners(kind(margins), tie_tolerance=tolerance) == condorcet_winners(margins, tie_tolerance=tolerance)


@given(margin_matrices())
def test_a_strong_condorcet_winner_is_alone_on_top(margins):
    winners = condorcet_winners(margins)
    ranking = copeland(margins).ranking
    if winners.strong is not None:
        assert ranking.levels[0] == (winners.strong,) == winners.weak
    assert winners.weak == tuple(a for a in range(len(margins)) if (margins[a] >= 0).all())


@given(margin_matrices(), st.randoms(use_true_random=False))
def test_renaming_agents_renames_the_scores(margins, random):
    order = list(range(len(margins)))
    random.shuffle(order)
    assert copeland(margins[np.ix_(order, order)]).ratings.tolist() == copeland(margins).ratings[order].tolist()


@given(margin_matrices(), st.integers(0, 7), st.integers(0, 7))
def test_more_votes_never_lower_a_score(margins, a, b):
    a, b = a % len(margins), b % len(margins)
    raised = margins.copy()
    if a != b:
        raised[a, b] += 1
        raised[b, a] -= 1
    assert copeland(raised).ratings[a] >= copeland(margins).ratings[a]


def test_a_clone_can_change_the_winner():
    """The rule is not clone-proof (VasE, table 1): in a cycle, copies of the beaten one lift the one that beats it."""
    cycle = np.array([[0, 1, -1], [-1, 0, 1], [1, -1, 0]])
    cloned = np.array([[0, 1, 1, -1], [-1, 0, 0, 1], [-1, 0, 0, 1], [1, -1, -1, 0]])
    assert copeland(cycle).ranking.levels == ((0, 1, 2),)
    assert copeland(cloned).ranking.levels[0] == (0,)


def test_agents_that_never_met_tie():
    margins = sparse.csr_array(([2, -2], ([0, 3], [3, 0])), shape=(5, 5))
    assert copeland(margins).ratings.tolist() == [2.5, 2.0, 2.0, 1.5, 2.0]
    assert condorcet_winners(margins) == CondorcetWinners(None, (0, 1, 2, 4))


def test_fifty_thousand_agents_stay_sparse():
    rng = np.random.default_rng(1)
    m, met = 52_958, 200_000
    first, second = rng.integers(0, m, (2, met))
    upper = sparse.coo_array((rng.integers(-3, 4, met), (np.minimum(first, second), np.maximum(first, second))), shape=(m, m)).tocsr()
    upper.setdiag(0)
    solved = copeland(upper - upper.T)
    assert solved.ratings.sum() == m * (m - 1) / 2
    assert solved.certificate.value == 0.0


def test_one_agent_wins_by_default():
    assert copeland([[0]]).ratings.tolist() == [0.0]
    assert condorcet_winners([[0]]) == CondorcetWinners(0, (0,))


@pytest.mark.parametrize(
    ("margins", "tolerance", "argument"),
    [
        (np.zeros((2, 3)), 0.0, "margins"),
        ([[0, 1], [1, 0]], 0.0, "margins[0, 1]"),
        ([[1, 0], [0, 0]], 0.0, "margins[0, 0]"),
        ([[0, np.nan], [np.nan, 0]], 0.0, "margins[0, 1]"),
        ([[0, 1], [-1, 0]], -1.0, "tie_tolerance"),
        ([[0, 1], [-1, 0]], np.inf, "tie_tolerance"),
    ],
)
def test_refusals(margins, tolerance, argument):
    for given_margins in (margins, sparse.csr_array(np.array(margins))):
        with pytest.raises(InputError) as caught:
            copeland(given_margins, tie_tolerance=tolerance)
        assert caught.value.argument.replace("margins + transpose", "margins") == argument
