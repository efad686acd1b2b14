"""Majorities beyond chance: a twin by SciPy's binomial test, the error over all pairs, and what is refused."""

import numpy as np
import pytest
from scipy.stats import binomtest

from ratings_core.analysis.cycles import strongest_cycle
from ratings_core.analysis.insight import insight
from ratings_core.analysis.majority_tests import proven_majorities
from ratings_core.errors import InputError
from ratings_core.tallies import PairCounts


def twin(counts, error):
    """Bonferroni's bound over the pairs that could pass (Tarone 1990), with tests by SciPy."""
    decided = [int(won + lost) for won, lost in zip(counts.wins, counts.losses, strict=True)]
    able = [2.0 ** (1 - n) for n in decided]
    tests = next(k for k in range(1, len(able) + 1) if sum(least <= error / k for least in able) <= k)
    return [
        n > 0 and won != lost and binomtest(int(won), n).pvalue <= error / tests
        for won, lost, n in zip(counts.wins, counts.losses, decided, strict=True)
    ]


def drawn(rng, agents, games, strength):
    """Results of `games` games a pair on average, with the probabilities of strengths in logits."""
    chance = 1 / (1 + np.exp(strength[None, :] - strength[:, None]))
    played = rng.poisson(games, (agents, agents))
    wins = np.triu(rng.binomial(played, chance), 1)
    return PairCounts.from_dense(wins + (np.triu(played, 1) - wins).T.astype(float))


@pytest.mark.parametrize("seed", range(20))
def test_it_is_the_binomial_test_at_a_shared_error(seed):
    rng = np.random.default_rng(seed)
    counts = drawn(rng, 7, (1, 5, 40)[seed % 3], rng.normal(0, 1.5, 7))
    assert proven_majorities(counts).tolist() == twin(counts, 0.05)


def test_pairs_that_cannot_pass_cost_nothing():
    wins = np.zeros((40, 40))
    wins[np.triu_indices(40, 1)] = 1.0  # one game of each pair
    wins[0, 1] = 6.0
    proven = proven_majorities(PairCounts.from_dense(wins))
    assert proven[0]
    assert proven.sum() == 1


def test_chance_proves_a_wrong_majority_in_at_most_a_twentieth_of_pools():
    rng, agents, pools = np.random.default_rng(3), 8, 400
    wrong = sum(bool(proven_majorities(drawn(rng, agents, 12, np.zeros(agents))).any()) for _ in range(pools))
    assert wrong / pools <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / pools)


def test_cycles_of_equal_agents_are_observed_and_those_of_rock_scissors_paper_are_proven():
    counts = drawn(np.random.default_rng(5), 8, 12, np.zeros(8))
    assert strongest_cycle(counts.sparse(8)[0] - counts.sparse(8)[0].T) is not None
    found = insight(counts, 8, two_sided=True)
    assert (found.proven, len(found.strongest) > 0) == (0, True)
    planted = np.array([[0, 40, 10], [10, 0, 40], [40, 10, 0]], float)
    apart = np.zeros((11, 11))
    apart[:8, :8], apart[8:, 8:] = counts.sparse(8)[0].toarray(), planted
    found = insight(PairCounts.from_dense(apart), 11, two_sided=True)
    assert (found.proven, found.strongest[0].agents) == (1, (8, 9, 10)), "proven cycles come first"
    assert insight(PairCounts.from_dense(planted), 3, two_sided=True, unit_weights=False).proven is None


def test_other_than_whole_outcomes_are_refused():
    with pytest.raises(InputError, match=r"counts.wins\[0\]"):
        proven_majorities(PairCounts.from_dense(np.array([[0, 2.5], [0, 0]])))
    with pytest.raises(InputError, match="error"):
        proven_majorities(PairCounts.from_dense(np.array([[0, 2.0], [0, 0]])), error=0.9)
    assert proven_majorities(PairCounts.from_dense(np.zeros((2, 2)))).tolist() == []
