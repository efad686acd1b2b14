"""Routes of agents: search by name, one profile each, records against opponents, ratings over time, and outcomes."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Annotated, Any, Final, TypeAlias, TypeVar

import msgspec
from litestar import Request, Response, get
from litestar.openapi.spec import OpenAPIMediaType, OpenAPIResponse, Schema
from litestar.openapi.spec.enums import OpenAPIFormat, OpenAPIType
from litestar.params import QueryParameter

from ratings_core.errors import InputError, MissingExtraError
from ratings_core.records.times import seconds
from services.api.board_answers import Hidden
from services.api.context import Agent, Context, Here, Pool, agent_name, context
from services.api.described import Described, problems
from services.api.media_types import MEDIA_TYPES, chosen
from services.api.pools import published
from services.api.problems import ApiError, check_slice, no_agent, nothing_yet
from services.api.slices import SliceText
from services.boards import agent_history
from services.boards.agent_history import LEAST_POINTS, MOST_POINTS, AgentHistory, AgentOutcomes
from services.boards.agent_index import AgentIndex, NoIndex
from services.boards.agent_opponents import OpponentList, UnknownOpponent, opponent_list
from services.boards.agent_profile import AgentProfile, profile
from services.boards.agent_search import AgentList, agent_list
from services.boards.formats import BoardFormat
from services.boards.known_agents import KnownAgents
from services.boards.slice_boards import SliceName, slice_text
from services.boards.store.keys import METHOD_PATTERN
from services.boards.store.protocol import PoolHead
from services.wire.pools import check_pool_name

Query: TypeAlias = Annotated[
    str,
    QueryParameter(
        name="query",  # the framework's own parameter has this name
        max_length=256,
        description="Text that a name or display name equals, begins with or contains, without regard to case. Without it: all agents.",
    ),
]
Cursor: TypeAlias = Annotated[str | None, QueryParameter(max_length=400, description="`next` of the answer before.")]
Count: TypeAlias = Annotated[int, QueryParameter(ge=1, le=200, description="Largest number of rows to return.")]
Opponent: TypeAlias = Annotated[str | None, QueryParameter(description="Return only the record against this agent. Not with `cursor`.")]
Rating: TypeAlias = Annotated[
    str | None,
    QueryParameter(
        description="Method of ratings and ranks. Default: the pool's first online method, or its first solved one without any.",
        schema_extra={"pattern": f"^{METHOD_PATTERN}$"},
    ),
]
Forecast: TypeAlias = Annotated[
    str | None,
    QueryParameter(
        description="Online method of the expected scores. Default: the one whose forecasts of games of two agents have the lowest "
        "log loss, of those with 100 or more forecasts; else the pool's first one that forecasts.",
        schema_extra={"pattern": f"^{METHOD_PATTERN}$"},
    ),
]

AnyMethod: TypeAlias = Annotated[
    str | None,
    QueryParameter(
        description="Online method, or solved method whose solves are kept. Default: the pool's first online method.",
        schema_extra={"pattern": f"^{METHOD_PATTERN}$"},
    ),
]
Online: TypeAlias = Annotated[
    str | None,
    QueryParameter(
        description="Online method of ratings and expected scores. Default: the pool's first one.",
        schema_extra={"pattern": f"^{METHOD_PATTERN}$"},
    ),
]
Since: TypeAlias = Annotated[
    str | None,
    QueryParameter(description="Only points at or after this time: a date, an ISO time or seconds since 1970."),
]
Until: TypeAlias = Annotated[str | None, QueryParameter(description="Only points before this time.")]
Points: TypeAlias = Annotated[
    int,
    QueryParameter(
        ge=LEAST_POINTS,
        le=MOST_POINTS,
        description=f"Largest number of points, from {LEAST_POINTS} to {MOST_POINTS:,}; of more, those that shape the curve.",
    ),
]
Outcomes: TypeAlias = Annotated[int, QueryParameter(ge=1, le=1000, description="Largest number of outcomes to return.")]

Ids: TypeAlias = Annotated[
    bool,
    QueryParameter(
        description="Whether to find the ids by which the outcomes were sent, in archive and log. Takes seconds in a pool of millions of "
        "outcomes. If the installation has keys, a key is required, as for exports."
    ),
]


class OutcomesFormat(StrEnum):
    """Formats of outcomes. `jsonl` has a line for each outcome, and the cursor in a header."""

    JSON = "json"
    JSONL = "jsonl"


Form: TypeAlias = Annotated[OutcomesFormat | None, QueryParameter(name="format", description="Format of the answer, in place of Accept.")]
_FORMS: Final = (BoardFormat.JSON, BoardFormat.JSONL)
AnswerT = TypeVar("AnswerT")


@dataclass
class OutcomesFormats(Described):
    """The route of outcomes, whose answer has two media types."""

    def __post_init__(self) -> None:
        """Describe the other media type."""
        super().__post_init__()
        answer = (self.responses or {}).get("200")
        if isinstance(answer, OpenAPIResponse) and answer.content is not None:
            binary = OpenAPIMediaType(Schema(type=OpenAPIType.STRING, format=OpenAPIFormat.BINARY))
            answer.content[MEDIA_TYPES[BoardFormat.JSONL]] = binary


@get("/v1/pools/{pool:str}/agents", tags=["agents"], operation_class=Described, responses=problems(401, 403, 404, 422, 429, 503))
async def list_agents(
    request: Request,  # type: ignore[type-arg]
    here: Here,
    pool: Pool,
    text: Query = "",
    cursor: Cursor = None,
    count: Count = 20,
    method: Rating = None,
    hidden: Hidden = False,
    part: SliceText = None,
) -> AgentList:
    """Find agents by name. Equal names are first, then those that begin with the query, then those that contain it.

    Agents whose display name matches follow.

    Within each, agents with more outcomes are first. One API process lists no agent twice. An agent that plays between two requests can
    move past the cursor, and is not listed then. If nothing is found, `suggestions` has the nearest names. With `slice`: only agents of the
    slice, with their outcomes and ratings in it.
    """
    _check_hidden(request, here, hidden=hidden)
    of_slice = slice_text(part)
    head = await here.workers.readers.run(partial(_head, here, pool, of_slice))
    index = await here.agents.get(head, of_slice)
    read = partial(agent_list, here.store, head, index, query=text, cursor=cursor, count=count, method=method, part=of_slice)
    known = partial(_known, here, head, index, hidden=hidden)
    return await here.workers.searches.run(lambda: _listed(here, partial(read, known=known())))


@get(
    "/v1/pools/{pool:str}/agents/{agent:str}", tags=["agents"], operation_class=Described, responses=problems(401, 403, 404, 422, 429, 503)
)
async def get_agent(
    request: Request,  # type: ignore[type-arg]
    here: Here,
    pool: Pool,
    agent: Agent,
    hidden: Hidden = False,
    part: SliceText = None,
) -> AgentProfile:
    """Return an agent's profile: its ratings and ranks by each method, its record and its details.

    Percent-encode the name, including slashes. With `slice`, ratings, outcomes and record are those of the slice.
    """
    _check_hidden(request, here, hidden=hidden)
    name = agent_name(agent)
    text = slice_text(part)
    read = partial(_profile, here, name=name, hidden=hidden, part=SliceName.parsed(text) if text else None)
    head, found = await here.workers.readers.run(partial(_profile_by_present_index, here, pool, read, text))
    index = await here.agents.get(head, text)
    if found is None:
        found = await here.workers.searches.run(partial(read, head, index))
    return found


@get(
    "/v1/pools/{pool:str}/agents/{agent:str}/opponents",
    tags=["agents"],
    operation_class=Described,
    responses=problems(401, 403, 404, 422, 429, 503),
)
async def list_opponents(
    request: Request,  # type: ignore[type-arg]
    here: Here,
    pool: Pool,
    agent: Agent,
    cursor: Cursor = None,
    count: Count = 20,
    method: Forecast = None,
    hidden: Hidden = False,
    part: SliceText = None,
    opponent: Opponent = None,
) -> OpponentList:
    """Return an agent's record against each opponent, most games first, with the expected score of their next game.

    With `opponent`: against this one alone, also if they never met.

    Percent-encode the name, including slashes. The record is that of a checkpoint, at `position`. With `slice`, record and ratings are
    those in the slice; expected scores then use the scale of the pool's forecasts.
    """
    _check_hidden(request, here, hidden=hidden)
    text = slice_text(part)
    head = await here.workers.readers.run(partial(_head, here, pool, text))
    index = await here.agents.get(head, text)
    if isinstance(index, NoIndex):
        raise _no_checkpoint(here, index)
    name = agent_name(agent)
    if opponent is not None and cursor is not None:
        raise InputError("opponent", opponent, "must not be sent with cursor: its record is one row")
    read = partial(opponent_list, here.store, head, index, name, now=here.clock(), cursor=cursor, count=count, method=method)
    known = partial(here.pool_agents.details, pool)
    try:
        answer = await here.workers.searches.run(lambda: read(known=KnownAgents(known(), None, hidden), opponent=opponent))
    except UnknownOpponent as error:
        raise await here.workers.readers.run(partial(_no_agent, here, head, error.name)) from error
    if answer is None:
        raise await here.workers.readers.run(partial(_no_agent, here, head, name))
    return msgspec.structs.replace(answer, display_names=here.pool_agents.names_of(pool, (row.agent for row in answer.opponents)))


@get(
    "/v1/pools/{pool:str}/agents/{agent:str}/history",
    tags=["agents"],
    operation_class=Described,
    responses=problems(401, 403, 404, 422, 429, 501, 503),
)
async def get_agent_history(
    request: Request,  # type: ignore[type-arg]
    here: Here,
    pool: Pool,
    agent: Agent,
    method: AnyMethod = None,
    since: Since = None,
    until: Until = None,
    points: Points = 500,
    hidden: Hidden = False,
    part: SliceText = None,
) -> AgentHistory:
    """Return an agent's rating over time: after each outcome by an online method, in each kept solve by a solved one.

    Percent-encode the name, including slashes. Ratings by an online method are those at a checkpoint, at `position`. A late outcome has
    its own time, and its place in the order of the log. With `slice`: ratings in the slice. For an online method, all outcomes of the
    pool are folded again for it, at most 2,000,000. `events` are the seasons that began and the generations of the pool, with what
    changed for the agent, such as a ban; they are some seconds behind.
    """
    _check_hidden(request, here, hidden=hidden)
    text = slice_text(part)
    head = await here.workers.readers.run(partial(_head, here, pool, text))
    low, high = (None if time is None else seconds(time, name) for name, time in (("since", since), ("until", until)))
    read = partial(agent_history.agent_history, now=here.clock(), method=method, since=low, until=high, points=points, part=text)
    online = method is None or method in head.online
    answer = await _of_agent(here, head, agent, read, hidden=hidden, part=text if online else "")
    here.directory.refresh_soon()
    if not here.directory.complete:
        return answer
    return agent_history.with_events(answer, here.directory.control.known(), low, high)


@get(
    "/v1/pools/{pool:str}/agents/{agent:str}/outcomes",
    tags=["agents"],
    operation_class=OutcomesFormats,
    responses=problems(401, 403, 404, 406, 422, 429, 501, 503),
)
async def list_agent_outcomes(
    request: Request,  # type: ignore[type-arg]
    pool: Pool,
    agent: Agent,
    cursor: Cursor = None,
    count: Outcomes = 20,
    method: Online = None,
    form: Form = None,
    hidden: Hidden = False,
    part: SliceText = None,
    ids: Ids = False,
) -> Response[AgentOutcomes]:
    """Return an agent's outcomes, newest first, with the ratings before and after each, and expected scores.

    Percent-encode the name, including slashes. The outcomes are those at a checkpoint, at `position`, in the order of the log. The header
    Accept or `format` selects JSON or JSON lines. JSON lines have the outcomes alone, and `next` in the header `Equirank-Next`. With
    `slice`: those of the slice, with the ratings in it; all outcomes of the pool are folded again for them, at most 2,000,000. With `ids`:
    with the ids by which they were sent, by which an outcome can be found again and retracted.
    """
    here, accept = context(request), ",".join(request.headers.getall("accept", []))
    _check_hidden(request, here, hidden=hidden)
    if ids and not hidden:
        here.access.check_key(request)
    media, text = chosen(None if form is None else BoardFormat(form), accept, _FORMS), slice_text(part)
    head = await here.workers.readers.run(partial(_head, here, pool, text))
    read = partial(agent_history.agent_outcomes, now=here.clock(), cursor=cursor, count=count, method=method)
    answer = await _of_agent(here, head, agent, read, hidden=hidden, part=text)
    if ids:
        answer = await _with_ids(here, answer)
    headers = {"Vary": "Accept"}
    if media is BoardFormat.JSON:
        named = (name for one in answer.outcomes for side in [one.team, *(side.agents for side in one.opponents)] for name in side)
        answer = msgspec.structs.replace(answer, display_names=here.pool_agents.names_of(head.pool, named))
        return Response(answer, headers=headers)
    headers |= {f"Equirank-{name.title()}": str(getattr(answer, name)) for name in ("generation", "position", "total")}
    headers |= {} if answer.next is None else {"Equirank-Next": answer.next}
    lines: Any = b"".join(msgspec.json.encode(outcome) + b"\n" for outcome in answer.outcomes)
    return Response(lines, headers=headers, media_type=MEDIA_TYPES[media])


async def _with_ids(here: Context, answer: AgentOutcomes) -> AgentOutcomes:
    """The outcomes with their ids. Raises `ApiError`: 501 without the extra `archive`, 503 while too many exports are under way."""
    try:
        return await here.workers.exports.run(partial(here.exports.with_ids, answer))
    except MissingExtraError as error:
        raise ApiError(501, "not installed", str(error)) from error


async def traced_index(here: Context, head: PoolHead, part: str) -> AgentIndex | NoIndex:
    """The index of a pool, or of its slice `part`, with the history of outcomes; or why it is missing. Raises `ApiError` 501."""
    if not part:
        return await here.agents.get(head)
    try:
        return await here.workers.explanations.run(partial(here.traced_slices.index, head, part))
    except NoIndex as error:
        return error
    except MissingExtraError as error:
        raise ApiError(501, "not installed", str(error)) from error


async def _of_agent(here: Context, head: PoolHead, agent: str, read: Callable[..., AnswerT | None], *, hidden: bool, part: str) -> AnswerT:
    """The answer of `read`, which gets the store, the pool's head and index, and the agent's name. Raises `ApiError`.

    hidden: whether a hidden agent is answered. part: slice whose index with its history `read` gets; empty for the pool's index.
    """
    index, name = await traced_index(here, head, part), agent_name(agent)

    def visible() -> AnswerT | None:
        return None if not hidden and here.pool_agents.details(head.pool).is_hidden(name) else read(here.store, head, index, name)

    try:
        answer = await here.workers.searches.run(visible)
    except NoIndex as error:
        raise _no_checkpoint(here, error) from error
    if answer is None:
        raise await here.workers.readers.run(partial(_no_agent, here, head, name))
    return answer


def _head(here: Context, pool: str, part: str = "") -> PoolHead:
    """The pool's head. Raises `ApiError`: 404 for a pool without outcomes or without the slice `part`, 503 if the store lost the pool."""
    head = published(here, check_pool_name(pool)).head
    if head is None:
        raise nothing_yet(pool)
    check_slice(head, part)
    return head


def _listed(here: Context, read: partial[AgentList]) -> AgentList:
    try:
        answer = read()
    except NoIndex as error:
        raise _no_checkpoint(here, error) from error
    if any(agent.rank is None and not agent.provisional for agent in answer.agents):  # on no board: the generation may have ended meanwhile
        _check_serves(here, answer.pool, answer.generation)
    return answer


def _check_hidden(request: Request, here: Context, *, hidden: bool) -> None:  # type: ignore[type-arg]
    """Check the key of a request for hidden agents. Raises `ApiError`."""
    if hidden:
        here.access.check_key(request, admin=True)


def _known(here: Context, head: PoolHead, index: AgentIndex | NoIndex, *, hidden: bool) -> KnownAgents:
    """What is known of the agents of a pool, with their display names for a search."""
    names = here.pool_agents.display_names(head.pool, index) if isinstance(index, AgentIndex) else None
    return KnownAgents(here.pool_agents.details(head.pool), names, hidden)


def _profile_by_present_index(
    here: Context, pool: str, read: Callable[..., AgentProfile], part: str
) -> tuple[PoolHead, AgentProfile | None]:
    """The head of a pool, and the profile of an agent; None instead of the profile if the index is not loaded. Raises `ApiError`."""
    head = _head(here, pool, part)
    index = here.agents.present(head, part)
    return head, None if index is None else read(head, index)


def _profile(
    here: Context, head: PoolHead, index: AgentIndex | NoIndex, name: str, *, hidden: bool, part: SliceName | None
) -> AgentProfile:
    known = KnownAgents(here.pool_agents.details(head.pool), None, hidden)
    found = profile(here.store, head, index, name, now=here.clock(), known=known, part=part)
    if found is None:
        raise _no_agent(here, head, name, part)
    return found


def _no_agent(here: Context, head: PoolHead, name: str, part: SliceName | None = None) -> ApiError:
    """The 404 error for an unknown agent. Raises as `_check_serves`."""
    _check_serves(here, head.pool, head.generation)
    return no_agent(head.pool, name, where="" if part is None else f"slice {part}")


def _check_serves(here: Context, pool: str, generation: int) -> None:
    """Raise `ApiError` 503 if the store lost the pool, or another generation serves now: the boards of this one can be removed."""
    if _head(here, pool).generation != generation:
        detail = f"a new generation of pool {pool} began to serve during the request: send it again"
        raise ApiError(503, "generation replaced", detail, headers={"Retry-After": "1"})


def _no_checkpoint(here: Context, why: NoIndex) -> ApiError:
    seconds = str(math.ceil(here.settings.checkpoint_seconds))
    return ApiError(503, "no checkpoint yet", f"{why}: wait as Retry-After says", headers={"Retry-After": seconds})
