"""Potentials, rotations and latent skills: published numbers, a dense twin, laws, and the share of cycles in simulated pools."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.linalg import schur as lapack_schur

from ratings_core.analysis.cyclicity import cyclicity
from ratings_core.analysis.hodge import hodge
from ratings_core.analysis.schur import schur
from ratings_core.errors import InputError, SolverError
from ratings_core.tallies.pair_counts import PairCounts

F = json.loads((Path(__file__).parents[2] / "golden" / "nash_averaging" / "appendixF.json").read_text())
CASES = {name: np.array(F[name]) for name in "TC"}


def flows(seed):
    """A flow on a random graph of 1 to 8 agents, with weights."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 9))
    W = np.triu(rng.integers(1, 5, (m, m)) * (rng.random((m, m)) < rng.choice([0.2, 0.5, 1.0])), 1).astype(float)
    Y = np.triu(rng.normal(size=(m, m)), 1) * (W > 0)
    return Y - Y.T, W + W.T


@pytest.mark.parametrize("name", ["T", "C"])
def test_appendix_f_of_balduzzi(name):
    found = hodge(CASES[name])
    assert found.ratings == pytest.approx(F[f"div_{name}"], abs=1e-9)
    assert found.share == pytest.approx({"T": 0, "C": 1}[name], abs=1e-9)
    assert schur(CASES[name]).strength == pytest.approx([F["eig_imag_abs"][name]], abs=1e-9)


def test_on_a_complete_graph_potentials_are_row_means_and_rot_is_the_mean_curl():
    rng = np.random.default_rng(0)
    U = np.triu(rng.normal(size=(6, 6)), 1)
    A = U - U.T
    found = hodge(A)
    curl = A[:, :, None] + A[None, :, :] + A.T[:, None, :]  # A(a, b) + A(b, c) + A(c, a)
    assert found.ratings == pytest.approx(A.mean(axis=1), abs=1e-12)
    assert found.rotation == pytest.approx(curl.mean(axis=2)[found.first, found.second], abs=1e-12)


@given(st.integers(0, 2**32))
def test_potentials_are_those_of_dense_least_squares(seed):
    Y, W = flows(seed)
    found = hodge(sparse.csr_array(Y), sparse.csr_array(W))
    first, second = np.nonzero(np.triu(W, 1))
    design = np.zeros((len(first), len(Y)))
    design[np.arange(len(first)), first], design[np.arange(len(first)), second] = 1, -1
    root = np.sqrt(W[first, second])
    least, *_ = np.linalg.lstsq(design * root[:, None], root * Y[first, second])  # the shortest one has mean 0 in each component
    assert found.ratings == pytest.approx(least, abs=1e-9)
    assert found.freedom == len(first) - (np.linalg.matrix_rank(design) if len(first) else 0)
    assert found.cyclic_energy == pytest.approx(float(W[first, second] @ (Y[first, second] - design @ least) ** 2), abs=1e-9)
    assert found.certificate.value <= 1e-9
    assert hodge(Y, W).ratings == pytest.approx(found.ratings)


@given(st.integers(0, 2**32))
def test_energy_parts_without_cross_terms_and_ratings_make_no_cycles(seed):
    Y, W = flows(seed)
    found = hodge(Y, W)
    gradient = found.flow - found.rotation
    assert found.energy == pytest.approx(found.cyclic_energy + float(found.weight @ gradient**2))
    r = np.random.default_rng(seed).normal(size=len(Y))
    assert hodge(np.subtract.outer(r, r) * (W > 0), W).cyclic_energy == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("unit", [1e-300, 1e-160, 1e140])
def test_the_unit_of_the_flow_is_the_unit_of_its_potentials(unit):
    Y, W = flows(3)
    assert hodge(Y * unit, W).ratings / unit == pytest.approx(hodge(Y, W).ratings, rel=1e-9, abs=1e-12)


def test_a_forest_says_nothing_of_cycles():
    path = np.diag(np.ones(3), 1) - np.diag(np.ones(3), -1)
    found = hodge(sparse.csr_array(path))
    assert found.share is None
    assert "forest" in found.reason
    assert "noise" in hodge(CASES["C"], noise=10.0).reason
    assert hodge(CASES["C"]).reason is None


def test_noise_alone_has_no_share_on_average():
    rng = np.random.default_rng(1)
    r, energy, cyclic = np.arange(12.0), 0.0, 0.0
    for _ in range(200):
        U = np.triu(np.subtract.outer(r, r) + 2 * rng.normal(size=(12, 12)), 1)
        found = hodge(U - U.T, noise=4.0)
        cyclic += found.cyclic_energy - 4 * found.freedom
        energy += found.energy - 4 * len(found.first)
    assert abs(cyclic / energy) < 0.005


def test_what_no_solver_reaches_is_an_error_that_carries_it(monkeypatch):
    monkeypatch.setattr("scipy.sparse.linalg.cg", lambda matrix, source, **_: (np.zeros_like(source), 1))
    assert hodge(CASES["T"]).ratings == pytest.approx(F["div_T"])  # factored instead
    monkeypatch.setattr("scipy.sparse.linalg.cg", lambda matrix, source, **_: (np.zeros_like(source), 0))
    with pytest.raises(SolverError, match="divergence") as caught:
        hodge(CASES["T"])
    assert caught.value.solution.status == "approximate"


@pytest.mark.parametrize(
    ("flow", "weight", "words"),
    [
        ([[0, 1], [1, 0]], None, "flow"),
        ([[0, 1], [-1, 0]], [[0, 1], [2, 0]], "weight"),
        ([[0, 1], [-1, 0]], [[0, -1], [-1, 0]], "weight"),
        ([[0, 1], [-1, 0]], [[0, 0], [0, 0]], r"flow\[0, 1\] must be 0"),
        ([[0, 1], [-1, 0]], [[1.0]], "shape"),
        ([[0, np.nan], [np.nan, 0]], None, "flow"),
    ],
)
def test_bad_flows_are_refused(flow, weight, words):
    with pytest.raises(InputError, match=words):
        hodge(np.array(flow, float), None if weight is None else np.array(weight, float))


@given(st.integers(0, 2**32))
def test_skills_put_the_matrix_together_and_have_the_strengths_of_lapack(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 9))
    U = np.triu(rng.integers(-3, 4, (m, m)), 1).astype(float)
    A = U - U.T
    found = schur(A)
    assert found.matrix() == pytest.approx(A, abs=1e-9)
    assert found.certificate.value <= 1e-12
    blocks = lapack_schur(A)[0]
    strengths = np.abs(np.diag(blocks, 1))
    assert found.strength == pytest.approx(np.sort(strengths[strengths > 1e-9])[::-1], abs=1e-9)
    basis = np.hstack([found.forward, found.across])
    assert basis.T @ basis == pytest.approx(np.eye(basis.shape[1]), abs=1e-9)
    assert found.forward.sum(axis=0) == pytest.approx(np.zeros(len(found.strength)), abs=1e-6)


def test_transitive_agents_lie_on_a_line_and_cyclic_ones_on_a_circle():
    line, circle = schur(CASES["T"]), schur(CASES["C"])
    assert np.ptp(line.across) == pytest.approx(0, abs=1e-12)
    assert np.hypot(circle.forward, circle.across) == pytest.approx(np.full((4, 1), np.sqrt(0.5)))
    assert line.share == pytest.approx([1])


def test_one_plane_is_the_nearest_matrix_of_rank_two():
    A = 3 * CASES["T"] + 0.1 * CASES["C"]
    found = schur(A)
    left, s, right = np.linalg.svd(A)
    assert found.matrix(1) == pytest.approx((left[:, :2] * s[:2]) @ right[:2])


def pool(m, games, skill, cyclic, seed):
    """Bradley-Terry results of all pairs plus a part that goes round."""
    rng = np.random.default_rng(seed)
    a, b = (ids.astype(np.int32) for ids in np.triu_indices(m, 1))
    r, angle = skill * rng.normal(size=m), 2 * np.pi * rng.random(m)
    p = 1 / (1 + np.exp(-(r[a] - r[b] + cyclic * np.sin(angle[a] - angle[b]))))
    won = rng.binomial(games, p).astype(float)
    return PairCounts(a, b, won, games - won, np.zeros(len(a)))


def test_cyclicity_sees_cycles_and_not_a_strong_field():
    assert np.mean([cyclicity(pool(30, 50, 2.0, 0.0, seed), 30).share for seed in range(5)]) < 0.01
    assert np.mean([cyclicity(pool(30, 50, 0.0, 2.0, seed), 30).share for seed in range(5)]) > 0.8


def test_cyclicity_of_a_chain_is_unknown():
    chain = PairCounts(*(np.array(ids, np.int32) for ids in ([0, 1], [1, 2])), *(np.array(x, float) for x in ([3, 2], [1, 2], [0, 0])))
    assert cyclicity(chain, 3).share is None
