"""Intervals of ratings and ranks by solving replicates of the data: how many, of which seeds, and how their answers become intervals.

Replicate r of a pool's method at a position is drawn with a seed that follows from those alone, so wherever and in whatever slices
replicates are solved, the same number of them gives the same intervals. How many there are is found out: their number doubles
until the ranks of the best agents stay, or the time is spent.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from ratings_core.analysis import intervals as core
from ratings_core.errors import InputError, SolverError
from ratings_core.solution import Floats
from services.boards.result import AgentRow, Intervals, SolveResult
from services.solve.problems.inputs import Problem
from services.solve.registry.methods import Parameters, Taken, ranking_of, taken
from services.solve.uncertainty.normal import with_normal_intervals
from services.solve.uncertainty.resampling import Resampling, normal_reach, resampling

LEVEL: Final = 0.95
LEAST: Final = 32
"""Fewer replicates than this have no percentiles to speak of."""
MOST: Final = 2048
_MOST_CELLS: Final = 1 << 21
"""Ratings of all replicates together: the engine holds them and takes their percentiles, which must not keep it from its other work."""
_FIRST_CHECK: Final = 64
TOP: Final = 10
"""Best agents of a board whose ranks have to stay."""
_MOST_FAILED: Final = 0.1
"""Share of replicates without an answer beyond which the others stand for a selection."""


class Ends(msgspec.Struct, frozen=True, kw_only=True):
    """Ends of one agent's intervals. low, high: percentiles of the replicates' ratings, None for an agent that no replicate rates.

    rank_low, rank_high: percentiles of their ranks. reach: standard deviation of the replicates' ratings times Student's quantile, 0 for
    methods whose ratings jump.
    """

    low: float | None
    high: float | None
    rank_low: int
    rank_high: int
    reach: float = 0.0

    def beside(self, row: AgentRow) -> AgentRow:
        """The row of this agent with its intervals: percentiles, extended to the estimate and to `reach` on both sides of it.

        Percentiles alone cover less than they say: their center is off by the bias of resampling, in the direction opposite to the bias
        of the estimate. The wider of both intervals covers no less often than either. No interval excludes its own estimate.
        """
        ranks = min(self.rank_low, row.rank), max(self.rank_high, row.rank)
        if row.rating is None or self.low is None or self.high is None:
            return msgspec.structs.replace(row, low=self.low, high=self.high, rank_low=ranks[0], rank_high=ranks[1])
        low, high = min(self.low, row.rating - self.reach), max(self.high, row.rating + self.reach)
        return msgspec.structs.replace(row, low=low, high=high, rank_low=ranks[0], rank_high=ranks[1])


class Sample(NamedTuple):
    """Answers of some replicates. ratings: (k, m), agents by name; ranks: int64 (k, m); failed: how many more had no answer."""

    ratings: Floats
    ranks: NDArray[np.int64]
    failed: int
    seconds: float

    @property
    def tried(self) -> int:
        """How many replicates that was."""
        return len(self.ratings) + self.failed


def seed_of(pool: str, position: int, method: str) -> int:
    """Of all replicates of a solve."""
    return int.from_bytes(blake2b(f"{pool}\n{position}\n{method}".encode(), digest_size=8).digest(), "little")


def sample(
    solved: Taken,
    source: Resampling,
    seed: int,
    first: int,
    most: int,
    seconds: float,
    clock: Callable[[], float] = time.perf_counter,
) -> Sample:
    """Solve replicates `first`, `first` + 1, ...: `most` of them, or those begun within `seconds`, one at least.

    Raises `InputError` where the data cannot be redrawn.
    """
    began, failed = clock(), 0
    ratings: list[Floats] = []
    ranks: list[NDArray[np.int64]] = []
    for replicate in range(first, first + most):
        if replicate > first and clock() - began >= seconds:
            break
        again = solved._replace(problem=source.draw(np.random.default_rng([seed, replicate])), values={**solved.values, **source.values})
        try:
            rated = again.rated()
        except (SolverError, InputError):  # what was drawn may be too little for the method
            failed += 1
        else:
            ratings.append(rated.solution.ratings)
            ranks.append(ranking_of(solved.method, rated).rank)
    n = len(solved.problem.names)
    table = np.array(ratings, np.float64).reshape(len(ratings), n)
    return Sample(table, np.array(ranks, np.int64).reshape(len(ranks), n), failed, clock() - began)


@dataclass
class Replication:
    """Replicates of one solve so far, and whether more are wanted. seconds: that all of them may take; top: agents whose ranks have
    to stay, by their place in the problem, best first; most: replicates.
    """

    seconds: float
    top: NDArray[np.int64]
    most: int = MOST
    spent: float = 0.0
    settled: bool = False
    samples: list[Sample] = field(default_factory=list)

    def add(self, found: Sample) -> None:
        """Take in the next slice."""
        self.samples.append(found)
        self.spent += found.seconds
        if self.tried == self._check_at(self.tried):
            self.settled = self._stays()

    @property
    def tried(self) -> int:
        """Replicates that were solved or failed."""
        return sum(one.tried for one in self.samples)

    @property
    def done(self) -> bool:
        """Whether no more are wanted."""
        return self.settled or self.tried >= self.most or self.spent >= self.seconds

    @property
    def next(self) -> tuple[int, int]:
        """First replicate of the next slice, and at most how many it has."""
        return self.tried, min(self.most, self._check_at(self.tried + 1)) - self.tried

    def whole(self) -> Sample:
        """All of them."""
        return Sample(
            np.concatenate([one.ratings for one in self.samples]),
            np.concatenate([one.ranks for one in self.samples]),
            sum(one.failed for one in self.samples),
            self.spent,
        )

    def _check_at(self, tried: int) -> int:
        """The first number of replicates, from `tried` on, at which ranks are looked at: a power of two."""
        return max(_FIRST_CHECK, 1 << max(0, tried - 1).bit_length())

    def _stays(self) -> bool:
        """Whether the widest rank interval of the top ends where it did with half of the replicates."""
        ranks = np.concatenate([one.ranks[:, self.top] for one in self.samples])
        half = ranks[: len(ranks) // 2]
        if len(half) < LEAST or not len(self.top):
            return False
        now, then = _ends(ranks), _ends(half)
        widest = int(np.argmax(now[1] - now[0]))
        return bool((now[:, widest] == then[:, widest]).all())


def most_of(agents: int) -> int:
    """Most replicates of a board of so many agents. Raises `InputError` where there would be too few."""
    most = min(MOST, _MOST_CELLS // max(1, agents))
    if most < LEAST:
        raise InputError("agents", agents, f"must be at most {_MOST_CELLS // LEAST} on boards with intervals")
    return most


def replication(names: Sequence[str], result: SolveResult, seconds: float) -> Replication:
    """Of a solve whose answer is `result`. names: of the agents that are redrawn; those of the result may be older. Raises `InputError`."""
    at, most = {name: i for i, name in enumerate(names)}, most_of(len(names))
    return Replication(seconds, np.array([at[row.agent] for row in result.agents[:TOP] if row.agent in at], np.int64), most)


def add_intervals(
    method: str, problem: Problem, parameters: Parameters, result: SolveResult, seconds: float, seed: int | None = None
) -> SolveResult:
    """`result`, which `methods.solve` gave for the same, with intervals: normal ones where the method has them, else by as many
    replicates as `seconds` allow and ranks need.

    seed: that of no pool by default. Raises `InputError` where the problem cannot be redrawn.
    """
    if (normal := with_normal_intervals(method, problem, parameters, result)) is not None:
        return normal
    whole = taken(method, problem, parameters)
    source, found = resampling(whole.problem, whole.method, whole.values), replication(whole.problem.names, result, seconds)
    base = seed_of("", 0, method) if seed is None else seed
    while not found.done:
        first, most = found.next
        found.add(sample(whole, source, base, first, most, seconds - found.spent))
    return with_intervals(result, whole.problem.names, source.about, found, reach=normal_reach(whole.method, source))


def with_intervals(
    result: SolveResult, names: Sequence[str], about: Intervals, found: Replication, position: int | None = None, *, reach: float = 0.0
) -> SolveResult:
    """`result` with the intervals that replicates of the agents `names` give, or with why there are none. about: kind, assumes."""
    told, ends = measured(names, about, found, reach=reach)
    rows = [row if row.agent not in ends else ends[row.agent].beside(row) for row in result.agents]
    return msgspec.structs.replace(result, agents=rows, intervals=msgspec.structs.replace(told, position=position))


def measured(names: Sequence[str], about: Intervals, found: Replication, *, reach: float = 0.0) -> tuple[Intervals, dict[str, Ends]]:
    """Intervals from replicates: what they are, and the ends of each agent; without ends where there are too few replicates.

    Args:
        names: Agents of the replicates.
        about: Kind and assumptions of the resampling.
        found: The replicates.
        reach: Factor of the deviations of refits in normal intervals (`resampling.normal_reach`); 0 for no normal intervals.
    """
    whole = found.whole()
    if (why := _too_few(whole, found)) is not None:
        return Intervals(kind="none", why_not=why), {}
    told = msgspec.structs.replace(
        about, level=LEVEL, replicates=len(whole.ratings), failed=whole.failed, settled=found.settled, seconds=found.spent
    )
    return told, _ends_of(names, core.intervals_of(whole.ratings, whole.ranks, level=LEVEL), reach)


def _too_few(whole: Sample, found: Replication) -> str | None:
    if whole.failed > _MOST_FAILED * whole.tried:
        return f"{whole.failed} of {whole.tried} refits to resampled data had no answer"
    if len(whole.ratings) < LEAST:
        return f"{len(whole.ratings)} refits took {found.spent:.2g} s; {LEAST} are needed within {found.seconds:g} s (interval_seconds)"
    return None


def _ends_of(names: Sequence[str], found: core.Intervals, factor: float) -> dict[str, Ends]:
    """Ends by agent."""
    student = float(stdtrit(found.replicates - 1, (1 + LEVEL) / 2))
    return {
        name: Ends(
            low=float(low) if np.isfinite(low) else None,
            high=float(high) if np.isfinite(high) else None,
            rank_low=int(first),
            rank_high=int(last),
            reach=float(factor * student * error) if np.isfinite(error) else 0.0,
        )
        for name, low, high, first, last, error in zip(
            names, found.low, found.high, found.rank_low, found.rank_high, found.error, strict=True
        )
    }


def _ends(ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    tail = (1 - LEVEL) / 2
    return np.quantile(ranks, [tail, 1 - tail], axis=0, method="inverted_cdf").astype(np.int64)
