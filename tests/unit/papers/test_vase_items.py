"""Items of Lanctot et al. 2023."""

import numpy as np

from benchmarks.papers.vase import diplomacy


def test_a_maximal_lottery_leaves_out_players_without_games():
    games = np.array([[8, 1, 2, 3, 4, 5, 6], [8, 2, 1, 3, 4, 5, 6]])
    ratings = diplomacy.any_lottery(games, 10)
    assert ratings.tolist() == [0.0] * 8 + [1.0, 0.0]
    assert diplomacy.error_per_game(ratings, games) == 15 / 2
