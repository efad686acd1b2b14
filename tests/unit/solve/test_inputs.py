"""Problems in order of names: the same results under other numbers."""

import numpy as np
import pytest

from ratings_core.problems.inputs import GamesInput, MarginsInput, PairsInput, ScoresInput
from ratings_core.tallies import PairCounts, PlaceCounts

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


def test_games_keep_places_and_the_pairs_of_each_task() -> None:
    columns = ([0, 0, 1, 3], [4, 4, 2, 4], [0, 2, 1, 0], [1, 2, 1, 1])
    places = PlaceCounts(*(np.array(column, np.int32) for column in columns), np.array([1.0, 2.0, 3.0, 4.0]))
    on_tasks = (PairCounts.from_dense(WINS, TIES), PairCounts.from_dense(WINS.T))
    found = GamesInput(NAMES, PairCounts.from_dense(WINS, TIES), places, ("t2", "t1"), on_tasks).by_name()
    assert (found.names, found.tasks) == (("amy", "bob", "cyd", "zed"), ("t1", "t2"))
    assert [column.tolist() for column in (found.places.agent, found.places.sides, found.places.ahead, found.places.tied)] == [
        [0, 2, 3, 3], [2, 4, 4, 4], [1, 0, 0, 2], [1, 1, 1, 2]
    ]  # fmt: skip
    assert found.places.weight.tolist() == [3, 4, 1, 2]
    for counts, wins in zip((found.counts, *found.by_task), (WINS, WINS.T, WINS), strict=True):
        np.testing.assert_array_equal(counts.dense(4)[0], wins[np.ix_(ORDER, ORDER)])


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
