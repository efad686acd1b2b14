"""Routes of agents: search by name, one profile each, and records against opponents."""

import math
from functools import partial
from typing import Annotated, TypeAlias

from litestar import Request, get
from litestar.params import QueryParameter

from services.api.board_answers import Hidden
from services.api.context import Agent, Context, Here, Pool, agent_name
from services.api.described import Described, problems
from services.api.pools import published
from services.api.problems import ApiError
from services.boards import agents
from services.boards.agent_index import AgentIndex, NoIndex
from services.boards.agents import AgentList, AgentProfile, KnownAgents, OpponentList
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
Rating: TypeAlias = Annotated[
    str | None,
    QueryParameter(
        description="Method of ratings and ranks. Default: the pool's first online method.",
        schema_extra={"pattern": f"^{METHOD_PATTERN}$"},
    ),
]
Forecast: TypeAlias = Annotated[
    str | None,
    QueryParameter(
        description="Online method of the expected scores. Default: the pool's first one that forecasts.",
        schema_extra={"pattern": f"^{METHOD_PATTERN}$"},
    ),
]


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
) -> AgentList:
    """Find agents by name. Equal names are first, then those that begin with the query, then those that contain it.

    Agents whose display name matches follow.

    Within each, agents with more outcomes are first. One API process lists no agent twice. An agent that plays between two requests can
    move past the cursor, and is not listed then. If nothing is found, `suggestions` has the nearest names.
    """
    _check_hidden(request, here, hidden=hidden)
    head = await here.workers.readers.run(partial(_head, here, pool))
    index = await here.agents.get(head)
    read = partial(agents.agent_list, here.store, head, index, query=text, cursor=cursor, count=count, method=method)
    known = partial(_known, here, head, index, hidden=hidden)
    return await here.workers.searches.run(lambda: _listed(here, partial(read, provisional=here.settings.provisional, known=known())))


@get(
    "/v1/pools/{pool:str}/agents/{agent:str}", tags=["agents"], operation_class=Described, responses=problems(401, 403, 404, 422, 429, 503)
)
async def get_agent(request: Request, here: Here, pool: Pool, agent: Agent, hidden: Hidden = False) -> AgentProfile:  # type: ignore[type-arg]
    """Return an agent's profile: its ratings and ranks by each method, its record and its details.

    Percent-encode the name, including slashes.
    """
    _check_hidden(request, here, hidden=hidden)
    name = agent_name(agent)
    head, profile = await here.workers.readers.run(partial(_profile_by_present_index, here, pool, name, hidden=hidden))
    index = await here.agents.get(head)
    if profile is None:
        profile = await here.workers.searches.run(partial(_profile, here, head, index, name, hidden=hidden))
    return profile


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
) -> OpponentList:
    """Return an agent's record against each opponent, most games first, with the expected score of their next game.

    Percent-encode the name, including slashes. The record is that of a checkpoint, at `position`.
    """
    _check_hidden(request, here, hidden=hidden)
    head = await here.workers.readers.run(partial(_head, here, pool))
    index = await here.agents.get(head)
    if isinstance(index, NoIndex):
        raise _no_checkpoint(here, index)
    name = agent_name(agent)
    read = partial(agents.opponent_list, here.store, head, index, name, now=here.clock(), cursor=cursor, count=count, method=method)
    known = partial(here.pool_agents.details, pool)
    answer = await here.workers.searches.run(lambda: read(known=KnownAgents(known(), None, hidden)))
    if answer is None:
        raise await here.workers.readers.run(partial(_no_agent, here, head, name))
    return answer


def _head(here: Context, pool: str) -> PoolHead:
    """The pool's head. Raises `ApiError` 404 for a pool without outcomes, and 503 if the store lost the pool."""
    head = published(here, check_pool_name(pool)).head
    if head is None:
        raise ApiError(404, "nothing yet", f"pool {pool} has no outcomes: send outcomes first, then try again")
    return head


def _listed(here: Context, read: partial[AgentList]) -> AgentList:
    try:
        answer = read()
    except NoIndex as error:
        raise _no_checkpoint(here, error) from error
    if any(agent.rank is None for agent in answer.agents):
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


def _profile_by_present_index(here: Context, pool: str, name: str, *, hidden: bool) -> tuple[PoolHead, AgentProfile | None]:
    """The head of a pool, and the profile of an agent; None instead of the profile if the pool's index is not loaded. Raises `ApiError`."""
    head = _head(here, pool)
    index = here.agents.present(head)
    return head, None if index is None else _profile(here, head, index, name, hidden=hidden)


def _profile(here: Context, head: PoolHead, index: AgentIndex | NoIndex, name: str, *, hidden: bool) -> AgentProfile:
    known = KnownAgents(here.pool_agents.details(head.pool), None, hidden)
    profile = agents.profile(here.store, head, index, name, now=here.clock(), provisional=here.settings.provisional, known=known)
    if profile is None:
        raise _no_agent(here, head, name)
    return profile


def _no_agent(here: Context, head: PoolHead, name: str) -> ApiError:
    """The 404 error for an unknown agent. Raises as `_check_serves`."""
    _check_serves(here, head.pool, head.generation)
    where = f"GET /v1/pools/{head.pool}/agents?query= finds agents"
    return ApiError(404, "no such agent", f"pool {head.pool} has no agent {name!r}: names are case-sensitive; {where}")


def _check_serves(here: Context, pool: str, generation: int) -> None:
    """Raise `ApiError` 503 if the store lost the pool, or another generation serves now: the boards of this one can be removed."""
    if _head(here, pool).generation != generation:
        detail = f"a new generation of pool {pool} began to serve during the request: send it again"
        raise ApiError(503, "generation replaced", detail, headers={"Retry-After": "1"})


def _no_checkpoint(here: Context, why: NoIndex) -> ApiError:
    seconds = str(math.ceil(here.settings.checkpoint_seconds))
    return ApiError(503, "no checkpoint yet", f"{why}: wait as Retry-After says", headers={"Retry-After": seconds})
