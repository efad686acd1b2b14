"""Where methods disagree: against all ways to break ties, the law of renaming, and what is refused."""

from itertools import combinations, permutations, product

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


def test_two_methods_are_compared_by_the_agents_that_both_rate():
    """The order of the agents that both rate decides, and places are those of the full rankings."""
    nan = np.nan
    elo, fit = Ranking.from_scores([5, 4, 3, 2, 1]), Ranking.from_scores([nan, 1, 2, 3, nan])
    found = disagreement([elo, fit])
    assert found.both.tolist() == [[5, 3], [3, 3]]
    assert found.places.tolist() == [0, 1, 0, 2, 0], "agent 1 is first of three by elo, and last by fit: places 2 and 3 of the boards"
    assert [(found.high[a], found.low[a]) for a in (1, 3)] == [(0, 1), (1, 0)]
    assert (found.last[0, 1], found.first[1, 1], found.last[1, 3], found.first[0, 3]) == (2, 3, 1, 4)
    assert found.first[1].tolist() == [0, 3, 2, 1, 0]
    assert found.distance[0, 1] == 1


def test_an_order_that_differs_only_by_agents_without_a_rating_is_no_disagreement():
    nan = np.nan
    found = disagreement([Ranking.from_scores([4, 3, 2, 1]), Ranking.from_scores([nan, nan, 2, 1])])
    assert not found.places.any()
    assert found.distance[0, 1] == 0


@pytest.mark.parametrize("seed", range(12))
def test_shares_of_pairs_are_those_of_all_pairs_that_both_rate(seed):
    rng = np.random.default_rng(seed)
    scores = np.where(rng.random((3, 7)) < 0.3, np.nan, rng.integers(0, 4, (3, 7)))
    found = disagreement([Ranking.from_scores(row) for row in scores])
    for i, j in product(range(3), repeat=2):
        rated = np.flatnonzero(~np.isnan(scores[i]) & ~np.isnan(scores[j]))
        assert found.both[i, j] == len(rated)
        signs = [(np.sign(scores[i, a] - scores[i, b]), np.sign(scores[j, a] - scores[j, b])) for a, b in combinations(rated, 2)]
        if not signs:
            assert np.isnan(found.distance[i, j])
            assert np.isnan(found.tied[i, j])
            continue
        tied = sum((one == 0) != (other == 0) for one, other in signs)
        assert found.tied[i, j] == pytest.approx(tied / len(signs))
        opposite = sum(one * other < 0 for one, other in signs)
        assert found.distance[i, j] == pytest.approx((opposite + tied / 2) / len(signs))


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
