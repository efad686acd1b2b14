"""Routes for forecasts of games that were not played. They read the store, and the records of pairs from a checkpoint."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Annotated, Final, TypeAlias, TypeVar

import msgspec
from litestar import get, post
from litestar.openapi.spec import Example
from litestar.params import Body, QueryParameter

from services.api.bodies import LimitedBody
from services.api.context import Agent, Context, Here, Pool, agent_name, reads
from services.api.described import Decoded, Described, problems
from services.api.pools import published
from services.api.problems import ApiError, check_slice, find_agents, nothing_yet
from services.api.slices import SliceText
from services.boards.agent_index import AgentIndex
from services.boards.fair_opponents import MOST, FairOpponents, fair_opponents
from services.boards.predictions import Match, Matchups, Predictions, UnknownAgents, matchups, predictions
from services.boards.slice_boards import slice_text
from services.boards.store.keys import METHOD_PATTERN
from services.boards.store.protocol import PoolHead
from services.wire.pools import check_pool_name

ForecastT = TypeVar("ForecastT")
_MOST_MATCHES: Final = 100
_MOST_NAMES: Final = 200
_MAX_BODY: Final = 256 << 10
_EXAMPLE: Final = Example(value={"matches": [{"sides": [["ann"], ["bob"]]}], "methods": ["elo"]})
Agents: TypeAlias = Annotated[
    list[str],
    QueryParameter(min_items=2, max_items=_MOST_NAMES, description="Names of the agents: `agents=ann&agents=bob`, at most 8,192 bytes."),
]
OneMethod: TypeAlias = Annotated[
    str, QueryParameter(description="Name of an online method of the pool.", schema_extra={"pattern": f"^{METHOD_PATTERN}$"})
]


Count: TypeAlias = Annotated[int, QueryParameter(ge=1, le=MOST, description="Largest number of opponents to return.")]
FairMethod: TypeAlias = Annotated[
    str | None,
    QueryParameter(
        description="Online method of the forecasts. Default: the pool's leading method if it forecasts, else its first one that does.",
        schema_extra={"pattern": f"^{METHOD_PATTERN}$"},
    ),
]


class PredictAsked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Games to forecast.

    Attributes:
        matches: The games, 1 to 100, with at most 1,000 agents in all.
        methods: Names of online methods. Default: all online methods of the pool.
    """

    matches: Annotated[list[Match], msgspec.Meta(min_length=1, max_length=_MOST_MATCHES)]
    methods: Annotated[list[str], msgspec.Meta(min_length=1, max_length=64)] | None = None


class PredictBody(Decoded[PredictAsked]):
    """The body of POST /v1/pools/{pool}/predict."""

    title, hint = "not a request for forecasts", 'send {"matches": [{"sides": [["ann"], ["bob"]]}]}, and optionally methods'


@post(
    "/v1/pools/{pool:str}/predict",
    tags=["forecasts"],
    status_code=200,
    operation_class=Described,
    middleware=[LimitedBody(_MAX_BODY)],
    dto=PredictBody,
    return_dto=None,
    responses=problems(404, 408, 413, 415, 422, 503),
    response_description="The forecasts.",
)
async def predict(
    here: Here, pool: Pool, data: Annotated[PredictAsked, Body(examples=[_EXAMPLE])], part: SliceText = None
) -> Predictions:  # fmt: skip
    """Forecast games of two or more sides by the online methods of a pool.

    Each method has the records of its earlier forecasts of games of the same shapes, and each duel has the record of its two agents against
    each other. A game of a shape with too few results has ranks of its sides and a reason, and no probability.
    With `slice`: by ratings and games in the slice, with the scale and the record of the pool's forecasts. Nothing is written, and no key
    is needed.
    """
    text = slice_text(part)
    head = await here.workers.readers.run(partial(_head, here, pool, text))
    index = await _index(here, head, text)
    return await here.workers.readers.run(partial(_read, here, pool, partial(_predicted, here, data, index, text), text))


@get("/v1/pools/{pool:str}/matchups", tags=["forecasts"], operation_class=Described, responses=problems(404, 414, 422, 503))
@reads
def get_matchups(here: Here, pool: Pool, agents: Agents, method: OneMethod, part: SliceText = None) -> Matchups:
    """Return the expected score of each of several agents against each other, and the probability of a tie.

    With `slice`: by ratings in the slice, with the scale and the record of the pool's forecasts.
    """
    text = slice_text(part)
    return _read(here, pool, lambda head: matchups(here.store, head, agents, method, text), text)


@get(
    "/v1/pools/{pool:str}/agents/{agent:str}/fair-opponents",
    tags=["forecasts"],
    operation_class=Described,
    responses=problems(404, 422, 503),
)
@reads
def list_fair_opponents(
    here: Here, pool: Pool, agent: Agent, count: Count = 10, method: FairMethod = None, part: SliceText = None
) -> FairOpponents:
    """Return the opponents whose next game with an agent is expected to be most even, the most even first.

    They are chosen among the agents nearest to it by rating, provisional ones included. Hidden agents are left out. Percent-encode the
    name, including slashes. With `slice`: by ratings in the slice, with the scale and the record of the pool's forecasts.
    """
    text = slice_text(part)
    read = partial(
        fair_opponents, here.store, agent=agent_name(agent), count=count, method=method, leading=here.pool_agents.leading_method(pool),
        part=text,
    )  # fmt: skip
    return _read(here, pool, lambda head: read(head, leaves_out=here.pool_agents.details(head.pool).is_hidden), text)


async def _index(here: Context, head: PoolHead, part: str) -> AgentIndex | None:
    """The index of the pool or the slice, for records of pairs; None if it cannot be read in time: forecasts do not need it."""
    with suppress(ApiError):
        index = await here.agents.get(head, part)
        return index if isinstance(index, AgentIndex) else None
    return None


def _predicted(here: Context, asked: PredictAsked, index: AgentIndex | None, part: str, head: PoolHead) -> Predictions:
    """The forecasts, with records of pairs if the index is of the generation that serves."""
    if index is None or index.entry.generation != head.generation:
        return predictions(here.store, head, asked.matches, asked.methods, part=part)
    return predictions(here.store, head, asked.matches, asked.methods, index, here.pool_agents.details(head.pool).hidden(), part)


def _head(here: Context, pool: str, part: str) -> PoolHead:
    """The pool's head. Raises `ApiError` 404 for a pool without outcomes or without the slice `part`."""
    head = published(here, check_pool_name(pool)).head
    if head is None:
        raise nothing_yet(pool)
    check_slice(head, part)
    return head


def _read(here: Context, pool: str, read: Callable[[PoolHead], ForecastT], part: str) -> ForecastT:
    """Return what `read` makes of the pool's head. Raises `ApiError` 404 as `_head` does, and for unknown agents."""
    head = _head(here, pool, part)
    try:
        return read(head)
    except UnknownAgents as error:
        published(here, pool)  # raises 503 if the store lost the pool after its head was read
        raise ApiError(404, "no such agents", f"{error}: {find_agents(pool)}") from error
