"""A solved board: one shape for the file beside the checkpoints, the store, the API and `equirank solve --format json`."""

from importlib.metadata import version
from typing import Final

import msgspec

VERSION: Final = version("equirank")


class CertificateRow(msgspec.Struct, frozen=True, kw_only=True):
    """What proves a result, and how well (0 is perfect); no value where the solve failed."""

    kind: str
    value: float | None


class AgentRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of a board. rank: 1 is best, equal ratings share a rank; low, high, rank_low, rank_high: intervals of rating and rank,
    where they were computed; deviation: of what an online method believes of the agent, where it holds one; rank_before: on the
    solved board before this one, where the agent was on it; provisional: whether the agent took part in few outcomes yet or its
    deviation is wide (live boards), or its interval of ranks is (solved ones). Deviations with their intervals, and who is provisional,
    are found out when a board is read.
    """

    agent: str
    rating: float | None
    rank: int
    low: float | None = None
    high: float | None = None
    deviation: float | None = None
    rank_before: int | None = None
    rank_low: int | None = None
    rank_high: int | None = None
    provisional: bool = False


class Intervals(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the intervals of a board's rows are.

    kind: ``posterior`` (draws of the true margins),
    ``cells`` (counts of pairs or places redrawn), ``clustered`` (whole outcomes redrawn), ``tasks`` or ``ballots`` (redrawn),
    ``fisher`` or ``sandwich`` (normal, of standard errors), ``belief`` (an online method's own, normal), or ``none``; of: what they are
    intervals of, where not of the rating that ranks; assumes: what has to hold for them, why_not: why there are none;
    level: they are central ones of; replicates: refits they are of, failed: refits without an answer; settled: whether more would
    leave the ranks of the best as they are, else time ran out; position: log offset of the outcomes that were redrawn.
    """

    kind: str
    of: str = ""
    assumes: str = ""
    why_not: str | None = None
    level: float = 0.95
    replicates: int = 0
    failed: int = 0
    settled: bool = False
    seconds: float = 0.0
    position: int | None = None


class TaskRow(msgspec.Struct, frozen=True, kw_only=True):
    """One rated task."""

    task: str
    rating: float | None
    rank: int


class PackedArray(msgspec.Struct, frozen=True):
    """One array. dtype: numpy's word, little-endian; data: zlib of its bytes, row by row."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes


class PackedStart(msgspec.Struct, frozen=True):
    """A `ratings_core.equilibria.starts.Start`."""

    method: str
    strategies: tuple[tuple[str, ...], ...]
    arrays: dict[str, PackedArray]


class SolveResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one method says, best agent first. extra: what the method adds (lottery, support, left out, parameters, ...);
    intervals: what those of the rows are, once somebody computed them.
    """

    method: str
    input: str
    agents: list[AgentRow]
    certificate: CertificateRow
    status: str
    seconds: float
    tasks: list[TaskRow] = []
    extra: dict[str, object] = {}
    intervals: Intervals | msgspec.UnsetType = msgspec.UNSET


class Basis(msgspec.Struct, frozen=True, kw_only=True):
    """What a solve was of.

    position: log offset up to which outcomes were counted; outcomes: how many; data: digest of the state they gave;
    parameters: what the method was given; solved_at: seconds since 1970; version: of Equirank, that solved.
    """

    generation: int
    position: int
    outcomes: int
    data: str
    parameters: dict[str, float | str | bool]
    solved_at: float
    version: str = ""

    @property
    def solve(self) -> tuple[object, ...]:
        """Which solve this is: equal for two copies of one result, whatever came after it."""
        return self.generation, self.position, self.data, self.parameters, self.solved_at


class SolvedBoard(Basis, frozen=True, kw_only=True):
    """A result bound to what it was computed from.

    error: why the newest try failed, where the result is the last good one; log: identity of the log that holds the outcomes; start:
    for the next solve, in the file alone; memory: bytes that the process which solved held at most.
    """

    pool: str
    result: SolveResult
    error: str | None = None
    log: str = ""
    start: PackedStart | None = None
    memory: int = 0
