"""Computations of the items of Marris et al. 2025: game trees, gaps of whole games, populations, contributions."""

from itertools import product

import numpy as np
import pytest

from benchmarks.papers.deviation import contributions, improvement, populations, shapley
from benchmarks.papers.deviation.game_tree import GameTree
from ratings_core.equilibria import cce
from ratings_core.games import NormalForm

pyspiel = pytest.importorskip("pyspiel")


def policies(tree, count, seed=0):
    rng = np.random.default_rng(seed)
    return [np.array([seat.random_policy(rng) for _ in range(count)]) for seat in tree.seats]


@pytest.mark.parametrize(("name", "terminals"), [(improvement.GAMES["Kuhn poker"], 312), (improvement.GAMES["Sheriff"], 396)])
def test_a_compiled_game_has_openspiels_terminals_and_probabilities_of_sum_1(name, terminals):
    tree = GameTree.load(name)
    assert len(tree.chance) == terminals
    reach = np.prod([own[0][seat.last] for own, seat in zip(policies(tree, 1), tree.seats, strict=True)], axis=0)
    assert (tree.chance * reach).sum() == pytest.approx(1.0)


def test_payoffs_are_expected_returns_and_zero_sum_in_poker():
    tree = GameTree.load("kuhn_poker(players=3)")
    drawn = policies(tree, 2)
    payoffs = tree.payoffs(drawn)
    assert np.sum(payoffs, axis=0) == pytest.approx(np.zeros((2, 2, 2)), abs=1e-12)
    for joint in product(range(2), repeat=3):
        reach = np.prod([drawn[p][joint[p]][tree.seats[p].last] for p in range(3)], axis=0)
        assert [tensor[joint] for tensor in payoffs] == pytest.approx((tree.returns * tree.chance * reach).sum(axis=1))


def test_the_gap_of_a_single_policy_is_openspiels_nash_conv():
    tree = GameTree.load("kuhn_poker(players=2)")
    exploitability = pytest.importorskip("open_spiel.python.algorithms.exploitability")
    policy = pytest.importorskip("open_spiel.python.policy")
    even = []
    for seat in tree.seats:
        reach = np.ones(int(seat.start[-1]))
        for k, parent in enumerate(seat.parent):
            reach[seat.start[k] : seat.start[k + 1]] = reach[parent] / (seat.start[k + 1] - seat.start[k])
        even.append(reach[None])
    game = pyspiel.load_game("kuhn_poker(players=2)")
    assert tree.gap(even, np.ones((1, 1))) == pytest.approx(exploitability.nash_conv(game, policy.UniformRandomPolicy(game)))


def test_the_dense_distribution_of_an_equilibrium_has_its_marginals():
    game = NormalForm.of(np.random.default_rng(0).normal(size=(3, 2, 3, 4)))
    found = cce(game, target="even")
    play = improvement.dense(found.play, game.shape)
    assert play.sum() == pytest.approx(1.0)
    for player, marginal in enumerate(found.marginals):
        assert play.sum(axis=tuple(p for p in range(3) if p != player)) == pytest.approx(marginal)


@pytest.mark.parametrize("rating", improvement.RATINGS)
def test_a_run_of_the_loop_keeps_gaps_that_are_not_negative(rating):
    found = improvement.improved("Kuhn poker", rating, 0, improvement.EVERY)
    assert len(found["gap"]) == len(found["payoff"]) == 2
    assert min(found["gap"]) > 0
    assert found["payoff"] == pytest.approx([0.0, 0.0], abs=1e-12)


@pytest.mark.parametrize("name", populations.POPULATIONS)
def test_populations_are_mixtures(name):
    mixes = populations.POPULATIONS[name](np.random.default_rng(0), 20)
    assert mixes.shape == (20, 3)
    assert (mixes >= 0).all()
    assert mixes.sum(axis=1) == pytest.approx(np.ones(20))


def test_an_extended_game_gives_the_new_strategy_its_row():
    game = shapley.extended(shapley.symmetric(shapley.payoffs(3)), lambda tensor: tensor[1])
    assert game.shape == (4, 3)
    assert (game.payoffs[0][3] == game.payoffs[0][1]).all()
    assert shapley.changed(shapley.symmetric(shapley.payoffs(3)), game) <= shapley.TOLERANCE


def test_contributions_of_specialists_come_from_their_tasks():
    scores = contributions.table(0)
    assert scores.shape == (contributions.MODELS, contributions.TASKS)
    ratings, parts = contributions.split(scores, [f"m{n}" for n in range(len(scores))], [f"t{n}" for n in range(scores.shape[1])])
    assert parts.ratings == pytest.approx(ratings, abs=1e-6)
