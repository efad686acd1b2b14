"""Routes for the insight into a pool, and for the games or measurements to make next."""

import math
from functools import partial
from typing import Annotated, TypeAlias

from litestar import Request, Response, get
from litestar.params import QueryParameter

from services.api.answers import Asked
from services.api.boards import polled
from services.api.context import Context, Here, Pool
from services.api.described import Described, problems
from services.api.pools import published
from services.api.problems import ApiError, nothing_yet
from services.boards.insight import Insight
from services.checkpoints.checkpoint import CheckpointStore
from services.solve.next_matches import TARGETS, Next, plan
from services.solve.problems.serving import NoCheckpoint
from services.wire.pools import check_pool_name

Target: TypeAlias = Annotated[
    str, QueryParameter(max_length=300, description=f"Whose uncertainty to reduce: {TARGETS.removeprefix('must be ')}.")
]
Games: TypeAlias = Annotated[int, QueryParameter(ge=1, le=1_000_000, description="Number of games or measurements to plan.")]
Count: TypeAlias = Annotated[int, QueryParameter(ge=1, le=1000, description="Largest number of pairs or cells to list.")]
Floor: TypeAlias = Annotated[float, QueryParameter(ge=0, le=1, description="Share of the games or measurements that is drawn evenly.")]


@get("/v1/pools/{pool:str}/insight", tags=["insight"], operation_class=Described, responses=problems(404, 422, 503))
async def get_insight(request: Request, pool: Pool) -> Response[Insight]:  # type: ignore[type-arg]
    """Report cycles, clones, links between agents, disagreements and forecasts.

    They are recomputed with the solves. Answers 304 to If-None-Match if nothing changed.
    """
    return await polled(request, Asked("insight", check_pool_name(pool)))


@get("/v1/pools/{pool:str}/next", tags=["insight"], operation_class=Described, responses=problems(404, 422, 503))
async def plan_next(here: Here, pool: Pool, target: Target = "all", games: Games = 10, count: Count = 10, floor: Floor = 0.1) -> Next:
    """Recommend sampling rates of games (pairs of agents) or measurements (agent and task).

    Games or measurements drawn at these rates reduce the target's uncertainty fastest.
    """
    return await here.workers.checkpoints.run(partial(_planned, here, pool, target, games, count, floor))


def _planned(here: Context, pool: str, target: str, games: int, count: int, floor: float) -> Next:
    head = published(here, pool).head
    if head is None:
        raise nothing_yet(pool)
    try:
        return plan(CheckpointStore(here.settings.checkpoint_url), head, target, games, floor, count, here.plans)
    except NoCheckpoint as error:
        seconds = str(math.ceil(here.settings.checkpoint_seconds))
        raise ApiError(503, "no checkpoint yet", f"{error}: wait as Retry-After says", headers={"Retry-After": seconds}) from error
