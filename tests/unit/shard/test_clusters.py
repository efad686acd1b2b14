"""Pools that are folded `clustered`: whole games in groups at random that add up to the pool's pairs, and nothing else changes."""

from typing import Any

import numpy as np
import pytest

from ratings_core.arrays.digest import digest
from ratings_core.errors import InputError
from ratings_core.tallies import PairTally
from ratings_core.tallies.clusters import GROUPS, counts_of_groups
from services.control import generations
from services.control.records import FoldSettings
from services.demo import simulated
from services.state.parts import part
from services.state.pool import PoolState
from services.wire.pools import Kind
from tests.support.folds import fold_events
from tests.support.pools import state_of


def folded(cuts: list[int], **fold: Any) -> PoolState:
    state = state_of(simulated.POOL, fold=FoldSettings(**fold))
    for low, high in zip([0, *cuts[:-1]], cuts, strict=True):
        assert fold_events(state, [simulated.game(i, float(i)) for i in range(low, high)]) == []
    return state


def test_groups_add_up_to_the_pairs_whatever_the_batches() -> None:
    at_once, cut = folded([400], clustered=True), folded([7, 90, 400], clustered=True)
    assert digest(at_once.arrays()) == digest(cut.arrays())
    groups = counts_of_groups(PairTally.from_arrays(part(at_once.arrays(), "clusters")))
    assert len(groups) == GROUPS
    assert sum(len(group) > 0 for group in groups) > GROUPS // 2
    total = at_once.content.tallies.pairs.counts().dense(len(at_once.content.agents))
    parts = [group.dense(len(at_once.content.agents)) for group in groups]
    np.testing.assert_array_equal(np.sum([wins for wins, _ in parts], axis=0), total[0])
    np.testing.assert_array_equal(np.sum([ties for _, ties in parts], axis=0), total[1])


def test_the_rest_of_the_content_is_that_of_a_plain_pool_and_it_is_restored_whole() -> None:
    state, plain = folded([100], clustered=True), folded([100])
    arrays = state.arrays()
    rest = {name: array for name, array in arrays.items() if not name.startswith("clusters.")}
    assert digest(rest) == digest(plain.arrays())
    again = PoolState.restore(state.created, state.generation, arrays, 100)
    for one in (state, again):
        assert fold_events(one, [simulated.game(i, float(i)) for i in range(100, 150)]) == []
    assert digest(again.arrays()) == digest(state.arrays())


def test_old_buckets_are_dropped_from_groups_too() -> None:
    state = folded([400], clustered=True, bucket_seconds=100, buckets_kept=2)
    assert state.content.tallies.clusters is not None
    assert state.content.tallies.clusters.buckets == state.content.tallies.pairs.buckets == [2, 3]


def test_scores_have_no_groups_of_games() -> None:
    with pytest.raises(InputError, match="clustered must be false for scores"):
        generations.check(Kind.SCORES, FoldSettings(clustered=True), {}, {}, ())
