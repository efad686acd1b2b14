"""Pools, generations and takeovers: the records of the control log, and the state that folding them gives.

Everything that changes what a fold means is a record here. Records that must never be lost to compaction (pools, generations)
carry a key of their own; those whose last one counts (takeovers, engines, wishes, solve plans) share a key.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final, Literal, TypeAlias

import msgspec

from services.control.erasures import ErasedName, ErasureDone, ErasureRecords, ErasureRequest
from services.log.skipping import beyond
from services.wire.pools import Kind

FOLD_VERSION: Final = 1
"""Covers kernels, defaults, limits and validation of the fold; a change of any folds new generations."""


class FoldSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a generation keeps. A change of any field is a new generation.

    online: method -> its parameters (empty: the defaults); none: elo and sco for games, no online method for scores.
    per_task: keep pair tallies per task too. clustered: and those of whole games in groups at random, for intervals of games with more
    than two sides, or with weights. features: numbers in the `meta` of games that fits with covariates control for; feature_window: newest
    games kept with them. bucket_seconds: width of a time bucket (none: one bucket); buckets_kept: newest
    buckets kept (none: all). dedupe_window: ids remembered. max_agents, max_tasks: outcomes that would exceed them are refused.
    """

    online: dict[str, dict[str, float]] | None = None
    per_task: bool = False
    clustered: bool = False
    features: Annotated[tuple[str, ...], msgspec.Meta(max_length=16)] = ()
    feature_window: Annotated[int, msgspec.Meta(ge=1, le=1 << 24)] = 1_000_000
    bucket_seconds: Annotated[int, msgspec.Meta(ge=1)] | None = None
    buckets_kept: Annotated[int, msgspec.Meta(ge=1)] | None = None
    dedupe_window: Annotated[int, msgspec.Meta(ge=1, le=1 << 26)] = 4_194_304
    max_agents: Annotated[int, msgspec.Meta(ge=2, le=2**31 - 1)] = 10_000_000
    max_tasks: Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)] = 1_000

    def methods(self, kind: Kind) -> dict[str, dict[str, float]]:
        """The online methods and their parameters for a pool of this kind."""
        if self.online is not None:
            return self.online
        return {"elo": {}, "sco": {}} if kind is Kind.GAMES else {}


class PoolCreated(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="pool"):
    """A pool begins. The first record of a name counts; generation 1 starts at the first outcome seen afterwards."""

    pool: str
    kind: Kind
    time: float
    fold: FoldSettings = FoldSettings()
    label: str = ""
    """Shown beside the name, such as "simulated"."""


class Generation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="generation"):
    """What a fold is, immutably. start: first offset of the pool's partition that it reads."""

    pool: str
    number: Annotated[int, msgspec.Meta(ge=1)]
    start: Annotated[int, msgspec.Meta(ge=0)]
    time: float
    fold: FoldSettings
    fold_version: int = FOLD_VERSION
    retraction_horizon: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Outcomes retracted by records below this offset are left out, wherever they stand."""
    initial: dict[str, dict[str, float]] = {}
    """Method -> agent -> initial rating."""
    aliases: dict[str, str] = {}
    """Name in outcomes -> the agent it counts for."""
    bans: tuple[str, ...] = ()
    """Agents whose games do not count, and whose scores are left out."""
    wanted: int = -1
    """Offset of the newest wish that it fulfils, -1 for none."""
    erased: tuple[ErasedName, ...] = ()
    """Names that it replaces by tokens before anything else. Its aliases, bans and initial ratings name the tokens."""

    @property
    def edits(self) -> bool:
        """Whether it folds other outcomes than the log holds."""
        return bool(self.retraction_horizon or self.aliases or self.bans or self.erased)


Start: TypeAlias = Literal["same", "now"] | Annotated[int, msgspec.Meta(ge=0)]


class GenerationRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="wanted"):
    """How a pool is to be folded from now on, whole; the shard that owns the pool makes a generation of it, as it alone knows positions.

    The newest wish of a pool counts. start: where the generation begins: as the present one does, at the shard's position, or an offset;
    one that the shard has not reached is waited for.
    """

    pool: str
    time: float
    fold: FoldSettings
    initial: dict[str, dict[str, float]] = {}
    aliases: dict[str, str] = {}
    bans: tuple[str, ...] = ()
    start: Start = "same"


class Serve(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="serve"):
    """The generation that readers see from now on (generation 1 needs no such record). The highest one told counts."""

    pool: str
    number: int
    time: float


class SolvePlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="solves"):
    """Which methods are solved for a pool, and their parameters; none recorded: the defaults of its kind."""

    pool: str
    methods: dict[str, dict[str, float | str | bool]]
    time: float


class Takeover(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="takeover"):
    """An actor start takes a partition over; the record's own offset is the epoch.

    log: identity of the log that the partition was taken over with first, which all that the control log says of it is about. Not told
    by releases that knew nothing of it.
    """

    partition: int
    owner: str
    time: float
    log: str = ""


class EngineStarted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="engine"):
    """An engine starts its shards. The record's own offset is the engine's number: shards of an engine with a lower one take no partition
    over any more, and that engine ends once the newer one has them all.
    """

    owner: str
    time: float


class LossAccepted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="forgotten"):
    """An operator's word that the log lost what a partition had not folded: standing at `position` or after, it goes on at `begin`."""

    partition: int
    position: int
    begin: int
    time: float


class Skipped(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="skipped"):
    """An operator's word that a partition is folded without its records from `begin` to before `end`: now, and whenever it is folded."""

    partition: int
    begin: Annotated[int, msgspec.Meta(ge=0)]
    end: int
    time: float


class Attempt(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="attempt"):
    """A shard is about to fold the records of a partition from `begin` to before `end`; equal ones: nothing is under way.

    epoch: of the shard; deaths: how many shards died while they folded just these records.
    """

    partition: int
    epoch: int
    begin: int = 0
    end: int = 0
    deaths: int = 0
    time: float


class LettersSent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="letters_sent"):
    """Dead letters, by key, that were sent to the log again: the next time they are not. Nothing of it is part of the state."""

    letters: list[str]
    time: float


ControlRecord: TypeAlias = (
    PoolCreated
    | Generation
    | GenerationRequest
    | Serve
    | SolvePlan
    | Takeover
    | EngineStarted
    | LossAccepted
    | Skipped
    | Attempt
    | LettersSent
    | ErasureRequest
    | ErasureDone
)

_SHARED_KEYS: Final[Mapping[type[ControlRecord], str]] = {
    Takeover: "takeover/{record.partition}",
    EngineStarted: "engine",
    Serve: "serve/{record.pool}/{record.number}",
    Attempt: "attempt/{record.partition}",
    GenerationRequest: "wanted/{record.pool}",
    SolvePlan: "solves/{record.pool}",
}
"""Keys of records whose last one counts. All others have a key of their own, so compaction never drops them."""
_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[ControlRecord] = msgspec.json.Decoder(ControlRecord)


def encode(record: ControlRecord) -> tuple[bytes, bytes]:
    """(key, value) as the control log holds them."""
    key = _SHARED_KEYS.get(type(record), "once/{uuid}").format(record=record, uuid=uuid.uuid4())
    return key.encode(), _encoder.encode(record)


def decode(value: bytes) -> ControlRecord:
    """The record in `value`; raises `msgspec.DecodeError` when it is not one of these (a newer version wrote it)."""
    try:
        return _decoder.decode(value)
    except (UnicodeDecodeError, RecursionError) as error:
        raise msgspec.DecodeError(str(error)) from error


@dataclass(slots=True)
class PartitionRecords:
    """What the control log says of partitions, by partition number.

    Attributes:
        epochs: Offset of the newest takeover.
        logs: Identity of the log that the partition's positions are of.
        losses: What its log lost, as operators said.
        skipped: Ranges of offsets that are not folded, as operators said.
        attempts: What its last shard was about to fold.
    """

    epochs: dict[int, int] = field(default_factory=dict)
    logs: dict[int, str] = field(default_factory=dict)
    losses: dict[int, list[LossAccepted]] = field(default_factory=dict)
    skipped: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    attempts: dict[int, Attempt] = field(default_factory=dict)

    def apply(self, offset: int, record: Takeover | LossAccepted | Skipped | Attempt) -> None:
        """Fold one record. The first one says which log a partition is of."""
        match record:
            case Takeover():
                self.epochs[record.partition] = offset
                if record.log:
                    self.logs.setdefault(record.partition, record.log)
            case LossAccepted():
                self.losses.setdefault(record.partition, []).append(record)
            case Skipped():
                self.skipped.setdefault(record.partition, []).append((record.begin, record.end))
            case Attempt():
                if record.epoch >= self.epochs.get(record.partition, record.epoch):  # notes of a superseded shard do not count
                    self.attempts[record.partition] = record

    def skips(self, partition: int, offset: int) -> bool:
        """Whether the record at `offset` is not folded."""
        return beyond(self.skipped.get(partition, ()), offset) > offset

    def beyond_losses(self, partition: int, position: int) -> int:
        """Where a partition goes on that stands at `position`: there, unless an operator gave up what follows, as lost or by a skip."""
        skipped = self.skipped.get(partition, ())
        for lost in self.losses.get(partition, []):
            if lost.position <= beyond(skipped, position) < lost.begin:
                position = lost.begin
        return beyond(skipped, position)


class ControlState:
    """The control log folded up to `position`. Pure: the same records give the same state."""

    def __init__(self) -> None:
        self.position = 0
        self.pools: dict[str, PoolCreated] = {}
        self.generations: dict[str, dict[int, Generation]] = {}
        self.plans: dict[str, SolvePlan] = {}
        self.wishes: dict[str, tuple[int, GenerationRequest]] = {}
        """Pool -> offset and content of its newest wish."""
        self.engine = -1
        """Offset of the newest engine's start; -1 where none was recorded."""
        self.partitions = PartitionRecords()
        self.erasures = ErasureRecords()
        self._served: dict[str, int] = {}

    def apply(self, offset: int, record: ControlRecord) -> None:
        """Fold one record. First wins for pools and generation numbers, the highest for serving, last for the others."""
        match record:
            case PoolCreated():
                self.pools.setdefault(record.pool, record)
            case Generation():
                self.generations.setdefault(record.pool, {}).setdefault(record.number, record)
            case Serve():
                self._served[record.pool] = max(record.number, self.served(record.pool))
            case GenerationRequest():
                self.wishes[record.pool] = offset, record
            case SolvePlan():
                self.plans[record.pool] = record
            case Takeover() | LossAccepted() | Skipped() | Attempt():
                self.partitions.apply(offset, record)
            case EngineStarted():
                self.engine = offset
            case ErasureRequest() | ErasureDone():
                self.erasures.apply(record)
            case LettersSent():
                pass
        self.position = offset + 1

    def served(self, pool: str) -> int:
        """Number of the generation that readers of `pool` see."""
        return self._served.get(pool, 1)

    def serving(self, pool: str) -> Generation | None:
        """The generation that readers of `pool` see, if it has any yet."""
        return self.generations.get(pool, {}).get(self.served(pool))

    def newest(self, pool: str) -> Generation | None:
        """The generation of `pool` with the highest number, whether or not it serves."""
        made = self.generations.get(pool)
        return made[max(made)] if made else None

    def wish(self, pool: str) -> tuple[int, GenerationRequest] | None:
        """Offset and content of the wish of `pool` that no generation fulfils yet."""
        found, newest = self.wishes.get(pool), self.newest(pool)
        return None if found is None or (newest is not None and newest.wanted >= found[0]) else found
