"""Every rating of a game comes in one record: by player and strategy, what is played, by whom, and what deviating would gain."""

import dataclasses

import numpy as np
import pytest

from ratings_core.equilibria import (
    AlphaRankOptions,
    CCEOptions,
    LLEOptions,
    alpharank,
    alpharank_symmetric,
    cce,
    deviation,
    lle,
    mass_ratings,
    nash_average,
    nash_average_agents,
    payoff_ratings,
    uniform,
)
from ratings_core.equilibria.nash_average import NashAverageOptions
from ratings_core.games import AgentAgentTask, JointDistribution, KingOfTheHill, NormalForm, deviation_gains, expected_payoffs
from tests.unit.core.random_games import random_game

RNG = np.random.default_rng(3)
SCORES = RNG.normal(size=(5, 4))
HALF = RNG.normal(size=(3, 4, 4))
STORED = random_game(8, players=3)
GAMES = {
    "stored": STORED,
    "on a task": AgentAgentTask.of(SCORES),
    "on the hill": KingOfTheHill.of(HALF - HALF.transpose(0, 2, 1)),
}
AGAINST_TASKS = NormalForm.of([SCORES, -SCORES])
MARGINS = SCORES @ SCORES.T @ np.triu(np.ones((5, 5)), 1)
MARGINS = MARGINS - MARGINS.T
EACH_OTHER = NormalForm.of([MARGINS, -MARGINS])
METHODS = {
    "deviation": deviation,
    "cce": cce,
    "lle": lle,
    "uniform": uniform,
    "payoff of deviation": lambda game: payoff_ratings(game, deviation(game).play),
    "payoff of cce": lambda game: payoff_ratings(game, cce(game, options=CCEOptions(tolerance=1e-7)).play),
    "payoff of lle": lambda game: payoff_ratings(game, lle(game, options=LLEOptions(tolerance=1e-7)).marginals),
    "mass": lambda game: mass_ratings(game, deviation(game).play),
}
SUBJECTS = {f"{method}, {name}": (rate, game) for method, rate in METHODS.items() for name, game in GAMES.items()} | {
    "nash_average": (lambda game: nash_average(SCORES), AGAINST_TASKS),
    "nash_average_agents": (lambda game: nash_average_agents(MARGINS), EACH_OTHER),
    "alpharank": (lambda game: alpharank(game, options=AlphaRankOptions(alpha=1.0)), STORED),
}


def as_joint(found, game):
    """What is played, joint by joint."""
    if isinstance(play := getattr(found, "play", None), JointDistribution):
        return play
    everywhere = np.argwhere(np.ones(game.shape))
    if hasattr(play, "probability"):
        share = play.probability(everywhere)
    else:
        share = np.prod([found.marginals[p][everywhere[:, p]] for p in range(len(game.shape))], axis=0)
    return JointDistribution.of(everywhere, share / share.sum(), game.shape)


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_record_says_what_is_played_and_what_deviating_would_gain(name):
    rate, game = SUBJECTS[name]
    found = rate(game)
    play = as_joint(found, game)
    gains = deviation_gains(game, play)
    scale = max(float(np.abs(own).max()) for own in gains) + 1.0
    assert [len(own) for own in found.by_player] == list(game.shape)
    assert any(found.ratings.tobytes() == own.tobytes() for own in found.by_player)
    for p, n in enumerate(game.shape):
        assert found.marginals[p] == pytest.approx(play.marginal(p, n), abs=1e-9)
        assert found.support[p].tolist() == np.flatnonzero(found.marginals[p] >= 1e-9).tolist()
        assert found.regrets[p] == pytest.approx(max(0.0, gains[p].max()), abs=1e-8 * scale)
    assert found.payoffs == pytest.approx(expected_payoffs(game, play), abs=1e-8 * scale)
    assert found.gap == pytest.approx(found.regrets.sum())
    assert found.status == "optimal"
    assert found.seconds >= 0
    assert found.stats is not None
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.status = "failed"


def test_one_population_is_one_player():
    """Its profiles are those in which a strategy meets itself."""
    A = np.random.default_rng(4).normal(size=(4, 4))
    found = alpharank_symmetric(A, options=AlphaRankOptions(alpha=0.1))
    gains = deviation_gains(NormalForm.of([A, A.T]), found.play)[0]
    assert found.payoffs == pytest.approx([A.diagonal() @ found.ratings])
    assert found.regrets == pytest.approx([max(0.0, gains.max())])
    assert found.gap == found.regrets[0]
    assert [own.tolist() for own in found.support] == [[0, 1, 2, 3]]
    assert found.marginals[0].tolist() == found.by_player[0].tolist() == found.ratings.tolist()


def test_agents_and_tasks_left_out_are_in_no_support():
    with_a_gap = np.vstack([SCORES, [np.nan, 0, 0, 0]])
    found = nash_average(with_a_gap, options=NashAverageOptions(missing="drop_agents"))
    assert len(found.marginals[0]) == 6
    assert 5 not in found.support[0]
    assert np.isnan(found.by_player[0][5])
    assert found.gap == pytest.approx(0.0, abs=1e-9)


def test_copies_share_a_support():
    found = nash_average(SCORES[[0, 1, 2, 3, 4, *found_support(SCORES)]])
    assert len(found.support[0]) == 2 * len(found_support(SCORES))


def found_support(scores):
    return nash_average(scores).support[0].tolist()
