"""Decayed tallies, and a half-life chosen by what it predicts."""

import math
from typing import Any

import numpy as np
import pytest

from ratings_core.batch.pair_counts import MetPairs, pair_counts
from ratings_core.errors import InputError
from ratings_core.margins import choose_half_life, decayed


def season(skill: np.ndarray[tuple[int], np.dtype[np.float64]], seed: int, games: int = 600) -> MetPairs:
    rng, m = np.random.default_rng(seed), len(skill)
    first = rng.integers(0, m, games)
    second = (first + rng.integers(1, m, games)) % m
    won = rng.random(games) < 1 / (1 + np.exp(skill[second] - skill[first]))
    wins = np.zeros((m, m))
    np.add.at(wins, (np.where(won, first, second), np.where(won, second, first)), 1.0)
    return pair_counts(wins)


def test_decayed_tallies_weigh_each_bucket_by_its_age() -> None:
    old, new = pair_counts(np.array([[0.0, 4, 0], [2, 0, 0], [0, 0, 0]])), pair_counts(np.array([[0.0, 1, 0], [0, 0, 3], [0, 0, 0]]))
    both = decayed([old, new], 1.0)
    assert both.first.tolist() == [0, 1]
    assert both.won.tolist() == [3.0, 3.0]
    assert both.lost.tolist() == [1.0, 0.0]
    assert decayed([old, new], math.inf).won.tolist() == [5.0, 3.0]


def test_strengths_that_drift_have_a_short_half_life_and_constant_ones_a_long_one() -> None:
    rng = np.random.default_rng(0)
    constant = rng.normal(0, 1, 25)
    drifting = [constant]
    for _ in range(9):
        drifting.append(drifting[-1] + rng.normal(0, 0.8, 25))
    still = choose_half_life([season(constant, s) for s in range(10)], (0.5, 2.0, math.inf), first=5)
    moving = choose_half_life([season(own, s) for s, own in enumerate(drifting)], (0.5, 2.0, math.inf), first=5)
    assert still.half_life == math.inf
    assert moving.half_life < math.inf
    assert moving.losses[2] > min(moving.losses) + 0.01
    assert still.games == moving.games == 5 * 600


@pytest.mark.parametrize(
    ("half_lives", "first", "named"),
    [((), 1, "half_lives"), ((1.0,), 0, "first"), ((0.0,), 1, "half_life"), ((None,), 1, "half_life"), ((1.0,), 2, "first")],
)
def test_bad_arguments_are_named(half_lives: tuple[Any, ...], first: int, named: str) -> None:
    one = season(np.zeros(3), 0, 10)
    with pytest.raises(InputError, match=named):
        choose_half_life([one, one], half_lives, first=first)


def test_seasons_without_games_teach_and_count_nothing() -> None:
    skill = np.random.default_rng(0).normal(0, 1, 6)
    empty, half_lives = pair_counts(np.zeros((6, 6))), (0.5, math.inf)
    played = [season(skill, 0), season(skill, 1), season(skill, 2)]
    found = choose_half_life([empty, played[0], empty, played[1], empty, played[2], empty], half_lives, first=3)
    assert found.games == 2 * 600
    assert found.losses[1] == choose_half_life(played, half_lives, first=1).losses[1]
    assert math.isfinite(choose_half_life([empty, *played], half_lives, first=1).losses[0])
