"""Keyed random numbers: the distributions, and that keys part what they draw."""

import itertools

import numpy as np
import pytest
from scipy import stats

from ratings_core.errors import InputError
from ratings_core.online.noise import checked_seed, gumbel, keyed_word, normal_pair, uniform

N = 4000


def words(seed=0, first=5, second=6):
    return [keyed_word(np.uint64(seed), np.uint64(first), np.uint64(second), np.uint64(i)) for i in range(N)]


def test_uniform_numbers_are_uniform_and_never_at_the_ends():
    drawn = [uniform(np.uint64(word)) for word in words()]
    assert stats.kstest(drawn, "uniform").pvalue > 1e-3
    assert uniform(np.uint64(0)) == 2.0**-53
    assert uniform(np.uint64(2**64 - 1)) == 1 - 2.0**-53


def test_gumbel_numbers_are_gumbel():
    drawn = [gumbel(np.uint64(word)) for word in words(seed=1)]
    assert stats.kstest(drawn, "gumbel_r").pvalue > 1e-3
    assert np.isfinite([gumbel(np.uint64(0)), gumbel(np.uint64(2**64 - 1))]).all()


def test_normal_numbers_are_normal_and_independent():
    pairs = np.array([normal_pair(np.uint64(3), np.uint64(i), np.uint64(0)) for i in range(N)])
    assert stats.kstest(pairs.ravel(), "norm").pvalue > 1e-3
    assert abs(np.corrcoef(pairs.T)[0, 1]) < 4 / np.sqrt(N)


def test_every_part_of_the_key_counts():
    parts = [(seed, first, second) for seed, first, second in itertools.product((0, 1, 2**53), (0, 1, 2**64 - 1), (0, 1, 2**63))]
    drawn = {tuple(int(word) for word in words(*part)[:3]) for part in parts}
    assert len(drawn) == len(parts)
    assert len({word for three in drawn for word in three}) == 3 * len(parts)


def test_neighbouring_keys_do_not_resemble_each_other():
    columns = [[uniform(np.uint64(word)) for word in words(first=first)] for first in (10, 11)]
    assert abs(np.corrcoef(columns)[0, 1]) < 4 / np.sqrt(N)


@pytest.mark.parametrize("seed", [-1, 0.5, 2**53 + 1, "one", True])
def test_seeds_are_whole_numbers_that_settings_can_hold(seed):
    with pytest.raises(InputError, match="seed must be"):
        checked_seed(seed)
    assert checked_seed(3.0) == 3
