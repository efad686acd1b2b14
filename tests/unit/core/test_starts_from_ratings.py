"""Fits, lotteries and Nash averages that start from the answer before: the same answer whatever the start, less work from a good one."""

import numpy as np
import pytest

from ratings_core.batch.bradley_terry import BradleyTerryOptions, bradley_terry
from ratings_core.equilibria import nash_average, nash_average_agents
from ratings_core.errors import InputError
from ratings_core.voting import iterated_maximal_lotteries, maximal_lottery

LOTTERIES = {
    "maximal_lottery": lambda M, start: maximal_lottery(M, start=start),
    "iterated_maximal_lotteries": lambda M, start: iterated_maximal_lotteries(M, start=start),
    "nash_average_agents": lambda M, start: nash_average_agents(M, start=start),
}


def games(seed, m=12, mean=3.0):
    """Wins among agents of skill N(0, 1); few enough that some are not linked by wins both ways."""
    rng = np.random.default_rng(seed)
    skill = rng.normal(size=m)
    met = np.triu(rng.poisson(mean, (m, m)), 1)
    won = rng.binomial(met, 1 / (1 + np.exp(skill - skill[:, None])))
    return (won + (met - won).T).astype(float)


def margins(seed, m=15, grain=None):
    """Random margins; those of few values (grain) have many optimal lotteries."""
    rng = np.random.default_rng(seed)
    drawn = np.triu(rng.normal(size=(m, m)) if grain is None else rng.integers(-grain, grain + 1, (m, m)), 1)
    return (drawn - drawn.T).astype(float)


def mix_of(found):
    return found.agent_dist if hasattr(found, "agent_dist") else found.ratings


def fitted(wins, start=None):
    return bradley_terry(wins, options=BradleyTerryOptions(unconnected="components"), start=start)


def test_a_fit_ends_where_it_does_afresh_whatever_its_start():
    for seed in range(6):
        wins, rng = games(seed, mean=(0.3, 3.0)[seed % 2]), np.random.default_rng(seed)
        afresh = fitted(wins)
        near = fitted(wins + games(seed + 100, mean=0.1)).ratings
        far = rng.normal(1500, 1e4, len(wins))
        for start in (near, far, np.full(len(wins), np.nan), afresh.ratings):
            found = fitted(wins, start)
            assert found.ratings == pytest.approx(afresh.ratings, abs=1e-6, nan_ok=True)
            assert found.status == "optimal"


def test_a_fit_of_a_few_games_more_takes_fewer_steps():
    wins = games(1, m=30)
    before, more = fitted(wins), wins.copy()
    more[3, 4] += 1
    assert fitted(more, before.ratings).stats["iterations"] < fitted(more).stats["iterations"]


def test_large_fits_may_start_too():
    wins = games(2, m=600, mean=0.05)
    afresh = bradley_terry(wins, options=BradleyTerryOptions(prior=0.5))
    warm = bradley_terry(wins, options=BradleyTerryOptions(prior=0.5), start=afresh.ratings)
    assert warm.ratings == pytest.approx(afresh.ratings, abs=1e-6)


@pytest.mark.parametrize("method", LOTTERIES)
@pytest.mark.parametrize("grain", [None, 1, 5])
def test_a_lottery_is_the_one_found_afresh_whatever_its_start(method, grain):
    solve = LOTTERIES[method]
    for seed in range(5):
        M, rng = margins(seed, grain=grain), np.random.default_rng(seed)
        noise = rng.normal(size=M.shape) * 1e-3
        afresh, like = solve(M, None), solve(M + np.triu(noise, 1) - np.triu(noise, 1).T, None)
        wrong = rng.random(len(M))
        for start in (mix_of(afresh), mix_of(like), wrong, np.zeros(len(M)), np.ones(len(M))):
            found = solve(M, start)
            assert found.ratings == pytest.approx(afresh.ratings, abs=1e-6)
            assert found.status == "optimal"


@pytest.mark.parametrize("method", LOTTERIES)
def test_a_lottery_whose_support_stays_follows_no_path(method):
    solve, M = LOTTERIES[method], margins(3)
    before = solve(M, None)
    now = M * 1.0 + 1e-9 * (np.triu(np.ones_like(M), 1) - np.tril(np.ones_like(M), -1))
    warm, afresh = solve(now, mix_of(before)), solve(now, None)
    assert warm.stats["iterations"] == 0 < afresh.stats["iterations"]
    assert warm.ratings == pytest.approx(afresh.ratings, abs=1e-9)


def test_nash_averages_of_tasks_are_those_found_afresh_whatever_their_start():
    for seed in range(8):
        rng = np.random.default_rng(seed)
        shape = [(9, 6), (6, 9)][seed % 2]
        S = rng.integers(0, 4, shape).astype(float) if seed % 4 < 2 else rng.random(shape)
        S = np.vstack([S, S[:1]])  # an exact duplicate among the agents
        afresh = nash_average(S)
        wrong = rng.random(len(S)), rng.random(S.shape[1])
        for start in ((afresh.agent_dist, afresh.task_dist), wrong, (np.zeros(len(S)), np.zeros(S.shape[1]))):
            found = nash_average(S, start=start)
            assert found.ratings == pytest.approx(afresh.ratings, abs=1e-6)
            assert found.agent_dist == pytest.approx(afresh.agent_dist, abs=1e-6)
            assert found.task_dist == pytest.approx(afresh.task_dist, abs=1e-6)
            assert (found.agent_unique, found.task_unique) == (afresh.agent_unique, afresh.task_unique)


def test_a_nash_average_whose_supports_stay_follows_no_path():
    for shape in ((14, 8), (8, 14)):
        S = np.random.default_rng(5).random(shape)
        before = nash_average(S)
        now = S + 1e-7 * np.random.default_rng(6).normal(size=shape)
        warm = nash_average(now, start=(before.agent_dist, before.task_dist))
        assert warm.stats["iterations"] == 0
        assert warm.ratings == pytest.approx(nash_average(now).ratings, abs=1e-9)
        assert warm.agent_unique
        assert warm.task_unique


def test_starts_of_another_size_or_without_numbers_are_refused():
    wins, M, S = games(0), margins(0), np.random.default_rng(0).random((4, 3))
    refused = [
        ("start", lambda start: bradley_terry(wins, options=BradleyTerryOptions(prior=1), start=start), np.ones(3)),
        ("start", lambda start: bradley_terry(wins, options=BradleyTerryOptions(prior=1), start=start), np.full(12, np.inf)),
        ("start", lambda start: maximal_lottery(M, start=start), np.ones(3)),
        ("start", lambda start: iterated_maximal_lotteries(M, start=start), np.full(15, np.nan)),
        ("start", lambda start: nash_average_agents(M, start=start), np.ones(3)),
        ("start[1]", lambda start: nash_average(S, start=start), (np.ones(4), np.ones(4))),
        ("start[0]", lambda start: nash_average(S, start=start), (np.full(4, np.inf), np.ones(3))),
    ]
    for argument, solve, start in refused:
        with pytest.raises(InputError) as caught:
            solve(start)
        assert caught.value.argument.startswith(argument)
