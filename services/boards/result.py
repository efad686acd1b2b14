"""A solved board, in one form for the file beside the checkpoints, the store, the API and `equirank solve --format json`."""

from importlib.metadata import version
from typing import Final

import msgspec

from services.boards.slice_boards import board_name

VERSION: Final = version("equirank")
_UNPROVEN: Final = "no proven coverage"
LOTTERY: Final = "maximal_lottery"
"""The method whose ratings are probabilities, most of them 0. Ratings of Nash averages are payoffs, and differ outside the support."""
PENDING: Final = "pending"
"""Status of a board that is not solved yet in the present season."""


class CertificateRow(msgspec.Struct, frozen=True, kw_only=True):
    """A proof of a result's quality.

    Attributes:
        kind: What is measured, such as `exploitability` or `kkt_residual`.
        value: The measured value; 0 is perfect. None if the solve failed.
    """

    kind: str
    value: float | None


class AgentRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One row of a board.

    Attributes:
        agent: Name of the agent.
        rating: Rating of the agent; None if the method cannot rate it.
        rank: Rank of the agent among the settled ones. 1 is best, and equal ratings share a rank. None if the agent is provisional.
        low: Lower end of the rating's interval, if one was computed.
        high: Upper end of this interval.
        deviation: Standard deviation of an online method's belief about the agent, at the pool time. Only for methods with beliefs.
        rank_before: Rank in the previous solve; absent for an agent that had none, and on live boards.
        earlier_rank: Rank at the time of the board's `earlier`. Only on solved boards in JSON; absent if the solve of then does not rank
            the agent, or kept only rows above it.
        earlier_rating: Rating at this time. Absent as `earlier_rank`; on live boards, if the agent has no outcome among the pool's newest
            half a million duels, and until a checkpoint has all its outcomes up to this time.
        rank_low: Best rank in the rank's interval, if one was computed. With the probability `level` of `intervals`, all
            ranks of the board are within their intervals at once, unless `proven` of `intervals` is false.
        rank_high: Worst rank in this interval.
        provisional: Whether there is too little evidence for a rank: the agent has few outcomes, or on solved boards few opponents.
            Provisional agents follow the settled ones.
        outcomes: Number of all outcomes of the agent in the generation, also older ones than the pool keeps. Absent on past boards.
        opponents: Number of other agents that it met in the games that the solve counted. Only on solved boards of pools of games.
        display_name: Name to show in place of the agent's name. This and the following fields are absent where they are not known.
        country: ISO 3166-1 alpha-2 code.
        organisation: Organisation behind the agent.
        licence: Licence of the agent, such as `Apache-2.0`.
        tags: Key -> value.
        games: Its games up to `games_position` of the board; a game of weight 2 counts 2. Games in teams are included if the pool's
            setting `by_shape` is on.
        wins: Games in which its side was alone in first place.
        draws: Games in which its side shared the first place.
        losses: Games in which another side was placed before it.
        last_played: Time of its newest outcome up to `games_position`, in seconds since 1970. Absent if this outcome is older than the
            newest half a million duels of the pool, or its history is not kept.
        filter_place: Place among the agents that match the filters of the request, 1 for the best. Equal ratings have different places.
    """

    agent: str
    rating: float | None
    rank: int | None
    low: float | None = None
    high: float | None = None
    deviation: float | None = None
    rank_before: int | None = None
    earlier_rank: int | None = None
    earlier_rating: float | None = None
    rank_low: int | None = None
    rank_high: int | None = None
    provisional: bool = False
    outcomes: int | None = None
    opponents: int | None = None
    display_name: str | None = None
    country: str | None = None
    organisation: str | None = None
    licence: str | None = None
    tags: dict[str, str] = {}
    games: float | None = None
    wins: float | None = None
    draws: float | None = None
    losses: float | None = None
    last_played: float | None = None
    filter_place: int | None = None


class Intervals(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Description of the intervals in the rows of a board.

    Attributes:
        kind: How the intervals were computed. ``posterior``: draws of the true margins. ``cells``: resampled counts of pairs or places.
            ``clustered``: resampled outcomes. ``tasks``, ``ballots``: resampled tasks or ballots. ``fisher``, ``sandwich``: normal
            intervals from standard errors. ``belief``: normal intervals from an online method's beliefs. ``none``: no intervals.
        of: Quantity with the interval, if it is not the rating; otherwise empty.
        assumes: Assumption under which the intervals are valid.
        proven: Whether the intervals hold with `level` under the assumption. False for methods whose ratings can jump where data move a
            little, from refits to resampled data: an interval then covers what the refits gave, without the most extreme, and how often
            it includes the true rating or rank is not proven.
        why_not: Why there are no intervals; None if there are intervals.
        level: Probability of the intervals. Each rating is within its own with this probability. All ranks of the board are within
            theirs at once with this probability. Where `proven` is false, it is a share of the refits.
        replicates: Number of draws (``posterior``) or of refits to resampled data.
        failed: Number of further draws or refits, which had no result.
        settled: Whether the best agents' rank intervals stopped changing. If not, draws or refits ended at a limit of time or number.
        seconds: Duration of draws or refits.
        position: Log offset of the outcomes that were resampled.
    """

    kind: str
    of: str = ""
    assumes: str = ""
    proven: bool = True
    why_not: str | None = None
    level: float = 0.95
    replicates: int = 0
    failed: int = 0
    settled: bool = False
    seconds: float = 0.0
    position: int | None = None

    def __post_init__(self) -> None:
        # Boards that earlier releases stored say it in `assumes` only.
        if _UNPROVEN in self.assumes:
            msgspec.structs.force_setattr(self, "proven", False)


class TaskRow(msgspec.Struct, frozen=True, kw_only=True):
    """The rating of one task."""

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
        agents: A row for each agent, best agent first; on boards of pools, settled agents before provisional ones.
        certificate: Proof of the result's quality.
        status: How the solve ended; `too_little_evidence` if it ended well and all agents are provisional.
        seconds: Duration of the solve.
        tasks: A row for each task, if the method rates tasks.
        extra: Further fields of the method, such as a lottery, its parameters, or what was left out.
        intervals: Description of the rows' intervals; unset before they are computed.
        ranked: Number of settled agents, which come first. Absent where evidence was not considered: all agents then have ranks.
        reason: Why no agent has a rank; absent if one has.
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
    ranked: int | msgspec.UnsetType = msgspec.UNSET
    reason: str | msgspec.UnsetType = msgspec.UNSET


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
        sequence: Number of the solve. The engine gives each solve a higher number than all solves before it.
        slice: Slice of the pool's outcomes that was solved, such as `language:English`; empty for all outcomes.
        total: Number of agents on the board; only in the file of an earlier result, which has the best rows alone.
    """

    pool: str
    result: SolveResult
    error: str | None = None
    log: str = ""
    start: PackedStart | None = None
    memory: int = 0
    sequence: int = 0
    slice: str = ""
    total: int | msgspec.UnsetType = msgspec.UNSET

    @property
    def name(self) -> str:
        """Name of the board."""
        return board_name(self.result.method, self.slice)
