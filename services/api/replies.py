"""The API's answers. The same structs encode them and describe them in the OpenAPI document."""

import re
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from inspect import cleandoc
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

_ATTRIBUTE: Final = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)
"""An attribute in a docstring: its name, and its text of one or more lines."""
_REF: Final = "#/components/schemas/{name}"


MOST_LABEL: Final = 64
"""Most characters of a pool's label."""
_LABEL: Final = {"maxLength": MOST_LABEL, "pattern": rf"^(?!\n)$|{schema.new_name()['pattern']}"}
NewName: TypeAlias = Annotated[str, msgspec.Meta(extra_json_schema=schema.new_name())]
KnownName: TypeAlias = Annotated[str, msgspec.Meta(extra_json_schema=schema.known_name())]
"""Names for the OpenAPI document. Other code checks the rules and raises more precise errors."""


class PoolView(msgspec.Struct, frozen=True, kw_only=True):
    """One pool.

    Attributes:
        pool: Name of the pool.
        kind: `games` or `scores`.
        label: Text shown beside the name.
        head: Newest summary of the pool; None before the first outcome was folded.
        folding: Whether the pool's partition is being folded. Only present in the answer for a single pool.
        stale_seconds: As in `Boards`. Only present in the answer for a single pool.
    """

    pool: str
    kind: str
    label: str
    head: PoolHead | None
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
    """The methods that a pool is to be solved by. methods: Name -> parameters that differ from the defaults."""

    methods: dict[str, dict[str, float | str | bool]]


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
        start: Start of the new generation: `same` for the present start, `now` for a new season, or a log position. If the position is
            not reached yet, the change waits.
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


class Boards(msgspec.Struct, frozen=True, kw_only=True):
    """A pool, the names of its boards, and the first rows of each board if requested.

    Attributes:
        pool: The pool.
        methods: Names of the boards.
        boards: The first rows of each board; empty without `count`.
        stale_seconds: Present only if the store does not answer or has lost its data: age in seconds of the data shown.
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
    """One agent. boards: Method -> the agent's row on its board."""

    pool: str
    agent: str
    boards: dict[str, AgentRow]


_TYPES: Final = (
    *(Accepted, PoolView, PoolList, PoolWanted, GenerationAsked, GenerationWish, Generations, MethodsWanted, MethodChoices),
    *(Boards, Board, History, Difference, AgentView, Insight, Next, Freshness, Problem),
)
_PROBLEMS: Final[Mapping[int, str]] = {
    400: "The request cannot be read.",
    401: "The request has no key.",
    408: "The body was not complete in time.",
    403: "The key does not allow this request, or the request came from a page of another site.",
    404: "The pool, board or agent does not exist.",
    409: "The request conflicts with existing data, such as a pool with another kind, label or settings; or a limit is reached.",
    410: "The requested position or time is before all kept states.",
    413: "The body is too large.",
    415: "The route does not accept this media type.",
    422: "The request breaks a rule. Nothing was written.",
    429: "Too many requests with this key, or too many wrong keys from this address. Wait as `Retry-After` says.",
    501: "The server lacks a package that this request needs.",
    503: "The log or the store does not answer, or the store lost the pool or board and it is written again. Try again.",
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
    for one in schemas.values():
        _describe(one)
    return dict(schemas)


def _describe(schema: dict[str, Any]) -> None:
    """Move the text of each attribute from the docstring of a model to its property."""
    text, _, attributes = cleandoc(schema.get("description", "")).partition("\n\nAttributes:\n")
    if text:
        schema["description"] = text
    for name, meaning in _ATTRIBUTE.findall(attributes.partition("\n\n")[0]):  # other sections may follow
        schema["properties"][name]["description"] = " ".join(meaning.split())


def _anything(kind: type) -> dict[str, Any]:
    """Return the schema of `object`: additional results of a method may be any JSON."""
    if kind is object:
        return {"description": "Any JSON value."}
    raise NotImplementedError(kind)


def _reference(answer: type[msgspec.Struct]) -> dict[str, str]:
    return {"$ref": _REF.format(name=answer.__name__)}
