"""Intervals by groups of outcomes left out: the textbook's error on means, the true width at seven sides, what is refused."""

import numpy as np
import pytest
from scipy import stats

from ratings_core.analysis.jackknife import group_deletions, jackknife_intervals, outcome_groups
from ratings_core.batch.bradley_terry import BradleyTerryOptions, bradley_terry
from ratings_core.batch.comparisons import Comparisons
from ratings_core.batch.pair_counts import pair_counts
from ratings_core.errors import InputError


def keys(n, seed=0):
    return np.random.default_rng(seed).integers(0, 2**64, (n, 2), dtype=np.uint64)


def games(n, m, k, seed):
    """Free-for-alls of k agents in random order, as comparisons."""
    rng = np.random.default_rng(seed)
    order = np.array([rng.permutation(m)[:k] for _ in range(n)])
    better, worse = np.triu_indices(k, 1)
    first, second = order[:, better].ravel(), order[:, worse].ravel()
    return Comparisons(m, first, second, np.ones(len(first)), np.repeat(np.arange(n), len(better)), np.ones(n))


def ratings(counts):
    return bradley_terry(counts, options=BradleyTerryOptions(scale=1.0, centre=0.0, unconnected="components")).ratings


def test_each_deletion_is_the_tally_of_the_other_groups():
    data, some = games(40, 5, 3, 0), keys(40)
    group = outcome_groups(some, seed=4, groups=6)
    deletions = list(group_deletions(data, some, seed=4, groups=6))
    assert len(deletions) == len(np.unique(group)) > 2
    for left_out, counts in zip(np.unique(group), deletions, strict=True):
        wins = np.zeros((5, 5))
        for a, b, outcome in zip(data.first, data.second, data.outcome, strict=True):
            wins[a, b] += group[outcome] != left_out
        expected = pair_counts(wins)
        for name in ("first", "second", "won", "lost", "tied"):
            assert getattr(counts, name).tolist() == getattr(expected, name).tolist()


def test_groups_are_even_and_follow_from_key_and_seed_alone():
    some, order = keys(64_000), np.random.default_rng(1).permutation(64_000)
    group = outcome_groups(some, seed=0, groups=64)
    assert outcome_groups(some[order], seed=0, groups=64).tolist() == group[order].tolist()
    counts = np.bincount(group, minlength=64)
    assert ((counts - 1000) ** 2 / 1000).sum() < stats.chi2.ppf(0.9999, 63)
    assert (outcome_groups(some, seed=1, groups=64) != group).mean() > 0.9


def test_for_means_the_error_is_the_textbooks():
    """Groups of one and Student's quantile: the error of a share of wins is its sample deviation over sqrt(n)."""
    won = np.array([1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0])
    rate = [pair_counts([[0, sum(left)], [len(left) - sum(left), 0]]) for left in (np.delete(won, i).tolist() for i in range(7))]
    found = jackknife_intervals(lambda c: np.array([c.won[0] / c.games[0]]), pair_counts([[0, 5], [2, 0]]), rate, level=0.9)
    assert found.error == pytest.approx([stats.sem(won)])
    low, high = stats.t.interval(0.9, 6, won.mean(), stats.sem(won))
    assert (found.low[0], found.high[0]) == pytest.approx((low, high))
    assert (found.replicates, found.level) == (7, 0.9)


def test_at_seven_sides_the_error_is_that_of_the_clustered_sandwich():
    data = games(600, 10, 7, 2)
    found = jackknife_intervals(ratings, data.counts(), group_deletions(data, seed=0))
    clustered = bradley_terry(data, options=BradleyTerryOptions(scale=1.0, standard_errors="clustered")).standard_error
    assert found.error.mean() == pytest.approx(clustered.mean(), rel=0.15)
    assert found.replicates == 64


def test_ranks_hold_whom_intervals_leave_in_doubt():
    fits = iter([[5.0, 3.0, 2.9, np.nan], [5.1, 3.1, 2.8, 1.0], [4.9, 2.9, 3.0, np.nan]])
    found = jackknife_intervals(lambda _: np.array(next(fits)), pair_counts([[0]]), [pair_counts([[0]])] * 2, level=0.5)
    assert found.rank_low.tolist() == [1, 2, 2, 1]
    assert found.rank_high.tolist() == [2, 4, 4, 4]
    assert np.isnan(found.low[3])
    assert found.unrated.tolist() == [0, 0, 0, 0.5]


def test_refusals_name_the_argument():
    data = games(10, 4, 3, 0)
    refused = [
        (lambda: group_deletions(data, keys(9), seed=0), "key"),
        (lambda: group_deletions(data, np.zeros((10, 2), np.uint64), seed=0), "key"),
        (lambda: group_deletions(data, seed=-1), "seed"),
        (lambda: group_deletions(data, seed=0, groups=1), "groups"),
        (lambda: group_deletions(games(1, 4, 3, 0), seed=0), "groups"),
        (lambda: jackknife_intervals(ratings, data.counts(), []), "deletions"),
        (lambda: jackknife_intervals(ratings, data.counts(), [], level=0.0), "level"),
    ]
    for call, named in refused:
        with pytest.raises(InputError) as caught:
            call()
        assert caught.value.argument == named
