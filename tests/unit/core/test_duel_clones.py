"""Clones found by hashes are those found by comparing each row with every class."""

import numpy as np
import pytest
from numpy.typing import NDArray

from ratings_core.games.clones import clone_classes, grouped
from ratings_core.games.duel_clones import duel_classes, same_results
from ratings_core.games.duels import Duels

CASES = 2000


def drawn(draw: np.random.Generator) -> list[NDArray[np.float64]]:
    """Results of few agents with small numbers, many of them copies that did or did not meet each other."""
    tasks, originals = int(draw.integers(1, 4)), int(draw.integers(1, 5))
    wins = draw.integers(0, 3, (tasks, originals, originals)) * (draw.random((tasks, originals, originals)) < draw.random())
    ties = draw.integers(0, 3, (tasks, originals, originals)) * (draw.random((tasks, originals, originals)) < draw.random())
    of = draw.integers(0, originals, int(draw.integers(1, 9)))
    wins, ties = wins[:, of][:, :, of], ties[:, of][:, :, of]
    ahead, games = wins - np.swapaxes(wins, 1, 2), wins + np.swapaxes(wins, 1, 2) + ties + np.swapaxes(ties, 1, 2)
    copies = of[:, None] == of[None, :]
    games = np.where(copies & draw.choice([True, False]), ties * (ties == np.swapaxes(ties, 1, 2)), games)
    if draw.random() < 0.3:  # one pair of copies differs
        a, b = draw.integers(0, len(of), 2)
        games[:, a, b] = games[:, b, a] = 1
    for part in (ahead, games):
        part[:, np.arange(len(of)), np.arange(len(of))] = 0
    return [ahead.astype(float), games.astype(float)]


def test_they_are_those_of_the_twin() -> None:
    draw, merged = np.random.default_rng(1), 0
    for case in range(CASES):
        parts = drawn(draw)
        n = parts[0].shape[1]
        twin = grouped(n, lambda a, b, parts=parts: same_results(parts, a, b))
        assert duel_classes(parts).member.tolist() == twin.member.tolist(), f"case {case}"
        merged += len(twin) < n
    assert CASES // 10 < merged < CASES


def test_copies_that_met_and_tied_are_one_and_copies_that_met_and_won_are_not() -> None:
    ahead, games = np.zeros((1, 3, 3)), np.array([[[0, 2, 1], [2, 0, 1], [1, 1, 0.0]]])
    assert duel_classes([ahead, games]).member.tolist() == [0, 0, 1]
    ahead[0, 0, 1], ahead[0, 1, 0] = 1, -1
    assert duel_classes([ahead, games]).member.tolist() == [0, 1, 2]


def test_minus_zero_is_zero() -> None:
    ahead = np.array([[[0.0, 0.0, 1.0], [-0.0, 0.0, 1.0], [-1.0, -1.0, 0.0]]])
    assert duel_classes([ahead, np.abs(ahead)]).member.tolist() == [0, 0, 1]


def test_a_sparse_pool_is_compared_with_few_others(monkeypatch: pytest.MonkeyPatch) -> None:
    draw, n, compared = np.random.default_rng(2), 600, []
    ahead = np.triu(draw.choice([-1.0, 0.0, 1.0], (n, n)) * (draw.random((n, n)) < 0.005), 1)
    ahead -= ahead.T
    monkeypatch.setattr("ratings_core.games.duel_clones.same_results", lambda *pair: compared.append(pair[1:]) or same_results(*pair))
    classes = duel_classes([ahead[None], np.abs(ahead)[None]])
    assert len(compared) == n - len(classes), "each agent is compared with the leader of its class alone"


@pytest.mark.parametrize("seed", range(20))
def test_near_classes_are_those_of_the_twin(seed: int) -> None:
    draw = np.random.default_rng(seed)
    rows = draw.integers(0, 4, (40, 3)) * 0.1 + draw.normal(0, 0.02, (40, 3))
    rows[draw.random(rows.shape) < 0.1] = np.nan
    absent = np.isnan(rows)

    def near(a: int, b: int) -> bool:
        return bool((absent[a] == absent[b]).all() and not (np.abs(rows[a] - rows[b]) > 0.05).any())

    assert clone_classes(rows, within=0.05).member.tolist() == grouped(len(rows), near).member.tolist()


def test_two_thousand_sparse_agents_have_classes() -> None:
    draw, n = np.random.default_rng(3), 2000
    wins = np.zeros((1, n, n))
    a, b = draw.integers(0, n, (2, 20_000))
    np.add.at(wins, (0, a[a != b], b[a != b]), 1.0)
    duels = Duels(wins - np.swapaxes(wins, 1, 2), wins + np.swapaxes(wins, 1, 2), "wins")
    classes = duel_classes([duels.ahead, duels.games])
    assert len(classes) > n // 2
