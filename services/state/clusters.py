"""Whole games in groups at random, by their ids: what intervals of outcomes of many sides are resampled from.

A pair tally whose tasks are the groups. An outcome counts once, in the group that the hash of its id says, so the groups add up to the
pool's own tally, hold at most one row for each pair of each outcome, and need no seed; replicates are drawn from them when
they are wanted (docs/decisions/0025-clustered-pools.md).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from ratings_core.records.outcomes import OutcomeBatch
from ratings_core.tallies import PairCounts, PairTally

GROUPS: Final = 64
_SHIFT: Final = np.uint64(64 - 6)


def in_groups(batch: OutcomeBatch) -> OutcomeBatch:
    """`batch` with each outcome's group in the place of its task."""
    return replace(batch, task=(batch.key[:, 0] >> _SHIFT).astype(np.int32))


def counts_of_groups(clusters: PairTally, buckets: Mapping[int, float] | None = None) -> tuple[PairCounts, ...]:
    """Counts of all groups, those that got no outcome too. buckets: bucket to its weight; by default all count once."""
    found = clusters.counts_by_task(buckets)
    nothing = PairCounts.from_dense(np.zeros((1, 1)))
    return tuple(found.get(group, nothing) for group in range(GROUPS))
