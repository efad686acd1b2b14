"""Items of Lanctot et al. 2023."""

import json
from random import Random

import numpy as np

from benchmarks.papers.items import DATA, GOLDEN
from benchmarks.papers.vase import diplomacy
from benchmarks.papers.vase.atari import resolutions, ten_agents
from benchmarks.papers.vase.methods import printed_table
from ratings_core.voting.profile import Profile
from ratings_core.voting.stv import stv


def test_a_maximal_lottery_leaves_out_players_without_games():
    games = np.array([[8, 1, 2, 3, 4, 5, 6], [8, 2, 1, 3, 4, 5, 6]])
    ratings = diplomacy.any_lottery(games, 10)
    assert ratings.tolist() == [0.0] * 8 + [1.0, 0.0]
    assert diplomacy.error_per_game(ratings, games) == 15 / 2


def test_printed_scores_of_stv_follow_from_the_orders_of_agents_that_its_reference_names():
    """docs/reference/methods.md, stv: an order gives the printed scores exactly if it has these agents before those."""
    votes = json.loads((GOLDEN / "vase" / "prompt_profiles_reconstructed.json").read_text())["profiles"][0]
    prompts = Profile.from_orders(np.array(votes) - 1, names=[str(prompt) for prompt in range(1, 8)])
    eight, ten = (next(profile for how, profile in resolutions(ten_agents().first(n)) if "dist-dqn on pong" in how) for n in (8, 10))
    tables = {number: printed_table(DATA / "vase" / "tables_6_7.csv", table=number)["stv"] for number in ("6", "7")}
    tables["17"] = printed_table(GOLDEN / "vase" / "prompt_table17_published.csv")["stv"]
    draws = Random(1)
    for number, profile, before in (
        ("6", eight, ()),
        ("7", ten, (("random", "noisy-dqn"), ("noisy-dqn", "dqn"), ("duel-ddqn", "prio-ddqn"))),
        ("17", prompts, (("7", "4"), ("4", "1"), ("5", "3"), ("6", "3"))),
    ):
        seen = set()
        for _ in range(200):
            ordered = profile.take(np.array(draws.sample(range(len(profile.names)), len(profile.names))))
            place = {name: i for i, name in enumerate(ordered.names)}
            named = all(place[first] < place[second] for first, second in before)
            scores = stv(ordered, 3, surplus="in_order", ties="order").scores
            assert (list(scores) == [tables[number][name] for name in ordered.names]) == named, (number, ordered.names)
            seen.add(named)
        assert seen == ({True, False} if before else {True})
