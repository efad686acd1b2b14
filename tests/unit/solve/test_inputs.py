"""Problems in order of names: the same results under other numbers."""

import numpy as np
import pytest

from ratings_core.tallies import PairCounts
from services.solve.inputs import MarginsInput, PairsInput, ScoresInput

NAMES = ("zed", "amy", "bob", "cyd")
ORDER = [1, 2, 3, 0]
WINS = np.array([[0.0, 3, 1, 2], [1, 0, 4, 2], [3, 0, 0, 2], [0, 1, 1, 0]])
TIES = np.array([[0.0, 1, 0, 0], [1, 0, 2, 0], [0, 2, 0, 5], [0, 0, 5, 0]])


def test_pairs_keep_who_beat_whom() -> None:
    found = PairsInput(NAMES, PairCounts.from_dense(WINS, TIES)).by_name()
    wins, ties = found.counts.dense(4)
    assert found.names == ("amy", "bob", "cyd", "zed")
    np.testing.assert_array_equal(wins, WINS[np.ix_(ORDER, ORDER)])
    np.testing.assert_array_equal(ties, TIES[np.ix_(ORDER, ORDER)])
    np.testing.assert_array_equal(found.margins, (WINS - WINS.T)[np.ix_(ORDER, ORDER)])


def test_margins_keep_who_is_ahead() -> None:
    found = MarginsInput(NAMES, WINS - WINS.T).by_name()
    assert found.names == ("amy", "bob", "cyd", "zed")
    np.testing.assert_array_equal(found.margins, (WINS - WINS.T)[np.ix_(ORDER, ORDER)])


def test_scores_keep_their_agents_and_tasks() -> None:
    scores = np.array([[1.0, np.nan], [3.0, 1.0], [2.0, 1.0]])
    problem = ScoresInput(("zed", "amy", "bob"), ("t2", "t1"), scores)
    found = problem.by_name()
    assert (found.names, found.tasks) == (("amy", "bob", "zed"), ("t1", "t2"))
    np.testing.assert_array_equal(found.scores, [[1, 3], [1, 2], [np.nan, 1]])
    np.testing.assert_array_equal(found.margins, [[0, 1, 1], [-1, 0, 1], [-1, -1, 0]])
    assert found.counts.ties.tolist() == [1, 0, 0]


@pytest.mark.parametrize("size", [0, 1])
def test_few_agents(size: int) -> None:
    none = PairCounts(*(np.zeros(0, np.int32),) * 2, *(np.zeros(0),) * 3)
    assert PairsInput(NAMES[:size], none).by_name().margins.shape == (size, size)
