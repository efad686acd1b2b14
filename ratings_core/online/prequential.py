"""Prequential scores: the quality of predictions, each made before its outcome was folded (Dawid 1984).

Every pair of sides of an outcome is predicted and scored, with the outcome's weight: log loss, Brier score, whether the pair was predicted
in the wrong order (Kendall discordance), and how often the favourites of ten classes of forecasts won.

A method's own log odds x are not a forecast for every method: those of Soft Condorcet Optimization follow the temperature of its loss, and
those of Elo its step. So the forecast is sigmoid(s x) with a scale s that is fitted online, one Newton step on the log loss in log s after
each outcome. The step is d = g/h, where g is the mean of (S - p) s x over the outcome's pairs, and h the sum of the means of
p (1 - p) (s x)**2 over past outcomes; s is multiplied by (2 + d)/(2 - d), which is nearly e**d. Each outcome counts once, whatever its
weight and its number of sides, so that no outcome can keep the scale from moving. Past outcomes lose weight by `_FADING` an outcome, so
the scale follows ratings that spread. The scale is used for an outcome before it is fitted to it, and is a part of the fold, so forecasts
are as reproducible as ratings.
"""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ratings_core import checks
from ratings_core.errors import InputError
from ratings_core.kernels.compile import inlined, kernel
from ratings_core.kernels.portable import log, sigmoid
from ratings_core.records.forecasts import ForecastClass
from ratings_core.records.outcomes import MAX_SIDES, WEIGHT_ONE

_BINS: Final = 10
_SHAPES: Final = {"counts": (np.dtype(np.int64), (2,)), "sums": (np.dtype(np.float64), (3 + _BINS, 4))}
_FADING: Final = 1.0 / 2000.0
"""Share of the weight of past outcomes that each outcome takes away, in the fit of the scale."""
_PRIOR: Final = 1.0
"""Information of the first scale, 1, in log s: as much as 16 even forecasts whose log odds are 1/2."""
_MOST_STEP: Final = 0.5
"""Largest step of an outcome."""
_MOST_SCALE: Final = 1e6
SCORED_PAIRS: Final = 256
"""Pairs that a fold scores together, so that the loop over outcomes is not slowed by it. An outcome with more pairs is scored alone."""
MOST_PAIRS: Final = MAX_SIDES * (MAX_SIDES - 1) // 2
"""Pairs of the largest outcome."""
_MOST_LOG_ODDS: Final = 1e150
"""Larger log odds of forecasts count as this, so that their square is finite."""


class Prequential:
    """Weighted sums over scored pairs; a fold adds to them.

    counts: int64 (2,), weight of all pairs and of those not tied, in units of 2**-20.

    sums: float64 (13, 4). Row 0 has the weighted log loss (nats), Brier score (S - p)**2 and Kendall discordance (1 if predicted in the
    wrong order, 1/2 if predicted even). A tied result has S = 1/2 for log loss and Brier score, and is not counted for Kendall discordance.
    Row 1 has the scale of forecasts and its information; row 2 is used during an outcome. Rows 3 to 12 have, for forecasts of the favourite
    from 0.5 + 0.05 k to before 0.55 + 0.05 k: weight, sum of p, sum of S, weight of ties.
    """

    __slots__ = ("counts", "sums")

    def __init__(self) -> None:
        self.counts: NDArray[np.int64] = np.zeros(2, np.int64)
        self.sums: NDArray[np.float64] = np.zeros((3 + _BINS, 4), np.float64)
        self.sums[1, :2] = 1.0, _PRIOR

    @property
    def scale(self) -> float:
        """The factor by which a method's log odds become those of its forecasts."""
        return float(self.sums[1, 0])

    def forecast(self, log_odds: float) -> float:
        """The calibrated expected score for log odds of `Rater.log_odds`. Raises `InputError` if these are not a number."""
        return float(sigmoid(self.scale * checks.number("log_odds", log_odds)))

    @property
    def classes(self) -> list[ForecastClass]:
        """The classes of forecasts that have a pair, in ascending order."""
        return [ForecastClass(row[0], *(value / row[0] for value in row[1:])) for row in self.sums[3:].tolist() if row[0]]

    @property
    def calibration_error(self) -> float | None:
        """Mean distance of a class's mean result from its mean forecast, by weight, 0 to 1. None before any pair.

        Chance alone makes it about 0.4 times the root of 10 classes over the number of pairs.
        """
        weight, forecast, result, _ = self.sums[3:].T
        total = weight.sum()
        return float(np.abs(forecast - result).sum() / total) if total else None

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

    def figures(self) -> dict[str, float]:
        """The `means`, the calibration error if there is a pair, and pairs, by name."""
        error = self.calibration_error
        return {**self.means(), "pairs": self.pairs, **({} if error is None else {"calibration_error": error})}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Canonical copy: counts and sums."""
        return {"counts": self.counts.copy(), "sums": self.sums.copy()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "Prequential":
        """The sums from their `arrays()`, also from those of fold version 1, which had log loss, Brier score and discordance only.

        Raises `InputError` if they are of another kind.
        """
        checks.named_arrays("arrays", arrays, _SHAPES)
        if arrays["sums"].shape == (3,):  # so a pool of fold version 1 keeps its boards until it is folded again
            first = cls().sums
            first[0, :3] = arrays["sums"]
            arrays = {**arrays, "sums": first}
        for name, (dtype, shape) in _SHAPES.items():
            if arrays[name].dtype != dtype or arrays[name].shape != shape:
                raise InputError(f"arrays[{name!r}]", f"{arrays[name].dtype} {arrays[name].shape}", f"must be {dtype} {shape}")
            if not (np.isfinite(arrays[name]).all() and (arrays[name] >= 0).all()):
                raise InputError(f"arrays[{name!r}]", arrays[name], "must be finite and not negative")
        scale, information = arrays["sums"][1, :2].tolist()
        if not (1.0 / _MOST_SCALE <= scale <= _MOST_SCALE and information > 0.0) or arrays["sums"][2].any():
            rule = f"must have a scale from {1 / _MOST_SCALE:g} to {_MOST_SCALE:g}, an information above 0, and zeros in row 2"
            raise InputError("arrays['sums']", arrays["sums"][1:3].tolist(), rule)
        score = cls()
        score.counts[:], score.sums[:] = arrays["counts"], arrays["sums"]
        return score

    def _mean(self, term: int, count: int) -> float | None:
        return float(self.sums[0, term]) / (count / WEIGHT_ONE) if count else None


@inlined
def record(counts: NDArray[np.int64], sums: NDArray[np.float64], x: float, result: float, weight: int) -> float:
    """Score one pair with log odds `x` that ended in `result` (1, 1/2, 0), and return its forecast. weight: units of 2**-20. For kernels.

    Call `settle` after all pairs of an outcome. The log loss is -ln(max(p, 1 - p)) + max(z, 0) - result z with z = s x: accurate to 2e-16
    and finite also where p rounds to 0 or 1.
    """
    w = weight * (1.0 / WEIGHT_ONE)
    z = min(max(sums[1, 0] * x, -_MOST_LOG_ODDS), _MOST_LOG_ODDS)
    p = sigmoid(z)
    miss, most = result - p, max(p, 1.0 - p)
    counts[0] += weight
    sums[0, 0] += w * _loss(z, result, most)
    sums[0, 1] += w * (miss * miss)
    if result != 0.5:
        counts[1] += weight
        sums[0, 2] += w * _discordance(x, result)
    sums[2, 0] += miss * z
    sums[2, 1] += p * (1.0 - p) * (z * z)
    _classify(sums, z, result, most, w)
    return p


@inlined
def settle(sums: NDArray[np.float64], sides: int) -> None:
    """Fit the scale to the outcome whose pairs were recorded. sides: its number of sides. For kernels."""
    share = 2.0 / (sides * (sides - 1))
    sums[1, 1], sums[1, 0] = _fitted(sums[1, 1], sums[1, 0], sums[2, 0], sums[2, 1], share)
    sums[2, 0] = sums[2, 1] = 0.0


@kernel
def score_games(
    counts: NDArray[np.int64], sums: NDArray[np.float64], x: NDArray[np.float64], result: NDArray[np.float64], weight: NDArray[np.int64],
    first: int, end: int, traced: bool, side_start: NDArray[np.int64], expected: NDArray[np.float64],
) -> None:  # fmt: skip
    """`record` and `settle` of consecutive outcomes: the same bits. For kernels, which fold some outcomes and then score them.

    Each outcome waits for the scale that the one before it fitted. Here this scale stays in a register, and no rating waits for it.

    Args:
        counts: As in `Prequential`.
        sums: As in `Prequential`.
        x: Log odds of each pair of sides of these outcomes: of a pair (a, b) with a before b, by a, then by b.
        result: Result of each of these pairs, as for `record`.
        weight: Weight of each outcome of the batch.
        first: Index of the first outcome.
        end: Index after the last outcome.
        traced: Whether to write `expected`.
        side_start: Of the batch.
        expected: As in `RatingTrace`.
    """
    scale, information, loss, brier, discordance = sums[1, 0], sums[1, 1], sums[0, 0], sums[0, 1], sums[0, 2]
    pair = 0
    for i in range(first, end):
        low, high = side_start[i], side_start[i + 1]
        w, push, more = weight[i] * (1.0 / WEIGHT_ONE), 0.0, 0.0
        if traced:
            expected[low:high] = 0.0
        for a in range(low, high - 1):
            for b in range(a + 1, high):
                score = result[pair]
                z = min(max(scale * x[pair], -_MOST_LOG_ODDS), _MOST_LOG_ODDS)
                p = sigmoid(z)
                miss, most = score - p, max(p, 1.0 - p)
                counts[0] += weight[i]
                loss += w * _loss(z, score, most)
                brier += w * (miss * miss)
                if score != 0.5:
                    counts[1] += weight[i]
                    discordance += w * _discordance(x[pair], score)
                push += miss * z
                more += p * (1.0 - p) * (z * z)
                _classify(sums, z, score, most, w)
                pair += 1
                if traced:
                    expected[a] += p
                    expected[b] += 1.0 - p
        information, scale = _fitted(information, scale, push, more, 2.0 / ((high - low) * (high - low - 1)))
        if traced:
            for side in range(low, high):
                expected[side] /= high - low - 1
    sums[1, 0], sums[1, 1], sums[0, 0], sums[0, 1], sums[0, 2] = scale, information, loss, brier, discordance


@inlined
def _loss(z: float, result: float, most: float) -> float:
    """Log loss of a forecast with log odds `z`. most: the greater one of p and 1 - p."""
    return (max(z, 0.0) - result * z) - log(most)


@inlined
def _classify(sums: NDArray[np.float64], z: float, result: float, most: float, w: float) -> None:
    """Count a forecast in its class."""
    row = 3 + min(int((most - 0.5) * 20.0), 9)
    sums[row, 0] += w
    sums[row, 1] += w * most
    sums[row, 2] += w * (0.5 + (result - 0.5) * (int(z > 0.0) - int(z < 0.0)))
    sums[row, 3] += w * int(result == 0.5)


@inlined
def _fitted(information: float, scale: float, push: float, more: float, share: float) -> tuple[float, float]:
    """Information and scale after an outcome. push, more: sums over its pairs of (S - p) z and of p (1 - p) z**2."""
    information += _FADING * (_PRIOR - information) + share * more
    step = min(max(share * push / information, -_MOST_STEP), _MOST_STEP)
    return information, min(max(scale * ((2.0 + step) / (2.0 - step)), 1.0 / _MOST_SCALE), _MOST_SCALE)


@inlined
def _discordance(x: float, result: float) -> float:
    """1, 1/2 or 0, without a branch, because processors would often mispredict it."""
    return 0.5 + (result - 0.5) * (int(x < 0.0) - int(x > 0.0))
