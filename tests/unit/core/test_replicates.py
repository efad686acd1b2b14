"""Replicates: weights from hashes, resampled tallies, intervals of ratings and ranks, and their width for games of many sides."""

import math
from functools import partial

import numpy as np
import pytest
from scipy import stats

from ratings_core.analysis.intervals import (
    cell_replicates,
    including,
    intervals_of,
    outcome_replicates,
    replicate_intervals,
    replicate_weights,
)
from ratings_core.batch.bradley_terry import BradleyTerryOptions, bradley_terry
from ratings_core.batch.comparisons import Comparisons
from ratings_core.batch.davidson import davidson
from ratings_core.batch.fenchel_young import fenchel_young
from ratings_core.batch.pair_counts import pair_counts
from ratings_core.batch.soft_condorcet import SoftCondorcetOptions, soft_condorcet
from ratings_core.errors import InputError
from ratings_core.ranking import Ranking
from ratings_core.voting.copeland import copeland

MASK = 2**64 - 1


def keys(n, seed=0):
    return np.random.default_rng(seed).integers(0, 2**64, (n, 2), dtype=np.uint64)


def games(n, m, k, seed, spread=0.5):
    """Free-for-alls of k agents by Plackett-Luce, as comparisons."""
    rng = np.random.default_rng(seed)
    skill = spread * np.linspace(1, -1, m)
    order = np.array([rng.permutation(m)[:k] for _ in range(n)])
    order = np.take_along_axis(order, np.argsort(-(skill[order] + rng.gumbel(size=order.shape)), axis=1), axis=1)
    better, worse = np.triu_indices(k, 1)
    first, second = order[:, better].ravel(), order[:, worse].ravel()
    return Comparisons(m, first, second, np.ones(len(first)), np.repeat(np.arange(n), len(better)), np.ones(n))


def ratings(counts):
    return bradley_terry(counts, options=BradleyTerryOptions(scale=1.0, centre=0.0, unconnected="components")).ratings


# weights


def twin_mix(k):
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        k = ((k ^ (k >> 33)) * factor) & MASK
    return k ^ (k >> 33)


def test_weights_are_those_of_the_twin():
    """Whole numbers of Python; the uniform number is the hash's upper 53 bits."""
    some = keys(200)
    mixed = twin_mix(twin_mix((7 + 0x9E3779B97F4A7C15) & MASK) ^ 3)
    uniform = [(twin_mix(twin_mix(int(a) ^ mixed) ^ int(b)) >> 11) / 2**53 for a, b in some]
    assert replicate_weights(some, seed=7, replicate=3).tolist() == [int(stats.poisson.ppf(u, 1.0)) if u else 0 for u in uniform]


def test_weights_are_poisson_and_replicates_are_unlike_each_other():
    some = keys(100_000)
    drawn = [replicate_weights(some, seed=seed, replicate=replicate) for seed, replicate in ((0, 0), (0, 1), (1, 0))]
    for weights in drawn:
        seen = np.bincount(weights, minlength=6)[:6]
        expected = stats.poisson.pmf(np.arange(6), 1.0) * len(some)
        assert ((seen - expected) ** 2 / expected).sum() < stats.chi2.ppf(0.9999, 6)
    for i in range(3):
        for j in range(i):
            assert abs(np.corrcoef(drawn[i], drawn[j])[0, 1]) < 0.02


def test_the_order_of_outcomes_changes_no_weight():
    some, order = keys(50), np.random.default_rng(1).permutation(50)
    assert replicate_weights(some[order], seed=1, replicate=2).tolist() == replicate_weights(some, seed=1, replicate=2)[order].tolist()


# tallies


def test_a_replicate_is_the_tally_of_its_weighted_outcomes():
    data, some = games(40, 5, 3, 0), keys(40)
    for replicate, counts in enumerate(outcome_replicates(data, some, seed=4, replicates=3)):
        wins = np.zeros((5, 5))
        weights = replicate_weights(some, seed=4, replicate=replicate)
        for a, b, outcome in zip(data.first, data.second, data.outcome, strict=True):
            wins[a, b] += weights[outcome]
        expected = pair_counts(wins)
        for name in ("first", "second", "won", "lost", "tied"):
            assert getattr(counts, name).tolist() == getattr(expected, name).tolist()


def test_replicates_have_the_mean_of_the_data_and_the_spread_of_poisson():
    counts = pair_counts([[0, 40], [10, 0]], [[0, 5], [5, 0]])
    drawn = np.array([[one.won[0], one.lost[0], one.tied[0]] for one in cell_replicates(counts, seed=0, replicates=2_000)])
    assert drawn.mean(axis=0) == pytest.approx([40, 10, 5], rel=0.05)
    assert drawn.var(axis=0) == pytest.approx([40, 10, 5], rel=0.15)


def test_for_two_sides_both_resamplings_are_alike():
    data = games(600, 5, 2, 1)
    whole = replicate_intervals(ratings, outcome_replicates(data, seed=1, replicates=300))
    cells = replicate_intervals(ratings, cell_replicates(data.counts(), seed=1, replicates=300))
    assert whole.error == pytest.approx(cells.error, rel=0.15)
    assert whole.error == pytest.approx(
        bradley_terry(data, options=BradleyTerryOptions(scale=1.0, standard_errors="clustered")).standard_error, rel=0.15
    )


def test_at_seven_sides_resampled_pairs_are_too_narrow_by_what_theory_says():
    """sqrt((k + 1)/3) = 1.63; whole outcomes give the width that repeated tournaments have."""
    m, k, n = 14, 7, 300
    spread = np.std([ratings(games(n, m, k, seed, spread=0.2).counts()) for seed in range(150)], axis=0).mean()
    data = [games(n, m, k, seed, spread=0.2) for seed in range(4)]
    whole = np.mean([replicate_intervals(ratings, outcome_replicates(one, seed=0, replicates=60)).error for one in data])
    cells = np.mean([replicate_intervals(ratings, cell_replicates(one.counts(), seed=0, replicates=60)).error for one in data])
    clustered = np.mean(
        [bradley_terry(one, options=BradleyTerryOptions(scale=1.0, standard_errors="clustered")).standard_error for one in data]
    )
    assert whole == pytest.approx(spread, rel=0.1)
    assert clustered == pytest.approx(spread, rel=0.1)
    assert spread / cells == pytest.approx(math.sqrt((k + 1) / 3), rel=0.1)


# intervals

METHODS = {
    "bradley_terry": ratings,
    "davidson": lambda counts: davidson(counts, options=BradleyTerryOptions(prior=0.1)).ratings,
    "soft_condorcet": lambda counts: soft_condorcet(counts, options=SoftCondorcetOptions(accept_approximate=True)).ratings,
    "fenchel_young": lambda counts: fenchel_young(counts).ratings,
    "copeland": lambda counts: copeland(pair_margins(counts)).ratings,
}


def pair_margins(counts):
    margins = np.zeros((counts.m, counts.m))
    margins[counts.first, counts.second] = counts.won - counts.lost
    return margins - margins.T


@pytest.mark.parametrize("method", METHODS)
def test_every_batch_method_has_intervals_that_hold_its_ratings(method):
    data = games(120, 6, 4, 3, spread=1.5)
    found = replicate_intervals(METHODS[method], outcome_replicates(data, seed=0, replicates=40), level=0.99)
    fit = METHODS[method](data.counts())
    assert (found.low <= fit + 1e-9).all()
    assert (fit - 1e-9 <= found.high).all()
    rank = Ranking.from_scores(fit).rank
    assert ((found.rank_low <= rank) & (rank <= found.rank_high)).all()
    assert (found.level, found.replicates) == (0.99, 40)
    again = replicate_intervals(METHODS[method], outcome_replicates(data, seed=0, replicates=40), level=0.99)
    assert again.low.tolist() == found.low.tolist()


def test_intervals_of_known_replicates():
    fits = iter([[3.0, 2.0, np.nan], [3.0, 4.0, np.nan], [3.0, 2.0, 1.0], [3.0, 2.0, np.nan]])
    found = replicate_intervals(lambda _: np.array(next(fits)), [pair_counts([[0]])] * 4, level=0.5)
    assert found.low.tolist() == [3.0, 2.0, 1.0]
    assert found.high.tolist() == [3.0, 3.5, 1.0]
    assert (found.rank_low.tolist(), found.rank_high.tolist()) == ([1, 1, 1], [3, 3, 3]), "an agent without a rating may have any rank"
    assert found.unrated.tolist() == [0.0, 0.0, 0.75]
    assert found.error[:2] == pytest.approx([0.0, 1.0])
    assert math.isnan(found.error[2])


@pytest.mark.parametrize("level", [0.5, 0.75, 0.85, 0.95])
def test_rating_intervals_leave_the_tail_of_the_level_on_each_side(level):
    ratings = -np.arange(1.0, 21)[:, None]
    found = intervals_of(ratings, level=level)
    assert (found.low[0], found.high[0]) == pytest.approx(np.quantile(ratings, [(1 - level) / 2, (1 + level) / 2], method="weibull"))


def test_intervals_are_extended_to_their_estimates_on_either_side():
    narrow = intervals_of(np.array([[3.0, 2, 1], [4, 3, 2]]), level=0.9)
    assert (narrow.rank_low.tolist(), narrow.rank_high.tolist()) == ([1, 2, 3], [1, 2, 3])
    found = including(narrow, np.array([0.0, 2.5, 9.0]), np.array([2, 2, 1]))
    assert (found.low[0], found.high[2]) == (0.0, 9.0)
    assert (found.rank_low.tolist(), found.rank_high.tolist()) == ([1, 2, 1], [2, 2, 3])
    assert (found.high[0], found.low[2], found.low[1]) == (narrow.high[0], narrow.low[2], narrow.low[1])


def test_an_agent_never_rated_has_no_interval():
    found = replicate_intervals(lambda _: np.array([1.0, np.nan]), [pair_counts([[0]])] * 3)
    assert np.isnan([found.low[1], found.high[1], found.error[1]]).all()
    assert (found.rank_low.tolist(), found.rank_high.tolist()) == ([1, 1], [2, 2])


def test_refusals_name_the_argument():
    data = games(10, 4, 3, 0)
    refused = [
        (lambda: outcome_replicates(data, keys(9), seed=0, replicates=2), "key"),
        (lambda: outcome_replicates(data, np.zeros((10, 2), np.uint64), seed=0, replicates=2), "key"),
        (lambda: outcome_replicates(data, keys(10), seed=-1, replicates=2), "seed"),
        (lambda: outcome_replicates(data, keys(10), seed=0, replicates=0), "replicates"),
        (lambda: cell_replicates(pair_counts([[0, 0.5], [1, 0]]), seed=0, replicates=2), "won[0]"),
        (lambda: replicate_intervals(ratings, [], level=0.9), "replicates"),
        (lambda: replicate_intervals(ratings, [], level=1.0), "level"),
        (lambda: intervals_of(np.ones((4, 0))), "ratings"),
        *[(partial(intervals_of, np.eye(3), estimate=bad), "estimate") for bad in (1.0, np.ones(2), np.ones((3, 1)), np.full(3, np.inf))],
        *[
            (partial(intervals_of, np.eye(3), ranked=bad), "ranked")
            for bad in ([True] * 3, np.ones(3, int), np.ones(4, bool), np.array(True))
        ],
    ]
    for call, named in refused:
        with pytest.raises(InputError) as caught:
            call()
        assert caught.value.argument == named


def test_an_unranked_agent_has_all_ranks_and_the_others_have_those_without_it():
    rng = np.random.default_rng(2)
    ratings, ranked = rng.normal(np.arange(5), 0.5, (40, 5)), np.array([True, True, False, True, True])
    found, without = (
        intervals_of(ratings, estimate=np.arange(5.0), ranked=ranked),
        intervals_of(ratings[:, ranked], estimate=np.arange(5.0)[ranked]),
    )
    assert (found.rank_low[2], found.rank_high[2]) == (1, 4)
    for name in ("low", "high", "rank_low", "rank_high"):
        assert getattr(found, name)[ranked].tolist() == getattr(without, name).tolist()
    every, nobody = intervals_of(ratings, ranked=np.ones(5, bool)), intervals_of(ratings, ranked=np.zeros(5, bool))
    assert every.rank_high.tolist() == intervals_of(ratings).rank_high.tolist()
    assert (nobody.rank_low.tolist(), nobody.rank_high.tolist()) == ([1] * 5, [1] * 5)


def test_intervals_of_few_replicates_hold_one_more_as_often_as_they_say():
    """Interpolation between the extremes, as numpy's default does it, holds 92 % with 64 replicates."""
    rng = np.random.default_rng(5)
    found = intervals_of(rng.normal(size=(64, 4_000)))
    more = rng.normal(size=(100, 4_000))
    assert float(((found.low <= more) & (more <= found.high)).mean()) == pytest.approx(0.954, abs=0.005)
