"""The outcomes of a request: those of `services.wire.events`, in which `id` and `time` may be absent. The OpenAPI document describes them.

`decode_request` reads the bytes of a request without these types. Names have the rule of new outcomes: all characters are displayed.
"""

from typing import Annotated, Any, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from ratings_core.records.outcomes import MAX_AGENTS, MAX_SIDES
from services.wire import schema
from services.wire.events import GameEvent, RetractEvent, ScoreEvent, Side, Time
from services.wire.pools import POOL_PATTERN

NewName: TypeAlias = Annotated[str, Meta(extra_json_schema=schema.new_name())]
KnownName: TypeAlias = Annotated[str, Meta(extra_json_schema=schema.known_name())]
_Pool: TypeAlias = Annotated[str, Meta(extra_json_schema={"pattern": rf"^{POOL_PATTERN}(?!\n)$"})]
_Tags: TypeAlias = Annotated[dict[str, str], Meta(extra_json_schema=schema.tags())]
_Meta: TypeAlias = Annotated[Any, Meta(description="Any JSON. Kept with the outcome; a pool can use numbers in it as features.")]


class SentSide(Side, frozen=True, forbid_unknown_fields=True):
    """One side of a game: an agent or a team, and its place. Only the order of places counts: the lowest is best, equal places tie."""

    agents: Annotated[list[NewName], Meta(min_length=1, max_length=MAX_AGENTS, extra_json_schema={"uniqueItems": True})]


class SentGame(GameEvent, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A finished game.

    Attributes:
        id: Identifies the outcome in its pool. An id that is sent twice counts once. Default: a new one.
        time: Seconds since 1970. Default: now.
        task: What was played, if the producer distinguishes tasks.
    """

    id: NewName | UnsetType = UNSET  # type: ignore[assignment]
    pool: _Pool
    time: Time | UnsetType = UNSET  # type: ignore[assignment]
    sides: Annotated[list[SentSide], Meta(min_length=2, max_length=MAX_SIDES)]  # type: ignore[assignment]
    task: NewName | None = None
    tags: _Tags | UnsetType = UNSET
    meta: _Meta | UnsetType = UNSET


class SentScores(ScoreEvent, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Scores of agents on one task. Higher scores are better.

    Attributes:
        id: Identifies the outcome in its pool. An id that is sent twice counts once. Default: a new one.
        time: Seconds since 1970. Default: now.
    """

    id: NewName | UnsetType = UNSET  # type: ignore[assignment]
    pool: _Pool
    time: Time | UnsetType = UNSET  # type: ignore[assignment]
    task: NewName
    tags: _Tags | UnsetType = UNSET
    meta: _Meta | UnsetType = UNSET


class SentRetraction(RetractEvent, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A retraction: the outcome with the id `retracts` of this pool is not to count.

    Attributes:
        id: Identifies the retraction in its pool. An id that is sent twice counts once. Default: a new one.
        time: Seconds since 1970. Default: now.
        retracts: Id of the outcome to take back.
    """

    id: NewName | UnsetType = UNSET  # type: ignore[assignment]
    pool: _Pool
    time: Time | UnsetType = UNSET  # type: ignore[assignment]
    retracts: KnownName
    meta: _Meta | UnsetType = UNSET


SentOutcome: TypeAlias = SentGame | SentScores | SentRetraction
SentOutcomes: TypeAlias = SentOutcome | Annotated[list[SentOutcome], Meta(min_length=1)]
"""The body of a request: one outcome, or an array of outcomes of one pool."""
