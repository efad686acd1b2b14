"""Routes that change the details of agents."""

from functools import partial
from typing import Annotated, Any, Final

from litestar import Request, patch
from litestar.openapi.spec import Example, OpenAPIMediaType, RequestBody, Schema
from litestar.openapi.spec.enums import OpenAPIType
from litestar.params import Body

from services.api.bodies import JSON, LimitedBody
from services.api.context import Agent, Context, Here, Pool, admin_key, agent_name
from services.api.described import Decoded, Described, problems
from services.api.replies import AgentsChanged, ChangedAgent
from services.control.details import NO_DETAILS, DetailsChange
from services.imports.agent_details import AgentChange, changes_of_csv, changes_of_json, changes_of_json_lines
from services.wire.pools import check_pool_name

_MAX_BODY: Final = 64 << 10
_MAX_LOAD: Final = 8 << 20
"""Most bytes of details of many agents: those of about 100,000."""
_CSV: Final = "text/csv"
_LINES: Final = "application/x-ndjson"
_READERS: Final = {JSON: changes_of_json, _CSV: changes_of_csv, _LINES: changes_of_json_lines}
_EXAMPLE: Final = Example(value={"display_name": "Ann Lee", "country": "DE", "tags": {"team": "red"}})
_EXAMPLES: Final = [Example(value=[{"agent": "ann", "country": "DE"}, {"agent": "mallory", "hidden": True}])]


class DetailsBody(Decoded[DetailsChange]):
    """The body of PATCH /v1/pools/{pool}/agents/{agent}."""

    title, hint = "not details", "send a JSON object with the fields to change; null removes a value"


class LoadBody(Decoded[Any]):
    """The body of PATCH /v1/pools/{pool}/agents, in one of three media types. Its bytes are read by the route."""

    model_type = list[AgentChange]

    def decode_bytes(self, value: bytes) -> bytes:
        """Return the bytes."""
        return value


class TakesTables(Described):
    """A route whose body may also be CSV or JSON lines."""

    def __post_init__(self) -> None:
        """Add these media types, because a type of Python describes one."""
        super().__post_init__()
        if isinstance(self.request_body, RequestBody):
            for media, text in ((_CSV, "A CSV file with a header (docs/guides/agents.md)."), (_LINES, "One JSON object a line.")):
                self.request_body.content[media] = OpenAPIMediaType(Schema(type=OpenAPIType.STRING, description=text))


@patch(
    "/v1/pools/{pool:str}/agents/{agent:str}",
    tags=["agents"],
    operation_class=Described,
    guards=[admin_key],
    middleware=[LimitedBody(_MAX_BODY)],
    dto=DetailsBody,
    return_dto=None,
    responses=problems(401, 403, 404, 408, 413, 415, 422, 429, 503),
    response_description="The details are durable in the control log.",
)
async def change_agent(here: Here, pool: Pool, agent: Agent, data: Annotated[DetailsChange, Body(examples=[_EXAMPLE])]) -> ChangedAgent:
    """Change the details of an agent: an absent field stays, null removes its value. No rating changes.

    The pool need not have an agent of this name yet.
    """
    return await here.workers.details.run(partial(_change, here, check_pool_name(pool), agent_name(agent), data))


@patch(
    "/v1/pools/{pool:str}/agents",
    tags=["agents"],
    operation_class=TakesTables,
    guards=[admin_key],
    middleware=[LimitedBody(_MAX_LOAD, tuple(_READERS))],
    dto=LoadBody,
    return_dto=None,
    responses=problems(401, 403, 404, 408, 413, 415, 422, 429, 503),
    response_description="All details are durable in the control log.",
)
async def change_agents(
    request: Request,  # type: ignore[type-arg]
    here: Here,
    pool: Pool,
    data: Annotated[bytes, Body(examples=_EXAMPLES)] = b"",
) -> AgentsChanged:
    """Change the details of many agents, by a JSON array, JSON lines or CSV. If one of them breaks a rule, nothing is changed.

    Absent fields and columns stay as they are; null and empty cells remove a value.
    """
    read = _READERS[request.headers.get("content-type", "").partition(";")[0].strip().lower()]
    return await here.workers.details.run(partial(_load, here, check_pool_name(pool), read, data))


def _change(here: Context, pool: str, agent: str, change: DetailsChange) -> ChangedAgent:
    changed = here.directory.write_details(pool, {agent: change}, here.clock(), here.settings.max_agents)
    details = here.directory.details(pool).get(agent) or NO_DETAILS
    return ChangedAgent(pool=pool, agent=agent, changed=bool(changed), details=details)


def _load(here: Context, pool: str, read: Any, data: bytes) -> AgentsChanged:
    changes = read(data)
    changed = here.directory.write_details(pool, changes, here.clock(), here.settings.max_agents)
    return AgentsChanged(pool=pool, agents=len(changes), changed=changed)
