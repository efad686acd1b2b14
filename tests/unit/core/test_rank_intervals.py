"""Intervals of ranks that hold together: readable twins, edges, and simulations of known truth."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ratings_core.analysis.critical_value import critical_value
from ratings_core.analysis.rank_intervals import (
    PAIRED_AGENTS,
    Ends,
    simultaneous_ranks,
    simultaneous_ranks_of_deviations,
    simultaneous_ranks_of_draws,
    simultaneous_ranks_of_errors,
)
from ratings_core.errors import InputError
from ratings_core.ranking import Ranking
from ratings_core.solution import Floats


def ranks_of(ratings: Floats) -> Any:
    return np.array([Ranking.from_scores(row).rank for row in ratings])


def lists(ends: Ends) -> tuple[list[int], list[int]]:
    return ends[0].tolist(), ends[1].tolist()


def twin_of_draws(draws: Floats, ranks: Any, estimate: Floats, level: float, units: int, differences: bool) -> tuple[list[int], list[int]]:
    """Every pair by itself, then the bands of order statistics one after the other, from the widest one."""
    k, m = draws.shape
    known = [i for i in range(m) if np.isfinite(estimate[i]) and np.isfinite(draws[:, i]).all()]
    best, worst = (np.where(np.isin(np.arange(m), known) & (not differences), other, end).tolist() for other, end in ((m, 1), (1, m)))
    if differences and len(known) > 1:
        off = draws[:, known] - estimate[known]
        error = np.sqrt(((off[:, :, None] - off[:, None]) ** 2).sum(axis=0) / (k - 1) * (units / (units - 1) if units else 1))
        own = off - off.mean(axis=1, keepdims=True)
        covariance = own.T @ own / (k - 1) * (units / (units - 1) if units else 1)
        between = np.where(np.eye(len(known)), np.inf, error)
        quantile = critical_value(
            estimate[known], covariance, between, np.zeros(len(known), np.int64), level=level, freedom=min(k, units or k) - 1
        )
        for a, i in enumerate(known):
            for b, j in enumerate(known):
                least = max(error[a, b], 1e-9 * error.max())
                best[i] += bool(estimate[j] - estimate[i] > quantile * least)
                worst[i] -= bool(estimate[i] - estimate[j] > quantile * least)
    ordered, cuts = np.sort(ranks, axis=0), [cut for cut in range((k + 1) // 2) if cut < (1 - level) / 2 * k - 1e-9]
    bands = [(ordered[cut], ordered[k - 1 - cut]) for cut in cuts]
    full = [band for band in bands if ((band[0] <= ranks) & (ranks <= band[1])).all(axis=1).sum() >= min(k, level * (k + 1))]
    low, high = full[-1]
    return np.minimum(best, low).tolist(), np.maximum(worst, high).tolist()


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 10_000), k=st.integers(2, 40), m=st.integers(1, 7), level=st.sampled_from([0.5, 0.8, 0.95]),
    units=st.sampled_from([0, 2, 9]), spread=st.sampled_from([0.0, 0.1, 1.0, 3.0]), whole=st.booleans(), lacking=st.floats(0.0, 0.1),
    differences=st.booleans(),
)  # fmt: skip
def test_intervals_of_draws_are_those_of_the_readable_twin(
    seed: int, k: int, m: int, level: float, units: int, spread: float, whole: bool, lacking: float, differences: bool
) -> None:
    rng = np.random.default_rng(seed)
    estimate = rng.normal(size=m)
    draws = estimate + rng.normal(size=(k, 1)) + spread * rng.normal(size=(k, m))
    if whole:  # many ties, in draws and between them
        estimate, draws = np.round(estimate), np.round(draws)
    draws[rng.random((k, m)) < lacking] = np.nan
    ranks = ranks_of(draws)
    found = simultaneous_ranks_of_draws(draws, ranks, estimate, level=level, units=units, differences=differences)
    assert lists(found) == twin_of_draws(draws, ranks, estimate, level, units, differences)


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 10_000), m=st.integers(1, 9), freedom=st.sampled_from([None, 3]), groups=st.integers(1, 3))
def test_intervals_of_errors_are_those_of_the_readable_twin(seed: int, m: int, freedom: int | None, groups: int) -> None:
    rng = np.random.default_rng(seed)
    theta, error, component = rng.normal(0.0, 5.0, m), rng.random(m), rng.integers(0, groups, m)
    theta[rng.random(m) < 0.2] = np.nan
    rated = np.flatnonzero(~np.isnan(theta))
    tail = 1 - 0.05 / (2 * max(1, len(rated)))
    quantile = stats.norm.ppf(tail) if freedom is None else stats.t.ppf(tail, freedom)
    best, worst = [1] * m, [m] * m
    for i in rated:
        for j in rated:
            sure = component[i] == component[j] and abs(theta[i] - theta[j]) > quantile * (error[i] + error[j])
            best[i] += bool(sure and theta[j] > theta[i])
            worst[i] -= bool(sure and theta[j] < theta[i])
    own = Ranking.from_scores(theta).rank
    expected = np.minimum(best, own).tolist(), np.maximum(worst, own).tolist()
    assert lists(simultaneous_ranks_of_errors(theta, error, component, freedom=freedom)) == expected


def test_many_agents_are_compared_by_their_errors_alone() -> None:
    rng = np.random.default_rng(3)
    theta, deviations = np.linspace(10.0, 0.0, PAIRED_AGENTS + 1), rng.normal(0.0, 0.02, (40, PAIRED_AGENTS + 1))
    own = deviations - deviations.mean(axis=1, keepdims=True)
    found = simultaneous_ranks_of_deviations(theta, deviations, freedom=39)
    assert lists(found) == lists(simultaneous_ranks_of_errors(theta, np.sqrt((own**2).sum(axis=0)), freedom=39))
    pairs = simultaneous_ranks(theta, own.T @ own, freedom=39)
    ratio = (found[1] - found[0] + 1).mean() / (pairs[1] - pairs[0] + 1).mean()
    assert 1.0 < ratio < 1.5, "pairs give narrower intervals"


def test_what_all_agents_share_leaves_no_rank_open() -> None:
    """Tasks that are hard for all of them move all means together."""
    rng = np.random.default_rng(4)
    estimate, shared = np.array([3.0, 2.0, 1.0]), rng.normal(0.0, 50.0, (200, 1))
    draws = estimate + shared + rng.normal(0.0, 0.05, (200, 3))
    assert lists(simultaneous_ranks_of_draws(draws, ranks_of(draws), estimate)) == ([1, 2, 3], [1, 2, 3])


def test_a_single_agent_is_the_first() -> None:
    assert lists(simultaneous_ranks_of_draws(np.array([[1.0], [2.0]]), np.array([[1], [1]]))) == ([1], [1])
    assert lists(simultaneous_ranks_of_errors(np.zeros(1), np.ones(1))) == ([1], [1])


def test_agents_that_tie_in_all_draws_share_the_better_rank() -> None:
    draws = np.tile([2.0, 1.0, 1.0], (30, 1))
    assert lists(simultaneous_ranks_of_draws(draws, ranks_of(draws), draws[0])) == ([1, 2, 2], [1, 3, 3])


def test_without_any_spread_all_ranks_are_certain() -> None:
    draws = np.tile([3.0, 2.0, 1.0], (30, 1))
    assert lists(simultaneous_ranks_of_draws(draws, ranks_of(draws), draws[0])) == ([1, 2, 3], [1, 2, 3])


@pytest.mark.parametrize("k", [40, 63, 64, 200])
def test_no_interval_is_narrower_than_the_central_draws_of_its_agent(k: int) -> None:
    rng = np.random.default_rng(k)
    ranks = ranks_of(np.round(rng.normal([3.0, 2.5, 1.0, 0.0], 0.7, (k, 4))))
    low, high = simultaneous_ranks_of_draws(-ranks.astype(float), ranks, differences=False)
    first, last = np.quantile(ranks, [0.025, 0.975], axis=0, method="inverted_cdf")
    assert ((low <= first) & (last <= high)).all()


def test_a_pair_that_one_draw_of_few_reverses_is_open() -> None:
    """Deviations say that the order is certain, because ratings hardly move; nine draws of ten agree."""
    draws = np.tile([2.0, 1.0], (10, 1))
    draws[0] = [1.0, 1.0001]
    assert lists(simultaneous_ranks_of_draws(draws, ranks_of(draws), np.array([20.0, 1.0]))) == ([1, 1], [2, 2])


def test_an_agent_that_one_draw_does_not_rate_may_have_any_rank() -> None:
    draws = np.tile([3.0, 2.0, 1.0], (30, 1))
    draws[7, 1] = np.nan
    assert lists(simultaneous_ranks_of_draws(draws, ranks_of(draws))) == ([1, 1, 2], [2, 3, 3])
    unrated = np.array([3.0, np.nan, 1.0])
    assert lists(simultaneous_ranks_of_draws(np.nan_to_num(draws), ranks_of(draws), unrated)) == ([1, 1, 2], [2, 3, 3])


@pytest.mark.parametrize("spread", [0.0, 0.3, 2.0], ids=["equal", "near", "apart"])
@pytest.mark.parametrize("agents", [5, 20])
def test_all_true_ranks_are_inside_as_often_as_asked_however_close_agents_are(spread: float, agents: int) -> None:
    """Means of 25 measurements, and 64 bootstrap draws of them. 200 pools; 3 standard errors of 95 % are 4.6 %."""
    held = []
    for seed in range(200):
        rng = np.random.default_rng([seed, agents])
        truth = rng.normal(0.0, spread, agents)
        data = truth + rng.normal(0.0, 1.0, (25, 1)) + rng.normal(0.0, 1.0, (25, agents))
        draws = data[rng.integers(0, 25, (64, 25))].mean(axis=1)
        low, high = simultaneous_ranks_of_draws(draws, ranks_of(draws), data.mean(axis=0), units=25)
        rank = Ranking.from_scores(truth).rank
        held.append(((low <= rank) & (rank <= high)).all())
    assert np.mean(held) >= 0.95 - 0.046


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("draws", np.zeros(3)), ("draws", np.zeros((1, 3))), ("draws", np.full((2, 3), np.inf)), ("ranks", np.ones((2, 2), np.int64)),
        ("draws", np.zeros((2, 0))), ("ranks", np.ones((2, 3))), ("ranks", np.zeros((2, 3), np.int64)), ("ranks", np.full((2, 3), 4)),
        ("estimate", np.zeros(2)), ("estimate", np.full(3, np.inf)), ("level", 1.0), ("units", 1),
        ("units", -1),
    ],
)  # fmt: skip
def test_an_argument_of_draws_that_is_out_of_range_is_named(argument: str, value: Any) -> None:
    given: dict[str, Any] = {"draws": np.zeros((2, 3)), "ranks": np.ones((2, 3), np.int64), "estimate": np.zeros(3)} | {argument: value}
    with pytest.raises(InputError) as refused:
        simultaneous_ranks_of_draws(given.pop("draws"), given.pop("ranks"), given.pop("estimate"), **given)
    assert refused.value.argument == argument


@pytest.mark.parametrize(
    ("argument", "value"),
    [("error", np.ones(2)), ("error", -np.ones(3)), ("error", np.full(3, np.nan)), ("component", [0]), ("freedom", 0), ("level", 0.0)],
)
def test_an_argument_of_errors_that_is_out_of_range_is_named(argument: str, value: Any) -> None:
    given: dict[str, Any] = {"theta": np.zeros(3), "error": np.ones(3)} | {argument: value}
    with pytest.raises(InputError) as refused:
        simultaneous_ranks_of_errors(**given)
    assert refused.value.argument == argument
