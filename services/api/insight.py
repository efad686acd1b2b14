"""Routes for the insight into a pool, and for the games or measurements to make next."""

import math
from functools import partial
from typing import Annotated, TypeAlias

from fastapi import APIRouter, Query
from starlette.responses import Response

from services.api.context import Context, Here, reads
from services.api.pools import published
from services.api.problems import ApiError
from services.api.replies import described, reply
from services.boards.insight import Insight, insight
from services.checkpoints.checkpoint import CheckpointStore
from services.solve.next_matches import TARGETS, Next, NoCheckpoint, plan

router = APIRouter(tags=["insight"])
Target: TypeAlias = Annotated[str, Query(max_length=300, description=f"Whose uncertainty to reduce: {TARGETS.removeprefix('must be ')}.")]
Games: TypeAlias = Annotated[int, Query(ge=1, le=1_000_000, description="Number of games or measurements to plan.")]
Count: TypeAlias = Annotated[int, Query(ge=1, le=1000, description="Largest number of pairs or cells to list.")]
Floor: TypeAlias = Annotated[float, Query(ge=0, le=1, description="Share of the games or measurements that is drawn evenly.")]


@router.get("/v1/pools/{pool}/insight", response_model=None, responses=described(Insight, (404, 422, 503)))
@reads
def get_insight(here: Here, pool: str) -> Response:
    """Report cycles, clones, links between agents, disagreements and forecasts.

    They are recomputed with the solves. Answers 304 to If-None-Match if nothing changed.
    """
    published(here, pool)
    return reply(insight(here.store.solved, pool, now=here.clock()))


@router.get("/v1/pools/{pool}/next", response_model=None, responses=described(Next, (404, 422, 503)))
async def get_next(here: Here, pool: str, target: Target = "all", games: Games = 10, count: Count = 10, floor: Floor = 0.1) -> Response:
    """Recommend sampling rates of games (pairs of agents) or measurements (agent and task).

    Games or measurements drawn at these rates reduce the target's uncertainty fastest.
    """
    return await here.workers.checkpoints.run(partial(_planned, here, pool, target, games, count, floor))


def _planned(here: Context, pool: str, target: str, games: int, count: int, floor: float) -> Response:
    head = published(here, pool).head
    if head is None:
        raise ApiError(404, "nothing yet", f"pool {pool} has no outcomes: send outcomes first, then try again")
    try:
        return reply(plan(CheckpointStore(here.settings.checkpoint_url), head, target, games, floor, count))
    except NoCheckpoint as error:
        seconds = str(math.ceil(here.settings.checkpoint_seconds))
        raise ApiError(503, "no checkpoint yet", f"{error}: wait as Retry-After says", headers={"Retry-After": seconds}) from error
