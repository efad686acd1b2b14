"""Replicates of a solve, by refits to resampled data or on draws of posterior margins, and their intervals of ratings and ranks.

The number of replicates doubles until the ranks of the best agents do not change any more, or the time is spent.
"""

import time
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from ratings_core.analysis.intervals import Intervals, intervals_of
from ratings_core.errors import InputError, SolverError
from ratings_core.methods.registry import Taken, ranking_of
from ratings_core.methods.resampling import Resampling
from ratings_core.solution import Floats
from ratings_core.words import word_for_replicates

LEVEL: Final = 0.95
LEAST: Final = 32
"""Smallest number of replicates from which percentiles are computed."""
MOST: Final = 2048
_MOST_CELLS: Final = 1 << 21
"""Largest number of ratings (replicates x agents) of one board. The engine holds them and computes percentiles in its own process, so
more ratings would delay its other work.
"""
_FIRST_CHECK: Final = 64
TOP: Final = 10
"""Number of best agents whose rank intervals are compared to decide whether there are enough replicates."""
_MOST_FAILED: Final = 0.1
"""Largest share of replicates that may fail. Above it, the successful replicates are a biased selection."""


class Sample(NamedTuple):
    """Answers of k replicates with m agents.

    Attributes:
        ratings: float64 (k, m), agents in order of their names.
        ranks: int64 (k, m).
        failed: Number of further replicates, which failed.
        seconds: Time that all of them took.
    """

    ratings: Floats
    ranks: NDArray[np.int64]
    failed: int
    seconds: float

    @property
    def tried(self) -> int:
        """Number of replicates, solved and failed."""
        return len(self.ratings) + self.failed

    def followed_by(self, other: "Sample") -> "Sample":
        """The replicates of both samples, in order."""
        ratings, ranks = np.concatenate([self.ratings, other.ratings]), np.concatenate([self.ranks, other.ranks])
        return Sample(ratings, ranks, self.failed + other.failed, self.seconds + other.seconds)


def sample(
    solved: Taken,
    source: Resampling,
    seed: int,
    first: int,
    most: int,
    seconds: float,
    clock: Callable[[], float] = time.perf_counter,
) -> Sample:
    """Solve replicates `first`, `first` + 1, and so on.

    Args:
        solved: The solve whose data are resampled.
        source: How the data are resampled.
        seed: Base seed of the solve (`seed_of`).
        first: Number of the first replicate.
        most: Largest number of replicates.
        seconds: No replicate is begun later than this after the start, except for the first one.
        clock: Timer in seconds.

    Returns:
        The answers. A replicate fails if the resampled data are too few for the method, or if the method does not reach its accuracy.

    Raises:
        InputError: The data cannot be resampled.
    """
    began, failed = clock(), 0
    ratings: list[Floats] = []
    ranks: list[NDArray[np.int64]] = []
    for replicate in range(first, first + most):
        if replicate > first and clock() - began >= seconds:
            break
        refit = solved._replace(problem=source.draw(np.random.default_rng([seed, replicate])), values={**solved.values, **source.values})
        try:
            rated = refit.rated()
        except (SolverError, InputError):  # the resampled data may be too few for the method
            failed += 1
        else:
            ratings.append(rated.solution.ratings)
            ranks.append(ranking_of(solved.method, rated).rank)
    n = len(solved.problem.names)
    table = np.array(ratings, np.float64).reshape(len(ratings), n)
    return Sample(table, np.array(ranks, np.int64).reshape(len(ranks), n), failed, clock() - began)


class Refits:
    """Replicates of one solve so far, and whether more are needed.

    Args:
        ratings: The answer (m,), for the m agents of the problem that is resampled; NaN for agents that it does not rate.
        top: int64, ids of the best agents of the answer that have a rank, best first.
        seconds: Time limit for all replicates.
        units: Number of units that a replicate draws with replacement (`Resampling.units`).
        differences: Whether differences of ratings count for ranks (`resampling.has_differences`).
        kind: Kind of the resampling (`Resampling.kind`).
        ranked: bool (m,), agents that have a rank; None for all. Ranks are counted among them, and others have no interval of ranks.

    Attributes:
        seconds: Time limit for all replicates.
        most: Largest number of replicates.
        top: int64, ids of the best agents of the result, best first. Their rank intervals decide whether replicates are enough.
        whole: All replicates so far.
        settled: Whether the rank intervals of the best agents did not change any more.
    """

    def __init__(
        self, ratings: Floats, top: NDArray[np.int64], seconds: float, *, units: int, differences: bool, kind: str,
        ranked: NDArray[np.bool_] | None = None,
    ) -> None:  # fmt: skip
        """Begin without replicates. Raises `InputError` if there are too many agents."""
        agents = len(ratings)
        self.seconds, self.most, self.settled, self.top = seconds, most_of(agents), False, top[:TOP]
        self.whole = Sample(np.empty((0, agents)), np.empty((0, agents), np.int64), 0, 0.0)
        self._word = word_for_replicates(kind)
        self._ratings, self._units, self._differences, self._ranked = ratings, units, differences, ranked

    def add(self, found: Sample) -> None:
        """Add the next slice. When the number of replicates reaches a power of two (64 or more), check whether ranks have settled."""
        self.whole = self.whole.followed_by(found)
        if self.whole.tried == self._check_at(self.whole.tried):
            self.settled = self._stays()

    @property
    def left(self) -> float:
        """Seconds that replicates may still take."""
        return self.seconds - self.whole.seconds

    @property
    def done(self) -> bool:
        """Whether no more replicates are needed."""
        return self.settled or self.whole.tried >= self.most or self.left <= 0

    @property
    def next(self) -> tuple[int, int]:
        """Number of the first replicate of the next slice, and the largest length of that slice."""
        return self.whole.tried, min(self.most, self._check_at(self.whole.tried + 1)) - self.whole.tried

    def _check_at(self, tried: int) -> int:
        """The smallest number of replicates, at least `tried`, at which ranks are checked: a power of two, 64 or more."""
        return max(_FIRST_CHECK, 1 << max(0, tried - 1).bit_length())

    def _stays(self) -> bool:
        """Whether the widest rank interval among the best agents has the same ends as with the first half of the replicates."""
        whole, half = len(self.whole.ranks), len(self.whole.ranks) // 2
        if half < LEAST or not len(self.top):
            return False
        now, then = (self._ends_of_top(count) for count in (whole, half))
        widest = int(np.argmax(now[1] - now[0]))
        return bool((now[:, widest] == then[:, widest]).all())

    def _ends_of_top(self, count: int) -> NDArray[np.int64]:
        """Ends of the rank intervals of the best agents by the first `count` replicates, int64 (2, agents)."""
        found = self._intervals(self.whole.ratings[:count], self.whole.ranks[:count])
        return np.stack([found.rank_low[self.top], found.rank_high[self.top]])

    def _intervals(self, ratings: Floats, ranks: NDArray[np.int64]) -> Intervals:
        return intervals_of(
            ratings, ranks, level=LEVEL, estimate=self._ratings, units=self._units, differences=self._differences, ranked=self._ranked
        )

    @property
    def count(self) -> str:
        """Number of replicates with an answer, in words: "64 draws" or "1 refit"."""
        answers = len(self.whole.ratings)
        return f"{answers} {self._word.removesuffix('s') if answers == 1 else self._word}"

    @property
    def why_not(self) -> str | None:
        """Why the replicates give no intervals; None if they do."""
        replicates = self.whole
        if replicates.failed > _MOST_FAILED * replicates.tried:
            return f"{replicates.failed} of {replicates.tried} {self._word} had no answer"
        if len(replicates.ratings) < LEAST:
            return f"{self.count} took {replicates.seconds:.2g} s; {LEAST} are needed within {self.seconds:g} s (interval_seconds)"
        return None

    def intervals(self) -> Intervals:
        """Percentiles of the replicates' ratings, and intervals of ranks that hold together."""
        return self._intervals(self.whole.ratings, self.whole.ranks)


def most_of(agents: int) -> int:
    """Largest number of replicates of a board with `agents` agents. Raises `InputError` if it is smaller than `LEAST`."""
    most = min(MOST, _MOST_CELLS // max(1, agents))
    if most < LEAST:
        raise InputError("agents", agents, f"must be at most {_MOST_CELLS // LEAST} on boards with intervals")
    return most


def reach_of(intervals: Intervals, factor: float) -> Floats:
    """Half widths of normal intervals, float64 (m,): deviations of the replicates' ratings, times Student's quantile; 0 without one.

    Args:
        intervals: Percentiles and deviations of the replicates.
        factor: Factor of the deviations (`resampling.normal_reach`).
    """
    student = float(scipy.special.stdtrit(intervals.replicates - 1, (1 + LEVEL) / 2))
    return np.where(np.isfinite(intervals.error), factor * student * intervals.error, 0.0)


def around(ratings: Floats, intervals: Intervals, reach: Floats, possible: tuple[float, float]) -> tuple[Floats, Floats]:
    """Ends of the intervals of ratings, float64 (m,): percentiles, extended to contain the rating and `reach` on both sides of it.

    Ends beyond `possible`, the least and the largest possible rating, are moved there.

    Percentile intervals alone cover the true value less often than their level, because the bias of resampling moves their center in the
    direction opposite to the bias of the estimate. The union of both intervals has at least the coverage of each of them.
    """
    low, high = np.fmin(intervals.low, ratings - reach), np.fmax(intervals.high, ratings + reach)
    low, high = np.maximum(low, possible[0]), np.minimum(high, possible[1])
    known = np.isfinite(ratings) & np.isfinite(intervals.low) & np.isfinite(intervals.high)
    return np.where(known, low, intervals.low), np.where(known, high, intervals.high)
