"""Designs of next games: a readable twin, finite differences, the laws, and that rates are probabilities above their floor."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import norm

from ratings_core.analysis import next_matches as module
from ratings_core.analysis.next_matches import all_ratings, next_matches, one_rating, top
from ratings_core.batch.bradley_terry import BradleyTerryOptions, bradley_terry
from ratings_core.errors import InputError
from ratings_core.tallies.pair_counts import PairCounts

M = 6
LOSSES = {"all": all_ratings(), "agent": one_rating(2), "top": top(2)}


def wins_of(seed, m=M):
    rng = np.random.default_rng(seed)
    theta, games = rng.normal(0, 1, m), np.triu(rng.integers(1, 12, (m, m)), 1)
    won = rng.binomial(games, expit(theta[:, None] - theta))
    return np.triu(won, 1) + np.triu(games - won, 1).T + 0.0


def covariance_of(wins, rate, games, theta, prior=0.5):
    """Inverse of the information of the games played and of `games` more at these rates, game by game."""
    information = np.diag(prior * expit(theta) * expit(-theta))
    for a in range(len(wins)):
        for b in range(a + 1, len(wins)):
            step = np.eye(len(wins))[a] - np.eye(len(wins))[b]
            number = wins[a, b] + wins[b, a] + games * rate[a, b]
            information += number * expit(theta[a] - theta[b]) * expit(theta[b] - theta[a]) * np.outer(step, step)
    return np.linalg.inv(information)


def uncertainty(kind, covariance, theta, now):
    """What each target means, written out. now: the covariance before the games."""
    m = len(theta)
    if kind == "all":
        return sum(covariance[a, a] for a in range(m)) - covariance.sum() / m
    if kind == "agent":
        known = (1 / np.diag(now)) / (1 / np.diag(now)).sum()
        contrast = np.eye(m)[2] - known
        return contrast @ covariance @ contrast
    best = np.argsort(-theta)[:2]
    total = 0.0
    for a in best:
        for b in set(range(m)) - set(best):
            before, after = (c[a, a] + c[b, b] - 2 * c[a, b] for c in (now, covariance))
            total += norm.cdf(-(theta[a] - theta[b]) / np.sqrt(before)) * after / before
    return total


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("seed", range(3))
def test_uncertainties_are_what_they_say_and_the_rates_are_nearly_the_best(kind, seed):
    wins = wins_of(seed)
    found = next_matches(PairCounts.from_dense(wins), M, LOSSES[kind], games=40, floor=0.2)
    theta = bradley_terry(wins, options=BradleyTerryOptions(prior=0.5, scale=1.0, centre=0.0)).ratings
    now = covariance_of(wins, np.zeros((M, M)), 0, theta)

    def after(rates):
        square = np.zeros((M, M))
        square[found.first, found.second] = rates
        return uncertainty(kind, covariance_of(wins, square, 40, theta), theta, now)

    pairs = len(found.first)
    assert found.before == pytest.approx(uncertainty(kind, now, theta, now))
    assert found.after == pytest.approx(after(found.rate))
    assert found.uniform == pytest.approx(after(np.full(pairs, 1 / pairs)))
    assert found.rate.sum() == pytest.approx(1)
    assert found.rate.min() >= 0.2 / pairs * (1 - 1e-12)
    whole = {"type": "eq", "fun": lambda rates: rates.sum() - 1}
    best = minimize(after, found.rate, bounds=[(0.2 / pairs, 1)] * pairs, constraints=whole, method="SLSQP")
    assert found.certificate.value <= 0.02
    assert found.after - best.fun <= found.certificate.value * (found.before - found.after) + 1e-9


@pytest.mark.parametrize("kind", LOSSES)
def test_gains_are_finite_differences(kind):
    wins = wins_of(7)
    theta = bradley_terry(wins, options=BradleyTerryOptions(prior=0.5, scale=1.0, centre=0.0)).ratings
    information = np.linalg.inv(covariance_of(wins, np.zeros((M, M)), 0, theta))
    problem = module._Problem.of(information, theta, LOSSES[kind], 30.0)
    rate = np.full(len(problem.first), 1 / len(problem.first))
    gain = problem.at(rate).gain
    for pair in range(len(rate)):
        step = np.zeros(len(rate))
        step[pair] = 1e-5
        slope = (problem.at(rate - step).value - problem.at(rate + step).value) / 2e-5
        assert gain[pair] == pytest.approx(slope, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("kind", LOSSES)
def test_renaming_agents_renames_the_rates(kind):
    wins, new = wins_of(5), np.random.default_rng(0).permutation(M)
    loss = one_rating(int(np.flatnonzero(new == 2)[0])) if kind == "agent" else LOSSES[kind]
    one = next_matches(PairCounts.from_dense(wins), M, LOSSES[kind], games=20)
    other = next_matches(PairCounts.from_dense(wins[np.ix_(new, new)]), M, loss, games=20)
    square = np.zeros((M, M))
    square[one.first, one.second] = square[one.second, one.first] = one.rate
    assert other.rate == pytest.approx(square[new[other.first], new[other.second]], abs=1e-9)


def test_agents_that_never_played_are_matched_and_an_even_floor_is_even():
    counts = PairCounts.from_dense(wins_of(1, 3))
    found = next_matches(counts, 4, one_rating(3), games=5, floor=0.0)
    assert found.rate[found.second == 3].sum() > 0.9
    even = next_matches(counts, 4, all_ratings(), games=5, floor=1.0)
    assert even.rate == pytest.approx(np.full(6, 1 / 6))
    assert even.after == even.uniform


@pytest.mark.parametrize(
    ("agents", "loss", "more", "words"),
    [(501, all_ratings(), {}, "at most 500"), (3, top(3), {}, "k must be from 1 to 2"), (3, one_rating(3), {}, "from 0 to 2"),
     (3, all_ratings(), {"games": 0}, "games"), (3, all_ratings(), {"floor": 1.5}, "floor")],
)  # fmt: skip
def test_what_cannot_be_planned_is_refused(agents, loss, more, words):
    with pytest.raises(InputError, match=words):
        next_matches(PairCounts.from_dense(wins_of(0, 3)), agents, loss, **{"games": 5, **more})
