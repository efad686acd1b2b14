"""The likeliest distributions of true ratings: readable twins, other optimizers, solutions in closed form, and the certificate."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import minimize

from ratings_core.analysis import priors
from ratings_core.analysis.priors import Mixture, likeliest_mixture, likeliest_normal
from ratings_core.errors import InputError, SolverError
from ratings_core.solution import Floats


def measured(seed: int, m: int, spread: float) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    error = rng.uniform(0.2, 1.0, m)
    return spread * rng.standard_t(3, m) + error * rng.standard_normal(m), error


def mean_log_likelihood(ratings: Floats, error: Floats, atoms: Floats, weights: Floats) -> float:
    return float(np.log(np.exp(-0.5 * ((ratings[:, None] - atoms) / error[:, None]) ** 2) @ weights).mean())


def twin(ratings: Floats, error: Floats) -> float:
    """Largest mean log-likelihood that 5,000 steps of expectation and maximization reach on 200 places."""
    places = np.linspace(ratings.min(), ratings.max(), 200)
    likelihood, weights = np.exp(-0.5 * ((ratings[:, None] - places) / error[:, None]) ** 2), np.full(200, 1 / 200)
    for _ in range(5_000):
        posterior = likelihood * weights
        weights = (posterior / posterior.sum(axis=1, keepdims=True)).mean(axis=0)
    return mean_log_likelihood(ratings, error, places, weights)


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 10_000), m=st.integers(1, 60), spread=st.sampled_from([0.0, 0.1, 1.0, 30.0, 1e6]), copies=st.booleans(),
    unit=st.sampled_from([1e-150, 1.0, 1e150]),
)  # fmt: skip
def test_the_certificate_holds_for_any_ratings(seed: int, m: int, spread: float, copies: bool, unit: float) -> None:
    ratings, error = measured(seed, m, spread)
    if copies:
        ratings = np.round(ratings)
    found = likeliest_mixture(unit * ratings, unit * error)
    assert 0 <= found.gap <= 1e-4
    assert found.weights.sum() == pytest.approx(1.0)
    assert (found.weights > 0).all()
    assert (np.diff(found.atoms) > 0).all()
    joint = np.exp(-0.5 * ((unit * ratings[:, None] - found.atoms) / (unit * error[:, None])) ** 2) * found.weights
    np.testing.assert_allclose(found.posterior, joint / joint.sum(axis=1, keepdims=True), rtol=1e-9, atol=1e-300)
    if spread <= 0.1:  # steps of the grid are small beside the errors
        places = np.linspace(ratings.min(), ratings.max(), 97)
        density = np.exp(-0.5 * ((ratings[:, None] - places) / error[:, None]) ** 2)
        assert (density / joint.sum(axis=1, keepdims=True)).mean(axis=0).max() <= 1 + 0.002, "also between the places of the grid"


@pytest.mark.parametrize("seed", range(4))
def test_it_is_as_likely_as_that_of_the_readable_twin(seed: int) -> None:
    ratings, error = measured(seed, 25, 1.0)
    found = likeliest_mixture(ratings, error)
    ours = mean_log_likelihood(ratings, error, found.atoms, found.weights)
    assert found.log_likelihood == pytest.approx(25 * ours - np.log(error).sum())
    assert -2e-4 < ours - twin(ratings, error) < 2e-3


@pytest.mark.parametrize("seed", range(3))
def test_no_weights_that_scipy_finds_are_likelier(seed: int) -> None:
    ratings, error = measured(seed, 15, 1.0)
    found = likeliest_mixture(ratings, error)
    places = np.linspace(ratings.min(), ratings.max(), 31)
    theirs = minimize(
        lambda weights: -mean_log_likelihood(ratings, error, places, np.maximum(weights, 1e-12)),
        np.full(31, 1 / 31), method="SLSQP", bounds=[(0, 1)] * 31, constraints={"type": "eq", "fun": lambda weights: weights.sum() - 1},
        options={"maxiter": 500},
    )  # fmt: skip
    assert mean_log_likelihood(ratings, error, found.atoms, found.weights) >= -theirs.fun - found.gap


@pytest.mark.parametrize("half", [0.5, 0.99, 1.05, 1.5, 3.0])
def test_two_ratings_have_the_atoms_of_the_closed_form(half: float) -> None:
    """Of -a and a with errors of 1, one atom up to a = 1; then -b and b, where b = a tanh(a b)."""
    found = likeliest_mixture(np.array([-half, half]), np.ones(2))
    if half <= 1:
        assert found.atoms == pytest.approx([0.0], abs=1e-9)
        return
    b = half
    for _ in range(1_000):
        b = half * np.tanh(half * b)
    assert float(found.weights @ np.abs(found.atoms)) == pytest.approx(b, abs=half / 100)
    assert float(found.weights @ found.atoms) == pytest.approx(0.0, abs=half / 100)


def test_a_mixture_that_misses_its_tolerance_is_an_error_with_the_mixture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(priors, "_ITERATIONS", 0)
    with pytest.raises(SolverError, match="gap of the mean log-likelihood") as refused:
        likeliest_mixture(*measured(1, 30, 1.0))
    assert isinstance(refused.value.solution, Mixture)
    assert refused.value.solution.gap > 1e-4


def test_groups_that_are_far_apart_have_atoms_of_their_own() -> None:
    rng = np.random.default_rng(1)
    found = likeliest_mixture(np.repeat([0.0, 50.0], 40) + 0.5 * rng.standard_normal(80), np.ones(80))
    assert found.weights == pytest.approx([0.5, 0.5])
    drawn = found.draws(np.random.default_rng(0), 30)
    assert (drawn[:, :40] == found.atoms[0]).all()
    assert (drawn[:, 40:] == found.atoms[1]).all()


def test_draws_follow_the_posterior() -> None:
    found = Mixture(
        atoms=np.array([1.0, 2.0, 5.0]),
        weights=np.full(3, 1 / 3),
        posterior=np.array([[0.2, 0.5, 0.3], [0.0, 0.0, 1.0]]),
        log_likelihood=0.0,
        gap=0.0,
    )
    drawn = found.draws(np.random.default_rng(0), 4_000)
    assert [float((drawn[:, 0] == atom).mean()) for atom in found.atoms] == pytest.approx([0.2, 0.5, 0.3], abs=0.03)
    assert (drawn[:, 1] == 5.0).all()


def test_draws_of_many_atoms_need_no_array_of_draws_and_agents_and_atoms() -> None:
    """It would be 1 GB."""
    m = 1_000
    found = likeliest_mixture(np.arange(m) * 50.0, np.ones(m))
    assert len(found.atoms) == m
    tracemalloc.start()
    drawn = found.draws(np.random.default_rng(0), 1_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (drawn == found.atoms).all()
    assert peak < 1e8


def test_an_error_that_is_tiny_beside_the_others_keeps_its_rating() -> None:
    found = likeliest_mixture(np.array([0.0, 0.1, 0.7]), np.array([1.0, 1e-9, 1.0]))
    assert float(found.draws(np.random.default_rng(0), 1)[0, 1]) == 0.1


def normal_log_likelihood(ratings: Floats, error: Floats, mean: float, variance: float) -> float:
    return float(stats.norm.logpdf(ratings, mean, np.sqrt(error**2 + variance)).sum() + len(ratings) * np.log(2 * np.pi) / 2)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("spread", [0.0, 0.3, 1.0, 100.0])
def test_no_normal_distribution_that_scipy_finds_is_likelier(seed: int, spread: float) -> None:
    ratings, error = measured(seed, 15, spread)
    found = likeliest_normal(ratings, error)
    assert found.log_likelihood == pytest.approx(normal_log_likelihood(ratings, error, found.mean, found.variance))
    for start in (0.01, 1.0, 100.0):
        theirs = minimize(
            lambda at: -normal_log_likelihood(ratings, error, at[0], np.exp(at[1])), [ratings.mean(), np.log(start)], method="Nelder-Mead"
        )
        assert found.log_likelihood >= -theirs.fun - 0.01


def test_equal_errors_have_the_normal_distribution_of_the_closed_form() -> None:
    """The variance of the ratings less that of an error; means shrink by the rest of it (Efron and Morris 1973)."""
    ratings = np.random.default_rng(1).normal(3.0, 2.0, 50)
    found = likeliest_normal(ratings, np.ones(50))
    assert found.mean == pytest.approx(ratings.mean())
    assert found.variance == pytest.approx(ratings.var() - 1, rel=0.05)
    kept = found.variance / (1 + found.variance)
    assert found.center == pytest.approx(ratings.mean() + kept * (ratings - ratings.mean()))
    assert found.deviation == pytest.approx(np.full(50, np.sqrt(kept)))
    drawn = found.draws(np.random.default_rng(0), 4_000)
    assert drawn.mean(axis=0) == pytest.approx(found.center, abs=0.08)
    assert drawn.std(axis=0) == pytest.approx(found.deviation, rel=0.08)


def test_ratings_closer_than_their_errors_are_equal() -> None:
    found = likeliest_normal(np.array([0.1, 0.0, -0.1]), np.ones(3))
    assert found.variance == 0.0
    assert found.center == pytest.approx(np.zeros(3))
    assert (found.deviation == 0).all()


@pytest.mark.parametrize("likeliest", [likeliest_mixture, likeliest_normal])
@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("ratings", np.zeros(0)), ("ratings", np.zeros((2, 2))), ("ratings", np.array([0.0, np.nan])), ("ratings", "two"),
        ("error", np.zeros(2)), ("error", np.ones(3)), ("error", np.array([1.0, np.inf])), ("error", -np.ones(2)),
    ],
)  # fmt: skip
def test_an_argument_that_is_out_of_range_is_named(likeliest: Callable[..., object], argument: str, value: Any) -> None:
    with pytest.raises(InputError) as refused:
        likeliest(**{"ratings": np.zeros(2), "error": np.ones(2)} | {argument: value})
    assert refused.value.argument.startswith(argument)
