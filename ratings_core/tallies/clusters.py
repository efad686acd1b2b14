"""Games in random groups, for intervals of games with many sides. A bootstrap resamples groups, because pairs of one game are dependent.

The groups are stored as a pair tally whose tasks are the group numbers. The hash of an outcome's id decides its group, so no seed is
needed. All pairs of an outcome count in one group; so the groups add up to the pool's pair tally, and the tally holds at most one row for
each pair of each outcome. Replicates are drawn when a solve needs them (docs/decisions/0025-clustered-pools.md).
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
    """Copy of `batch` in which the task of each outcome is the number of its group, from 0 to `GROUPS` - 1."""
    return replace(batch, task=(batch.key[:, 0] >> _SHIFT).astype(np.int32))


def counts_of_groups(clusters: PairTally, buckets: Mapping[int, float] | None = None) -> tuple[PairCounts, ...]:
    """Pair counts of each group, in order of group number. A group without outcomes has empty counts.

    Args:
        clusters: Pair tally by group.
        buckets: Weight of each time bucket; by default every bucket has weight 1.
    """
    by_group = clusters.counts_by_task(buckets)
    nothing = PairCounts.from_dense(np.zeros((1, 1)))
    return tuple(by_group.get(group, nothing) for group in range(GROUPS))
