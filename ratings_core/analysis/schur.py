"""Latent skills: an antisymmetric matrix as a sum of planes, by its real Schur form (Balduzzi et al. 2018, sec. 2 and 3.2).

A = sum_k s_k (u_k v_k' - v_k u_k') with u, v orthonormal and s_1 >= s_2 >= ... > 0. Each agent is a point in each plane (u_k, v_k). A
transitive game r(a) - r(b) has one plane, with the agents on a line. A cycle has a plane with the agents on a circle.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ratings_core import checks
from ratings_core.solution import Certificate, Floats


@dataclass(frozen=True, slots=True)
class Schur:
    """Planes of an antisymmetric matrix.

    strength: s (k,), positive, descending; forward, across: u, v as columns (m, k), orthonormal. Each plane is rotated so that its
    `forward` sums to 0 and the sum of its `across` is nonnegative. If both sums are 0 in every rotation, the agent farthest from the origin
    has forward 0. Planes of equal strength are not unique; only the space that they span is. certificate (``residual``): the largest error
    of the reconstructed matrix, divided by its largest absolute entry.
    """

    strength: Floats
    forward: Floats
    across: Floats
    certificate: Certificate

    def matrix(self, planes: int | None = None) -> Floats:
        """Reconstruct the matrix from the first `planes` planes, by default from all: the best approximation of rank 2 * planes."""
        k = len(self.strength) if planes is None else checks.count("planes", planes)
        half = (self.forward[:, :k] * self.strength[:k]) @ self.across[:, :k].T
        return np.asarray(half - half.T)

    @property
    def share(self) -> Floats:
        """Share of the matrix's energy (sum of squares) in each plane (k,); empty for a zero matrix."""
        return np.asarray(self.strength**2 / (self.strength @ self.strength))


def schur(margins: ArrayLike, *, tolerance: float = 1e-12) -> Schur:
    """Compute the latent skills of `margins` (m, m), antisymmetric.

    tolerance: a plane weaker than this share of the strongest plane is rounding error and is left out. The planes come from the
    eigenvectors of the Hermitian matrix iA, which are accurate and sorted by strength, unlike those of a general Schur form. Takes O(m**3).
    Raises `InputError`.
    """
    A = checks.antisymmetric("margins", margins)
    least = checks.number("tolerance", tolerance, low=0.0)
    values, vectors = np.linalg.eigh(1j * A)
    order = np.argsort(-values, kind="stable")
    order = order[values[order] > least * max(float(values.max()), 0.0)]
    turned = vectors[:, order] * _phase(vectors[:, order])
    parts = Schur(values[order], np.sqrt(2) * turned.imag, np.sqrt(2) * turned.real, Certificate("residual", 0.0))
    error = float(np.abs(parts.matrix() - A).max()) / (float(np.abs(A).max()) or 1.0)
    return Schur(parts.strength, parts.forward, parts.across, Certificate("residual", error))


def _phase(vectors: "np.ndarray[tuple[int, int], np.dtype[np.complex128]]") -> "np.ndarray[tuple[int], np.dtype[np.complex128]]":
    """Unit factor that makes each column's sum real and positive; for a sum of 0, the column's largest entry (the first of several)."""
    sums = vectors.sum(axis=0)
    radius = np.abs(vectors)
    outermost = np.argmax(radius >= radius.max(axis=0) * (1 - 1e-9), axis=0) if vectors.size else np.zeros(vectors.shape[1], np.int64)
    outer = vectors[outermost, np.arange(vectors.shape[1])]
    leading = np.where(np.abs(sums) > 1e-9 * np.sqrt(len(vectors)), sums, outer)
    return np.asarray(np.conj(leading) / np.abs(leading))
