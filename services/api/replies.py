"""The API's answers. The same structs encode them and describe them in the OpenAPI document."""

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from types import MappingProxyType
from typing import Annotated, Any, Final, TypeAlias

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from services.api.bodies import JSON
from services.api.intake import Accepted
from services.api.problems import PROBLEM_TYPE, Problem
from services.boards.folding import Freshness
from services.boards.history import Difference, Past
from services.boards.insight import Insight
from services.boards.reading import Board, Methods
from services.boards.result import AgentRow
from services.boards.store.protocol import PoolHead
from services.control.records import FoldSettings, Generation, GenerationRequest, Start
from services.solve.next_matches import Next
from services.solve.registry.choice import MethodChoice
from services.wire import schema
from services.wire.pools import Kind

_REF: Final = "#/components/schemas/{name}"


MOST_LABEL: Final = 64
"""Most characters of a pool's label."""
_LABEL: Final = {"maxLength": MOST_LABEL, "pattern": rf"^(?!\n)$|{schema.new_name()['pattern']}"}
NewName: TypeAlias = Annotated[str, msgspec.Meta(extra_json_schema=schema.new_name())]
KnownName: TypeAlias = Annotated[str, msgspec.Meta(extra_json_schema=schema.known_name())]
"""Names for the OpenAPI document. Other code checks the rules and raises more precise errors."""


class PoolView(msgspec.Struct, frozen=True, kw_only=True):
    """One pool. head: what its newest publication says; none before the first outcome was folded; folding: whether folding of its partition
    goes on, of a single pool that was asked for; stale_seconds: as in `Boards`, of such a pool.
    """

    pool: str
    kind: str
    label: str
    head: PoolHead | None
    folding: Freshness | msgspec.UnsetType = msgspec.UNSET
    stale_seconds: float | msgspec.UnsetType = msgspec.UNSET


class PoolList(msgspec.Struct, frozen=True, kw_only=True):
    """Pools by name. total: of all pages; stale_seconds: as in `Boards`; trouble: present while folding does not go on: why, in words."""

    total: int
    pools: list[PoolView]
    stale_seconds: float | msgspec.UnsetType = msgspec.UNSET
    trouble: str | msgspec.UnsetType = msgspec.UNSET


class PoolWanted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A pool to create. kind: games or scores, forever; fold: what it keeps, the installation's defaults unless given."""

    kind: Annotated[str, msgspec.Meta(extra_json_schema={"enum": [str(kind) for kind in Kind]})]
    fold: FoldSettings | None = None
    label: Annotated[str, msgspec.Meta(extra_json_schema=_LABEL)] = ""


class MethodsWanted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """By which methods a pool is to be solved, each with the parameters that differ from their defaults."""

    methods: dict[str, dict[str, float | str | bool]]


class MethodChoices(msgspec.Struct, frozen=True, kw_only=True):
    """Every method there is, and what it is to this pool."""

    pool: str
    methods: list[MethodChoice]


class GenerationAsked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a pool is to be folded from now on; what is left out stays as it is, so an empty object folds the pool again.

    fold: all of its settings; initial: method -> agent -> rating to begin with; aliases: name in outcomes -> the agent it counts for; bans:
    all agents whose games do not count; ban, unban: agents to add to those, or to remove from them, instead; confirm: allows what is
    refused otherwise: a list `bans` that ends a ban, and a ban of a name that no agent has; start: `same` as now, `now` (a season), or a
    position; one that is still to come is waited for.
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
    """wish: where the control log has it. It is fulfilled when `serving.wanted` of the pool's generations is no less."""

    pool: str
    wish: int


class Generations(msgspec.Struct, frozen=True, kw_only=True):
    """How a pool is folded. serving: what readers see; newest: the one under construction where that is another; waiting: a wish."""

    pool: str
    serving: Generation | None
    newest: Generation | None
    waiting: GenerationRequest | None


class Boards(msgspec.Struct, frozen=True, kw_only=True):
    """A pool, its boards' names, and the first rows of each where they were asked for.

    stale_seconds: present while the store does not answer, or lost its data: this is what was known so long ago.
    """

    pool: PoolView
    methods: Methods
    boards: list[Board]
    stale_seconds: float | msgspec.UnsetType = msgspec.UNSET


Value: TypeAlias = Boards | Board | Insight
"""Answers that readers poll."""


class History(msgspec.Struct, frozen=True, kw_only=True):
    """The kept solves of a method, newest first."""

    pool: str
    method: str
    solves: list[Past]


class AgentView(msgspec.Struct, frozen=True, kw_only=True):
    """One agent. boards: method -> its row there."""

    pool: str
    agent: str
    boards: dict[str, AgentRow]


_TYPES: Final = (
    *(Accepted, PoolView, PoolList, PoolWanted, GenerationAsked, GenerationWish, Generations, MethodsWanted, MethodChoices),
    *(Boards, Board, History, Difference, AgentView, Insight, Next, Freshness, Problem),
)
_PROBLEMS: Final[Mapping[int, str]] = {
    400: "The request cannot be read.",
    401: "No key was sent.",
    408: "The body was not complete in time.",
    403: "The key does not allow this, or a foreign page asked.",
    404: "There is no such pool, board or agent.",
    409: "The pool stands with another kind, label or settings; or there are too many.",
    410: "Nothing that is kept reaches so far back.",
    413: "The body is too large.",
    415: "The body is not of a type that the route takes.",
    422: "A rule is broken; nothing was written.",
    429: "Too many requests of this key, or too many wrong keys from this address; wait as Retry-After says.",
    501: "A package that this needs is not installed on the server.",
    503: "Log or store do not answer for now; try again.",
}


def reply(value: msgspec.Struct, status: int = 200) -> Response:
    """Return `value` as a JSON response."""
    return Response(msgspec.json.encode(value), status, media_type=JSON)


def fresh_reply(request: Request, value: msgspec.Struct) -> Response:
    """Return `value` as a JSON response with an ETag, or 304 if the client has that version."""
    body = msgspec.json.encode(value)
    tag = f'"{blake2b(body, digest_size=12).hexdigest()}"'
    headers = {"ETag": f"W/{tag}", "Cache-Control": "no-cache"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type=JSON)


def described(answer: type[msgspec.Struct], refused: Iterable[int] = (), status: int = 200, text: str = "Done.") -> dict[int | str, Any]:
    """Return a route's `responses` for the OpenAPI document.

    answer: type of the successful answer. refused: status codes of problems. status, text: code and description of success.
    """
    return {status: {"description": text, "content": {JSON: {"schema": _reference(answer)}}}, **problems(refused)}


def problems(statuses: Iterable[int]) -> dict[int | str, Any]:
    """Return the part of a route's `responses` that describes problems, by status code."""
    content = {PROBLEM_TYPE: {"schema": _reference(Problem)}}
    return {status: {"description": _PROBLEMS[status], "content": content} for status in statuses}


def body_of(schema: Mapping[str, Any], others: Mapping[str, Mapping[str, Any]] = MappingProxyType({})) -> dict[str, Any]:
    """Return a route's `openapi_extra` that describes its JSON body. others: schemas of other media types, by type."""
    content = {kind: {"schema": body} for kind, body in {JSON: schema, **others}.items()}
    return {"requestBody": {"required": True, "content": content}}


def components() -> dict[str, Any]:
    """Return the schemas that `described` references, by name."""
    _, schemas = msgspec.json.schema_components(_TYPES, ref_template=_REF, schema_hook=_anything)
    return dict(schemas)


def _anything(kind: type) -> dict[str, Any]:
    """Return the schema of `object`: additional results of a method may be any JSON."""
    if kind is object:
        return {"description": "any JSON"}
    raise NotImplementedError(kind)


def _reference(answer: type[msgspec.Struct]) -> dict[str, str]:
    return {"$ref": _REF.format(name=answer.__name__)}
