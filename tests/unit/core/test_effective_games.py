"""Effective games of links: circuits worked by hand, an independent inverse, and laws."""

import numpy as np
import pytest

from ratings_core.analysis.connectivity import effective_games
from ratings_core.errors import InputError
from ratings_core.tallies.pair_counts import PairCounts


def met(games):
    """Counts of a symmetric matrix of games, won by the first."""
    return PairCounts.from_dense(np.triu(games, 1))


def drawn(seed, agents=7):
    rng = np.random.default_rng(seed)
    games = np.triu(rng.integers(0, 4, (agents, agents)), 1).astype(float)
    games[np.arange(agents - 1), np.arange(1, agents)] += 1  # a path through all: one component
    return games + games.T


def test_of_two_agents_each_is_half_a_link_from_their_middle():
    """Their difference varies by 1/n, half of it by a quarter of that."""
    assert effective_games(met(np.array([[0, 6.0], [6.0, 0]])), 2) == pytest.approx([24, 24])


@pytest.mark.parametrize("seed", range(6))
def test_they_are_one_over_the_variance_of_least_squares(seed):
    games = drawn(seed)
    laplacian = np.diag(games.sum(axis=1)) - games
    centre = games.sum(axis=1) / games.sum()
    inverse = np.linalg.pinv(laplacian)
    expected = [1 / ((e - centre) @ inverse @ (e - centre)) for e in np.eye(len(games))]
    assert effective_games(met(games), len(games)) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(6))
def test_more_games_anywhere_never_weaken_a_link_to_a_far_bulk(seed):
    """Rayleigh's law, with the centre held in place by one pair that outweighs all others."""
    games = drawn(seed)
    games[0, 1] = games[1, 0] = 1e9
    more = games.copy()
    more[3, 5] = more[5, 3] = more[3, 5] + 2
    before, after = (effective_games(met(one), len(games)) for one in (games, more))
    assert (after[2:] >= before[2:] * (1 - 1e-6)).all()


def test_a_chain_to_a_large_bulk_is_as_strong_as_its_series():
    games = np.zeros((5, 5))
    games[0, 1] = games[1, 0] = 1e9
    games[1, 2] = games[2, 1] = 6.0
    games[2, 3] = games[3, 2] = 3.0
    found = effective_games(met(games), 5)
    assert found[2:4] == pytest.approx([6.0, 2.0], rel=1e-6)
    assert found[4] == 0, "met nobody"


def test_renaming_agents_renames_their_links():
    games, new = drawn(3), np.random.default_rng(0).permutation(7)
    assert effective_games(met(games[np.ix_(new, new)]), 7) == pytest.approx(effective_games(met(games), 7)[new])


def test_outside_the_largest_component_there_are_none():
    games = np.zeros((5, 5))
    games[0, 1] = games[1, 0] = games[2, 3] = games[3, 2] = games[3, 4] = games[4, 3] = 2.0
    found = effective_games(met(games), 5)
    assert (found[:2] == 0).all()
    assert (found[2:] > 0).all()


def test_too_many_agents_are_refused():
    with pytest.raises(InputError, match="2000"):
        effective_games(met(np.zeros((2, 2))), 2001)
