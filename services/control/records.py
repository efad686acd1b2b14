"""The records of the control log, and the state that they fold to.

Everything that changes what a fold means is such a record; details of agents, which change no fold, are records too. Compaction by key
keeps the last record of each key. So a record that must never be lost (such as a pool or a generation) has a unique key, and records of
which only the last counts (takeovers, engines, requests for generations, solve plans) share a key.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from typing import Annotated, Any, Final, Literal, Self, TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from ratings_core.records.tag_keys import TAG_KEY
from services.control.details_records import DetailsRecords, DetailsWritten
from services.control.erasures import ErasedName, ErasureDone, ErasureRecords, ErasureRequest, NameMatcher
from services.log.skipping import beyond
from services.wire.pools import FIRST_SEASON, Kind

FOLD_VERSION: Final = 2
"""Number of the fold's meaning. It rises when kernels, defaults, limits or validation change results; then pools get new generations."""
DEFAULT_METHODS: Final = ("elo", "sco", "glicko2")
"""Online methods of a new pool of games whose settings name none."""
_UNNAMED_METHODS: Final = ("elo", "sco")
"""Online methods of a pool of games whose record, of an earlier release, names none. They stay: another set would change its ratings."""


SliceTag: TypeAlias = Annotated[str, msgspec.Meta(pattern=rf"^{TAG_KEY}(?!\n)$")]
"""Key of a tag by which a pool has slices."""


class FoldSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of a generation. A change of any setting makes a new generation.

    Attributes:
        online: Online method -> its parameters; an empty object means its defaults. Left out in a request: `elo`, `sco` and `glicko2` for
            games, none for scores; the record that is written names them. Null in a record of an earlier release: `elo` and `sco` for
            games, and a request for the pool's next generation that leaves it out keeps it null.
        per_task: Whether to keep pair tallies per task, too.
        clustered: Whether to keep pair tallies of random groups of games, too. Intervals use them for games with more than two sides or
            with weights.
        by_shape: Whether to tell games apart by their shape, which is the sizes of their smallest and their largest side. Forecasts then
            have a scale and a record for each shape. Records of agents, and filters by a number of games, then include games in teams.
            Left out in a request: true for games, false for scores; the record that is written has the value. Null in a record of an
            earlier release: false, and a request for the pool's next generation that leaves it out keeps it null.
        features: Names of numbers in the `meta` of games, which methods with covariates use.
        feature_window: Largest number of games whose features are kept; the newest ones.
        bucket_seconds: Width of a time bucket in seconds; None for a single bucket.
        buckets_kept: Number of newest buckets to keep; None for all.
        dedupe_window: Number of outcome ids remembered to find duplicates.
        history: Number of the newest outcomes whose history is kept: ratings before and after them, by online method; 0 for none.
        max_agents: Largest number of agents. Outcomes that would exceed it are refused.
        max_tasks: Largest number of tasks. Outcomes that would exceed it are refused.
        slices: Key of a tag -> online methods of its slices, which are a part of the pool's. Each value of the tag is a slice, with live
            boards of the outcomes that have it.
        slice_values: Largest number of values of a tag that become slices, the first ones in the log.
    """

    online: dict[str, dict[str, float]] | None = None
    per_task: bool = False
    clustered: bool = False
    by_shape: bool | None = None
    features: Annotated[tuple[str, ...], msgspec.Meta(max_length=16)] = ()
    feature_window: Annotated[int, msgspec.Meta(ge=1, le=1 << 24)] = 1_000_000
    bucket_seconds: Annotated[int, msgspec.Meta(ge=1)] | None = None
    buckets_kept: Annotated[int, msgspec.Meta(ge=1)] | None = None
    dedupe_window: Annotated[int, msgspec.Meta(ge=1, le=1 << 26)] = 4_194_304
    history: Annotated[int, msgspec.Meta(ge=0, le=1 << 40)] = 1_000_000
    max_agents: Annotated[int, msgspec.Meta(ge=2, le=2**31 - 1)] = 10_000_000
    max_tasks: Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)] = 1_000
    slices: Annotated[dict[SliceTag, tuple[str, ...]], msgspec.Meta(max_length=4)] = {}
    slice_values: Annotated[int, msgspec.Meta(ge=1, le=256)] = 64

    def methods(self, kind: Kind) -> dict[str, dict[str, float]]:
        """The online methods by which a pool of this kind with these recorded settings is folded, and their parameters."""
        if self.online is not None:
            return self.online
        return {method: {} for method in _UNNAMED_METHODS} if kind is Kind.GAMES else {}

    def with_defaults(self, kind: Kind, standing: "FoldSettings | None" = None) -> Self:
        """These settings for a record of a pool of this kind: with the online methods and `by_shape` of new pools, if left out.

        standing: Settings that these replace. What is null there, because an earlier release wrote it, stays null. None for a new pool.
        """
        defaults: dict[str, Any] = {
            "online": {method: {} for method in DEFAULT_METHODS} if kind is Kind.GAMES else {},
            "by_shape": kind is Kind.GAMES,
        }
        return replace(self, **{name: value for name, value in defaults.items() if self._lacks(name, standing)})

    def _lacks(self, name: str, standing: "FoldSettings | None") -> bool:
        return getattr(self, name) is None and (standing is None or getattr(standing, name) is not None)

    def has_asked(self, asked: "FoldSettings", kind: Kind) -> bool:
        """Whether these are the recorded settings of a pool of this kind that `asked` asks for. What it leaves out may be anything."""
        recorded = replace(self, online=self.methods(kind), by_shape=bool(self.by_shape))
        left_out = [name for name in ("online", "by_shape") if getattr(asked, name) is None]
        return recorded == replace(asked, **{name: getattr(recorded, name) for name in left_out})


class PoolCreated(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="pool"):
    """A pool is created. The first record for a name counts. Generation 1 starts at the first outcome that is folded afterwards."""

    pool: str
    kind: Kind
    time: float
    fold: FoldSettings = FoldSettings()
    label: str = ""
    """Text that is shown beside the name, such as "simulated"."""


SEASON_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}(?!\n)$"
SeasonName: TypeAlias = Annotated[str, msgspec.Meta(pattern=SEASON_PATTERN)]
"""Name of a season. It is part of URLs and of names of files."""
Keep: TypeAlias = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]


class Opening(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the first state of a season is made from: the final state of the season before, folded by one generation up to one position.

    Attributes:
        generation: Number of the generation that served the season before at its end.
        position: Log offset at which that season ends and this one begins.
        keep: Share of each rating's distance to the mean that the soft reset leaves. 0: no ratings are carried over.
        first: Number of the first generation of this season.
        methods: Online methods of the generation `generation`. Agents that are carried over have a rating of these alone.
    """

    generation: Annotated[int, msgspec.Meta(ge=1)]
    position: Annotated[int, msgspec.Meta(ge=0)]
    keep: Keep
    first: Annotated[int, msgspec.Meta(ge=1)]
    methods: tuple[str, ...] = ()


class SeasonStart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request for a season. name: Its name. keep: As in `Opening`."""

    name: SeasonName
    keep: Keep = 0.0


class Generation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="generation"):
    """An immutable description of how a pool is folded. start: Log offset at which it begins to count outcomes."""

    pool: str
    number: Annotated[int, msgspec.Meta(ge=1)]
    start: Annotated[int, msgspec.Meta(ge=0)]
    time: float
    fold: FoldSettings
    fold_version: int = FOLD_VERSION
    retraction_horizon: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Log offset. Outcomes that are retracted by records below it are left out, including outcomes after it."""
    initial: dict[str, dict[str, float]] = {}
    """Method -> agent -> initial rating."""
    aliases: dict[str, str] = {}
    """Name in outcomes -> the agent that it counts for."""
    bans: tuple[str, ...] = ()
    """Banned agents: their games do not count, and their scores are left out."""
    wanted: int = -1
    """Offset in the control log of the newest request that this generation fulfills; -1 for none."""
    erased: tuple[ErasedName, ...] = ()
    """Erased names. The fold replaces them by tokens first, so aliases, bans and initial ratings contain the tokens."""
    season: str = FIRST_SEASON
    """Name of the season that the generation counts."""
    opening: Opening | None = None
    """Origin of the season's first state. None for the first season."""

    @property
    def edits(self) -> bool:
        """Whether the generation can leave out or rename something: it has a retraction horizon, aliases, bans or erasures."""
        return bool(self.retraction_horizon or self.aliases or self.bans or self.erased)


Start: TypeAlias = Literal["same", "now"] | Annotated[int, msgspec.Meta(ge=0)]


class GenerationRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="wanted"):
    """A request for a new generation of a pool. The newest request of a pool counts.

    The shard that owns the pool makes the generation, because the shard has the log positions.

    Attributes:
        pool: Name of the pool.
        time: Time of the request in seconds since 1970.
        fold: All settings of the new generation.
        initial: Method -> agent -> initial rating.
        aliases: Name in outcomes -> the agent that it counts for.
        bans: Banned agents.
        start: Start of the generation: `same` for the present generation's start, `now` for the shard's position, or a log offset. If the
            shard has not reached the offset, the request waits.
        season: The season to begin at `start`; None to stay in the present one.
    """

    pool: str
    time: float
    fold: FoldSettings
    initial: dict[str, dict[str, float]] = {}
    aliases: dict[str, str] = {}
    bans: tuple[str, ...] = ()
    start: Start = "same"
    season: SeasonStart | None = None


class SeasonWithdrawn(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="season_withdrawn"):
    """The requests for a season that were made before this record do not count, unless a generation before it began the season."""

    pool: str
    season: SeasonName
    time: float


class Serve(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="serve"):
    """Readers see this generation from now on. Of several records for a pool, the highest number counts. Generation 1 needs no record."""

    pool: str
    number: int
    time: float


class SolvePlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag="solves"):
    """Solved methods of a pool, with their parameters. A pool without such a record has the default methods of its kind.

    slices: Key of a tag -> the methods, some of `methods`, that solve each of the pool's slices by this tag, too.
    """

    pool: str
    methods: dict[str, dict[str, float | str | bool]]
    time: float
    slices: dict[SliceTag, tuple[str, ...]] = {}


class LeadingMethod(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="leading"):
    """The method that the pages of a pool show first. An empty name, or no record: pages choose by what has an answer."""

    pool: str
    method: str
    time: float


class Takeover(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="takeover"):
    """A shard becomes the owner of a partition. The offset of this record is the shard's epoch.

    Attributes:
        owner: Name of the shard.
        log: Identity of the outcome log that the shard reads. The first takeover of a partition binds its offsets in the control log to
            this identity. Empty in records of early releases.
    """

    partition: int
    owner: str
    time: float
    log: str = ""


class EngineStarted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="engine"):
    """An engine starts its shards. The offset of this record is the number of the engine.

    Shards of an engine with a lower number do not take over partitions any more. The older engine ends when the newer one owns all
    partitions.
    """

    owner: str
    time: float


class Why(StrEnum):
    """Why records are skipped. `operator`: a decision that an earlier release recorded without its reason."""

    DAMAGED = "damaged"
    DEADLY = "deadly"
    LOST = "lost"
    OPERATOR = "operator"


class Skipped(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="skipped"):
    """An operator's decision that the records of a partition from offset `begin` to before `end` are not folded. Every fold skips them.

    why: a damaged batch, a record that ends shards, or records that the log lost.
    """

    partition: int
    begin: Annotated[int, msgspec.Meta(ge=0)]
    end: int
    time: float
    why: Why = Why.OPERATOR


MOST_RESTARTS: Final = 4
"""Number of shards in a row that may begin to fold at one position. If all of them died, the partition is isolated there."""


class Restarts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="restarts"):
    """The restart counter of a partition: how many shards in a row began to fold at `position`. Each one but the newest died there.

    The newest shard writes the record before it folds the records at `position`. A count of 0 says that they were folded. A count above
    `MOST_RESTARTS` isolates the partition at `position`.

    epoch: epoch of the newest shard.
    """

    partition: int
    epoch: int
    position: int
    count: Annotated[int, msgspec.Meta(ge=0)]
    time: float


class LettersSent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="letters_sent"):
    """Keys of dead letters that were replayed to the log. A later replay omits them. They are not part of the state."""

    letters: list[str]
    time: float


class LossAccepted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="forgotten"):
    """Of earlier releases: an operator accepted the loss of records of a partition from offset `position` to before `begin`."""

    partition: int
    position: int
    begin: int
    time: float


class Attempt(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="attempt"):
    """Of earlier releases: a shard was about to fold records. deaths: number of shards that died at the single record at `begin`."""

    partition: int
    epoch: int
    begin: int = 0
    end: int = 0
    deaths: int = 0
    time: float


ControlRecord: TypeAlias = (
    PoolCreated
    | Generation
    | GenerationRequest
    | SeasonWithdrawn
    | Serve
    | SolvePlan
    | LeadingMethod
    | Takeover
    | EngineStarted
    | Skipped
    | Restarts
    | LettersSent
    | ErasureRequest
    | ErasureDone
    | DetailsWritten
)

_SHARED_KEYS: Final[Mapping[type[ControlRecord], str]] = {
    Takeover: "takeover/{record.partition}",
    EngineStarted: "engine",
    Serve: "serve/{record.pool}/{record.number}",
    Restarts: "restarts/{record.partition}",
    GenerationRequest: "wanted/{record.pool}",
    SolvePlan: "solves/{record.pool}",
    LeadingMethod: "leading/{record.pool}",
}
"""Keys of records of which only the last counts. Every other record has a unique key, so compaction never drops it. The keys of details are
in `services.control.details_records`."""
_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[ControlRecord | LossAccepted | Attempt] = msgspec.json.Decoder(ControlRecord | LossAccepted | Attempt)


def encode(record: ControlRecord) -> tuple[bytes, bytes]:
    """Key and value of a record, as bytes for the control log."""
    if isinstance(record, DetailsWritten):
        key = record.key
    else:
        key = _SHARED_KEYS.get(type(record), "once/{uuid}").format(record=record, uuid=uuid.uuid4())
    return key.encode(), _encoder.encode(record)


def decode(value: bytes) -> ControlRecord:
    """Decode a record. Raises `msgspec.DecodeError` if it is of no known type, for example because a newer version wrote it.

    A loss that an earlier release recorded is a skip of the lost records. An attempt isolates its partition if two shards died at its
    record; any other one is a counter of 0.
    """
    try:
        record = _decoder.decode(value)
    except (UnicodeDecodeError, RecursionError) as error:
        raise msgspec.DecodeError(str(error)) from error
    match record:
        case LossAccepted(partition=partition, position=position, begin=begin, time=time):
            return Skipped(partition=partition, begin=position, end=begin, time=time, why=Why.LOST)
        case Attempt(partition=partition, epoch=epoch, begin=begin, deaths=deaths, time=time):
            count = MOST_RESTARTS + 1 if deaths > 1 else 0
            return Restarts(partition=partition, epoch=epoch, position=begin, count=count, time=time)
    return record


EditedT = TypeVar("EditedT", Generation, GenerationRequest)
"""A record with aliases, bans and initial ratings."""


@dataclass(slots=True)
class PartitionRecords:
    """State of the partitions in the control log, by partition number.

    Attributes:
        epochs: Offset of the newest takeover.
        logs: Identity of the log that the partition's offsets belong to.
        decisions: Operators' decisions to skip records.
        skipped: Ranges of offsets of these decisions. No fold contains their records.
        restarts: The restart counter.
    """

    epochs: dict[int, int] = field(default_factory=dict)
    logs: dict[int, str] = field(default_factory=dict)
    decisions: dict[int, list[Skipped]] = field(default_factory=dict)
    skipped: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    restarts: dict[int, Restarts] = field(default_factory=dict)

    def apply(self, offset: int, record: Takeover | Skipped | Restarts) -> None:
        """Fold one record. The first takeover with a log identity binds the partition to this log."""
        match record:
            case Takeover():
                self.epochs[record.partition] = offset
                if record.log:
                    self.logs.setdefault(record.partition, record.log)
            case Skipped():
                self.decisions.setdefault(record.partition, []).append(record)
                self.skipped.setdefault(record.partition, []).append((record.begin, record.end))
            case Restarts():
                if record.epoch >= self.epochs.get(record.partition, record.epoch):  # a superseded shard does not count
                    self.restarts[record.partition] = record

    def beyond(self, partition: int, offset: int) -> int:
        """Offset at which a partition at `offset` continues: `offset`, or a later one if the next records are skipped."""
        return beyond(self.skipped.get(partition, ()), offset)

    def skips(self, partition: int, offset: int) -> bool:
        """Whether the record at `offset` is skipped."""
        return self.beyond(partition, offset) > offset

    def has_skips(self, partition: int, position: float = inf) -> bool:
        """Whether records of a partition below `position` are skipped."""
        return any(begin < position for begin, _ in self.skipped.get(partition, ()))


class ControlState:
    """State of the control log folded up to `position`. Equal records give equal states."""

    def __init__(self) -> None:
        self.position = 0
        self.pools: dict[str, PoolCreated] = {}
        self.generations: dict[str, dict[int, Generation]] = {}
        self.plans: dict[str, SolvePlan] = {}
        self.leading: dict[str, str] = {}
        """Pool -> the method that its pages show first; empty where they choose."""
        self.wishes: dict[str, tuple[int, GenerationRequest]] = {}
        """Pool -> offset and content of its newest request for a generation. Erased names in it are replaced by their tokens."""
        self.withdrawn: dict[tuple[str, str], int] = {}
        """Pool and name of a season -> offset of its newest withdrawal."""
        self.engine = -1
        """Offset of the newest engine's start record; -1 before the first one."""
        self.partitions = PartitionRecords()
        self.erasures = ErasureRecords()
        self.details = DetailsRecords()
        """Details of agents. Empty in processes that skip their records."""
        self._served: dict[str, set[int]] = {}

    def apply(self, offset: int, record: ControlRecord) -> None:
        """Fold one record.

        The first record counts for a pool and for a generation number; the highest generation counts as serving. Requests, plans,
        leading methods, takeovers, restarts and engines: the last record counts. Skips and erasures accumulate. A withdrawal ends the
        requests for a season before it. `LettersSent` changes nothing.
        """
        match record:
            case PoolCreated():
                self.pools.setdefault(record.pool, record)
            case Generation():
                self._add(record)
            case Serve():
                self._served.setdefault(record.pool, {1}).add(record.number)
            case GenerationRequest() | SeasonWithdrawn():
                self._ask(offset, record)
            case SolvePlan() | LeadingMethod():
                self._choose(record)
            case Takeover() | Skipped() | Restarts():
                self.partitions.apply(offset, record)
            case EngineStarted():
                self.engine = offset
            case ErasureRequest() | ErasureDone():
                self.erasures.apply(record)
                self._erase(record.pool)
                self.details.note_erased(record.pool, self.erasures.names(record.pool))
            case DetailsWritten():
                self.details.apply(record)
        self.position = offset + 1

    def served(self, pool: str) -> int:
        """Number of the generation that readers of `pool` see."""
        return max(self._served.get(pool, {1}))

    def all_served(self, pool: str) -> list[Generation]:
        """The generations that readers of `pool` see or saw, oldest first: none that failed, or that was replaced while it was built."""
        made = self.generations.get(pool, {})
        return [made[number] for number in sorted(self._served.get(pool, {1})) if number in made]

    def serving(self, pool: str) -> Generation | None:
        """The generation that readers of `pool` see; None if it does not exist yet."""
        return self.generations.get(pool, {}).get(self.served(pool))

    def newest(self, pool: str) -> Generation | None:
        """The generation of `pool` with the highest number, serving or not; None if the pool has no generation."""
        made = self.generations.get(pool)
        return made[max(made)] if made else None

    def base(self, pool: str) -> Generation | None:
        """The generation whose start and season a change of settings keeps; None if the pool has no generation.

        That is the serving one, or the newest one while it begins a season.
        """
        serving, newest = self.serving(pool), self.newest(pool)
        begins_season = serving is not None and newest is not None and newest.season != serving.season
        return newest if begins_season else serving

    def wish(self, pool: str) -> tuple[int, GenerationRequest] | None:
        """Offset and content of the waiting request of `pool`; None if a generation fulfills its newest request already."""
        request, newest = self.wishes.get(pool), self.newest(pool)
        return None if request is None or (newest is not None and newest.wanted >= request[0]) else request

    def _add(self, made: Generation) -> None:
        """Add a generation. One that would begin a season that was withdrawn after its request does not count: its shard had not read the
        withdrawal. Generation 1 begins the first season instead.
        """
        begins = made.number == 1 or (made.opening is not None and made.opening.first == made.number)
        if begins and made.wanted < self.withdrawn.get((made.pool, made.season), -1):
            if made.number > 1:
                return
            made = replace(made, season=FIRST_SEASON)
        self.generations.setdefault(made.pool, {}).setdefault(made.number, made)

    def _choose(self, record: SolvePlan | LeadingMethod) -> None:
        if isinstance(record, SolvePlan):
            self.plans[record.pool] = record
        else:
            self.leading[record.pool] = record.method

    def _ask(self, offset: int, record: GenerationRequest | SeasonWithdrawn) -> None:
        if isinstance(record, SeasonWithdrawn):
            self._withdraw(offset, record)
        else:
            self.wishes[record.pool] = offset, record
            self._erase(record.pool)

    def _withdraw(self, offset: int, record: SeasonWithdrawn) -> None:
        """Withdraw a season that no generation begins. Settings that the request changes stay requested, for the present season."""
        pool = record.pool
        self.withdrawn[pool, record.season] = offset
        if (waiting := self.wish(pool)) is None or waiting[1].season is None or waiting[1].season.name != record.season:
            return
        asked, newest, created = waiting[1], self.newest(pool), self.pools[pool]
        asked = replace(asked, season=None, start="same")
        if newest is not None:  # the season began without initial ratings, which stay in the present one for methods that stay
            methods = asked.fold.methods(created.kind)
            asked = replace(asked, initial={method: newest.initial[method] for method in newest.initial if method in methods})
        present = (created.fold, {}, ()) if newest is None else (newest.fold, newest.aliases, newest.bans)
        if (asked.fold, asked.aliases, asked.bans) == present and (newest is not None or not asked.initial):
            del self.wishes[pool]
        else:
            self.wishes[pool] = offset, asked
            self._erase(pool)

    def _erase(self, pool: str) -> None:
        """Replace erased names in the pool's newest request, which readers see while it waits."""
        if pool in self.wishes:
            offset, wanted = self.wishes[pool]
            self.wishes[pool] = offset, without_names(wanted, NameMatcher(self.erasures.names(pool)))


def without_names(record: EditedT, names: NameMatcher) -> EditedT:
    """Copy of `record` with tokens instead of erased names in its aliases, bans and initial ratings."""
    if not names:
        return record
    name = names.replaced
    return replace(
        record,
        initial={method: {name(agent): rating for agent, rating in ratings.items()} for method, ratings in record.initial.items()},
        aliases={name(alias): name(agent) for alias, agent in record.aliases.items()},
        bans=tuple(sorted(map(name, record.bans))),
    )
