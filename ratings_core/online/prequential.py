"""Prequential scores: the quality of predictions, each made before its outcome was folded (Dawid 1984).

Every pair of sides of an outcome is scored, with the outcome's weight: log loss, Brier score, and whether the pair was predicted in the
wrong order (Kendall discordance). The sums are part of the fold, so they are as reproducible as ratings.
"""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.kernels.compile import inlined
from ratings_core.kernels.portable import log
from ratings_core.records.outcomes import WEIGHT_ONE

_SHAPES: Final = {"counts": (np.dtype(np.int64), (2,)), "sums": (np.dtype(np.float64), (3,))}


class Prequential:
    """Weighted sums over scored pairs; a fold adds to them.

    counts: int64 (2,), weight of all pairs and of those not tied, in units of 2**-20. sums: float64 (3,), weighted log loss (nats), Brier
    score (S - p)**2 and Kendall discordance (1 if predicted in the wrong order, 1/2 if predicted even). A tied result has S = 1/2 for log
    loss and Brier score and is not counted for Kendall discordance.
    """

    __slots__ = ("counts", "sums")

    def __init__(self) -> None:
        self.counts: NDArray[np.int64] = np.zeros(2, np.int64)
        self.sums: NDArray[np.float64] = np.zeros(3, np.float64)

    @property
    def pairs(self) -> float:
        """Weight of all scored pairs."""
        return int(self.counts[0]) / WEIGHT_ONE

    @property
    def log_loss(self) -> float | None:
        """Mean log loss per pair, in nats. Constant predictions of 1/2 have a log loss of ln 2. None before any pair."""
        return self._mean(0, int(self.counts[0]))

    @property
    def brier(self) -> float | None:
        """Mean of (S - p)**2 per pair. None before any pair."""
        return self._mean(1, int(self.counts[0]))

    @property
    def kendall(self) -> float | None:
        """Share of the untied pairs whose order was predicted wrongly, 0 to 1. None before any untied pair."""
        return self._mean(2, int(self.counts[1]))

    def means(self) -> dict[str, float]:
        """log_loss, brier and kendall by name, without those that counted no pair."""
        named = {"log_loss": self.log_loss, "brier": self.brier, "kendall": self.kendall}
        return {name: mean for name, mean in named.items() if mean is not None}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Canonical copy: counts and sums."""
        return {"counts": self.counts.copy(), "sums": self.sums.copy()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "Prequential":
        """The sums from their `arrays()`. Raises `InputError` if they are of another kind."""
        checks.named_arrays("arrays", arrays, _SHAPES)
        for name, (dtype, shape) in _SHAPES.items():
            if arrays[name].dtype != dtype or arrays[name].shape != shape:
                raise InputError(f"arrays[{name!r}]", f"{arrays[name].dtype} {arrays[name].shape}", f"must be {dtype} {shape}")
            if not (np.isfinite(arrays[name]).all() and (arrays[name] >= 0).all()):
                raise InputError(f"arrays[{name!r}]", arrays[name], "must be finite and not negative")
        score = cls()
        score.counts[:], score.sums[:] = arrays["counts"], arrays["sums"]
        return score

    def _mean(self, term: int, count: int) -> float | None:
        return float(self.sums[term]) / (count / WEIGHT_ONE) if count else None


@inlined
def record(counts: NDArray[np.int64], sums: NDArray[np.float64], x: float, p: float, result: float, weight: int) -> None:
    """Score one pair predicted p = sigmoid(x) that ended in `result` (1, 1/2, 0). weight: units of 2**-20. For kernels.

    The log loss is -ln(max(p, 1 - p)) + max(x, 0) - result x: accurate to 2e-16 and finite also where p rounds to 0 or 1.
    """
    w = weight * (1.0 / WEIGHT_ONE)
    miss = result - p
    counts[0] += weight
    sums[0] += w * ((max(x, 0.0) - result * x) - log(max(p, 1.0 - p)))
    sums[1] += w * (miss * miss)
    if result != 0.5:
        counts[1] += weight
        sums[2] += w * _discordance(x, result)


@inlined
def _discordance(x: float, result: float) -> float:
    """1, 1/2 or 0, without a branch, because processors would often mispredict it."""
    return 0.5 + (result - 0.5) * (int(x < 0.0) - int(x > 0.0))
