"""The API's answers. The same structs encode them and describe them in the OpenAPI document."""

from hashlib import blake2b
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar

import msgspec
from litestar import Request, Response

from services.api.bodies import JSON
from services.boards.earlier import LastDay
from services.boards.folding import Freshness
from services.boards.history import Past
from services.boards.insight import Insight
from services.boards.reading import Board, Methods
from services.boards.season_boards import SeasonView
from services.boards.store.protocol import PoolHead
from services.control.details import AgentDetails
from services.control.records import FoldSettings, Generation, GenerationRequest, Keep, SeasonName, Start
from services.solve.registry.choice import MethodChoice
from services.wire import schema
from services.wire.pools import Kind
from services.wire.sent import KnownName, NewName

Answered = TypeVar("Answered", bound=msgspec.Struct)
MOST_LABEL: Final = 64
"""Most characters of a pool's label."""
_LABEL: Final = {"maxLength": MOST_LABEL, "pattern": rf"^(?!\n)$|{schema.new_name()['pattern']}"}
"""Rules of a label for the OpenAPI document, as of `NewName` and `KnownName`. Other code checks them and raises more precise errors."""


class PoolView(msgspec.Struct, frozen=True, kw_only=True):
    """One pool.

    Attributes:
        pool: Name of the pool.
        kind: `games` or `scores`.
        label: Text shown beside the name.
        head: Newest summary of the pool; None before the first outcome was folded.
        leading_method: Method that pages show first; empty if they choose by what has an answer.
        folding: Whether the pool's partition is being folded. Only present in the answer for a single pool.
        stale_seconds: As in `Boards`. Only present in the answer for a single pool.
    """

    pool: str
    kind: str
    label: str
    head: PoolHead | None
    leading_method: str = ""
    folding: Freshness | msgspec.UnsetType = msgspec.UNSET
    stale_seconds: float | msgspec.UnsetType = msgspec.UNSET


class PoolList(msgspec.Struct, frozen=True, kw_only=True):
    """Pools in the order of their names.

    Attributes:
        total: Number of all pools, on all pages.
        pools: The requested pools.
        stale_seconds: As in `Boards`.
        trouble: Present only while folding is interrupted: the reason in words.
    """

    total: int
    pools: list[PoolView]
    stale_seconds: float | msgspec.UnsetType = msgspec.UNSET
    trouble: str | msgspec.UnsetType = msgspec.UNSET


class PoolWanted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A pool to create.

    Attributes:
        kind: `games` or `scores`. It cannot be changed later.
        fold: Settings of the first generation. Without it, the installation's defaults.
        label: Text shown beside the name.
    """

    kind: Annotated[str, msgspec.Meta(extra_json_schema={"enum": [str(kind) for kind in Kind]})]
    fold: FoldSettings | None = None
    label: Annotated[str, msgspec.Meta(extra_json_schema=_LABEL)] = ""


class MethodsWanted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The methods that a pool is to be solved by.

    Attributes:
        methods: Name -> parameters that differ from the defaults.
        slices: Key of a tag -> methods, some of `methods`, that solve each of the pool's slices by this tag. Without this field the present
            ones stay.
    """

    methods: dict[str, dict[str, float | str | bool]]
    slices: dict[str, list[str]] | msgspec.UnsetType = msgspec.UNSET


class LeadingWanted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The method that pages of a pool show first. method: An online or solved method of the pool; empty to let pages choose."""

    method: str


class MethodChoices(msgspec.Struct, frozen=True, kw_only=True):
    """All solved methods, and whether the pool is solved by them."""

    pool: str
    methods: list[MethodChoice]


class GenerationAsked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A change of how a pool is folded. A field that is left out keeps its present value, so an empty object folds the pool again.

    Attributes:
        fold: All settings of the new generation.
        initial: Method -> agent -> initial rating.
        aliases: Name in outcomes -> the agent that it counts for.
        bans: The complete list of agents whose games do not count.
        start: Start of the new generation: `same` for the present start, `now` to count later outcomes alone, or a log position. If the
            position is not reached yet, the change waits. It is never before the start of the pool's season.
        ban: Agents to add to the present list of bans. Not allowed together with `bans`.
        unban: Agents to remove from this list. Not allowed together with `bans`.
        confirm: Allows changes that are otherwise refused: a list `bans` without a present ban, and a ban of an unknown agent.
    """

    fold: FoldSettings | None = None
    initial: dict[str, dict[str, float]] | None = None
    aliases: dict[KnownName, NewName] | None = None
    bans: list[KnownName] | None = None
    start: Start | None = None
    ban: list[KnownName] = []
    unban: list[KnownName] = []
    confirm: bool = False


class GenerationWish(msgspec.Struct, frozen=True, kw_only=True):
    """An accepted request for a generation. wish: Its offset in the control log.

    The request is fulfilled when `serving.wanted` of the pool's generations is at least `wish`.
    """

    pool: str
    wish: int


class Generations(msgspec.Struct, frozen=True, kw_only=True):
    """The generations of a pool.

    Attributes:
        pool: Name of the pool.
        serving: The generation that readers see.
        newest: The newest generation. If it is not the serving one, it is under construction.
        waiting: The newest request, while no generation fulfills it.
    """

    pool: str
    serving: Generation | None
    newest: Generation | None
    waiting: GenerationRequest | None


class SeasonAsked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A season to start.

    Attributes:
        name: Name of the season. No other season of the pool has it.
        keep: Share of each rating's distance to the mean that the soft reset leaves. 0: all agents start as newcomers. 1: ratings are
            carried over unchanged.
        start: `now`, the end of the log at the request, or a log position after the start of the present season. If the position is not
            reached yet, the season waits.
    """

    name: SeasonName
    keep: Keep = 0.0
    start: Literal["now"] | Annotated[int, msgspec.Meta(ge=0)] = "now"


class Seasons(msgspec.Struct, frozen=True, kw_only=True):
    """The seasons of a pool, oldest first."""

    pool: str
    seasons: list[SeasonView]


class PartitionReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a shard reported of a partition most recently. Without a report, only `partition` has a value.

    Attributes:
        partition: Number of the partition.
        shard: Name, host and process of the shard that folds it.
        epoch: Epoch of this shard's ownership.
        position: First log offset that is not folded yet.
        lag_records: Number of records that are not folded yet.
        lag_seconds: Upper bound of the time that the first of these records has waited, in seconds.
        idle_seconds: Seconds since the partition was last known to be folded.
        stopped: Whether the partition stopped.
        reason: Why it stopped, with what to do; null while it runs.
    """

    partition: int
    shard: str | None = None
    epoch: int | None = None
    position: int | None = None
    lag_records: int | None = None
    lag_seconds: float | None = None
    idle_seconds: float | None = None
    stopped: bool | None = None
    reason: str | None = None


class RefusedOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """A refused outcome, or a refused record of the log.

    Attributes:
        pool: Name of the pool; null if it is unknown.
        reason: Class of the rule.
        path: Path of the field that breaks the rule, in the sender's JSON.
        rule: The rule.
        generation: Generation of the pool that refused it.
        partition: Partition of the log that holds it.
        offset: Log offset of its record.
        item: Index of the outcome in the record; -1 for the complete record.
    """

    pool: str | None
    reason: str
    path: str
    rule: str
    generation: int
    partition: int
    offset: int
    item: int


class Operations(msgspec.Struct, frozen=True, kw_only=True):
    """State of the installation for operators.

    Attributes:
        partitions: One report for each partition of the log.
        refused_total: Number of entries for refused outcomes that the log keeps. An outcome can have several.
        refused: The outcomes that were refused most recently, newest first.
    """

    partitions: list[PartitionReport]
    refused_total: int
    refused: list[RefusedOutcome]


class ChangedAgent(msgspec.Struct, frozen=True, kw_only=True):
    """The details of an agent after a change.

    Attributes:
        pool: Name of the pool.
        agent: Name of the agent.
        changed: Whether the change differs from what was known.
        details: All details of the agent now.
    """

    pool: str
    agent: str
    changed: bool
    details: AgentDetails


class AgentsChanged(msgspec.Struct, frozen=True, kw_only=True):
    """A change of the details of many agents.

    Attributes:
        pool: Name of the pool.
        agents: Number of agents in the request.
        changed: Number of agents whose details differ from what was known.
    """

    pool: str
    agents: int
    changed: int


class Boards(msgspec.Struct, frozen=True, kw_only=True):
    """A pool, the names of its boards, and the first rows of each board if requested.

    Attributes:
        pool: The pool.
        methods: Names of the boards.
        boards: The first rows of each board; empty without `count`.
        last_day: Number of outcomes of the last 24 hours. Absent without `count`, for slices, and where no history is kept, as in pools of
            scores.
        stale_seconds: Present only if the store does not answer or has lost its data: age in seconds of the data shown.
    """

    pool: PoolView
    methods: Methods
    boards: list[Board]
    last_day: LastDay | msgspec.UnsetType = msgspec.UNSET
    stale_seconds: float | msgspec.UnsetType = msgspec.UNSET


Value: TypeAlias = Boards | Board | Insight
"""Answers that readers poll."""


class History(msgspec.Struct, frozen=True, kw_only=True):
    """The kept solves of a method, newest first.

    Attributes:
        pool: Name of the pool.
        method: Name of the method.
        solves: The solves.
        slice: Slice of the pool's outcomes that was solved, such as `language:English`. Absent if all outcomes were.
    """

    pool: str
    method: str
    solves: list[Past]
    slice: str | msgspec.UnsetType = msgspec.UNSET


def fresh_reply(request: Request, value: Answered, tag: str | None = None) -> Response[Answered]:  # type: ignore[type-arg]
    """Return `value` as a JSON response with an ETag, or 304 if the client has that version. tag: None for the hash of the whole answer."""
    body = msgspec.json.encode(value)
    tag = f'"{blake2b(body, digest_size=12).hexdigest()}"' if tag is None else tag
    headers = {"ETag": f"W/{tag}", "Cache-Control": "no-cache"}
    known = tag in request.headers.get("if-none-match", "")
    response: Response[Any]
    response = Response(None, status_code=304, headers=headers) if known else Response(body, headers=headers, media_type=JSON)
    return response
