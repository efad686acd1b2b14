"""The critical value of rank intervals: a readable twin, values in closed form, and simulations of known truth of many shapes."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ratings_core.analysis import priors
from ratings_core.analysis.critical_value import critical_value, needed_values
from ratings_core.analysis.priors import likeliest_mixture, likeliest_normal
from ratings_core.analysis.rank_intervals import simultaneous_ranks
from ratings_core.errors import SolverError
from ratings_core.ranking import Ranking
from ratings_core.solution import Floats

LEAST = -stats.norm.ppf(0.025 / 8)
"""Smallest critical value of 9 agents or more at 95 %: that for eight differences."""


def errors_of(covariance: Floats) -> Floats:
    spread = covariance.diagonal()
    error = np.sqrt(spread + spread[:, None] - 2 * covariance)
    np.fill_diagonal(error, np.inf)
    return error


def value_of(theta: Floats, covariance: Floats, level: float = 0.95, freedom: int | None = None) -> float:
    return critical_value(theta, covariance, errors_of(covariance), np.zeros(len(theta), np.int64), level=level, freedom=freedom)


def twin(theta: Floats, error: Floats, truth: Floats) -> float:
    """Try all values at which a difference stops being sure, from the smallest one."""
    agents = range(len(truth))
    ratio = {(i, j): (theta[j] - theta[i]) / error[i, j] for i in agents for j in agents if i != j}
    for value in sorted({0.0, *map(abs, ratio.values())}):
        held = True
        for i in agents:
            others = [j for j in agents if j != i]
            held &= sum(ratio[i, j] > value for j in others) <= sum(truth[j] > truth[i] for j in others)
            held &= sum(ratio[j, i] > value for j in others) <= sum(truth[j] < truth[i] for j in others)
        if held:
            return float(value)
    raise AssertionError("nothing is sure above the largest difference")


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10_000), m=st.integers(1, 7), ties=st.booleans())
def test_the_value_that_a_truth_needs_is_that_of_the_readable_twin(seed: int, m: int, ties: bool) -> None:
    rng = np.random.default_rng(seed)
    truth, error = rng.normal(size=(4, m)), rng.uniform(0.5, 1.5, (m, m))
    theta, error = truth[0] + rng.normal(size=m), error + error.T
    if ties:
        truth, theta = np.round(truth), np.round(theta)
    np.fill_diagonal(error, np.inf)
    assert needed_values(theta, error, truth) == pytest.approx([twin(theta, error, one) for one in truth], rel=1e-12)


def share_inside(theta: Floats, error: Floats, value: float, truth: Floats) -> float:
    """Share of the truths all of whose ranks are in the intervals of a critical value, ties in any order."""
    gap = theta - theta[:, None]
    limit = value * np.where(np.isfinite(error), error, 1.0)
    surely_above, surely_below = (gap > limit).sum(axis=1), (-gap > limit).sum(axis=1)
    above = [(one > one[:, None]).sum(axis=1) for one in truth]
    below = [(one < one[:, None]).sum(axis=1) for one in truth]
    return float(np.mean([((surely_above <= a) & (surely_below <= b)).all() for a, b in zip(above, below, strict=True)]))


@pytest.mark.parametrize("m", [15, 120])
@pytest.mark.parametrize("spread", [0.0, 1.0, 2.5, 10.0])
@pytest.mark.parametrize("groups", [False, True])
def test_it_is_the_smallest_value_with_which_enough_draws_of_the_posterior_are_inside(m: int, spread: float, groups: bool) -> None:
    """971 of 1,000 draws, with errors that count as 10 % larger than they are, and the prior that the likelihoods choose."""
    rng = np.random.default_rng(1)
    deviation = rng.uniform(0.8, 1.2, m)
    theta = spread * (2 * (np.arange(m) % 3) if groups else rng.normal(size=m)) + deviation * rng.normal(size=m)
    order = np.argsort(theta)  # as agents are drawn
    theta, deviation = theta[order], deviation[order]
    covariance, alike = np.diag(deviation**2), np.eye(m) - 1 / m
    found, error = value_of(theta, covariance), errors_of(covariance)
    own = 1.1 * np.sqrt((alike @ covariance @ alike).diagonal())
    mixture, normal = likeliest_mixture(theta, own), likeliest_normal(theta, own)
    near = m < 100 or math.sqrt(normal.variance) < 3 * own.mean()
    apart = mixture.log_likelihood - normal.log_likelihood > 0.45 * np.ptp(theta) / own.mean()
    draws = (mixture if near or apart else normal).draws(np.random.default_rng(0), 1_000)
    bound = -stats.norm.ppf(0.05 / (m * (m - 1)))
    assert found == pytest.approx(bound) or share_inside(theta, error, found, draws) >= 0.971
    if found > LEAST * 1.001:
        assert share_inside(theta, error, 0.999 * found, draws) < 0.971


@pytest.mark.parametrize("agents", [3, 12, 40])
def test_of_ratings_that_differ_as_equal_agents_do_no_difference_is_sure(agents: int) -> None:
    theta = stats.norm.ppf((np.arange(agents) + 0.5) / agents)
    low, high = simultaneous_ranks(theta, np.eye(agents))
    assert (low.tolist(), high.tolist()) == ([1] * agents, [agents] * agents)


def test_groups_that_are_far_apart_are_in_order_and_within_them_nothing_is_sure() -> None:
    rng = np.random.default_rng(1)
    low, high = simultaneous_ranks(np.repeat([60.0, 30.0, 0.0], 6) + rng.normal(size=18), np.eye(18))
    assert low.tolist() == [1] * 6 + [7] * 6 + [13] * 6
    assert high.tolist() == [6] * 6 + [12] * 6 + [18] * 6


@pytest.mark.parametrize(("agents", "differences"), [(2, 1), (3, 2), (8, 7), (9, 8), (40, 8)])
def test_agents_that_are_surely_apart_need_the_value_for_some_differences(agents: int, differences: int) -> None:
    assert value_of(np.arange(agents) * 50.0, np.eye(agents)) == pytest.approx(-stats.norm.ppf(0.025 / differences))


def test_ratings_spread_evenly_need_less_than_bonferronis_value() -> None:
    rng = np.random.default_rng(2)
    theta = rng.normal(0.0, 5.0, 120) + rng.normal(size=120)
    assert LEAST < value_of(theta, np.eye(120)) < 0.85 * -stats.norm.ppf(0.05 / (120 * 119))


def test_what_all_ratings_share_changes_nothing() -> None:
    theta = np.random.default_rng(3).normal(0.0, 3.0, 12)
    alone, shared = value_of(theta, np.eye(12)), value_of(theta + 7.0, np.eye(12) + 100.0)
    assert shared == pytest.approx(alone, rel=0.02)


def test_an_agent_that_nobody_is_compared_with_changes_nothing() -> None:
    theta = np.random.default_rng(3).normal(0.0, 3.0, 12)
    error = np.pad(errors_of(np.eye(12)), (0, 1), constant_values=np.inf)
    label = np.append(np.zeros(12, np.int64), 1)
    assert critical_value(np.append(theta, 99.0), np.eye(13), error, label, level=0.95) == value_of(theta, np.eye(12))


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000), m=st.integers(2, 12), spread=st.sampled_from([0.0, 1.0, 5.0]), rank=st.integers(1, 12),
    level=st.sampled_from([0.5, 0.9, 0.95, 0.999]), freedom=st.sampled_from([None, 1, 5, 60]), unit=st.sampled_from([2.0**-200, 2.0**200]),
)  # fmt: skip
def test_values_are_between_those_for_some_and_for_all_differences_and_units_do_not_matter(
    seed: int, m: int, spread: float, rank: int, level: float, freedom: int | None, unit: float
) -> None:
    rng = np.random.default_rng(seed)
    theta, root = spread * rng.normal(size=m), rng.normal(size=(m, rank))
    found = value_of(theta, root @ root.T, level, freedom)
    tails = (1 - level) / (2 * min(8, m - 1)), (1 - level) / (m * (m - 1))
    least, bound = (-stats.norm.ppf(tail) if freedom is None else -stats.t.ppf(tail, freedom) for tail in tails)
    assert least * (1 - 1e-9) <= found <= bound * (1 + 1e-9)
    assert value_of(unit * theta, unit**2 * root @ root.T, level, freedom) == pytest.approx(found, rel=1e-6)


def test_levels_beyond_the_draws_have_bonferronis_value() -> None:
    assert value_of(np.zeros(5), np.eye(5), 0.9999) == pytest.approx(-stats.norm.ppf(0.0001 / 20))


@pytest.mark.parametrize("freedom", [1, 2, 3])
def test_errors_of_few_degrees_of_freedom_have_bonferronis_value(freedom: int) -> None:
    assert value_of(np.arange(6) * 4.0, np.eye(6), freedom=freedom) == pytest.approx(-stats.t.ppf(0.05 / 30, freedom))


def test_ratings_without_a_mixture_have_bonferronis_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """The widest intervals hold for any truth."""
    monkeypatch.setattr(priors, "_ITERATIONS", 0)
    theta = np.random.default_rng(3).normal(0.0, 3.0, 12)
    with pytest.raises(SolverError):
        priors.likeliest_mixture(theta, np.ones(12))
    assert value_of(theta, np.eye(12)) == pytest.approx(-stats.norm.ppf(0.05 / (12 * 11)))


def test_a_rating_whose_square_overflows_has_bonferronis_value() -> None:
    assert value_of(np.array([1e200, 0.0, 5.0]), np.eye(3)) == pytest.approx(-stats.norm.ppf(0.05 / 6))


@pytest.mark.parametrize("agents", [6, 18, 60])
@pytest.mark.parametrize("components", [1, 3])
def test_the_order_of_the_agents_changes_nothing(agents: int, components: int) -> None:
    """A server and a command line can list the same agents in different orders."""
    rng = np.random.default_rng([agents, components])
    root = np.eye(agents) + rng.normal(0.0, 0.1, (agents, agents))
    theta, covariance, label = rng.normal(0.0, 4.0, agents), root @ root.T, rng.integers(0, components, agents)
    low, high = simultaneous_ranks(theta, covariance, label)
    for _ in range(5):
        moved, names = rng.permutation(agents), rng.permutation(components)
        found = simultaneous_ranks(theta[moved], covariance[np.ix_(moved, moved)], names[label[moved]])
        assert (found[0].tolist(), found[1].tolist()) == (low[moved].tolist(), high[moved].tolist())


def test_agents_that_are_not_compared_need_none() -> None:
    assert critical_value(np.zeros(2), np.eye(2), np.full((2, 2), np.inf), np.arange(2), level=0.95) == np.inf


SHAPES: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "equal": lambda _, m: np.zeros(m),
    "one apart": lambda _, m: np.append(np.zeros(m - 1), 9.0),
    "two groups": lambda _, m: np.arange(m) % 2 * 6.0,
    "close groups": lambda _, m: np.arange(m) % 3 * 2.5,
    "two groups nearer": lambda _, m: np.arange(m) % 2 * 2.0,
    "three groups nearer": lambda _, m: np.arange(m) % 3 * 1.5,
    "normal": lambda rng, m: rng.normal(0.0, 3.0, m),
    "near": lambda rng, m: rng.normal(0.0, 0.3, m),
    "even": lambda _, m: np.arange(m) * 0.8,
    "heavy tails": lambda rng, m: rng.standard_t(2, m),
    "pairs": lambda _, m: np.arange(m) // 2 * 3.0,
}
"""True ratings in standard errors."""


@pytest.mark.parametrize(
    ("shape", "agents"),
    [
        *((shape, 20) for shape in SHAPES),
        *(("equal", agents) for agents in (3, 4, 6)),
        ("close groups", 6),
        ("pairs", 6),
        ("one apart", 6),
        *((shape, agents) for shape in ("two groups nearer", "three groups nearer") for agents in (50, 120)),
    ],
)
def test_all_true_ranks_are_inside_as_often_as_asked_whatever_the_true_ratings_are(shape: str, agents: int) -> None:
    """200 pools with correlated errors. 3 standard errors of 95 % are 4.6 %."""
    held = []
    for seed in range(200):
        rng = np.random.default_rng([seed, agents])
        truth = SHAPES[shape](rng, agents)
        root = np.eye(agents) + rng.normal(0.0, 0.2, (agents, agents))
        low, high = simultaneous_ranks(truth + root @ rng.standard_normal(agents), root @ root.T)
        rank = Ranking.from_scores(truth).rank
        held.append(((low <= rank) & (rank <= high)).all())
    assert np.mean(held) >= 0.95 - 0.046


@pytest.mark.parametrize("groups", [2, 3, 8])
@pytest.mark.parametrize("apart", [0.0, 6.0])
def test_all_true_ranks_are_inside_with_errors_of_few_groups(groups: int, apart: float) -> None:
    """A covariance of few groups, as of a clustered pool: 300 pools. 3 standard errors of 95 % are 3.8 %."""
    truth, held = np.repeat([0.0, apart], 4), []
    rank = Ranking.from_scores(truth).rank
    for seed in range(300):
        found = truth + np.sqrt(groups) * np.random.default_rng([seed, groups]).standard_normal((groups, 8))
        off = (found - found.mean(axis=0)) / np.sqrt(groups * (groups - 1))
        low, high = simultaneous_ranks(found.mean(axis=0), off.T @ off, freedom=groups - 1)
        held.append(((low <= rank) & (rank <= high)).all())
    assert np.mean(held) >= 0.95 - 0.038
