"""What orchestrators, scrapers and writers ask.

/livez: this process answers; /readyz: boards can be served, however old; /freshz: folding goes on.
"""

from collections.abc import Sequence
from typing import Annotated, Final

from anyio import move_on_after, to_thread
from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from services.api.context import Context, context
from services.api.replies import described, reply
from services.boards import folding
from services.boards.folding import Freshness
from services.boards.store.protocol import StoreError
from services.log.partition import partition_of
from services.runtime.metrics import CONTENT_TYPE
from services.wire.pools import check_pool_name

_ANSWER_SECONDS: Final = 2.0
"""Probes give up after few seconds, so an answer that waits for a hanging store for longer is of no use."""

router = APIRouter(tags=["health"])


@router.get("/livez", response_class=PlainTextResponse)
async def livez() -> str:
    """The process answers."""
    return "ok\n"


@router.get("/readyz", response_class=PlainTextResponse)
async def readyz(request: Request) -> Response:
    """The store answers, so boards can be served; 503 where it does not. It says nothing about how old they are: /freshz does."""
    here = context(request)
    with move_on_after(_ANSWER_SECONDS):
        await to_thread.run_sync(here.store.ping, limiter=here.probes, abandon_on_cancel=True)
        return PlainTextResponse("ok\n")
    raise StoreError(f"the store has not answered for {_ANSWER_SECONDS:g} s", retriable=True)


@router.get("/freshz", response_model=None, responses={**described(Freshness, (422,)), 503: described(Freshness)[200]})
async def freshz(request: Request, pool: Annotated[str | None, Query()] = None) -> Response:
    """Whether folding goes on: 200 where every partition is folded, 503 where one is not; with `pool` only that pool's partition.

    For alerts, and for writers that want to wait. Boards are served either way: orchestrators should probe /readyz.
    """
    here = context(request)
    wanted = range(here.partitions) if pool is None else [partition_of(check_pool_name(pool), here.partitions)]
    limit, known = here.settings.fresh_seconds, None
    with move_on_after(_ANSWER_SECONDS):
        known = await to_thread.run_sync(_freshness, here, wanted, limiter=here.probes, abandon_on_cancel=True)
    found = folding.unknown(wanted, limit) if known is None else known
    return reply(found, 200 if found.fresh else 503)


def _freshness(here: Context, wanted: Sequence[int]) -> Freshness | None:
    """What the store knows; None while it does not answer."""
    try:
        return folding.freshness(wanted, here.store.heartbeats(), here.settings.fresh_seconds)
    except StoreError:
        return None


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(request: Request) -> Response:
    """Metrics of this process for Prometheus."""
    # Short work, done here: in the writers' threads it would wait for a log that hangs, just when it is looked for.
    return Response(context(request).metrics.text(), headers={"Content-Type": CONTENT_TYPE})
