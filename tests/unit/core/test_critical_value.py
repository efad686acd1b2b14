"""The critical value of rank intervals: a readable twin, values in closed form, and simulations of known truth of many shapes."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ratings_core.analysis.critical_value import critical_value, needed_values
from ratings_core.analysis.rank_intervals import simultaneous_ranks
from ratings_core.ranking import Ranking
from ratings_core.solution import Floats


def errors_of(covariance: Floats) -> Floats:
    spread = covariance.diagonal()
    error = np.sqrt(spread + spread[:, None] - 2 * covariance)
    np.fill_diagonal(error, np.inf)
    return error


def value_of(theta: Floats, covariance: Floats, level: float = 0.95, freedom: int | None = None) -> float:
    return critical_value(theta, covariance, errors_of(covariance), np.zeros(len(theta), np.int64), level=level, freedom=freedom)


def twin(truth: Floats, measured: Floats, error: Floats) -> float:
    """Try all values at which a difference stops being sure, from the smallest one."""
    agents = range(len(truth))
    compared = [(i, j) for i in agents for j in agents if np.isfinite(error[i, j])]
    for value in sorted({0.0, *(abs(measured[i] - measured[j]) / error[i, j] for i, j in compared)}):
        held = True
        for i in agents:
            others = [j for j in agents if (i, j) in compared]
            best = sum((measured[j] - measured[i]) / error[i, j] > value for j in others)
            worst = sum((measured[i] - measured[j]) / error[i, j] > value for j in others)
            held &= best <= sum(truth[j] > truth[i] for j in others) and worst <= sum(truth[j] < truth[i] for j in others)
        if held:
            return float(value)
    raise AssertionError("nothing is sure above the largest difference")


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10_000), m=st.integers(1, 7), ties=st.booleans(), components=st.integers(1, 3))
def test_the_value_that_a_simulation_needs_is_that_of_the_readable_twin(seed: int, m: int, ties: bool, components: int) -> None:
    rng = np.random.default_rng(seed)
    truth, label = rng.normal(size=(4, m)), rng.integers(0, components, m)
    if ties:
        truth = np.round(truth)
    measured, error = truth + rng.normal(size=(4, m)), rng.uniform(0.5, 1.5, (m, m))
    error = np.where((label[:, None] == label) & ~np.eye(m, dtype=bool), error + error.T, np.inf)
    found = needed_values(truth, measured, error)
    assert found == pytest.approx([twin(*one, error) for one in zip(truth, measured, strict=True)], rel=1e-12)


@pytest.mark.parametrize("agents", [4, 10, 40])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_equal_agents_need_the_studentized_range(agents: int, level: float) -> None:
    """Four fifths of 1 minus the level are for the simulations. The range is that of independent errors of one size."""
    expected = stats.studentized_range.ppf(1 - 0.8 * (1 - level), agents, np.inf) / np.sqrt(2)
    bound = -stats.norm.ppf((1 - level) / (agents * (agents - 1)))
    assert value_of(np.zeros(agents), np.eye(agents), level) == pytest.approx(min(expected, bound), rel=0.03)


def test_agents_that_are_surely_apart_need_no_value() -> None:
    assert value_of(np.arange(8) * 50.0, np.eye(8)) == 0.0


def test_groups_of_equal_agents_need_the_range_within_the_groups() -> None:
    theta = np.repeat([0.0, 100.0, 200.0], 6)
    expected = stats.studentized_range.ppf(0.96 ** (1 / 3), 6, np.inf) / np.sqrt(2)
    assert value_of(theta, np.eye(18)) == pytest.approx(expected, rel=0.03)


def test_ratings_spread_evenly_need_less_than_equal_ones_and_more_than_a_single_difference() -> None:
    rng = np.random.default_rng(2)
    theta = rng.normal(0.0, 5.0, 120)
    needed, equal = value_of(theta + rng.normal(size=120), np.eye(120)), value_of(np.zeros(120), np.eye(120))
    assert 2.5 < needed < 0.88 * equal


def test_what_all_ratings_share_changes_nothing() -> None:
    theta = np.random.default_rng(3).normal(0.0, 3.0, 12)
    alone, shared = value_of(theta, np.eye(12)), value_of(theta + 7.0, np.eye(12) + 100.0)
    assert shared == pytest.approx(alone, rel=0.02)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000), m=st.integers(2, 12), spread=st.sampled_from([0.0, 1.0, 5.0]), rank=st.integers(1, 12),
    level=st.sampled_from([0.5, 0.9, 0.95, 0.999]), freedom=st.sampled_from([None, 1, 5, 60]), unit=st.sampled_from([2.0**-200, 2.0**200]),
)  # fmt: skip
def test_no_value_exceeds_bonferronis_and_units_do_not_matter(
    seed: int, m: int, spread: float, rank: int, level: float, freedom: int | None, unit: float
) -> None:
    rng = np.random.default_rng(seed)
    theta, root = spread * rng.normal(size=m), rng.normal(size=(m, rank))
    found, tail = value_of(theta, root @ root.T, level, freedom), (1 - level) / (m * (m - 1))
    assert 0 <= found <= (-stats.norm.ppf(tail) if freedom is None else -stats.t.ppf(tail, freedom)) * (1 + 1e-9)
    assert value_of(unit * theta, unit**2 * root @ root.T, level, freedom) == pytest.approx(found, rel=1e-6)


def test_levels_beyond_the_simulations_have_bonferronis_value() -> None:
    assert value_of(np.zeros(5), np.eye(5), 0.9999) == pytest.approx(-stats.norm.ppf(0.0001 / 20))


def test_agents_that_are_not_compared_need_none() -> None:
    assert critical_value(np.zeros(2), np.eye(2), np.full((2, 2), np.inf), np.arange(2), level=0.95) == np.inf


SHAPES: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "equal": lambda _, m: np.zeros(m),
    "one apart": lambda _, m: np.append(np.zeros(m - 1), 9.0),
    "two groups": lambda _, m: np.arange(m) % 2 * 6.0,
    "close groups": lambda _, m: np.arange(m) % 3 * 2.5,
    "normal": lambda rng, m: rng.normal(0.0, 3.0, m),
    "near": lambda rng, m: rng.normal(0.0, 0.3, m),
    "even": lambda _, m: np.arange(m) * 0.8,
    "heavy tails": lambda rng, m: rng.standard_t(2, m),
}
"""True ratings in standard errors."""


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("agents", [3, 20])
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
