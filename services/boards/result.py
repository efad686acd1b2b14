"""A solved board, in one form for the file beside the checkpoints, the store, the API and `equirank solve --format json`."""

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
    """A compressed array.

    Attributes:
        dtype: Type of the elements in NumPy's notation, little-endian.
        shape: Shape of the array.
        data: Bytes of the array in row-major order, compressed with zlib.
    """

    dtype: str
    shape: tuple[int, ...]
    data: bytes


class PackedStart(msgspec.Struct, frozen=True):
    """A `ratings_core.equilibria.starts.Start` with compressed arrays."""

    method: str
    strategies: tuple[tuple[str, ...], ...]
    arrays: dict[str, PackedArray]


class SolveResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one method.

    Attributes:
        method: Name of the method.
        input: Kind of the input: games, pairs, margins, profile or scores.
        agents: A row for each agent, best agent first.
        certificate: Proof of the result's quality.
        status: How the solve ended.
        seconds: Duration of the solve.
        tasks: A row for each task, if the method rates tasks.
        extra: Further fields of the method, such as a lottery, its parameters, or what was left out.
        intervals: Description of the rows' intervals; unset before they are computed.
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
    """The data, parameters and time of a solve.

    Attributes:
        generation: Generation of the pool.
        position: Log offset up to which outcomes were counted.
        outcomes: Number of outcomes counted.
        data: Digest of the pool's content at the position.
        parameters: Parameters of the method.
        solved_at: Time of the solve in seconds since 1970.
        version: Version of Equirank that solved.
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
        """Identity of the solve. Copies of one result have equal identities, even if they differ in `error` or intervals."""
        return self.generation, self.position, self.data, self.parameters, self.solved_at


class SolvedBoard(Basis, frozen=True, kw_only=True):
    """A result with the data that it was computed from.

    Attributes:
        pool: Name of the pool.
        result: The result.
        error: Why the newest try failed, if the result is that of an earlier try; otherwise None.
        log: Identity of the log that holds the outcomes.
        start: Start of the next solve; only in the result's file.
        memory: Peak memory of the solving process in bytes.
    """

    pool: str
    result: SolveResult
    error: str | None = None
    log: str = ""
    start: PackedStart | None = None
    memory: int = 0
