"""Normal intervals against the fit's own sandwich, a readable twin by numerical differentiation, and clustered outcomes."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import norm
from scipy.stats import t as student

from ratings_core.analysis.normal_intervals import NORMAL_AGENTS, normal_intervals
from ratings_core.analysis.rank_intervals import simultaneous_ranks
from ratings_core.batch.bradley_terry import BradleyTerryOptions, bradley_terry
from ratings_core.batch.comparisons import Comparisons
from ratings_core.batch.davidson import davidson
from ratings_core.batch.pair_counts import MetPairs
from ratings_core.errors import InputError
from ratings_core.solution import Floats

M = 6
FIRST, SECOND = np.triu_indices(M, 1)


def played(seed: int, games: int, nu: float = 0.0) -> MetPairs:
    """Results of every pair by Davidson's model."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(0.0, 0.7, M)
    half = (theta[FIRST] - theta[SECOND]) / 2
    weights = np.stack([np.exp(half), np.full_like(half, nu), np.exp(-half)], axis=1)
    won, tied, lost = np.array([rng.multinomial(games, one / one.sum()) for one in weights], float).T
    return MetPairs(M, FIRST, SECOND, won, lost, tied)


def log_likelihood(counts: MetPairs, point: Floats) -> Floats:
    """Of one win, tie and loss of each pair (3, pairs), straight from Davidson's equation 2.3."""
    half, eta = (point[counts.first] - point[counts.second]) / 2, point[-1]
    logits = np.stack([half, np.full_like(half, eta), -half])
    return np.asarray(logits - np.log(np.exp(logits).sum(axis=0)), np.float64)


def twin(counts: MetPairs, point: Floats, prior: float) -> Floats:
    """Sandwich covariance (HC2, a share of expected squares, the prior's games): derivatives by central differences.

    Of theta with a prior, else of theta less its mean.
    """
    cells = np.stack([counts.won, counts.tied, counts.lost]).ravel()
    step, n = 1e-4, len(point)
    unit = np.eye(n) * step
    scores = np.array([(log_likelihood(counts, point + one) - log_likelihood(counts, point - one)).ravel() / (2 * step) for one in unit])

    def total(at: Floats) -> float:
        return float(cells @ log_likelihood(counts, at).ravel())

    def mixed(a: Floats, b: Floats) -> float:
        return (total(point + a + b) - total(point + a - b) - total(point - a + b) + total(point - a - b)) / (4 * step**2)

    bread = -np.array([[mixed(a, b) for b in unit] for a in unit])
    less = np.eye(n)
    less[:M, :M] -= 0.0 if prior else 1 / M
    anchors = np.append(prior * expit(point[:M]) * expit(-point[:M]), 0.0)
    inverse = np.linalg.pinv(bread + np.diag(anchors), rcond=1e-6)
    chance = np.exp(log_likelihood(counts, point))
    of_game = np.einsum("ikp,jkp,kp->pij", *[scores.reshape(n, 3, -1)] * 2, chance)
    games = counts.won + counts.tied + counts.lost
    expected = np.einsum("p,pij->pij", games, of_game)
    known = expected.sum(axis=0).diagonal()
    share = 0.5 / (0.5 + np.minimum(known[counts.first], known[counts.second]))
    kept = []
    for pair, (a, b) in enumerate(zip(counts.first, counts.second, strict=True)):
        way = (np.arange(n) == a) * 0.5 - (np.arange(n) == b) * 0.5  # the gap, and log nu
        basis = np.stack([way, np.arange(n) == n - 1])
        gap, both, tie = (basis @ of_game[pair] @ basis.T)[[0, 0, 1], [0, 1, 1]]
        kept.append(1 - (gap - both**2 / tie) * (2 * way @ inverse @ (2 * way)))
    divided = np.vstack([scores[:M] / np.sqrt(np.tile(kept, 3)), scores[M:]])  # scores of theta; no single game decides nu
    meat = (divided * cells * np.tile(1 - share, 3)) @ divided.T + np.einsum("p,pij->ij", share, expected)
    if prior:
        meat += np.diag(anchors) - np.outer(anchors, anchors) / anchors.sum()
    return np.asarray((less @ inverse @ meat @ inverse @ less.T)[:M, :M], np.float64)


@pytest.mark.parametrize("prior", [0.0, 0.5])
def test_bradley_terry_equals_the_sandwich_of_the_fit(prior: float) -> None:
    counts = played(1, 12, nu=0.6)
    fit = bradley_terry(counts, options=BradleyTerryOptions(scale=1.0, centre=0.0, prior=prior, standard_errors="sandwich"))
    found = normal_intervals(counts, fit.ratings, prior=prior)
    assert fit.standard_error is not None
    np.testing.assert_allclose(found.error, fit.standard_error, rtol=1e-9)
    np.testing.assert_allclose(found.high - found.low, 2 * 1.959964 * fit.standard_error, rtol=1e-6)


@pytest.mark.parametrize("prior", [0.0, 2.0])
def test_davidson_equals_the_readable_twin(prior: float) -> None:
    counts = played(2, 15, nu=0.8)
    fit = davidson(counts, options=BradleyTerryOptions(scale=1.0, centre=0.0, prior=prior))
    found = normal_intervals(counts, fit.ratings, nu=fit.nu, prior=prior)
    expected = twin(counts, np.append(fit.ratings, np.log(fit.nu)), prior)
    np.testing.assert_allclose(found.error**2, expected.diagonal(), rtol=1e-4)


@pytest.mark.parametrize("prior", [0.0, 1.0])
def test_groups_of_single_outcomes_equal_the_sandwich_clustered_by_outcome(prior: float) -> None:
    rng, n = np.random.default_rng(4), 60
    games = np.array([rng.permutation(M)[:3] for _ in range(n)])
    pairs = [(0, 1), (0, 2), (1, 2)]
    first, second = (games[:, [pair[side] for pair in pairs]].ravel() for side in (0, 1))
    data = Comparisons(M, first, second, np.ones(3 * n), np.repeat(np.arange(n), 3), np.ones(n))
    fit = bradley_terry(data, options=BradleyTerryOptions(scale=1.0, centre=0.0, prior=prior, standard_errors="clustered"))
    groups = [
        Comparisons(M, first[3 * g : 3 * g + 3], second[3 * g : 3 * g + 3], np.ones(3), np.zeros(3, np.int64), np.ones(1)).counts()
        for g in range(n)
    ]
    found = normal_intervals(data.counts(), fit.ratings, prior=prior, groups=groups)
    assert fit.standard_error is not None
    # n / (n - 1) corrects the actual squares only, not the expected ones
    ratio = found.error / fit.standard_error
    assert (ratio > 1).all()
    assert (ratio <= np.sqrt(n / (n - 1))).all()


def test_ranks_of_agents_far_apart_are_certain_and_of_equal_ones_are_open() -> None:
    certain = simultaneous_ranks(np.array([3.0, 2.0, 1.0]), np.eye(3) * 1e-4)
    assert [side.tolist() for side in certain] == [[1, 2, 3], [1, 2, 3]]
    open_ = simultaneous_ranks(np.array([0.02, 0.01, 0.0]), np.eye(3))
    assert [side.tolist() for side in open_] == [[1, 1, 1], [3, 3, 3]]


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("freedom", [None, 9])
def test_of_two_agents_the_order_is_sure_from_the_quantile_of_the_level_asked_for(level: float, freedom: int | None) -> None:
    critical = np.sqrt(2) * (norm.ppf((1 + level) / 2) if freedom is None else student.ppf((1 + level) / 2, freedom))
    for share, worst in ((0.97, 2), (1.03, 1)):
        low, high = simultaneous_ranks(np.array([0.0, share * critical]), np.eye(2), level=level, freedom=freedom)
        assert (low[1], high[1]) == (1, worst)


@pytest.mark.parametrize("wins", [29, 30, 33, 35])
def test_of_two_agents_the_better_one_is_certain_up_to_the_level_at_which_its_interval_ends_at_the_middle(wins: int) -> None:
    counts = MetPairs(2, np.array([0]), np.array([1]), np.array([float(wins)]), np.array([50.0 - wins]), np.zeros(1))
    half = np.log(wins / (50 - wins)) / 2
    theta = np.array([half, -half])
    edge = 2 * norm.cdf(half / normal_intervals(counts, theta).error[0]) - 1
    for level, worst in ((edge - 0.3 * (1 - edge), 1), (edge + 0.3 * (1 - edge), 2)):
        found = normal_intervals(counts, theta, level=level)
        assert (found.low[0] > 0, found.rank_high[0]) == (worst == 1, worst)


@pytest.mark.parametrize("groups", [2, 5, 20])
def test_with_groups_the_width_is_students_of_one_degree_less_than_groups(groups: int) -> None:
    parts = [played(seed, 20) for seed in range(groups)]
    whole = MetPairs(M, FIRST, SECOND, *(sum(getattr(part, name) for part in parts) for name in ("won", "lost", "tied")))
    theta = bradley_terry(whole, options=BradleyTerryOptions(scale=1.0, centre=0.0)).ratings
    found = normal_intervals(whole, theta, groups=parts, level=0.9)
    assert found.high - theta == pytest.approx(student.ppf(0.95, groups - 1) * found.error)
    assert theta - found.low == pytest.approx(found.high - theta)


def test_agents_of_other_components_and_without_rating_may_be_anywhere() -> None:
    theta, component = np.array([5.0, 1.0, 9.0, np.nan]), np.array([0, 0, 1, 2])
    first, last = simultaneous_ranks(theta, np.eye(4) * 1e-6, component)
    assert (first.tolist(), last.tolist()) == ([1, 2, 1, 1], [3, 4, 4, 4])


def with_a_newcomer(won: int, lost: int, tied: int = 0) -> MetPairs:
    """Six settled agents, and agent 6 with games against agent 0."""
    settled = played(1, 100, nu=0.5)
    games = ((settled.won, won), (settled.lost, lost), (settled.tied, tied))
    # a pair has the agent with the smaller id first: what agent 6 won, agent 0 lost
    won_lost_tied = (np.append(games[i][0], games[j][1]) for i, j in ((0, 1), (1, 0), (2, 2)))
    counts = MetPairs(M + 1, np.append(FIRST, 0), np.append(SECOND, M), *won_lost_tied)
    order = np.lexsort((counts.second, counts.first))
    return MetPairs(M + 1, *(column[order] for column in (counts.first, counts.second, counts.won, counts.lost, counts.tied)))


@pytest.mark.parametrize("method", [bradley_terry, davidson])
@pytest.mark.parametrize(("won", "lost"), [(5, 0), (0, 5), (1, 0), (20, 0)])
def test_a_newcomer_that_won_or_lost_all_games_has_a_wide_interval(method: Any, won: int, lost: int) -> None:
    counts = with_a_newcomer(won, lost)
    fit = method(counts, options=BradleyTerryOptions(scale=1.0, centre=0.0, prior=1.0))
    found = normal_intervals(counts, fit.ratings, nu=getattr(fit, "nu", None), prior=1.0)
    assert found.error[M] > 0.7 > 2 * found.error[:M].max()
    assert found.rank_low[M] < found.rank_high[M]
    if won + lost <= 5:
        assert (found.rank_low[M], found.rank_high[M]) == (1, M + 1)


@pytest.mark.parametrize("method", [bradley_terry, davidson])
def test_a_newcomer_with_one_tied_game_has_a_wide_interval_and_leaves_those_of_others_alone(method: Any) -> None:
    options = BradleyTerryOptions(scale=1.0, centre=0.0)
    counts, settled = with_a_newcomer(0, 0, tied=1), played(1, 100, nu=0.5)
    fit, before = method(counts, options=options), method(settled, options=options)
    found = normal_intervals(counts, fit.ratings - fit.ratings[:M].mean(), nu=getattr(fit, "nu", None))
    apart = normal_intervals(settled, before.ratings, nu=getattr(before, "nu", None))
    assert found.error[M] > 1
    # the mean that is subtracted includes the newcomer, whose error adds to all others
    assert (found.error[:M] <= apart.error + found.error[M] / M).all()


def test_the_interval_of_an_agent_without_games_is_that_of_the_prior() -> None:
    counts = played(1, 100)
    more = MetPairs(M + 1, counts.first, counts.second, counts.won, counts.lost, counts.tied)
    for prior in (0.5, 2.0):
        fit = bradley_terry(more, options=BradleyTerryOptions(scale=1.0, centre=0.0, prior=prior))
        found = normal_intervals(more, fit.ratings, prior=prior)
        own = prior * expit(fit.ratings) * expit(-fit.ratings)
        assert found.error[M] ** 2 == pytest.approx(1 / own[M] - 1 / own.sum())
        assert (found.rank_low[M], found.rank_high[M]) == (1, M + 1)


def test_a_prior_does_not_order_agents_that_no_games_link() -> None:
    """Two pools whose agents are certain inside, far apart by the prior alone, and an agent without games."""
    first, second = np.array([0, 2]), np.array([1, 3])
    counts = MetPairs(5, first, second, np.array([900.0, 600.0]), np.array([100.0, 400.0]), np.zeros(2))
    fit = bradley_terry(counts, options=BradleyTerryOptions(scale=1.0, centre=0.0, prior=1.0))
    found = normal_intervals(counts, fit.ratings, prior=1.0)
    assert np.isfinite(found.error).all()
    assert (found.rank_low.tolist(), found.rank_high.tolist()) == ([1, 2, 1, 2, 1], [4, 5, 4, 5, 5])


def test_agents_that_nobody_compares_may_be_anywhere() -> None:
    first, last = simultaneous_ranks(np.array([1.0, 0.0]), np.eye(2), np.array([0, 1]))
    assert (first.tolist(), last.tolist()) == ([1, 1], [2, 2])


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), games=st.integers(1, 40), nu=st.sampled_from([0.0, 0.5]), prior=st.sampled_from([0.0, 1.0]))
def test_no_interval_excludes_its_estimate(seed: int, games: int, nu: float, prior: float) -> None:
    counts = played(seed, games, nu)
    fit = bradley_terry(counts, options=BradleyTerryOptions(scale=1.0, centre=0.0, prior=prior, unconnected="components"))
    found = normal_intervals(counts, fit.ratings, prior=prior)
    rated = ~np.isnan(fit.ratings)
    rank = 1 + (np.where(rated, fit.ratings, -np.inf)[:, None] < np.where(rated, fit.ratings, -np.inf)).sum(axis=1)
    assert ((found.low <= fit.ratings) & (fit.ratings <= found.high))[rated].all()
    assert ((found.rank_low <= rank) & (rank <= found.rank_high)).all()


def test_ninety_five_percent_intervals_of_ten_games_a_pair_cover_as_often_as_they_say() -> None:
    """500 pools of six agents; 3 standard errors of the share are .013."""
    covered, together = [], []
    for seed in range(500):
        rng = np.random.default_rng(seed)
        truth = rng.normal(0.0, 0.7, M)
        fit = bradley_terry(counts := played(seed, 30), options=BradleyTerryOptions(scale=1.0, centre=0.0))
        found, truth = normal_intervals(counts, fit.ratings), truth - truth.mean()
        covered.append((found.low <= truth) & (truth <= found.high))
        rank = 1 + (truth[:, None] < truth).sum(axis=1)
        together.append(((found.rank_low <= rank) & (rank <= found.rank_high)).all())
    assert 0.935 <= np.mean(covered) <= 0.965
    assert np.mean(together) >= 0.95


def newcomers(rng: np.random.Generator, tied: float) -> tuple[MetPairs, Floats]:
    """Games of 24 settled agents and of eight newcomers with one to five games against these, and the skills.

    tied: number of ties, as a share of the chance of the less probable win; a tie is half a point.
    """
    m, settled = 32, 24
    skill = rng.normal(0.0, 0.7, m)
    games = np.append(rng.integers(10, 51, settled), rng.integers(1, 6, m - settled))
    one = np.repeat(np.arange(m), games)
    other = (one + rng.integers(1, settled, len(one))) % settled
    other[one >= settled] = rng.integers(0, settled, games[settled:].sum())
    first, second = np.minimum(one, other), np.maximum(one, other)
    chance, draw = expit(skill[first] - skill[second]), rng.random(len(one))
    ties = tied * np.minimum(chance, 1 - chance) / 2
    result = np.select([draw < chance - ties, draw < chance + ties], [1.0, 0.5], 0.0)
    comparisons = Comparisons(m, first, second, result, np.arange(len(one)), np.ones(len(one)))
    return comparisons.counts(), skill - skill.mean()


@pytest.mark.parametrize("tied", [0.0, 0.6])
@pytest.mark.parametrize("prior", [0.5, 1.0])
def test_intervals_of_newcomers_and_of_settled_agents_hold_as_often_as_they_say(prior: float, tied: float) -> None:
    """100 pools of 24 settled agents and eight newcomers with one to five games; three standard errors of the share are .014 and .022."""
    covered, extreme, together = [], [], []
    for seed in range(100):
        counts, truth = newcomers(np.random.default_rng(seed), tied)
        fit = bradley_terry(counts, options=BradleyTerryOptions(scale=1.0, centre=0.0, prior=prior))
        found, points = normal_intervals(counts, fit.ratings, prior=prior), counts.per_agent(counts.points, counts.games - counts.points)
        inside = (found.low <= truth) & (truth <= found.high)
        covered.append(inside)
        extreme += inside[(points == 0) | (points == counts.per_agent(counts.games, counts.games))].tolist()
        rank = 1 + (truth[:, None] < truth).sum(axis=1)
        together.append(((found.rank_low <= rank) & (rank <= found.rank_high)).all())
    assert 0.935 <= np.mean([inside[:24] for inside in covered]) <= 0.98
    assert np.mean([inside[24:] for inside in covered]) >= 0.95
    assert np.mean(extreme) >= 0.95
    assert np.mean(together) >= 0.95


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(InputError, match="level"):
        normal_intervals(played(1, 3), np.zeros(M), level=1.0)
    with pytest.raises(InputError, match="at most"):
        normal_intervals(MetPairs(NORMAL_AGENTS + 1, *(np.zeros(0, np.int64),) * 2, *(np.zeros(0),) * 3), np.zeros(NORMAL_AGENTS + 1))


COUNTS = played(1, 3)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("counts", None), ("theta", np.zeros(M + 1)), ("theta", np.full(M, np.inf)), ("nu", -1.0), ("nu", np.nan), ("nu", "one"),
        ("prior", -1.0), ("prior", np.nan), ("groups", [COUNTS]), ("groups", None), ("groups", [COUNTS, None]), ("level", np.nan),
    ],
)  # fmt: skip
def test_an_argument_of_intervals_that_is_out_of_range_is_named(argument: str, value: Any) -> None:
    given: dict[str, Any] = {"counts": COUNTS, "theta": np.zeros(M), "prior": 1.0} | {argument: value}
    with pytest.raises(InputError) as refused:
        normal_intervals(given.pop("counts"), given.pop("theta"), **given)
    assert refused.value.argument.startswith(argument)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("theta", np.zeros((2, 2))), ("theta", "two"), ("covariance", np.eye(3)), ("covariance", np.full((2, 2), np.nan)),
        ("component", [0]), ("component", [0.5, 1.0]), ("level", 0.0), ("level", 1.0), ("level", None), ("freedom", 0), ("freedom", 1.5),
    ],
)  # fmt: skip
def test_an_argument_of_ranks_that_is_out_of_range_is_named(argument: str, value: Any) -> None:
    given: dict[str, Any] = {"theta": np.zeros(2), "covariance": np.eye(2)} | {argument: value}
    with pytest.raises(InputError) as refused:
        simultaneous_ranks(**given)
    assert refused.value.argument.startswith(argument)
