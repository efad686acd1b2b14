"""Results of solvers: values, a status, and a certificate that proves their accuracy."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]


class Status(StrEnum):
    """Final state of a solve. Other states than `optimal` raise an error unless the caller or the method allows them."""

    OPTIMAL = "optimal"
    """The certificate is within the requested tolerance."""
    APPROXIMATE = "approximate"
    """A limit was reached before the tolerance. The certificate bounds the error of the result."""
    FAILED = "failed"
    """The result is not valid for the method."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """A number that proves the accuracy of a solution. It is recomputed from the data of the problem.

    kind: meaning of the number (``exploitability``, ``gradient_norm``, ``duality_gap``, ...); value: at least 0; 0 is exact.
    """

    kind: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """Base record of all results; the record of each method adds fields.

    ratings: one value per agent in the caller's order; higher is better; NaN if the data do not determine a rating.
    seconds: wall time of the solve, for information only; it does not affect the result.
    stats: named statistics of the run, such as ``iterations``.
    """

    ratings: Floats
    certificate: Certificate
    status: Status
    seconds: float
    stats: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Start:
    """A starting point of a solve. method: method of the earlier answer; strategies: names, by player, of the arrays' entries and axes;
    arrays: by name, defined by each method.
    """

    method: str
    strategies: tuple[tuple[str, ...], ...]
    arrays: Mapping[str, NDArray[Any]]
