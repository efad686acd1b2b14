"""Insight into a pool: cycles, clones, weakly connected agents, disagreements between methods."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from services.api.context import context, reads
from services.api.pools import pool_view
from services.api.replies import described, reply
from services.boards.insight import Insight, insight

router = APIRouter(tags=["insight"])


@router.get("/v1/pools/{pool}/insight", response_model=None, responses=described(Insight, (404, 422, 503)))
@reads
def get_insight(request: Request, pool: str) -> Response:
    """Cycles, clones, links between agents, disagreements and forecasts; recomputed with the solves. Answers 304 to If-None-Match."""
    here = context(request)
    pool_view(here, pool)
    return reply(insight(here.store.solved, pool, now=here.clock()))
