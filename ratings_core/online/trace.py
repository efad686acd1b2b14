"""Trace of a fold: the rating of each agent before and after each outcome, and the expected score of each side."""

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.kernels.compile import inlined
from ratings_core.online.prequential import Prequential
from ratings_core.records.outcomes import OutcomeBatch


@dataclass(frozen=True, slots=True)
class RatingTrace:
    """What a fold writes about each outcome of a batch.

    before, after: float64 (agents,), the rating of each member of each side before and after its outcome, as `Rater.read` gives it, in
    the order of `OutcomeBatch.agent`; expected: float64 (sides,), the calibrated expected score of each side before the outcome, which is
    the mean of the forecasts against its opponents (`Prequential.forecast`).
    """

    before: NDArray[np.float64]
    after: NDArray[np.float64]
    expected: NDArray[np.float64]

    @classmethod
    def of(cls, batch: OutcomeBatch) -> "RatingTrace":
        """A trace with room for `batch`."""
        return cls(np.zeros(len(batch.agent)), np.zeros(len(batch.agent)), np.zeros(len(batch.place)))


class Tracing(NamedTuple):
    """Whether a fold writes a trace, and the arrays of it, for kernels. The arrays are empty if it does not."""

    wanted: bool
    before: NDArray[np.float64]
    after: NDArray[np.float64]
    expected: NDArray[np.float64]


_EMPTY: Final = np.zeros(0)
_NOT_TRACED: Final = Tracing(False, _EMPTY, _EMPTY, _EMPTY)


def tracing(trace: RatingTrace | None, batch: OutcomeBatch, score: Prequential | None) -> Tracing:
    """`trace` in kernel form.

    Args:
        trace: Arrays to write; None for no trace.
        batch: The outcomes, already checked.
        score: Scores of the fold's predictions; None if it has none. A trace needs them.

    Raises:
        InputError: The trace or the scores are of another type or size, or a trace comes without scores.
    """
    if score is not None:
        checks.instance("score", score, Prequential)
    if trace is None:
        return _NOT_TRACED
    checks.instance("trace", trace, RatingTrace)
    if score is None:
        raise InputError("trace", trace, "must come with `score`, because expected scores are calibrated by it")
    sizes = {"before": len(batch.agent), "after": len(batch.agent), "expected": len(batch.place)}
    for name, size in sizes.items():
        column = getattr(trace, name)
        fits = isinstance(column, np.ndarray) and column.dtype == np.float64 and column.shape == (size,)
        if not (fits and column.flags.c_contiguous and column.flags.writeable):
            raise InputError(f"trace.{name}", column, f"must be a writable, contiguous float64 ({size},)")
    return Tracing(True, trace.before, trace.after, trace.expected)


@inlined
def average_expected(expected: NDArray[np.float64], first: int, n: int) -> None:
    """Turn the sums of a side's forecasts over its n - 1 opponents into means, for the `n` sides from `first` on. For kernels."""
    for side in range(first, first + n):
        expected[side] /= n - 1
