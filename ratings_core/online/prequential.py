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

A scale holds for games of one shape, the sizes of their sides (`ratings_core.records.shapes`): if the skills of two agents add up, the same
difference of mean ratings decides more in a game 2:2 than in a duel. A `Prequential` by shape has sums, a scale and its fit
for each shape; those of one shape are the same bits as if there were no games of others.
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
from ratings_core.records.games import GameColumns
from ratings_core.records.outcomes import MAX_SIDES, WEIGHT_ONE
from ratings_core.records.shapes import MOST_SHAPES, OTHERS, OTHERS_NAME, SINGLES, SIZE_BITS, Shape

_BINS: Final = 10
_ROWS: Final = 3 + _BINS
_DTYPES: Final = {"counts": np.dtype(np.int64), "sums": np.dtype(np.float64), "shapes": np.dtype(np.int64)}
_SINGLES: Final = SINGLES.key
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

    counts: int64 (2 k,), for each of k records the weight of all pairs and of those not tied, in units of 2**-20.

    sums: float64 (13 k, 4), 13 rows for each record. Row 0 has the weighted log loss (nats), Brier score (S - p)**2 and Kendall discordance
    (1 if predicted in the wrong order, 1/2 if predicted even). A tied result has S = 1/2 for log loss and Brier score, and is not counted
    for Kendall discordance. Row 1 has the scale of forecasts and its information; row 2 is used during an outcome. Rows 3 to 12 have, for
    forecasts of the favourite from 0.5 + 0.05 k to before 0.55 + 0.05 k: weight, sum of p, sum of S, weight of ties.

    shapes: int64 (k,), the key of each record's shape, in the order in which shapes appeared; None for one record of all games. The record
    after `MOST_SHAPES` others has the key `OTHERS`, and all games of further shapes.

    Args:
        by_shape: Whether each shape of game has a record.
    """

    __slots__ = ("counts", "shapes", "sums")

    def __init__(self, *, by_shape: bool = False) -> None:
        records = 0 if by_shape else 1
        self.counts: NDArray[np.int64] = np.zeros(2 * records, np.int64)
        self.sums: NDArray[np.float64] = _new_sums(records)
        self.shapes: NDArray[np.int64] | None = np.zeros(0, np.int64) if by_shape else None

    def rows(self, games: GameColumns) -> NDArray[np.int32]:
        """The index of each game's record, (n,). Shapes that are new get records. games: checked (`games_of`)."""
        n = len(games.weight)
        if self.shapes is None or not n:
            return np.zeros(n, np.int32)
        if len(games.agent) == len(games.place) and len(singles := np.flatnonzero(self.shapes == _SINGLES)):  # no side has two agents
            return np.full(n, singles[0], np.int32)
        known, rows = np.zeros(MOST_SHAPES + 1, np.int64), np.empty(n, np.int32)
        known[: len(self.shapes)] = self.shapes
        used = _assign(games.side_start, games.agent_start, known, len(self.shapes), rows)
        if (more := used - len(self.shapes)) > 0:
            self.shapes = known[:used].copy()
            self.counts = np.concatenate([self.counts, np.zeros(2 * more, np.int64)])
            self.sums = np.concatenate([self.sums, _new_sums(more)])
        return rows

    @property
    def by_shape(self) -> "dict[str, Prequential]":
        """Shape, as text, -> a copy of its record. Empty unless there are records by shape."""
        return {} if self.shapes is None else {_name(key): self._record(i) for i, key in enumerate(self.shapes.tolist())}

    def _record(self, i: int) -> "Prequential":
        one = Prequential()
        one.counts[:], one.sums[:] = self.counts[2 * i : 2 * i + 2], self.sums[_ROWS * i : _ROWS * (i + 1)]
        return one

    @property
    def scale(self) -> float:
        """The factor by which a method's log odds become those of its forecasts.

        Raises `InputError` for records by shape: each has its own (`by_shape`).
        """
        if self.shapes is not None:
            raise InputError("shapes", list(self.by_shape), "must be None: each record `by_shape` has its own scale")
        return float(self.sums[1, 0])

    def forecast(self, log_odds: float) -> float:
        """The calibrated expected score for log odds of `Rater.log_odds`.

        Raises `InputError` if these are not a number, and as `scale` does.
        """
        return float(sigmoid(self.scale * checks.number("log_odds", log_odds)))

    @property
    def _sums(self) -> NDArray[np.float64]:
        """Sums of all records together, (13, 4). Row 1 has no meaning."""
        return np.asarray(self.sums.reshape(-1, _ROWS, 4).sum(axis=0))

    @property
    def _counts(self) -> list[int]:
        return [int(count) for count in self.counts.reshape(-1, 2).sum(axis=0)]

    @property
    def classes(self) -> list[ForecastClass]:
        """The classes of forecasts that have a pair, in ascending order, over all shapes."""
        return [ForecastClass(row[0], *(value / row[0] for value in row[1:])) for row in self._sums[3:].tolist() if row[0]]

    @property
    def calibration_error(self) -> float | None:
        """Mean distance of a class's mean result from its mean forecast, by weight, 0 to 1. None before any pair.

        Chance alone makes it about 0.4 times the root of 10 classes over the number of pairs. With records by shape, it is the mean of
        theirs, by weight: errors of two shapes do not cancel.
        """
        weight, forecast, result, _ = self.sums.reshape(-1, _ROWS, 4)[:, 3:].reshape(-1, 4).T
        total = weight.sum()
        return float(np.abs(forecast - result).sum() / total) if total else None

    @property
    def pairs(self) -> float:
        """Weight of all scored pairs."""
        return self._counts[0] / WEIGHT_ONE

    @property
    def log_loss(self) -> float | None:
        """Mean log loss per pair, in nats. Constant predictions of 1/2 have a log loss of ln 2. None before any pair."""
        return self._mean(0, self._counts[0])

    @property
    def brier(self) -> float | None:
        """Mean of (S - p)**2 per pair. None before any pair."""
        return self._mean(1, self._counts[0])

    @property
    def kendall(self) -> float | None:
        """Share of the untied pairs whose order was predicted wrongly, 0 to 1. None before any untied pair."""
        return self._mean(2, self._counts[1])

    def means(self) -> dict[str, float]:
        """log_loss, brier and kendall by name, without those that counted no pair."""
        named = {"log_loss": self.log_loss, "brier": self.brier, "kendall": self.kendall}
        return {name: mean for name, mean in named.items() if mean is not None}

    def figures(self) -> dict[str, float]:
        """The `means`, the calibration error if there is a pair, and pairs, by name."""
        error = self.calibration_error
        return {**self.means(), "pairs": self.pairs, **({} if error is None else {"calibration_error": error})}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Canonical copy: counts and sums; with records by shape, shapes as well."""
        shapes = {} if self.shapes is None else {"shapes": self.shapes.copy()}
        return {"counts": self.counts.copy(), "sums": self.sums.copy(), **shapes}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], *, by_shape: bool = False) -> "Prequential":
        """The sums from their `arrays()`, also from those of fold version 1, which had log loss, Brier score and discordance only.

        by_shape: whether they are records by shape. Raises `InputError` if they are of another kind.
        """
        checks.named_arrays("arrays", arrays, ["counts", "sums", *(["shapes"] if by_shape else [])])
        if arrays["sums"].shape == (3,):  # so a pool of fold version 1 keeps its boards until it is folded again
            first = cls().sums
            first[0, :3] = arrays["sums"]
            arrays = {**arrays, "sums": first}
        records = arrays["shapes"].size if by_shape else 1
        for name, shape in {"counts": (2 * records,), "sums": (_ROWS * records, 4), "shapes": (records,)}.items():
            if name in arrays:
                _check_array(name, arrays[name], shape)
        if by_shape:
            _check_shapes(arrays["shapes"])
        fits = arrays["sums"].reshape(records, _ROWS, 4)
        scale, information = fits[:, 1, :2].T
        if not ((scale >= 1.0 / _MOST_SCALE) & (scale <= _MOST_SCALE) & (information > 0.0)).all() or fits[:, 2].any():
            rule = f"must have a scale from {1 / _MOST_SCALE:g} to {_MOST_SCALE:g}, an information above 0, and zeros in row 2"
            raise InputError("arrays['sums']", fits[:, 1:3].tolist(), rule)
        score = cls(by_shape=by_shape)
        score.counts, score.sums = np.array(arrays["counts"]), np.array(arrays["sums"])
        if by_shape:
            score.shapes = np.array(arrays["shapes"])
        return score

    def _mean(self, term: int, count: int) -> float | None:
        return float(self._sums[0, term]) / (count / WEIGHT_ONE) if count else None


def _new_sums(records: int) -> NDArray[np.float64]:
    sums = np.zeros((_ROWS * records, 4), np.float64)
    sums[1::_ROWS, :2] = 1.0, _PRIOR
    return sums


def _name(key: int) -> str:
    shape = Shape.from_key(key)
    return OTHERS_NAME if shape is None else str(shape)


def _check_array(name: str, array: NDArray[Any], shape: tuple[int, ...]) -> None:
    if array.dtype != _DTYPES[name] or array.shape != shape:
        raise InputError(f"arrays[{name!r}]", f"{array.dtype} {array.shape}", f"must be {_DTYPES[name]} {shape}")
    if not (np.isfinite(array).all() and (array >= 0).all()):
        raise InputError(f"arrays[{name!r}]", array, "must be finite and not negative")


def _check_shapes(shapes: NDArray[np.int64]) -> None:
    keys = shapes.tolist()
    others = len(keys) - 1 if len(keys) == MOST_SHAPES + 1 else None
    if len(keys) > MOST_SHAPES + 1 or len(set(keys)) < len(keys) or any((key == OTHERS) != (i == others) for i, key in enumerate(keys)):
        raise InputError("arrays['shapes']", keys, f"must be different shapes, up to {MOST_SHAPES}, and then 0")
    for key in keys:
        Shape.from_key(key)


@kernel
def _assign(
    side_start: NDArray[np.int64], agent_start: NDArray[np.int64], known: NDArray[np.int64], used: int, rows: NDArray[np.int32]
) -> int:
    """Write the index of each game's record. known: keys of shapes, of which `used` are known. Returns how many are known then."""
    last = 0
    for i in range(len(rows)):
        first, end = side_start[i], side_start[i + 1]
        smallest = largest = agent_start[first + 1] - agent_start[first]
        for side in range(first + 1, end):
            size = agent_start[side + 1] - agent_start[side]
            smallest, largest = min(smallest, size), max(largest, size)
        key = smallest << SIZE_BITS | largest
        if last >= used or known[last] != key:
            last = 0
            while last < used and known[last] != key:
                last += 1
            if last == used and used < MOST_SHAPES:
                known[used] = key
                used += 1
            elif last == used:
                last, used = MOST_SHAPES, MOST_SHAPES + 1
        rows[i] = last
    return used


@inlined
def record(counts: NDArray[np.int64], sums: NDArray[np.float64], row: int, x: float, result: float, weight: int) -> float:
    """Score one pair with log odds `x` that ended in `result` (1, 1/2, 0), and return its forecast. For kernels.

    row: index of the record, from `Prequential.rows`. weight: units of 2**-20.

    Call `settle` after all pairs of an outcome. The log loss is -ln(max(p, 1 - p)) + max(z, 0) - result z with z = s x: accurate to 2e-16
    and finite also where p rounds to 0 or 1.
    """
    w = weight * (1.0 / WEIGHT_ONE)
    at = _ROWS * row
    z = min(max(sums[at + 1, 0] * x, -_MOST_LOG_ODDS), _MOST_LOG_ODDS)
    p = sigmoid(z)
    miss, most = result - p, max(p, 1.0 - p)
    counts[2 * row] += weight
    sums[at, 0] += w * _loss(z, result, most)
    sums[at, 1] += w * (miss * miss)
    if result != 0.5:
        counts[2 * row + 1] += weight
        sums[at, 2] += w * _discordance(x, result)
    sums[at + 2, 0] += miss * z
    sums[at + 2, 1] += p * (1.0 - p) * (z * z)
    _classify(sums, at, z, result, most, w)
    return p


@inlined
def settle(sums: NDArray[np.float64], row: int, sides: int) -> None:
    """Fit the scale to the outcome whose pairs were recorded. row: as of `record`. sides: its number of sides. For kernels."""
    share, at = 2.0 / (sides * (sides - 1)), _ROWS * row
    sums[at + 1, 1], sums[at + 1, 0] = _fitted(sums[at + 1, 1], sums[at + 1, 0], sums[at + 2, 0], sums[at + 2, 1], share)
    sums[at + 2, 0] = sums[at + 2, 1] = 0.0


@kernel
def score_games(
    counts: NDArray[np.int64], sums: NDArray[np.float64], rows: NDArray[np.int32], x: NDArray[np.float64], result: NDArray[np.float64],
    weight: NDArray[np.int64], first: int, end: int, traced: bool, side_start: NDArray[np.int64], expected: NDArray[np.float64],
) -> None:  # fmt: skip
    """`record` and `settle` of consecutive outcomes: the same bits. For kernels, which fold some outcomes and then score them.

    Each outcome waits for the scale that the one before it fitted. Here this scale stays in a register, and no rating waits for it.

    Args:
        counts: As in `Prequential`.
        sums: As in `Prequential`.
        rows: Index of each outcome's record, of the batch.
        x: Log odds of each pair of sides of these outcomes: of a pair (a, b) with a before b, by a, then by b.
        result: Result of each of these pairs, as for `record`.
        weight: Weight of each outcome of the batch.
        first: Index of the first outcome.
        end: Index after the last outcome.
        traced: Whether to write `expected`.
        side_start: Of the batch.
        expected: As in `RatingTrace`.
    """
    begin, pair = first, 0
    while begin < end:
        stop = begin + 1
        while stop < end and rows[stop] == rows[begin]:
            stop += 1
        pair = _score_run(counts, sums, rows[begin], x, result, pair, weight, begin, stop, traced, side_start, expected)
        begin = stop


@inlined
def _score_run(
    counts: NDArray[np.int64], sums: NDArray[np.float64], row: int, x: NDArray[np.float64], result: NDArray[np.float64], pair: int,
    weight: NDArray[np.int64], first: int, end: int, traced: bool, side_start: NDArray[np.int64], expected: NDArray[np.float64],
) -> int:  # fmt: skip
    """Score successive outcomes of one record. pair: index of the first pair. Returns the index after the last one."""
    at = _ROWS * row
    scale, information, loss, brier, discordance = sums[at + 1, 0], sums[at + 1, 1], sums[at, 0], sums[at, 1], sums[at, 2]
    scored, decided = counts[2 * row], counts[2 * row + 1]
    for i in range(first, end):
        low, high = side_start[i], side_start[i + 1]
        w, push, more = weight[i] * (1.0 / WEIGHT_ONE), 0.0, 0.0
        if traced and high - low > 2:
            expected[low:high] = 0.0
        for a in range(low, high - 1):
            for b in range(a + 1, high):
                score = result[pair]
                z = min(max(scale * x[pair], -_MOST_LOG_ODDS), _MOST_LOG_ODDS)
                p = sigmoid(z)
                miss, most = score - p, max(p, 1.0 - p)
                scored += weight[i]
                loss += w * _loss(z, score, most)
                brier += w * (miss * miss)
                if score != 0.5:
                    decided += weight[i]
                    discordance += w * _discordance(x[pair], score)
                push += miss * z
                more += p * (1.0 - p) * (z * z)
                _classify(sums, at, z, score, most, w)
                pair += 1
                if traced and high - low > 2:
                    expected[a] += p
                    expected[b] += 1.0 - p
                elif traced:
                    expected[a], expected[b] = p, 1.0 - p
        information, scale = _fitted(information, scale, push, more, 2.0 / ((high - low) * (high - low - 1)))
        if traced and high - low > 2:
            for side in range(low, high):
                expected[side] /= high - low - 1
    sums[at + 1, 0], sums[at + 1, 1], sums[at, 0], sums[at, 1], sums[at, 2] = scale, information, loss, brier, discordance
    counts[2 * row], counts[2 * row + 1] = scored, decided
    return pair


@inlined
def _loss(z: float, result: float, most: float) -> float:
    """Log loss of a forecast with log odds `z`. most: the greater one of p and 1 - p."""
    return (max(z, 0.0) - result * z) - log(most)


@inlined
def _classify(sums: NDArray[np.float64], at: int, z: float, result: float, most: float, w: float) -> None:
    """Count a forecast in its class. at: first row of the record."""
    row = at + 3 + min(int((most - 0.5) * 20.0), 9)
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
