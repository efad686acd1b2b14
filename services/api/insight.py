"""Routes for the insight into a pool, and for the games or measurements to make next."""

import math
from functools import partial
from typing import Annotated, TypeAlias

from litestar import Request, Response, get
from litestar.params import QueryParameter

from ratings_core.errors import SolverError
from services.api.answers import Asked
from services.api.boards import polled
from services.api.context import Context, Here, Pool, context
from services.api.described import Described, problems
from services.api.pools import published
from services.api.problems import ApiError, check_slice, nothing_yet
from services.api.slices import SliceText
from services.boards.insight import Insight
from services.boards.slice_boards import slice_text
from services.boards.store.protocol import PoolHead
from services.boards.visible_findings import visible_insight
from services.checkpoints.checkpoint import CheckpointStore
from services.solve.insight.on_request import slice_insight
from services.solve.next_matches import TARGETS, Next, check_visible_target, plan, visible_next
from services.solve.problems.serving import NoCheckpoint
from services.wire.pools import check_pool_name

Target: TypeAlias = Annotated[
    str, QueryParameter(max_length=300, description=f"Whose uncertainty to reduce: {TARGETS.removeprefix('must be ')}.")
]
Games: TypeAlias = Annotated[int, QueryParameter(ge=1, le=1_000_000, description="Number of games or measurements to plan.")]
Count: TypeAlias = Annotated[int, QueryParameter(ge=1, le=1000, description="Largest number of pairs or cells to list.")]
Floor: TypeAlias = Annotated[float, QueryParameter(ge=0, le=1, description="Share of the games or measurements that is drawn evenly.")]


@get("/v1/pools/{pool:str}/insight", tags=["insight"], operation_class=Described, responses=problems(404, 422, 503))
async def get_insight(request: Request, pool: Pool, part: SliceText = None) -> Response[Insight]:  # type: ignore[type-arg]
    """Report cycles, clones, links between agents, disagreements and forecasts.

    They are recomputed with the solves. Answers 304 to If-None-Match if nothing changed. With `slice`: of the outcomes of the slice alone,
    computed on request from the newest checkpoint, for at most 2,000 agents. Hidden agents are not named.
    """
    if part is None:
        return await polled(request, Asked("insight", check_pool_name(pool)))
    here = context(request)
    return Response(await here.workers.explanations.run(partial(_insight_of_slice, here, check_pool_name(pool), slice_text(part))))


def _insight_of_slice(here: Context, pool: str, part: str) -> Insight:
    head, files = _head(here, pool, part), CheckpointStore(here.settings.checkpoint_url)
    try:
        known, limits = here.directory.control.known(), here.settings.provisional
        found = slice_insight(files, here.store.solved, known, head, part, here.insights, here.clock(), limits)
        return visible_insight(found, here.pool_agents.details(pool))
    except SolverError as error:
        raise ApiError(422, "no certain insight", f"insight did not reach its accuracy on the newest checkpoint: {error}") from error
    except NoCheckpoint as error:
        raise _no_checkpoint(here, error) from error


@get("/v1/pools/{pool:str}/next", tags=["insight"], operation_class=Described, responses=problems(404, 422, 503))
async def plan_next(
    here: Here, pool: Pool, target: Target = "all", games: Games = 10, count: Count = 10, floor: Floor = 0.1, part: SliceText = None
) -> Next:
    """Recommend sampling rates of games (pairs of agents) or measurements (agent and task).

    Games or measurements drawn at these rates reduce the target's uncertainty fastest. With `slice`: of ratings by the outcomes of the
    slice alone. Those of hidden agents are not listed, and a hidden agent is no target.
    """
    return await here.workers.checkpoints.run(partial(_planned, here, pool, target, games, count, floor, slice_text(part)))


def _planned(here: Context, pool: str, target: str, games: int, count: int, floor: float, part: str) -> Next:
    head, details = _head(here, pool, part), here.pool_agents.details(pool)
    check_visible_target(target, details)
    try:
        found = plan(CheckpointStore(here.settings.checkpoint_url), head, target, games, floor, count, here.plans, part)
        return visible_next(found, details)
    except NoCheckpoint as error:
        raise _no_checkpoint(here, error) from error


def _head(here: Context, pool: str, part: str) -> PoolHead:
    """The pool's head. Raises `ApiError` 404 without outcomes, or without the slice."""
    head = published(here, pool).head
    if head is None:
        raise nothing_yet(pool)
    check_slice(head, part)
    return head


def _no_checkpoint(here: Context, error: NoCheckpoint) -> ApiError:
    seconds = str(math.ceil(here.settings.checkpoint_seconds))
    return ApiError(503, "no checkpoint yet", f"{error}: wait as Retry-After says", headers={"Retry-After": seconds})
