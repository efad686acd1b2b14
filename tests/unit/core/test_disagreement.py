"""Where methods disagree: against all ways to break ties, the law of renaming, and what is refused."""

from itertools import permutations, product

import numpy as np
import pytest

from ratings_core.analysis.disagreement import disagreement
from ratings_core.errors import InputError
from ratings_core.ranking import Ranking, normalised_kendall_tau


def orders(ranking):
    """Every strict order that breaking the ranking's ties gives, as the place of each agent."""
    for choice in product(*(permutations(level) for level in ranking.levels)):
        order = [agent for level in choice for agent in level]
        yield [order.index(agent) + 1 for agent in range(len(order))]


@pytest.mark.parametrize("seed", range(12))
def test_places_differ_by_the_least_that_breaking_ties_allows(seed):
    rng = np.random.default_rng(seed)
    rankings = [Ranking.from_scores(rng.integers(0, 3, 5)) for _ in range(3)]
    found = disagreement(rankings)
    possible = [[{order[agent] for order in orders(ranking)} for agent in range(5)] for ranking in rankings]
    for agent in range(5):
        pairs = [(one[agent], other[agent]) for one in possible for other in possible]
        assert found.places[agent] == max(min(abs(a - b) for a in ours for b in theirs) for ours, theirs in pairs)
        gap = min(possible[found.low[agent]][agent]) - max(possible[found.high[agent]][agent])
        assert max(gap, 0) == found.places[agent]
    assert found.distance[0, 1] == normalised_kendall_tau(rankings[0], rankings[1]) == found.distance[1, 0]


def test_renaming_agents_renames_their_places():
    rng = np.random.default_rng(1)
    scores, new = rng.integers(0, 6, (3, 9)), rng.permutation(9)
    found = disagreement([Ranking.from_scores(row) for row in scores])
    again = disagreement([Ranking.from_scores(row[new]) for row in scores])
    assert np.array_equal(again.places, found.places[new])
    assert np.array_equal(again.distance, found.distance)


def test_equal_rankings_do_not_disagree():
    one = Ranking.from_scores([3.0, 1.0, 1.0])
    assert not disagreement([one, one]).places.any()


@pytest.mark.parametrize("rankings", [[Ranking.from_scores([1, 2])], [Ranking.from_scores([1, 2]), Ranking.from_scores([1, 2, 3])],
                                      [Ranking.from_levels([[0], [2]])] * 2])  # fmt: skip
def test_other_than_rankings_of_the_same_agents_are_refused(rankings):
    with pytest.raises(InputError, match="rankings"):
        disagreement(rankings)
