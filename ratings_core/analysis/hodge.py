"""Combinatorial Hodge decomposition of a flow on a sparse or complete graph into a transitive and a cyclic part.

A flow is an antisymmetric matrix that states by how much a is ahead of b. Its transitive part is the closest matrix of differences of
potentials, r(a) - r(b), by weighted least squares. The rest has divergence 0 and is the cyclic part (Jiang et al. 2011; Balduzzi et al.
2018, sec. 2 and app. B, for complete graphs, where the potentials are the flow's row means `div` and the rest is `rot`).
"""

import time
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import scipy
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.checks import Sparse
from ratings_core.errors import InputError, SolverError
from ratings_core.graphs import weak_components
from ratings_core.solution import Certificate, Floats, Solution, Status

Ids = NDArray[np.int64]

TOLERANCE: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Hodge(Solution):
    """ratings: the potentials, in the flow's unit, with mean 0 in each component.

    first, second: int64 (edges,), first < second; flow, rotation: (edges,), the given flow of first over second, and its cyclic part;
    weight: (edges,). component: int64 (m,), label of each agent's connected component. energy: sum of weight * flow**2; cyclic_energy: sum
    of weight * rotation**2. freedom: E - V + c (edges, agents, components), the number of independent cycles. noise: variance of an edge's
    flow times its weight, as given.

    share: cyclic energy divided by energy, after subtracting the expected noise (noise * freedom and noise * edges), limited to 0..1. None
    if it is not identifiable: a forest has no cycles, or noise can explain the full flow.
    certificate (``divergence``): the largest divergence of weight * rotation at an agent, divided by the largest sum of |weight * flow|
    over the edges of an agent.
    """

    first: Ids
    second: Ids
    flow: Floats
    rotation: Floats
    weight: Floats
    component: Ids
    energy: float
    cyclic_energy: float
    freedom: int
    noise: float
    share: float | None

    @property
    def reason(self) -> str | None:
        """Reason why `share` is None; None if there is a share."""
        if self.share is not None:
            return None
        return "the graph is a forest: no cycle was observed" if not self.freedom else "noise explains the whole flow"


def hodge(flow: Any, weight: Any = None, *, noise: float = 0.0, accept_approximate: bool = False) -> Hodge:
    """Decompose `flow` (m, m), antisymmetric, dense or any scipy sparse array.

    weight: (m, m), symmetric, nonnegative, dense or sparse: precision of each pair's flow, 0 for a pair that never met (its flow must be
    0). Without weights, every pair of a dense flow, and every pair with a nonzero entry of a sparse flow, has weight 1. noise: the variance
    of each flow times its weight, 0 for exact flows. accept_approximate: return a result above the tolerance instead of raising an error.

    The potentials are solved by conjugate gradients, or by a sparse factorisation if these do not converge. Raises `InputError`, and
    `SolverError` if the divergence is above 1e-9.
    """
    begun = time.perf_counter()
    checks.switch("accept_approximate", accept_approximate)
    least = checks.number("noise", noise, low=0.0)
    m, first, second, y, w = _edges(flow, weight)
    component = weak_components(first, second, m)
    potentials, steps = _potentials(m, first, second, y, w, component)
    rotation = y - (potentials[first] - potentials[second])
    energy, cyclic = float(w @ y**2), float(w @ rotation**2)
    freedom = len(first) - m + int(component.max()) + 1
    divergence = _divergence(m, first, second, y, w, rotation)
    decomposition = Hodge(
        ratings=potentials,
        certificate=Certificate("divergence", divergence),
        status=Status.OPTIMAL if divergence <= TOLERANCE else Status.APPROXIMATE,
        seconds=time.perf_counter() - begun,
        stats={"iterations": steps, "edges": len(first), "components": int(component.max()) + 1},
        first=first,
        second=second,
        flow=y,
        rotation=rotation,
        weight=w,
        component=component,
        energy=energy,
        cyclic_energy=cyclic,
        freedom=freedom,
        noise=least,
        share=_share(energy - least * len(first), cyclic - least * freedom, freedom),
    )
    if decomposition.status is Status.OPTIMAL or accept_approximate:
        return decomposition
    reached = f"the cyclic flow has a divergence of {divergence:.3g}, more than {TOLERANCE:g}"
    raise SolverError(f"{reached}; rescale weights of very different size", decomposition)


def _share(energy: float, cyclic: float, freedom: int) -> float | None:
    return min(1.0, max(0.0, cyclic / energy)) if freedom and energy > 0 else None


def _edges(flow: Any, weight: Any) -> tuple[int, Ids, Ids, Floats, Floats]:
    dense = not checks.is_sparse(flow)
    given = scipy.sparse.csr_array(checks.antisymmetric("flow", flow)) if dense else checks.sparse_antisymmetric("flow", flow)
    if (most := float(abs(given).max())) > checks.LARGEST_WEIGHT:
        raise InputError("flow", most, f"must be within +-{checks.LARGEST_WEIGHT:g}")
    m = given.shape[0]
    if weight is None:
        known = scipy.sparse.csr_array(np.ones((m, m))) if dense else abs(given)
        known.data[:] = 1.0
    else:
        known = _weights(weight, m)
        _refuse_unweighted(given, known)
    upper = scipy.sparse.coo_array(scipy.sparse.triu(known, 1))
    first, second = (np.asarray(ids, np.int64) for ids in upper.coords)
    values = np.asarray(given[first, second], np.float64).reshape(-1) if len(first) else np.zeros(0)
    return m, first, second, values, np.asarray(upper.data, np.float64)


def _weights(weight: Any, m: int) -> Sparse:
    if checks.is_sparse(weight):
        checks.sparse_nonnegative("weight", weight)
        accepted = checks.sparse_symmetric("weight", weight)
    else:
        accepted = scipy.sparse.csr_array(checks.symmetric("weight", checks.nonnegative("weight", weight)))
    if accepted.shape[0] != m:
        raise InputError("weight", accepted.shape, f"must have the shape of flow, {(m, m)}")
    if (most := float(accepted.max())) > checks.LARGEST_WEIGHT:
        raise InputError("weight", most, f"must be at most {checks.LARGEST_WEIGHT:g}")
    checks.zero_diagonal("weight", accepted)
    accepted.eliminate_zeros()
    return accepted


def _refuse_unweighted(flow: Sparse, weight: Sparse) -> None:
    stray = scipy.sparse.coo_array(abs(flow) - abs(flow).multiply(weight > 0))
    stray.eliminate_zeros()
    if stray.nnz:
        a, b = (int(ids[0]) for ids in stray.coords)
        raise InputError(f"flow[{a}, {b}]", float(flow[a, b]), "must be 0 for a pair of weight 0")


def _potentials(m: int, first: Ids, second: Ids, y: Floats, w: Floats, component: Ids) -> tuple[Floats, int]:
    """Potentials by weighted least squares, centred in each component, and the number of steps.

    The Laplacian is scaled to a unit diagonal. The flow is divided by its largest absolute value, because squares of very small numbers
    underflow to 0.
    """
    unit = float(np.abs(y).max(initial=0.0)) or 1.0
    y = y / unit
    source = np.bincount(first, w * y, m) - np.bincount(second, w * y, m)
    degree = np.bincount(first, w, m) + np.bincount(second, w, m)
    root = np.sqrt(np.where(degree > 0, degree, 1.0))
    links = scipy.sparse.coo_array((-w / (root[first] * root[second]), (first, second)), shape=(m, m))
    laplacian = scipy.sparse.csr_array(links + links.T + scipy.sparse.diags_array((degree > 0).astype(np.float64)))
    steps = 0

    def count(_: Floats) -> None:
        nonlocal steps
        steps += 1

    scaled, short = scipy.sparse.linalg.cg(
        laplacian, source / root, rtol=1e-13, atol=0.0, maxiter=max(1000, 10 * min(m, 2000)), callback=count
    )
    if short:
        scaled = _factored(laplacian, source / root, component)
    potentials = scaled / root * unit
    size = np.bincount(component)
    return potentials - (np.bincount(component, potentials) / size)[component], steps


def _factored(laplacian: Sparse, source: Floats, component: Ids) -> Floats:
    """Solve by sparse factorisation. Fixing the first agent of each component at 0 makes the matrix positive definite."""
    free = np.ones(len(source), np.bool_)
    free[np.unique(component, return_index=True)[1]] = False
    potentials = np.zeros(len(source))
    potentials[free] = scipy.sparse.linalg.spsolve(scipy.sparse.csc_array(laplacian[free][:, free]), source[free])
    return potentials


def _divergence(m: int, first: Ids, second: Ids, y: Floats, w: Floats, rotation: Floats) -> float:
    left = np.bincount(first, w * rotation, m) - np.bincount(second, w * rotation, m)
    size = np.bincount(first, w * np.abs(y), m) + np.bincount(second, w * np.abs(y), m)
    largest_flow = float(size.max(initial=0.0))
    return float(np.abs(left).max(initial=0.0)) / largest_flow if largest_flow else 0.0
