"""One record of a pool: its parts say what their own functions say."""

import numpy as np
import pytest

from ratings_core.analysis.clones import near_clones
from ratings_core.analysis.insight import insight
from ratings_core.errors import InputError
from ratings_core.tallies.pair_counts import PairCounts
from ratings_core.voting import iterated_maximal_lotteries

WINS = np.array(
    [  # rock, scissors, paper, a copy of rock, and somebody who loses to all
        [0, 80, 20, 25, 90],
        [20, 0, 80, 20, 90],
        [80, 20, 0, 80, 90],
        [25, 80, 20, 0, 90],
        [10, 10, 10, 10, 0],
    ],
    float,
)
COUNTS = PairCounts.from_dense(WINS)
MARGINS = WINS - WINS.T


def test_a_cycle_with_a_clone():
    levels = iterated_maximal_lotteries(MARGINS)
    found = insight(COUNTS, 5, two_sided=True, levels=levels)
    assert found.connectivity.connected
    assert found.unexplained == pytest.approx(0.5, abs=0.25)
    assert found.no_unexplained is None
    assert [(cycle.agents, cycle.weakest) for cycle in found.strongest] == [((0, 1, 2), 60)]
    assert [cycle and cycle.agents for cycle in found.cycles] == [(0, 1, 2), None]
    assert found.exact == ((0, 3),)
    assert found.near == near_clones(MARGINS / np.where(WINS + WINS.T > 0, WINS + WINS.T, 1), 0.05)
    assert [(pair.first, pair.second) for pair in found.near] == [(0, 3)]
    assert (found.flip.agent, found.flip.low, found.flip.high) == (0, 60, 60)


def test_what_cannot_be_said_is_none():
    chain = PairCounts.from_dense([[0, 2, 0], [0, 0, 2], [0, 0, 0]])
    found = insight(chain, 3, two_sided=False)
    assert found.unexplained is None
    assert "forest" in found.no_unexplained
    assert (found.strongest, found.cycles) == ((), None)
    assert (found.flip.low, found.flip.high) == (2, None)


def test_levels_of_another_pool_are_refused():
    with pytest.raises(InputError, match="levels must be for the same 5 agents"):
        insight(COUNTS, 5, two_sided=True, levels=iterated_maximal_lotteries(np.zeros((2, 2))))
