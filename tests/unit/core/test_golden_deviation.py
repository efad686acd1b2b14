"""Published deviation ratings: the Shapley game of Marris et al. and the Atari agents, against games and against each other."""

import csv
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from ratings_core.equilibria import deviation
from ratings_core.games import NormalForm, agent_vs_agent_vs_task, agent_vs_task, mix_regrets, uniform_mixes

GOLDEN = Path(__file__).parents[2] / "golden/deviation"
SHAPLEY = json.loads((GOLDEN / "shapley.json").read_text())
TABLE = list(csv.reader((GOLDEN / "atari_table3.csv").read_text().splitlines()))
COMPUTED = list(csv.DictReader((GOLDEN / "atari_deviation_2p_computed.csv").read_text().splitlines()))
AGENTS, TASKS = TABLE[0][1:], [row[0] for row in TABLE[1:]]
SCORES = np.array([[float(score) for score in row[1:]] for row in TABLE[1:]]).T
TOP = {"r2d2(bandit)", "agent57", "muzero"}


def shapley(n):
    """The first n strategies, of rock, paper, scissors and their Nash mixture."""
    own = np.array([[float(Fraction(payoff)) for payoff in row[:n]] for row in SHAPLEY["G1"][:n]])
    return NormalForm.of([own, own.T])


def computed(column):
    values = {(row["player"], row["strategy"]): float(row[column]) for row in COMPUTED}
    return [[values["agent", name] for name in AGENTS], [values["task", name] for name in TASKS]]


def test_the_cases_are_all_there():
    assert SCORES.shape == (20, 53)
    assert len(COMPUTED) == 20 + 53
    assert SHAPLEY["strategies"] == ["R", "P", "S", "N"]


@pytest.mark.parametrize("n", [4, 3], ids=["with the mixture", "without"])
def test_every_strategy_of_the_biased_shapley_game_rates_the_same(n):
    found = deviation(shapley(n))
    for ratings in found.by_player:
        assert ratings == pytest.approx(np.full(n, -680 / 241), abs=1e-9)


def test_uniform_ratings_of_the_biased_shapley_game():
    uniform = shapley(4).payoffs_against(uniform_mixes((4, 4)))[0]
    assert uniform * 964 == pytest.approx([float(value) for value in SHAPLEY["uniform_exact_over_964"]], abs=1e-9)


def test_the_mixture_of_the_shapley_game_is_its_nash_equilibrium():
    mix = [float(Fraction(share)) for share in SHAPLEY["nash"]]
    assert mix_regrets(shapley(3), [mix, mix]) == pytest.approx([0, 0], abs=1e-12)


def test_atari_against_games():
    game = agent_vs_task(SCORES, agents=AGENTS, tasks=TASKS).game
    found = deviation(game)
    for ratings, wanted in zip(found.by_player, computed("rating"), strict=True):
        assert ratings == pytest.approx(wanted, abs=1e-7)
    assert found.payoffs == pytest.approx([0.4154012609, -0.4154012609], abs=1e-9)
    assert {AGENTS[i] for i in np.flatnonzero(found.ratings > -1e-7)} == {*TOP, "r2d2"}
    assert game.payoffs_against(uniform_mixes(game.shape))[0] == pytest.approx(computed("uniform")[0], abs=1e-9)


def test_atari_against_each_other_on_games():
    """Three tie on top; human is 7th, but 18th by the uniform rating (appendix D.1)."""
    game = agent_vs_agent_vs_task(SCORES, agents=AGENTS, tasks=TASKS).game
    found = deviation(game)
    assert found.certificate.value <= 1e-8
    top = found.ratings >= found.ratings.max() - 1e-8
    assert {AGENTS[i] for i in np.flatnonzero(top)} == TOP
    human = AGENTS.index("human")
    uniform = game.payoffs_against(uniform_mixes(game.shape))[0]
    assert 1 + np.count_nonzero(found.ratings > found.ratings[human]) == 7
    assert 1 + np.count_nonzero(uniform > uniform[human]) == 18
