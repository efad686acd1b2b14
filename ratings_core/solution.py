"""What every solver returns: values, a status and the certificate that proves how good they are."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]


class Status(StrEnum):
    """How a solve ended. Only `optimal` is returned unless the caller asks for the others."""

    OPTIMAL = "optimal"
    """The certificate is within the tolerance asked for."""
    APPROXIMATE = "approximate"
    """A limit was reached; the certificate says how far the answer may be off."""
    FAILED = "failed"
    """Nothing that deserves the method's name was found."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """A number that proves how good a solution is, recomputed from the problem's own data.

    kind: what the number is (``exploitability``, ``gradient_norm``, ``duality_gap``, ...); value: 0 is perfect.
    """

    kind: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """Base record of all solvers; each method's own record adds its fields.

    ratings: one value per agent in the caller's order, higher is better, NaN where the data determine none.
    seconds: wall time of the solve (information, never an input to the digits).
    stats: named counts of the run, such as ``iterations``.
    """

    ratings: Floats
    certificate: Certificate
    status: Status
    seconds: float
    stats: Mapping[str, float] = field(default_factory=dict)
