"""Mixes of largest affinity entropy for orders below 1: a conic solver as oracle, a first-order twin, limits, clones."""

import cvxpy as cp
import numpy as np
import pytest

from ratings_core.equilibria.affinity import AffinityTarget, affinity_entropy, affinity_kernel, affinity_targets, most_affine
from ratings_core.errors import InputError, SolverError
from ratings_core.games import NormalForm

ORDERS = (0.05, 0.2, 0.5, 0.9, 1.0)


def kernel_of(seed: int) -> np.ndarray:
    """A Gaussian kernel of up to 20 points, narrow, medium or wide."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(int(rng.integers(2, 21)), 3))
    distances = ((points[:, None] - points) ** 2).sum(axis=2)
    return np.exp(-distances / (2 * (0.3, 1.0, 3.0)[seed % 3]) ** 2)


def twin(kernel: np.ndarray, p: float, steps: int = 20_000) -> np.ndarray:
    """Exponentiated gradient, as readable as it is slow: the gradient of the sum is (p + 1) U'(Ux)^p."""
    U = kernel / (kernel ** (p + 1)).sum(axis=0) ** (1 / (p + 1))
    x = np.full(len(U), 1 / len(U))
    for step in range(steps):
        gradient = U.T @ (U @ x) ** p
        x *= np.exp(-8.0 * (gradient - gradient @ x) / (1 + step / 2_000))
        x /= x.sum()
    return x


@pytest.mark.parametrize("p", ORDERS)
@pytest.mark.parametrize("seed", range(12))
def test_no_mix_of_a_conic_solver_has_a_larger_entropy(seed: int, p: float) -> None:
    kernel = kernel_of(seed)
    found = most_affine(kernel, p=p)
    U = kernel / (kernel ** (p + 1)).sum(axis=0) ** (1 / (p + 1))
    x = cp.Variable(len(U), nonneg=True)
    cp.Problem(cp.Minimize(cp.sum(cp.power(U @ x, p + 1, approx=False))), [cp.sum(x) == 1]).solve(solver=cp.CLARABEL)
    best = np.maximum(np.asarray(x.value), 0.0)
    oracle = affinity_entropy(best / best.sum(), kernel, p)
    assert found.entropy >= oracle - 1e-12
    assert found.entropy == pytest.approx(oracle, abs=1e-6)
    assert found.entropy == pytest.approx(affinity_entropy(found.ratings, kernel, p), abs=1e-12)
    assert found.status == "optimal"
    assert found.certificate.value <= 1e-9


@pytest.mark.parametrize("p", [0.2, 0.5])
@pytest.mark.parametrize("seed", [0, 1, 4])
def test_the_twin_leads_to_the_same_mix(seed: int, p: float) -> None:
    kernel = kernel_of(seed)
    found = most_affine(kernel, p=p)
    assert affinity_entropy(twin(kernel, p), kernel, p) == pytest.approx(found.entropy, abs=1e-6)


@pytest.mark.parametrize("p", ORDERS)
def test_unlike_strategies_share_evenly_and_so_do_clones(p: float) -> None:
    assert most_affine(np.eye(4), p=p).ratings == pytest.approx([0.25] * 4, abs=1e-9)
    member = np.array([0, 1, 1, 1, 2])
    clones = (member[:, None] == member).astype(float)
    assert most_affine(clones, p=p).ratings == pytest.approx([1 / 3, 1 / 9, 1 / 9, 1 / 9, 1 / 3], abs=1e-9)


def test_small_orders_approach_the_mix_of_shannon_s_entropy() -> None:
    """For a kernel that is the identity the entropy of order p is that of Tsallis, whose limit is Shannon's."""
    mix = np.array([0.5, 0.3, 0.2])
    assert affinity_entropy(mix, np.eye(3), 1e-6) == pytest.approx(float(-(mix * np.log(mix)).sum()), abs=1e-5)


def test_targets_of_games_take_the_order() -> None:
    rows = np.random.default_rng(3).normal(size=(6, 4))
    game = NormalForm.of([rows, np.zeros_like(rows)])
    half = affinity_targets(game, AffinityTarget(sigma=0.5, floor=0.0, p=0.5))[0]
    kernel = affinity_kernel(game, 0, AffinityTarget(sigma=0.5))
    assert half == pytest.approx(most_affine(kernel, p=0.5).ratings, abs=1e-12)
    assert np.abs(half - affinity_targets(game, AffinityTarget(sigma=0.5, floor=0.0))[0]).max() > 1e-3
    exact = [affinity_targets(game, AffinityTarget(p=p))[0] for p in (0.5, 1.0)]
    assert (exact[0] == exact[1]).all()


def test_orders_and_limits_are_checked() -> None:
    for p in (0.0, -1.0, 1.5, float("nan")):
        with pytest.raises(InputError, match="p must be"):
            most_affine(np.eye(2), p=p)
        with pytest.raises(InputError, match="p must be"):
            AffinityTarget(p=p)
    with pytest.raises(SolverError, match="does not reach tolerance") as caught:
        most_affine(kernel_of(2), p=0.3, max_seconds=1e-9)  # ends after its first system, whatever the processor rounds to
    assert caught.value.solution.status == "approximate"
    assert most_affine(kernel_of(2), p=0.3, max_seconds=1e-9, accept_approximate=True).status == "approximate"
