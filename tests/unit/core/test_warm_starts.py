"""Solves that start from a like game's answer: the same answer within the certificate, whatever the start; names carry it over."""

from dataclasses import replace

import numpy as np
import pytest

from ratings_core.equilibria import cce, deviation
from ratings_core.errors import InputError
from ratings_core.games import AgentAgentTask, KingOfTheHill, NormalForm
from tests.unit.core.random_games import random_game

SOLVED = {"deviation": deviation, "cce": cce}


def table(seed, agents=7, tasks=5):
    """Scores of agents and tasks, named."""
    scores = np.random.default_rng(seed).beta(0.5, 0.5, size=(agents, tasks))
    return AgentAgentTask.of(scores, [f"a{i}" for i in range(agents)], [f"t{i}" for i in range(tasks)])


def hill(seed, prompts=6, models=4):
    u = np.random.default_rng(seed).normal(size=(prompts, models, models))
    return KingOfTheHill.of(u - u.transpose(0, 2, 1))


def changed(game, size, seed):
    """The game with normal noise on every payoff."""
    rng = np.random.default_rng([seed, 5])
    if isinstance(game, AgentAgentTask):
        return AgentAgentTask.of(game.scores + size * rng.normal(size=game.scores.shape), *game.strategies[::2])
    if isinstance(game, KingOfTheHill):
        noise = size * rng.normal(size=game.ahead.shape)
        return KingOfTheHill.of(game.ahead + (noise - noise.transpose(0, 2, 1)))
    return NormalForm.of([tensor + size * rng.normal(size=tensor.shape) for tensor in game.payoffs])


def same(found, wanted):
    for own, other in zip(found.by_player, wanted.by_player, strict=True):
        assert own == pytest.approx(other, abs=1e-6)


def work(found):
    return found.stats.get("solves", 0) + found.stats.get("evaluations", 0) + found.stats.get("newton_steps", 0)


@pytest.mark.parametrize("method", SOLVED)
@pytest.mark.parametrize("make", [table, hill, random_game])
def test_a_start_from_a_changed_game_leads_to_the_same_answer(method, make):
    for seed in range(4):
        game = make(seed)
        start = SOLVED[method](game).start
        for size in (0.0, 1e-3, 0.3):
            now = changed(game, size, seed)
            same(SOLVED[method](now, start=start), SOLVED[method](now))


@pytest.mark.parametrize("method", SOLVED)
def test_a_start_serves_a_roster_that_grew_shrank_and_changed_its_order(method):
    for seed in range(3):
        game = table(seed)
        start, rng = SOLVED[method](game).start, np.random.default_rng(seed)
        agents, tasks = rng.permutation(7)[:6], rng.permutation(5)[:4]
        scores = np.vstack([game.scores[np.ix_(agents, tasks)], rng.uniform(size=(2, 4))])
        now = AgentAgentTask.of(scores, [*(f"a{i}" for i in agents), "new", "newer"], [f"t{i}" for i in tasks])
        same(SOLVED[method](now, start=start), SOLVED[method](now))


@pytest.mark.parametrize("method", SOLVED)
def test_a_start_serves_a_game_with_clones_of_its_own(method):
    game = table(3)
    start = SOLVED[method](game).start
    now = AgentAgentTask.of(np.vstack([game.scores, game.scores[[2, 2]]]), [*game.strategies[0], "x", "y"], game.strategies[2])
    same(SOLVED[method](now, start=start), SOLVED[method](now))
    same(SOLVED[method](game, start=SOLVED[method](now).start), SOLVED[method](game))


@pytest.mark.parametrize("method", SOLVED)
def test_the_same_game_again_costs_less(method):
    game = table(1, 12, 9)
    first = SOLVED[method](game)
    assert work(SOLVED[method](game, start=first.start)) < work(first)


def test_a_start_for_interchangeable_players_may_name_them_in_any_order():
    tensor = np.random.default_rng(4).normal(size=(4, 4))
    game = NormalForm.of([tensor, tensor.T])
    first = deviation(game)
    other = replace(first.start, arrays={"joints": first.start.arrays["joints"][:, ::-1]})
    same(deviation(game, start=other), first)


@pytest.mark.parametrize("method", SOLVED)
def test_a_start_that_is_none_is_refused(method):
    game = table(0)
    start = SOLVED[method](game).start
    name, values = next(iter(start.arrays.items()))
    wrong = [
        (replace(start, method="elo"), "start"),
        ({"joints": []}, "start"),
        (replace(start, strategies=start.strategies[:2]), "start"),
        (replace(start, arrays={}), "start"),
        (replace(start, arrays={**start.arrays, name: values[..., None]}), f"start.{name}"),
        (replace(start, arrays={**start.arrays, name: np.full(values.shape, np.nan)}), f"start.{name}"),
        (replace(start, arrays={**start.arrays, name: values - 100}), f"start.{name}"),
    ]
    for given, argument in wrong:
        with pytest.raises(InputError) as caught:
            SOLVED[method](game, start=given)
        assert caught.value.argument == argument


def test_starts_are_names_and_arrays():
    for method, solve in SOLVED.items():
        start = solve(table(0)).start
        assert start.method == method
        assert start.strategies == table(0).strategies
        assert all(isinstance(own, np.ndarray) for own in start.arrays.values())
