"""Near copies at deviation ratings: their rows are nearly parallel and freeze one after the other, and every answer stays certified."""

import importlib
import random
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from ratings_core.equilibria import DeviationOptions, deviation
from ratings_core.errors import SolverError
from ratings_core.games.gamify import agent_vs_agent_vs_task, agent_vs_task

module = importlib.import_module("ratings_core.equilibria.deviation")
GOLDEN = Path(__file__).parents[2] / "golden"
NOISES = [1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1]


@cache
def atari():
    rows = [line.split(",") for line in (GOLDEN / "deviation" / "atari_table3.csv").read_text().split()]
    return rows[0][1:], np.array([[float(cell) for cell in row[1:]] for row in rows[1:]]).T


def noisy(row, noise, copies):
    rng = random.Random(f"noise {noise}")
    return np.array([[score + rng.gauss(0, noise) for score in row] for _ in range(copies)])


def with_agents(agent, noise, copies=20):
    names, scores = atari()
    return np.vstack([scores, noisy(scores[names.index(agent)], noise, copies)])


def with_tasks(task, noise, copies=10):
    scores = atari()[1]
    return np.hstack([scores, noisy(scores[:, task], noise, copies).T])


@cache
def rated_alone():
    return rated(atari()[1])


def rated(scores, played=agent_vs_task):
    """Certified to the default tolerance, or it raises."""
    found = deviation(played(scores, normalise="minmax").game)
    assert found.certificate.value <= 1e-6
    return found.ratings


@pytest.mark.parametrize(("agent", "noise"), [*(("agent57", noise) for noise in NOISES), *(("human", noise) for noise in NOISES[::4])])
def test_twenty_near_copies_of_an_agent_are_rated_with_a_certificate(agent, noise):
    names = atari()[0]
    ratings = rated(with_agents(agent, noise))
    assert ratings.shape == (40,)
    assert ratings.max() <= 1e-6
    if noise <= 1e-3:
        # a normal of 1060 draws is within five noises, and min-max spreads no task by more than that
        assert ratings[20:] == pytest.approx(np.full(20, ratings[names.index(agent)]), abs=10 * noise + 2e-6)
        assert ratings[:20] == pytest.approx(rated_alone(), abs=20 * noise + 2e-6)


@pytest.mark.parametrize("noise", NOISES)
def test_ten_near_copies_of_a_task_are_rated_with_a_certificate(noise):
    ratings = rated(with_tasks(0, noise))
    if noise <= 1e-3:
        assert ratings == pytest.approx(rated_alone(), abs=20 * noise + 2e-6)


def test_near_copies_of_the_top_of_two_agents_on_a_task_are_rated_too():
    assert rated(with_agents("agent57", 1e-9, 8), agent_vs_agent_vs_task).shape == (28,)


@pytest.mark.parametrize("agent", ["agent57", "muzero"])
def test_other_numbers_of_copies_of_other_top_agents_are_rated_too(agent):
    assert rated(with_agents(agent, 1e-9, 8)).shape == (28,)


def near_game():
    """One search leaves its ratings uncertain by 1.6e-6, where HiGHS takes the same way."""
    rng = np.random.default_rng(0)
    scores = rng.beta(0.5, 0.5, size=(20, 18)) * rng.uniform(0.3, 1, size=(20, 1))
    near = scores[:, [8]] + 1e-6 * np.random.default_rng(8).normal(size=(20, 10))
    return scores, agent_vs_agent_vs_task(np.hstack([scores, near])).game


def test_what_one_search_leaves_uncertain_a_second_one_from_its_joints_settles():
    scores, game = near_game()
    found = deviation(game)
    assert found.certificate.value <= 1e-6
    assert found.ratings == pytest.approx(deviation(agent_vs_agent_vs_task(scores).game).ratings, abs=2e-5)


def test_where_the_limit_of_programs_is_reached_there_is_no_second_search():
    _, game = near_game()
    twice = deviation(game, options=DeviationOptions(tolerance=1e-15, accept_approximate=True))
    once = deviation(game, options=DeviationOptions(tolerance=1e-15, accept_approximate=True, max_solves=5))
    assert (twice.stats["searches"], once.stats.get("searches"), once.stats["solves"]) == (2, None, 5)


def test_a_second_search_that_fails_leaves_the_first_one_s_answer(monkeypatch):
    _, game = near_game()
    searches = iter([module.least_gains])

    def failing(*args, **named):
        search = next(searches, None)
        if search is None:
            raise SolverError("no method solves this program")
        return search(*args, **named)

    monkeypatch.setattr(module, "least_gains", failing)
    found = deviation(game, options=DeviationOptions(tolerance=1e-15, accept_approximate=True))
    monkeypatch.undo()
    assert next(searches, None) is None
    assert (found.status, found.stats.get("searches")) == ("approximate", None)
    assert found.ratings == pytest.approx(deviation(game, options=DeviationOptions(tolerance=1e-4)).ratings, abs=1e-4)
