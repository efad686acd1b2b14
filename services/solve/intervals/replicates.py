"""Intervals of ratings and ranks from replicates: resampled data that are solved again.

The seed of a replicate depends only on the pool, the position, the method and the replicate's number. The same number of replicates thus
gives the same intervals, in whatever processes and slices they are solved. The number of replicates doubles until the ranks of the best
agents do not change any more, or the time is spent.
"""

import time
from collections.abc import Callable, Mapping, Sequence
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


class Ends(msgspec.Struct, frozen=True, kw_only=True):
    """Ends of one agent's intervals.

    Attributes:
        low, high: Percentiles of the replicates' ratings; None if no replicate rates the agent.
        rank_low, rank_high: Percentiles of the replicates' ranks.
        reach: Half width of the normal interval: the standard deviation of the replicates' ratings, times Student's quantile. 0 for
            methods whose ratings can jump when the data change a little.
    """

    low: float | None
    high: float | None
    rank_low: int
    rank_high: int
    reach: float = 0.0

    def beside(self, row: AgentRow) -> AgentRow:
        """The agent's row with its intervals: the percentiles, extended to contain the estimate and `reach` on both sides of it.

        Percentile intervals alone cover the true value less often than their level, because the bias of resampling moves their center in
        the direction opposite to the bias of the estimate. The union of both intervals has at least the coverage of each of them.
        """
        ranks = min(self.rank_low, row.rank), max(self.rank_high, row.rank)
        if row.rating is None or self.low is None or self.high is None:
            return msgspec.structs.replace(row, low=self.low, high=self.high, rank_low=ranks[0], rank_high=ranks[1])
        low, high = min(self.low, row.rating - self.reach), max(self.high, row.rating + self.reach)
        return msgspec.structs.replace(row, low=low, high=high, rank_low=ranks[0], rank_high=ranks[1])


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


class Facts(NamedTuple):
    """Facts about a problem that is resampled.

    Attributes:
        names: Agents of the problem.
        about: Kind and assumptions of the resampling.
        reach: Factor of the replicates' deviations in normal intervals (`resampling.normal_reach`); 0 for no normal intervals.
        seconds: Time that the preparation took.
    """

    names: tuple[str, ...]
    about: Intervals
    reach: float
    seconds: float = 0.0


def seed_of(pool: str, position: int, method: str) -> int:
    """The base seed for all replicates of a solve."""
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
        again = solved._replace(problem=source.draw(np.random.default_rng([seed, replicate])), values={**solved.values, **source.values})
        try:
            rated = again.rated()
        except (SolverError, InputError):  # the resampled data may be too few for the method
            failed += 1
        else:
            ratings.append(rated.solution.ratings)
            ranks.append(ranking_of(solved.method, rated).rank)
    n = len(solved.problem.names)
    table = np.array(ratings, np.float64).reshape(len(ratings), n)
    return Sample(table, np.array(ranks, np.int64).reshape(len(ranks), n), failed, clock() - began)


class Replication:
    """Replicates of one solve so far, and whether more are needed.

    Attributes:
        facts: Facts about the problem that is resampled. It may be newer than the result, so agents may differ.
        seconds: Time limit for all replicates.
        most: Largest number of replicates.
        top: int64, ids of the best agents of the result, best first. Their rank intervals decide whether replicates are enough.
        whole: All replicates so far.
        settled: Whether the rank intervals of the best agents did not change any more.
    """

    def __init__(self, facts: Facts, result: SolveResult, seconds: float) -> None:
        """Begin without replicates. Raises `InputError` if there are too many agents."""
        n, at = len(facts.names), {name: i for i, name in enumerate(facts.names)}
        self.facts, self.seconds, self.most, self.settled = facts, seconds, most_of(n), False
        self.top = np.array([at[row.agent] for row in result.agents[:TOP] if row.agent in at], np.int64)
        self.whole = Sample(np.empty((0, n)), np.empty((0, n), np.int64), 0, 0.0)

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
        ranks = self.whole.ranks[:, self.top]
        half = ranks[: len(ranks) // 2]
        if len(half) < LEAST or not len(self.top):
            return False
        now, then = _ends(ranks), _ends(half)
        widest = int(np.argmax(now[1] - now[0]))
        return bool((now[:, widest] == then[:, widest]).all())


def most_of(agents: int) -> int:
    """Largest number of replicates of a board with `agents` agents. Raises `InputError` if it is smaller than `LEAST`."""
    most = min(MOST, _MOST_CELLS // max(1, agents))
    if most < LEAST:
        raise InputError("agents", agents, f"must be at most {_MOST_CELLS // LEAST} on boards with intervals")
    return most


def add_intervals(
    method: str, problem: Problem, parameters: Parameters, result: SolveResult, seconds: float, seed: int | None = None
) -> SolveResult:
    """Add intervals to a result: normal intervals if the method has them, otherwise intervals from replicates.

    Args:
        method: The solved method.
        problem: The problem that was solved.
        parameters: Parameters of the solve.
        result: What `methods.solve` returned for these arguments.
        seconds: Time limit for all replicates.
        seed: Base seed of the replicates; None for a seed that depends only on the method.

    Raises:
        InputError: The problem cannot be resampled.
    """
    if (normal := with_normal_intervals(method, problem, parameters, result)) is not None:
        return normal
    whole = taken(method, problem, parameters)
    source = resampling(whole.problem, whole.method, whole.values)
    found = Replication(Facts(whole.problem.names, source.about, normal_reach(whole.method, source)), result, seconds)
    base = seed_of("", 0, method) if seed is None else seed
    while not found.done:
        first, most = found.next
        found.add(sample(whole, source, base, first, most, found.left))
    told, ends = measured(found)
    return msgspec.structs.replace(result, agents=with_ends(result.agents, ends), intervals=told)


def with_ends(rows: Sequence[AgentRow], ends: Mapping[str, Ends]) -> list[AgentRow]:
    """The rows with their intervals. ends: Agent -> ends of its intervals; rows of other agents are unchanged."""
    return [ends[row.agent].beside(row) if row.agent in ends else row for row in rows]


def measured(found: Replication) -> tuple[Intervals, dict[str, Ends]]:
    """Compute intervals from replicates: their description, and the ends of each agent (none if there are too few replicates)."""
    whole, facts = found.whole, found.facts
    if (why := _too_few(found)) is not None:
        return Intervals(kind="none", why_not=why), {}
    told = msgspec.structs.replace(
        facts.about, level=LEVEL, replicates=len(whole.ratings), failed=whole.failed, settled=found.settled, seconds=whole.seconds
    )
    return told, _ends_of(facts.names, core.intervals_of(whole.ratings, whole.ranks, level=LEVEL), facts.reach)


def _too_few(found: Replication) -> str | None:
    whole = found.whole
    if whole.failed > _MOST_FAILED * whole.tried:
        return f"{whole.failed} of {whole.tried} refits to resampled data had no answer"
    if len(whole.ratings) < LEAST:
        return f"{len(whole.ratings)} refits took {whole.seconds:.2g} s; {LEAST} are needed within {found.seconds:g} s (interval_seconds)"
    return None


def _ends_of(names: Sequence[str], found: core.Intervals, factor: float) -> dict[str, Ends]:
    """Agent -> ends of its intervals. factor: `Facts.reach`."""
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
