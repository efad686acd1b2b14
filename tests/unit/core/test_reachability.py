"""Closures kept as bits against a matrix of truth values, across the borders of machine words, and ranked pairs on them."""

import numpy as np
import pytest

from ratings_core.voting.ranked_pairs import _unopposed, ranked_pairs
from ratings_core.voting.reachability import Reachability, join, reaches

SIZES = (1, 2, 63, 64, 65, 130)


def with_arc(reach: np.ndarray, a: int, b: int) -> np.ndarray:
    """The closure of `reach` and an arc a -> b."""
    sources, targets = reach[:, a].copy(), reach[b].copy()
    sources[a] = targets[b] = True
    return reach | np.outer(sources, targets)


@pytest.mark.parametrize("acyclic", [False, True])
@pytest.mark.parametrize("m", SIZES)
def test_arcs_give_the_closure_of_a_matrix(m: int, acyclic: bool) -> None:
    rng = np.random.default_rng(m)
    found, expected = Reachability.none(m), np.zeros((m, m), bool)
    for a, b in rng.integers(0, m, (2 * m, 2)).tolist():
        if a == b or (acyclic and expected[b, a]):
            continue
        join(found.ahead, found.behind, a, b)
        expected = with_arc(expected, a, b)
        np.testing.assert_array_equal(found.mask(), expected)
        np.testing.assert_array_equal(Reachability(found.behind, found.ahead).mask(), expected.T)
        assert reaches(found.ahead, a, b)


def test_a_copy_is_independent() -> None:
    first = Reachability.none(3)
    second = first.copy()
    join(second.ahead, second.behind, 0, 1)
    assert not first.mask().any()
    assert second.mask().sum() == 1


@pytest.mark.parametrize("order", [0.0, 0.3, 3.0])
@pytest.mark.parametrize("m", [64, 65, 90])
def test_victories_are_locked_as_by_a_matrix(m: int, order: float) -> None:
    """Distinct margins, from one without any order to one that is nearly transitive."""
    rng = np.random.default_rng(m)
    upper = np.triu(rng.normal(size=(m, m)) + -order * np.subtract.outer(np.arange(m), np.arange(m)) / m, 1)
    M = upper - upper.T
    reach, locked = np.zeros((m, m), bool), np.zeros((m, m), bool)
    winners, losers = np.nonzero(M > 0)
    for i in np.argsort(-M[winners, losers]).tolist():
        a, b = int(winners[i]), int(losers[i])
        if not reach[b, a]:
            locked[a, b] = True
            reach = with_arc(reach, a, b)
    found = ranked_pairs(M)
    np.testing.assert_array_equal(found.locked, locked)
    won = np.where(locked, M, 0.0).sum(axis=1)
    np.testing.assert_array_equal(found.ratings, won + reach @ won)
    assert found.certificate.value == 0.0
    assert found.universes == 1


def test_a_victory_left_out_without_a_chain_is_in_the_certificate() -> None:
    M = np.array([[0.0, 3, -2], [-3, 0, 1], [2, -1, 0]])  # 0 -> 1 by 3, 2 -> 0 by 2, 1 -> 2 by 1
    locked = np.array([[0, 1, 0], [0, 0, 0], [1, 0, 0]], bool)
    assert _unopposed(M, locked) == 0.0
    assert _unopposed(M, np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], bool)) == 1.0  # its chain against 2 -> 0 is as wide as 1
    assert _unopposed(M, np.zeros((3, 3), bool)) == 3.0
