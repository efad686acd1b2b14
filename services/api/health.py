"""Routes for orchestrators, metric scrapers and writers.

/livez: this process answers. /readyz: boards can be served, regardless of their age. /freshz: folding continues.
"""

from collections.abc import Sequence
from typing import Annotated, Final

from litestar import MediaType, Response, get
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import QueryParameter

from services.api.context import Context, Here
from services.api.described import Described, problems
from services.api.problems import ApiError
from services.boards import folding
from services.boards.folding import Freshness
from services.boards.store.protocol import StoreError
from services.log.partition import partition_of
from services.runtime.metrics import CONTENT_TYPE
from services.wire.pools import check_pool_name

_NOT_FRESH: Final = {503: ResponseSpec(Freshness, description="At least one partition is not folded.", generate_examples=False)}


@get("/livez", tags=["health"], operation_class=Described, media_type=MediaType.TEXT)
async def livez() -> str:
    """The process is alive."""
    return "ok\n"


@get("/readyz", tags=["health"], operation_class=Described, media_type=MediaType.TEXT, responses=problems(503))
async def readyz(here: Here) -> str:
    """Boards can be served, because the store answers; otherwise 503.

    Boards can be old: /freshz reports whether outcomes are being folded.
    """
    await here.workers.probes.run(here.store.ping)
    return "ok\n"


@get("/freshz", tags=["health"], operation_class=Described, responses={**problems(422), **_NOT_FRESH})
async def freshz(here: Here, pool: Annotated[str | None, QueryParameter()] = None) -> Response[Freshness]:
    """Whether outcomes are being folded: 200 if every partition is folded, 503 if not. With `pool`: only the partition of this pool.

    Use it for alerts, and in writers that should wait. Boards are served in both cases, so orchestrators should probe /readyz.
    """
    wanted = range(here.partitions) if pool is None else [partition_of(check_pool_name(pool), here.partitions)]
    freshness = await _freshness(here, wanted)
    return Response(freshness, status_code=200 if freshness.fresh else 503)


async def _freshness(here: Context, wanted: Sequence[int]) -> Freshness:
    limit = here.settings.fresh_seconds
    try:
        return folding.freshness(wanted, await here.workers.probes.run(here.store.heartbeats.read), limit)
    except (StoreError, ApiError):  # the state of folding is unknown without the store
        return folding.unknown(wanted, limit)


@get("/metrics", tags=["health"], operation_class=Described, media_type=MediaType.TEXT)
async def metrics(here: Here) -> Response[bytes]:
    """Metrics of this process for Prometheus."""
    freshness = await _freshness(here, range(here.partitions))
    idle = float("inf") if freshness.idle_seconds is None else freshness.idle_seconds
    here.metrics.gauge("equirank_api_folding_fresh").set(float(freshness.fresh))
    here.metrics.gauge("equirank_api_folding_idle_seconds").set(idle)
    # This short work runs in the event loop. On the writer threads it would wait for a log that hangs, when metrics are needed most.
    return Response(here.metrics.text(), headers={"Content-Type": CONTENT_TYPE})
