"""Which results moved a rating: effects sum to the change exactly, new agents, and what has no effects."""

import numpy as np
import pytest

from ratings_core.analysis.rating_change import _slope
from ratings_core.batch.logistic import variance
from ratings_core.errors import InputError
from ratings_core.methods import registry
from ratings_core.methods.explained import Solve, UnknownAgent
from ratings_core.methods.explained_changes import rating_change
from ratings_core.problems.inputs import PairsInput, ScoresInput
from ratings_core.tallies import PairCounts

NAMES = tuple("abcdefgh")


def solved(method: str, problem: object, **parameters: object) -> Solve:
    taken = registry.taken(method, problem, parameters)  # type: ignore[arg-type]
    return Solve(taken, taken.rated())


def results(seed: int, m: int, games: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    strength = rng.normal(0, 1, m)
    wins = np.zeros((m, m))
    for _ in range(games):
        a, b = rng.permutation(m)[:2]
        wins[(a, b) if rng.random() < 1 / (1 + np.exp(strength[b] - strength[a])) else (b, a)] += 1
    return wins


def fitted(wins: np.ndarray, ties: np.ndarray | None = None, **parameters: object) -> Solve:
    return solved("bradley_terry", PairsInput(NAMES[: len(wins)], PairCounts.from_dense(wins, ties)), **parameters)


@pytest.mark.parametrize("prior", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_effects_of_pairs_sum_to_the_change_of_the_rating(seed, prior):
    before = results(seed, 6, 120)
    after = before + results(seed + 100, 6, 40)
    old, new = fitted(before, prior=prior), fitted(after, prior=prior)
    for agent in NAMES[:6]:
        change = rating_change(old, new, agent)
        assert change.no_moves is None
        total = sum(move.effect for move in change.moves) + change.joined
        assert total == pytest.approx(change.after.rating - change.before.rating, abs=1e-6)
        assert [abs(move.effect) for move in change.moves] == sorted((abs(move.effect) for move in change.moves), reverse=True)
        for move in change.moves:
            a, b = NAMES.index(move.agent), NAMES.index(move.opponent)
            assert (move.wins, move.losses) == ((after - before)[a, b], (after - before)[b, a])
            assert agent not in (move.agent, move.opponent) or move.agent == agent


def test_a_single_pair_makes_the_whole_change_and_its_sign():
    before = results(1, 5, 100)
    after = before.copy()
    after[0, 1] += 3
    change = rating_change(fitted(before, prior=1.0), fitted(after, prior=1.0), "a")
    (move,) = change.moves
    assert (move.agent, move.opponent, move.wins, move.losses, move.ties) == ("a", "b", 3, 0, 0)
    assert move.effect > 0
    (other,) = rating_change(fitted(before, prior=1.0), fitted(after, prior=1.0), "b").moves
    assert other.effect < 0
    assert (other.agent, other.losses) == ("b", 3)


@pytest.mark.parametrize("prior", [0.0, 2.0])
def test_agents_who_join_move_the_mean_and_the_sum_stays_exact(prior):
    before = results(2, 6, 100)
    after = np.zeros((8, 8))
    after[:6, :6] = before + results(3, 6, 20)
    after[6, 0], after[0, 6], after[7, 6], after[6, 7], after[7, 2], after[2, 7] = 3, 1, 2, 4, 1, 5
    for agent in ("a", "c", "f"):
        change = rating_change(fitted(before, prior=prior), fitted(after, prior=prior), agent)
        total = sum(move.effect for move in change.moves) + change.joined
        assert total == pytest.approx(change.after.rating - change.before.rating, abs=1e-6)
        assert (change.joined == 0) is bool(prior)


def test_large_pools_are_solved_without_a_dense_matrix_alike(monkeypatch):
    before = results(5, 8, 200)
    after = before + results(6, 8, 60)
    old, new = fitted(before), fitted(after)
    dense = rating_change(old, new, "d")
    monkeypatch.setattr("ratings_core.analysis.rating_change.DENSE_UP_TO", 2)
    sparse = rating_change(old, new, "d")
    assert {(m.agent, m.opponent): m.effect for m in sparse.moves} == pytest.approx(
        {(m.agent, m.opponent): m.effect for m in dense.moves}, abs=1e-6
    )


def test_terms_change_by_the_difference_of_their_sums():
    scores = np.array([[3.0, 1, 2, 0], [1, 3, 0, 1], [2, 2, 3, 0]])
    tasks = ("t1", "t2", "t3", "t4")
    old, new = (solved("nash_average", ScoresInput(NAMES[:3], tasks, table)) for table in (scores, scores + np.eye(3, 4)))
    change = rating_change(old, new, "a")
    assert change.no_moves is not None
    assert "bradley_terry" in change.no_moves
    (terms,) = change.terms
    assert terms.moved.sum() + terms.rest == pytest.approx(terms.total_after - terms.total_before, abs=1e-7)


def test_what_cannot_be_compared_says_why():
    before = results(1, 4, 60)
    old, new = fitted(before), fitted(before + results(2, 4, 10))
    assert rating_change(old, fitted(before, prior=1.0), "a").no_moves == "the solves have different parameters"
    newcomer = np.zeros((5, 5))
    newcomer[:4, :4], newcomer[4, 0] = before, 1
    joined = rating_change(old, fitted(newcomer), "e")
    assert (joined.before, joined.terms, joined.moves) == (None, (), ())
    assert joined.no_moves == "both solves must rate the agent"
    parted = before.copy()
    parted[0] = 0.0
    left = rating_change(old, fitted(parted), "b")
    assert left.moves == ()
    assert "not rated with this agent" in str(left.no_moves)
    with pytest.raises(UnknownAgent):
        rating_change(old, new, "zoe")
    with pytest.raises(InputError, match="must be a solve by"):
        rating_change(old, solved("copeland", PairsInput(NAMES[:4], PairCounts.from_dense(before))), "a")


def test_results_from_before_an_agent_was_rated_are_not_reported_as_new():
    """d won all its games, so no chain of wins leads to it; its first loss lets its earlier wins count."""
    before = np.zeros((5, 5))
    before[:3, :3] = [[0, 3, 2], [1, 0, 2], [2, 1, 0]]
    before[3, 0], before[3, 4], before[4, 3] = 4, 1, 2
    after = before.copy()
    after[1, 3] += 1
    change = rating_change(fitted(before), fitted(after), "a")
    new = {(move.agent, move.opponent): (move.wins, move.losses, move.ties) for move in change.moves}
    assert {pair: results for pair, results in new.items() if any(results)} == {("b", "d"): (1.0, 0.0, 0.0)}
    (old,) = (move for move in change.moves if (move.agent, move.opponent) == ("a", "d"))
    assert (old.wins, old.losses, old.ties) == (0, 0, 0)
    assert abs(old.effect) > 1
    total = sum(move.effect for move in change.moves) + change.joined
    assert total == pytest.approx(change.after.rating - change.before.rating, abs=1e-6)


def test_effects_that_do_not_sum_to_the_change_are_not_reported(monkeypatch):
    before = results(5, 8, 200)
    after = before + results(6, 8, 60)
    old, new = fitted(before), fitted(after)
    monkeypatch.setattr("ratings_core.analysis.rating_change.DENSE_UP_TO", 2)
    monkeypatch.setattr("ratings_core.analysis.rating_change._ACCURACY", 0.5)
    change = rating_change(old, new, "d")
    assert (change.moves, change.joined) == ((), 0.0)
    assert "do not sum to the change" in str(change.no_moves)


def test_a_change_between_fits_that_are_too_rough_for_their_weights_is_not_divided():
    before = np.array([[0, 1e12, 0], [1e-2, 0, 1e12], [0, 1e-2, 0]])
    after = before.copy()
    after[0, 1] *= 3
    change = rating_change(fitted(before), fitted(after), "a")
    assert (change.moves, "do not sum" in str(change.no_moves)) == ((), True)


def test_slopes_between_close_large_gaps_have_all_digits():
    """Expected scores of 1 - 2e-9 leave few digits to their difference."""
    low, high = np.array([20.0, -20.0, 3.0, 700.0]), np.array([20.0 + 2e-6, -20.0 + 2e-6, 3.0, 701.0])
    assert _slope(low, high) == pytest.approx(_slope(high, low), rel=1e-12)
    assert _slope(low, high)[:3] == pytest.approx(variance((low + high) / 2)[:3], rel=1e-9)
    assert _slope(low, high)[3] > 0
